//! Brings the assignments of slots nearer to where they belong; runs after each command.
//!
//! For each slot, with its *targets* (`placement`), in this order:
//!
//! 1. A primary that is down, or has restarted, is replaced by a replica in sync that is up and has not, the first in the order of targets; one that is
//!    down at last by one that has restarted. If none is up, the slot stays as it is: unavailable, for what was acknowledged may be on those that are
//!    down only.
//! 2. Learners that are down, ending or no targets leave.
//! 3. Targets that stay and are not in sync become learners: slots that lack replicas first, a bounded number for each member.
//!
//! Nothing here takes a replica out of those in sync: one that is left may be dead, though nobody knows it yet. Only a primary does that, for it
//! stays among them and lives, as it says so ([`State::has_to_release`]). That another member should be primary ([`State::successors`]) is for the
//! primary to propose, too: it finishes what is under way before.
//!
//! A member that is down keeps its place among the targets: nothing moves while it restarts.

use super::slots::Assignment;
use super::{Member, NodeSet, SlotMap, State, put};
use base::{NodeId, Slot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many slots, over all keyspaces, a member is filled with at a time.
pub const LEARNER_SLOTS_MAX: usize = 512;

/// The members that are up, and those of them that stay, looked up by id.
struct Up(Vec<(bool, bool)>);

impl Up {
    fn of(state: &State) -> Self {
        let len = state.members.keys().next_back().map_or(0, |last| last.0 as usize + 1);
        let mut up = vec![(false, false); len];
        for member in state.members.values() {
            up[member.id.0 as usize] = (member.is_up(), member.stays());
        }
        Self(up)
    }

    fn has(&self, node: NodeId) -> bool {
        self.0.get(node.0 as usize).is_some_and(|(is_up, _)| *is_up)
    }

    fn stays(&self, node: NodeId) -> bool {
        self.0.get(node.0 as usize).is_some_and(|(_, stays)| *stays)
    }
}

impl State {
    pub(super) fn settle(&mut self) {
        self.refresh_placement();
        let (up, mut room) = (Up::of(self), Room::of(&self.members));
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        let mut wanting: Vec<Wanting> = Vec::new();
        // One look at each slot: there are thousands, and this runs on every member after each command.
        for map in keyspaces.values_mut().filter(|map| !map.settled) {
            let (mut changes, mut of_map, mut settled) = (Vec::new(), Wanting::default(), true);
            for (slot, assignment) in map.slots.iter().enumerate() {
                let targets = self.placement.targets(slot, map.factor);
                let mut next = None;
                if !is_at_rest(assignment, targets, &up) {
                    let mut changed = assignment.clone();
                    self.settle_slot(&mut changed, targets, &up);
                    next = Some(changed).filter(|changed| changed != assignment);
                }
                let now = next.as_ref().unwrap_or(assignment);
                if !is_settled(now, targets, &up) {
                    settled = false;
                    room.is_used_by(now);
                    of_map.look_at(slot, now, targets, &up);
                }
                changes.extend(next.map(|next| (slot, next)));
            }
            put(map, changes, self.epoch());
            if settled {
                Arc::make_mut(map).settled = true;
            } else {
                wanting.push(of_map);
            }
        }
        for group in 0..2 {
            for (map, wanting) in keyspaces.values_mut().filter(|map| !map.settled).zip(&wanting) {
                self.admit_learners(map, &wanting.0[group], &up, &mut room);
            }
        }
        self.keyspaces = keyspaces;
    }

    /// Whether settling once more would change nothing.
    #[cfg(test)]
    pub(super) fn has_come_to_rest(&self) -> bool {
        let up = Up::of(self);
        self.keyspaces.values().all(|map| {
            map.slots.iter().enumerate().all(|(slot, assignment)| {
                let mut next = assignment.clone();
                self.settle_slot(&mut next, self.placement.targets(slot, map.factor), &up);
                next == *assignment
            })
        })
    }

    /// Follows the members.
    pub(super) fn refresh_placement(&mut self) {
        if let Some(placement) = self.placement.refreshed(&self.members) {
            self.placement = Arc::new(placement);
            self.unsettle();
        }
    }

    /// Whether nothing is to be moved, filled or handed over: each slot is where it belongs.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let up = Up::of(self);
        self.keyspaces.values().all(|map| map.settled || self.map_is_settled(map, &up))
    }

    fn map_is_settled(&self, map: &SlotMap, up: &Up) -> bool {
        map.slots.iter().enumerate().all(|(slot, assignment)| is_settled(assignment, self.placement.targets(slot, map.factor), up))
    }

    /// Whether `primary` waits for replicas in sync that it need not wait for: [`crate::Command::Release`] takes them out.
    #[must_use]
    pub fn has_to_release(&self, primary: NodeId) -> bool {
        let up = Up::of(self);
        self.keyspaces.values().filter(|map| !map.settled).any(|map| {
            let mut slots = map.slots.iter().enumerate().filter(|(_, assignment)| assignment.primary == primary);
            slots.any(|(slot, assignment)| {
                !assignment.restarted.is_empty()
                    || kept_in_sync(assignment, self.placement.targets(slot, map.factor), &up) != assignment.in_sync
            })
        })
    }

    /// `primary` goes on without those.
    pub(super) fn release_replicas(&mut self, primary: NodeId) {
        let up = Up::of(self);
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for map in keyspaces.values_mut().filter(|map| !map.settled) {
            let mut changes = Vec::new();
            for (slot, assignment) in map.slots.iter().enumerate().filter(|(_, assignment)| assignment.primary == primary) {
                let in_sync = kept_in_sync(assignment, self.placement.targets(slot, map.factor), &up);
                if in_sync != assignment.in_sync || !assignment.restarted.is_empty() {
                    changes.push((slot, Assignment { in_sync, restarted: NodeSet::new(), ..assignment.clone() }));
                }
            }
            put(map, changes, self.epoch());
        }
        self.keyspaces = keyspaces;
    }

    /// Slots of a keyspace whose primary is `primary` and should be another member, with that one: it belongs there before the primary, or the primary is
    /// ending. While replicas are being filled a primary that stays goes on, for they would have to begin anew.
    pub fn successors(&self, keyspace: &str, primary: NodeId) -> impl Iterator<Item = (Slot, NodeId)> + '_ {
        let map = self.keyspaces.get(keyspace).filter(|map| !map.settled);
        map.into_iter().flat_map(move |map| {
            let slots = map.slots.iter().enumerate().filter(move |(_, assignment)| assignment.primary == primary);
            slots.filter_map(|(slot, assignment)| {
                let targets = self.placement.targets(slot, map.factor);
                Some((Slot(slot as u16), self.successor(assignment, targets)?))
            })
        })
    }

    fn successor(&self, assignment: &Assignment, targets: &[NodeId]) -> Option<NodeId> {
        if assignment.handover_from.is_some() {
            return None;
        }
        let goes_on = |node: &NodeId| assignment.in_sync.contains(node) && !assignment.restarted.contains(node) && self.stays(*node);
        let is_ready = |node: &NodeId| *node != assignment.primary && goes_on(node);
        if !self.stays(assignment.primary) {
            return targets.iter().chain(&assignment.in_sync).copied().find(is_ready);
        }
        targets.first().copied().filter(is_ready).filter(|_| assignment.learners.is_empty())
    }

    /// Steps 1 and 2.
    fn settle_slot(&self, assignment: &mut Assignment, targets: &[NodeId], up: &Up) {
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
        if assignment.handover_from.is_some_and(|from| !up.has(from)) {
            assignment.handover_from = None;
        }
    }

    /// Step 3, for slots that want it.
    fn admit_learners(&self, map: &mut Arc<SlotMap>, slots: &[usize], up: &Up, room: &mut Room) {
        let mut changes = Vec::new();
        for slot in slots {
            let assignment = &map.slots[*slot];
            let mut next = None;
            for target in lacked(assignment, self.placement.targets(*slot, map.factor), up) {
                if room.take(target) {
                    next.get_or_insert_with(|| assignment.clone()).learners.insert(target, self.epoch());
                }
            }
            changes.extend(next.map(|next| (*slot, next)));
        }
        put(map, changes, self.epoch());
    }
}

