//! Rows alone in their partitions, gathered while segments are read and put into the index slot by slot.
//!
//! One row after the other would mean one wait for memory a row: tokens are random, and the index is larger than any cache. So rows go to the
//! bucket of their slots first, which is an append. A full bucket is sorted by slot and token and merged into its 64 slots, one after the
//! other: everything that is touched is read and written in order.
//!
//! Invariants:
//! - The rows of a slot reach the index in the order of the log. Order between slots does not matter.
//! - Rows of wide partitions and pages depend on rows with an empty clustering key. So from the first of them on, nothing of their table is
//!   gathered: its rows are put in directly, after what was gathered before.
//! - No more memory than `BYTES_MAX` or the 32nd of the memory limit is taken (a little more if that is next to nothing), and all of it is counted.

use super::{Engine, Recovery};
use crate::format::record::Record;
use crate::index::{Alone, Collision, Ledger, Merged, Recovered};
use crate::location::Location;
use crate::segments::Segments;
use base::TableId;
use std::collections::BTreeSet;

/// Most memory for rows being gathered.
const BYTES_MAX: usize = 64 << 20;
/// Buckets: by the upper half of the slot's twelve bits.
const BUCKETS: usize = 64;
/// A bucket has room for so many rows at least.
const ROWS_MIN: usize = 16;
/// Bits by which a bucket is spread out: the other half of the slot and a part of the tail.
const SPREAD_BITS: u32 = 12;
const SPREAD_SHIFT: u32 = u64::BITS - BUCKETS.ilog2() - SPREAD_BITS;

/// Rows on their way into the index.
pub(super) struct Gather {
    buckets: Vec<Vec<Alone>>,
    bucket_rows_max: usize,
    /// A bucket being sorted.
    sorted: Vec<Alone>,
    merged: Merged,
    /// Tables whose rows are put in directly.
    direct: BTreeSet<TableId>,
}

impl Gather {
    pub(super) fn new(memory_limit_bytes: usize) -> Self {
        let bytes = BYTES_MAX.min(memory_limit_bytes / 32);
        let bucket_rows_max = (bytes / (BUCKETS + 1) / size_of::<Alone>()).max(ROWS_MIN);
        let buckets = (0..BUCKETS).map(|_| Vec::new()).collect();
        Self { buckets, bucket_rows_max, sorted: Vec::new(), merged: Merged::default(), direct: BTreeSet::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        let rows = self.sorted.capacity() + self.buckets.iter().map(Vec::capacity).sum::<usize>();
        rows * size_of::<Alone>() + self.merged.bytes()
    }

    /// Takes a row; returns its bucket's number when that is full.
    fn push(&mut self, row: Alone) -> Option<usize> {
        let number = (row.biased >> (u64::BITS - BUCKETS.ilog2())) as usize;
        let bucket = &mut self.buckets[number];
        if bucket.capacity() == 0 {
            bucket.reserve_exact(self.bucket_rows_max);
        }
        bucket.push(row);
        (bucket.len() == self.bucket_rows_max).then_some(number)
    }

    /// Sorts a bucket by slot, table and tail, rows of one token in the order in which they came, and empties it.
    fn sort(&mut self, number: usize) {
        let bucket = &mut self.buckets[number];
        let place_of = |row: &Alone| (row.biased >> SPREAD_SHIFT) as usize & ((1 << SPREAD_BITS) - 1);
        let mut ends = vec![0u32; 1 << SPREAD_BITS];
        bucket.iter().for_each(|row| ends[place_of(row)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // The start for now; it moves to the end as rows are put in their places.
            (*end, sum) = (sum, sum + *end);
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(bucket);
        for row in bucket.drain(..) {
            let place = &mut ends[place_of(&row)];
            self.sorted[*place as usize] = row;
            *place += 1;
        }
        let mut start = 0;
        for end in ends {
            self.sorted[start..end as usize].sort_by_key(|row| row.biased);
            start = end as usize;
        }
        for slot in self.sorted.chunk_by_mut(|left, right| left.slot() == right.slot()) {
            if slot.iter().any(|row| row.table != slot[0].table) {
                slot.sort_by_key(|row| (row.table, row.biased));
            }
        }
    }
}

/// Accounts of places in recovery.
struct Accounts<'a> {
    segments: &'a mut Segments,
    collisions: &'a mut BTreeSet<Collision>,
    store: u64,
}

impl Ledger for Accounts<'_> {
    fn is_later(&self, place: Location, than: Location) -> bool {
        self.segments.point(place) >= self.segments.point(than)
    }

    fn recovered(&mut self, location: Location, outcome: Recovered) {
        if outcome != Recovered::Known {
            self.segments.add_live(location);
        }
        if let Recovered::Replaced(old) = outcome {
            self.segments.release(old);
        }
    }

    fn collided(&mut self, collision: Collision) {
        self.collisions.insert(collision);
    }

    fn hash(&self, partition: &[u8]) -> u64 {
        super::keyed_hash(self.store, partition)
    }
}

impl Engine {
    /// A record with an empty clustering key.
    pub(super) fn recover_row_alone(&mut self, record: &Record<'_>, hash: u64, location: Location) {
        let Self { index, segments, recovery: Some(recovery), config, .. } = self else { return };
        let row = Alone { biased: record.token().biased(), hash, location, table: record.table() };
        let Recovery { gather, collisions, .. } = recovery;
        if !gather.direct.is_empty() && gather.direct.contains(&row.table) {
            index.recover_alone(&row, &mut Accounts { segments, collisions, store: config.store });
        } else if let Some(full) = gather.push(row) {
            self.put_in(full);
        }
    }

