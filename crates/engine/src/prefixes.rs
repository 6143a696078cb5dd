//! Which slots may have rows of a table whose clustering keys begin with a given prefix.
//!
//! A secondary index is such a table: the prefix is the value, and a query that names a value would otherwise look at every slot. A filter has a
//! cell of two bytes for each pair of prefix and slot, in one of the two buckets that the prefix's hash names.
//!
//! | bits of a cell | |
//! |---|---|
//! | 0 | empty |
//! | 4: 1 to 15, 12: slot | a fingerprint, and a slot that may have the prefix |
//! | 12: 0, 4: 1 to 15 | a fingerprint whose cells have filled the bucket: any slot may have such a prefix |
//!
//! A slot is *covered* when all its rows are in the filter. After a start none is, and a query looks at all slots that are not; what it finds there is
//! noted ([`Engine::cover_slot`]). Writes are noted whether their slot is covered or not. Cells of rows that are gone stay until the filter grows.
//!
//! Invariant: a covered slot has no row whose prefix is not in the filter. A key without a prefix ends its slot's coverage.

use crate::batch::WriteBatch;
use crate::engine::Engine;
use crate::format::record::mix;
use crate::key::{CachePolicy, Kind};
use crate::scan::{Direction, PartitionScan};
use base::{SLOT_COUNT, Slot, TableId, Token};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The prefix of a key that is filtered by; none of a key that is no entry.
pub type PrefixOf = fn(&[u8]) -> Option<&[u8]>;

/// Cells of a bucket: a cache line.
const BUCKET_CELLS: usize = 32;
/// The buckets of a new filter.
const BUCKETS_MIN: usize = 64;
/// A filter with more buckets grows by a quarter instead of by its size.
const BUCKETS_DOUBLED: usize = 1 << 15;
/// A filter grows when more of a hundred cells are used.
const FILL_PERCENT_MAX: usize = 92;
/// A fingerprint with so many cells in a full bucket is taken to be in all slots.
const POPULAR_CELLS: usize = 8;
/// A slot with more rows is never covered: reading them would keep other requests waiting.
const COVERED_ROWS_MAX: usize = 1 << 16;

const SLOTS: usize = SLOT_COUNT as usize;
const SLOT_BITS: u32 = 12;
const SLOT_MASK: u16 = (1 << SLOT_BITS) - 1;
const _: () = assert!(SLOT_COUNT <= 1 << SLOT_BITS);

/// The filters of all tables that have one.
#[derive(Default)]
pub(crate) struct Prefixes {
    filters: RefCell<BTreeMap<TableId, Filter>>,
    bytes: Cell<usize>,
}

impl Prefixes {
    /// Notes the rows of a batch.
    #[inline]
    pub(crate) fn note(&mut self, batch: &WriteBatch) {
        let filters = self.filters.get_mut();
        if !filters.is_empty() {
            note_rows(filters, batch);
            self.count();
        }
    }

    /// Forgets a table that was dropped.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.filters.get_mut().remove(&table);
        self.count();
    }

    fn count(&self) {
        self.bytes.set(self.filters.borrow().values().map(Filter::bytes).sum());
    }

    /// What they take of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }
}

fn note_rows(filters: &mut BTreeMap<TableId, Filter>, batch: &WriteBatch) {
    for row in batch.rows() {
        let Some(filter) = filters.get_mut(&row.key.table) else { continue };
        let slot = row.key.token.slot();
        match (filter.prefix_of)(row.key.clustering) {
            Some(_) if matches!(row.kind, Kind::Tombstone { .. }) => {}
            Some(prefix) => filter.insert(hash(prefix), slot),
            None => filter.uncover(slot),
        }
    }
}

fn hash(prefix: &[u8]) -> u64 {
    mix(u64::from(base::checksum(prefix)) | (prefix.len() as u64) << 32)
}

struct Filter {
    prefix_of: PrefixOf,
    buckets: Vec<[u16; BUCKET_CELLS]>,
    used: usize,
    covered: [u64; SLOTS / 64],
}

impl Filter {
    fn new(prefix_of: PrefixOf, buckets: usize) -> Self {
        Self { prefix_of, buckets: vec![[0; BUCKET_CELLS]; buckets], used: 0, covered: [0; SLOTS / 64] }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.buckets.len() * BUCKET_CELLS * size_of::<u16>()
    }

    /// The two buckets of a prefix, and its fingerprint.
    fn place(&self, hash: u64) -> ([usize; 2], u16) {
        let scaled = |half: u64| ((half * self.buckets.len() as u64) >> 32) as usize;
        ([scaled(hash >> 32), scaled(mix(hash) >> 32)], (hash % 15) as u16 + 1)
    }

