//! As learner: which slots this core requests from their primaries, and how.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::{FETCH, REBUILD, RebuildMethod, STEPPED_DOWN, Slots, write_key, write_rebuild};
use crate::cluster::links::link::Incoming;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::Role;
use crate::cluster::replication::state::Replication;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Epoch, NodeId, Slot};
use io::{ConnectionId, Reactor};
use shard::{KeyspaceNumber, RowKey};
use std::collections::{BTreeMap, BTreeSet};

/// Keys travel in frames of about this size.
const KEYS_BYTES: usize = 256 << 10;

impl ClusterCore {
    /// As learner: a slot is to be rebuilt. What is here of it is kept, if it is only behind.
    pub(crate) fn want_slot(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>) {
        let was_in_sync = self.roles.get(place.0, place.1).is_some_and(|local| local.was_in_sync);
        let is_held = self.rebuild.catch_up.holds(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.rebuild.learner.asked.remove(&place);
        self.rebuild.learner.wanted.remove(&place);
        let mut keys = self.replication.divergence.take_uncommitted(place);
        if self.rebuild.repairs.waits(place) {
            return;
        }
        if is_held && was_in_sync {
            keys.extend(own_writes);
            self.replication.divergence.to_fetch.insert(place, keys);
            self.rebuild.learner.wanted.insert(place, RebuildMethod::CatchUp);
        } else if is_held && self.rebuild.catch_up.restored().is_some() {
            self.rebuild.learner.own_tail.next_slots.insert(place);
        } else {
            self.want_full_copy(place);
        }
    }

    /// As learner: a slot is to be rebuilt by full copy; what is here of it is of no use.
    pub(crate) fn want_full_copy(&mut self, place: (KeyspaceNumber, Slot)) {
        self.forget_rows(place);
        self.rebuild.repairs.copies(place);
        self.want_wiped(place);
    }

    /// As learner: a slot's rows here are nothing to catch up from, also not for the next process.
    fn forget_rows(&mut self, place: (KeyspaceNumber, Slot)) {
        self.rebuild.catch_up.forget_slot(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.replication.divergence.to_fetch.remove(&place);
        self.replication.divergence.fetching.remove(&place);
    }

    /// As learner: primaries hear why they are not asked.
    fn tell_full<R: Reactor>(&mut self, reactor: &mut R) {
        let primary_of = |(keyspace, slot): &(KeyspaceNumber, Slot)| Some((self.roles.get(*keyspace, *slot)?.primary?, *slot));
        let primaries = self.rebuild.learner.wanted.keys().filter_map(primary_of);
        let connections: BTreeSet<_> = primaries.filter_map(|(primary, slot)| self.incoming_from(primary, slot)).collect();
        for connection in connections {
            self.answer_full(reactor, connection);
        }
    }

    /// Asks a primary for the images of the rows that may differ here.
    fn ask_for_keys<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId, place: (KeyspaceNumber, Slot)) {
        let Some(keys) = self.replication.divergence.to_fetch.remove(&place).filter(|keys| !keys.is_empty()) else { return };
        let version = self.view.version().to_le_bytes();
        let mut body = version.to_vec();
        for key in &keys {
            write_key(&mut body, &key.borrow());
            if body.len() > KEYS_BYTES {
                self.answer(reactor, connection, FETCH, |out| out.extend_from_slice(&body));
                body.truncate(version.len());
            }
        }
        self.answer(reactor, connection, FETCH, |out| out.extend_from_slice(&body));
        self.replication.divergence.fetching.entry(place).or_default().extend(keys);
    }

    /// The connection of the core of `primary` that has `slot`.
    pub(crate) fn incoming_from(&self, primary: NodeId, slot: Slot) -> Option<ConnectionId> {
        let core = self.view.core_of(primary, slot)?;
        let is_from = |incoming: &Incoming| incoming.hello.as_ref().is_some_and(|hello| hello.core == core.0);
        self.links.incoming_of(primary).find(|(_, incoming)| is_from(incoming)).map(|(connection, _)| connection)
    }
}

impl Core {
    /// As learner, or replica of a new primary: there is a connection by which it can be asked.
    pub(crate) fn incoming_opened(&mut self, node: NodeId, connection: ConnectionId) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(core) = cluster.links.incoming.get(&connection).and_then(|incoming| incoming.hello.as_ref()).map(|hello| hello.core)
        else {
            return;
        };
        let Some(peer) = cluster.view.peers.get(&node) else { return };
        let cores = peer.cores;
        let learned = cluster.roles.iter().filter(|(_, slot, local)| {
            local.role == Role::Learner && local.primary == Some(node) && slot.core(cores) == CoreId(core) && local.is_asked()
        });
        let learned: Vec<_> = learned.map(|(keyspace, slot, _)| (keyspace, slot)).collect();
        // What was asked may not have arrived. A rebuild that has begun does not begin again.
        for place in learned {
            if let Some(method) = cluster.rebuild.learner.asked.get(&place) {
                cluster.rebuild.learner.wanted.insert(place, *method);
            }
        }
        let ClusterCore { replication: Replication { divergence, .. }, roles, .. } = &mut **cluster;
        let is_here = |(keyspace, slot): &(KeyspaceNumber, Slot)| {
            let is_asked = roles.get(*keyspace, *slot).is_some_and(|local| local.primary == Some(node));
            is_asked && slot.core(cores) == CoreId(core)
        };
        let doubted: Vec<_> = divergence.fetching.keys().filter(|place| is_here(place)).copied().collect();
        for place in doubted {
            let keys = divergence.fetching.remove(&place).unwrap_or_default();
            divergence.to_fetch.entry(place).or_default().extend(keys);
        }
    }

