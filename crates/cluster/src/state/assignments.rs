//! Commands about slots: replicas come in sync and leave, primaries change.

use crate::command::{Outcome, Refused, SlotEpochs};
use crate::state::State;
use crate::state::due::Task;
use crate::state::slots::{Assignment, SlotMap, put};
use base::{Epoch, NodeId, Slot};

impl State {
    pub(crate) fn release(&mut self, node: NodeId, incarnation: u64) -> Outcome {
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(member) if member.profile.incarnation != incarnation || !member.is_up() => Outcome::Refused(Refused::OtherProcess { node }),
            Ok(_) => {
                self.release_replicas(node);
                Outcome::Done
            }
        }
    }

    pub(crate) fn end_transfers_up_to(&mut self, up_to: Epoch) -> Outcome {
        let waiting = |map: &SlotMap| map.due.slots(Task::EndTransfer).collect();
        self.change_slots(waiting, |_, assignment| assignment.transfer_from = assignment.transfer_from.filter(|_| assignment.term > up_to));
        Outcome::Done
    }

    pub(crate) fn in_sync(&mut self, node: NodeId, slots: &[SlotEpochs]) -> Outcome {
        let stays = self.stays(node);
        self.change_slots_of(slots, |state, assignment| {
            let fits = stays && state.is_up(assignment.primary) && assignment.learners.remove(node);
            if fits {
                assignment.in_sync.insert(node);
            }
            fits
        })
    }

    pub(crate) fn drop_replica(&mut self, node: NodeId, slots: &[SlotEpochs]) -> Outcome {
        // A learner comes in anew, if it is to: what it was sent and has not acknowledged is nobody's to wait for any more. A primary that has died since it
        // spoke may have taken everything with it.
        self.change_slots_of(slots, |state, assignment| {
            let is_there = state.is_up(assignment.primary) && assignment.primary != node;
            is_there && (assignment.leave(node) || assignment.learners.remove(node))
        })
    }

    pub(crate) fn transfer_primary(&mut self, to: NodeId, slots: &[SlotEpochs]) -> Outcome {
        let stays = self.stays(to);
        self.change_slots_of(slots, |state, assignment| {
            let former = assignment.primary;
            let is_calm = assignment.transfer_from.is_none() && state.is_up(former);
            let is_ready = assignment.in_sync.contains(&to) && !assignment.restarted.contains(&to);
            let fits = stays && is_calm && former != to && is_ready;
            if fits {
                state.take_over(assignment, to, Some(former));
            }
            fits
        })
    }

    /// Takes `node` out of the replicas in sync, where there is another; if it was primary, another one is from now on.
    pub(crate) fn take_out(&self, assignment: &mut Assignment, node: NodeId) {
        assignment.leave(node);
        if assignment.primary == node {
            let next = assignment.in_sync.iter().copied().find(|node| self.is_up(*node)).unwrap_or(assignment.in_sync[0]);
            self.take_over(assignment, next, None);
        }
    }

    /// `next` is primary from now on. Whoever was still stepping down before goes on doing so.
    pub(crate) fn take_over(&self, assignment: &mut Assignment, next: NodeId, from: Option<NodeId>) {
        assignment.transfer_from = from.or(assignment.transfer_from).filter(|from| *from != next && self.is_up(*from));
        assignment.primary = next;
        assignment.term = self.epoch();
    }

    /// Lets `change` change the assignments of these slots of each keyspace; those that did get a new epoch.
    pub(crate) fn change_slots(&mut self, slots: impl Fn(&SlotMap) -> Vec<Slot>, mut change: impl FnMut(&Self, &mut Assignment)) {
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for map in keyspaces.values_mut() {
            let mut changes = Vec::new();
            for slot in slots(map) {
                let assignment = map.at(slot);
                let mut next = assignment.clone();
                change(self, &mut next);
                if next != *assignment {
                    changes.push((slot, next));
                }
            }
            put(map, changes, self.epoch());
        }
        self.keyspaces = keyspaces;
    }

    /// Lets `change` change the assignments at `slots` whose epochs are as expected.
    fn change_slots_of(&mut self, slots: &[SlotEpochs], mut change: impl FnMut(&Self, &mut Assignment) -> bool) -> Outcome {
        let (mut changed, mut passed_over) = (0, 0);
        let epoch = self.epoch();
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for SlotEpochs { keyspace, slots } in slots {
            let Some(map) = keyspaces.get_mut(keyspace) else {
                passed_over += slots.len() as u32;
                continue;
            };
            let mut changes = Vec::new();
            for (slot, expected) in slots {
                let assignment = map.at(*slot);
                let mut next = assignment.clone();
                if assignment.epoch == *expected && change(self, &mut next) {
                    changes.push((*slot, next));
                } else {
                    passed_over += 1;
                }
            }
            changed += changes.len() as u32;
            put(map, changes, epoch);
        }
        self.keyspaces = keyspaces;
        Outcome::Slots { changed, passed_over }
    }
}

pub(crate) fn slots_where(holds: impl Fn(&Assignment) -> bool) -> impl Fn(&SlotMap) -> Vec<Slot> {
    move |map| map.with_slots().filter(|(_, assignment)| holds(assignment)).map(|(slot, _)| slot).collect()
}
