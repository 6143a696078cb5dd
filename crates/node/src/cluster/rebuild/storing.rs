//! What a core stores for catch-up, and what the shard must not purge meanwhile.

use crate::cluster::core::ClusterCore;
use crate::cluster::membership::roles::{LocalSlot, Waits};
use crate::cluster::rebuild::catch_up::Reached;
use crate::config::replication_blob;
use crate::core::Core;
use crate::message::Message;
use crate::schema_changes::CATCH_UP_TAG;
use crate::tags::node_tag;
use engine::Sequence;
use io::{DiskError, DiskRequest, Reactor};
use shard::Shard;

impl Core {
    /// Up to this sequence of the engine, all replicas in sync have what is here.
    pub(crate) fn committed_here(&self) -> u64 {
        let last = self.shard.engine().last_sequence().0;
        let Some(cluster) = &self.cluster else { return last };
        let sent = cluster.links.outgoing.values().map(|link| link.stream.arrived()).min().unwrap_or(last);
        // A process that is new does not know what it has alone, before it has taken part.
        let is_new = !cluster.view.is_current || cluster.roles.begin_anew();
        let known = if is_new { cluster.rebuild.catch_up.restored().unwrap_or(0) } else { last };
        sent.min(cluster.replication.divergence.committed_here(last)).min(known).min(last)
    }

    /// Notes what is committed, and stores what has to be kept.
    pub(crate) fn store_catch_up<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let due_us = self.cluster.as_ref().filter(|cluster| cluster.view.is_current)?.rebuild.catch_up.due_us();
        if now_us < due_us {
            return Some(due_us);
        }
        let committed = self.committed_here();
        let cluster = self.cluster.as_mut()?;
        let is_at_rest = |local: &LocalSlot| local.waits == Waits::default() && !local.has_restarted();
        let is_settled = cluster.replication.divergence.to_fetch.is_empty()
            && cluster.rebuild.learner.is_settled()
            && cluster.roles.iter().all(|(_, _, local)| is_at_rest(local));
        if cluster.rebuild.catch_up.is_full(self.shard.engine().has_no_room(), now_us) {
            let forgotten = cluster.rebuild.catch_up.forget_away(|node| cluster.view.is_peer_up(node));
            for node in forgotten {
                let node = node.0;
                tracing::warn!(
                    core = self.core.0,
                    node,
                    "there is no room: deletions and expired rows are kept no longer for a member that is away; it will be rebuilt by full copy"
                );
            }
        }
        cluster.hold_purges(&mut self.shard);
        let (durable, timestamp_us) = (self.shard.engine().durable_sequence().0, self.shard.last_timestamp_us());
        if let Some(bytes) = cluster.rebuild.catch_up.note(Reached { committed, durable, timestamp_us, is_settled }, now_us) {
            let name = replication_blob(self.core);
            reactor.submit(node_tag(CATCH_UP_TAG), DiskRequest::ReplaceBlob { name, bytes });
        }
        Some(cluster.rebuild.catch_up.due_us())
    }

    /// What has to be kept is stored, or is not.
    pub(crate) fn catch_up_stored(&mut self, result: &Result<(), DiskError>) {
        let Some(cluster) = &mut self.cluster else { return };
        if let Err(error) = result {
            tracing::warn!(core = self.core.0, %error, "what is kept for catch-up could not be stored; it is tried again");
        }
        cluster.rebuild.catch_up.stored(result.is_ok());
    }

    /// The shard has recovered: what must not be purged is known from before, as far as it is still there.
    pub(crate) fn restore_purge_floor(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.rebuild.catch_up.recovered(self.shard.engine().last_sequence().0);
        if self.shard.engine().may_lack_rows() {
            tracing::warn!(
                core = self.core.0,
                "rows may be missing here, for stored data is damaged: in slots that other members have, all rows are fetched from them"
            );
            cluster.rebuild.catch_up.forget_all_slots();
        }
        self.shard.raise_timestamp(cluster.rebuild.catch_up.timestamp_us());
        // Of members of which nothing is known all may have been purged.
        if let Some(floor) = cluster.rebuild.catch_up.purge_floor(|_| false) {
            cluster.rebuild.purge_floor = Some(floor);
            self.shard.set_purge_floor(Some(Sequence(floor)));
            self.shard.restore_purged(Sequence(floor));
        }
    }
}

impl ClusterCore {
    /// Tells the shard what must not be purged. That it may purge more has to follow from what is stored.
    pub(crate) fn hold_purges(&mut self, shard: &mut Shard) {
        let floor = self.rebuild.catch_up.purge_floor(|node| self.view.is_peer_up(node));
        let is_lower = floor.is_some_and(|floor| self.rebuild.purge_floor.is_none_or(|held| floor < held));
        if floor != self.rebuild.purge_floor && (is_lower || self.rebuild.catch_up.may_forget()) {
            self.rebuild.purge_floor = floor;
            shard.set_purge_floor(floor.map(Sequence));
        }
    }
}
