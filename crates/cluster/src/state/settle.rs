//! Brings the assignments of slots nearer to where they belong; runs after each command, for the slots that it has changed: for all of them if it has changed
//! who is up or where slots belong.
//!
//! For each slot, with its *targets* (`placement`), in this order:
//!
//! 1. A primary that is down, or has restarted, is replaced by a replica in sync that is up and has not, the first in the order of targets; one that is
//!    down at last by one that has restarted. If none is up, the slot stays as it is: unavailable, for what was acknowledged may be on those that are
//!    down only.
//! 2. Learners that are down, shutting down or no targets leave.
//! 3. Targets that stay and are not in sync become learners, if the primary is up. So one that comes back has a part in all its slots at once, and keeps what it has
//!    of them: how much of that is rebuilt at a time is for primaries to decide.
//!
//! Nothing here takes a replica out of those in sync: one that is left may be dead, though nobody knows it yet. Only a primary does that, for it
//! stays among them and lives, as it says so ([`State::has_to_release`]). That another member should be primary ([`State::successors`]) is for the
//! primary to propose, too: it finishes what is under way before.
//!
//! A member that is down keeps its place among the targets: nothing moves while it restarts.
//!
//! All of it done twice is the same as done once. So a slot need be looked at again only when its assignment, its targets or who is up have changed.

use crate::nodes::NodeSet;
use crate::state::State;
use crate::state::due::{Due, Task};
use crate::state::slots::{Assignment, SlotMap, put};
use crate::state::up::Up;
use base::{NodeId, Slot};
use std::sync::Arc;

impl State {
    pub(super) fn settle(&mut self) {
        self.follow_members();
        if !self.keyspaces.values().any(|map| map.due.has_changed()) {
            return;
        }
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for map in keyspaces.values_mut().filter(|map| map.due.has_changed()) {
            let mut changes = Vec::new();
            for slot in map.due.to_look_at() {
                let (assignment, targets) = (map.at(slot), self.targets(map, slot));
                if !is_at_rest(assignment, targets, &self.up) {
                    let mut next = assignment.clone();
                    self.settle_slot(&mut next, targets);
                    changes.extend((next != *assignment).then_some((slot, next)));
                }
            }
            put(map, changes, self.epoch());
            self.look_at_changed(Arc::make_mut(map));
        }
        self.keyspaces = keyspaces;
    }

    /// Whether settling once more would change nothing.
    #[cfg(test)]
    pub(super) fn has_come_to_rest(&self) -> bool {
        self.keyspaces.values().all(|map| {
            map.with_slots().all(|(slot, assignment)| {
                let mut next = assignment.clone();
                self.settle_slot(&mut next, self.targets(map, slot));
                next == *assignment
            })
        })
    }

    /// Follows the members: when others are up, or slots belong elsewhere, every slot has to be looked at.
    pub(super) fn follow_members(&mut self) {
        if Arc::ptr_eq(&self.members, &self.followed) {
            return;
        }
        self.followed = Arc::clone(&self.members);
        let (placement, up) = (self.placement.refreshed(&self.members, self.protocol_version()), Up::of(&self.members));
        if placement.is_none() && up == *self.up {
            return;
        }
        self.up = Arc::new(up);
        if let Some(placement) = placement {
            self.placement = Arc::new(placement);
        }
        for map in self.keyspaces.values_mut() {
            Arc::make_mut(map).due = Due::of_all();
        }
    }

    /// Finds out what is due in a state that comes as bytes. Whoever had it in memory has settled it; the next command looks at every slot all the same.
    pub(super) fn find_due(&mut self) {
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for map in keyspaces.values_mut().map(Arc::make_mut) {
            self.look_at_changed(map);
            map.due.all_changed();
        }
        self.keyspaces = keyspaces;
    }

