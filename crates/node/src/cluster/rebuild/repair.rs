//! Damage that is found while this core serves is repaired from another replica ([decision 0075](../../../../../docs/decisions/0075-repair-while-running.md)).
//!
//! | a slot with damaged rows, at the replica that has found them | next |
//! |---|---|
//! | primary | another replica is in sync, has not said the same, and can be told → it is transferred · none → what is damaged fails, until it is overwritten |
//! | secondary | tells the primary (`DAMAGED`), again and again → the primary reads the whole slot; if it can, it proposes `DropReplica` · without room for a copy it does not |
//! | learner that asks for catch-up | the primary that has dropped it for its damage says that it needs all → all rows are wiped and copied; at once, or after a while if it was repaired of late · another primary lets it catch up, and it says so again when it is in sync |
//! | in sync again | repaired · what was copied is damaged, too → from the start |
//!
//! Invariants: nobody leaves those in sync but by the word of a primary that stays, and that has not found damage in that slot itself. So the last replica
//! in sync is never dropped, and of two that are damaged none is.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::{DAMAGED, Slots, is_spoken};
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::{Place, Role};
use crate::cluster::rebuild::completion::PROPOSED_SLOTS_MAX;
use crate::cluster::rebuild::images::CHUNK_BYTES;
use crate::cluster::rebuild::queue::VERIFY;
use crate::cluster::rebuild::repair_state::{CHECK_US, Stage};
use crate::cluster::rebuild::state::Rebuild;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Epoch, NodeId, Slot};
use cluster::{Command, Member, SlotEpochs};
use engine::WriteBatch;
use io::{ConnectionId, Reactor};
use shard::{Chunk, KeyspaceNumber, Shard};
use std::collections::{BTreeMap, BTreeSet};

/// How often a secondary says that it has damaged rows.
const TELL_US: u64 = 1_000_000;

/// A primary looks so many slots through at a time for damaged rows that are there yet.
const CHECKED_SLOTS_MAX: usize = 8;

/// Slots with damaged rows are looked through this often.
const TURN_US: u64 = 50_000;

/// Found damage is logged this often.
const LOG_US: u64 = 10_000_000;

