//! Entries for rows that were there before the index, a stretch of a slot at a time.
//!
//! How far a slot has come is a row among its entries: the position to go on from, or nothing when it is complete. It is written in one group with the
//! entries, so a process that dies, and a new primary, go on where it was. Rows that are written meanwhile have their entries by the observer.

use super::entries::{Entries, STATE_COLUMN};
use crate::wire::writer::{write_long, write_short_bytes};
use crate::wire::{Reader, WireError};
use base::{Slot, Token};
use model::operation::{
    Context, INDEX_STATE_KEY, IndexedValues, Operation, PartitionKey, Position, RowStore, Stop, Visit, WriteSet, index_slot_key,
    index_slot_token, is_index_complete,
};
use model::row::{Content, RowView, RowWriter, Stamp};
use model::{Index, Table};
use std::sync::Arc;

/// A stretch ends after so many rows, or bytes of them.
const ROWS_MAX: usize = 64;
const BYTES_MAX: usize = 128 << 10;

/// A stretch of a slot.
pub struct Backfill {
    entries: Entries,
    table: Arc<Table>,
    index: Arc<Index>,
    slot: Slot,
}

/// What a stretch has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backfilled {
    /// There is more.
    More,
    /// All rows of the slot have their entries.
    Complete,
}

impl Backfill {
    /// The next stretch of a slot; `None` if the table does not have the index's column.
    #[must_use]
    pub fn new(table: &Arc<Table>, index: &Arc<Index>, slot: Slot) -> Option<Self> {
        let entries = Entries::new(Arc::clone(table), Arc::clone(index))?;
        Some(Self { entries, table: Arc::clone(table), index: Arc::clone(index), slot })
    }

    /// As [`Entries::of_values_within`].
    #[must_use]
    pub fn of_values_within(self, within: Option<Arc<dyn IndexedValues>>) -> Self {
        Self { entries: self.entries.of_values_within(within), ..self }
    }
}

impl Backfilled {
    /// What a stretch has replied; `None` for bytes that are no reply.
    #[must_use]
    pub fn read(reply: &[u8]) -> Option<Self> {
        match reply {
            [0] => Some(Self::More),
            [1] => Some(Self::Complete),
            _ => None,
        }
    }
}

/// Where a slot's backfill goes on.
struct Next {
    token: Token,
    partition: Vec<u8>,
    clustering: Vec<u8>,
}

impl Next {
    fn read(state: &[u8]) -> Result<Option<Self>, WireError> {
        let Some(cell) = RowView::new(state).cells().next() else { return Ok(None) };
        let Content::Value(bytes) = cell.content else { return Ok(None) };
        let mut reader = Reader::new(bytes);
        let token = Token(reader.long()?);
        let (partition, clustering) = (reader.short_bytes()?.to_vec(), reader.short_bytes()?.to_vec());
        Ok(Some(Self { token, partition, clustering }))
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_long(out, self.token.0);
        write_short_bytes(out, &self.partition);
        write_short_bytes(out, &self.clustering);
    }
}

impl Operation for Backfill {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let bytes = index_slot_key(self.slot);
        let partition = PartitionKey { table: self.index.id, token: index_slot_token(self.slot), bytes: &bytes };
        let state = store.get(&partition, INDEX_STATE_KEY)?;
        if is_index_complete(state) {
            reply.push(1);
            return Ok(());
        }
        let start = state.and_then(|state| Next::read(state).ok().flatten());
        let start = start.unwrap_or_else(|| Next { token: self.slot.first_token(), partition: Vec::new(), clustering: Vec::new() });
        let from = Position { token: start.token, partition: &start.partition, clustering: &start.clustering };
        let (mut rows, mut row_bytes, mut next) = (0, 0, None);
        store.scan_table(self.table.id, from, self.slot.last_token(), &mut |found| {
            if rows >= ROWS_MAX || row_bytes >= BYTES_MAX {
                let (partition, clustering) = (found.partition.bytes.to_vec(), found.clustering.to_vec());
                next = Some(Next { token: found.partition.token, partition, clustering });
                return Visit::Stop;
            }
            (rows, row_bytes) = (rows + 1, row_bytes + found.row.len());
            let entries = self.entries.of_row(&found.partition, found.clustering, found.row);
            self.entries.stage(found.partition.token, &entries, writes);
            Visit::Continue
        })?;
        let mut state = Vec::new();
        if let Some(next) = &next {
            next.write(&mut state);
        }
        let mut row = RowWriter::new(writes.begin(&partition, INDEX_STATE_KEY), Stamp::at(context.timestamp_us), true, None);
        row.value(STATE_COLUMN, Stamp::at(context.timestamp_us), &state);
        row.finish();
        writes.end(None);
        reply.push(u8::from(next.is_none()));
        Ok(())
    }
}
