//! The part of this floor in [`ClusterCore`](crate::cluster::ClusterCore).

use crate::cluster::rebuild::catch_up::CatchUp;
use crate::cluster::rebuild::learner_state::Learner;
use crate::cluster::rebuild::queue::{OWN_TAIL, Queues, VERIFY, WIPE};
use crate::cluster::rebuild::repair_state::Repairs;
use crate::cluster::rebuild::verification::Verification;

/// All that is under way to bring replicas to what their primaries have.
pub(crate) struct Rebuild {
    /// As primary: what replicas are sent.
    pub(crate) queues: Queues,
    /// As learner: what this core asks for.
    pub(crate) learner: Learner,
    /// What is kept so that members that are away get what they have missed, and no more.
    pub(crate) catch_up: CatchUp,
    /// Damage that is found while this core serves.
    pub(crate) repairs: Repairs,
    /// As primary: slots that are read before a damaged replica is dropped.
    pub(crate) verification: Verification,
    /// No row of a later sequence is purged here.
    pub(crate) purge_floor: Option<u64>,
}

impl Rebuild {
    /// `stored` is the blob of catch-up that a process before has left.
    pub(crate) fn new(stored: Option<&[u8]>) -> Self {
        Self {
            queues: Queues::default(),
            learner: Learner::default(),
            catch_up: CatchUp::restore(stored),
            repairs: Repairs::default(),
            verification: Verification::default(),
            purge_floor: None,
        }
    }

    /// Whether this number is that of a scan that is under way.
    pub(crate) fn scans(&self, number: u32) -> bool {
        match number {
            WIPE => !self.learner.wipes.is_empty(),
            OWN_TAIL => self.learner.own_tail.walk.is_some(),
            VERIFY => !self.verification.is_idle(),
            _ => self.queues.by_target.values().any(|queue| queue.number == number && !queue.jobs.is_empty()),
        }
    }
}
