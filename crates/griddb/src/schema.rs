//! Schemas as clients send and get them: columns with types, and which of them make the row key.

mod by_name;

pub(crate) use by_name::ByName;

use crate::instant::{NANO_BYTES, Precision};
use crate::name::ContainerName;
use crate::partitioning::Partitioning;
use crate::wire::{Reader, put_i16, put_i32, put_string};
use crate::{ErrorCode, GridError};
use model::{DataType, Frozen};
use std::sync::Arc;

const ARRAY: u8 = 1;
const NOT_NULL: u8 = 4;

/// An array's cell begins with the number of its elements.
const ARRAY_COUNT_BYTES: usize = 4;

/// How many columns a container may have.
const COLUMNS_MAX: usize = 1_024;
/// The longest name of a column.
const COLUMN_NAME_BYTES_MAX: usize = 256;

/// The type of a value, or of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "named as in the protocol")]
pub enum ElementType {
    String = 0,
    Bool = 1,
    Byte = 2,
    Short = 3,
    Integer = 4,
    Long = 5,
    Float = 6,
    Double = 7,
    /// Of milliseconds.
    Timestamp = 8,
    Geometry = 9,
    Blob = 10,
    MicroTimestamp = 11,
    NanoTimestamp = 12,
}

impl ElementType {
    const ALL: [(Self, &'static str); 13] = [
        (Self::String, "STRING"),
        (Self::Bool, "BOOL"),
        (Self::Byte, "BYTE"),
        (Self::Short, "SHORT"),
        (Self::Integer, "INTEGER"),
        (Self::Long, "LONG"),
        (Self::Float, "FLOAT"),
        (Self::Double, "DOUBLE"),
        (Self::Timestamp, "TIMESTAMP"),
        (Self::Geometry, "GEOMETRY"),
        (Self::Blob, "BLOB"),
        (Self::MicroTimestamp, "TIMESTAMP(6)"),
        (Self::NanoTimestamp, "TIMESTAMP(9)"),
    ];

    /// The type of a number.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn of_wire(number: u8) -> Result<Self, GridError> {
        let found = Self::ALL.iter().find(|(element, _)| *element as u8 == number);
        found.map(|(element, _)| *element).ok_or(GridError::malformed("a type that is not known"))
    }

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(element, _)| *element == self).map_or("", |(_, name)| name)
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(element, _)| *element)
    }

    /// Bytes of a value in the fixed part of a row; none for what is in the other part.
    #[must_use]
    pub fn fixed_bytes(self) -> Option<usize> {
        match self {
            Self::Bool | Self::Byte => Some(1),
            Self::Short => Some(2),
            Self::Integer | Self::Float => Some(4),
            Self::Long | Self::Double | Self::Timestamp | Self::MicroTimestamp => Some(8),
            Self::NanoTimestamp => Some(NANO_BYTES),
            Self::String | Self::Geometry | Self::Blob => None,
        }
    }

    /// The column type of a table that holds it.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::String | Self::Geometry => DataType::Text,
            Self::Bool => DataType::Boolean,
            Self::Byte => DataType::TinyInt,
            Self::Short => DataType::SmallInt,
            Self::Integer => DataType::Int,
            Self::Long | Self::MicroTimestamp => DataType::BigInt,
            Self::Float => DataType::Float,
            Self::Double => DataType::Double,
            Self::Timestamp => DataType::Timestamp,
            Self::NanoTimestamp => DataType::Varint,
            Self::Blob => DataType::Blob,
        }
    }

    /// How finely it tells times; none if it is not of times.
    #[must_use]
    pub fn precision(self) -> Option<Precision> {
        match self {
            Self::Timestamp => Some(Precision::Milli),
            Self::MicroTimestamp => Some(Precision::Micro),
            Self::NanoTimestamp => Some(Precision::Nano),
            _ => None,
        }
    }

    /// Whether it is of times, of whichever precision.
    #[must_use]
    pub fn is_time(self) -> bool {
        self.precision().is_some()
    }

    /// Whether it is of times more precise than a millisecond, which clients before 5.3 do not know.
    #[must_use]
    pub fn is_precise_time(self) -> bool {
        matches!(self, Self::MicroTimestamp | Self::NanoTimestamp)
    }

    /// Whether a row key may be of it.
    fn makes_keys(self) -> bool {
        matches!(self, Self::String | Self::Integer | Self::Long) || self.is_time()
    }
}

/// A column as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Its name, as it was first written.
    pub name: String,
    /// Its type.
    pub element: ElementType,
    /// Whether it holds an array of that type.
    pub is_array: bool,
    /// Whether every row has a value.
    pub is_not_null: bool,
}

impl ColumnDefinition {
    /// The column type of a table that holds it.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        let element = self.element.data_type();
        if self.is_array { DataType::List(Arc::new(element), Frozen::Yes) } else { element }
    }

    /// The cell that stands for none where there has to be one: a zero, nothing in a text or array, a geometry that is nowhere.
    pub(crate) fn zero_cell(&self) -> &'static [u8] {
        if self.element == ElementType::Geometry {
            return b"POINT(EMPTY)";
        }
        let bytes = match self.element {
            _ if self.is_array => ARRAY_COUNT_BYTES,
            // An integer of any size has its shortest form.
            ElementType::NanoTimestamp => 1,
            element => element.fixed_bytes().unwrap_or(0),
        };
        &[0; 8][..bytes]
    }

    /// Whether SQL has no values of its type, as in GridDB: arrays and geometries are for clients over NoSQL.
    #[must_use]
    pub fn is_beyond_sql(&self) -> bool {
        self.is_array || self.element == ElementType::Geometry
    }

    /// Whether another column is declared as this one is.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.name.eq_ignore_ascii_case(&other.name)
            && (self.element, self.is_array, self.is_not_null) == (other.element, other.is_array, other.is_not_null)
    }

    /// Bytes in the fixed part of a row.
    #[must_use]
    pub fn fixed_bytes(&self) -> Option<usize> {
        if self.is_array { None } else { self.element.fixed_bytes() }
    }
}

