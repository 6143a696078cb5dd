//! Which slots may have rows of a table whose clustering keys begin with a given prefix.
//!
//! A secondary index is such a table: the prefix is the value, and a query that names a value would otherwise look at every slot. A filter has a
//! cell of two bytes for each pair of prefix and slot, in one of the two buckets that the prefix's hash names: a fingerprint of the prefix, and a slot
//! that may have it ([`bucket`], [`cells`]). Fingerprint 0 is none. Its cells have a fingerprint instead of a slot, whose own cells have filled the bucket:
//! any slot may have such a prefix.
//!
//! A slot is *covered* when all its rows are in the filter ([`coverage`]). After a start none is; slots are read into the filter a stretch at a time, and a
//! query looks at all that are not covered. Writes of slots that are covered, or partly read, are noted.
//!
//! Cells of rows that are gone stay, so in time a filter is full though its table did not grow. Then it gets a *successor* of the size that the table needs,
//! and serves until that one covers what it does itself:
//!
//! ```text
//! full ─► successor begun; pairs without a cell are spilled ─► slots read into the successor ─► it covers as many ─► it replaces the filter
//!                                                                │ full, too: begun again, larger
//! ```
//!
//! Invariant: a covered slot has no row whose prefix is not in the filter. A key without a prefix ends its slot's coverage, as does a pair that cannot be
//! spilled.

mod bucket;
mod cells;
mod coverage;

use crate::format::record::mix;
use base::Slot;
use cells::Cells;
use coverage::Coverage;
use std::collections::BTreeSet;

/// The prefixes of a key that are filtered by, by their number from 0 on; none of a key that is no entry, and after the last one.
pub type PrefixOf = fn(&[u8], usize) -> Option<&[u8]>;

/// A growing table that needs more cells gets a quarter more than it needs, others get twice as many.
const PAIRS_DOUBLED: usize = 1 << 20;
/// Pairs are spilled where many values are alike; more than so many, and than one of so many cells, show that a filter is too small.
const SPILLED_FULL: usize = 1 << 10;
const CELLS_SPILLED_FULL: usize = 64;
/// So many, or one of so many cells, are kept until a successor replaces the filter.
const SPILLED_MAX: usize = 1 << 15;
const CELLS_SPILLED_MAX: usize = 16;
/// What a spilled pair takes of memory, nearly.
const SPILLED_BYTES: usize = 24;
/// A filter that has read less than one of so many rows of its table does not say how many cells the others need.
const ROWS_TOLD: u64 = 64;
/// And so its successor is larger by this factor at most.
const GROWTH_MAX: usize = 8;

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
    current: Generation,
    successor: Option<Box<Generation>>,
}

/// A filter of one size.
struct Generation {
    cells: Cells,
    coverage: Coverage,
    /// Pairs of hash and slot that have no cell.
    spilled: BTreeSet<(u64, u16)>,
    /// Rows that were read into it, and the cells that they took.
    read: (u64, i64),
}

impl Generation {
    fn with_room(pairs: usize) -> Self {
        Self { cells: Cells::with_room(pairs), coverage: Coverage::none(), spilled: BTreeSet::new(), read: (0, 0) }
    }

    fn is_full(&self) -> bool {
        self.cells.used() > self.cells.room() || self.spilled.len() > SPILLED_FULL.max(self.cells.room() / CELLS_SPILLED_FULL)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.cells.bytes() + self.coverage.bytes() + self.spilled.len() * SPILLED_BYTES
    }

    fn insert(&mut self, hash: u64, slot: Slot) {
        if self.cells.insert(hash, slot) {
            return;
        }
        if self.spilled.len() < SPILLED_MAX.max(self.cells.room() / CELLS_SPILLED_MAX) {
            self.spilled.insert((hash, slot.0));
        } else if !self.spilled.contains(&(hash, slot.0)) {
            self.coverage.uncover(slot);
        }
    }

