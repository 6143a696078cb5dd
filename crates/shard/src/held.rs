//! Held replies: they wait until the device, or the other replicas, have the writes that the operation made or saw.
//!
//! A reply waits in one queue at a time: the device's, or that of a replica set. Released there, it moves to the next that it needs. So a member
//! that does not answer delays the replies of its own sets only.
//!
//! Invariant: a queue is first in, first out.

use crate::replication::{KeyspaceNumber, Replication, SetId, Slots, Touched};
use crate::{ShardError, Ticket};
use base::Slot;
use engine::Sequence;
use std::collections::{BTreeSet, VecDeque};

/// Replies of operations that have run: those that are held, and those that may be sent.
#[derive(Default)]
pub(crate) struct Replies {
    pub(crate) held: HeldReplies,
    pub(crate) finished: Finished,
}

/// Replies that may be sent, with their tickets.
pub(crate) type Finished = VecDeque<(Ticket, Result<Vec<u8>, ShardError>)>;

struct Reply {
    ticket: Ticket,
    bytes: Vec<u8>,
    /// The sets that it has not waited for yet.
    rest: Vec<Touched>,
    /// The slots that the operation touched; none if nothing is replicated.
    slots: Option<Slots>,
    more_slots: Vec<Slots>,
    wrote: bool,
}

/// All held replies.
#[derive(Default)]
pub(crate) struct HeldReplies {
    device: VecDeque<(Sequence, Reply)>,
    /// By set.
    sets: Vec<VecDeque<(Sequence, Reply)>>,
}

impl Reply {
    /// What the client gets when the slot is not served any more.
    fn lost(&self) -> ShardError {
        if self.wrote { ShardError::OutcomeUnknown } else { ShardError::NotPrimary }
    }

    fn is_served(&self, replication: &Replication) -> bool {
        self.slots.iter().chain(&self.more_slots).all(|slots| replication.serves_all(slots))
    }
}

impl HeldReplies {
    /// Holds a reply until the device has its sequence, if there is one, and each set has its own.
    pub(crate) fn hold(&mut self, ticket: Ticket, bytes: Vec<u8>, device: Option<Sequence>, mut touched: impl Iterator<Item = Touched>) {
        let first = touched.next();
        // Most replies touch one set, and nothing is allocated.
        let rest: Vec<Touched> = touched.collect();
        let wrote = first.iter().chain(&rest).any(|touched| touched.wrote);
        let more_slots = rest.iter().map(|touched| touched.slots).collect();
        let mut reply = Reply { ticket, bytes, rest, slots: first.map(|first| first.slots), more_slots, wrote };
        match (device, first) {
            (Some(sequence), first) => {
                reply.rest.extend(first);
                self.device.push_back((sequence, reply));
            }
            (None, Some(first)) => self.queue(first, reply),
            (None, None) => self.device.push_back((Sequence(0), reply)),
        }
    }

    fn queue(&mut self, wait: Touched, reply: Reply) {
        let number = usize::from(wait.set.0);
        if self.sets.len() <= number {
            self.sets.resize_with(number + 1, VecDeque::new);
        }
        self.sets[number].push_back((wait.sequence, reply));
    }

    /// Moves a reply to the next queue that it needs, or to those that may be sent.
    fn advance(&mut self, mut reply: Reply, replication: Option<&Replication>, finished: &mut Finished) {
        while let Some(next) = reply.rest.pop() {
            if replication.is_some_and(|replication| replication.committed(next.set) < next.sequence) {
                return self.queue(next, reply);
            }
        }
        finished.push_back((reply.ticket, Ok(reply.bytes)));
    }

    /// The device has all writes up to this sequence.
    pub(crate) fn durable(&mut self, durable: Sequence, replication: Option<&Replication>, finished: &mut Finished) {
        while self.device.front().is_some_and(|(sequence, _)| *sequence <= durable) {
            let Some((_, reply)) = self.device.pop_front() else { return };
            self.advance(reply, replication, finished);
        }
    }

    /// More writes of a set are committed.
    pub(crate) fn committed(&mut self, set: SetId, replication: &Replication, finished: &mut Finished) {
        let committed = replication.committed(set);
        while let Some(queue) = self.sets.get_mut(usize::from(set.0))
            && queue.front().is_some_and(|(sequence, _)| *sequence <= committed)
            && let Some((_, reply)) = queue.pop_front()
        {
            self.advance(reply, Some(replication), finished);
        }
    }

    /// Fails replies about slots that are not served here any more.
    pub(crate) fn fail_unserved(&mut self, replication: &Replication, finished: &mut Finished) {
        for queue in self.sets.iter_mut().chain([&mut self.device]) {
            if queue.iter().all(|(_, reply)| reply.is_served(replication)) {
                continue;
            }
            for (sequence, reply) in std::mem::take(queue) {
                if reply.is_served(replication) {
                    queue.push_back((sequence, reply));
                } else {
                    finished.push_back((reply.ticket, Err(reply.lost())));
                }
            }
        }
    }

    /// The slots of writes whose replies are held.
    pub(crate) fn written_slots(&self) -> BTreeSet<(KeyspaceNumber, Slot)> {
        let replies = self.sets.iter().chain([&self.device]).flatten().filter(|(_, reply)| reply.wrote);
        let ranges = replies.flat_map(|(_, reply)| reply.slots.iter().chain(&reply.more_slots));
        ranges.flat_map(|slots| (slots.first.0..=slots.last.0).map(|slot| (slots.keyspace, Slot(slot)))).collect()
    }

    /// Fails replies that wait for the device, which takes nothing more.
    pub(crate) fn fail_unsynced(&mut self, finished: &mut Finished) {
        finished.extend(self.device.drain(..).map(|(_, reply)| (reply.ticket, Err(ShardError::Poisoned))));
    }
}
