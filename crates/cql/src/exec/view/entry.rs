//! Entries of rows that have changed, beside them: their views are written until the entry goes.
//!
//! The entries of a slot are one partition of the table [`batch_log`] of the base table, so they have the base rows' replicas and go with the table. Keys start
//! with the time of the write, so that what a statement has written is one stretch, and what was left unfinished comes first.
//!
//! | bytes | clustering key |
//! |---|---|
//! | 1 | [`FIRST_ROW_BYTE`] |
//! | 8 | the operation's timestamp, big-endian, sign bit flipped |
//! | 4 | a number in the operation |
//!
//! | bytes | entry, the only cell of its row |
//! |---|---|
//! | 1 | version, 1 |
//! | 1 | 0: of a row; 1: of the rows that a deletion of a range, or of the partition, hides from a key on |
//! | 2 + n | the base row's partition key |
//! | 2 + n | its clustering key; of a range that of the deletion |
//! | 2 + n | of a range the clustering key to go on from |
//! | … | of a row, where views had it before: 4 the view's table, 2 + n partition key, 2 + n clustering key |
//!
//! Integers are big-endian.

use super::super::range_of_deletion;
use super::shape::{BaseRow, Shapes, ViewKey};
use crate::plan::ViewPlan;
use crate::wire::writer::{write_byte, write_int, write_short_bytes};
use crate::wire::{Reader, WireError};
use base::{Slot, TableId};
use model::operation::{
    Context, FIRST_ROW_BYTE, PartitionKey, RANGE_DELETION_PREFIX, RowChange, RowObserver, RowStore, Stop, WriteSet, batch_log,
    index_slot_token, purge_after_s,
};
use model::row::{Deletion, RowView, RowWriter, Stamp};
use model::{ColumnId, Table};
use std::sync::Arc;

const VERSION: u8 = 1;
const ENTRY: ColumnId = ColumnId(0);

/// Nothing is hidden in a row whose former place is asked for.
const HIDES_NOTHING: i64 = i64::MIN;

/// A changed row, or rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) partition: Vec<u8>,
    pub(super) clustering: Vec<u8>,
    pub(super) about: About,
}

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// A row, and where views had it.
    Row(Vec<ViewKey>),
    /// The rows of a range, from a key on.
    Range(Vec<u8>),
}

/// The partition key of a slot's entries. Logged batches have keys of two bytes there.
pub(super) fn slot_key(slot: Slot) -> [u8; 3] {
    let [high, low] = slot.0.to_be_bytes();
    [high, low, VERSION]
}

/// The partition of a slot's entries.
pub(super) fn partition(base: TableId, slot: Slot, key: &[u8; 3]) -> PartitionKey<'_> {
    PartitionKey { table: batch_log(base), token: index_slot_token(slot), bytes: key }
}

/// The first key of the entries of an operation.
pub(super) fn first_key(timestamp: i64) -> Vec<u8> {
    let mut key = vec![FIRST_ROW_BYTE];
    key.extend_from_slice(&(timestamp.cast_unsigned() ^ 1 << 63).to_be_bytes());
    key
}

/// The timestamp of the operation that an entry is of.
pub(super) fn timestamp_of(key: &[u8]) -> Option<i64> {
    let bytes = key.get(1..9)?.try_into().ok()?;
    Some((u64::from_be_bytes(bytes) ^ 1 << 63).cast_signed())
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>) {
        write_byte(out, VERSION);
        write_byte(out, u8::from(matches!(self.about, About::Range(_))));
        write_short_bytes(out, &self.partition);
        write_short_bytes(out, &self.clustering);
        match &self.about {
            About::Range(from) => write_short_bytes(out, from),
            About::Row(keys) => keys.iter().for_each(|key| key.append(out)),
        }
    }

    /// Reads the entry in a row; nothing if it is gone, or a later release's.
    pub(super) fn of_row(row: &[u8], now_s: u32) -> Option<Self> {
        let bytes = RowView::new(row).cells().next()?.live_value(now_s)?;
        Self::read(bytes).ok().flatten()
    }

    fn read(bytes: &[u8]) -> Result<Option<Self>, WireError> {
        let mut reader = Reader::new(bytes);
        if reader.byte()? != VERSION {
            return Ok(None);
        }
        let is_range = reader.byte()? != 0;
        let (partition, clustering) = (reader.short_bytes()?.to_vec(), reader.short_bytes()?.to_vec());
        let about = if is_range {
            About::Range(reader.short_bytes()?.to_vec())
        } else {
            let mut keys = Vec::new();
            while !reader.rest().is_empty() {
                keys.push(ViewKey::read(&mut reader)?);
            }
            About::Row(keys)
        };
        Ok(Some(Self { partition, clustering, about }))
    }

    /// Stages the entry under a key.
    pub(super) fn stage(&self, partition: &PartitionKey<'_>, key: &[u8], timestamp: i64, writes: &mut WriteSet) {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        let stamp = Stamp::at(timestamp);
        let mut row = RowWriter::new(writes.begin(partition, key), stamp, false, None);
        row.value(ENTRY, stamp, &bytes);
        row.finish();
        writes.end(None);
    }
}

