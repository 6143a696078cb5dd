//! The description of columns in results and prepared statements.
//!
//! ```text
//! flags (int) | count (int) | [key indexes: PREPARED's variables, v4+] | [paging state] | [new metadata id] | [keyspace, table] | columns
//! column = [keyspace, table] name type
//! ```
//! [`ResultMetadata`] is encoded once for each prepared statement; a result then copies its bytes.

use model::DataType;

use super::types::{EncodedType, write_type};
use super::writer::{write_bytes, write_int, write_short_bytes, write_string};
use super::{Notation, ProtocolVersion, Reader, ResultColumns, WireError};

const GLOBAL_TABLE: u32 = 0x01;
const HAS_MORE_PAGES: u32 = 0x02;
const NO_METADATA: u32 = 0x04;
const METADATA_CHANGED: u32 = 0x08;

/// A column to describe.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSpec<'a> {
    /// Its keyspace.
    pub keyspace: &'a str,
    /// Its table.
    pub table: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub data_type: &'a DataType,
}

/// Columns encoded for one protocol version, without what changes from one result to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultMetadata {
    /// [`GLOBAL_TABLE`], or [`NO_METADATA`] if there are no columns.
    flags: u32,
    column_count: i32,
    columns: Vec<u8>,
}

impl ResultMetadata {
    /// Encodes `columns`; keyspace and table are written once if all columns share them.
    #[must_use]
    pub fn encode(version: ProtocolVersion, columns: &[ColumnSpec<'_>]) -> Self {
        let Some(first) = columns.first() else { return Self::none() };
        let mut bytes = Vec::new();
        let shared = columns.iter().all(|column| column.keyspace == first.keyspace && column.table == first.table);
        if shared {
            write_string(&mut bytes, first.keyspace);
            write_string(&mut bytes, first.table);
        }
        for column in columns {
            if !shared {
                write_string(&mut bytes, column.keyspace);
                write_string(&mut bytes, column.table);
            }
            write_string(&mut bytes, column.name);
            write_type(&mut bytes, column.data_type, version);
        }
        let column_count = i32::try_from(columns.len()).unwrap_or(i32::MAX);
        Self { flags: if shared { GLOBAL_TABLE } else { 0 }, column_count, columns: bytes }
    }

    /// Of a statement without result, or without markers.
    #[must_use]
    pub fn none() -> Self {
        Self { flags: NO_METADATA, column_count: 0, columns: Vec::new() }
    }

    /// Number of columns.
    #[must_use]
    pub fn column_count(&self) -> usize {
        usize::try_from(self.column_count).unwrap_or_default()
    }

    /// The encoded columns: the bytes from which an id of the metadata is made.
    #[must_use]
    pub fn encoded_columns(&self) -> &[u8] {
        &self.columns
    }

    /// Appends it as the description of rows.
    pub(super) fn write_for_rows(&self, out: &mut Vec<u8>, description: RowsDescription<'_>, paging_state: Option<&[u8]>) {
        let mut flags = match description {
            RowsDescription::Columns(ResultColumns::Described) => self.flags,
            RowsDescription::Columns(ResultColumns::Skipped) => self.flags | NO_METADATA,
            RowsDescription::Changed { .. } => self.flags | METADATA_CHANGED,
        };
        if paging_state.is_some() {
            flags |= HAS_MORE_PAGES;
        }
        write_int(out, flags.cast_signed());
        write_int(out, self.column_count);
        if paging_state.is_some() {
            write_bytes(out, paging_state);
        }
        if let RowsDescription::Changed { new_id } = description {
            write_short_bytes(out, new_id);
        }
        if flags & NO_METADATA == 0 {
            out.extend_from_slice(&self.columns);
        }
    }

    /// Appends it as the description of a prepared statement's markers. `extra_flags` are extensions that STARTUP agreed on.
    pub(super) fn write_for_markers(&self, out: &mut Vec<u8>, version: ProtocolVersion, key_indexes: &[u16], extra_flags: u32) {
        // A statement without markers still describes them, as an empty list.
        write_int(out, (self.flags & !NO_METADATA | extra_flags).cast_signed());
        write_int(out, self.column_count);
        if version >= ProtocolVersion::V4 {
            write_int(out, i32::try_from(key_indexes.len()).unwrap_or(i32::MAX));
            for index in key_indexes {
                out.extend_from_slice(&index.to_be_bytes());
            }
        }
        out.extend_from_slice(&self.columns);
    }

    /// Appends it as the description of a prepared statement's result.
    pub(super) fn write_for_result(&self, out: &mut Vec<u8>) {
        write_int(out, self.flags.cast_signed());
        write_int(out, self.column_count);
        out.extend_from_slice(&self.columns);
    }
}

/// How rows describe their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsDescription<'a> {
    /// As the client asked.
    Columns(ResultColumns),
    /// In full, and with a new id, since the client knows outdated columns (v5).
    Changed {
        /// The id of the columns described.
        new_id: &'a [u8],
    },
}

