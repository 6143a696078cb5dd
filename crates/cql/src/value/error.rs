//! Why bytes are not a value of their type. The messages are Cassandra's where it has a well-known one: clients and tests match them.

use model::DataType;

/// A collection that counts its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `list<…>`
    List,
    /// `set<…>`
    Set,
    /// `map<…>`
    Map,
}

impl std::fmt::Display for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Set => "set",
            Self::Map => "map",
        })
    }
}

/// Bytes that are not a value of the type they were given for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A type of fixed size got another number of bytes.
    #[error("{expected} ({actual})")]
    Length {
        /// What was expected, in Cassandra's words for this type.
        expected: &'static str,
        /// How many bytes there were.
        actual: usize,
    },
    /// Not 7-bit.
    #[error("Invalid byte for ascii: {byte}")]
    Ascii {
        /// The first byte that is not, as a signed number.
        byte: i8,
    },
    /// Not UTF-8.
    #[error("String didn't validate.")]
    Utf8,
    /// Neither an IPv4 nor an IPv6 address.
    #[error("Expected 4 or 16 byte inetaddress; got {}", Hex(.start))]
    Inet {
        /// The bytes, at most the first 32.
        start: Box<[u8]>,
    },
    /// A UUID of another version where a version 1 UUID is needed.
    #[error("Invalid version for TimeUUID type: 0x{version:x}")]
    TimeUuidVersion {
        /// The version it has.
        version: u8,
    },
    /// Not within a day.
    #[error("The time must be from 0 to 86399999999999 nanoseconds since midnight but was: {nanoseconds}")]
    Time {
        /// The value.
        nanoseconds: i64,
    },
    /// More digits than any computation has.
    #[error("Numbers may have at most {} bytes ({actual})", super::limits::NUMBER_BYTES_MAX)]
    NumberTooLong {
        /// How many bytes there were.
        actual: usize,
    },
    /// Three vints are needed and no more.
    #[error("A duration needs exactly three vints ({actual} bytes)")]
    DurationLayout {
        /// How many bytes there were.
        actual: usize,
    },
    /// The months of a duration do not fit.
    #[error("The duration months must be a 32 bits integer but was: {value}")]
    DurationMonths {
        /// The value.
        value: i64,
    },
    /// The days of a duration do not fit.
    #[error("The duration days must be a 32 bits integer but was: {value}")]
    DurationDays {
        /// The value.
        value: i64,
    },
    /// A duration is positive or negative as a whole.
    #[error("The duration months, days and nanoseconds must be all of the same sign ({months}, {days}, {nanoseconds})")]
    DurationSigns {
        /// Its months.
        months: i64,
        /// Its days.
        days: i64,
        /// Its nanoseconds.
        nanoseconds: i64,
    },
    /// A collection's bytes end too early.
    #[error("Not enough bytes to read a {container}")]
    CollectionShort {
        /// Which kind.
        container: Container,
    },
    /// A collection's bytes go on after its last element.
    #[error("Unexpected extraneous bytes after {container} value")]
    CollectionLong {
        /// Which kind.
        container: Container,
    },
    /// Null within a collection.
    #[error("Null value read when not allowed")]
    NullElement,
    /// A tuple or user type ends within the length of a field.
    #[error("Not enough bytes to read size of {position}th {field}")]
    FieldSizeShort {
        /// From 0.
        position: usize,
        /// "component", or "field" and its name.
        field: FieldName,
    },
    /// A tuple or user type ends within a field.
    #[error("Not enough bytes to read {position}th {field}")]
    FieldShort {
        /// From 0.
        position: usize,
        /// "component", or "field" and its name.
        field: FieldName,
    },
    /// A tuple has more components than its type.
    #[error("Invalid remaining data after end of tuple value")]
    TupleLong,
    /// A user type's value has more fields than its type.
    #[error("Invalid remaining data after end of UDT value")]
    UserTypeLong,
    /// A field of a user type has a wrong value.
    #[error("Failure validating the {position}th {field}; {cause}")]
    Field {
        /// From 0.
        position: usize,
        /// The field.
        field: FieldName,
        /// What is wrong.
        cause: Box<ValueError>,
    },
    /// A vector without any bytes.
    #[error("Invalid empty vector value")]
    VectorEmpty,
    /// A vector with too few elements.
    #[error("Not enough bytes to read a {ty}")]
    VectorShort {
        /// The vector's type.
        ty: DataType,
    },
    /// A vector with too many bytes.
    #[error("Unexpected {extra} extraneous bytes after {ty} value")]
    VectorLong {
        /// The vector's type.
        ty: DataType,
        /// How many.
        extra: usize,
    },
    /// The type is nested deeper than [`super::TYPE_DEPTH_MAX`].
    #[error("The type has more than {} levels", super::limits::TYPE_DEPTH_MAX)]
    Depth,
}

/// How a message names a part of a tuple or user type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldName {
    /// A tuple's component.
    Component,
    /// A user type's field.
    Named(Box<str>),
}

impl std::fmt::Display for FieldName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Component => f.write_str("component"),
            Self::Named(name) => write!(f, "field {name}"),
        }
    }
}

struct Hex<'a>(&'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
