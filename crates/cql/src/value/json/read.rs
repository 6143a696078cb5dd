//! JSON to values.

use super::scan::{Kind, Scanner, SyntaxError};
use super::shown::shown;
use crate::value::parse::{self, Excerpt, ParseError};
use crate::value::{build, layout};
use model::{DataType, UserType};

/// The longest value that JSON may say.
const VALUE_BYTES_MAX: usize = 64 << 20;

/// JSON that says no value of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Not JSON.
    #[error("Error decoding JSON string: {0}")]
    Syntax(#[from] SyntaxError),
    /// A string with a wrong text, or a number out of range.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// Text in a string that is no varint or decimal.
    #[error("Value '{text}' is not a valid representation of a {ty} value")]
    Number {
        /// The value.
        text: Excerpt,
        /// The type.
        ty: DataType,
    },
    /// Text in a string that is no blob, or not a string.
    #[error("Value '{text}' is not a valid blob representation")]
    Blob {
        /// The value.
        text: Excerpt,
    },
    /// A value of another kind.
    #[error("Expected {expected}, but got a {actual}: {text}")]
    Kind {
        /// What it should have been.
        expected: &'static str,
        /// What it is, by the name of Java's class.
        actual: &'static str,
        /// The value.
        text: Excerpt,
    },
    /// Null in a list or vector.
    #[error("Invalid null element in list")]
    NullInList,
    /// Null in a set.
    #[error("Invalid null element in set")]
    NullInSet,
    /// Null as a value of a map.
    #[error("Invalid null value in map")]
    NullInMap,
    /// A tuple with too few items.
    #[error("Tuple is missing items (expected {expected}): {actual}")]
    TupleShort {
        /// How many its type has.
        expected: usize,
        /// Those that there are.
        actual: Excerpt,
    },
    /// A tuple with too many items.
    #[error("Tuple contains extra items (expected {expected}): {actual}")]
    TupleLong {
        /// How many its type has.
        expected: usize,
        /// Those that there are.
        actual: Excerpt,
    },
    /// A vector of another dimension.
    #[error("List had incorrect size: expected {expected} but given {actual}")]
    Dimension {
        /// The type's.
        expected: usize,
        /// How many elements there are.
        actual: usize,
    },
    /// A user type has no such field.
    #[error("Unknown field '{field}' in value of user defined type {user_type}")]
    UnknownField {
        /// The name.
        field: Excerpt,
        /// The type's name.
        user_type: Excerpt,
    },
    /// A value that is much longer than its text: user types of many fields, given by a few bytes each.
    #[error("The value is longer than {VALUE_BYTES_MAX} bytes")]
    TooLong,
}

/// Appends the value of type `ty` that the JSON text says; false is null, and nothing was appended.
///
/// # Errors
/// When the text is not JSON or says no value of `ty`; `out` may then hold a part of one.
pub fn from_json(ty: &DataType, json: &str, out: &mut Vec<u8>) -> Result<bool, JsonError> {
    let mut scanner = Scanner::new(json);
    let some = value(&mut scanner, ty, out)?;
    scanner.end()?;
    Ok(some)
}

/// The members of a JSON object, which is a row: column names as the schema has them, and the JSON text of each value. Of a name that comes twice the last
/// counts.
///
/// # Errors
/// When the text is not a JSON object.
pub fn object(json: &str) -> Result<Vec<(String, &str)>, JsonError> {
    let mut scanner = Scanner::new(json);
    if scanner.kind()? != Kind::Object {
        return Err(wrong_kind(&mut scanner, "a map")?);
    }
    let mut members: Vec<(String, &str)> = Vec::new();
    scanner.object(|scanner, name| {
        members.push((identifier(&name), scanner.any()?));
        Ok::<(), JsonError>(())
    })?;
    scanner.end()?;
    Ok(members)
}

/// The name that a key of an object says: lower-cased unless it carries double quotes.
fn identifier(key: &str) -> String {
    match key.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => key.to_lowercase(),
    }
}

fn wrong_kind(scanner: &mut Scanner<'_>, expected: &'static str) -> Result<JsonError, SyntaxError> {
    let kind = scanner.kind()?;
    let mut ahead = scanner.clone();
    let text = scanner.any()?;
    let actual = match kind {
        Kind::Null => "null",
        Kind::Boolean => "Boolean",
        Kind::Integer if text.parse::<i32>().is_ok() => "Integer",
        Kind::Integer if text.parse::<i64>().is_ok() => "Long",
        Kind::Integer => "BigInteger",
        Kind::Fraction => "Double",
        Kind::String => "String",
        Kind::Array => "ArrayList",
        Kind::Object => "LinkedHashMap",
    };
    Ok(JsonError::Kind { expected, actual, text: shown(&mut ahead)? })
}

