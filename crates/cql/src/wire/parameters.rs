//! What accompanies a statement: consistency, values, paging, timestamps.
//!
//! ```text
//! QUERY, EXECUTE   consistency | flags | [values] [page size] [paging state] [serial consistency] [timestamp] [keyspace] [now]
//! BATCH            consistency | flags | [serial consistency] [timestamp] [keyspace] [now]
//! ```
//! Flags are one byte in v3 and v4, four in v5, which adds the last two fields.

use super::writer::{write_byte, write_bytes, write_consistency, write_int, write_long, write_string};
use super::{Consistency, ProtocolVersion, Reader, ValueNames, Values, VersionedFeature, WireError};

const VALUES: u32 = 0x01;
const SKIP_METADATA: u32 = 0x02;
const PAGE_SIZE: u32 = 0x04;
const PAGING_STATE: u32 = 0x08;
const SERIAL_CONSISTENCY: u32 = 0x10;
const TIMESTAMP: u32 = 0x20;
const NAMES: u32 = 0x40;
const KEYSPACE: u32 = 0x80;
const NOW_IN_SECONDS: u32 = 0x100;

const BATCH_FLAGS: u32 = SERIAL_CONSISTENCY | TIMESTAMP;
const QUERY_FLAGS: u32 = BATCH_FLAGS | VALUES | SKIP_METADATA | PAGE_SIZE | PAGING_STATE | NAMES;
const V5_FLAGS: u32 = KEYSPACE | NOW_IN_SECONDS;

/// Whether a result shall describe its columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultColumns {
    /// Describe them.
    #[default]
    Described,
    /// The client knows them from PREPARE.
    Skipped,
}

/// The parameters of QUERY and EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryParameters<'a> {
    /// Consistency level.
    pub consistency: Consistency,
    /// Bound values.
    pub values: Values<'a>,
    /// Whether the result shall describe its columns.
    pub result_columns: ResultColumns,
    /// Rows in a page; `None` for all rows, which negative numbers mean too.
    pub page_size: Option<u32>,
    /// Where the last page ended.
    pub paging_state: Option<&'a [u8]>,
    /// Common to QUERY, EXECUTE and BATCH.
    pub common: CommonParameters<'a>,
}

/// The parameters that BATCH has too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommonParameters<'a> {
    /// Consistency level of a condition.
    pub serial_consistency: Option<Consistency>,
    /// Write timestamp, microseconds.
    pub timestamp: Option<i64>,
    /// Keyspace of unqualified names (v5).
    pub keyspace: Option<&'a str>,
    /// What to take for the present time, seconds (v5).
    pub now_in_seconds: Option<i32>,
}

impl<'a> QueryParameters<'a> {
    /// Parameters with nothing but a consistency level and values.
    #[must_use]
    pub fn new(consistency: Consistency, values: Values<'a>) -> Self {
        Self {
            consistency,
            values,
            result_columns: ResultColumns::Described,
            page_size: None,
            paging_state: None,
            common: CommonParameters::default(),
        }
    }

    /// Reads and checks them.
    ///
    /// # Errors
    /// [`WireError::UnknownFlags`] for flags that `version` does not define, [`WireError::PageSizeZero`], and all errors of the fields.
    #[inline]
    pub fn read(reader: &mut Reader<'a>, version: ProtocolVersion) -> Result<Self, WireError> {
        let consistency = reader.consistency()?;
        let flags = read_flags(reader, version, QUERY_FLAGS)?;
        let values = if flags & VALUES != 0 {
            let names = if flags & NAMES != 0 { ValueNames::Present } else { ValueNames::Absent };
            Values::read(reader, version, names)?
        } else {
            Values::none(version)
        };
        let result_columns = if flags & SKIP_METADATA != 0 { ResultColumns::Skipped } else { ResultColumns::Described };
        let page_size = if flags & PAGE_SIZE != 0 { u32::try_from(reader.int()?).ok() } else { None };
        if page_size == Some(0) {
            return Err(WireError::PageSizeZero);
        }
        let paging_state = if flags & PAGING_STATE != 0 { reader.bytes()? } else { None };
        let common = CommonParameters::read(reader, flags)?;
        Ok(Self { consistency, values, result_columns, page_size, paging_state, common })
    }

