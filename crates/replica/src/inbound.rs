//! A secondary's side of a stream: what was received and not applied yet, and what is to be acknowledged.

use crate::wire::{Append, Item, Items, WireError};
use std::collections::VecDeque;

/// Received items that wait, and how far the stream was applied and committed.
#[derive(Debug, Default)]
pub struct Inbound {
    waiting: Vec<u8>,
    /// How many bytes of `waiting` are done.
    done: usize,
    /// The version of the metadata that the sender went by when it last sent something.
    version: u64,
    /// The position of the next item to apply, and of the next one to arrive; none before the first has.
    positions: Option<(u64, u64)>,
    acknowledged: u64,
    /// Positions up to which all is applied, each with what the receiver had written by then, while that is not safe.
    unsafe_yet: VecDeque<(u64, u64)>,
    /// The sequence of the last item that was applied.
    applied: u64,
    committed: u64,
}

/// What became of an item that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It was applied, or is of no consequence.
    Taken,
    /// It must wait, and all after it.
    Later,
}

impl Inbound {
    /// Takes the body of an Append.
    ///
    /// # Errors
    /// Bytes that are none: the connection is to be closed.
    pub fn receive(&mut self, body: &[u8]) -> Result<(), WireError> {
        let append = Append::decode(body)?;
        // Each item is looked at before the first is applied.
        let (mut items, mut count) = (append.items, 0);
        while items.next_item()?.is_some() {
            count += 1;
        }
        if count > 0 {
            let (next, expected) = self.positions.unwrap_or((append.position, append.position));
            if append.position != expected {
                return Err(WireError::Gap { found: append.position, expected });
            }
            self.positions = Some((next, expected + count));
        }
        self.version = self.version.max(append.version);
        // It may be less than before: a primary that reconciles with its replicas holds it back.
        self.committed = append.committed;
        self.waiting.extend_from_slice(append.items.rest());
        Ok(())
    }

    /// The version of the metadata that the sender goes by.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Offers items in order until one must wait.
    pub fn apply(&mut self, mut offer: impl FnMut(&Item<'_>) -> Offered) {
        let mut items = Items::from_rest(&self.waiting[self.done..]);
        while let Ok(Some(item)) = items.next_item() {
            if offer(&item) == Offered::Later {
                return;
            }
            self.applied = self.applied.max(item.sequence);
            if let Some((next, _)) = &mut self.positions {
                *next += 1;
            }
            self.done = self.waiting.len() - items.rest().len();
        }
        self.waiting.clear();
        self.waiting.shrink_to(1 << 20);
        self.done = 0;
    }

    /// Whether items wait.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// How much that is.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.len() - self.done
    }

    /// The position before which everything is applied and safe, if more than was acknowledged last. The receiver has written up to `written` by
    /// now, and what it has written up to `safe` it will not lose.
    pub fn take_acknowledgement(&mut self, written: u64, safe: u64) -> Option<u64> {
        let (next, _) = self.positions?;
        if next > self.acknowledged && self.unsafe_yet.back().is_none_or(|(position, _)| *position < next) {
            self.unsafe_yet.push_back((next, written));
        }
        let before = self.acknowledged;
        while let Some((position, _)) = self.unsafe_yet.front().filter(|(_, written)| *written <= safe) {
            self.acknowledged = *position;
            self.unsafe_yet.pop_front();
        }
        (self.acknowledged > before).then_some(self.acknowledged)
    }

    /// Up to this sequence, what was received is committed.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.committed.min(self.applied)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Purpose, begin_append, push_item};
    use base::{Epoch, Slot, TableId};

    #[test]
    fn items_wait_in_order_and_are_acknowledged_once() {
        let mut body = Vec::new();
        begin_append(&mut body, 4, u64::MAX, 10);
        for sequence in 1..=3 {
            let item =
                Item { sequence, term: Epoch(1), timestamp_us: 0, table: TableId(1), slot: Slot(0), purpose: Purpose::Write, rows: b"r" };
            push_item(&mut body, &item);
        }
        let mut stream = Inbound::default();
        stream.receive(&body).unwrap();
        let mut seen = Vec::new();
        stream.apply(|item| {
            if item.sequence == 2 {
                return Offered::Later;
            }
            seen.push(item.sequence);
            Offered::Taken
        });
        assert_eq!(stream.take_acknowledgement(1, 0), None);
        assert_eq!(stream.take_acknowledgement(1, 1), Some(11));
        assert_eq!(stream.take_acknowledgement(1, 1), None);
        assert_eq!((stream.committed(), stream.has_waiting()), (1, true));
        assert_eq!(stream.waiting_bytes(), 2 * (body.len() - 24) / 3);
        stream.apply(|item| {
            seen.push(item.sequence);
            Offered::Taken
        });
        assert_eq!(seen, [1, 2, 3]);
        assert_eq!(stream.take_acknowledgement(3, 2), None);
        assert_eq!(stream.take_acknowledgement(7, 3), Some(13));
        assert!(!stream.has_waiting());
        assert_eq!(stream.receive(&body), Err(WireError::Gap { found: 10, expected: 13 }));
        assert!(stream.receive(&body[..20]).is_err());
    }
}