    /// As learner: the primary cannot rebuild it by catch-up, or has dropped it for damaged rows.
    pub(crate) fn full_copy_needed(&mut self, node: NodeId, slots: &Slots) {
        let Some(cluster) = &mut self.cluster else { return };
        for (keyspace, slot, wanted) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(keyspace) else { continue };
            let Some(local) = cluster.roles.get(keyspace, slot) else { continue };
            let is_meant = local.role == Role::Learner && local.primary == Some(node) && local.rebuild == Some(Epoch(wanted));
            // It may have asked for all already.
            if is_meant && cluster.rebuild.learner.asked.get(&(keyspace, slot)) == Some(&RebuildMethod::CatchUp) {
                cluster.roles.set_asked(keyspace, slot, false);
                cluster.rebuild.learner.asked.remove(&(keyspace, slot));
                cluster.rebuild.learner.wanted.remove(&(keyspace, slot));
                if cluster.rebuild.repairs.must_wait((keyspace, slot)) {
                    cluster.forget_rows((keyspace, slot));
                } else {
                    cluster.want_full_copy((keyspace, slot));
                }
            }
        }
    }

    /// As replica: requests rebuilds and images from primaries, as far as they have connected.
    pub(crate) fn ask<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &self.cluster else { return };
        if cluster.rebuild.learner.wanted.is_empty()
            && cluster.replication.divergence.to_fetch.is_empty()
            && cluster.leadership.stepped_down.is_empty()
        {
            return;
        }
        self.request_rebuilds(reactor);
        self.request_keys(reactor);
        self.tell_stepped_down(reactor);
    }

    /// As learner: requests a rebuild of the slots that are wanted.
    fn request_rebuilds<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        let version = cluster.view.version().to_le_bytes();
        let mut wanted: BTreeMap<(ConnectionId, bool), Slots> = BTreeMap::new();
        // Without room for it, it would only hold back its primaries.
        let is_full = self.shard.engine().has_no_room();
        if is_full {
            cluster.tell_full(reactor);
        }
        let takes_none = cluster.is_shutting_down() || is_full;
        let wants = if takes_none { BTreeMap::new() } else { cluster.rebuild.learner.wanted.clone() };
        for (place, method) in wants {
            let Some(local) = cluster.roles.get(place.0, place.1).filter(|local| local.role == Role::Learner) else {
                cluster.rebuild.learner.wanted.remove(&place);
                continue;
            };
            let Some(rebuild) = local.rebuild else { continue };
            let Some(connection) = local.primary.and_then(|primary| cluster.incoming_from(primary, place.1)) else { continue };
            let name = &cluster.view.keyspaces[usize::from(place.0.0)].name;
            wanted.entry((connection, method == RebuildMethod::Full)).or_default().push(name, place.1, rebuild.0);
            cluster.rebuild.learner.wanted.remove(&place);
            cluster.rebuild.learner.asked.insert(place, method);
            cluster.ask_for_keys(reactor, connection, place);
            cluster.roles.set_asked(place.0, place.1, true);
        }
        for ((connection, is_all), slots) in wanted {
            let method = if is_all { RebuildMethod::Full } else { RebuildMethod::CatchUp };
            tracing::info!(core = self.core.0, slots = slots.iter().count(), ?method, "requests a rebuild from a primary");
            cluster.answer(reactor, connection, REBUILD, |body| {
                body.extend_from_slice(&version);
                write_rebuild(body, method, &slots);
            });
        }
    }

    /// As secondary: requests the primary's rows of keys that may be here alone.
    fn request_keys<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        for place in cluster.replication.divergence.to_fetch.keys().copied().collect::<Vec<_>>() {
            let Some(local) = cluster.roles.get(place.0, place.1) else { continue };
            if local.role == Role::Learner {
                continue;
            }
            let Some(primary) = local.primary.filter(|_| local.role == Role::Secondary) else {
                cluster.replication.divergence.to_fetch.remove(&place);
                continue;
            };
            let Some(connection) = cluster.incoming_from(primary, place.1) else { continue };
            cluster.ask_for_keys(reactor, connection, place);
        }
    }

    /// As a primary of before: tells those that follow it that it has stepped down.
    fn tell_stepped_down<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        let version = cluster.view.version().to_le_bytes();
        let mut told: BTreeMap<RemoteCore, Slots> = BTreeMap::new();
        for (place, to) in std::mem::take(&mut cluster.leadership.stepped_down) {
            let assignment = cluster.view.assignment(place.0, place.1).filter(|assignment| assignment.primary == to);
            let (Some(assignment), Some(core)) = (assignment, cluster.view.core_of(to, place.1)) else { continue };
            let name = &cluster.view.keyspaces[usize::from(place.0.0)].name;
            told.entry((to, core)).or_default().push(name, place.1, assignment.term.0);
        }
        for (target, slots) in told {
            let write = |body: &mut Vec<u8>| {
                body.extend_from_slice(&version);
                slots.write(body);
            };
            if !cluster.send(reactor, target, STEPPED_DOWN, write) {
                let places = slots.iter().filter_map(|(name, slot, _)| Some(((cluster.view.number_of(name)?, slot), target.0)));
                let places: Vec<_> = places.collect();
                cluster.leadership.stepped_down.extend(places);
            }
        }
    }
}
