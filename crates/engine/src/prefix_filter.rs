//! Which slots may have rows of a table whose clustering keys begin with a given prefix.
//!
//! A secondary index is such a table: the prefix is the value, and a query that names a value would otherwise look at every slot. A filter has a
//! cell of two bytes for each pair of prefix and slot, in one of the two buckets that the prefix's hash names: a fingerprint of the prefix, and a slot
//! that may have it ([`bucket`]). Fingerprint 0 is none. Its cells have a fingerprint instead of a slot, whose own cells have filled the bucket: any slot
//! may have such a prefix.
//!
//! A slot is *covered* when all its rows are in the filter. After a start none is, and a query looks at all slots that are not, and covers some of them a
//! stretch at a time. Writes are noted whether their slot is covered or not. Cells of rows that are gone stay until the filter grows.
//!
//! Invariant: a covered slot has no row whose prefix is not in the filter. A key without a prefix ends its slot's coverage.

mod bucket;

use crate::format::record::mix;
use base::{SLOT_COUNT, Slot};
use bucket::{Bucket, CELLS, FINGERPRINT_BITS, SLOT_BITS};
use std::collections::BTreeMap;

/// The prefixes of a key that are filtered by, by their number from 0 on; none of a key that is no entry, and after the last one.
pub type PrefixOf = fn(&[u8], usize) -> Option<&[u8]>;

/// The buckets of a new filter.
const BUCKETS_MIN: usize = 128;
/// A filter with more buckets grows by a quarter instead of by its size.
const BUCKETS_DOUBLED: usize = 1 << 16;
/// A filter grows when more of a hundred cells are used.
const FILL_PERCENT_MAX: usize = 85;
/// A fingerprint with so many cells in a full bucket is taken to be in all slots.
const POPULAR_CELLS: usize = 8;
/// Slots that are partly read at the same time.
const REACHED_MAX: usize = 64;
const SLOTS: usize = SLOT_COUNT as usize;
/// The fingerprint of cells that name a fingerprint which any slot may have.
const POPULAR: u16 = 0;
const FINGERPRINTS: u64 = (1 << FINGERPRINT_BITS) - 1;
const _: () = assert!(SLOT_COUNT <= 1 << SLOT_BITS);

/// The prefixes of a key.
pub(crate) fn prefixes(prefix_of: PrefixOf, key: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..).map_while(move |number| prefix_of(key, number))
}

/// The hash of a prefix.
pub(crate) fn hash(prefix: &[u8]) -> u64 {
    mix(u64::from(base::checksum(prefix)) | (prefix.len() as u64) << 32)
}

/// The filter of one table.
pub(crate) struct Filter {
    /// The prefixes of a key.
    pub(crate) prefix_of: PrefixOf,
    buckets: Vec<Bucket>,
    used: usize,
    covered: [u64; SLOTS / 64],
    covered_slots: usize,
    /// For slots that are partly read the key from which on their rows are missing.
    reached: BTreeMap<u16, Vec<u8>>,
}

impl Filter {
    /// An empty one.
    pub(crate) fn new(prefix_of: PrefixOf) -> Self {
        Self::with_buckets(prefix_of, BUCKETS_MIN)
    }

    fn with_buckets(prefix_of: PrefixOf, buckets: usize) -> Self {
        Self {
            prefix_of,
            buckets: vec![Bucket::default(); buckets],
            used: 0,
            covered: [0; SLOTS / 64],
            covered_slots: 0,
            reached: BTreeMap::new(),
        }
    }

