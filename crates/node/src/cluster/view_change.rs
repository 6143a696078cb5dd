//! A new view of the metadata: the core takes its new roles.
//!
//! Order matters. Writes of the turn leave under the old terms first. Then the roles change, and each floor hears which slots this core has lost, gained, follows
//! or learns. Requests and frames that waited for this view run last.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::link::Link;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::{Changes, Place, Role};
use crate::cluster::membership::view::View;
use crate::cluster::replication::uncommitted::owned;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, NodeId, Slot};
use cluster::{Member, MemberState};
use engine::{ReceivedRows, Sequence};
use io::Reactor;
use shard::{KeyspaceNumber, RowKey, Serving, Shard};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// By slot, keys of rows that this node wrote as primary and that may be here alone.
type OwnWrites = BTreeMap<Place, Vec<RowKey>>;

impl Core {
    /// Applies a view.
    pub(crate) fn apply_view<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, view: Arc<View>) {
        let now_us = reactor.now().monotonic_us;
        let committed = self.committed_here();
        let Some(cluster) = &mut self.cluster else { return };
        cluster.replication.divergence.note_committed(committed);
        // What was written until now was written in the terms until now.
        cluster.send_written(&mut self.shard);
        let before = cluster.take_view(&view, now_us);
        if view.is_current && !cluster.membership.has_served {
            cluster.membership.has_served = true;
            reactor.send(CoreId(0), Message::Serving);
        }
        self.shard.set_replicated(view.tables.iter().copied());
        let changes = cluster.roles.follow(&before, &view, self.core, self.cores);
        let mut own = cluster.take_back_writes(&changes.lost);
        cluster.follow_catch_up(&before, &changes, committed, now_us);
        cluster.serve_changed(&mut self.shard, &changes.changed);
        self.shard.fail_unserved();
        cluster.begin_roles(&changes, &mut own, self.shard.engine().last_sequence());
        cluster.replication.divergence.note_committed(committed);
        cluster.hold_purges(&mut self.shard);
        cluster.leave_slots(&changes.left, &mut own);
        view.gone_since(&before).for_each(|node| cluster.replication.divergence.forget_sender(node));
        cluster.want_links(&before, &changes.changed);
        let unanswered = cluster.links.take_forwards(|node| !view.is_peer_up(node));
        self.serve_slots(&changes.gained);
        self.reconciled(&changes.changed);
        let (members_before, members) = (&before.state.members, &view.state.members);
        self.announce_members(reactor, members_before);
        if is_removed(members, view.me) && !is_removed(members_before, view.me) {
            self.send_clients_away(reactor);
        }
        self.routed_lost(reactor, &unanswered);
        self.run_pending_requests(reactor);
        self.run_pending_frames(reactor);
    }

    /// Tells the shard again what these slots are.
    pub(crate) fn serve_slots(&mut self, places: &[(KeyspaceNumber, Slot)]) {
        let Some(cluster) = &mut self.cluster else { return };
        for (keyspace, slot) in places {
            cluster.serve(&mut self.shard, *keyspace, *slot);
        }
        cluster.replication.written = true;
        cluster.routing.has_changed = true;
    }
}

impl ClusterCore {
    /// The view is the new one from now on. Returns the one before.
    fn take_view(&mut self, view: &Arc<View>, now_us: u64) -> Arc<View> {
        let before = std::mem::replace(&mut self.view, Arc::clone(view));
        self.membership.identity.clone_from(&view.identity);
        self.routing.has_changed = true;
        self.replication.written = true;
        if view.members_since != before.members_since {
            self.membership.members_moved_us = now_us;
        }
        self.forget_peers(&before);
        before
    }

    /// Takes what replicas were not sent yet out of their streams, for slots that this node is not the primary of any more.
    fn take_back_writes(&mut self, lost: &[Place]) -> OwnWrites {
        let lost: BTreeSet<Place> = lost.iter().copied().collect();
        let mut own = OwnWrites::new();
        if lost.is_empty() {
            return own;
        }
        for link in self.links.outgoing.values_mut() {
            link.stream.retain(|table, slot, _, rows| {
                let Some(place) = self.view.keyspace_of(table).map(|keyspace| (keyspace, slot)) else { return false };
                let is_lost = lost.contains(&place);
                if is_lost {
                    own.entry(place).or_default().extend(ReceivedRows::new(rows).filter_map(Result::ok).map(|row| owned(&row.key)));
                }
                !is_lost
            });
        }
        own
    }

    /// What is kept for catch-ups follows the view.
    fn follow_catch_up(&mut self, before: &View, changes: &Changes, committed: u64, now_us: u64) {
        let Self { view, roles, rebuild, replication, .. } = self;
        rebuild.catch_up.follow(before, view, roles, &changes.changed, committed, now_us);
        if !(changes.lost.is_empty() && changes.gained.is_empty() && changes.followed.is_empty() && changes.learned.is_empty()) {
            rebuild.catch_up.unsettle(now_us);
        }
        let has_other_tables =
            !before.is_current || before.keyspaces.len() != view.keyspaces.len() || before.tables.len() != view.tables.len();
        // Before the metadata knows of this process nothing follows from what it does not show.
        if view.is_current && has_other_tables {
            rebuild.catch_up.forget_other_slots(|name, slot| {
                let local = view.number_of(name).and_then(|keyspace| roles.get(keyspace, slot));
                local.is_some_and(|local| local.role != Role::None)
            });
            replication.divergence.forget_tables(|table| view.keyspace_of(table).is_some());
        }
    }

