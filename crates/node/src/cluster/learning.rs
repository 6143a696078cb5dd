//! A replica that has not got everything, from its own side: what it asks its primaries for, and what it forgets.

use super::ClusterCore;
use super::filling::BITE_BYTES;
use super::fillings::{OWN_TAIL, WIPE, owned};
use super::frames::{Fill, KEYS, STEPPED_DOWN, Slots, WANTED, split_version, write_key, write_wanted};
use super::links::Incoming;
use super::roles::{Role, Target};
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Epoch, NodeId, Slot, TableId};
use cluster::wire::Kind;
use engine::Sequence;
use io::{ConnectionId, Reactor};
use shard::{Bite, Enough, KeyspaceNumber, RowKey, SlotScan};
use std::collections::{BTreeMap, BTreeSet};

/// Keys travel in frames of about this size.
const KEYS_BYTES: usize = 256 << 10;

impl ClusterCore {
    /// As learner: a slot is to be filled. What is here of it is kept, if it is only behind.
    pub(super) fn want_slot(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>) {
        let was_in_sync = self.roles.get(place.0, place.1).is_some_and(|local| local.was_in_sync);
        let is_held = self.differences.holds(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.fillings.asked.remove(&place);
        self.fillings.wanted.remove(&place);
        let mut keys = self.fillings.take_uncommitted(place);
        if is_held && was_in_sync {
            keys.extend(own_writes);
            self.fillings.doubtful.insert(place, keys);
            self.fillings.wanted.insert(place, Fill::Difference);
        } else if is_held && self.differences.restored().is_some() {
            self.fillings.walked_next.insert(place);
        } else {
            self.want_all(place);
        }
    }

    /// As learner: a slot is to be filled anew; what is here of it is of no use.
    fn want_all(&mut self, place: (KeyspaceNumber, Slot)) {
        self.differences.let_go(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.fillings.doubtful.remove(&place);
        self.fillings.doubted.remove(&place);
        self.want_wiped(place);
    }

    /// What is here of a slot goes, once: what comes after that stays.
    fn want_wiped(&mut self, place: (KeyspaceNumber, Slot)) {
        if self.fillings.wipes.iter().all(|(known, _)| *known != place) {
            let scan = SlotScan::new(self.view.tables_of(place.0), place.1);
            self.fillings.wipes.push_back((place, scan));
        }
    }

    /// A slot is not this node's any more: its rows are of no use.
    pub(super) fn leave_slot(&mut self, place: (KeyspaceNumber, Slot)) {
        self.differences.let_go(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.want_wiped(place);
    }
}

impl Core {
    /// As learner, or replica of a new primary: there is a connection by which it can be asked.
    pub(super) fn incoming_opened(&mut self, node: NodeId, connection: ConnectionId) {
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
        // What was asked may not have arrived. A filling that has begun is not begun again.
        for place in learned {
            if let Some(fill) = cluster.fillings.asked.get(&place) {
                cluster.fillings.wanted.insert(place, *fill);
            }
        }
        let ClusterCore { fillings, roles, .. } = &mut **cluster;
        let is_here = |(keyspace, slot): &(KeyspaceNumber, Slot)| {
            let is_asked = roles.get(*keyspace, *slot).is_some_and(|local| local.primary == Some(node));
            is_asked && slot.core(cores) == CoreId(core)
        };
        let doubted: Vec<_> = fillings.doubted.keys().filter(|place| is_here(place)).copied().collect();
        for place in doubted {
            let keys = fillings.doubted.remove(&place).unwrap_or_default();
            fillings.doubtful.entry(place).or_default().extend(keys);
        }
    }

    /// What a primary, or one that was, has to say; `None` if it makes no sense.
    pub(super) fn word_of_primary(&mut self, node: NodeId, kind: Kind, body: &[u8]) -> Option<()> {
        let (_, body) = split_version(kind.0, body)?;
        let slots = Slots::read(body)?;
        if kind.0 == STEPPED_DOWN {
            self.stepped_down(node, &slots);
        } else {
            self.all_needed(node, &slots);
        }
        Some(())
    }

    /// As learner: the primary cannot fill it with a difference.
    fn all_needed(&mut self, node: NodeId, slots: &Slots) {
        let Some(cluster) = &mut self.cluster else { return };
        for (keyspace, slot, wanted) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(keyspace) else { continue };
            let Some(local) = cluster.roles.get(keyspace, slot) else { continue };
            let is_meant = local.role == Role::Learner && local.primary == Some(node) && local.learning == Some(Epoch(wanted));
            // It may have asked for all already.
            if is_meant && cluster.fillings.asked.get(&(keyspace, slot)) == Some(&Fill::Difference) {
                cluster.roles.set_asked(keyspace, slot, false);
                cluster.fillings.asked.remove(&(keyspace, slot));
                cluster.fillings.wanted.remove(&(keyspace, slot));
                cluster.want_all((keyspace, slot));
            }
        }
    }

    /// As learner: a bite of wiping; `None` if there is nothing to do for now.
    pub(super) fn wipe<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        if cluster.fillings.wipe_waits || !cluster.differences.may_forget() {
            return None;
        }
        let (place, scan) = cluster.fillings.wipes.front_mut()?;
        let place = *place;
        let (role, is_asked) = cluster.roles.get(place.0, place.1).map_or((Role::None, false), |local| (local.role, local.is_asked()));
        if !matches!(role, Role::Learner | Role::None) || is_asked {
            cluster.fillings.wipes.pop_front();
            return Some(());
        }
        match self.shard.wipe_slot(reactor.now(), WIPE, scan, BITE_BYTES) {
            Ok(Bite::More) => {}
            Ok(Bite::Waits) => cluster.fillings.wipe_waits = true,
            Ok(Bite::End) => {
                cluster.fillings.wipes.pop_front();
                if role == Role::Learner {
                    cluster.fillings.wanted.insert(place, Fill::All);
                }
            }
            Err(error) => {
                tracing::error!(core = self.core.0, %error, "a slot cannot be emptied to be filled anew; it stays without this replica");
                cluster.fillings.wipes.pop_front();
            }
        }
        Some(())
    }

    /// As replica: asks primaries for what is wanted, as far as they have connected.
    pub(super) fn ask<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        if cluster.fillings.wanted.is_empty() && cluster.fillings.doubtful.is_empty() && cluster.fillings.stepped_down.is_empty() {
            return;
        }
        let version = cluster.view.version().to_le_bytes();
        let mut wanted: BTreeMap<(ConnectionId, bool), Slots> = BTreeMap::new();
        // Without room for it, it would only hold back its primaries.
        let is_full = self.shard.engine().has_no_room();
        if is_full {
            cluster.tell_full(reactor);
        }
        let takes_none = cluster.is_ending() || is_full;
        let wants = if takes_none { BTreeMap::new() } else { cluster.fillings.wanted.clone() };
        for (place, fill) in wants {
            let Some(local) = cluster.roles.get(place.0, place.1).filter(|local| local.role == Role::Learner) else {
                cluster.fillings.wanted.remove(&place);
                continue;
            };
            let Some(learning) = local.learning else { continue };
            let Some(connection) = local.primary.and_then(|primary| cluster.incoming_from(primary, place.1)) else { continue };
            let name = &cluster.view.keyspaces[usize::from(place.0.0)].name;
            wanted.entry((connection, fill == Fill::All)).or_default().push(name, place.1, learning.0);
            cluster.fillings.wanted.remove(&place);
            cluster.fillings.asked.insert(place, fill);
            cluster.ask_for_keys(reactor, connection, place);
            cluster.roles.set_asked(place.0, place.1, true);
        }
        for ((connection, is_all), slots) in wanted {
            let fill = if is_all { Fill::All } else { Fill::Difference };
            tracing::info!(core = self.core.0, slots = slots.iter().count(), ?fill, "asks a primary to be filled");
            cluster.answer(reactor, connection, WANTED, |body| {
                body.extend_from_slice(&version);
                write_wanted(body, fill, &slots);
            });
        }
        for place in cluster.fillings.doubtful.keys().copied().collect::<Vec<_>>() {
            let Some(local) = cluster.roles.get(place.0, place.1) else { continue };
            if local.role == Role::Learner {
                continue;
            }
            let Some(primary) = local.primary.filter(|_| local.role == Role::Secondary) else {
                cluster.fillings.doubtful.remove(&place);
                continue;
            };
            let Some(connection) = cluster.incoming_from(primary, place.1) else { continue };
            cluster.ask_for_keys(reactor, connection, place);
        }
        let mut told: BTreeMap<Target, Slots> = BTreeMap::new();
        for (place, to) in std::mem::take(&mut cluster.fillings.stepped_down) {
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
                cluster.fillings.stepped_down.extend(places);
            }
        }
    }

    /// As learner after a restart: a bite of the walk over what may be here alone. `None` if there is nothing to do for now.
    pub(super) fn walk_own_tail<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        let ClusterCore { fillings, differences, view, .. } = &mut **cluster;
        if fillings.own_tail.is_none() {
            let after = differences.restored().filter(|_| !fillings.walked_next.is_empty())?;
            fillings.walked = std::mem::take(&mut fillings.walked_next);
            let tables: BTreeSet<TableId> = fillings.walked.iter().flat_map(|place| view.tables_of(place.0)).collect();
            fillings.own_tail = Some(self.shard.tail_walk(tables, Sequence(after)));
        }
        if fillings.own_tail_waits {
            return None;
        }
        let walk = fillings.own_tail.as_mut()?;
        let (walked, doubtful) = (&fillings.walked, &mut fillings.doubtful);
        let wants = |table, slot| view.keyspace_of(table).is_some_and(|keyspace| walked.contains(&(keyspace, slot)));
        let bite = self.shard.walk_tail(reactor.now(), OWN_TAIL, walk, &wants, &mut |key, _, _| {
            if let Some(keyspace) = view.keyspace_of(key.table) {
                doubtful.entry((keyspace, key.token.slot())).or_default().insert(owned(key));
            }
            Enough::No
        });
        match bite {
            Ok(Bite::More) => {}
            Ok(Bite::Waits) => fillings.own_tail_waits = true,
            Ok(Bite::End) => {
                fillings.own_tail = None;
                let learners = std::mem::take(&mut fillings.walked);
                fillings.wanted.extend(learners.into_iter().map(|place| (place, Fill::Difference)));
            }
            Err(error) => {
                tracing::warn!(core = self.core.0, %error, "what may be here alone cannot be read; all is filled anew");
                fillings.own_tail = None;
                for place in std::mem::take(&mut fillings.walked) {
                    cluster.want_all(place);
                }
            }
        }
        Some(())
    }
}