    /// Its size: a filter that grows forgets everything.
    pub(crate) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// What it takes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.buckets.len() * size_of::<Bucket>()
    }

    /// The two buckets of a prefix, and its fingerprint.
    fn place(&self, hash: u64) -> ([usize; 2], u16) {
        let scaled = |half: u64| ((half * self.buckets.len() as u64) >> 32) as usize;
        ([scaled(hash >> 32), scaled(mix(hash) >> 32)], (hash % FINGERPRINTS) as u16 + 1)
    }

    /// A slot has the prefix.
    pub(crate) fn insert(&mut self, hash: u64, slot: Slot) {
        let ([first, second], fingerprint) = self.place(hash);
        let has = |of, slot| self.buckets[first].has(of, slot) || self.buckets[second].has(of, slot);
        if has(fingerprint, slot.0) || has(POPULAR, fingerprint) {
            return;
        }
        let emptier = if self.buckets[first].used() <= self.buckets[second].used() { first } else { second };
        if self.buckets[emptier].insert(fingerprint, slot.0) {
            self.used += 1;
            if self.used * 100 > self.buckets.len() * CELLS * FILL_PERCENT_MAX {
                self.grow();
            }
            return;
        }
        let own = |bucket: usize| self.buckets[bucket].slots(fingerprint).count();
        let fullest = if own(first) >= own(second) { first } else { second };
        if own(fullest) < POPULAR_CELLS {
            self.grow();
            return;
        }
        let bucket = &mut self.buckets[fullest];
        self.used -= bucket.remove(fingerprint);
        bucket.insert(POPULAR, fingerprint);
        self.used += 1;
    }

    /// Starts anew with more room; no slot is covered then.
    fn grow(&mut self) {
        let buckets = self.buckets.len();
        let larger = if buckets < BUCKETS_DOUBLED { 2 * buckets } else { buckets + buckets / 4 };
        *self = Self::with_buckets(self.prefix_of, larger);
    }

    /// Whether all rows of a slot are in the filter.
    pub(crate) fn is_covered(&self, slot: Slot) -> bool {
        self.covered[usize::from(slot.0) / 64] >> (slot.0 % 64) & 1 == 1
    }

    /// The key from which on rows of a slot are to be read; none if too many other slots are partly read.
    pub(crate) fn reached<'a>(&'a self, slot: Slot, first: &'a [u8]) -> Option<&'a [u8]> {
        let reached = self.reached.get(&slot.0).map(Vec::as_slice);
        reached.or((self.reached.len() < REACHED_MAX).then_some(first))
    }

    /// The rows of a slot before this key are in the filter.
    pub(crate) fn reach(&mut self, slot: Slot, next: Vec<u8>) {
        self.reached.insert(slot.0, next);
    }

    /// All rows of a slot are in the filter.
    pub(crate) fn cover(&mut self, slot: Slot) {
        self.reached.remove(&slot.0);
        self.covered_slots += usize::from(!self.is_covered(slot));
        self.covered[usize::from(slot.0) / 64] |= 1 << (slot.0 % 64);
    }

    /// A slot has a row that is not in the filter.
    pub(crate) fn uncover(&mut self, slot: Slot) {
        self.covered_slots -= usize::from(self.is_covered(slot));
        self.covered[usize::from(slot.0) / 64] &= !(1 << (slot.0 % 64));
    }

    /// The first slot from `from` to `last` that may have the prefix. Of slots that are not covered those count that are `open`.
    pub(crate) fn next_slot(&self, hash: u64, from: Slot, last: Slot, open: impl Fn(Slot) -> bool) -> Option<Slot> {
        let Some(slots) = self.slots(hash) else { return Some(from) };
        let next = slots.filter(|slot| *slot >= from).chain(self.next_uncovered(from, last, open)).min();
        next.filter(|next| *next <= last)
    }

    /// The covered slots that may have the prefix, some more than once; `None` if all may.
    pub(crate) fn slots(&self, hash: u64) -> Option<impl Iterator<Item = Slot>> {
        let (buckets, fingerprint) = self.place(hash);
        let buckets = buckets.map(|bucket| &self.buckets[bucket]);
        let is_popular = buckets.iter().any(|bucket| bucket.has(POPULAR, fingerprint));
        (!is_popular).then(|| buckets.into_iter().flat_map(move |bucket| bucket.slots(fingerprint)).map(Slot))
    }

    fn next_uncovered(&self, from: Slot, last: Slot, open: impl Fn(Slot) -> bool) -> Option<Slot> {
        if self.covered_slots == SLOTS {
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

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;
    use std::collections::BTreeSet;

    const LAST: Slot = Slot(SLOT_COUNT as u16 - 1);

    fn all(key: &[u8], number: usize) -> Option<&[u8]> {
        (number == 0).then_some(key)
    }

    fn slots_of(filter: &Filter, hash: u64) -> BTreeSet<u16> {
        let mut found = BTreeSet::new();
        let mut from = Some(Slot(0));
        while let Some(slot) = from.and_then(|from| filter.next_slot(hash, from, LAST, |_| true)) {
            found.insert(slot.0);
            from = (slot < LAST).then(|| Slot(slot.0 + 1));
        }
        found
    }

    /// A filter that covers all slots, with so many values in a few slots each, and one value in all of them.
    fn filled(values: u64, random: &mut Rng) -> (Filter, Vec<(u64, BTreeSet<u16>)>) {
        let mut expected = Vec::new();
        for value in 0..values {
            let slots = (0..1 + random.next_u64() % 3).map(|_| (random.next_u64() % u64::from(SLOT_COUNT)) as u16).collect::<BTreeSet<_>>();
            expected.push((hash(&value.to_le_bytes()), slots));
        }
        expected.push((hash(b"everywhere"), (0..SLOT_COUNT as u16).collect()));
        let mut filter = Filter::new(all);
        loop {
            let buckets = filter.buckets.len();
            for (hash, slots) in &expected {
                slots.iter().for_each(|slot| filter.insert(*hash, Slot(*slot)));
            }
            if filter.buckets.len() == buckets {
                break;
            }
        }
        (0..SLOT_COUNT as u16).for_each(|slot| filter.cover(Slot(slot)));
        (filter, expected)
    }

    #[test]
    fn no_slot_is_missed_and_few_are_looked_at_in_vain() {
        let (filter, expected) = filled(20_000, &mut Rng::new(7));
        let (mut found, mut wanted) = (0, 0);
        for (hash, slots) in &expected {
            let looked_at = slots_of(&filter, *hash);
            assert!(slots.is_subset(&looked_at));
            if slots.len() < SLOTS {
                found += looked_at.len();
                wanted += slots.len();
            }
        }
        assert!(found < wanted + expected.len(), "{found} slots for {wanted}");
        let cells: usize = expected.iter().map(|(_, slots)| slots.len().min(64)).sum();
        assert!(filter.bytes() < 5 * cells, "{} bytes for {cells} entries", filter.bytes());
    }

    #[test]
    fn slots_that_are_not_covered_are_looked_at() {
        let (mut filter, expected) = filled(100, &mut Rng::new(8));
        for slot in [0, 63, 64, 4095] {
            filter.uncover(Slot(slot));
            assert!(expected.iter().all(|(hash, _)| slots_of(&filter, *hash).contains(&slot)));
        }
        assert_eq!(filter.next_slot(expected[0].0, Slot(4095), LAST, |_| true), Some(LAST));
        filter.grow();
        assert_eq!(slots_of(&filter, expected[0].0).len(), SLOTS);
    }
}
