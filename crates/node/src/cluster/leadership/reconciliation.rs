//! A new primary reconciles before it serves: it and the other replicas in sync get the same rows, whatever the primary before sent to only some of them.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::Slots;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::Role;
use crate::cluster::rebuild::queue::{Job, ReplicaQueue};
use crate::core::Core;
use base::{NodeId, Slot};
use engine::Sequence;
use shard::{KeyspaceNumber, RowKey};
use std::collections::BTreeSet;

impl ClusterCore {
    /// As replica: slots whose primary is another than before; what the former one may have sent only here is fetched.
    pub(crate) fn follow_primary(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>) {
        let mut keys = self.replication.divergence.take_uncommitted(place);
        keys.extend(own_writes);
        if !keys.is_empty() {
            self.replication.divergence.to_fetch.insert(place, keys);
        }
    }

    /// As new primary: the others get what may be here alone. Returns whether there is anything to wait for.
    pub(crate) fn begin_reconciliation(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>, last: Sequence) -> bool {
        let mut keys = self.replication.divergence.take_uncommitted(place);
        keys.extend(own_writes);
        self.replication.divergence.reconciling.remove(&place);
        let Some(set) = self.roles.get(place.0, place.1).and_then(|local| local.set) else { return false };
        let others = self.roles.set(set).waits_for.clone();
        if keys.is_empty() || others.is_empty() {
            return false;
        }
        // Never 0: see `send_images`.
        self.replication.divergence.reconciling.insert(place, last.0.max(1));
        for target in others {
            // Clients wait for it; those who are being rebuilt do not mind.
            let queue = self.rebuild.queues.of(target);
            queue.hurry();
            queue.jobs.push_front(Job::Reconciliation(vec![place]));
            queue.jobs.push_front(Job::Keys(keys.iter().cloned().collect()));
        }
        true
    }

    /// As former primary: the new one hears that it may serve.
    pub(crate) fn step_down(&mut self, place: (KeyspaceNumber, Slot), to: NodeId) {
        self.leadership.stepped_down.push((place, to));
    }
}

impl Core {
    /// As new primary: the one before serves these slots no more.
    pub(crate) fn stepped_down(&mut self, node: NodeId, slots: &Slots) {
        let Some(cluster) = &mut self.cluster else { return };
        let mut changed = Vec::new();
        for (keyspace, slot, term) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(keyspace) else { continue };
            let from = cluster.view.assignment(keyspace, slot).and_then(|assignment| assignment.transfer_from);
            let Some(local) = cluster.roles.get_mut(keyspace, slot) else { continue };
            if local.role == Role::Primary && local.term.0 == term && from == Some(node) {
                local.waits.transfer = false;
                changed.push((keyspace, slot));
            }
        }
        self.serve_slots(&changed);
    }

    /// As new primary: a replica has what it needs of these slots, or is in sync no longer. They are served if all others have it. Of one that has
    /// restarted nobody knows what it has: it is in sync until it is dropped.
    pub(crate) fn reconciled(&mut self, places: &[(KeyspaceNumber, Slot)]) {
        let Some(cluster) = &mut self.cluster else { return };
        let awaits = |place: &(KeyspaceNumber, Slot)| {
            cluster.roles.get(place.0, place.1).is_some_and(|local| local.role == Role::Primary && local.waits.reconciliation)
        };
        let places: Vec<_> = places.iter().filter(|place| awaits(place)).copied().collect();
        if places.is_empty() {
            return;
        }
        let of_target = |(target, queue): (&RemoteCore, &ReplicaQueue)| queue.awaited().map(|place| (place, target.0)).collect::<Vec<_>>();
        let open: BTreeSet<_> = cluster.rebuild.queues.by_target.iter().flat_map(of_target).collect();
        let is_open = |place: &(KeyspaceNumber, Slot)| {
            let Some(assignment) = cluster.view.assignment(place.0, place.1) else { return true };
            let has_all = |node: &NodeId| !open.contains(&(*place, *node)) && !assignment.restarted.contains(node);
            !assignment.in_sync.iter().all(has_all)
        };
        let over: Vec<_> = places.into_iter().filter(|place| !is_open(place)).collect();
        for place in &over {
            cluster.replication.divergence.reconciling.remove(place);
            if let Some(local) = cluster.roles.get_mut(place.0, place.1) {
                local.waits.reconciliation = false;
            }
        }
        self.serve_slots(&over);
    }
}
