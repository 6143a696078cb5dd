//! What a core knows of something that is built slot by slot from rows that were there before it: entries of indexes, rows of views.

use base::{Slot, TableId};
use engine::Sequence;
use std::collections::{BTreeSet, VecDeque};

/// Slots to build, by the table that is built: an index's or a view's.
#[derive(Default)]
pub(crate) struct SlotBuilds {
    /// Slots that are to be looked at.
    pub(super) queue: VecDeque<(TableId, Slot)>,
    /// The slot that is looked at or built.
    pub(super) current: Option<(TableId, Slot)>,
    /// Slots that were found complete since the schema was as it is.
    pub(super) complete: BTreeSet<(TableId, Slot)>,
    /// Those that have had no slot left once. An index that gets its first row later has that row's entries from the start.
    pub(super) built: BTreeSet<TableId>,
    /// The last look has seen the writes up to this one, of this version of the cluster.
    pub(super) seen: Option<(Sequence, u64)>,
    pub(super) look_at_us: u64,
    pub(super) again_at_us: u64,
}

impl SlotBuilds {
    /// Tables may have been emptied, or have other indexes or views.
    pub(super) fn schema_changed(&mut self) {
        self.queue.clear();
        self.complete.clear();
        self.seen = None;
    }

    /// Those that are complete on this core.
    pub(crate) fn built(&self) -> impl Iterator<Item = TableId> + '_ {
        self.built.iter().copied()
    }

    /// Slots that are still to be built.
    pub(crate) fn slots_left(&self) -> u32 {
        (self.queue.len() + usize::from(self.current.is_some())) as u32
    }

    pub(super) fn has_slots_of(&self, table: TableId) -> bool {
        self.queue.iter().chain(&self.current).any(|(other, _)| *other == table)
    }
}
