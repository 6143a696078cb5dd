//! What is known of a call's arguments before there are values, and whether they fit a function's types.

use crate::value::literal::{Fit, Literal};
use crate::value::parse::Excerpt;
use model::DataType;

/// What is known of an argument before there is a value.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// Its type: a column, a cast, another call.
    Type(&'a DataType),
    /// A literal of a native type.
    Literal(Literal<'a>),
    /// What is computed of integer literals alone, with the type that it has by itself: an operator's operand, which becomes what its receiver is, as a literal does.
    Integers(&'a DataType),
    /// A list literal of so many elements: a vector literal looks the same.
    List(usize),
    /// Another literal of a collection or tuple.
    Composed,
    /// Nothing: a marker or null.
    Unknown,
}

/// A literal that is a value of every numeric type.
const SMALL_INTEGER: Literal<'static> = Literal::Integer("1");

impl<'a> From<Option<&'a DataType>> for Argument<'a> {
    fn from(ty: Option<&'a DataType>) -> Self {
        ty.map_or(Self::Unknown, Self::Type)
    }
}

impl Argument<'_> {
    pub(super) fn shown(&self) -> Box<str> {
        match self {
            Self::Type(ty) | Self::Integers(ty) => ty.to_string().into(),
            Self::Literal(Literal::String(text)) => format!("'{}'", Excerpt::new(text)).into(),
            Self::Literal(literal) => Excerpt::new(literal.text()).to_string().into(),
            Self::List(_) | Self::Composed | Self::Unknown => "?".into(),
        }
    }

    /// The type that the argument itself has.
    pub(crate) fn own_type(&self) -> Option<DataType> {
        match self {
            Self::Type(ty) | Self::Integers(ty) => Some((*ty).clone()),
            Self::Literal(literal) => Some(literal.natural_type()),
            Self::List(_) | Self::Composed | Self::Unknown => None,
        }
    }

    pub(super) fn fit(&self, ty: &DataType) -> Fit {
        match self {
            Self::Type(own) if same(own, ty) => Fit::Exact,
            Self::Type(own) if assignable(own, ty) => Fit::Convertible,
            Self::Type(_) => Fit::None,
            Self::Integers(own) if same(own, ty) => Fit::Exact,
            Self::Integers(own) if assignable(own, ty) || SMALL_INTEGER.fit(ty) != Fit::None => Fit::Convertible,
            Self::Integers(_) => Fit::None,
            Self::Literal(literal) => literal.fit(ty),
            Self::List(_) | Self::Composed | Self::Unknown => Fit::Convertible,
        }
    }
}

/// Equal but for whether they are frozen.
pub(super) fn same(one: &DataType, two: &DataType) -> bool {
    one == two || one.frozen() == two.frozen()
}

/// Whether every value of `from` is one of `to`, byte for byte.
pub(super) fn assignable(from: &DataType, to: &DataType) -> bool {
    same(from, to)
        || matches!(
            (from, to),
            (_, DataType::Blob)
                | (DataType::Ascii, DataType::Text)
                | (DataType::TimeUuid, DataType::Uuid)
                | (DataType::BigInt, DataType::Timestamp)
                | (DataType::Timestamp, DataType::BigInt)
                | (DataType::Int | DataType::BigInt | DataType::Timestamp, DataType::Varint)
        )
}
