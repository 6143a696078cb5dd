//! A record as a row: bins are cells, the dictionary of `model::record_set` says which.
//!
//! A write replaces the whole row: all its cells share one timestamp and one expiry, and the row has liveness. A row that has none is a
//! deleted record.

use crate::ResultCode;
use crate::geo;
use crate::value::{Particle, ParticleType};
use model::record_set::{Bin, GENERATION, KEY_BLOB, KEY_INTEGER, KEY_STRING, NewBin, RecordSet, TRANSACTION};
use model::row::{Content, Deletion, RowKind, RowView, RowWriter, Stamp};
use model::{ColumnId, DataType};
use smallvec::SmallVec;
use std::borrow::Cow;

/// When the protocol's clock started: 2010-01-01, in seconds since 1970.
pub(crate) const EPOCH_S: u32 = 1_262_304_000;

/// The generation after this one is 1.
const GENERATION_MAX: u16 = u16::MAX;

/// A record that exists.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    row: RowView<'a>,
    /// The bytes of its row.
    pub(crate) row_bytes: usize,
    pub(crate) stamp: Stamp,
    pub(crate) generation: u16,
    pub(crate) key: Option<UserKey<'a>>,
    /// Whether its row keeps something for a transaction.
    pub(crate) is_locked: bool,
}

/// The key as the application knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserKey<'a> {
    column: ColumnId,
    value: &'a [u8],
}

/// A bin's name and value.
#[derive(Clone, Debug)]
pub(crate) struct BinValue<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: Particle<'a>,
    /// The dictionary's column for this name and a value of this kind, if the record has it from there.
    column: Option<ColumnId>,
}

/// Bins in the making of a record.
pub(crate) type Bins<'a> = SmallVec<[BinValue<'a>; 16]>;

impl<'a> BinValue<'a> {
    /// A bin that the record does not have yet.
    pub(crate) fn new(name: &'a [u8], value: Particle<'a>) -> Self {
        Self { name, value, column: None }
    }

    /// Replaces the value.
    pub(crate) fn set(&mut self, value: Particle<'a>) {
        self.column = self.column.filter(|_| self.value.kind == value.kind);
        self.value = value;
    }
}

impl<'a> UserKey<'a> {
    /// A key as the wire has it: its type, then its value.
    pub(crate) fn of_wire(field: &'a [u8]) -> Result<Self, ResultCode> {
        let (kind, value) = field.split_first().ok_or(ResultCode::PARAMETER)?;
        let column = match ParticleType::from_wire(*kind) {
            Some(ParticleType::Integer) if value.len() == 8 => KEY_INTEGER,
            Some(ParticleType::String) => KEY_STRING,
            Some(ParticleType::Blob) => KEY_BLOB,
            _ => return Err(ResultCode::PARAMETER),
        };
        Ok(Self { column, value })
    }

    fn of_cell(column: ColumnId, value: &'a [u8]) -> Option<Self> {
        matches!(column, KEY_INTEGER | KEY_STRING | KEY_BLOB).then_some(Self { column, value })
    }

    /// The type's byte and the value.
    pub(crate) fn to_wire(self) -> ([u8; 1], &'a [u8]) {
        let kind = match self.column {
            KEY_INTEGER => ParticleType::Integer,
            KEY_STRING => ParticleType::String,
            _ => ParticleType::Blob,
        };
        ([kind as u8], self.value)
    }
}

impl<'a> Record<'a> {
    /// The record in a row; none if it is deleted or expired.
    #[inline]
    pub(crate) fn of_row(row: &'a [u8], now_s: u32) -> Option<Self> {
        let (row_bytes, row) = (row.len(), RowView::new(row));
        let stamp = row.liveness().filter(|stamp| stamp.is_live(now_s))?;
        let (mut generation, mut key, mut is_locked) = (0, None, false);
        for cell in row.cells().take_while(|cell| cell.column <= KEY_BLOB) {
            let Some(value) = cell.live_value(now_s) else {
                is_locked |= cell.column == TRANSACTION;
                continue;
            };
            if cell.column == GENERATION {
                generation = value.try_into().map_or(0, i32::from_be_bytes) as u16;
            } else {
                key = UserKey::of_cell(cell.column, value);
            }
        }
        Some(Self { row, row_bytes, stamp, generation, key, is_locked })
    }