impl Core {
    /// Goes on with repairs. Returns the time at which to be called again.
    pub(crate) fn repair_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let found = self.shard.take_damaged_slots();
        let cluster = self.cluster.as_mut()?;
        cluster.rebuild.repairs.now_us = now_us;
        cluster.follow_told();
        let has_news = !found.is_empty();
        if has_news {
            let places = found.into_iter().filter_map(|(table, slot)| Some((cluster.view.keyspace_of(table)?, slot)));
            let places: Vec<Place> = places.collect();
            cluster.damage_found(places);
        }
        if cluster.rebuild.repairs.slots.is_empty() || !cluster.view.is_current || cluster.is_shutting_down() {
            return None;
        }
        let repairs = &mut cluster.rebuild.repairs;
        if !has_news && repairs.turn_version == cluster.view.version() && now_us < repairs.turn_at_us {
            return Some(repairs.turn_at_us);
        }
        (repairs.turn_at_us, repairs.turn_version) = (now_us + TURN_US, cluster.view.version());
        cluster.log_found(self.core);
        cluster.end_repairs(self.core);
        // Without room it could not be wiped, and would be no replica for nothing.
        let has_room = !self.shard.engine().has_no_room();
        let tell_due_us = if has_room { cluster.tell_damaged(reactor) } else { Some(now_us + TELL_US) };
        let look_due_us = cluster.look_for_heirs(&self.shard);
        let repairs = &cluster.rebuild.repairs;
        let waits = repairs.slots.values().filter_map(|stage| match stage {
            Stage::Waits { until_us } => Some(*until_us),
            Stage::Found { .. } | Stage::Copied { .. } => None,
        });
        let log_due_us = (repairs.unlogged > 0).then_some(repairs.log_at_us);
        waits.chain(tell_due_us).chain(look_due_us).chain(log_due_us).min()
    }

    /// As primary: a replica in sync has found damaged rows of its own.
    pub(crate) fn replica_is_damaged<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: RemoteCore, slots: &Slots) {
        let now_us = reactor.now().monotonic_us;
        // One that ends needs all who can take its slots.
        let stays =
            |cluster: &ClusterCore| !cluster.is_shutting_down() && cluster.view.state.member(cluster.view.me).is_some_and(Member::stays);
        let Some(cluster) = self.cluster.as_mut().filter(|cluster| stays(cluster)) else { return };
        let mut dropped: BTreeMap<KeyspaceNumber, Vec<(Slot, Epoch)>> = BTreeMap::new();
        let (mut told, mut proposed) = (Vec::new(), 0);
        cluster.rebuild.verification.forget_old(now_us);
        for (name, slot, epoch) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(name) else { continue };
            let place = (keyspace, slot);
            let is_mine = cluster.roles.get(keyspace, slot).is_some_and(|local| local.role == Role::Primary && local.epoch.0 == epoch);
            let assignment = cluster.view.assignment(keyspace, slot);
            if !is_mine || target.0 == cluster.view.me || !assignment.is_some_and(|assignment| assignment.in_sync.contains(&target.0)) {
                continue;
            }
            if cluster.rebuild.repairs.told(place, target.0) {
                told.push(place);
            }
            if cluster.rebuild.repairs.is_found(place) || !cluster.may_lose(place, target.0) {
                continue;
            }
            if !cluster.rebuild.verification.is_whole(place) {
                cluster.rebuild.verification.want(place, cluster.view.tables_of(keyspace));
                continue;
            }
            if proposed == PROPOSED_SLOTS_MAX || !cluster.rebuild.repairs.proposes(place, target.0, epoch, now_us) {
                continue;
            }
            proposed += 1;
            dropped.entry(keyspace).or_default().push((slot, Epoch(epoch)));
        }
        let node = target.0.0;
        if !told.is_empty() && cluster.links.is_news(&format!("damage at member {node}"), now_us) {
            tracing::warn!(
                core = self.core.0,
                node,
                slots = told.len(),
                "a replica has damaged rows: it gets all rows of these slots anew"
            );
        }
        let name = |number: KeyspaceNumber| cluster.view.keyspaces[usize::from(number.0)].name.clone();
        let slots: Vec<SlotEpochs> = dropped.into_iter().map(|(number, slots)| SlotEpochs { keyspace: name(number), slots }).collect();
        if !slots.is_empty() {
            reactor.send(CoreId(0), Message::Propose(Box::new(Command::DropReplica { node: target.0, slots })));
        }
        if !told.is_empty() {
            cluster.leadership.transfer.version = u64::MAX;
            self.serve_slots(&told);
        }
    }

    /// As primary: reads a chunk of a slot from which a damaged replica is to be dropped; `None` if there is nothing to do for now.
    pub(crate) fn verify<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        let verification = &mut cluster.rebuild.verification;
        if verification.waits {
            return None;
        }
        let (place, scan) = verification.first()?;
        let place = *place;
        if cluster.roles.get(place.0, place.1).is_none_or(|local| local.role != Role::Primary) {
            verification.ended(None);
            return Some(());
        }
        let now = reactor.now();
        match self.shard.scan_slot(now, VERIFY, scan, CHUNK_BYTES, &mut WriteBatch::new()) {
            Ok(Chunk::More) => {}
            Ok(Chunk::Waits) => verification.waits = true,
            // What is damaged the shard has noted.
            Ok(Chunk::End) => {
                let is_whole = scan.damaged() == 0;
                verification.ended(is_whole.then_some(now.monotonic_us));
            }
            Err(error) => {
                tracing::warn!(core = self.core.0, %error, "a slot cannot be read for now: a replica with damaged rows keeps them until it can");
                verification.ended(None);
            }
        }
        Some(())
    }
}

