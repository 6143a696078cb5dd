//! The seam: what a query needs of whoever has the tables.

use std::sync::Arc;

/// Why tables could not be read.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// What a column holds. Times are milliseconds since 1970, as integers.
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
    /// A time.
    Timestamp,
    /// Bytes.
    Blob,
    /// What SQL cannot show: always null.
    Opaque,
}

impl ColumnType {
    /// Each with the declaration that gives SQLite the right affinity: comparisons with a text convert a number, and with a number no text.
    pub(crate) const DECLARATIONS: [(Self, &'static str); 11] = [
        (Self::Text, "TEXT"),
        (Self::Bool, "BOOLEAN"),
        (Self::Byte, "TINYINT"),
        (Self::Short, "SMALLINT"),
        (Self::Integer, "INTEGER"),
        (Self::Long, "BIGINT"),
        (Self::Float, "REAL"),
        (Self::Double, "DOUBLE"),
        (Self::Timestamp, "TIMESTAMP"),
        (Self::Blob, "BLOB"),
        (Self::Opaque, "OPAQUE"),
    ];

    pub(crate) fn declaration(self) -> &'static str {
        Self::DECLARATIONS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, declaration)| declaration)
    }

    pub(crate) fn of_declaration(declaration: &str) -> Option<Self> {
        Self::DECLARATIONS.iter().find(|(_, known)| *known == declaration).map(|(kind, _)| *kind)
    }

    /// Whether its values are integers to SQLite.
    #[must_use]
    pub fn is_integral(self) -> bool {
        matches!(self, Self::Bool | Self::Byte | Self::Short | Self::Integer | Self::Long | Self::Timestamp)
    }

    /// Whether a scan can be told what its values compare with.
    pub(crate) fn compares(self) -> bool {
        self.is_integral() || self == Self::Text
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnType,
    /// Whether it always has a value.
    pub is_not_null: bool,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, as it was first written.
    pub name: String,
    /// Its columns: at most [`Table::COLUMNS_MAX`].
    pub columns: Vec<Column>,
    /// How many of them, from the first, are the key that rows are ordered by; 0 without a key.
    pub key_len: usize,
    /// Columns by which rows are found without looking at all of them.
    pub indexed: Vec<usize>,
}

impl Table {
    /// The most columns that a table may have: what the engine takes.
    pub const COLUMNS_MAX: usize = 2_000;
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
        }
    }
}

/// How a column compares with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

/// What rows have to fulfil. A scan may give others, too: they are looked at again.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The column's position: of a type that is integral, with an integer, or a text, with a text.
    pub column: usize,
    /// How it compares.
    pub operator: Operator,
    /// With what.
    pub value: Value,
}

/// The order in which a scan gives rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the key, ascending, if the table has one.
    Key,
    /// By the key, descending.
    KeyDescending,
}

/// Rows, one at a time.
pub trait Scan {
    /// Goes to the next row, at first to the first one; false after the last.
    ///
    /// # Errors
    /// What the source says.
    fn advance(&mut self) -> Result<bool, SourceError>;

    /// A column of the row at which it is.
    fn value(&self, column: usize) -> ValueRef<'_>;

    /// What the row is called, in all scans of its table; none if its key tells.
    fn row(&self) -> Option<i64> {
        None
    }
}

/// Whoever has the tables. All calls of one query come from its thread.
pub trait Tables: Send + Sync {
    /// The table of a name, whatever its capitals; none if there is no such.
    ///
    /// # Errors
    /// What the source says.
    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError>;

    /// Begins to read a table that [`Tables::find`] has given. `columns` has a bit for each of the first 63 columns that is looked at, and the last bit for all others.
    ///
    /// # Errors
    /// What the source says.
    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError>;
}
