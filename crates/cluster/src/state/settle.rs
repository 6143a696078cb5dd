//! Brings the assignments of slots nearer to where they belong; runs after each command.
//!
//! For each slot, with its *targets* (`placement`), in this order:
//!
//! 1. A primary that is down is replaced by a replica in sync that is up, the first in the order of targets. If none is up, the slot stays as it is:
//!    unavailable, for what was acknowledged may be on those that are down only.
//! 2. Members that are down leave the replicas in sync, as one that is up is among them now.
//! 3. Learners that are down or no targets leave.
//! 4. The first target takes over as primary when it is in sync and up, once the handover before is over.
//! 5. Members that are no targets leave the replicas in sync when all targets are in sync and no handover is under way.
//! 6. Targets that are up and not in sync become learners: slots that lack replicas first, a bounded number for each member.
//!
//! A member that is down keeps its place among the targets: nothing moves while it restarts.

use super::slots::Assignment;
use super::{SlotMap, State, put};
use base::NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many slots, over all keyspaces, a member is filled with at a time.
pub const LEARNER_SLOTS_MAX: usize = 512;

/// The members that are up, looked up by id.
struct Up(Vec<bool>);

impl Up {
    fn of(state: &State) -> Self {
        let len = state.members.keys().next_back().map_or(0, |last| last.0 as usize + 1);
        let mut up = vec![false; len];
        for member in state.members.values().filter(|member| member.is_up()) {
            up[member.id.0 as usize] = true;
        }
        Self(up)
    }

    fn has(&self, node: NodeId) -> bool {
        self.0.get(node.0 as usize).copied().unwrap_or(false)
    }
}

impl State {
    pub(super) fn settle(&mut self) {
        self.refresh_placement();
        let up = Up::of(self);
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for map in keyspaces.values_mut().filter(|map| !map.settled) {
            let mut changes = Vec::new();
            for (slot, assignment) in map.slots.iter().enumerate() {
                let targets = self.placement.targets(slot, map.factor);
                if is_at_rest(assignment, targets, &up) {
                    continue;
                }
                let mut next = assignment.clone();
                self.settle_slot(&mut next, targets, &up);
                if next != *assignment {
                    changes.push((slot, next));
                }
            }
            put(map, changes, self.epoch());
        }
        self.keyspaces = keyspaces;
        self.admit_learners(&up);
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for map in keyspaces.values_mut().filter(|map| !map.settled) {
            if self.map_is_settled(map) {
                Arc::make_mut(map).settled = true;
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
        self.keyspaces.values().all(|map| map.settled || self.map_is_settled(map))
    }

    fn map_is_settled(&self, map: &SlotMap) -> bool {
        map.slots.iter().enumerate().all(|(slot, assignment)| is_settled(assignment, self.placement.targets(slot, map.factor)))
    }

    /// Steps 1 to 5.
    fn settle_slot(&self, assignment: &mut Assignment, targets: &[NodeId], up: &Up) {
        if !up.has(assignment.primary) {
            let in_sync = &assignment.in_sync;
            let next = targets.iter().chain(in_sync).copied().find(|node| up.has(*node) && in_sync.contains(node));
            if let Some(next) = next {
                self.take_over(assignment, next, None);
            }
        }
        if up.has(assignment.primary) {
            assignment.in_sync.retain(|node| up.has(node));
        }
        assignment.learners.retain(|node| up.has(node) && targets.contains(&node));
        if assignment.handover_from.is_some_and(|from| !up.has(from)) {
            assignment.handover_from = None;
        }
        if let Some(first) = targets.first().copied()
            && first != assignment.primary
            && up.has(first)
            && assignment.in_sync.contains(&first)
            && assignment.handover_from.is_none()
        {
            self.take_over(assignment, first, Some(assignment.primary));
        }
        let complete = targets.iter().all(|node| assignment.in_sync.contains(node));
        if complete && !targets.is_empty() && assignment.handover_from.is_none() {
            let primary = assignment.primary;
            assignment.in_sync.retain(|node| node == primary || targets.contains(&node));
        }
    }

    /// Step 6.
    fn admit_learners(&mut self, up: &Up) {
        let mut room: BTreeMap<NodeId, usize> = BTreeMap::new();
        for node in self.keyspaces.values().filter(|map| !map.settled).flat_map(|map| &map.slots).flat_map(|slot| slot.learners.iter()) {
            let left = room.entry(node).or_insert(LEARNER_SLOTS_MAX);
            *left = left.saturating_sub(1);
        }
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for lacking in [true, false] {
            for map in keyspaces.values_mut().filter(|map| !map.settled) {
                let mut changes = Vec::new();
                for (slot, assignment) in map.slots.iter().enumerate() {
                    let targets = self.placement.targets(slot, map.factor);
                    if (assignment.in_sync.len() < targets.len()) != lacking || !up.has(assignment.primary) {
                        continue;
                    }
                    let mut next = None;
                    for target in targets.iter().filter(|target| up.has(**target) && !assignment.holds(**target)) {
                        let left = room.entry(*target).or_insert(LEARNER_SLOTS_MAX);
                        if *left > 0 {
                            *left -= 1;
                            next.get_or_insert_with(|| assignment.clone()).learners.insert(*target, self.epoch());
                        }
                    }
                    changes.extend(next.map(|next| (slot, next)));
                }
                put(map, changes, self.epoch());
            }
        }
        self.keyspaces = keyspaces;
    }
}

/// Whether steps 1 to 5 surely do nothing, at a glance: most slots, most of the time.
fn is_at_rest(assignment: &Assignment, targets: &[NodeId], up: &Up) -> bool {
    let first_is_ready = |first: &NodeId| *first != assignment.primary && up.has(*first) && assignment.in_sync.contains(first);
    up.has(assignment.primary)
        && assignment.handover_from.is_none()
        && assignment.in_sync.len() <= targets.len()
        && assignment.in_sync.iter().all(|node| up.has(*node))
        && assignment.learners.iter().all(|node| up.has(node) && targets.contains(&node))
        && !targets.first().is_some_and(first_is_ready)
}

/// Whether nothing is left to do while the members stay as they are.
fn is_settled(assignment: &Assignment, targets: &[NodeId]) -> bool {
    targets.first() == Some(&assignment.primary)
        && assignment.handover_from.is_none()
        && assignment.learners.is_empty()
        && assignment.in_sync.len() == targets.len()
        && targets.iter().all(|node| assignment.in_sync.contains(node))
}
