//! The part of this floor in [`ClusterCore`](crate::cluster::ClusterCore).

use crate::cluster::replication::divergence::Divergence;
use crate::cluster::replication::pacing::{Budget, Rest};
use engine::WriteBatch;
use shard::SetId;
use std::collections::BTreeSet;

/// What is under way between this core and its replicas and primaries.
pub(crate) struct Replication {
    pub(crate) divergence: Divergence,
    pub(crate) budget: Budget,
    pub(crate) rest: Rest,
    /// Whether clients' work has come since a backup's slice last asked.
    clients_came: bool,
    /// Sets in which something was written that is not known to be committed.
    pub(crate) uncommitted_sets: BTreeSet<SetId>,
    /// Whether sets may be further than the shard knows.
    pub(crate) written: bool,
    /// Reused for each item that is applied.
    pub(crate) batch: WriteBatch,
    /// Incoming streams that wait for the shard.
    pub(crate) receivers_waiting: BTreeSet<u32>,
    /// Which of the incoming streams is the first to be applied in the next turn: images of those after it may have to wait.
    pub(crate) first_stream: usize,
    /// When replicas are told what is committed, if nothing else is sent to them.
    pub(crate) committed_due_us: u64,
}

impl Replication {
    /// `migration_latency_us`: by how much moving rows may lengthen a request.
    pub(crate) fn new(migration_latency_us: u64) -> Self {
        Self {
            divergence: Divergence::default(),
            budget: Budget::new(migration_latency_us),
            rest: Rest::default(),
            clients_came: false,
            uncommitted_sets: BTreeSet::new(),
            written: false,
            batch: WriteBatch::new(),
            receivers_waiting: BTreeSet::new(),
            first_stream: 0,
            committed_due_us: 0,
        }
    }

    /// Clients' work has come: what moves or copies rows leaves it time.
    pub(crate) fn client_came(&mut self) {
        self.rest.client_came();
        self.clients_came = true;
    }

    /// Whether clients' work has come since this was last asked.
    pub(crate) fn take_clients_came(&mut self) -> bool {
        std::mem::take(&mut self.clients_came)
    }
}
