//! A literal of a statement as the value of a column: which kinds a type takes, and the messages for the others.

use super::parse::{self, Excerpt, ParseError};
use super::{decimal::Decimal, decimal::compare};
use model::DataType;

/// A literal as it is written, with its lexical kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal<'a> {
    /// Digits with an optional minus.
    Integer(&'a str),
    /// A number with a point or an exponent, `NaN`, `Infinity`.
    Float(&'a str),
    /// Quoted text, without the quotes and with doubled ones made single.
    String(&'a str),
    /// `true` or `false`.
    Boolean(bool),
    /// A UUID without quotes.
    Uuid(&'a str),
    /// `0x` and hexadecimal digits.
    Blob(&'a str),
    /// A duration without quotes.
    Duration(&'a str),
}

/// A lexical kind, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// INTEGER
    Integer,
    /// FLOAT
    Float,
    /// STRING
    String,
    /// BOOLEAN
    Boolean,
    /// UUID
    Uuid,
    /// HEX
    Blob,
    /// DURATION
    Duration,
}

impl std::fmt::Display for LiteralKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Integer => "INTEGER",
            Self::Float => "FLOAT",
            Self::String => "STRING",
            Self::Boolean => "BOOLEAN",
            Self::Uuid => "UUID",
            Self::Blob => "HEX",
            Self::Duration => "DURATION",
        })
    }
}

/// A literal that is not a value of its column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiteralError {
    /// The type takes no literals of this kind.
    #[error("Invalid {kind} constant ({text}) for \"{column}\" of type {ty}")]
    Kind {
        /// The literal's kind.
        kind: LiteralKind,
        /// As it is written.
        text: Excerpt,
        /// Whose value it should be.
        column: Excerpt,
        /// That column's type.
        ty: DataType,
    },
    /// A text of a tuple with more fields than the tuple.
    #[error("Invalid tuple literal: too many elements. Type {ty} expects {expected} but got {given}")]
    TupleFields {
        /// The tuple's type.
        ty: DataType,
        /// How many fields it has.
        expected: usize,
        /// How many the text has.
        given: usize,
    },
    /// The right kind with a wrong value.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// How well a literal fits a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The type it would have by itself.
    Exact,
    /// A type it can be read as.
    Convertible,
    /// Another type.
    None,
}

impl<'a> Literal<'a> {
    /// The kind.
    #[must_use]
    pub fn kind(self) -> LiteralKind {
        match self {
            Self::Integer(_) => LiteralKind::Integer,
            Self::Float(_) => LiteralKind::Float,
            Self::String(_) => LiteralKind::String,
            Self::Boolean(_) => LiteralKind::Boolean,
            Self::Uuid(_) => LiteralKind::Uuid,
            Self::Blob(_) => LiteralKind::Blob,
            Self::Duration(_) => LiteralKind::Duration,
        }
    }

    /// As it is written, strings without quotes.
    #[must_use]
    pub fn text(self) -> &'a str {
        match self {
            Self::Integer(text) | Self::Float(text) | Self::String(text) | Self::Uuid(text) | Self::Blob(text) | Self::Duration(text) => {
                text
            }
            Self::Boolean(true) => "true",
            Self::Boolean(false) => "false",
        }
    }

    /// How well it fits `ty`; the resolution of overloaded functions asks this.
    #[must_use]
    pub fn fit(self, ty: &DataType) -> Fit {
        if *ty == self.natural_type() {
            Fit::Exact
        } else if takes(ty, self.kind()) {
            Fit::Convertible
        } else {
            Fit::None
        }
    }

    /// The type a literal has where nothing else says one: the smallest of int, bigint and varint that holds an integer, double (decimal
    /// if a double would change the number), ascii or text, boolean, timeuuid or uuid, blob, duration.
    #[must_use]
    pub fn natural_type(self) -> DataType {
        match self {
            Self::Integer(text) if text.parse::<i32>().is_ok() => DataType::Int,
            Self::Integer(text) if text.parse::<i64>().is_ok() => DataType::BigInt,
            Self::Integer(_) => DataType::Varint,
            Self::Float(text) if double_says(text) => DataType::Double,
            Self::Float(_) => DataType::Decimal,
            Self::String(text) if text.is_ascii() => DataType::Ascii,
            Self::String(_) => DataType::Text,
            Self::Boolean(_) => DataType::Boolean,
            Self::Uuid(text) if text.as_bytes().get(14) == Some(&b'1') => DataType::TimeUuid,
            Self::Uuid(_) => DataType::Uuid,
            Self::Blob(_) => DataType::Blob,
            Self::Duration(_) => DataType::Duration,
        }
    }
}

