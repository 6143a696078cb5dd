//! What a core keeps of damage that is found while it serves: its own slots with damaged rows, and, as primary, replicas that say the same of theirs.

use crate::cluster::membership::roles::Place;
use crate::cluster::rebuild::queue::PROPOSE_AGAIN_US;
use base::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// A slot that is damaged again within this time after it was repaired waits before it is copied once more, ...
const AGAIN_US: u64 = 3_600_000_000;

/// ... so long the first time, and twice as long each time after that.
const WAIT_US_MIN: u64 = 10_000_000;

const WAIT_US_MAX: u64 = 600_000_000;

/// A slot that could not be wiped waits so long.
const FAILED_WAIT_US: u64 = 60_000_000;

/// How often a primary that nobody can take a slot from looks whether what is damaged is there yet.
pub(crate) const CHECK_US: u64 = 60_000_000;

/// How far the repair of a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// This replica is in sync: it has to leave those that are, as far as there is another one. In which epoch it has said so, when it is to say so again, and
    /// when to look whether the damaged rows are there yet.
    Found { tell_at_us: u64, told_epoch: u64, check_at_us: u64 },
    /// It is a learner again, and waits, for it was repaired not long ago.
    Waits { until_us: u64 },
    /// All its rows are copied from the primary; whether some of these are damaged, too.
    Copied { again: bool },
}

/// What a primary knows of a replica that has damaged rows in a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// Whether it has left those in sync since it said so.
    has_left: bool,
    /// In which epoch, and when, that was proposed.
    proposed: Option<(u64, u64)>,
}

/// A repair that has ended.
#[derive(Clone, Copy, Debug)]
struct Past {
    times: u32,
    at_us: u64,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Repairs {
    /// Slots of this core with damaged rows.
    pub(crate) slots: BTreeMap<Place, Stage>,
    past: BTreeMap<Place, Past>,
    /// As primary: replicas that have damaged rows in a slot.
    told: BTreeMap<Place, BTreeMap<NodeId, Told>>,
    /// As primary: replicas that were copied from here without what is damaged here.
    in_part: BTreeSet<(Place, NodeId)>,
    /// The version of the metadata by which `told` was looked at.
    pub(crate) told_version: u64,
    /// Slots that were repaired since the start.
    pub(crate) repaired: u64,
    /// Slots that were found damaged and are not logged yet.
    pub(crate) unlogged: u64,
    pub(crate) log_at_us: u64,
    /// As primary of slots with damaged rows: when to look for others again.
    pub(crate) look_at_us: u64,
    pub(crate) now_us: u64,
    /// When slots are looked through again, ...
    pub(crate) turn_at_us: u64,
    /// ... unless the metadata is another.
    pub(crate) turn_version: u64,
}

impl Repairs {
    /// A row of a slot is damaged. Returns whether that is news.
    pub(crate) fn found(&mut self, place: Place) -> bool {
        match self.slots.get_mut(&place) {
            Some(Stage::Copied { again }) => *again = true,
            Some(_) => {}
            None => {
                self.in_sync_with_damage(place);
                self.unlogged += 1;
                return true;
            }
        }
        false
    }

    /// This replica is in sync and has damaged rows of a slot.
    pub(crate) fn in_sync_with_damage(&mut self, place: Place) {
        let stage = Stage::Found { tell_at_us: self.now_us, told_epoch: 0, check_at_us: self.now_us + CHECK_US };
        self.slots.insert(place, stage);
    }

    /// As primary: what was damaged in a slot is there no longer.
    pub(crate) fn is_overwritten(&mut self, place: Place) {
        self.slots.remove(&place);
        self.in_part.retain(|(known, _)| *known != place);
    }

    /// A slot could not be wiped: it is tried again later.
    pub(crate) fn wipe_failed(&mut self, place: Place) {
        if let Some(stage @ Stage::Copied { .. }) = self.slots.get_mut(&place) {
            *stage = Stage::Waits { until_us: self.now_us + FAILED_WAIT_US };
        }
    }

    /// Whether this replica has damaged rows of a slot, and is in sync.
    pub(crate) fn is_found(&self, place: Place) -> bool {
        matches!(self.slots.get(&place), Some(Stage::Found { .. }))
    }

    /// Whether a learner's slot that has damaged rows is copied later, for it was repaired not long ago. Then it waits from now on.
    pub(crate) fn must_wait(&mut self, place: Place) -> bool {
        let now_us = self.now_us;
        let past = self.past.get(&place).filter(|past| now_us < past.at_us + AGAIN_US);
        let wait_us = past.map_or(0, |past| WAIT_US_MAX.min(WAIT_US_MIN << past.times.saturating_sub(1).min(10)));
        let until_us = past.map_or(0, |past| past.at_us + wait_us);
        let Some(stage) = self.slots.get_mut(&place).filter(|_| now_us < until_us) else { return false };
        *stage = Stage::Waits { until_us };
        true
    }

