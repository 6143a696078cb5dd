//! The index of one shard, in DRAM: for each table, slot and token, where the rows of the partition are.
//!
//! ```text
//! table ── 64 pages of 64 slots ── slot: cells sorted by token ──┬─ record  (one row, empty clustering key)
//!                                                                └─ partition: key + ordered map clustering key → record
//!                                                                                   + ranges of clustering keys → page of rows
//! ```
//! Invariants:
//! - A cell that names a record is the only cell of its token. As soon as two partition keys share a token, all of them are
//!   partitions, which hold their key in DRAM, and lie in the order of their keys. So a lookup compares at most one record's key.
//! - Iteration over slots and cells is in (token, partition key) order.
//! - `bytes()` is what the index has allocated, to within the allocator's own overhead.

pub(crate) mod bound_key;
mod bulk;
mod candidate;
mod damaged;
mod gap;
mod leaf;
mod lookup;
mod pages;
mod paging;
mod partition;
mod recover;
mod restore;
mod rows;
mod slot;
mod snapshot;
mod sweep;
mod table;
mod tables;

pub(crate) use bulk::{Alone, Ledger, Merged};
pub(crate) use candidate::Candidate;
pub(crate) use damaged::DamagedRow;
pub(crate) use gap::Gap;
pub(crate) use leaf::Leaf;
pub(crate) use lookup::{Place, Unresolved};
pub(crate) use pages::{NewPage, Page, PageIter, PageMap};
pub(crate) use partition::Partition;
pub(crate) use recover::{Collision, Recovered};
pub(crate) use restore::Restore;
pub(crate) use rows::{Limits, Rows, RowsIter};
pub(crate) use slot::{Entry, SlotIndex, UNKNOWN_HASH};
pub(crate) use snapshot::SnapshotCursor;
pub(crate) use sweep::SweepCursor;
pub(crate) use table::Table;

use crate::format::checkpoint::CELL_BYTES;
use crate::location::Location;
use base::TableId;
use partition::Partitions;
use std::collections::VecDeque;
use tables::TableMap;

/// The bits of a token below its slot.
pub(crate) const TAIL_BITS: u32 = 52;
pub(crate) const TAIL_MASK: u64 = (1 << TAIL_BITS) - 1;

/// All tables of a shard.
pub(crate) struct Index {
    tables: TableMap,
    pub(crate) partitions: Partitions,
    cell_bytes: usize,
    records: u64,
    limits: Limits,
    /// Where pages may be worth making, oldest first: about one a leaf that was filled since.
    pub(crate) candidates: VecDeque<Candidate>,
}

impl Index {
    pub(crate) fn new(limits: Limits) -> Self {
        let (tables, partitions) = (TableMap::new(), Partitions::new());
        Self { tables, partitions, cell_bytes: 0, records: 0, limits, candidates: VecDeque::new() }
    }

    /// What the index has allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.cell_bytes + self.partitions.bytes() + self.candidates.len() * Candidate::BYTES
    }

    /// What its entries in a checkpoint take, or a little more.
    pub(crate) fn snapshot_bytes(&self) -> usize {
        (self.records as usize).saturating_sub(self.partitions.paged().1) * CELL_BYTES + self.partitions.bytes()
    }

    /// How many rows it knows, those of tables being dropped excluded; rows that lie over a page are counted twice if the page has
    /// them, too.
    pub(crate) fn rows(&self) -> u64 {
        self.records
    }

    pub(crate) fn has_table(&self, table: TableId) -> bool {
        self.tables.get(table).is_some()
    }

    pub(crate) fn table(&self, table: TableId) -> Option<&Table> {
        self.tables.get(table)
    }

    pub(crate) fn table_ids(&self) -> impl Iterator<Item = TableId> + '_ {
        self.tables.ids()
    }

    /// Adds an empty table; nothing happens if it is there.
    pub(crate) fn create_table(&mut self, table: TableId) {
        if !self.has_table(table) {
            let new = Table::new();
            self.cell_bytes += new.bytes();
            self.tables.insert(table, new);
        }
    }

    /// Takes a table out; its memory is still counted until `take_next` has emptied it and `forget` is told.
    pub(crate) fn detach_table(&mut self, table: TableId) -> Option<Table> {
        let detached = self.tables.remove(table)?;
        self.records -= detached.rows();
        Some(detached)
    }

    /// Empties the next slot of a detached table and returns its entries.
    pub(crate) fn take_slot(&mut self, detached: &mut Table, from: usize) -> Option<(usize, Vec<Entry>)> {
        let (slot, entries, freed) = detached.take_slot(from)?;
        self.cell_bytes -= freed;
        Some((slot, entries))
    }

    /// The last step of a detached table.
    pub(crate) fn forget(&mut self, detached: &Table) {
        self.cell_bytes -= detached.bytes();
    }

    /// Takes a detached table's partition out of the slab.
    pub(crate) fn take_partition(&mut self, number: u32) -> Partition {
        self.partitions.remove(number)
    }
}

/// The outcome of an insertion: what the row's place was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// The key is new.
    Nothing,
    /// The row was here and is not any more.
    Row(Location),
}