impl ClusterCore {
    /// As learner: primaries hear why they are not asked.
    fn tell_full<R: Reactor>(&mut self, reactor: &mut R) {
        let primary_of = |(keyspace, slot): &(KeyspaceNumber, Slot)| Some((self.roles.get(*keyspace, *slot)?.primary?, *slot));
        let primaries = self.fillings.wanted.keys().filter_map(primary_of);
        let connections: BTreeSet<_> = primaries.filter_map(|(primary, slot)| self.incoming_from(primary, slot)).collect();
        for connection in connections {
            self.answer_full(reactor, connection);
        }
    }

    /// Asks a primary for the images of the rows that are doubtful here.
    fn ask_for_keys<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId, place: (KeyspaceNumber, Slot)) {
        let Some(keys) = self.fillings.doubtful.remove(&place).filter(|keys| !keys.is_empty()) else { return };
        let version = self.view.version().to_le_bytes();
        let mut body = version.to_vec();
        for key in &keys {
            write_key(&mut body, &key.borrow());
            if body.len() > KEYS_BYTES {
                self.answer(reactor, connection, KEYS, |out| out.extend_from_slice(&body));
                body.truncate(version.len());
            }
        }
        self.answer(reactor, connection, KEYS, |out| out.extend_from_slice(&body));
        self.fillings.doubted.entry(place).or_default().extend(keys);
    }

    /// The connection of the core of `primary` that has `slot`.
    fn incoming_from(&self, primary: NodeId, slot: Slot) -> Option<ConnectionId> {
        let core = self.view.core_of(primary, slot)?;
        let is_from = |incoming: &Incoming| incoming.hello.as_ref().is_some_and(|hello| hello.core == core.0);
        self.links.incoming_of(primary).find(|(_, incoming)| is_from(incoming)).map(|(connection, _)| connection)
    }
}
