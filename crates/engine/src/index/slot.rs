//! One slot of one table: cells sorted by token, placed by linear probing.
//!
//! A cell's home is `token tail × buckets / 2^52`, which keeps the order of tokens; a cell lies at its home or after it, and no
//! empty cell lies between. So a lookup reads one or two cache lines, iteration is in ring order, and any number of buckets will
//! do: the array grows by half, one slot at a time, and no rehash of the whole table ever happens.
//!
//! Invariants: cells that are not empty are sorted by tail; `home(cell) ≤ position`; no empty cell within `home..=position`.

use crate::location::Location;

/// A cell: the token's bits below the slot, and where the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// 52 bits; the upper 12 are zero and spare.
    pub(crate) tail: u64,
    pub(crate) location: Location,
}
const _: () = assert!(size_of::<Entry>() == 16);

/// Cells that are looked at one by one.
const LINEAR_STEPS: usize = 12;

/// The hash of a cell whose key is not known: it comes from a checkpoint. No key has it.
pub(crate) const UNKNOWN_HASH: u64 = 0;

const EMPTY: Entry = Entry { tail: 0, location: Location::EMPTY };

/// The cells of one slot.
#[derive(Default)]
pub(crate) struct SlotIndex {
    cells: Box<[Entry]>,
    /// During recovery only: for each cell a hash of its partition key, as the keys themselves are on the device.
    hashes: Box<[u64]>,
    count: u32,
    buckets: u32,
}