    /// Its bins.
    pub(crate) fn bins(&self, set: &'a RecordSet) -> impl Iterator<Item = (&'a Bin, &'a [u8])> {
        self.columns(set).map(|(_, bin, value)| (bin, value))
    }

    fn columns(&self, set: &'a RecordSet) -> impl Iterator<Item = (ColumnId, &'a Bin, &'a [u8])> {
        let cells = self.row.cells().skip_while(|cell| cell.column <= KEY_BLOB);
        // All cells live as long as the row, which does.
        cells.filter_map(|cell| Some((cell.column, set.bin(cell.column)?, cell.live_value(0)?)))
    }

    /// Its bins, to be changed.
    pub(crate) fn to_bins(self, set: &'a RecordSet) -> Bins<'a> {
        let bins = self.columns(set);
        bins.map(|(column, bin, value)| BinValue { name: bin.name.as_bytes(), value: particle(bin, value), column: Some(column) }).collect()
    }

    /// The value of a bin.
    pub(crate) fn bin(&self, set: &'a RecordSet, name: &[u8]) -> Option<Particle<'a>> {
        self.bins(set).find(|(bin, _)| bin.name.as_bytes() == name).map(|(bin, value)| particle(bin, value))
    }

    /// The seconds that are left of its life; 0 for ever.
    pub(crate) fn ttl_left_s(&self, now_s: u32) -> u32 {
        if self.stamp.ttl_s == 0 { 0 } else { self.stamp.expires_at_s.saturating_sub(1 + now_s) }
    }

    /// When it was written, in milliseconds since the protocol's clock started.
    pub(crate) fn updated_ms(&self) -> i64 {
        (self.stamp.timestamp / 1_000 - i64::from(EPOCH_S) * 1_000).max(0)
    }

    /// The generation that a write gives it.
    pub(crate) fn next_generation(&self) -> u16 {
        if self.generation == GENERATION_MAX { 1 } else { self.generation + 1 }
    }
}

/// Bins by their names.
pub(crate) trait BinSource {
    fn bin(&self, name: &[u8]) -> Option<Particle<'_>>;
}

/// A record with its dictionary.
pub(crate) struct Known<'r, 'a>(pub(crate) &'r Record<'a>, pub(crate) &'a RecordSet);

impl BinSource for Known<'_, '_> {
    fn bin(&self, name: &[u8]) -> Option<Particle<'_>> {
        self.0.bin(self.1, name)
    }
}

impl BinSource for Bins<'_> {
    fn bin(&self, name: &[u8]) -> Option<Particle<'_>> {
        let Particle { kind, bytes } = &self.iter().find(|bin| bin.name == name)?.value;
        Some(Particle::new(*kind, bytes))
    }
}

/// A stored value with its type.
fn particle<'a>(bin: &Bin, value: &'a [u8]) -> Particle<'a> {
    Particle::new(ParticleType::from_wire(bin.kind).unwrap_or(ParticleType::Blob), value)
}

/// When a record that is written now is gone. Clocks tell whole seconds: it is there for all of the last one, so that it never lives for less
/// than it was given.
pub(crate) fn expires_at_s(now_s: u32, ttl_s: u32) -> u32 {
    if ttl_s == 0 { 0 } else { now_s.saturating_add(ttl_s).saturating_add(1) }
}

/// The last second of a record with this stamp, as the protocol has it; 0 is never.
pub(crate) fn void_time(stamp: Stamp) -> u32 {
    if stamp.ttl_s == 0 { 0 } else { stamp.expires_at_s.saturating_sub(1 + EPOCH_S).max(1) }
}

