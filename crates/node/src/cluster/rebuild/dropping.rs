//! As primary: replicas that do not keep up are dropped from those in sync.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::link::Link;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::{Role, Set};
use crate::cluster::rebuild::progress::Held;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Slot};
use io::Reactor;
use shard::KeyspaceNumber;
use std::collections::BTreeMap;

/// A replica that has acknowledged nothing for so long, although there is something to acknowledge, is taken out of those in sync.
const SILENT_US: u64 = 1_500_000;

/// A learner that has so many bytes to acknowledge is dropped for a while: no client waits for it, and so nothing else bounds them.
const LEARNER_STREAM_BYTES_MAX: usize = 32 << 20;

impl Core {
    /// As primary: replicas that acknowledge nothing get a new connection, and if writes or a new primary wait they are proposed to be taken out of their slots. For
    /// images nobody waits: whoever is being rebuilt goes on with what it has.
    pub(crate) fn drop_silent<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let cluster = self.cluster.as_mut()?;
        let mut next = None;
        let mut silent = Vec::new();
        for (target, link) in &mut cluster.links.outgoing {
            let Some(since_us) = link.waiting_since_us(now_us) else { continue };
            let due_us = since_us + SILENT_US;
            if now_us >= due_us {
                link.wait_anew(now_us);
                silent.push(*target);
            } else {
                next = Some(next.map_or(due_us, |next: u64| next.min(due_us)));
            }
        }
        let is_behind = |link: &Link| link.stream.pending_bytes() > LEARNER_STREAM_BYTES_MAX;
        let behind: Vec<RemoteCore> =
            cluster.links.outgoing.iter().filter(|(_, link)| is_behind(link)).map(|(target, _)| *target).collect();
        for target in silent {
            // The other side may have forgotten the connection.
            cluster.links.abort(reactor, target);
            if !cluster.is_waited_for(target) {
                continue;
            }
            let slots = cluster.slots_with(target, |_| true);
            if !slots.is_empty() {
                tracing::warn!(
                    core = self.core.0,
                    node = target.0.0,
                    "a replica acknowledges nothing; it is proposed to be dropped from those in sync"
                );
                reactor.send(CoreId(0), Message::Propose(Box::new(cluster::Command::DropReplica { node: target.0, slots })));
            }
        }
        for target in behind {
            self.give_up(reactor, target, Held::Slow);
        }
        next
    }

    /// As primary: a replica cannot take what it is sent. The metadata is asked to go on without it, and to be rebuilt it has to wait a while. Of one that is
    /// only slow nothing is taken that is in sync: clients wait for it, and so do not get ahead of it by more than they may.
    pub(crate) fn give_up<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: RemoteCore, why: Held) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = self.cluster.as_mut().filter(|cluster| !cluster.rebuild.queues.is_being_dropped(target, now_us)) else {
            return;
        };
        let slots = cluster.slots_with(target, |set| why == Held::Full || set.rebuilds.contains(&target));
        if !cluster.rebuild.queues.give_up(target, why, !slots.is_empty(), now_us) {
            return;
        }
        tracing::warn!(
            core = self.core.0,
            node = target.0.0,
            why = why.name(),
            "a replica cannot keep up; it is dropped from those in sync"
        );
        reactor.send(CoreId(0), Message::Propose(Box::new(cluster::Command::DropReplica { node: target.0, slots })));
    }
}

impl ClusterCore {
    /// Whether more than images waits to be acknowledged.
    fn is_waited_for(&self, target: RemoteCore) -> bool {
        let has_writes = self.links.outgoing.get(&target).is_some_and(|link| link.stream.has_writes());
        has_writes || self.rebuild.queues.reconciles_with(target)
    }

    /// Slots whose primary is here and that this replica gets the writes of, as far as their sets are of interest.
    fn slots_with(&self, target: RemoteCore, wants: impl Fn(&Set) -> bool) -> Vec<cluster::SlotEpochs> {
        let mut slots: BTreeMap<KeyspaceNumber, Vec<(Slot, base::Epoch)>> = BTreeMap::new();
        for (keyspace, slot, local) in self.roles.iter().filter(|(_, _, local)| local.role == Role::Primary) {
            let set = local.set.map(|set| self.roles.set(set));
            if set.is_some_and(|set| set.targets().any(|known| known == target) && wants(set)) {
                slots.entry(keyspace).or_default().push((slot, local.epoch));
            }
        }
        let named = slots.into_iter().map(|(keyspace, slots)| {
            let keyspace = self.view.keyspaces[usize::from(keyspace.0)].name.clone();
            cluster::SlotEpochs { keyspace, slots }
        });
        named.collect()
    }
}
