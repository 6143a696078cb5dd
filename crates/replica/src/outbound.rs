//! A primary's side of a stream: what was sent and not acknowledged.
//!
//! Invariant: items are kept until they are acknowledged, in order, so that a broken connection costs nothing but sending them again.

use crate::wire::{ITEM_HEAD_BYTES, Item, Purpose, begin_append, push_item};
use base::{Epoch, Slot, TableId};
use std::collections::VecDeque;

/// Kept memory of a queue that has become empty.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// An item that waits for its acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// How many items came before it.
    number: u64,
    table: TableId,
    slot: Slot,
    term: Epoch,
    purpose: Purpose,
    /// 0 for one that was sent and then forgotten: it still has its position.
    bytes: usize,
}

/// A stream to one core of one other node.
#[derive(Debug, Default)]
pub struct Outbound {
    pending: VecDeque<Pending>,
    /// The encoded items of `pending`, back to back, and before them `dead` bytes of items that are acknowledged.
    bytes: Vec<u8>,
    dead: usize,
    /// How many bytes from the start of `bytes` were sent on the connection there is, and how many of `pending` that is.
    sent: usize,
    sent_items: usize,
    /// The position of the first of `pending`.
    position: u64,
    last: u64,
    /// How many items there have been.
    count: u64,
    /// Number and sequence of the writes among those that have not arrived. Images are not waited for by clients.
    writes: VecDeque<(u64, u64)>,
    images: Images,
    /// Writes that were pushed since the stream began.
    writes_pushed: u64,
}

/// Bytes of images since the stream began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// Those that were pushed.
    pub pushed: u64,
    /// Those of them that nobody waits for any more: acknowledged, or forgotten.
    pub done: u64,
}

impl Images {
    /// Those that are under way.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.pushed - self.done
    }

    fn end(&mut self, pending: &Pending) {
        if pending.purpose == Purpose::Image {
            self.done += pending.bytes as u64;
        }
    }
}

impl Outbound {
    /// Takes an item; its sequence is not smaller than any before it.
    pub fn push(&mut self, item: &Item<'_>) {
        assert!(item.sequence >= self.last, "a stream is in order");
        self.last = item.sequence;
        let start = self.bytes.len();
        push_item(&mut self.bytes, item);
        let bytes = self.bytes.len() - start;
        let Item { sequence, table, slot, term, purpose, .. } = *item;
        self.pending.push_back(Pending { number: self.count, table, slot, term, purpose, bytes });
        match purpose {
            Purpose::Write => {
                self.writes.push_back((self.count, sequence));
                self.writes_pushed += 1;
            }
            Purpose::Image => self.images.pushed += bytes as u64,
        }
        self.count += 1;
    }

    /// Appends to a frame's body what was not sent yet, at most about `bytes_max` and at least one item; false if there was nothing.
    /// `committed` is for the receiver: up to there all that was sent to it is on all replicas that must have it.
    pub fn take_unsent(&mut self, version: u64, committed: u64, bytes_max: usize, body: &mut Vec<u8>) -> bool {
        if !self.has_unsent() {
            return false;
        }
        begin_append(body, version, committed, self.position + self.sent_items as u64);
        let (mut taken, mut items) = (0, 0);
        for pending in self.pending.range(self.sent_items..) {
            if items > 0 && taken + pending.bytes > bytes_max {
                break;
            }
            taken += pending.bytes;
            items += 1;
        }
        body.extend_from_slice(&self.bytes[self.sent..self.sent + taken]);
        self.sent += taken;
        self.sent_items += items;
        true
    }