    /// Appends them.
    ///
    /// # Errors
    /// [`WireError::NotInVersion`] for a field that `version` does not have.
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) -> Result<(), WireError> {
        let mut flags = self.common.flags(version)?;
        if !self.values.is_empty() {
            flags |= VALUES;
            if self.values.names() == ValueNames::Present {
                flags |= NAMES;
            }
        }
        if self.result_columns == ResultColumns::Skipped {
            flags |= SKIP_METADATA;
        }
        if self.page_size.is_some() {
            flags |= PAGE_SIZE;
        }
        if self.paging_state.is_some() {
            flags |= PAGING_STATE;
        }
        write_consistency(out, self.consistency);
        write_flags(out, version, flags);
        if !self.values.is_empty() {
            self.values.write(out);
        }
        if let Some(page_size) = self.page_size {
            write_int(out, i32::try_from(page_size).unwrap_or(i32::MAX));
        }
        if let Some(paging_state) = self.paging_state {
            write_bytes(out, Some(paging_state));
        }
        self.common.write(out);
        Ok(())
    }
}

impl<'a> CommonParameters<'a> {
    /// Reads the flags of a BATCH and what they announce.
    pub(super) fn read_after_batch(reader: &mut Reader<'a>, version: ProtocolVersion) -> Result<Self, WireError> {
        let flags = read_flags(reader, version, BATCH_FLAGS)?;
        Self::read(reader, flags)
    }

    /// Appends the flags of a BATCH and what they announce.
    pub(super) fn write_after_batch(&self, out: &mut Vec<u8>, version: ProtocolVersion) -> Result<(), WireError> {
        let flags = self.flags(version)?;
        write_flags(out, version, flags);
        self.write(out);
        Ok(())
    }

    fn read(reader: &mut Reader<'a>, flags: u32) -> Result<Self, WireError> {
        let serial_consistency = if flags & SERIAL_CONSISTENCY != 0 { Some(reader.consistency()?) } else { None };
        let timestamp = if flags & TIMESTAMP != 0 { Some(reader.long()?) } else { None };
        if timestamp == Some(i64::MIN) {
            return Err(WireError::TimestampOutOfBounds);
        }
        let keyspace = if flags & KEYSPACE != 0 { Some(reader.string()?) } else { None };
        let now_in_seconds = if flags & NOW_IN_SECONDS != 0 { Some(reader.int()?) } else { None };
        Ok(Self { serial_consistency, timestamp, keyspace, now_in_seconds })
    }

    fn flags(&self, version: ProtocolVersion) -> Result<u32, WireError> {
        let mut flags = 0;
        if self.serial_consistency.is_some() {
            flags |= SERIAL_CONSISTENCY;
        }
        if self.timestamp.is_some() {
            flags |= TIMESTAMP;
        }
        if self.keyspace.is_some() {
            since_v5(version, VersionedFeature::Keyspace)?;
            flags |= KEYSPACE;
        }
        if self.now_in_seconds.is_some() {
            since_v5(version, VersionedFeature::NowInSeconds)?;
            flags |= NOW_IN_SECONDS;
        }
        Ok(flags)
    }

    fn write(&self, out: &mut Vec<u8>) {
        if let Some(serial_consistency) = self.serial_consistency {
            write_consistency(out, serial_consistency);
        }
        if let Some(timestamp) = self.timestamp {
            write_long(out, timestamp);
        }
        if let Some(keyspace) = self.keyspace {
            write_string(out, keyspace);
        }
        if let Some(now_in_seconds) = self.now_in_seconds {
            write_int(out, now_in_seconds);
        }
    }
}

pub(super) fn since_v5(version: ProtocolVersion, feature: VersionedFeature) -> Result<(), WireError> {
    if version >= ProtocolVersion::V5 { Ok(()) } else { Err(WireError::NotInVersion { feature, version }) }
}

#[inline]
fn read_flags(reader: &mut Reader<'_>, version: ProtocolVersion, known: u32) -> Result<u32, WireError> {
    let (flags, known) = match version {
        ProtocolVersion::V3 | ProtocolVersion::V4 => (u32::from(reader.byte()?), known),
        ProtocolVersion::V5 => (reader.int()?.cast_unsigned(), known | V5_FLAGS),
    };
    match flags & !known {
        0 => Ok(flags),
        unknown => Err(WireError::UnknownFlags { flags: unknown }),
    }
}

fn write_flags(out: &mut Vec<u8>, version: ProtocolVersion, flags: u32) {
    match version {
        ProtocolVersion::V3 | ProtocolVersion::V4 => write_byte(out, flags as u8),
        ProtocolVersion::V5 => write_int(out, flags.cast_signed()),
    }
}