/// A description of columns that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedMetadata<'a> {
    /// Number of columns.
    pub column_count: u32,
    /// Flags, extensions included.
    pub flags: u32,
    /// Where the next page starts, if there is one.
    pub paging_state: Option<&'a [u8]>,
    /// A new id of the columns.
    pub new_id: Option<&'a [u8]>,
    /// Positions of the partition key's columns among markers.
    pub key_indexes: KeyIndexes<'a>,
    /// The columns, unless skipped.
    pub columns: Option<ReceivedColumns<'a>>,
}

/// What is being described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Described {
    Rows,
    Markers(ProtocolVersion),
}

impl<'a> ReceivedMetadata<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, described: Described) -> Result<Self, WireError> {
        let flags = reader.int()?.cast_unsigned();
        let column_count = count(reader)?;
        let key_indexes = match described {
            Described::Markers(version) if version >= ProtocolVersion::V4 => KeyIndexes::read(reader)?,
            _ => KeyIndexes::default(),
        };
        let paging_state = if flags & HAS_MORE_PAGES != 0 { reader.bytes()? } else { None };
        let new_id = if flags & METADATA_CHANGED != 0 { Some(reader.short_bytes()?) } else { None };
        let columns = if flags & NO_METADATA != 0 { None } else { Some(ReceivedColumns::read(reader, flags, column_count)?) };
        Ok(Self { column_count, flags, paging_state, new_id, key_indexes, columns })
    }
}

pub(super) fn count(reader: &mut Reader<'_>) -> Result<u32, WireError> {
    let count = reader.int()?;
    u32::try_from(count).map_err(|_| WireError::InvalidLength { notation: Notation::Int, length: count })
}

/// Positions of a partition key's columns among the markers of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyIndexes<'a> {
    bytes: &'a [u8],
}

impl<'a> KeyIndexes<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = count(reader)?;
        let start = *reader;
        for _ in 0..count {
            reader.short()?;
        }
        Ok(Self { bytes: reader.since(&start) })
    }

    /// The positions, in the order of the key.
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || reader.short().ok())
    }
}

/// Columns that were received, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedColumns<'a> {
    shared: Option<(&'a str, &'a str)>,
    count: u32,
    bytes: &'a [u8],
}

/// A column that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedColumn<'a> {
    /// Its keyspace.
    pub keyspace: &'a str,
    /// Its table.
    pub table: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub data_type: EncodedType<'a>,
}

impl<'a> ReceivedColumns<'a> {
    fn read(reader: &mut Reader<'a>, flags: u32, count: u32) -> Result<Self, WireError> {
        let shared = if flags & GLOBAL_TABLE != 0 { Some((reader.string()?, reader.string()?)) } else { None };
        let start = *reader;
        for _ in 0..count {
            read_column(reader, shared)?;
        }
        Ok(Self { shared, count, bytes: reader.since(&start) })
    }

    /// The columns in order.
    pub fn iter(&self) -> impl Iterator<Item = ReceivedColumn<'a>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        let shared = self.shared;
        (0..self.count).map_while(move |_| read_column(&mut reader, shared).ok())
    }
}

fn read_column<'a>(reader: &mut Reader<'a>, shared: Option<(&'a str, &'a str)>) -> Result<ReceivedColumn<'a>, WireError> {
    let (keyspace, table) = match shared {
        Some(names) => names,
        None => (reader.string()?, reader.string()?),
    };
    Ok(ReceivedColumn { keyspace, table, name: reader.string()?, data_type: EncodedType::read(reader)? })
}
