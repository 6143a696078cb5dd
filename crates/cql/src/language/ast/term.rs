//! Values as written: literals, bind markers, collections, function calls, casts, arithmetic.
//!
//! A literal keeps the kind that its shape gives it; only the column it meets decides whether `'2020-01-01'` is a text or a date.

use std::fmt;

use super::{
    list::write_enclosed,
    name::{FunctionName, Identifier},
    type_name::{NativeType, TypeName},
};

/// A constant, by its shape in the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// The digits, with `-` in front if negative.
    Integer(Box<str>),
    /// The number as written, with `-` in front if negative; or `NaN`, `Infinity`, `-Infinity`.
    Float(Box<str>),
    /// A string's content, unescaped.
    String(Box<str>),
    /// A UUID as written.
    Uuid(Box<str>),
    /// The hexadecimal digits after `0x`, perhaps none or an odd number.
    Blob(Box<str>),
    /// A duration as written, with `-` in front if negative.
    Duration(Box<str>),
}

impl Literal {
    /// The constant's text without quotes: what an option of a schema statement keeps of it.
    #[must_use]
    pub fn raw_text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Null => "null".into(),
            Self::Boolean(true) => "true".into(),
            Self::Boolean(false) => "false".into(),
            Self::Integer(text) | Self::Float(text) | Self::String(text) | Self::Uuid(text) | Self::Duration(text) => (&**text).into(),
            Self::Blob(digits) => format!("0x{digits}").into(),
        }
    }
}

/// The place of a value that comes with the request.
///
/// Its name, if it has one, stands in [`Parsed::markers`](crate::language::Parsed::markers) at `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BindMarker {
    /// Its number, from 0, left to right through the whole statement.
    pub index: u16,
}

/// `+ - * / %`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named after what they do
pub enum ArithmeticOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl ArithmeticOperator {
    /// The operator's sign.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Remainder => '%',
        }
    }
}

/// A value without columns in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// A constant.
    Literal(Literal),
    /// `?` or `:name`
    Marker(BindMarker),
    /// `[…]`: a list or a vector.
    List(Vec<Term>),
    /// `{…}`: a set; when empty, a set or a map.
    Set(Vec<Term>),
    /// `{key: value, …}`
    Map(Vec<(Term, Term)>),
    /// `{field: value, …}`
    UserType(Vec<(Identifier, Term)>),
    /// `(…)`: a tuple; with one element, a tuple of one if a tuple is wanted, else just brackets.
    Tuple(Vec<Term>),
    /// `name(…)`
    Function {
        /// The function.
        name: FunctionName,
        /// Its arguments.
        arguments: Vec<Term>,
    },
    /// `(type) value`: says which type the value is written for.
    TypeHint {
        /// The type.
        type_name: TypeName,
        /// The value.
        value: Box<Term>,
    },
    /// `CAST(value AS type)`: converts.
    Cast {
        /// The value.
        value: Box<Term>,
        /// The type to convert to.
        type_name: NativeType,
    },
    /// `left + right` and so on.
    Arithmetic {
        /// What to do.
        operator: ArithmeticOperator,
        /// The left operand.
        left: Box<Term>,
        /// The right operand.
        right: Box<Term>,
    },
    /// `-value` of something that is not a number's literal.
    Negation(Box<Term>),
}

/// As CQL writes it.
impl fmt::Display for Literal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => write!(formatter, "'{}'", text.replace('\'', "''")),
            other => formatter.write_str(&other.raw_text()),
        }
    }
}

/// As CQL writes it; a bind marker as `?`.
impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => write!(formatter, "{literal}"),
            Self::Marker(_) => formatter.write_str("?"),
            Self::List(elements) => write_enclosed(formatter, '[', elements, ']'),
            Self::Set(elements) => write_enclosed(formatter, '{', elements, '}'),
            Self::Map(entries) => write_entries(formatter, entries),
            Self::UserType(fields) => write_entries(formatter, fields),
            Self::Tuple(elements) => write_enclosed(formatter, '(', elements, ')'),
            Self::Function { name, arguments } => {
                write!(formatter, "{name}")?;
                write_enclosed(formatter, '(', arguments, ')')
            }
            Self::TypeHint { type_name, value } => write!(formatter, "({type_name}){value}"),
            Self::Cast { value, type_name } => write!(formatter, "cast({value} as {})", type_name.text()),
            Self::Arithmetic { operator, left, right } => write!(formatter, "{left} {} {right}", operator.sign()),
            Self::Negation(value) => write!(formatter, "-{value}"),
        }
    }
}

/// `{key: value, …}`
pub(super) fn write_entries<Key: fmt::Display, Value: fmt::Display>(
    formatter: &mut fmt::Formatter<'_>,
    entries: &[(Key, Value)],
) -> fmt::Result {
    formatter.write_str("{")?;
    for (index, (key, value)) in entries.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(formatter, "{separator}{key}: {value}")?;
    }
    formatter.write_str("}")
}
