//! Messages between cores: one bounded ring for each ordered pair, so that each ring has one writer and one reader.
//!
//! A full ring never blocks and never drops: what does not fit waits in order on the writer's side and goes out as space appears.
//! A reader drains its rings in each turn, so what waits is bounded by what its writers have in flight.

use crate::control::Control;
use base::CoreId;
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::collections::VecDeque;

/// All rings of a node hold about this many messages per reader.
const MESSAGES_PER_READER: usize = 16 * 1024;

struct Outbound<T> {
    ring: Producer<T>,
    waiting: VecDeque<T>,
    /// Something was written since the reader was last woken.
    unannounced: bool,
}

/// One core's ends of its rings, and its messages to itself.
pub(crate) struct Mailbox<T> {
    core: CoreId,
    outbound: Vec<Option<Outbound<T>>>,
    inbound: Vec<Option<Consumer<T>>>,
    to_self: VecDeque<T>,
    /// How many messages wait for space in a ring.
    waiting: usize,
    /// Whether any outbound ring is `unannounced`.
    any_unannounced: bool,
}

/// Makes the mailboxes of a node.
pub(crate) fn mailboxes<T>(cores: u16) -> Vec<Mailbox<T>> {
    let capacity = (MESSAGES_PER_READER / usize::from(cores.max(1))).clamp(64, 1024);
    let mut boxes: Vec<Mailbox<T>> = (0..cores).map(|core| Mailbox::empty(CoreId(core), cores)).collect();
    for from in 0..usize::from(cores) {
        for to in (0..usize::from(cores)).filter(|to| *to != from) {
            let (producer, consumer) = RingBuffer::new(capacity);
            boxes[from].outbound[to] = Some(Outbound { ring: producer, waiting: VecDeque::new(), unannounced: false });
            boxes[to].inbound[from] = Some(consumer);
        }
    }
    boxes
}

impl<T> Mailbox<T> {
    fn empty(core: CoreId, cores: u16) -> Self {
        Self {
            core,
            outbound: (0..cores).map(|_| None).collect(),
            inbound: (0..cores).map(|_| None).collect(),
            to_self: VecDeque::new(),
            waiting: 0,
            any_unannounced: false,
        }
    }

    /// Sends to a core, or to this one.
    pub(crate) fn send(&mut self, to: CoreId, message: T) {
        let Some(outbound) = &mut self.outbound[usize::from(to.0)] else {
            self.to_self.push_back(message);
            return;
        };
        if outbound.waiting.is_empty() {
            match outbound.ring.push(message) {
                Ok(()) => {}
                Err(PushError::Full(message)) => {
                    outbound.waiting.push_back(message);
                    self.waiting += 1;
                }
            }
        } else {
            outbound.waiting.push_back(message);
            self.waiting += 1;
        }
        outbound.unannounced = true;
        self.any_unannounced = true;
    }

    /// The next message from another core.
    pub(crate) fn receive(&mut self, from: usize) -> Option<T> {
        self.inbound[from].as_mut()?.pop().ok()
    }

    /// How many messages of another core are there now: what one turn takes, so that a fast writer cannot hold it up.
    pub(crate) fn inbound_len(&self, from: usize) -> usize {
        self.inbound[from].as_ref().map_or(0, Consumer::slots)
    }

    /// The next message of this core to itself.
    pub(crate) fn receive_own(&mut self) -> Option<T> {
        self.to_self.pop_front()
    }

    /// How many messages this core sent to itself.
    pub(crate) fn own_len(&self) -> usize {
        self.to_self.len()
    }

    /// Whether there is anything to receive now.
    pub(crate) fn has_mail(&self) -> bool {
        !self.to_self.is_empty() || self.inbound.iter().flatten().any(|ring| !ring.is_empty())
    }

    /// Whether messages wait for space in a ring: the core must come back soon.
    pub(crate) fn is_backed_up(&self) -> bool {
        self.waiting > 0
    }

    /// This core.
    pub(crate) fn core(&self) -> CoreId {
        self.core
    }

    /// How many cores there are.
    pub(crate) fn cores(&self) -> u16 {
        self.inbound.len() as u16
    }

    /// Moves waiting messages into rings that have space again, and wakes the readers of what was written since the last call.
    pub(crate) fn announce(&mut self, control: &Control) {
        if self.waiting > 0 {
            self.refill();
        }
        if !self.any_unannounced {
            return;
        }
        self.any_unannounced = false;
        for (to, outbound) in self.outbound.iter_mut().enumerate() {
            if let Some(outbound) = outbound
                && std::mem::take(&mut outbound.unannounced)
            {
                control.cores[to].wake_if_sleeping();
            }
        }
    }

    fn refill(&mut self) {
        for outbound in self.outbound.iter_mut().flatten() {
            while let Some(message) = outbound.waiting.pop_front() {
                if let Err(PushError::Full(message)) = outbound.ring.push(message) {
                    outbound.waiting.push_front(message);
                    break;
                }
                self.waiting -= 1;
                outbound.unannounced = true;
                self.any_unannounced = true;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_keeps_order_and_loses_nothing() {
        let control = Control::new(2, Vec::new()).unwrap();
        let mut boxes = mailboxes::<u32>(2);
        for number in 0..5000 {
            boxes[0].send(CoreId(1), number);
        }
        assert!(boxes[0].is_backed_up());
        let mut next = 0;
        while boxes[1].has_mail() || boxes[0].is_backed_up() {
            boxes[0].announce(&control);
            for _ in 0..100 {
                let Some(number) = boxes[1].receive(0) else { break };
                assert_eq!(number, next);
                next += 1;
            }
        }
        assert_eq!(next, 5000);
    }

    #[test]
    fn a_message_to_oneself_arrives() {
        let mut boxes = mailboxes::<u32>(1);
        boxes[0].send(CoreId(0), 7);
        assert!(boxes[0].has_mail());
        assert_eq!((boxes[0].own_len(), boxes[0].receive_own()), (1, Some(7)));
    }
}
