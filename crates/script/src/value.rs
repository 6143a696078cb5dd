//! What goes into a program and comes out of it.

use crate::Number;

/// A value between the database and Lua.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `nil`, which is null.
    Nil,
    /// `true` or `false`.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
    /// A string: any bytes.
    Bytes(Vec<u8>),
    /// A decimal, or an integer of more than 64 bits.
    Number(Number),
    /// A table: keys and values in no order.
    Table(Vec<(Value, Value)>),
    /// A list of a [`crate::Dialect`]: nil may be in it.
    List {
        /// How its elements are kept, in the dialect's numbers.
        order: u8,
        /// Its elements.
        items: Vec<Value>,
    },
    /// A map of a dialect.
    Map {
        /// How its pairs are kept, in the dialect's numbers.
        order: u8,
        /// Its pairs.
        entries: Vec<(Value, Value)>,
    },
    /// Bytes of a dialect that are no string.
    Blob {
        /// What they are, in the dialect's numbers.
        kind: u8,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

impl Value {
    /// A table with the keys 1, 2, ….
    #[must_use]
    pub fn sequence(values: impl IntoIterator<Item = Self>) -> Self {
        let numbered = (1..).map(Self::Integer).zip(values);
        Self::Table(numbered.filter(|(_, value)| *value != Self::Nil).collect())
    }

    /// What it costs to convert it, in instructions: about ten for each part.
    #[must_use]
    pub fn cost(&self) -> u64 {
        match self {
            Self::Nil | Self::Boolean(_) | Self::Integer(_) | Self::Float(_) => 10,
            Self::Bytes(bytes) => 10 + bytes.len() as u64 / 64,
            Self::Blob { bytes, .. } => 40 + bytes.len() as u64 / 64,
            Self::Number(number) => 40 + number.bits() / 64,
            Self::Table(entries) | Self::Map { entries, .. } => {
                entries.iter().fold(40, |sum, (key, value)| sum + key.cost() + value.cost())
            }
            Self::List { items, .. } => items.iter().fold(40, |sum, item| sum + item.cost()),
        }
    }

    /// What Lua calls its type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) | Self::Float(_) | Self::Number(_) => "number",
            Self::Bytes(_) => "string",
            Self::Table(_) => "table",
            Self::List { .. } | Self::Map { .. } | Self::Blob { .. } => "userdata",
        }
    }
}