    /// Whether a learner's slot waits.
    pub(crate) fn waits(&self, place: Place) -> bool {
        matches!(self.slots.get(&place), Some(Stage::Waits { .. }))
    }

    /// A learner's slot is copied whole.
    pub(crate) fn copies(&mut self, place: Place) {
        if let Some(stage) = self.slots.get_mut(&place) {
            *stage = Stage::Copied { again: false };
        }
    }

    /// A slot is in sync again.
    pub(crate) fn ended(&mut self, place: Place) {
        if let Some(stage) = self.slots.remove(&place) {
            if stage == (Stage::Copied { again: true }) {
                self.in_sync_with_damage(place);
            }
            self.in_part.retain(|(known, _)| *known != place);
            self.repaired += 1;
            let now_us = self.now_us;
            let past = self.past.entry(place).or_insert(Past { times: 0, at_us: now_us });
            past.times = if now_us < past.at_us + AGAIN_US { past.times + 1 } else { 1 };
            past.at_us = now_us;
        }
    }

    /// How often a slot was repaired of late.
    pub(crate) fn times(&self, place: Place) -> u32 {
        self.past.get(&place).filter(|past| self.now_us < past.at_us + AGAIN_US).map_or(0, |past| past.times)
    }

    /// As primary: a replica has damaged rows of a slot. Returns whether that is news.
    pub(crate) fn told(&mut self, place: Place, node: NodeId) -> bool {
        let told = self.told.entry(place).or_default();
        let is_news = !told.contains_key(&node);
        told.entry(node).or_default();
        is_news
    }

    /// As primary: whether it is to be proposed now that a replica leaves those in sync. It counts as proposed then.
    pub(crate) fn proposes(&mut self, place: Place, node: NodeId, epoch: u64, now_us: u64) -> bool {
        let Some(told) = self.told.get_mut(&place).and_then(|told| told.get_mut(&node)) else { return false };
        let is_due = told.proposed.is_none_or(|(then, at_us)| then != epoch || now_us > at_us + PROPOSE_AGAIN_US);
        if is_due {
            told.proposed = Some((epoch, now_us));
        }
        is_due
    }

    /// As primary: a replica gets all of a slot but what is damaged here.
    pub(crate) fn copied_in_part(&mut self, place: Place, node: NodeId) {
        self.in_part.insert((place, node));
    }

    /// As primary: a replica gets all of a slot.
    pub(crate) fn copied_whole(&mut self, place: Place, node: NodeId) {
        self.in_part.remove(&(place, node));
    }

    /// As primary: whether a replica surely lacks what is damaged here.
    pub(crate) fn is_in_part(&self, place: Place, node: NodeId) -> bool {
        self.in_part.contains(&(place, node))
    }

    /// As primary: whether a replica that is in sync has damaged rows.
    pub(crate) fn is_told(&self, place: Place, node: NodeId) -> bool {
        self.told.get(&place).is_some_and(|told| told.get(&node).is_some_and(|told| !told.has_left))
    }

    /// As primary: whether a replica has left those in sync since it said that it has damaged rows.
    pub(crate) fn has_left(&self, place: Place, node: NodeId) -> bool {
        self.told.get(&place).is_some_and(|told| told.get(&node).is_some_and(|told| told.has_left))
    }

    /// As primary, by newer metadata. `standing` says of a replica of a slot whether it is in sync (`Some(true)`), a learner, or nothing.
    pub(crate) fn follow(&mut self, mut standing: impl FnMut(Place, NodeId) -> Option<bool>) {
        for (place, told) in &mut self.told {
            told.retain(|node, told| match standing(*place, *node) {
                Some(true) => !told.has_left,
                Some(false) => {
                    told.has_left = true;
                    true
                }
                None => false,
            });
        }
        self.told.retain(|_, told| !told.is_empty());
        // One that is rebuilt by catch-up lacks what it lacked before.
        self.in_part.retain(|(place, node)| standing(*place, *node).is_some());
    }

    /// As primary: of each member in how many slots it has found damaged rows that it does not have anew yet.
    pub(crate) fn damaged_members(&self) -> BTreeMap<u32, u32> {
        let mut members = BTreeMap::new();
        for node in self.told.values().flat_map(BTreeMap::keys) {
            *members.entry(node.0).or_default() += 1;
        }
        members
    }