    /// Whether something was not sent yet.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.sent < self.bytes.len()
    }

    /// All before `position` has been taken over there; whether that is news. It is, too, if of the items meanwhile nothing is left to wait for.
    pub fn acknowledged(&mut self, position: u64) -> bool {
        let before = self.position;
        while self.position < position
            && self.sent_items > 0
            && let Some(first) = self.pending.pop_front()
        {
            self.images.end(&first);
            self.dead += first.bytes;
            self.position += 1;
            self.sent_items -= 1;
            if self.writes.front().is_some_and(|(number, _)| *number == first.number) {
                self.writes.pop_front();
            }
        }
        if self.pending.is_empty() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_BYTES_MAX);
            (self.dead, self.sent, self.sent_items) = (0, 0, 0);
        } else if self.dead > self.bytes.len() / 2 {
            self.bytes.drain(..self.dead);
            self.sent -= self.dead;
            self.dead = 0;
        }
        self.position > before
    }

    /// There is a new connection: all that is not acknowledged goes again.
    pub fn restart(&mut self) {
        self.position = self.end();
        self.pending.retain(|pending| pending.bytes > 0);
        (self.sent, self.sent_items) = (self.dead, 0);
    }

    /// The position after the last item.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.position + self.pending.len() as u64
    }

    /// Forgets items for which `keep` is false, given their slot and rows: this node is not the slot's primary any more, or not in this term.
    /// Such that were sent are acknowledged all the same; those that were not leave no gap.
    pub fn retain(&mut self, mut keep: impl FnMut(TableId, Slot, Epoch, &[u8]) -> bool) {
        let (mut kept, mut bytes, mut at) = (VecDeque::new(), Vec::new(), self.dead);
        let (mut sent, mut sent_items) = (0, 0);
        for (index, mut pending) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let range = at..at + pending.bytes;
            at = range.end;
            let rows = self.bytes.get(range.start + ITEM_HEAD_BYTES..range.end);
            let is_kept = rows.is_some_and(|rows| keep(pending.table, pending.slot, pending.term, rows));
            if !is_kept {
                self.images.end(&pending);
            }
            if index < self.sent_items {
                // It has a position over there.
                if is_kept {
                    bytes.extend_from_slice(&self.bytes[range]);
                } else {
                    pending.bytes = 0;
                }
                sent += pending.bytes;
                sent_items += 1;
                kept.push_back(pending);
            } else if is_kept {
                bytes.extend_from_slice(&self.bytes[range]);
                kept.push_back(pending);
            }
        }
        (self.pending, self.bytes, self.dead, self.sent, self.sent_items) = (kept, bytes, 0, sent, sent_items);
        let mut items = self.pending.iter().filter(|pending| pending.bytes > 0).map(|pending| pending.number).peekable();
        self.writes.retain(|(number, _)| {
            while items.next_if(|item| item < number).is_some() {}
            items.peek() == Some(number)
        });
    }

    /// The sequence of the last item.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Up to this sequence no write is missing over there.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.writes.front().map_or(u64::MAX, |(_, sequence)| sequence.saturating_sub(1))
    }

    /// Whether a write has not arrived.
    #[must_use]
    pub fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Stands for all items until now: see [`Outbound::has_passed`].
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.count
    }

    /// Whether all items before a mark have arrived, or are forgotten.
    #[must_use]
    pub fn has_passed(&self, mark: u64) -> bool {
        self.pending.iter().find(|pending| pending.bytes > 0).is_none_or(|first| first.number >= mark)
    }

    /// Bytes of images.
    #[must_use]
    pub fn images(&self) -> Images {
        self.images
    }

    /// Writes that were pushed since the stream began.
    #[must_use]
    pub fn writes_pushed(&self) -> u64 {
        self.writes_pushed
    }

    /// Bytes that wait for an acknowledgement.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.bytes.len() - self.dead
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Append;
    use base::Rng;

    fn item(sequence: u64, slot: u16, rows: &[u8]) -> Item<'_> {
        Item { sequence, term: Epoch(1), timestamp_us: 0, table: TableId(1), slot: Slot(slot), purpose: Purpose::Write, rows }
    }

    /// The sequences of all items in a body.
    fn sequences(body: &[u8]) -> Vec<u64> {
        let mut items = Append::decode(body).unwrap().items;
        std::iter::from_fn(|| items.next_item().unwrap().map(|item| item.sequence)).collect()
    }

    fn unsent(stream: &mut Outbound, bytes_max: usize) -> Vec<u64> {
        let mut body = Vec::new();
        if stream.take_unsent(1, 0, bytes_max, &mut body) { sequences(&body) } else { Vec::new() }
    }

    #[test]
    fn what_is_not_acknowledged_goes_again_on_a_new_connection() {
        let mut stream = Outbound::default();
        for sequence in 1..=4 {
            stream.push(&item(sequence, 0, b"row"));
        }
        assert_eq!(unsent(&mut stream, 1000), [1, 2, 3, 4]);
        assert_eq!(stream.arrived(), 0);
        stream.acknowledged(2);
        assert_eq!((stream.arrived(), stream.end()), (2, 4));
        stream.push(&item(5, 0, b"row"));
        stream.restart();
        assert_eq!(unsent(&mut stream, 50), [3]);
        assert_eq!(unsent(&mut stream, 1000), [4, 5]);
        stream.acknowledged(stream.end());
        assert_eq!((stream.arrived(), stream.pending_bytes()), (u64::MAX, 0));
    }

    #[test]
    fn nobody_waits_for_what_came_later() {
        let mut stream = Outbound::default();
        let image = |sequence| Item { purpose: Purpose::Image, ..item(sequence, 0, b"image") };
        stream.push(&item(7, 0, b"row"));
        stream.push(&image(7));
        let mark = stream.mark();
        for _ in 0..3 {
            stream.push(&image(7));
        }
        assert_eq!(unsent(&mut stream, 1000), [7; 5]);
        assert_eq!((stream.arrived(), stream.has_passed(mark)), (6, false));
        stream.acknowledged(1);
        assert_eq!((stream.arrived(), stream.has_passed(mark)), (u64::MAX, false), "the write has arrived, whatever images follow");
        stream.restart();
        assert!(!stream.has_passed(mark), "what goes again has not arrived, although its position is another");
        assert_eq!(unsent(&mut stream, 1000), [7; 4]);
        stream.acknowledged(stream.end() - 3);
        assert!(stream.has_passed(mark) && !stream.has_passed(stream.mark()));
        stream.push(&item(8, 1, b"row"));
        stream.push(&item(9, 2, b"row"));
        stream.retain(|_, slot, _, _| slot == Slot(2));
        assert_eq!((stream.arrived(), stream.has_passed(mark + 4), stream.has_passed(mark + 5)), (8, true, false));
    }

    #[test]
    fn an_acknowledgement_does_not_cover_what_was_not_sent() {
        let mut stream = Outbound::default();
        stream.push(&item(1, 0, b"row"));
        stream.acknowledged(9);
        assert_eq!(stream.arrived(), 0);
        assert_eq!(unsent(&mut stream, 1000), [1]);
    }

    #[test]
    fn items_of_lost_slots_are_forgotten_and_no_others() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let mut stream = Outbound::default();
            for sequence in 1..=20 {
                stream.push(&item(sequence, (sequence % 3) as u16, &[7; 9][..sequence as usize % 9]));
            }
            let mut got = unsent(&mut stream, rng.below(1000) as usize);
            stream.acknowledged(rng.below(got.len() as u64 + 1));
            stream.retain(|_, slot, _, rows| slot != Slot(1) && rows.len() < 9);
            stream.retain(|_, slot, _, _| slot != Slot(1));
            let sent_again = rng.below(2) == 0;
            if sent_again {
                got.retain(|sequence| *sequence <= stream.arrived());
                stream.restart();
            }
            while let more @ [_, ..] = &*unsent(&mut stream, 60) {
                got.extend_from_slice(more);
            }
            let sent = got.iter().copied().filter(|sequence| sequence % 3 != 1);
            assert!(sent.eq((1..=20).filter(|sequence| sequence % 3 != 1)), "{got:?}");
            assert!(stream.arrived() < 20);
            stream.acknowledged(stream.end());
            assert_eq!((stream.arrived(), stream.pending_bytes()), (u64::MAX, 0));
        }
    }

    #[test]
    fn an_acknowledgement_of_what_was_forgotten_meanwhile_is_news_of_a_replica_that_lives() {
        let mut stream = Outbound::default();
        (1..=3).for_each(|sequence| stream.push(&item(sequence, 1, b"row")));
        assert_eq!(unsent(&mut stream, 1000), [1, 2, 3]);
        stream.retain(|_, _, _, _| false);
        stream.push(&item(4, 2, b"row"));
        assert!(stream.has_writes());
        assert!(stream.acknowledged(3));
        assert!(!stream.acknowledged(3), "once");
        assert_eq!(unsent(&mut stream, 1000), [4]);
        assert!(stream.acknowledged(4) && !stream.has_writes());
    }

    #[test]
    fn images_are_under_way_until_they_are_acknowledged_or_forgotten() {
        let mut stream = Outbound::default();
        let image = |slot| Item { purpose: Purpose::Image, ..item(1, slot, b"row") };
        stream.push(&item(1, 1, b"row"));
        assert_eq!((stream.images(), stream.writes_pushed()), (Images::default(), 1));
        for slot in [1, 2, 1] {
            stream.push(&image(slot));
        }
        let bytes = stream.images().pushed / 3;
        assert_eq!((stream.images().under_way(), stream.writes_pushed()), (3 * bytes, 1));
        assert_eq!(unsent(&mut stream, 1000), [1; 4]);
        stream.acknowledged(2);
        assert_eq!(stream.images().done, bytes);
        stream.retain(|_, slot, _, _| slot != Slot(2));
        assert_eq!(stream.images().under_way(), bytes);
        stream.acknowledged(stream.end());
        assert_eq!(stream.images().under_way(), 0);
    }
}