/// Stages the end of an entry.
pub(super) fn stage_end(partition: &PartitionKey<'_>, key: &[u8], now_s: u32, writes: &mut WriteSet) {
    let deletion = Deletion { timestamp: i64::MAX, deleted_at_s: now_s };
    let kind = RowWriter::new(writes.begin(partition, key), Stamp::at(i64::MIN), false, Some(deletion)).finish();
    writes.end(purge_after_s(kind, 0));
}

impl ViewKey {
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        write_int(out, self.view.0.cast_signed());
        write_short_bytes(out, &self.partition);
        write_short_bytes(out, &self.clustering);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let view = TableId(reader.int()?.cast_unsigned());
        Ok(Self { view, partition: reader.short_bytes()?.to_vec(), clustering: reader.short_bytes()?.to_vec() })
    }
}

/// Writes entries: the observer of a table with views.
pub struct Entries {
    shapes: Shapes,
}

impl Entries {
    /// For a table and its views.
    #[must_use]
    pub fn new(base: &Arc<Table>, views: &[ViewPlan]) -> Self {
        Self { shapes: Shapes::new(base, views) }
    }

    /// What an entry says of a change; nothing if it is of no row of the table.
    fn about(&self, change: &RowChange<'_>) -> Option<About> {
        let has_rows_below = self.shapes.base.clustering_len > 0;
        if has_rows_below && change.clustering.first().is_none_or(|first| *first == RANGE_DELETION_PREFIX) {
            let deletion = RowView::new(change.new).deletion()?;
            let is_new = change.old.and_then(|old| RowView::new(old).deletion()) != Some(deletion);
            // Rows that are not deleted one by one stay hidden for ever.
            let hides_rows = deletion.deleted_at_s == u32::MAX;
            let from = range_of_deletion(change.clustering).map_or(&[FIRST_ROW_BYTE][..], |(from, _)| from);
            return (is_new && hides_rows).then(|| About::Range(from.to_vec()));
        }
        let base = &self.shapes.base;
        let row_of = |bytes| BaseRow::new(base, change.partition.bytes, change.clustering, bytes, HIDES_NOTHING);
        Some(About::Row(change.old.map(|old| self.shapes.keys(&row_of(old)).collect()).unwrap_or_default()))
    }
}

impl RowObserver for Entries {
    fn changed(&self, context: &Context, change: &RowChange<'_>, _: &dyn RowStore, derived: &mut WriteSet) -> Result<(), Stop> {
        let Some(about) = self.about(change) else { return Ok(()) };
        let slot = change.partition.token.slot();
        let bytes = slot_key(slot);
        let mut key = first_key(context.timestamp_us);
        key.extend_from_slice(&(change.group.len() as u32).to_be_bytes());
        let entry = Entry { partition: change.partition.bytes.to_vec(), clustering: change.clustering.to_vec(), about };
        entry.stage(&partition(self.shapes.base.id, slot, &bytes), &key, context.timestamp_us, derived);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let key = ViewKey { view: TableId(7), partition: b"view".to_vec(), clustering: vec![0x40, 1] };
        for about in [About::Row(vec![key.clone(), key]), About::Row(Vec::new()), About::Range(b"from".to_vec())] {
            let entry = Entry { partition: b"p".to_vec(), clustering: Vec::new(), about };
            let mut bytes = Vec::new();
            entry.write(&mut bytes);
            assert_eq!(Entry::read(&bytes), Ok(Some(entry)));
            bytes[0] += 1;
            assert_eq!(Entry::read(&bytes), Ok(None), "a later release's is left alone");
        }
    }

    #[test]
    fn keys_sort_by_time() {
        let times = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(times.windows(2).all(|pair| first_key(pair[0]) < first_key(pair[1])));
        assert!(times.iter().all(|time| timestamp_of(&first_key(*time)) == Some(*time)));
    }
}