    /// The slots that may have the prefix, some more than once; `None` if all may.
    fn slots(&self, hash: u64) -> Option<impl Iterator<Item = Slot>> {
        let spilled = self.spilled.range((hash, 0)..=(hash, u16::MAX)).map(|(_, slot)| Slot(*slot));
        self.cells.slots(hash).map(|slots| slots.chain(spilled))
    }

    /// For how many pairs the next one gets room, whose table has so many rows: by those that were read.
    fn room_for_next(&self, rows: u64) -> usize {
        let used = self.cells.used();
        let (rows_read, cells_read) = (self.read.0, self.read.1.max(0) as u64);
        let mut pairs = cells_read.saturating_mul(rows).checked_div(rows_read).map_or(used, |pairs| pairs as usize);
        if rows_read < rows / ROWS_TOLD {
            pairs = pairs.min(GROWTH_MAX * used);
        }
        let has_grown = pairs >= used - used / 4;
        if has_grown && pairs >= PAIRS_DOUBLED { pairs + pairs / 4 } else { 2 * pairs }
    }
}

impl Filter {
    /// An empty one.
    pub(crate) fn new(prefix_of: PrefixOf) -> Self {
        Self { prefix_of, current: Generation::with_room(0), successor: None }
    }

    /// What it takes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.current.bytes() + self.successor.as_ref().map_or(0, |successor| successor.bytes())
    }

    /// Whether it needs a successor, or that one needs another.
    pub(crate) fn is_full(&self) -> bool {
        self.last().is_full()
    }

    /// Begins a successor if one is needed, for a table of so many rows.
    pub(crate) fn renew(&mut self, rows: u64) {
        if !self.is_full() {
            return;
        }
        let room = match &self.successor {
            None => self.current.room_for_next(rows),
            // It is larger in any case, whatever it was too small for.
            Some(successor) => successor.room_for_next(rows).max(2 * successor.cells.room()),
        };
        self.successor = Some(Box::new(Generation::with_room(room)));
    }

    /// The one that slots are read into.
    fn last(&self) -> &Generation {
        self.successor.as_deref().unwrap_or(&self.current)
    }

    /// Lets the successor replace the filter, however many slots it covers.
    pub(crate) fn succeed(&mut self) {
        if let Some(successor) = self.successor.take() {
            self.current = *successor;
        }
    }

    /// A row with the prefix was written to a slot.
    pub(crate) fn note(&mut self, hash: u64, slot: Slot) {
        for generation in [Some(&mut self.current), self.successor.as_deref_mut()].into_iter().flatten() {
            if generation.coverage.has_begun(slot) {
                generation.insert(hash, slot);
            }
        }
    }

    /// The key from which on rows of a slot are to be read; none if all were, or if others are to be read first and it is not to be begun.
    pub(crate) fn reached<'a>(&'a self, slot: Slot, first: &'a [u8], begins: bool) -> Option<&'a [u8]> {
        self.last().coverage.reached(slot, first, begins)
    }

    /// So many rows of a slot were read, whose prefixes have these hashes. `next` is the key to go on from; after the last row there is none.
    pub(crate) fn read(&mut self, slot: Slot, (rows, hashes): (u64, &[u64]), next: Option<Vec<u8>>) {
        let last = self.successor.as_deref_mut().unwrap_or(&mut self.current);
        // First, as a pair without room may end it.
        match next {
            Some(next) => last.coverage.reach(slot, next),
            None => last.coverage.cover(slot),
        }
        let before = last.cells.used();
        hashes.iter().for_each(|hash| last.insert(*hash, slot));
        last.read = (last.read.0 + rows, last.read.1 + last.cells.used() as i64 - before as i64);
        if self.successor.as_ref().is_some_and(|successor| successor.coverage.is_superset(&self.current.coverage)) {
            self.succeed();
        }
    }

    /// Whether all rows of a slot are in the filter.
    pub(crate) fn is_covered(&self, slot: Slot) -> bool {
        self.current.coverage.is_covered(slot)
    }

    /// Whether rows of a slot are to be read, into a successor if there is one or has to be.
    pub(crate) fn lacks(&self, slot: Slot) -> bool {
        self.is_full() || !self.last().coverage.is_covered(slot)
    }

    /// A slot has a row that is not in the filter.
    pub(crate) fn uncover(&mut self, slot: Slot) {
        self.current.coverage.uncover(slot);
        if let Some(successor) = &mut self.successor {
            successor.coverage.uncover(slot);
        }
    }

    /// The first slot from `from` to `last` that may have the prefix. Of slots that are not covered those count that are `open`.
    pub(crate) fn next_slot(&self, hash: u64, from: Slot, last: Slot, open: impl Fn(Slot) -> bool) -> Option<Slot> {
        let Some(slots) = self.slots(hash) else { return Some(from) };
        let uncovered = self.current.coverage.next_uncovered(from, last, open);
        slots.filter(|slot| *slot >= from).chain(uncovered).min().filter(|next| *next <= last)
    }

    /// The covered slots that may have the prefix, some more than once; `None` if all may.
    pub(crate) fn slots(&self, hash: u64) -> Option<impl Iterator<Item = Slot>> {
        self.current.slots(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Rng, SLOT_COUNT};
    use std::collections::BTreeSet;

    const SLOTS: usize = SLOT_COUNT as usize;
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

    /// What a table has: the hashes of the prefixes in each slot.
    struct Rows {
        by_slot: Vec<BTreeSet<u64>>,
        count: u64,
    }

    impl Rows {
        fn none() -> Self {
            Self { by_slot: vec![BTreeSet::new(); SLOTS], count: 0 }
        }

        fn add(&mut self, hash: u64, slot: u16) {
            self.count += u64::from(self.by_slot[usize::from(slot)].insert(hash));
        }

        fn remove(&mut self, hash: u64, slot: u16) {
            self.count -= u64::from(self.by_slot[usize::from(slot)].remove(&hash));
        }

        /// Reads a stretch of the first slot that the filter lacks; false if it lacks none.
        fn read(&self, filter: &mut Filter) -> bool {
            let Some(slot) = (0..=LAST.0).map(Slot).find(|slot| filter.lacks(*slot)) else { return false };
            filter.renew(self.count);
            let from = filter.reached(slot, &[0; 8], true).and_then(|from| from.try_into().ok()).map_or(0, u64::from_be_bytes);
            let mut hashes = self.by_slot[usize::from(slot.0)].range(from..).copied().collect::<Vec<_>>();
            let next = hashes.get(3).map(|next| next.to_be_bytes().to_vec());
            hashes.truncate(3);
            filter.read(slot, (hashes.len() as u64, &hashes), next);
            true
        }
    }

    /// A filter that covers all slots, with so many values in a few slots each, and one value in all of them.
    fn filled(values: u64, random: &mut Rng) -> (Filter, Vec<(u64, BTreeSet<u16>)>) {
        let (mut expected, mut rows) = (Vec::new(), Rows::none());
        for value in 0..values {
            let slots = (0..1 + random.next_u64() % 3).map(|_| (random.next_u64() % u64::from(SLOT_COUNT)) as u16).collect::<BTreeSet<_>>();
            expected.push((hash(&value.to_le_bytes()), slots));
        }
        expected.push((hash(b"everywhere"), (0..SLOT_COUNT as u16).collect()));
        expected.iter().for_each(|(hash, slots)| slots.iter().for_each(|slot| rows.add(*hash, *slot)));
        let mut filter = Filter::new(all);
        while rows.read(&mut filter) {}
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
        assert!(filter.bytes() < 6 * cells, "{} bytes for {cells} entries", filter.bytes());
    }

    /// Values that are in many slots fill the buckets of others.
    #[test]
    fn a_table_with_many_rows_a_value_is_read_a_few_times_at_most() {
        let mut random = Rng::new(11);
        let mut slots = |count: u64| (0..count).map(|_| (random.next_u64() % 4096) as u16).collect::<BTreeSet<_>>();
        let middling = (0..4_000).map(|value: u64| slots(8 + value % 17)).collect::<Vec<_>>();
        let heavy = (0..30_000_u64).map(|value| slots(if value < 400 { 64 } else { 1 })).collect::<Vec<_>>();
        for values in [middling, heavy] {
            let (mut rows, mut filter, mut stretches) = (Rows::none(), Filter::new(all), 0);
            let expected: Vec<_> = (0_u64..).map(|value| hash(&value.to_le_bytes())).zip(values).collect();
            expected.iter().for_each(|(hash, slots)| slots.iter().for_each(|slot| rows.add(*hash, *slot)));
            while rows.read(&mut filter) {
                stretches += 1;
                assert!(stretches < 4 * (rows.count / 3 + 4096), "it is read again and again");
            }
            assert!(filter.bytes() < 8 * rows.count as usize, "{} bytes for {} entries", filter.bytes(), rows.count);
            assert!(expected.iter().all(|(hash, slots)| slots.is_subset(&slots_of(&filter, *hash))));
        }
    }

    #[test]
    fn slots_that_are_not_covered_are_looked_at() {
        let (mut filter, expected) = filled(100, &mut Rng::new(8));
        for slot in [0, 63, 64, 4095] {
            filter.uncover(Slot(slot));
            assert!(expected.iter().all(|(hash, _)| slots_of(&filter, *hash).contains(&slot)));
        }
        assert_eq!(filter.next_slot(expected[0].0, Slot(4095), LAST, |_| true), Some(LAST));
    }

    /// Values come and go, slots are read meanwhile: the table stays as large as it was, and so does the filter.
    #[test]
    fn a_full_filter_serves_until_its_successor_does() {
        let mut random = Rng::new(9);
        let (mut filter, mut rows) = (Filter::new(all), Rows::none());
        let mut values = (0..8_000).map(|_| (random.next_u64(), (random.next_u64() % 4096) as u16)).collect::<Vec<_>>();
        values.iter().for_each(|(hash, slot)| rows.add(*hash, *slot));
        while rows.read(&mut filter) {}
        let (bytes, mut most, mut successors) = (filter.bytes(), 0, 0);
        for step in 0..80_000 {
            let at = (random.next_u64() % 8_000) as usize;
            let (hash, slot) = (random.next_u64(), (random.next_u64() % 4096) as u16);
            let former = std::mem::replace(&mut values[at], (hash, slot));
            rows.remove(former.0, former.1);
            rows.add(hash, slot);
            filter.note(hash, Slot(slot));
            let had = filter.successor.is_some();
            rows.read(&mut filter);
            successors += usize::from(had && filter.successor.is_none());
            assert!(filter.next_slot(hash, Slot(0), Slot(slot), |_| true).is_some(), "the value of step {step}");
            most = most.max(filter.bytes());
            if step % 8_000 == 0 || had && filter.successor.is_none() {
                assert!(values.iter().all(|(hash, slot)| slots_of(&filter, *hash).contains(slot)), "step {step}");
                assert!((0..=LAST.0).all(|slot| filter.is_covered(Slot(slot))), "all are covered throughout");
            }
        }
        assert!((2..15).contains(&successors), "{successors}");
        assert!(most < 4 * bytes, "{most} bytes where {bytes} did");
    }

    #[test]
    fn a_pair_that_cannot_be_spilled_ends_the_coverage_of_its_slot() {
        let mut filter = Filter::new(all);
        (0..=LAST.0).for_each(|slot| filter.read(Slot(slot), (0, &[]), None));
        let mut value = 0_u64;
        while (0..=LAST.0).all(|slot| filter.is_covered(Slot(slot))) {
            value += 1;
            filter.note(hash(&value.to_le_bytes()), Slot(7));
        }
        assert!(value > SPILLED_MAX as u64);
        assert!(!filter.is_covered(Slot(7)));
        (1..=value).for_each(|value| assert!(slots_of(&filter, hash(&value.to_le_bytes())).contains(&7)));
    }
}