    /// Whether rows of this table go into the index one by one.
    pub(super) fn puts_directly(&self, table: TableId) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.gather.direct.contains(&table))
    }

    /// A row that is not alone in its partition is about to be put in.
    pub(super) fn put_directly_from_now(&mut self, table: TableId) {
        if self.recovery.as_mut().is_some_and(|recovery| recovery.gather.direct.insert(table)) {
            self.put_in_all();
        }
    }

    /// All segments have been read.
    pub(super) fn end_gathering(&mut self) {
        self.put_in_all();
        if let Some(recovery) = &mut self.recovery {
            recovery.gather = Gather::new(0);
        }
    }

    fn put_in_all(&mut self) {
        (0..BUCKETS).for_each(|number| self.put_in(number));
    }

    /// Empties a bucket into the index.
    fn put_in(&mut self, number: usize) {
        let Self { index, segments, recovery: Some(recovery), config, .. } = self else { return };
        let Recovery { gather, collisions, .. } = recovery;
        if gather.buckets[number].is_empty() {
            return;
        }
        gather.sort(number);
        let Gather { sorted, merged, .. } = gather;
        let mut accounts = Accounts { segments, collisions, store: config.store };
        for rows in sorted.chunk_by(|left, right| (left.slot(), left.table) == (right.slot(), right.table)) {
            index.recover_slot(rows, merged, &mut accounts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;

    #[test]
    fn a_bucket_is_sorted_by_slot_table_and_token_and_keeps_the_order_of_the_log() {
        let mut rng = Rng::new(1);
        for round in 0..100 {
            let mut gather = Gather::new(1 << 20);
            let (tables, spread) = (1 + rng.below(3), 1 + rng.below(1 << (round % 58)));
            let mut rows = Vec::new();
            for number in 0..rng.below(gather.bucket_rows_max as u64) {
                let table = TableId(rng.below(tables) as u32);
                rows.push(Alone { biased: rng.below(spread), hash: number, location: Location::EMPTY, table });
            }
            let pushed: Vec<Option<usize>> = rows.iter().map(|row| gather.push(*row)).collect();
            assert!(pushed.iter().all(Option::is_none), "there is room");
            gather.sort(0);
            rows.sort_by_key(|row| (row.slot(), row.table, row.biased));
            let order = |rows: &[Alone]| rows.iter().map(|row| (row.slot(), row.table, row.biased, row.hash)).collect::<Vec<_>>();
            assert_eq!(order(&gather.sorted), order(&rows));
            assert!(gather.buckets[0].is_empty());
        }
    }
}
