//! Types as written: user-defined types are names only, and nothing is checked (a counter may stand inside a list here).

use std::fmt;

use super::list::write_list;
use super::name::{Identifier, QualifiedName};
use crate::language::keyword::Keyword;

/// A type without parameters that CQL has a word for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the variants are CQL's own names
pub enum NativeType {
    Ascii,
    BigInt,
    Blob,
    Boolean,
    Counter,
    Date,
    Decimal,
    Double,
    Duration,
    Float,
    Inet,
    Int,
    SmallInt,
    Text,
    Time,
    Timestamp,
    TimeUuid,
    TinyInt,
    Uuid,
    VarChar,
    VarInt,
}

impl NativeType {
    /// The type that `keyword` names, if it names one.
    #[must_use]
    pub fn of_keyword(keyword: Keyword) -> Option<Self> {
        let native = match keyword {
            Keyword::Ascii => Self::Ascii,
            Keyword::BigInt => Self::BigInt,
            Keyword::Blob => Self::Blob,
            Keyword::Boolean => Self::Boolean,
            Keyword::Counter => Self::Counter,
            Keyword::Date => Self::Date,
            Keyword::Decimal => Self::Decimal,
            Keyword::Double => Self::Double,
            Keyword::Duration => Self::Duration,
            Keyword::Float => Self::Float,
            Keyword::Inet => Self::Inet,
            Keyword::Int => Self::Int,
            Keyword::SmallInt => Self::SmallInt,
            Keyword::Text => Self::Text,
            Keyword::Time => Self::Time,
            Keyword::Timestamp => Self::Timestamp,
            Keyword::TimeUuid => Self::TimeUuid,
            Keyword::TinyInt => Self::TinyInt,
            Keyword::Uuid => Self::Uuid,
            Keyword::VarChar => Self::VarChar,
            Keyword::VarInt => Self::VarInt,
            _ => return None,
        };
        Some(native)
    }

    /// CQL's word for the type.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Ascii => "ascii",
            Self::BigInt => "bigint",
            Self::Blob => "blob",
            Self::Boolean => "boolean",
            Self::Counter => "counter",
            Self::Date => "date",
            Self::Decimal => "decimal",
            Self::Double => "double",
            Self::Duration => "duration",
            Self::Float => "float",
            Self::Inet => "inet",
            Self::Int => "int",
            Self::SmallInt => "smallint",
            Self::Text => "text",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::TimeUuid => "timeuuid",
            Self::TinyInt => "tinyint",
            Self::Uuid => "uuid",
            Self::VarChar => "varchar",
            Self::VarInt => "varint",
        }
    }
}

/// A type as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeName {
    /// `int`, `text`, …
    Native(NativeType),
    /// `list<…>`
    List(Box<TypeName>),
    /// `set<…>`
    Set(Box<TypeName>),
    /// `map<key, value>`
    Map(Box<TypeName>, Box<TypeName>),
    /// `tuple<…, …>`
    Tuple(Vec<TypeName>),
    /// `vector<element, dimension>`
    Vector {
        /// The elements' type.
        element: Box<TypeName>,
        /// How many elements; may be 0 or less here.
        dimension: i32,
    },
    /// `frozen<…>`
    Frozen(Box<TypeName>),
    /// The name of a user-defined type.
    User(QualifiedName),
    /// `'class'`: a type by the name of Cassandra's class for it.
    Custom(Box<str>),
}

impl TypeName {
    /// The user-defined type `name` in the session's keyspace.
    #[must_use]
    pub fn user(name: impl Into<Box<str>>) -> Self {
        Self::User(QualifiedName { keyspace: None, name: Identifier::new(name) })
    }
}

/// As CQL writes it.
impl fmt::Display for TypeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native(native) => formatter.write_str(native.text()),
            Self::List(element) => write!(formatter, "list<{element}>"),
            Self::Set(element) => write!(formatter, "set<{element}>"),
            Self::Map(key, value) => write!(formatter, "map<{key}, {value}>"),
            Self::Tuple(elements) => {
                formatter.write_str("tuple<")?;
                write_list(formatter, elements)?;
                formatter.write_str(">")
            }
            Self::Vector { element, dimension } => write!(formatter, "vector<{element}, {dimension}>"),
            Self::Frozen(inner) => write!(formatter, "frozen<{inner}>"),
            Self::User(name) => write!(formatter, "{name}"),
            Self::Custom(class) => write!(formatter, "'{}'", class.replace('\'', "''")),
        }
    }
}
