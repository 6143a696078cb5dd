//! Tables whose rows stay in memory, and what their owner needs besides reading and writing them.
//!
//! A table whose id has the bit [`RESIDENT_TABLE`] is one like others, but eviction keeps its records in memory: they move to the open cache
//! frame instead of giving way to their places on the device. Its owner bounds how much that is. After a restart they are on the device
//! until they are read.
//!
//! A resident table may be the delta table of the table without that bit: its rows are deltas of the rows with the same keys. A later write of a
//! row outdates its delta. The owner then forgets the delta, but the log does not record that: after a restart the delta is there again, and only
//! sequences tell that it is outdated.
//!
//! Invariant: a row is not purged while an outdated delta of its key exists, or may exist after a restart. So no row is purged whose token is
//! in the delta table, and a segment to which a row of a resident table from before the start was moved counts for as old as that row.

use crate::engine::Engine;
use crate::index::Place;
use crate::key::{Key, Sequence};
use base::{Slot, TableId};

/// Records of tables with this bit in their id stay in memory, as long as some of what is in memory may be evicted.
const RESIDENT_TABLE: u32 = 1 << 31;

pub(crate) fn is_resident(table: TableId) -> bool {
    table.0 & RESIDENT_TABLE != 0
}

/// The delta table of a table.
#[must_use]
pub fn resident_of(table: TableId) -> TableId {
    TableId(table.0 | RESIDENT_TABLE)
}

impl Engine {
    /// How many rows the index has of a table: those of a table being dropped not, those that lie over a page twice.
    #[must_use]
    pub fn table_rows(&self, table: TableId) -> u64 {
        self.index.table(table).map_or(0, crate::index::Table::rows)
    }

    /// The slots of a table that have rows, ascending.
    pub fn table_slots(&self, table: TableId) -> impl Iterator<Item = Slot> + '_ {
        let table = self.index.table(table);
        let mut next = 0;
        std::iter::from_fn(move || {
            let (number, _) = table?.next_slot(next)?;
            next = number + 1;
            Some(Slot(number as u16))
        })
    }

    /// The sequence of the last row that was written before the start.
    #[must_use]
    pub fn recovered_sequence(&self) -> Sequence {
        self.recovered_sequence
    }

    /// What everything in memory may take.
    #[must_use]
    pub fn memory_limit_bytes(&self) -> usize {
        self.config.memory_limit_bytes
    }

    /// What the shard has in memory besides: it counts as memory of the engine.
    pub fn set_graph_bytes(&mut self, bytes: usize) {
        self.graph_bytes = bytes;
    }

    /// A copy of a row that lives until the turn is over, as rows that are borrowed from memory do.
    #[must_use]
    pub fn lend(&self, row: &[u8]) -> &[u8] {
        self.pages.lend(row)
    }

    /// Takes the only row of a partition out of the index, if it is in memory, and gives its space back. Nothing is written: after a restart the
    /// row may be there again, so its owner must know it for outdated, for instance by its sequence.
    pub fn forget(&mut self, key: &Key<'_>) -> bool {
        let Ok(Place::Single(location, _)) = self.index.find(key.table, key.token, key.partition, &self.memory) else { return false };
        self.index.remove(key);
        self.release(location);
        // What was written in its place is not the first version of anything.
        if let Some(open) = &self.log.open {
            self.segments.set_replacing(open.segment);
        }
        true
    }
}
