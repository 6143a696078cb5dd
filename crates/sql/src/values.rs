//! What columns hold, and values are.

use crate::time::Moment;

/// What a column holds. Times of milliseconds are integers in scans and conditions, more precise ones [`ValueRef::Time`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// UTF-8.
    Text,
    /// 0 or 1.
    Bool,
    /// Eight bits.
    Byte,
    /// Sixteen bits.
    Short,
    /// Thirty-two bits.
    Integer,
    /// Sixty-four bits.
    Long,
    /// Single precision.
    Float,
    /// Double precision.
    Double,
    /// A time of milliseconds.
    Timestamp,
    /// A time of milliseconds that is a text in scans and conditions, too, as [`crate::time::format`] writes it.
    TimestampText,
    /// A time of microseconds.
    MicroTimestamp,
    /// A time of nanoseconds.
    NanoTimestamp,
    /// Bytes.
    Blob,
    /// What SQL cannot show: always null.
    Opaque,
}

impl ColumnType {
    /// Each with the declaration that gives SQLite the right affinity: comparisons with a text convert a number, and with a number no text.
    pub(crate) const DECLARATIONS: [(Self, &'static str); 14] = [
        (Self::Text, "TEXT"),
        (Self::Bool, "BOOLEAN"),
        (Self::Byte, "TINYINT"),
        (Self::Short, "SMALLINT"),
        (Self::Integer, "INTEGER"),
        (Self::Long, "BIGINT"),
        (Self::Float, "REAL"),
        (Self::Double, "DOUBLE"),
        (Self::Timestamp, "TIMESTAMP"),
        (Self::TimestampText, "TIMESTAMP TEXT"),
        (Self::MicroTimestamp, "TIMESTAMP(6)"),
        (Self::NanoTimestamp, "TIMESTAMP(9)"),
        (Self::Blob, "BLOB"),
        (Self::Opaque, "OPAQUE"),
    ];

    /// Its name in SQL.
    #[must_use]
    pub fn declaration(self) -> &'static str {
        Self::DECLARATIONS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, declaration)| declaration)
    }

    pub(crate) fn of_declaration(declaration: &str) -> Option<Self> {
        Self::DECLARATIONS.iter().find(|(_, known)| *known == declaration).map(|(kind, _)| *kind)
    }

    /// Its name in GridDB's SQL.
    pub(crate) fn griddb_name(self) -> &'static str {
        match self {
            Self::Text | Self::TimestampText => "STRING",
            Self::Bool => "BOOL",
            Self::Byte => "BYTE",
            Self::Short => "SHORT",
            Self::Integer => "INTEGER",
            Self::Long => "LONG",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Opaque => "NULL",
            _ => self.declaration(),
        }
    }

    /// Whether it holds times.
    #[must_use]
    pub fn is_time(self) -> bool {
        self == Self::Timestamp || self.is_precise_time()
    }

    /// Whether it holds times more precise than a millisecond.
    #[must_use]
    pub fn is_precise_time(self) -> bool {
        matches!(self, Self::MicroTimestamp | Self::NanoTimestamp)
    }

    /// The last time that is not later and that a column of it can hold, and whether it is the same; none if it holds no times.
    pub(crate) fn cut(self, moment: Moment) -> Option<(Value, bool)> {
        let micro = Moment { ns: moment.ns - moment.ns % 1_000, ..moment };
        match self {
            Self::Timestamp => Some((Value::Integer(moment.ms), moment.ns == 0)),
            Self::MicroTimestamp => Some((Value::Time(micro), micro == moment)),
            Self::NanoTimestamp => Some((Value::Time(moment), true)),
            _ => None,
        }
    }

    /// Whether its values are integers to SQLite.
    #[must_use]
    pub fn is_integral(self) -> bool {
        matches!(self, Self::Bool | Self::Byte | Self::Short | Self::Integer | Self::Long | Self::Timestamp)
    }

    /// Whether a scan can be told what its values compare with.
    pub(crate) fn compares(self) -> bool {
        self.is_integral() || self.is_precise_time() || matches!(self, Self::Text | Self::TimestampText | Self::Blob)
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// None.
    Null,
    /// An integer, a truth or a time.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
    /// A time that SQLite is told as the statement has times.
    Time(Moment),
}

/// A value that lies elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// None.
    Null,
    /// An integer, a truth or a time.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
    /// A time of a column that has times more precise than a millisecond.
    Time(Moment),
}

impl Value {
    /// The value, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(text) => ValueRef::Text(text),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
            Self::Time(moment) => ValueRef::Time(*moment),
        }
    }
}

impl ValueRef<'_> {
    /// A copy.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Integer(value) => Value::Integer(value),
            Self::Real(value) => Value::Real(value),
            Self::Text(text) => Value::Text(text.to_owned()),
            Self::Blob(bytes) => Value::Blob(bytes.to_vec()),
            Self::Time(moment) => Value::Time(moment),
        }
    }
}
