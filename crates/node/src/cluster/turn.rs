//! The share of the cluster in a turn of the core: each floor does what is due, then all that was written leaves in one go.

use crate::cluster::links::connecting::OwnCore;
use crate::core::Core;
use crate::message::Message;
use io::Reactor;

/// Replicas hear this often of what is committed, when nothing else is sent to them.
const TELL_COMMITTED_US: u64 = 50_000;

impl Core {
    /// How many pieces statements about many partitions come in: see [`cql::exec::Options::cores`].
    pub(crate) fn pieces(&self) -> u16 {
        if self.cluster.is_some() { base::SLOT_COUNT as u16 } else { self.cores }
    }

    /// The cluster's share of a turn. Returns the time at which to be called again; `Some(0)` for at once.
    pub(crate) fn cluster_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        self.cluster.as_ref()?;
        let now_us = reactor.now().monotonic_us;
        let metadata_due_us = self.metadata_turn(reactor);
        let applied_due_us = self.apply_streams(reactor);
        if let Some(cluster) = &mut self.cluster {
            cluster.send_written(&mut self.shard);
        }
        let repair_due_us = self.repair_turn(reactor);
        let rebuild_due_us = self.rebuild_turn(reactor);
        let transfer_due_us = self.transfer_primaries(reactor);
        let shutdown_due_us = self.shutdown_turn(reactor);
        let routed_due_us = self.retry_routed(reactor);
        let Some(cluster) = &mut self.cluster else { return None };
        cluster.send_written(&mut self.shard);
        cluster.tell_committed(&mut self.shard);
        cluster.flush_streams(reactor);
        let mut committed_due_us = None;
        if cluster.links.has_news() {
            if now_us >= cluster.replication.committed_due_us {
                cluster.replication.committed_due_us = now_us + TELL_COMMITTED_US;
                cluster.tell_replicas_committed(reactor);
            }
            committed_due_us = Some(cluster.replication.committed_due_us);
        }
        let links_due_us = cluster.connect_links(reactor, &OwnCore { core: self.core, cores: self.cores, config: &self.config });
        let unauthenticated_due_us = cluster.close_unauthenticated(reactor, self.core);
        let silent_due_us = self.drop_silent(reactor);
        let catch_up_due_us = self.store_catch_up(reactor);
        let due = [metadata_due_us, routed_due_us, committed_due_us, links_due_us, unauthenticated_due_us, silent_due_us, catch_up_due_us];
        let due_us =
            due.into_iter().chain([applied_due_us, repair_due_us, rebuild_due_us, transfer_due_us, shutdown_due_us]).flatten().min();
        if self.shard.has_runnable() { Some(0) } else { due_us }
    }
}