/// Slots of a keyspace that want learners: first those that lack replicas, then the others.
#[derive(Default)]
struct Wanting([Vec<usize>; 2]);

impl Wanting {
    fn look_at(&mut self, slot: usize, assignment: &Assignment, targets: &[NodeId], up: &Up) {
        if up.has(assignment.primary) && lacked(assignment, targets, up).next().is_some() {
            self.0[usize::from(assignment.in_sync.len() >= targets.len())].push(slot);
        }
    }
}

/// Targets that stay and do not get the slot's writes.
fn lacked(assignment: &Assignment, targets: &[NodeId], up: &Up) -> impl Iterator<Item = NodeId> {
    targets.iter().copied().filter(|target| up.stays(*target) && !assignment.holds(*target))
}

/// How many more slots each member may be filled with, looked up by id.
struct Room(Vec<usize>);

impl Room {
    fn of(members: &BTreeMap<NodeId, Member>) -> Self {
        Self(vec![LEARNER_SLOTS_MAX; members.keys().next_back().map_or(0, |last| last.0 as usize + 1)])
    }

    /// The slot's learners have theirs already.
    fn is_used_by(&mut self, assignment: &Assignment) {
        for node in assignment.learners.iter() {
            self.take(node);
        }
    }

    /// Takes room for one slot, if there is any.
    fn take(&mut self, node: NodeId) -> bool {
        let Some(left) = self.0.get_mut(node.0 as usize).filter(|left| **left > 0) else { return false };
        *left -= 1;
        true
    }
}

/// Whether steps 1 and 2 surely do nothing, at a glance: most slots, most of the time.
fn is_at_rest(assignment: &Assignment, targets: &[NodeId], up: &Up) -> bool {
    up.has(assignment.primary)
        && assignment.handover_from.is_none()
        && assignment.restarted.is_empty()
        && assignment.learners.iter().all(|node| up.stays(node) && targets.contains(&node))
}

/// Those in sync for whom the primary still waits: those that are up and go on, and, while not all targets are among them, others that are no targets. One
/// that has restarted itself does not know what it may have alone, and begins by itself.
fn kept_in_sync(assignment: &Assignment, targets: &[NodeId], up: &Up) -> NodeSet {
    let Assignment { primary, in_sync, restarted, .. } = assignment;
    let goes_on = |node: NodeId| in_sync.contains(&node) && up.stays(node) && !restarted.contains(&node);
    let has_restarted = restarted.contains(primary);
    let is_in_place = assignment.handover_from.is_none() && !targets.is_empty() && targets.iter().all(|node| goes_on(*node));
    let is_kept = |node: NodeId| !has_restarted && goes_on(node) && (!is_in_place || targets.contains(&node));
    in_sync.iter().copied().filter(|node| node == primary || is_kept(*node)).collect()
}

/// Whether nothing is left to do while the members stay as they are.
fn is_settled(assignment: &Assignment, targets: &[NodeId], up: &Up) -> bool {
    targets.first() == Some(&assignment.primary)
        && assignment.handover_from.is_none()
        && assignment.learners.is_empty()
        && assignment.restarted.is_empty()
        && assignment.in_sync.len() == targets.len()
        && targets.iter().all(|node| assignment.in_sync.contains(node) && up.stays(*node))
}