    /// Lets go of slots that this core has no part in any more.
    pub(crate) fn retain(&mut self, gone: &BTreeSet<Place>) {
        self.slots.retain(|place, _| !gone.contains(place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Slot;
    use shard::KeyspaceNumber;

    const PLACE: Place = (KeyspaceNumber(0), Slot(7));

    /// Finds damage at `at_us` and repairs it as soon as it may be. Returns how long it had to wait.
    fn repair(repairs: &mut Repairs, at_us: u64) -> u64 {
        repairs.now_us = at_us;
        assert!(repairs.found(PLACE) && !repairs.found(PLACE), "once");
        let waits_us = match (repairs.must_wait(PLACE), repairs.slots[&PLACE]) {
            (false, Stage::Found { .. }) => 0,
            (true, Stage::Waits { until_us }) => until_us - at_us,
            unexpected => panic!("{unexpected:?}"),
        };
        repairs.now_us += waits_us;
        assert!(!repairs.must_wait(PLACE));
        repairs.copies(PLACE);
        repairs.ended(PLACE);
        waits_us
    }

    #[test]
    fn what_is_damaged_again_and_again_is_copied_ever_more_rarely() {
        let mut repairs = Repairs::default();
        assert!(!repairs.must_wait(PLACE), "nothing is damaged");
        let waits: Vec<u64> = (0..12)
            .map(|_| {
                let now_us = repairs.now_us;
                repair(&mut repairs, now_us) / 1_000_000
            })
            .collect();
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600]);
        assert_eq!((repairs.repaired, repairs.times(PLACE)), (12, 12));
        let later_us = repairs.now_us + AGAIN_US;
        assert_eq!(repair(&mut repairs, later_us), 0, "that was long ago");
        assert_eq!(repairs.times(PLACE), 1);
    }

    #[test]
    fn damage_of_what_was_copied_is_repaired_once_more() {
        let mut repairs = Repairs::default();
        assert!(repairs.found(PLACE));
        assert!(!repairs.must_wait(PLACE));
        repairs.copies(PLACE);
        assert!(!repairs.found(PLACE), "it is under way");
        repairs.ended(PLACE);
        assert!(repairs.is_found(PLACE) && repairs.repaired == 1);
        assert!(repairs.must_wait(PLACE) && repairs.waits(PLACE), "not at once");
    }

    #[test]
    fn a_slot_that_cannot_be_wiped_is_tried_again_later() {
        let mut repairs = Repairs { now_us: 5, ..Repairs::default() };
        repairs.wipe_failed(PLACE);
        assert!(repairs.slots.is_empty(), "nothing is damaged");
        repairs.found(PLACE);
        repairs.copies(PLACE);
        repairs.wipe_failed(PLACE);
        assert_eq!(repairs.slots[&PLACE], Stage::Waits { until_us: 5 + FAILED_WAIT_US });
        repairs.now_us += FAILED_WAIT_US;
        assert!(!repairs.must_wait(PLACE));
    }

    #[test]
    fn that_a_replica_leaves_is_proposed_again_when_nothing_has_come_of_it() {
        let mut repairs = Repairs::default();
        assert!(!repairs.proposes(PLACE, NodeId(2), 1, 0), "it has not said anything");
        assert!(repairs.told(PLACE, NodeId(2)) && !repairs.told(PLACE, NodeId(2)), "news once");
        let proposes = [(1, 0), (1, 1), (1, PROPOSE_AGAIN_US), (1, PROPOSE_AGAIN_US + 1), (2, PROPOSE_AGAIN_US + 2)];
        let proposes = proposes.map(|(epoch, now_us)| repairs.proposes(PLACE, NodeId(2), epoch, now_us));
        assert_eq!(proposes, [true, false, false, true, true]);
    }

    #[test]
    fn who_was_copied_in_part_is_no_heir_until_it_is_copied_whole_or_nothing_is_damaged() {
        let copied = || {
            let mut repairs = Repairs::default();
            repairs.found(PLACE);
            repairs.copied_in_part(PLACE, NodeId(2));
            repairs.follow(|_, _| Some(false));
            repairs.follow(|_, _| Some(true));
            assert!(repairs.is_in_part(PLACE, NodeId(2)));
            repairs
        };
        let ways: [fn(&mut Repairs); 4] = [
            |repairs| repairs.copied_whole(PLACE, NodeId(2)),
            |repairs| repairs.is_overwritten(PLACE),
            |repairs| repairs.ended(PLACE),
            |repairs| repairs.follow(|_, _| None),
        ];
        for way in ways {
            let mut repairs = copied();
            way(&mut repairs);
            assert!(!repairs.is_in_part(PLACE, NodeId(2)));
        }
    }

    #[test]
    fn a_replica_counts_as_damaged_until_it_is_in_sync_again() {
        let mut repairs = Repairs::default();
        repairs.told(PLACE, NodeId(2));
        repairs.follow(|_, _| Some(true));
        assert!(repairs.is_told(PLACE, NodeId(2)), "it is not dropped yet");
        repairs.follow(|_, _| Some(false));
        assert!(!repairs.is_told(PLACE, NodeId(2)), "what it has is copied");
        assert_eq!(repairs.damaged_members(), BTreeMap::from([(2, 1)]));
        repairs.follow(|_, _| Some(true));
        assert_eq!(repairs.damaged_members(), BTreeMap::new());
    }
}