    /// The shard serves slots as their new roles have it.
    fn serve_changed(&mut self, shard: &mut Shard, changed: &[Place]) {
        for (keyspace, slot) in changed {
            if self.roles.get(*keyspace, *slot).is_some_and(|local| matches!(local.role, Role::Primary | Role::Secondary)) {
                self.rebuild.catch_up.hold(&self.view.keyspaces[usize::from(keyspace.0)].name, *slot, shard.engine().last_sequence().0);
                if self.rebuild.learner.in_sync((*keyspace, *slot)) {
                    self.replication.divergence.fetched((*keyspace, *slot));
                }
                if let Some(local) = self.roles.get_mut(*keyspace, *slot) {
                    local.learned_at = None;
                }
            }
            self.serve(shard, *keyspace, *slot);
        }
    }

    /// What is to be done first in each new role.
    fn begin_roles(&mut self, changes: &Changes, own: &mut OwnWrites, last: Sequence) {
        for place in &changes.lost {
            self.replication.divergence.lost(*place);
            let Some(assignment) = self.view.assignment(place.0, place.1) else { continue };
            if assignment.transfer_from == Some(self.view.me) {
                self.step_down(*place, assignment.primary);
            }
        }
        for place in &changes.followed {
            self.follow_primary(*place, own.remove(place).unwrap_or_default());
        }
        for place in &changes.gained {
            let waits = self.begin_reconciliation(*place, own.remove(place).unwrap_or_default(), last);
            if let Some(local) = self.roles.get_mut(place.0, place.1) {
                local.waits.reconciliation = waits;
            }
        }
        for place in &changes.learned {
            if let Some(local) = self.roles.get_mut(place.0, place.1) {
                local.learned_at.get_or_insert(last.0);
            }
            self.want_slot(*place, own.remove(place).unwrap_or_default());
        }
    }

    /// Slots that this node has no more. One that ends, or is taken for dead, comes back and has what it had.
    fn leave_slots(&mut self, left: &[Place], own: &mut OwnWrites) {
        if self.is_shutting_down() {
            return;
        }
        for place in left {
            self.rebuild.learner.asked.remove(place);
            self.replication.divergence.leaves(*place, own.remove(place).unwrap_or_default());
        }
        if self.view.is_up() {
            self.replication.divergence.take_away().for_each(|place| self.leave_slot(place));
        }
    }

    /// Tells the shard what a slot is now.
    fn serve(&mut self, shard: &mut Shard, keyspace: KeyspaceNumber, slot: Slot) {
        let serving = self.roles.serving(&self.view, keyspace, slot);
        if let Serving::With(set) = serving {
            // The slot may bring along what was written in the set before.
            self.replication.uncommitted_sets.insert(set);
        }
        shard.serve(keyspace, slot, serving);
        let role = self.roles.get(keyspace, slot).map_or(Role::None, |local| local.role);
        shard.set_standing(keyspace, slot, matches!(role, Role::Primary | Role::Secondary), self.is_elsewhere((keyspace, slot)));
    }

    /// Forgets what was under way with processes that have ended.
    fn forget_peers(&mut self, before: &View) {
        let Self { view, links, roles, rebuild, .. } = self;
        for node in view.gone_since(before) {
            roles.forget_member(node);
            rebuild.queues.forget_member(node);
            for (_, link) in links.outgoing.iter_mut().filter(|(target, _)| target.0 == node) {
                forget_stream(link, view, node);
            }
        }
    }

    /// Links to all who get this core's writes, or may have to be rebuilt; streams to others are forgotten.
    fn want_links(&mut self, before: &View, changed: &[Place]) {
        let mut wanted: BTreeSet<RemoteCore> = BTreeSet::new();
        let mut want = |(keyspace, slot): Place| {
            let is_primary = self.roles.get(keyspace, slot).is_some_and(|local| local.role == Role::Primary);
            let Some(assignment) = self.view.assignment(keyspace, slot).filter(|_| is_primary) else { return };
            for node in assignment.in_sync.iter().copied().chain(assignment.learners.iter()) {
                wanted.extend(self.view.core_of(node, slot).map(|core| (node, core)));
            }
        };
        if Arc::ptr_eq(&before.peers, &self.view.peers) {
            changed.iter().copied().for_each(want);
        } else {
            self.roles.iter().for_each(|(keyspace, slot, _)| want((keyspace, slot)));
        }
        let streamed = self.roles.targets();
        for target in wanted {
            self.links.outgoing(target);
        }
        for (target, link) in self.links.outgoing.iter_mut().filter(|(target, _)| !streamed.contains(target)) {
            forget_stream(link, &self.view, target.0);
        }
        let peers = &self.view.peers;
        if self.view.version() > 0 {
            // A member may have started with fewer cores.
            let is_there = |target: &RemoteCore| peers.get(&target.0).is_some_and(|peer| target.1.0 < peer.cores);
            self.links.outgoing.retain(|target, link| link.is_used() || is_there(target));
        }
    }
}

/// Forgets what a member was to be sent. While it is in sync, what it lacks stays: nothing is acknowledged without it.
fn forget_stream(link: &mut Link, view: &View, node: NodeId) {
    link.stream.retain(|table, slot, _, _| {
        let assignment = view.keyspace_of(table).and_then(|keyspace| view.assignment(keyspace, slot));
        assignment.is_some_and(|assignment| assignment.in_sync.contains(&node))
    });
}

fn is_removed(members: &BTreeMap<NodeId, Member>, node: NodeId) -> bool {
    members.get(&node).is_some_and(|member| member.state == MemberState::Removed)
}
