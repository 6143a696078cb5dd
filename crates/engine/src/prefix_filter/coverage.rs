//! Which slots of a table a filter has whole, and how far it has come with others.

use base::{SLOT_COUNT, Slot};
use std::collections::BTreeMap;

/// Slots that are partly read at the same time.
const REACHED_MAX: usize = 64;
const WORDS: usize = SLOT_COUNT as usize / 64;

pub(super) struct Coverage {
    covered: [u64; WORDS],
    covered_slots: usize,
    /// For slots that are partly read the key from which on their rows are missing.
    reached: BTreeMap<u16, Vec<u8>>,
}

impl Coverage {
    pub(super) fn none() -> Self {
        Self { covered: [0; WORDS], covered_slots: 0, reached: BTreeMap::new() }
    }

    /// Whether all rows of a slot are in the filter.
    pub(super) fn is_covered(&self, slot: Slot) -> bool {
        self.covered[usize::from(slot.0) / 64] >> (slot.0 % 64) & 1 == 1
    }

    /// Whether rows of the slot are in the filter, so that a new one has to be.
    pub(super) fn has_begun(&self, slot: Slot) -> bool {
        self.is_covered(slot) || self.reached.contains_key(&slot.0)
    }

    /// The key from which on rows of a slot are to be read; none if it is covered. Where enough slots are partly read, another one is only begun if `begins`.
    pub(super) fn reached<'a>(&'a self, slot: Slot, first: &'a [u8], begins: bool) -> Option<&'a [u8]> {
        let reached = self.reached.get(&slot.0).map(Vec::as_slice);
        let may_begin = begins || self.reached.len() < REACHED_MAX;
        reached.or(may_begin.then_some(first)).filter(|_| !self.is_covered(slot))
    }

    /// What the keys take of memory.
    pub(super) fn bytes(&self) -> usize {
        self.reached.values().map(Vec::capacity).sum()
    }

    /// The rows of a slot before this key are in the filter. Another slot is begun again if too many are partly read.
    pub(super) fn reach(&mut self, slot: Slot, next: Vec<u8>) {
        if self.reached.insert(slot.0, next).is_none() && self.reached.len() > REACHED_MAX {
            let other = self.reached.keys().copied().find(|other| *other != slot.0);
            other.and_then(|other| self.reached.remove(&other));
        }
    }

    /// All rows of a slot are in the filter.
    pub(super) fn cover(&mut self, slot: Slot) {
        self.reached.remove(&slot.0);
        self.covered_slots += usize::from(!self.is_covered(slot));
        self.covered[usize::from(slot.0) / 64] |= 1 << (slot.0 % 64);
    }

    /// A slot has a row that is not in the filter.
    pub(super) fn uncover(&mut self, slot: Slot) {
        self.reached.remove(&slot.0);
        self.covered_slots -= usize::from(self.is_covered(slot));
        self.covered[usize::from(slot.0) / 64] &= !(1 << (slot.0 % 64));
    }

    /// Whether every slot that another one covers is covered here.
    pub(super) fn is_superset(&self, other: &Self) -> bool {
        self.covered.iter().zip(&other.covered).all(|(own, others)| others & !own == 0)
    }

    /// The first slot from `from` to `last` that is `open` and not covered.
    pub(super) fn next_uncovered(&self, from: Slot, last: Slot, open: impl Fn(Slot) -> bool) -> Option<Slot> {
        if self.covered_slots == SLOT_COUNT as usize {
            return None;
        }
        let first = usize::from(from.0) / 64;
        for word in first..=usize::from(last.0) / 64 {
            let mut left = !self.covered[word];
            if word == first {
                left &= u64::MAX << (from.0 % 64);
            }
            while left != 0 {
                let slot = Slot((word * 64) as u16 + left.trailing_zeros() as u16);
                if open(slot) {
                    return Some(slot);
                }
                left &= left - 1;
            }
        }
        None
    }
}
