//! What a leader knows of the members and of its own contact with them.

use crate::metadata::group::Group;
use crate::metadata::timing::{LEASE_US, Waits};
use base::{Epoch, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// A shorter lease is of no use.
const LEASE_US_MIN: u64 = 100_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Leading {
    pub(crate) term: u64,
    pub(crate) since_us: u64,
    /// An entry of this term is in the state: it has all that was decided before.
    pub(crate) ready: bool,
    /// When each voter surely was in this term.
    pub(crate) contact: BTreeMap<NodeId, u64>,
    pub(crate) heard: BTreeMap<NodeId, Heard>,
    /// When each member was last granted a lease.
    pub(crate) granted: BTreeMap<NodeId, u64>,
    /// Members that are about to be declared down: they are granted nothing.
    pub(crate) falling: BTreeSet<NodeId>,
    pub(crate) rising: BTreeMap<NodeId, u64>,
    /// Processes of members that are up, and since when this leader knows that they are.
    pub(crate) up_since: BTreeMap<NodeId, (u64, u64)>,
    pub(crate) down_since: BTreeMap<NodeId, u64>,
    /// Transfers up to this epoch are known since.
    pub(crate) transfer: Option<(Epoch, u64)>,
    pub(crate) transfer_us: u64,
    pub(crate) is_idle: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) first_us: u64,
    pub(crate) last_us: u64,
    pub(crate) applied: u64,
}

impl Leading {
    pub(crate) fn new(term: u64, now_us: u64) -> Self {
        Self {
            term,
            since_us: now_us,
            ready: false,
            contact: BTreeMap::new(),
            heard: BTreeMap::new(),
            granted: BTreeMap::new(),
            falling: BTreeSet::new(),
            rising: BTreeMap::new(),
            up_since: BTreeMap::new(),
            down_since: BTreeMap::new(),
            transfer: None,
            transfer_us: 0,
            is_idle: false,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// This process did nothing for a while: nobody's silence counts.
    pub(super) fn was_stopped(&mut self, now_us: u64) {
        self.since_us = now_us;
    }

    /// The time at which this member surely led the group.
    fn contact(&self, group: &Group, me: NodeId, now_us: u64) -> u64 {
        let time_of = |voter| if voter == me { now_us } else { self.contact.get(&voter).copied().unwrap_or(0) };
        let mut times: Vec<u64> = group.voters().map(time_of).collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        times.get(times.len() / 2).copied().unwrap_or(0)
    }

    /// How long a lease may be from now on.
    pub(crate) fn lease_us(&self, group: &Group, me: NodeId, now_us: u64, waits: Waits) -> u64 {
        let age_us = now_us.saturating_sub(self.contact(group, me, now_us));
        let lease_us = waits.horizon_us.saturating_sub(age_us).min(LEASE_US);
        if self.ready && lease_us >= LEASE_US_MIN { lease_us } else { 0 }
    }
}