    /// Whether nothing is to be moved, rebuilt or transferred: each slot is where it belongs.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.keyspaces.values().all(|map| {
            let is_settled = |(slot, assignment)| is_settled(assignment, self.targets(map, slot), &self.up);
            !map.due.has_tasks() && map.with_slots().all(is_settled)
        })
    }

    /// Whether `primary` waits for replicas in sync that it need not wait for: [`crate::Command::Release`] takes them out.
    #[must_use]
    pub fn has_to_release(&self, primary: NodeId) -> bool {
        self.keyspaces.values().any(|map| map.due.has(Task::Release(primary)))
    }

    /// `primary` goes on without those.
    pub(super) fn release_replicas(&mut self, primary: NodeId) {
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for map in keyspaces.values_mut() {
            let released = |slot| {
                let assignment = map.at(slot).clone();
                let in_sync = kept_in_sync(&assignment, self.targets(map, slot), &self.up);
                (slot, Assignment { in_sync, restarted: NodeSet::new(), ..assignment })
            };
            let changes = map.due.slots(Task::Release(primary)).map(released).collect();
            put(map, changes, self.epoch());
        }
        self.keyspaces = keyspaces;
    }

    /// Slots of a keyspace whose primary is `primary` and should be another member, with that one: it belongs there before the primary, or the primary is
    /// shutting down. While replicas are being rebuilt a primary that stays goes on, for they would have to begin anew.
    pub fn successors(&self, keyspace: &str, primary: NodeId) -> impl Iterator<Item = (Slot, NodeId)> + '_ {
        let map = self.keyspaces.get(keyspace);
        map.into_iter().flat_map(move |map| {
            let slots = map.due.slots(Task::TransferPrimary(primary));
            slots.filter_map(|slot| Some((slot, successor(map.at(slot), self.targets(map, slot), &self.up)?)))
        })
    }

    /// The members that a slot belongs to, the primary first.
    fn targets(&self, map: &SlotMap, slot: Slot) -> &[NodeId] {
        self.placement.targets(usize::from(slot.0), map.factor)
    }

    /// Finds out what is due in slots that have changed.
    fn look_at_changed(&self, map: &mut SlotMap) {
        let mut tasks = Vec::new();
        for slot in map.due.to_look_at() {
            let (assignment, targets) = (map.at(slot), self.targets(map, slot));
            if !is_settled(assignment, targets, &self.up) {
                tasks.extend(tasks_of(assignment, targets, &self.up).map(|task| (task, slot)));
            }
        }
        map.due.found(tasks);
    }

    /// The steps, for one slot.
    fn settle_slot(&self, assignment: &mut Assignment, targets: &[NodeId]) {
        let up = &*self.up;
        let is_down = !up.has(assignment.primary);
        if is_down || assignment.restarted.contains(&assignment.primary) {
            let Assignment { in_sync, restarted, .. } = &*assignment;
            let candidates = || targets.iter().chain(in_sync).copied().filter(|node| in_sync.contains(node));
            let goes_on = || candidates().filter(|node| !restarted.contains(node));
            let next = goes_on().find(|node| up.stays(*node)).or_else(|| goes_on().find(|node| up.has(*node)));
            let next = next.or_else(|| candidates().find(|node| is_down && up.stays(*node)));
            let next = next.or_else(|| candidates().find(|node| is_down && up.has(*node)));
            if let Some(next) = next {
                self.take_over(assignment, next, None);
            }
        }
        assignment.learners.retain(|node| up.stays(node) && targets.contains(&node));
        if assignment.transfer_from.is_some_and(|from| !up.has(from)) {
            assignment.transfer_from = None;
        }
        for target in targets.iter().filter(|target| up.has(assignment.primary) && up.stays(**target)) {
            if !assignment.holds(*target) {
                assignment.learners.insert(*target, self.epoch());
            }
        }
    }
}

/// Whether the steps surely do nothing, at a glance: most slots, most of the time.
fn is_at_rest(assignment: &Assignment, targets: &[NodeId], up: &Up) -> bool {
    up.has(assignment.primary)
        && assignment.transfer_from.is_none()
        && assignment.restarted.is_empty()
        && assignment.learners.iter().all(|node| up.stays(node) && targets.contains(&node))
        && targets.iter().all(|target| assignment.holds(*target) || !up.stays(*target))
}

/// Those in sync for whom the primary still waits: those that are up and go on, and, while not all targets are among them, others that are no targets. One
/// that has restarted itself does not know what it may have alone, and begins by itself.
fn kept_in_sync(assignment: &Assignment, targets: &[NodeId], up: &Up) -> NodeSet {
    let Assignment { primary, in_sync, restarted, .. } = assignment;
    let goes_on = |node: NodeId| in_sync.contains(&node) && up.stays(node) && !restarted.contains(&node);
    let has_restarted = restarted.contains(primary);
    let is_in_place = assignment.transfer_from.is_none() && !targets.is_empty() && targets.iter().all(|node| goes_on(*node));
    let is_kept = |node: NodeId| !has_restarted && goes_on(node) && (!is_in_place || targets.contains(&node));
    in_sync.iter().copied().filter(|node| node == primary || is_kept(*node)).collect()
}

/// Who should be primary instead of the one that is, if it can be.
fn successor(assignment: &Assignment, targets: &[NodeId], up: &Up) -> Option<NodeId> {
    if assignment.transfer_from.is_some() {
        return None;
    }
    let goes_on = |node: &NodeId| assignment.in_sync.contains(node) && !assignment.restarted.contains(node) && up.stays(*node);
    let is_ready = |node: &NodeId| *node != assignment.primary && goes_on(node);
    if !up.stays(assignment.primary) {
        return targets.iter().chain(&assignment.in_sync).copied().find(is_ready);
    }
    targets.first().copied().filter(is_ready).filter(|_| assignment.learners.is_empty())
}

/// What is to be done in a slot that is not settled.
fn tasks_of(assignment: &Assignment, targets: &[NodeId], up: &Up) -> impl Iterator<Item = Task> {
    let primary = assignment.primary;
    let releases = !assignment.restarted.is_empty() || kept_in_sync(assignment, targets, up) != assignment.in_sync;
    let rest = [
        releases.then_some(Task::Release(primary)),
        successor(assignment, targets, up).map(|_| Task::TransferPrimary(primary)),
        assignment.transfer_from.map(|_| Task::EndTransfer),
    ];
    assignment.learners.iter().map(Task::Rebuild).chain(rest.into_iter().flatten())
}

/// Whether nothing is left to do while the members stay as they are.
fn is_settled(assignment: &Assignment, targets: &[NodeId], up: &Up) -> bool {
    targets.first() == Some(&assignment.primary)
        && assignment.transfer_from.is_none()
        && assignment.learners.is_empty()
        && assignment.restarted.is_empty()
        && assignment.in_sync.len() == targets.len()
        && targets.iter().all(|node| assignment.in_sync.contains(node) && up.stays(*node))
}
