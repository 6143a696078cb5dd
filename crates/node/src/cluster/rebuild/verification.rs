//! As primary: all rows of a slot are read before a replica leaves those in sync for its damaged ones. That replica wipes the slot, so whatever is damaged here,
//! too, and that nobody has read yet, would be gone for good.

use crate::cluster::membership::roles::Place;
use base::TableId;
use shard::SlotScan;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// For so long a slot whose rows could all be read counts as whole: the replica says in this time that it has damaged rows, again and again.
const WHOLE_US: u64 = 60_000_000;

/// The slots to be read, and those that were.
#[derive(Default)]
pub(crate) struct Verification {
    slots: VecDeque<(Place, SlotScan)>,
    wanted: BTreeSet<Place>,
    /// Whether the first one waits for the device.
    pub(crate) waits: bool,
    /// Until when these count as whole.
    whole: BTreeMap<Place, u64>,
}

impl Verification {
    pub(crate) fn is_idle(&self) -> bool {
        self.slots.is_empty()
    }

    /// What was read too long ago counts no longer.
    pub(crate) fn forget_old(&mut self, now_us: u64) {
        self.whole.retain(|_, until_us| now_us < *until_us);
    }

    pub(crate) fn is_whole(&self, place: Place) -> bool {
        self.whole.contains_key(&place)
    }

    /// A slot of these tables is to be read, unless it is to be already.
    pub(crate) fn want(&mut self, place: Place, tables: impl IntoIterator<Item = TableId>) {
        if self.wanted.insert(place) {
            self.slots.push_back((place, SlotScan::new(tables, place.1)));
        }
    }

    /// The slot that is read now.
    pub(crate) fn first(&mut self) -> Option<&mut (Place, SlotScan)> {
        self.slots.front_mut()
    }

    /// The first slot could be read whole by this time, or not.
    pub(crate) fn ended(&mut self, whole_at_us: Option<u64>) {
        let Some((place, _)) = self.slots.pop_front() else { return };
        self.wanted.remove(&place);
        self.whole.extend(whole_at_us.map(|at_us| (place, at_us + WHOLE_US)));
    }
}
