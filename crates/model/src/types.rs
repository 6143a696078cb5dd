//! Data types of columns, for all protocols: CQL's native types and what is built from them.
//!
//! A value is the bytes that CQL's native protocol gives it (its specification, section "Data Type Serialization Formats"), in memory,
//! in the log and on the wire alike.

use std::sync::Arc;

/// How many levels of collections, tuples, vectors and user types a type may have: with `frozen<>` around each, its text has less than the
/// 64 levels that a statement may have.
pub const TYPE_DEPTH_MAX: usize = 31;
/// How many parts a type may have when every user type in it is written out: types that contain one another twice, level by level,
/// would grow without bound.
pub const TYPE_PARTS_MAX: usize = 10_000;
/// How many elements a vector may have: as many as an int can count. A value of it is as long as its elements are, so a request bounds it.
pub const VECTOR_DIMENSIONS_MAX: u32 = i32::MAX as u32;

/// The type of a column or of a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// US-ASCII text.
    Ascii,
    /// 64-bit signed integer.
    BigInt,
    /// Any bytes.
    Blob,
    /// One byte, zero is false.
    Boolean,
    /// 64-bit distributed counter.
    Counter,
    /// Days since the epoch, with 2³¹ as 1970-01-01.
    Date,
    /// 32-bit scale, then an unscaled two's complement integer.
    Decimal,
    /// IEEE 754 binary64.
    Double,
    /// Months, days and nanoseconds as zig-zag vints.
    Duration,
    /// IEEE 754 binary32.
    Float,
    /// 4 or 16 bytes of address.
    Inet,
    /// 32-bit signed integer.
    Int,
    /// 16-bit signed integer.
    SmallInt,
    /// UTF-8 text (`text` and `varchar`).
    Text,
    /// Nanoseconds since midnight.
    Time,
    /// Milliseconds since the epoch.
    Timestamp,
    /// Version 1 UUID, ordered by time.
    TimeUuid,
    /// 8-bit signed integer.
    TinyInt,
    /// Any UUID.
    Uuid,
    /// Two's complement integer of any length.
    Varint,
    /// Ordered elements, duplicates allowed.
    List(Arc<DataType>, Frozen),
    /// Sorted distinct elements.
    Set(Arc<DataType>, Frozen),
    /// Sorted keys with values.
    Map(Arc<DataType>, Arc<DataType>, Frozen),
    /// Fixed fields without names, always frozen.
    Tuple(Arc<[DataType]>),
    /// Named fields, declared in a keyspace.
    Udt(Arc<UserType>, Frozen),
    /// A fixed number of elements of one type, always frozen: from 1 to [`VECTOR_DIMENSIONS_MAX`].
    Vector(Arc<DataType>, u32),
    /// A Cassandra class that TarnDB stores as bytes.
    Custom(Arc<str>),
}

/// Whether a collection or user type is one value, written as a whole, or a cell for each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frozen {
    /// One value.
    Yes,
    /// A cell for each element.
    No,
}

/// A user-defined type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UserType {
    /// The keyspace that declares it.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// Field names and types, in order.
    pub fields: Vec<(String, DataType)>,
}

impl DataType {
    /// Whether a column of this type holds a cell for each element.
    #[must_use]
    pub fn is_multi_cell(&self) -> bool {
        matches!(self, Self::List(_, Frozen::No) | Self::Set(_, Frozen::No) | Self::Map(_, _, Frozen::No) | Self::Udt(_, Frozen::No))
    }

    /// Whether it is a list, set or map.
    #[must_use]
    pub fn is_collection(&self) -> bool {
        matches!(self, Self::List(..) | Self::Set(..) | Self::Map(..))
    }

    /// Whether it has at most [`TYPE_DEPTH_MAX`] levels and [`TYPE_PARTS_MAX`] parts. Stops as soon as it knows.
    #[must_use]
    pub fn is_within_bounds(&self) -> bool {
        let mut parts_left = TYPE_PARTS_MAX;
        self.fits(TYPE_DEPTH_MAX, &mut parts_left)
    }