    fn insert(&mut self, hash: u64, slot: Slot) {
        let ([first, second], fingerprint) = self.place(hash);
        let cell = fingerprint << SLOT_BITS | slot.0;
        let has = |cell: u16| self.buckets[first].contains(&cell) || self.buckets[second].contains(&cell);
        // A fingerprint by itself stands for all slots.
        if has(cell) || has(fingerprint) {
            return;
        }
        let free = |bucket: usize| self.buckets[bucket].iter().filter(|cell| **cell == 0).count();
        let emptier = if free(first) >= free(second) { first } else { second };
        if let Some(place) = self.buckets[emptier].iter_mut().find(|cell| **cell == 0) {
            *place = cell;
            self.used += 1;
            if self.used * 100 > self.buckets.len() * BUCKET_CELLS * FILL_PERCENT_MAX {
                self.grow();
            }
            return;
        }
        let is_own = |cell: &u16| *cell >> SLOT_BITS == fingerprint;
        let own = |bucket: usize| self.buckets[bucket].iter().filter(|cell| is_own(cell)).count();
        let fullest = if own(first) >= own(second) { first } else { second };
        if own(fullest) < POPULAR_CELLS {
            self.grow();
            return;
        }
        for cell in self.buckets[fullest].iter_mut().filter(|cell| is_own(cell)) {
            *cell = 0;
            self.used -= 1;
        }
        if let Some(place) = self.buckets[fullest].iter_mut().find(|cell| **cell == 0) {
            *place = fingerprint;
            self.used += 1;
        }
    }

    /// Starts anew with more room; no slot is covered then.
    fn grow(&mut self) {
        let buckets = self.buckets.len();
        let larger = if buckets < BUCKETS_DOUBLED { 2 * buckets } else { buckets + buckets / 4 };
        *self = Self::new(self.prefix_of, larger);
    }

    fn is_covered(&self, slot: Slot) -> bool {
        self.covered[usize::from(slot.0) / 64] >> (slot.0 % 64) & 1 == 1
    }

    fn cover(&mut self, slot: Slot) {
        self.covered[usize::from(slot.0) / 64] |= 1 << (slot.0 % 64);
    }

    fn uncover(&mut self, slot: Slot) {
        self.covered[usize::from(slot.0) / 64] &= !(1 << (slot.0 % 64));
    }

    /// The first slot from `from` to `last` that may have the prefix. Of slots that are not covered those count that are `open`.
    fn next_slot(&self, hash: u64, from: Slot, last: Slot, open: impl Fn(Slot) -> bool) -> Option<Slot> {
        let ([first, second], fingerprint) = self.place(hash);
        let mut next = self.next_uncovered(from, last, open);
        for cell in self.buckets[first].iter().chain(&self.buckets[second]) {
            if *cell == fingerprint {
                return Some(from);
            }
            let slot = *cell & SLOT_MASK;
            if *cell >> SLOT_BITS == fingerprint && slot >= from.0 && next.is_none_or(|next| slot < next.0) {
                next = Some(Slot(slot));
            }
        }
        next.filter(|next| *next <= last)
    }

    fn next_uncovered(&self, from: Slot, last: Slot, open: impl Fn(Slot) -> bool) -> Option<Slot> {
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

impl Engine {
    /// The first slot from `from` to `last` that may have rows of a table whose clustering keys begin with `prefix`. They are about rows of the table `of`:
    /// a slot without any of these has none.
    #[must_use]
    pub fn next_slot(&self, (table, of): (TableId, TableId), prefix: &[u8], from: Slot, last: Slot) -> Option<Slot> {
        let rows = self.index.table(of)?;
        let has_rows = |slot: Slot| rows.slot(slot).is_some_and(|slot| slot.count() > 0);
        match self.prefixes.filters.borrow().get(&table) {
            Some(filter) => filter.next_slot(hash(prefix), from, last, has_rows),
            None => rows.next_slot(usize::from(from.0)).map(|(slot, _)| Slot(slot as u16)).filter(|next| *next <= last),
        }
    }

    /// Notes all rows of a slot, which are those of one partition. Nothing happens if a row is not in memory, has no prefix and is above `from`, or if they
    /// are too many.
    pub fn cover_slot(&self, (table, token, partition): (TableId, Token, &[u8]), from: &[u8], prefix_of: PrefixOf) {
        let mut filters = self.prefixes.filters.borrow_mut();
        let filter = filters.entry(table).or_insert_with(|| Filter::new(prefix_of, BUCKETS_MIN));
        if filter.is_covered(token.slot()) {
            return;
        }
        let (policy, direction) = (CachePolicy::Bypass, Direction::Forward);
        let (from, to) = (Bound::Included(from), Bound::Unbounded);
        let scan = PartitionScan { table, token, partition, from, to, direction, policy, read_ahead: 1 };
        let Ok(mut cursor) = self.scan_partition(&scan) else { return };
        let mut hashes = Vec::new();
        loop {
            match cursor.next() {
                Ok(None) => break,
                Ok(Some((clustering, _))) if hashes.len() < COVERED_ROWS_MAX => {
                    let Some(prefix) = prefix_of(clustering) else { return };
                    let hash = hash(prefix);
                    if hashes.last() != Some(&hash) {
                        hashes.push(hash);
                    }
                }
                Ok(Some(_)) | Err(_) => return,
            }
        }
        let buckets = filter.buckets.len();
        hashes.into_iter().for_each(|hash| filter.insert(hash, token.slot()));
        // A filter that has grown has forgotten some of them.
        if filter.buckets.len() == buckets {
            filter.cover(token.slot());
        }
        drop(filters);
        self.prefixes.count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;
    use std::collections::BTreeSet;

    const LAST: Slot = Slot(SLOT_COUNT as u16 - 1);

    fn all(key: &[u8]) -> Option<&[u8]> {
        Some(key)
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
        let mut filter = Filter::new(all, BUCKETS_MIN);
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
        assert!(found < wanted + 6 * expected.len(), "{found} slots for {wanted}");
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