impl ClusterCore {
    /// Rows of these slots are damaged here.
    pub(crate) fn damage_found(&mut self, places: impl IntoIterator<Item = Place>) {
        for place in places {
            let has_part = self.roles.get(place.0, place.1).is_some_and(|local| local.role != Role::None);
            // What is damaged goes with the wipe.
            let is_wiped = self.rebuild.learner.wipes.iter().any(|(known, _)| *known == place);
            if has_part && !is_wiped && self.rebuild.repairs.found(place) {
                // Another primary is looked for.
                self.leadership.transfer.version = u64::MAX;
            }
        }
    }

    /// Whether another replica that is up can serve a slot, as far as is known.
    pub(crate) fn is_elsewhere(&self, place: Place) -> bool {
        let Some(local) = self.roles.get(place.0, place.1) else { return false };
        match local.role {
            Role::Primary => self.whole_replicas(place).next().is_some(),
            // What has waited for the device may find itself on a learner.
            Role::Secondary | Role::Learner | Role::None => local.primary.is_some_and(|primary| self.view.is_peer_up(primary)),
        }
    }

    /// As primary: other replicas in sync that are up and have not found damage of their own.
    fn whole_replicas(&self, place: Place) -> impl Iterator<Item = NodeId> + '_ {
        let assignment = self.view.assignment(place.0, place.1);
        let in_sync = assignment.into_iter().flat_map(|assignment| {
            assignment.in_sync.iter().copied().filter(|node| *node != self.view.me && !assignment.restarted.contains(node))
        });
        let repairs = &self.rebuild.repairs;
        let is_whole = move |node: &NodeId| !repairs.is_told(place, *node) && !repairs.is_in_part(place, *node);
        in_sync.filter(move |node| self.view.is_peer_up(*node) && is_whole(node) && self.hears_damage(*node, place.1) != Some(false))
    }

    /// Whether a member could be told, as primary of a slot, that rows are damaged here. One that could not would hand the slot back. `None` until there was a
    /// link to it.
    fn hears_damage(&self, node: NodeId, slot: Slot) -> Option<bool> {
        let link = self.links.outgoing.get(&(node, self.view.core_of(node, slot)?))?;
        (link.version > 0).then(|| is_spoken(DAMAGED, link.version))
    }

    /// As primary: whether a replica may leave those in sync for its damaged rows. Those that are left must be enough for a quorum, if there can be so many without it.
    fn may_lose(&self, place: Place, node: NodeId) -> bool {
        let (Some(assignment), Some(slots)) = (self.view.assignment(place.0, place.1), self.view.slots_of(place.0)) else { return false };
        let is_up = |other: &NodeId| *other == self.view.me || self.view.is_peer_up(*other);
        let left = assignment.in_sync.iter().filter(|other| **other != node && is_up(other)).count();
        let factor = usize::from(slots.factor);
        left > factor / 2 || left + 1 == factor
    }

    /// As primary: whether a learner that wants to catch up has left those in sync for its damaged rows, and is to copy all. It may have left for another reason, and
    /// then it may be needed: rows may be damaged here meanwhile.
    pub(crate) fn needs_full_copy(&self, place: Place, node: NodeId) -> bool {
        let Rebuild { repairs, verification, .. } = &self.rebuild;
        repairs.has_left(place, node) && !repairs.is_found(place) && verification.is_whole(place)
    }

    /// Slots that this primary has damaged rows of, with those who are to be their primaries instead.
    pub(crate) fn slots_to_hand_over(&self) -> Vec<(Place, NodeId)> {
        let heir = |place: Place| {
            let assignment = self.view.assignment(place.0, place.1).filter(|assignment| assignment.transfer_from.is_none())?;
            let is_primary = assignment.primary == self.view.me && self.roles.get(place.0, place.1)?.role == Role::Primary;
            let stays = |node: &NodeId| self.view.state.member(*node).is_some_and(Member::stays);
            let hears = |node: &NodeId| self.hears_damage(*node, place.1) == Some(true);
            let heirs: Vec<NodeId> = self.whole_replicas(place).filter(|node| stays(node) && hears(node)).collect();
            // Not all to the same one.
            let heir = heirs.get(usize::from(place.1.0) % heirs.len().max(1))?;
            is_primary.then_some((place, *heir))
        };
        let repairs = &self.rebuild.repairs;
        repairs.slots.keys().copied().filter(|place| repairs.is_found(*place)).filter_map(heir).collect()
    }

    /// As primary of slots with damaged rows: looks for other primaries again, for links open. Where there is none, what is damaged may have been overwritten.
    /// Returns when to look again.
    fn look_for_heirs(&mut self, shard: &Shard) -> Option<u64> {
        let Self { roles, rebuild, .. } = self;
        let is_primary = |place: &Place| roles.get(place.0, place.1).is_some_and(|local| local.role == Role::Primary);
        let checks = rebuild.repairs.slots.iter().filter_map(|(place, stage)| match stage {
            Stage::Found { check_at_us, .. } if is_primary(place) => Some((*place, *check_at_us)),
            _ => None,
        });
        let checks: Vec<(Place, u64)> = checks.collect();
        if checks.is_empty() {
            return None;
        }
        let now_us = rebuild.repairs.now_us;
        if now_us < rebuild.repairs.look_at_us {
            return Some(rebuild.repairs.look_at_us);
        }
        rebuild.repairs.look_at_us = now_us + TELL_US;
        let (with_heir, alone): (Vec<_>, Vec<_>) = checks.into_iter().partition(|(place, _)| self.is_elsewhere(*place));
        if with_heir.iter().any(|(place, _)| !self.leadership.transfer.wanted.contains_key(place)) {
            self.leadership.transfer.version = u64::MAX;
        }
        for (place, _) in alone.into_iter().filter(|(_, check_at_us)| now_us >= *check_at_us).take(CHECKED_SLOTS_MAX) {
            let is_damaged = self.view.tables_of(place.0).into_iter().any(|table| shard.names_damage(table, place.1));
            match self.rebuild.repairs.slots.get_mut(&place) {
                Some(Stage::Found { check_at_us, .. }) if is_damaged => *check_at_us = now_us + CHECK_US,
                _ => self.rebuild.repairs.is_overwritten(place),
            }
        }
        Some(now_us + TELL_US)
    }

    /// Replicas that are in sync again are damaged no longer.
    fn follow_told(&mut self) {
        let Self { view, roles, rebuild, .. } = self;
        if rebuild.repairs.told_version == view.version() {
            return;
        }
        rebuild.repairs.told_version = view.version();
        rebuild.repairs.follow(|place, node| {
            let is_primary = roles.get(place.0, place.1).is_some_and(|local| local.role == Role::Primary);
            let assignment = view.assignment(place.0, place.1).filter(|assignment| is_primary && assignment.holds(node))?;
            Some(assignment.in_sync.contains(&node))
        });
    }

    fn log_found(&mut self, core: CoreId) {
        let repairs = &mut self.rebuild.repairs;
        if repairs.unlogged == 0 || repairs.now_us < repairs.log_at_us {
            return;
        }
        repairs.log_at_us = repairs.now_us + LOG_US;
        let slots = std::mem::take(&mut repairs.unlogged);
        let again = repairs.slots.keys().filter(|place| repairs.times(**place) > 0).count();
        let places: Vec<Place> = repairs.slots.keys().copied().collect();
        let alone = places.into_iter().filter(|place| !self.is_elsewhere(*place)).count();
        tracing::warn!(
            core = core.0,
            slots,
            "damaged rows were found: other replicas serve these slots, and all their rows are copied from them"
        );
        if alone > 0 {
            tracing::error!(
                core = core.0,
                slots = alone,
                "no other replica that is up has these slots whole: damaged rows stay unreadable until they are written again or restored from a backup"
            );
        }
        if again > 0 {
            tracing::error!(core = core.0, slots = again, "slots are damaged that were repaired within the last hour: replace the device");
        }
    }

    /// Slots that are in sync again, or none of this core any more; and those that have waited long enough.
    fn end_repairs(&mut self, core: CoreId) {
        let (mut ended, mut gone, mut due, mut back) = (Vec::new(), BTreeSet::new(), Vec::new(), Vec::new());
        for (place, stage) in &self.rebuild.repairs.slots {
            let local = self.roles.get(place.0, place.1);
            match (local.map_or(Role::None, |local| local.role), stage) {
                (Role::None, _) => {
                    gone.insert(*place);
                }
                (Role::Primary | Role::Secondary, Stage::Copied { .. }) => ended.push(*place),
                // It came in sync without the copy.
                (Role::Primary | Role::Secondary, Stage::Waits { .. }) => back.push(*place),
                (Role::Learner, Stage::Waits { until_us }) if self.rebuild.repairs.now_us >= *until_us => due.push(*place),
                _ => {}
            }
        }
        self.rebuild.repairs.retain(&gone);
        back.into_iter().for_each(|place| self.rebuild.repairs.in_sync_with_damage(place));
        ended.iter().for_each(|place| self.rebuild.repairs.ended(*place));
        if !ended.is_empty() {
            let left = self.rebuild.repairs.slots.len();
            tracing::info!(core = core.0, slots = ended.len(), left, "repaired: all rows of these slots were copied from other replicas");
        }
        for place in due {
            let is_free = self.roles.get(place.0, place.1).is_some_and(|local| !local.is_asked() && !local.has_restarted());
            if !is_free {
                let until_us = self.rebuild.repairs.now_us + TELL_US;
                self.rebuild.repairs.slots.insert(place, Stage::Waits { until_us });
            } else {
                self.want_full_copy(place);
            }
        }
    }

    /// As secondary: primaries hear of damaged rows, in each epoch and again and again. Returns when to tell them again. What nobody can be told now is due as soon
    /// as somebody can.
    fn tell_damaged<R: Reactor>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = self.rebuild.repairs.now_us;
        let (mut told, mut due_us): (BTreeMap<ConnectionId, Slots>, Option<u64>) = (BTreeMap::new(), None);
        let places: Vec<Place> = self.rebuild.repairs.slots.keys().copied().collect();
        for place in places {
            let Some(local) = self.roles.get(place.0, place.1).filter(|local| local.role == Role::Secondary) else { continue };
            let epoch = local.epoch.0;
            let Some(connection) = local.primary.and_then(|primary| self.incoming_from(primary, place.1)) else { continue };
            if !self.links.incoming.get(&connection).is_some_and(|incoming| is_spoken(DAMAGED, incoming.version)) {
                continue;
            }
            let Some(Stage::Found { tell_at_us, told_epoch, .. }) = self.rebuild.repairs.slots.get_mut(&place) else { continue };
            if now_us >= *tell_at_us || *told_epoch != epoch {
                (*tell_at_us, *told_epoch) = (now_us + TELL_US, epoch);
                told.entry(connection).or_default().push(&self.view.keyspaces[usize::from(place.0.0)].name, place.1, epoch);
            }
            due_us = Some(due_us.map_or(*tell_at_us, |due_us: u64| due_us.min(*tell_at_us)));
        }
        let version = self.view.version().to_le_bytes();
        for (connection, slots) in told {
            self.answer(reactor, connection, DAMAGED, |body| {
                body.extend_from_slice(&version);
                slots.write(body);
            });
        }
        due_us
    }
}
