//! What a core knows of new materialized views: which slots are still to be built from.

use crate::request_id::RequestId;
use base::{Slot, TableId};
use engine::Sequence;
use std::collections::{BTreeSet, VecDeque};

/// What a core knows of builds.
#[derive(Default)]
pub(crate) struct ViewBuilds {
    /// Slots that are to be looked at, by the view.
    pub(super) queue: VecDeque<(TableId, Slot)>,
    /// The slot that is looked at or built.
    pub(super) current: Option<(TableId, Slot)>,
    /// Builds it.
    pub(super) running: Option<RequestId>,
    /// Slots that were found complete since the schema was as it is.
    pub(super) complete: BTreeSet<(TableId, Slot)>,
    /// Views that have had no slot left once.
    pub(super) built: BTreeSet<TableId>,
    pub(super) seen: Option<(Sequence, u64)>,
    pub(super) look_at_us: u64,
    pub(super) again_at_us: u64,
}

impl ViewBuilds {
    /// Tables may have been emptied, or have other views.
    pub(super) fn schema_changed(&mut self) {
        self.queue.clear();
        self.complete.clear();
        self.seen = None;
    }

    /// Views that are complete on this core.
    pub(crate) fn built(&self) -> impl Iterator<Item = TableId> + '_ {
        self.built.iter().copied()
    }

    /// Slots that are still to be built.
    pub(crate) fn slots_left(&self) -> u32 {
        (self.queue.len() + usize::from(self.current.is_some())) as u32
    }

    pub(super) fn has_slots_of(&self, view: TableId) -> bool {
        self.queue.iter().chain(&self.current).any(|(other, _)| *other == view)
    }
}