    fn fits(&self, levels_left: usize, parts_left: &mut usize) -> bool {
        let Some(left) = parts_left.checked_sub(1) else { return false };
        *parts_left = left;
        let mut part = |part: &Self| levels_left.checked_sub(1).is_some_and(|levels| part.fits(levels, parts_left));
        match self {
            Self::List(element, _) | Self::Set(element, _) | Self::Vector(element, _) => part(element),
            Self::Map(key, value, _) => part(key) && part(value),
            Self::Tuple(fields) => fields.iter().all(part),
            Self::Udt(user, _) => user.fields.iter().all(|(_, field)| part(field)),
            _ => true,
        }
    }

    /// The same type, not frozen itself if that is possible, with all that it is built from frozen: how types of functions are told apart.
    #[must_use]
    pub fn thawed(&self) -> Self {
        match self.frozen() {
            Self::List(element, _) => Self::List(element, Frozen::No),
            Self::Set(element, _) => Self::Set(element, Frozen::No),
            Self::Map(key, value, _) => Self::Map(key, value, Frozen::No),
            Self::Udt(user, _) => Self::Udt(user, Frozen::No),
            other => other,
        }
    }

    /// The same type with itself, and all that it is built from, frozen.
    #[must_use]
    pub fn frozen(&self) -> Self {
        match self {
            Self::List(element, _) => Self::List(Arc::new(element.frozen()), Frozen::Yes),
            Self::Set(element, _) => Self::Set(Arc::new(element.frozen()), Frozen::Yes),
            Self::Map(key, value, _) => Self::Map(Arc::new(key.frozen()), Arc::new(value.frozen()), Frozen::Yes),
            Self::Udt(user, _) => Self::Udt(Arc::clone(user), Frozen::Yes),
            other => other.clone(),
        }
    }
}

/// The CQL name of the type, as `system_schema.columns` and error messages show it.
impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
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
            Self::Varint => "varint",
            Self::List(element, Frozen::No) => return write!(f, "list<{element}>"),
            Self::Set(element, Frozen::No) => return write!(f, "set<{element}>"),
            Self::Map(key, value, Frozen::No) => return write!(f, "map<{key}, {value}>"),
            Self::List(element, Frozen::Yes) => return write!(f, "frozen<list<{element}>>"),
            Self::Set(element, Frozen::Yes) => return write!(f, "frozen<set<{element}>>"),
            Self::Map(key, value, Frozen::Yes) => return write!(f, "frozen<map<{key}, {value}>>"),
            Self::Tuple(fields) => {
                f.write_str("frozen<tuple<")?;
                for (position, field) in fields.iter().enumerate() {
                    if position > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{field}")?;
                }
                return f.write_str(">>");
            }
            Self::Udt(user, Frozen::Yes) => return write!(f, "frozen<{}>", quoted(&user.name)),
            Self::Udt(user, Frozen::No) => return write!(f, "{}", quoted(&user.name)),
            Self::Vector(element, dimension) => return write!(f, "vector<{element}, {dimension}>"),
            Self::Custom(class) => return write!(f, "'{class}'"),
        };
        f.write_str(name)
    }
}

fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_double_at_each_level_are_out_of_bounds() {
        let list = |levels| (0..levels).fold(DataType::Int, |inner, _| DataType::List(Arc::new(inner), Frozen::Yes));
        assert!(list(TYPE_DEPTH_MAX).is_within_bounds());
        assert!(!list(TYPE_DEPTH_MAX + 1).is_within_bounds());
        let doubled = (0..TYPE_DEPTH_MAX).fold(DataType::Int, |inner, _| {
            let fields = vec![("a".to_owned(), inner.clone()), ("b".to_owned(), inner)];
            DataType::Udt(Arc::new(UserType { keyspace: "k".to_owned(), name: "t".to_owned(), fields }), Frozen::Yes)
        });
        assert!(!doubled.is_within_bounds());
    }

    #[test]
    fn names_read_as_cql() {
        let map = DataType::Map(Arc::new(DataType::Text), Arc::new(DataType::List(Arc::new(DataType::Int), Frozen::Yes)), Frozen::No);
        assert_eq!(map.to_string(), "map<text, frozen<list<int>>>");
        assert_eq!(map.frozen().to_string(), "frozen<map<text, frozen<list<int>>>>");
        assert!(map.is_multi_cell() && !map.frozen().is_multi_cell());
        assert_eq!(DataType::Tuple([DataType::Int, DataType::Text].into()).to_string(), "frozen<tuple<int, text>>");
        assert_eq!(DataType::Vector(Arc::new(DataType::Float), 3).to_string(), "vector<float, 3>");
    }
}