/// What a container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Rows with a key of one's own, or without.
    Collection = 0,
    /// Rows by time.
    TimeSeries = 1,
}

impl Kind {
    /// The kind of a number; none where the client does not mind.
    ///
    /// # Errors
    /// A number of no kind.
    pub fn of_wire(number: u8) -> Result<Option<Self>, GridError> {
        match number {
            0 => Ok(Some(Self::Collection)),
            1 => Ok(Some(Self::TimeSeries)),
            0xFF => Ok(None),
            _ => Err(GridError::malformed("a type of container that is not known")),
        }
    }
}

/// A container as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: ContainerName,
    /// The partition that its clients have computed.
    pub partition: u32,
    /// What it is.
    pub kind: Kind,
    /// Its columns.
    pub columns: Vec<ColumnDefinition>,
    /// How many columns, from the first, make the row key.
    pub key_len: usize,
    /// How often its columns have changed.
    pub version: i32,
    /// How its rows are divided, if it is a partitioned table.
    pub partitioning: Option<Arc<Partitioning>>,
}

/// Columns by their names.
pub(crate) fn names_of(columns: &[ColumnDefinition]) -> ByName {
    ByName::new(columns.iter().map(|column| column.name.as_str()))
}

/// Whether a column may have this name.
pub(crate) fn is_column_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= COLUMN_NAME_BYTES_MAX && !name.contains(['\n', '\0', ' '])
}

/// Columns and the number of those that make the key.
pub fn read_columns(reader: &mut Reader<'_>) -> Result<(Vec<ColumnDefinition>, usize), GridError> {
    let invalid = |message: &'static str| GridError::new(ErrorCode::DS_DS_SCHEMA_INVALID, message);
    let count = reader.count()?;
    if count == 0 || count > COLUMNS_MAX {
        return Err(invalid("a container has 1 to 1024 columns"));
    }
    let mut columns: Vec<ColumnDefinition> = Vec::with_capacity(count);
    for _ in 0..count {
        let name = reader.string()?.to_owned();
        let element = ElementType::of_wire(reader.u8()?)?;
        let flags = reader.u8()?;
        if !is_column_name(&name) {
            return Err(invalid("the name of a column is empty, too long or has a space in it"));
        }
        let is_array = flags & ARRAY != 0;
        if is_array && (matches!(element, ElementType::Blob | ElementType::Geometry) || element.is_precise_time()) {
            return Err(invalid("there are no arrays of BLOB, GEOMETRY, TIMESTAMP(6) and TIMESTAMP(9)"));
        }
        columns.push(ColumnDefinition { name, element, is_array, is_not_null: flags & NOT_NULL != 0 });
    }
    if names_of(&columns).has_one_twice() {
        return Err(invalid("two columns have one name"));
    }
    let key_len = usize::try_from(reader.i16()?).map_err(|_| GridError::malformed("a negative count"))?;
    if key_len > count {
        return Err(invalid("the row key has more columns than the container"));
    }
    for (position, column) in columns.iter_mut().enumerate().take(key_len) {
        if usize::try_from(reader.i16()?) != Ok(position) {
            return Err(invalid("the row key is made of the first columns, in their order"));
        }
        if !column.element.makes_keys() || column.is_array {
            return Err(invalid("a row key is of STRING, INTEGER, LONG or a TIMESTAMP"));
        }
        column.is_not_null = true;
    }
    Ok((columns, key_len))
}

/// Appends columns and which make the key.
pub fn write_columns<'a>(columns: impl ExactSizeIterator<Item = &'a ColumnDefinition>, key_len: usize, out: &mut Vec<u8>) {
    put_i32(out, columns.len() as i32);
    for column in columns {
        put_string(out, &column.name);
        out.push(column.element as u8);
        out.push(if column.is_array { ARRAY } else { 0 } | if column.is_not_null { NOT_NULL } else { 0 });
    }
    put_i16(out, key_len as i16);
    (0..key_len as i16).for_each(|position| put_i16(out, position));
}

impl Definition {
    /// Whether these are its columns, in whatever order, with the same key.
    #[must_use]
    pub fn has_columns(&self, kind: Kind, columns: &[ColumnDefinition], key_len: usize) -> bool {
        self.positions_among(kind, (columns, &names_of(columns)), key_len).is_some()
    }

    /// Where each of its columns is among these; none if they are others, or make another key.
    pub(crate) fn positions_among(
        &self,
        kind: Kind,
        (columns, by_name): (&[ColumnDefinition], &ByName),
        key_len: usize,
    ) -> Option<Vec<usize>> {
        if self.kind != kind || !self.has_key(columns, key_len) || self.columns.len() != columns.len() {
            return None;
        }
        let position = |(at, own): (usize, &ColumnDefinition)| {
            if own.is_same(&columns[at]) {
                return Some(at);
            }
            by_name.position(&own.name).filter(|position| own.is_same(&columns[*position]))
        };
        self.columns.iter().enumerate().map(position).collect()
    }

    /// Whether the first of these columns make its row key.
    pub(crate) fn has_key(&self, columns: &[ColumnDefinition], key_len: usize) -> bool {
        let keys = self.columns.iter().zip(columns).take(self.key_len);
        self.key_len == key_len && keys.len() == key_len && keys.into_iter().all(|(own, other)| own.is_same(other))
    }
}

#[cfg(test)]
mod tests;