/// What a message calls a value of a native type.
fn expected(ty: &DataType) -> &'static str {
    match ty {
        DataType::Int => "an int value",
        DataType::BigInt | DataType::Counter => "a bigint value",
        DataType::SmallInt => "a smallint value",
        DataType::TinyInt => "a tinyint value",
        DataType::Float => "a float value",
        DataType::Double => "a double value",
        DataType::Boolean => "a boolean value",
        DataType::Text => "a UTF-8 string",
        DataType::Ascii => "an ASCII string",
        DataType::Uuid => "a string representation of a uuid",
        DataType::TimeUuid => "a string representation of a timeuuid",
        DataType::Inet => "a string representation of an inet value",
        DataType::Date => "a string representation of a date value",
        DataType::Time => "a string representation of a time value",
        DataType::Timestamp => "a long or a datestring representation of a timestamp value",
        DataType::Duration => "a string representation of a duration",
        DataType::List(..) | DataType::Vector(..) => "a list",
        DataType::Set(..) => "a list (representing a set)",
        DataType::Map(..) | DataType::Udt(..) => "a map",
        DataType::Tuple(_) => "a list representation of a tuple",
        DataType::Varint | DataType::Decimal | DataType::Blob | DataType::Custom(_) => "a string",
    }
}

/// Appends the value that comes next; false is null.
fn value(scanner: &mut Scanner<'_>, ty: &DataType, out: &mut Vec<u8>) -> Result<bool, JsonError> {
    let kind = scanner.kind()?;
    if kind == Kind::Null {
        scanner.null()?;
        return Ok(false);
    }
    match (ty, kind) {
        (
            DataType::List(..) | DataType::Set(..) | DataType::Map(..) | DataType::Tuple(_) | DataType::Udt(..) | DataType::Vector(..),
            Kind::String,
        ) => {
            // JSON within a string: how a map's key says a value that is not a string.
            let inner = scanner.string()?;
            let mut scanner = Scanner::new(&inner);
            if scanner.kind()? == Kind::String {
                return Err(wrong_kind(&mut scanner, expected(ty))?);
            }
            let some = value(&mut scanner, ty, out)?;
            scanner.end()?;
            return Ok(some);
        }
        (DataType::List(element, _), Kind::Array) => elements(scanner, element, &JsonError::NullInList, out)?,
        (DataType::Set(element, _), Kind::Array) => {
            let mut list = Vec::new();
            elements(scanner, element, &JsonError::NullInSet, &mut list)?;
            build::set(element, layout::elements(&list).collect(), out);
        }
        (DataType::Vector(element, dimension), Kind::Array) => vector(scanner, element, *dimension, out)?,
        (DataType::Map(key, value_type, _), Kind::Object) => map(scanner, key, value_type, out)?,
        (DataType::Tuple(types), Kind::Array) => tuple(scanner, types, out)?,
        (DataType::Udt(user, _), Kind::Object) => user_type(scanner, user, out)?,
        _ => native(scanner, ty, kind, out)?,
    }
    Ok(true)
}

fn vector(scanner: &mut Scanner<'_>, element: &DataType, dimension: u32, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let mut list = Vec::new();
    elements(scanner, element, &JsonError::NullInList, &mut list)?;
    let (expected, actual) = (dimension as usize, layout::elements(&list).count());
    if actual != expected {
        return Err(JsonError::Dimension { expected, actual });
    }
    for part in layout::elements(&list) {
        if layout::fixed_length(element).is_some_and(|length| length != part.len()) {
            return Err(JsonError::NullInList);
        }
        build::vector_element(element, part, out);
    }
    Ok(())
}

fn map(scanner: &mut Scanner<'_>, key: &DataType, value_type: &DataType, out: &mut Vec<u8>) -> Result<(), JsonError> {
    // Keys and values in the layout of a list, which keeps them in one piece of memory.
    let mut flat = vec![0; 4];
    let mut count = 0;
    scanner.object(|scanner, name| {
        part(&mut flat, |out| map_key(key, &name, out).map(|()| true))?;
        count += 2;
        if part(&mut flat, |out| value(scanner, value_type, out))? { Ok(()) } else { Err(JsonError::NullInMap) }
    })?;
    set_count(&mut flat, 0, count)?;
    let mut parts = layout::elements(&flat);
    build::map(key, std::iter::from_fn(|| Some((parts.next()?, parts.next()?))).collect(), out);
    Ok(())
}

fn tuple(scanner: &mut Scanner<'_>, types: &[DataType], out: &mut Vec<u8>) -> Result<(), JsonError> {
    let (mut ahead, mut position) = (scanner.clone(), 0);
    scanner.array(|scanner| {
        position += 1;
        match types.get(position - 1) {
            Some(ty) => part(out, |out| value(scanner, ty, out)).map(|_| ()),
            None => Ok(scanner.any().map(|_| ())?),
        }
    })?;
    let expected = types.len();
    if position == expected {
        return Ok(());
    }
    let actual = shown(&mut ahead)?;
    Err(if position < expected { JsonError::TupleShort { expected, actual } } else { JsonError::TupleLong { expected, actual } })
}

