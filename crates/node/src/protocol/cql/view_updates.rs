//! What a core knows of entries of materialized views that stay: which slots have them, since when, and which are delivered.

use crate::cluster::PATIENCE_US;
use crate::request_id::RequestId;
use base::{Slot, TableId};
use cql::exec::PendingEntries;
use engine::Sequence;
use std::collections::{BTreeMap, VecDeque};

const LOOK_EVERY_US: u64 = 2_000_000;
/// The interval while entries of the former process are left.
const LOOK_AT_START_EVERY_US: u64 = 50_000;
/// An entry that has been there for so long is delivered: its coordinator has given up by now.
const ABANDONED_AFTER_US: u64 = 2 * PATIENCE_US;
/// How many slots are delivered at a time, at most.
const DELIVERIES_MAX: usize = 8;

/// What a core knows of entries.
#[derive(Default)]
pub(crate) struct ViewUpdates {
    pub(super) look_at_us: u64,
    /// The last look has seen the writes up to this one, of this version of the cluster.
    pub(super) seen: Option<(Sequence, u64)>,
    pub(super) look_again: bool,
    /// Slots that are still to be looked at, and looks that are in flight.
    pub(super) queue: VecDeque<(TableId, Slot)>,
    pub(super) looking: usize,
    pub(super) known: BTreeMap<(TableId, Slot), Known>,
    pub(super) look: u64,
    /// The entries that this look finds are orphans.
    pub(super) finds_orphans: bool,
    pub(super) running: Vec<RequestId>,
}

pub(super) struct Known {
    entries: PendingEntries,
    since_us: u64,
    /// The last look that has found them.
    look: u64,
    is_orphan: bool,
    /// They have been delivered by this core.
    was_abandoned: bool,
}

impl ViewUpdates {
    pub(super) fn schema_changed(&mut self) {
        self.queue.clear();
        self.known.clear();
        self.seen = None;
    }

    /// Slots with entries that their coordinators have left.
    pub(crate) fn behind(&self) -> u32 {
        self.known.values().filter(|known| known.is_orphan || known.was_abandoned).count() as u32
    }

    pub(super) fn begin_look(&mut self, now_us: u64, seen: (Sequence, u64), is_alone: bool) {
        self.finds_orphans = is_alone && self.look == 0;
        let is_urgent = self.finds_orphans || self.known.values().any(|known| known.is_orphan);
        self.look_at_us = now_us + if is_urgent { LOOK_AT_START_EVERY_US } else { LOOK_EVERY_US };
        (self.seen, self.look_again) = (Some(seen), false);
        self.look += 1;
    }

    /// Notes what a look has found. Gives up to where the slot's entries are to be delivered now, if they are.
    pub(super) fn note(&mut self, place: (TableId, Slot), entries: PendingEntries, now_us: u64) -> Option<i64> {
        let (look, is_orphan) = (self.look, self.finds_orphans);
        let known = self.known.entry(place).or_insert(Known { entries, since_us: now_us, look, is_orphan, was_abandoned: false });
        known.look = look;
        if known.entries.first != entries.first {
            // Those before are done.
            *known = Known { entries, since_us: now_us, look, is_orphan: known.is_orphan, was_abandoned: false };
        }
        let is_due = known.is_orphan || known.since_us + ABANDONED_AFTER_US <= now_us;
        if !is_due || self.running.len() >= DELIVERIES_MAX {
            return None;
        }
        (known.since_us, known.was_abandoned) = (now_us, true);
        Some(known.entries.last)
    }

    /// Forgets slots in which the complete look has found nothing.
    pub(super) fn forget_ended(&mut self) {
        let look = self.look;
        if !self.look_again {
            self.known.retain(|_, known| known.look == look);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_under_way_are_left_to_their_coordinator() {
        let mut updates = ViewUpdates::default();
        let place = (TableId(1), Slot(7));
        let entries = |first| PendingEntries { first, last: first + 5 };
        updates.begin_look(0, (Sequence(1), 0), false);
        assert_eq!(updates.note(place, entries(1), 0), None);
        assert_eq!(updates.note(place, entries(2), ABANDONED_AFTER_US), None, "another one is the first: it moves");
        assert_eq!(updates.note(place, entries(2), 2 * ABANDONED_AFTER_US), Some(7));
        assert_eq!((updates.note(place, entries(2), 2 * ABANDONED_AFTER_US), updates.behind()), (None, 1), "that is delivered now");
        updates.begin_look(0, (Sequence(1), 0), false);
        updates.forget_ended();
        assert_eq!(updates.behind(), 0);
    }

    #[test]
    fn a_node_by_itself_was_the_coordinator_of_what_it_finds_at_its_start() {
        let mut updates = ViewUpdates::default();
        updates.begin_look(0, (Sequence(1), 0), true);
        assert_eq!(updates.note((TableId(1), Slot(7)), PendingEntries { first: 1, last: 1 }, 0), Some(1));
    }
}