/// Appends a record's row, with what a transaction keeps in it.
///
/// # Errors
/// A bin that the dictionary lacks.
pub(crate) fn write_record(
    set: &RecordSet,
    stamp: Stamp,
    (generation, key): (u16, Option<UserKey<'_>>),
    bins: &[BinValue<'_>],
    kept: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<RowKind, ResultCode> {
    let mut cells: SmallVec<[(ColumnId, Cow<'_, [u8]>); 32]> = SmallVec::with_capacity(bins.len());
    let mut last = None;
    for bin in bins {
        let known = bin.column.or_else(|| set.column_after(last, bin.name, bin.value.kind as u8));
        let column = known.ok_or(ResultCode::SERVER_ERROR)?;
        // A column of former versions has a text as clients get it.
        let needs_head = bin.value.kind == ParticleType::GeoJson && set.bin(column).is_some_and(|bin| !bin.is_text);
        let text = if needs_head { geo::text(&bin.value.bytes) } else { None };
        cells.push((column, text.map_or(Cow::Borrowed(&*bin.value.bytes), |text| Cow::Owned(geo::with_head(text)))));
        last = Some(column);
    }
    cells.sort_unstable_by_key(|(column, _)| *column);
    let mut row = RowWriter::new(out, stamp, true, None);
    if let Some(kept) = kept {
        row.value(TRANSACTION, kept_stamp(stamp.timestamp), kept);
    }
    row.value(GENERATION, stamp, &i32::from(generation).to_be_bytes());
    if let Some(key) = key {
        row.value(key.column, stamp, key.value);
    }
    for (column, value) in cells {
        row.value(column, stamp, &value);
    }
    Ok(row.finish())
}

/// Appends a row without a record, with what a transaction keeps in it.
pub(crate) fn write_absent(timestamp: i64, kept: &[u8], out: &mut Vec<u8>) {
    let mut row = RowWriter::new(out, Stamp::at(timestamp), false, None);
    row.value(TRANSACTION, kept_stamp(timestamp), kept);
    row.finish();
}

/// That of a cell that has expired long ago.
fn kept_stamp(timestamp: i64) -> Stamp {
    Stamp { timestamp, ttl_s: 1, expires_at_s: 1 }
}

/// What a transaction keeps in a row.
pub(crate) fn kept_in(row: &[u8]) -> Option<&[u8]> {
    let first = RowView::new(row).cells().next().filter(|cell| cell.column == TRANSACTION)?;
    if let Content::Value(kept) = first.content { Some(kept) } else { None }
}

/// Appends the row of a deleted record.
pub(crate) fn write_tombstone(timestamp: i64, now_s: u32, out: &mut Vec<u8>) -> RowKind {
    let deletion = Deletion { timestamp, deleted_at_s: now_s };
    RowWriter::new(out, Stamp::at(timestamp), false, Some(deletion)).finish()
}

/// A timestamp from `now_us` on that is larger than any in the row before.
pub(crate) fn timestamp_after(row: Option<&[u8]>, now_us: i64) -> i64 {
    row.map_or(now_us, |row| now_us.max(timestamp_of(row).saturating_add(1)))
}

/// When a row's record was written or deleted.
pub(crate) fn timestamp_of(row: &[u8]) -> i64 {
    let row = RowView::new(row);
    row.deletion().map_or(row.shared().timestamp, |deletion| deletion.timestamp.max(row.shared().timestamp))
}

/// The entry of the dictionary for a bin with values of this kind.
///
/// # Errors
/// A name that is no text.
pub(crate) fn new_bin(name: &[u8], kind: ParticleType) -> Result<NewBin, ResultCode> {
    let name = std::str::from_utf8(name).map_err(|_| ResultCode::BIN_NAME)?;
    let (kind_name, data_type) = match kind {
        ParticleType::Integer => ("integer", DataType::BigInt),
        ParticleType::Double => ("double", DataType::Double),
        ParticleType::String => ("string", DataType::Text),
        ParticleType::Bool => ("boolean", DataType::Boolean),
        ParticleType::Null | ParticleType::Blob => ("blob", DataType::Blob),
        ParticleType::JavaBlob => ("java", DataType::Blob),
        ParticleType::CSharpBlob => ("csharp", DataType::Blob),
        ParticleType::PythonBlob => ("python", DataType::Blob),
        ParticleType::RubyBlob => ("ruby", DataType::Blob),
        ParticleType::PhpBlob => ("php", DataType::Blob),
        ParticleType::ErlangBlob => ("erlang", DataType::Blob),
        ParticleType::HyperLogLog => ("hyperloglog", DataType::Blob),
        ParticleType::Map => ("map", DataType::Blob),
        ParticleType::List => ("list", DataType::Blob),
        ParticleType::GeoJson => ("geojson", DataType::Text),
    };
    Ok(NewBin { name: name.to_owned(), kind: kind as u8, kind_name, data_type })
}