/// Whether the shortest text of the nearest double is the same number as `text`. What is no number is a double, too.
fn double_says(text: &str) -> bool {
    let mut exact = Vec::new();
    if parse::decimal(text, &mut exact).is_none() {
        return true;
    }
    let mut nearest = Vec::new();
    match text.parse::<f64>() {
        Ok(value) if parse::decimal(&format!("{value:e}"), &mut nearest).is_some() => {
            compare(&Decimal::from_wire(&exact), &Decimal::from_wire(&nearest)).is_eq()
        }
        _ => false,
    }
}

/// Whether values of `ty` are written as literals of `kind`.
fn takes(ty: &DataType, kind: LiteralKind) -> bool {
    match ty {
        // As in Cassandra, a constant's text is read as a tuple's.
        DataType::Tuple(_) => kind != LiteralKind::Blob,
        DataType::Text | DataType::Ascii | DataType::Inet | DataType::Custom(_) => kind == LiteralKind::String,
        DataType::Int | DataType::BigInt | DataType::SmallInt | DataType::TinyInt | DataType::Varint | DataType::Counter => {
            kind == LiteralKind::Integer
        }
        DataType::Date | DataType::Time | DataType::Timestamp => matches!(kind, LiteralKind::Integer | LiteralKind::String),
        DataType::Decimal | DataType::Float | DataType::Double => matches!(kind, LiteralKind::Integer | LiteralKind::Float),
        DataType::Boolean => kind == LiteralKind::Boolean,
        DataType::Uuid | DataType::TimeUuid => kind == LiteralKind::Uuid,
        DataType::Blob => kind == LiteralKind::Blob,
        DataType::Duration => matches!(kind, LiteralKind::Integer | LiteralKind::Duration),
        DataType::List(..) | DataType::Set(..) | DataType::Map(..) | DataType::Udt(..) | DataType::Vector(..) => false,
    }
}

/// Appends the value of type `ty` that `literal` is; messages name the column (or argument) `column`.
///
/// # Errors
/// When the type takes no literals of this kind, or this one says no value of it.
pub fn literal(literal: Literal<'_>, ty: &DataType, column: &str, out: &mut Vec<u8>) -> Result<(), LiteralError> {
    if !takes(ty, literal.kind()) {
        return Err(LiteralError::Kind { kind: literal.kind(), text: shown(literal), column: Excerpt::new(column), ty: ty.clone() });
    }
    match (literal, ty) {
        (_, DataType::Tuple(types)) => tuple(literal.text(), types, ty, out)?,
        (Literal::Blob(text), _) => {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
            parse::hex(digits, out)?;
        }
        (Literal::Boolean(value), _) => out.push(u8::from(value)),
        // The class that would read the text is not here: the text itself is stored.
        (_, DataType::Custom(_)) => out.extend_from_slice(literal.text().as_bytes()),
        _ => parse::parse(ty, literal.text(), out)?,
    }
    Ok(())
}

/// The literal as messages have it: a blob with what it starts with.
fn shown(literal: Literal<'_>) -> Excerpt {
    match literal {
        Literal::Blob(digits) if !digits.starts_with("0x") && !digits.starts_with("0X") => Excerpt::new(&format!("0x{digits}")),
        _ => Excerpt::new(literal.text()),
    }
}

/// Appends the tuple that a text says: fields between colons, `@` for null, each with a backslash before it where it is meant itself. Fields
/// that are missing at the end are null.
fn tuple(text: &str, types: &[DataType], ty: &DataType, out: &mut Vec<u8>) -> Result<(), LiteralError> {
    if text.is_empty() {
        return Ok(());
    }
    let fields = tuple_fields(text);
    if fields.len() > types.len() {
        return Err(LiteralError::TupleFields { ty: ty.clone(), expected: types.len(), given: fields.len() });
    }
    let mut values = Vec::with_capacity(types.len());
    for (field, field_type) in fields.iter().zip(types) {
        let mut bytes = Vec::new();
        let value = match (field.as_str(), field_type) {
            ("@", _) => None,
            (_, DataType::Tuple(inner)) => Some(tuple(&unescaped(field), inner, field_type, &mut bytes)?),
            _ => Some(parse::parse(field_type, &unescaped(field), &mut bytes)?),
        };
        values.push(value.map(|()| bytes));
    }
    super::build::tuple(values.iter().map(Option::as_deref), out);
    Ok(())
}

/// The fields of a tuple's text, as they are written.
fn tuple_fields(text: &str) -> Vec<String> {
    let (mut fields, mut escaped) = (vec![String::new()], false);
    for character in text.chars() {
        if character == ':' && !escaped {
            fields.push(String::new());
        } else if let Some(field) = fields.last_mut() {
            field.push(character);
        }
        escaped = character == '\\' && !escaped;
    }
    fields
}

fn unescaped(field: &str) -> String {
    field.replace("\\:", ":").replace("\\@", "@")
}