impl SlotIndex {
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.cells.len() * size_of::<Entry>() + self.hashes.len() * size_of::<u64>()
    }

    #[inline]
    pub(super) fn home(&self, tail: u64) -> usize {
        (((tail >> 20) * u64::from(self.buckets)) >> 32) as usize
    }

    /// The first cell with this tail, or where it would have to be.
    pub(crate) fn find(&self, tail: u64) -> Result<usize, usize> {
        let position = self.first_not(self.home(tail), |cell| cell.tail < tail);
        match self.cells.get(position) {
            Some(cell) if cell.tail == tail && !cell.location.is_empty() => Ok(position),
            _ => Err(position),
        }
    }

    /// The first place at or after `start` whose cell is empty or not `before` what is looked for. `before` must hold for a first part
    /// of the cells from `start` on and for no cell after that.
    ///
    /// A few steps find it nearly always. Behind a flood of like tokens it is far away: then the steps are doubled, and halved again.
    pub(crate) fn first_not(&self, start: usize, before: impl Fn(&Entry) -> bool) -> usize {
        let goes_on = |place: usize| self.cells.get(place).is_some_and(|cell| !cell.location.is_empty() && before(cell));
        let mut low = start;
        while low < start + LINEAR_STEPS {
            if !goes_on(low) {
                return low.min(self.cells.len());
            }
            low += 1;
        }
        let mut step = LINEAR_STEPS;
        while goes_on(low + step) {
            low += step;
            step *= 2;
        }
        // It goes on before `low` and not at `high`.
        let mut high = low + step;
        while low < high {
            let middle = low + (high - low) / 2;
            if goes_on(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.min(self.cells.len())
    }

    /// The word in a cell, whatever it is, and its hash in recovery: read for nothing but to have them in the processor's cache.
    #[inline]
    pub(crate) fn touch(&self, position: usize) -> u64 {
        self.cells.get(position).map_or(0, |cell| cell.tail) ^ self.hashes.get(position).copied().unwrap_or_default()
    }

    /// The cell at `position` if it is there and not empty.
    pub(crate) fn at(&self, position: usize) -> Option<Entry> {
        self.cells.get(position).copied().filter(|cell| !cell.location.is_empty())
    }

    /// The first cell at or after `position` that is not empty.
    pub(crate) fn next_from(&self, position: usize) -> Option<(usize, Entry)> {
        let rest = self.cells.get(position..)?;
        rest.iter().position(|cell| !cell.location.is_empty()).map(|step| (position + step, rest[step]))
    }

    /// All cells in order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &Entry> {
        self.cells.iter().filter(|cell| !cell.location.is_empty())
    }

    pub(crate) fn set_location(&mut self, position: usize, location: Location) {
        assert!(!self.cells[position].location.is_empty() && !location.is_empty());
        self.cells[position].location = location;
    }

    pub(crate) fn hash(&self, position: usize) -> Option<u64> {
        self.hashes.get(position).copied()
    }

    pub(crate) fn set_hash(&mut self, position: usize, hash: u64) {
        self.hashes[position] = hash;
    }

    /// Gives cells that were made without hashes unknown ones.
    pub(crate) fn ensure_hashes(&mut self) {
        if self.hashes.len() != self.cells.len() {
            self.hashes = vec![UNKNOWN_HASH; self.cells.len()].into_boxed_slice();
        }
    }

    /// A slot of cells that are sorted by tail, without hashes.
    pub(crate) fn from_sorted(sorted: &[Entry]) -> Self {
        let count = sorted.len() as u32;
        let mut slot = Self { cells: Box::default(), hashes: Box::default(), count, buckets: (count + count / 3).max(2) };
        slot.lay_out(sorted, &[], 0, false);
        slot
    }

    /// All cells in order, with their hashes: there must be hashes.
    pub(crate) fn hashed_cells(&self) -> impl Iterator<Item = (Entry, u64)> + '_ {
        let cells = self.cells.iter().zip(&self.hashes);
        cells.filter(|(cell, _)| !cell.location.is_empty()).map(|(cell, hash)| (*cell, *hash))
    }

    /// Puts cells, sorted by tail and with their hashes, in the place of all that are here.
    pub(crate) fn replace(&mut self, sorted: &[Entry], hashes: &[u64]) {
        self.count = sorted.len() as u32;
        if self.count == 0 {
            *self = Self::default();
        } else {
            if self.count > self.full_at() {
                self.buckets = (self.count + self.count / 3).max(2);
            }
            self.lay_out(sorted, hashes, 0, true);
        }
    }

    /// How many cells the buckets bear.
    fn full_at(&self) -> u32 {
        if self.buckets < 8 { self.buckets } else { self.buckets / 8 * 7 }
    }

    /// Inserts a cell as number `rank` among those of its tail.
    pub(crate) fn insert(&mut self, tail: u64, rank: usize, location: Location) {
        self.insert_hashed(tail, rank, location, None);
    }

    /// As `insert`; with a hash in recovery. A slot has hashes for all its cells or for none.
    pub(crate) fn insert_hashed(&mut self, tail: u64, rank: usize, location: Location, hash: Option<u64>) {
        assert!(tail >> 52 == 0 && !location.is_empty());
        if self.count + 1 > self.full_at() {
            self.rebuild((self.buckets + self.buckets / 2).max(self.buckets + 2), hash.is_some());
        }
        loop {
            let position = match self.find(tail) {
                Ok(first) => first + rank,
                Err(position) => position,
            };
            let free = self.cells.get(position..).and_then(|rest| rest.iter().position(|cell| cell.location.is_empty()));
            let Some(step) = free else {
                // The run at the end of the array has no room: more slack, the same buckets.
                self.rebuild(self.buckets, hash.is_some());
                continue;
            };
            self.cells.copy_within(position..position + step, position + 1);
            self.cells[position] = Entry { tail, location };
            if let Some(hash) = hash {
                self.hashes.copy_within(position..position + step, position + 1);
                self.hashes[position] = hash;
            }
            self.count += 1;
            return;
        }
    }

    /// Removes the cell at `position`.
    pub(crate) fn remove(&mut self, position: usize) {
        assert!(!self.cells[position].location.is_empty());
        let mut hole = position;
        while let Some(next) = self.at(hole + 1) {
            if self.home(next.tail) > hole {
                break;
            }
            self.cells[hole] = next;
            if !self.hashes.is_empty() {
                self.hashes[hole] = self.hashes[hole + 1];
            }
            hole += 1;
        }
        self.cells[hole] = EMPTY;
        self.count -= 1;
        if self.count == 0 {
            *self = Self::default();
        } else if self.buckets > 8 && self.count < self.buckets / 4 {
            self.rebuild(self.count + self.count / 2, !self.hashes.is_empty());
        }
    }

    /// Drops the hashes of recovery.
    pub(crate) fn drop_hashes(&mut self) {
        self.hashes = Box::default();
    }

    /// Empties the slot.
    pub(crate) fn take(&mut self) -> Vec<Entry> {
        let taken = std::mem::take(self);
        taken.cells.iter().copied().filter(|cell| !cell.location.is_empty()).collect()
    }

    /// Lays all cells out anew over `buckets` buckets, with room after the last one.
    fn rebuild(&mut self, buckets: u32, hashed: bool) {
        let old_cells = std::mem::take(&mut self.cells);
        let old_hashes = std::mem::take(&mut self.hashes);
        let least = if buckets == self.buckets { old_cells.len() + old_cells.len() / 16 + 4 } else { 0 };
        self.buckets = buckets;
        self.lay_out(&old_cells, &old_hashes, least, hashed);
    }

    /// Puts cells, sorted and with gaps, where they belong, in an array of at least `least` cells.
    fn lay_out(&mut self, old_cells: &[Entry], old_hashes: &[u64], least: usize, hashed: bool) {
        let buckets = self.buckets;
        let mut end = 0;
        for cell in old_cells.iter().filter(|cell| !cell.location.is_empty()) {
            end = self.home(cell.tail).max(end) + 1;
        }
        let slack = if buckets < 8 { 0 } else { 2 + buckets as usize / 64 };
        let length = if least > 0 { least } else { (buckets as usize + slack).max(end + 1) };
        let mut cells = vec![EMPTY; length].into_boxed_slice();
        let mut hashes = vec![0; if hashed { length } else { 0 }].into_boxed_slice();
        let mut next = 0;
        for (old, cell) in old_cells.iter().enumerate().filter(|(_, cell)| !cell.location.is_empty()) {
            let position = self.home(cell.tail).max(next);
            cells[position] = *cell;
            if hashed {
                hashes[position] = old_hashes.get(old).copied().unwrap_or_default();
            }
            next = position + 1;
        }
        self.cells = cells;
        self.hashes = hashes;
    }

    #[cfg(test)]
    fn check(&self) {
        let mut last = None;
        let mut count = 0;
        for (position, cell) in self.cells.iter().enumerate() {
            if cell.location.is_empty() {
                continue;
            }
            count += 1;
            assert!(self.home(cell.tail) <= position);
            assert!((self.home(cell.tail)..position).all(|between| !self.cells[between].location.is_empty()));
            assert!(last.is_none_or(|last| last <= cell.tail));
            last = Some(cell.tail);
        }
        assert_eq!(count, self.count);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::location::SegmentId;
    use base::Rng;
    use std::collections::BTreeMap;

    fn location(number: u64) -> Location {
        Location::record(SegmentId((number >> 18) as u32 & 0xFFFF), (number as usize & 0x3FFFF) * 16, 32)
    }

    fn run(seed: u64, spread: u64, hashed: bool) {
        let mut rng = Rng::new(seed);
        let mut slot = SlotIndex::default();
        let mut model = BTreeMap::new();
        for step in 0..4000u64 {
            let tail = rng.below(spread) * ((1 << 52) / spread);
            let grow = step < 2500;
            if rng.below(10) < if grow { 8 } else { 2 } {
                match slot.find(tail) {
                    Ok(position) => slot.set_location(position, location(step)),
                    Err(_) => slot.insert_hashed(tail, 0, location(step), hashed.then_some(tail ^ 5)),
                }
                model.insert(tail, location(step));
            } else if let Ok(position) = slot.find(tail) {
                slot.remove(position);
                assert!(model.remove(&tail).is_some());
            }
            if step % 64 == 0 {
                slot.check();
            }
        }
        slot.check();
        let mut position = 0;
        let mut seen = Vec::new();
        while let Some((at, entry)) = slot.next_from(position) {
            seen.push((entry.tail, entry.location));
            if hashed {
                assert_eq!(slot.hash(at), Some(entry.tail ^ 5));
            }
            position = at + 1;
        }
        assert_eq!(seen, model.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn agrees_with_an_ordered_map() {
        for seed in 0..20 {
            run(seed, 1 << 40, false);
            run(seed, 1 << 9, true);
            run(seed, 3000, seed % 2 == 0);
        }
    }

    #[test]
    fn equal_tails_keep_their_rank_even_at_the_end_of_the_ring() {
        let mut slot = SlotIndex::default();
        let tail = (1 << 52) - 1;
        for number in 0..200 {
            slot.insert(tail, number, location(number as u64));
        }
        slot.check();
        let first = slot.find(tail).unwrap();
        for number in 0..200 {
            assert_eq!(slot.at(first + number).unwrap().location, location(number as u64));
        }
    }

    #[test]
    fn uniform_tokens_cost_less_than_thirty_bytes_each() {
        let mut rng = Rng::new(9);
        let mut slot = SlotIndex::default();
        for count in 1..20_000usize {
            let tail = rng.next_u64() >> 12;
            if let Err(_absent) = slot.find(tail) {
                slot.insert(tail, 0, location(count as u64));
            }
            if count > 100 {
                assert!(slot.heap_bytes() <= slot.count() * 30, "{} bytes for {} cells", slot.heap_bytes(), slot.count());
            }
        }
    }
}