fn user_type(scanner: &mut Scanner<'_>, user: &UserType, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let mut fields: Vec<Option<Vec<u8>>> = vec![None; user.fields.len()];
    scanner.object(|scanner, name| {
        let name = identifier(&name);
        let Some(position) = user.fields.iter().position(|(field, _)| *field == name) else {
            return Err(JsonError::UnknownField { field: Excerpt::new(&name), user_type: Excerpt::new(&user.name) });
        };
        let mut bytes = Vec::new();
        let some = value(scanner, &user.fields[position].1, &mut bytes)?;
        fields[position] = some.then_some(bytes);
        Ok(())
    })?;
    build::tuple(fields.iter().map(Option::as_deref), out);
    Ok(())
}

/// Appends an array as a list.
fn elements(scanner: &mut Scanner<'_>, element: &DataType, null: &JsonError, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut count = 0;
    scanner.array(|scanner| {
        count += 1;
        if part(out, |out| value(scanner, element, out))? { Ok(()) } else { Err(null.clone()) }
    })?;
    set_count(out, start, count)
}

/// Writes a count or length where four bytes were left for it.
fn set_count(out: &mut [u8], at: usize, count: usize) -> Result<(), JsonError> {
    if out.len() > VALUE_BYTES_MAX {
        return Err(JsonError::TooLong);
    }
    let count = i32::try_from(count).map_err(|_| JsonError::TooLong)?;
    if let Some(four) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
        *four = count.to_be_bytes();
    }
    Ok(())
}

/// Appends the length and the bytes of what `write` appends, a length of -1 if that is null.
fn part(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<bool, JsonError>) -> Result<bool, JsonError> {
    let start = out.len();
    out.extend_from_slice(&(-1_i32).to_be_bytes());
    let some = write(out)?;
    if some {
        let length = out.len() - start - 4;
        set_count(out, start, length)?;
    }
    Ok(some)
}

/// Appends the value that a map's key says: text itself, other native types by their text, the rest as JSON.
fn map_key(ty: &DataType, name: &str, out: &mut Vec<u8>) -> Result<(), JsonError> {
    match ty {
        DataType::List(..) | DataType::Set(..) | DataType::Map(..) | DataType::Tuple(_) | DataType::Udt(..) | DataType::Vector(..) => {
            if from_json(ty, name, out)? {
                Ok(())
            } else {
                Err(JsonError::NullInMap)
            }
        }
        _ => string(ty, name, out),
    }
}

/// Appends the value that a string says.
fn string(ty: &DataType, text: &str, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let parsed = match ty {
        DataType::Custom(_) => parse::parse(&DataType::Blob, text, out),
        // No digits are no number here, other than as a literal.
        DataType::Varint | DataType::Decimal if text.is_empty() => {
            return Err(JsonError::Number { text: Excerpt::new(text), ty: ty.clone() });
        }
        _ => parse::parse(ty, text, out),
    };
    parsed.map_err(|error| match ty {
        DataType::Varint | DataType::Decimal => JsonError::Number { text: Excerpt::new(text), ty: ty.clone() },
        DataType::Blob | DataType::Custom(_) => JsonError::Blob { text: Excerpt::new(text) },
        _ => JsonError::Parse(error),
    })
}

/// Appends a value of a native type.
fn native(scanner: &mut Scanner<'_>, ty: &DataType, kind: Kind, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let numeric = match ty {
        DataType::Float | DataType::Double | DataType::Decimal => matches!(kind, Kind::Integer | Kind::Fraction),
        DataType::Int
        | DataType::BigInt
        | DataType::Counter
        | DataType::SmallInt
        | DataType::TinyInt
        | DataType::Varint
        | DataType::Timestamp => kind == Kind::Integer,
        _ => false,
    };
    if kind == Kind::String {
        return string(ty, &scanner.string()?, out);
    }
    if *ty == DataType::Boolean && kind == Kind::Boolean {
        out.push(u8::from(scanner.boolean()?));
        return Ok(());
    }
    if !numeric {
        return Err(match ty {
            DataType::Varint | DataType::Decimal => JsonError::Number { text: Excerpt::new(scanner.any()?), ty: ty.clone() },
            DataType::Blob | DataType::Custom(_) => JsonError::Blob { text: Excerpt::new(scanner.any()?) },
            _ => wrong_kind(scanner, expected(ty))?,
        });
    }
    let mut ahead = scanner.clone();
    let number = scanner.number()?;
    match (ty, parse::parse(ty, number, out)) {
        (_, Ok(())) => Ok(()),
        (DataType::Int | DataType::BigInt | DataType::Counter, Err(_)) => Err(wrong_kind(&mut ahead, expected(ty))?),
        (DataType::Varint | DataType::Decimal, Err(_)) => Err(JsonError::Number { text: Excerpt::new(number), ty: ty.clone() }),
        (_, Err(error)) => Err(JsonError::Parse(error)),
    }
}
