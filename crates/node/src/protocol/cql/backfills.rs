//! What a core knows of its backfills of indexes: which slots are still to be looked at.

use base::{Slot, TableId};
use engine::Sequence;
use std::collections::{BTreeSet, VecDeque};

/// What a core knows of its backfills.
#[derive(Default)]
pub(crate) struct Backfills {
    /// Slots that are to be looked at, by the index's table.
    pub(super) queue: VecDeque<(TableId, Slot)>,
    /// The stretch that runs.
    pub(super) running: Option<(TableId, Slot)>,
    /// Slots that were found complete since the schema was as it is.
    pub(super) complete: BTreeSet<(TableId, Slot)>,
    /// Indexes that have had no slot left once. One that gets its first row later has that row's entries from the start.
    pub(super) built: BTreeSet<TableId>,
    /// The last look has seen the writes up to this one, of this version of the cluster.
    pub(super) seen: Option<(Sequence, u64)>,
    pub(super) look_at_us: u64,
    pub(super) again_at_us: u64,
}

impl Backfills {
    /// Tables may have been emptied, or have other indexes.
    pub(super) fn schema_changed(&mut self) {
        self.queue.clear();
        self.complete.clear();
        self.seen = None;
    }

    /// Indexes that are complete on this core.
    pub(crate) fn built(&self) -> impl Iterator<Item = TableId> + '_ {
        self.built.iter().copied()
    }

    /// Slots that are still to be looked at, counted by index.
    pub(crate) fn slots_left(&self) -> u32 {
        (self.queue.len() + usize::from(self.running.is_some())) as u32
    }

    pub(super) fn has_slots_of(&self, index: TableId) -> bool {
        self.queue.iter().chain(&self.running).any(|(other, _)| *other == index)
    }
}
