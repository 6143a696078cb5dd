//! What a core keeps as a learner: which slots it wipes, wants and has asked for.

use crate::cluster::links::frames::RebuildMethod;
use crate::cluster::membership::roles::Place;
use shard::{SlotScan, TailWalk};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// See the module.
#[derive(Default)]
pub(crate) struct Learner {
    /// Slots to wipe. Those of which this core is a learner are asked for then.
    pub(crate) wipes: VecDeque<(Place, SlotScan)>,
    /// Whether the first of them waits for rows to be read.
    pub(crate) wipe_waits: bool,
    /// Slots that are ready to be rebuilt, and how.
    pub(crate) wanted: BTreeMap<Place, RebuildMethod>,
    /// Slots that a primary was asked for.
    pub(crate) asked: BTreeMap<Place, RebuildMethod>,
    pub(crate) own_tail: OwnTail,
}

/// After a restart: the walk over rows that may be here alone, because they were written after what is known to be committed.
#[derive(Default)]
pub(crate) struct OwnTail {
    pub(crate) walk: Option<TailWalk>,
    /// Whether it waits for rows to be read.
    pub(crate) waits: bool,
    /// Slots that it looks for.
    pub(crate) slots: BTreeSet<Place>,
    /// Slots that the next walk will look for.
    pub(crate) next_slots: BTreeSet<Place>,
}

impl Learner {
    /// A slot is in sync. Returns whether it was asked for.
    pub(crate) fn in_sync(&mut self, place: Place) -> bool {
        self.wanted.remove(&place);
        self.asked.remove(&place).is_some()
    }

    /// Whether no slot is on its way to be in sync.
    pub(crate) fn is_settled(&self) -> bool {
        self.own_tail.slots.is_empty() && self.own_tail.next_slots.is_empty() && self.asked.is_empty() && self.wanted.is_empty()
    }
}
