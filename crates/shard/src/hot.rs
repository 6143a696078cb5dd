//! Which partitions operations ask for most: of one in 256 operations the partitions are noted, and those noted most often are kept.
//!
//! The summary is that of Metwally, Agrawal and El Abbadi ("Efficient computation of frequent and top-k elements in data streams", 2005): a fixed
//! number of counters, of which the smallest goes to whoever has none. A partition with more than 1 / [`COUNTERS`] of what was noted always has one, and no
//! count is too low; by how much it may be too high is kept beside it.
//!
//! Invariant: an operation that is not noted costs a subtraction, and nobody waits for a lock.

use base::{Rng, TableId, Token};
use model::Table;
use model::operation::{
    Basis, Context, Covering, Direction, EntryStretch, NearRows, NearestQuery, Operation, PartitionKey, Position, RowStore, ScannedRow,
    Stop, Visit, WriteSet,
};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

/// One in so many operations is noted, on average.
pub const NOTED_ONE_IN: u64 = 256;

/// Counters of one window.
const COUNTERS: usize = 64;

/// So much of a partition's key is kept.
const KEY_BYTES_MAX: usize = 256;

/// Counts begin anew so often; those of the window before are kept beside them.
const WINDOW_US: u64 = 10_000_000;

/// So many partitions of one operation are noted.
const OF_ONE_OPERATION_MAX: usize = 16;

/// A partition that operations have asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotPartition {
    /// Its table.
    pub table: TableId,
    /// Its token.
    pub token: Token,
    /// The bytes of its key; only the first of a long one.
    pub key: Box<[u8]>,
    /// Whether that is all of its key.
    pub is_whole: bool,
    /// How many operations were noted for it, at most.
    pub noted: u64,
    /// By how much this may be too high.
    pub error: u64,
}

/// What was noted on one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotReport {
    /// How long it was noted, up to the last operation.
    pub span_us: u64,
    /// All operations that were noted.
    pub noted: u64,
    /// The partitions that have counters, the most frequent first.
    pub partitions: Vec<HotPartition>,
}

/// The counters of a shard. Its core writes them, and any other thread reads.
#[derive(Debug, Default)]
pub struct HotPartitions(Mutex<Windows>);

#[derive(Debug, Default)]
struct Windows {
    began_us: u64,
    last_us: u64,
    current: Counters,
    /// With how long it lasted.
    before: (u64, Counters),
}

#[derive(Debug, Default)]
struct Counters {
    noted: u64,
    all: Vec<HotPartition>,
}

impl Counters {
    fn note(&mut self, seen: &Seen) {
        self.noted += 1;
        let is_it = |counter: &&mut HotPartition| (counter.table, counter.token) == (seen.table, seen.token);
        if let Some(counter) = self.all.iter_mut().find(is_it) {
            counter.noted += 1;
        } else if self.all.len() < COUNTERS {
            self.all.push(seen.counter(0));
        } else if let Some(least) = self.all.iter_mut().min_by_key(|counter| counter.noted) {
            *least = seen.counter(least.noted);
        }
    }
}

/// A partition that an operation has asked for.
#[derive(Debug)]
struct Seen {
    table: TableId,
    token: Token,
    key: Box<[u8]>,
    is_whole: bool,
}

impl Seen {
    /// Its counter, in place of one that has counted so many of another.
    fn counter(&self, taken_over: u64) -> HotPartition {
        let (table, token, key, is_whole) = (self.table, self.token, self.key.clone(), self.is_whole);
        HotPartition { table, token, key, is_whole, noted: taken_over + 1, error: taken_over }
    }
}

impl HotPartitions {
    /// What was noted in this window and the one before.
    #[must_use]
    pub fn report(&self, now_us: u64) -> HotReport {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.turn(now_us);
        let (before_us, before) = &windows.before;
        let mut report = HotReport {
            span_us: before_us + now_us.saturating_sub(windows.began_us),
            noted: before.noted + windows.current.noted,
            partitions: windows.current.all.clone(),
        };
        for counter in &before.all {
            match report.partitions.iter_mut().find(|known| (known.table, known.token) == (counter.table, counter.token)) {
                Some(known) => {
                    known.noted += counter.noted;
                    known.error += counter.error;
                }
                None => report.partitions.push(counter.clone()),
            }
        }
        report.partitions.sort_by_key(|partition| std::cmp::Reverse(partition.noted - partition.error));
        report
    }

    /// Whoever reads is not waited for: then these are not counted.
    fn note(&self, now_us: u64, seen: &[Seen]) {
        let Ok(mut windows) = self.0.try_lock() else { return };
        windows.turn(now_us);
        seen.iter().for_each(|seen| windows.current.note(seen));
    }
}

impl Windows {
    fn turn(&mut self, now_us: u64) {
        let age_us = now_us.saturating_sub(self.began_us);
        if age_us >= 2 * WINDOW_US {
            // Nothing was noted for a while, or ever.
            let whole = std::mem::take(&mut self.current);
            self.before = if self.last_us + WINDOW_US > now_us { (WINDOW_US, whole) } else { Default::default() };
            self.began_us = now_us;
        } else if age_us >= WINDOW_US {
            self.before = (WINDOW_US, std::mem::take(&mut self.current));
            self.began_us += WINDOW_US;
        }
        self.last_us = now_us;
    }
}

/// Chooses the operations of a shard that are noted.
#[derive(Debug)]
pub(crate) struct Noting {
    left: u32,
    rng: Rng,
    hot: Arc<HotPartitions>,
}

impl Noting {
    pub(crate) fn new(nonce: u64) -> Self {
        Self { left: NOTED_ONE_IN as u32, rng: Rng::new(nonce), hot: Arc::default() }
    }

    pub(crate) fn hot(&self) -> &Arc<HotPartitions> {
        &self.hot
    }

    /// Whether the operation that runs now is noted.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Chooses the next one: not after a fixed number, with which clients may be in step.
    fn choose(&mut self) {
        self.left = 1 + self.rng.below(2 * NOTED_ONE_IN - 1) as u32;
    }

    /// Runs an operation and notes what it asks for. Apart from others, whose code stays as it would be without.
    #[cold]
    #[inline(never)]
    pub(crate) fn run(
        &mut self,
        context: &Context,
        operation: &dyn Operation,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        self.choose();
        let noted = Noted { store, seen: RefCell::default() };
        let ran = operation.run(context, &noted, writes, reply);
        self.hot.note(context.now.monotonic_us, &noted.seen.into_inner());
        ran
    }
}

/// The rows of a shard, as an operation sees that is noted.
struct Noted<'s> {
    store: &'s dyn RowStore,
    seen: RefCell<Vec<Seen>>,
}

impl Noted<'_> {
    fn see(&self, partition: &PartitionKey<'_>) {
        let mut seen = self.seen.borrow_mut();
        let PartitionKey { table, token, bytes } = *partition;
        if seen.len() < OF_ONE_OPERATION_MAX && !seen.iter().any(|seen| (seen.table, seen.token) == (table, token)) {
            let kept = bytes.len().min(KEY_BYTES_MAX);
            seen.push(Seen { table, token, key: bytes[..kept].into(), is_whole: kept == bytes.len() });
        }
    }
}

impl RowStore for Noted<'_> {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        self.see(partition);
        self.store.get(partition, clustering)
    }

    fn has_rows(&self, table: TableId) -> bool {
        self.store.has_rows(table)
    }

    fn basis(&self, partition: &PartitionKey<'_>) -> Result<Basis<'_>, Stop> {
        self.see(partition);
        self.store.basis(partition)
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        self.see(partition);
        self.store.scan(partition, from, to, direction, visit)
    }

    fn scan_live(
        &self,
        partition: &PartitionKey<'_>,
        bounds: (&[u8], Option<&[u8]>),
        direction: Direction,
        now_s: u32,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        self.see(partition);
        self.store.scan_live(partition, bounds, direction, now_s, visit)
    }

    fn scan_table(
        &self,
        table: TableId,
        from: Position<'_>,
        until: Token,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        self.store.scan_table(table, from, until, visit)
    }

    fn next_slot(
        &self,
        tables: (TableId, TableId),
        prefix: &[u8],
        from: base::Slot,
        last: base::Slot,
    ) -> Result<Option<(base::Slot, bool)>, Stop> {
        self.store.next_slot(tables, prefix, from, last)
    }

    fn slots_without(&self, tables: (TableId, TableId), prefixes: &[&[u8]], after: base::Slot) -> Vec<base::Slot> {
        self.store.slots_without(tables, prefixes, after)
    }

    fn slots_without_rows(&self, table: TableId, after: base::Slot) -> Vec<base::Slot> {
        self.store.slots_without_rows(table, after)
    }

    fn cover_slot(&self, stretch: &EntryStretch<'_>) -> Result<Covering, Stop> {
        self.store.cover_slot(stretch)
    }

    fn nearest(&self, query: &NearestQuery<'_>) -> Result<Option<NearRows>, Stop> {
        self.store.nearest(query)
    }

    fn record_set(&self, table: TableId) -> Option<&Table> {
        self.store.record_set(table)
    }

    fn record_set_of_name(&self, keyspace: &str, name: &str) -> Option<&Table> {
        self.store.record_set_of_name(keyspace, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(token: i64) -> Seen {
        Seen { table: TableId(7), token: Token(token), key: token.to_be_bytes().into(), is_whole: true }
    }

    #[test]
    fn frequent_partitions_are_found_among_many_and_never_counted_too_low() {
        let hot = HotPartitions::default();
        let mut counts = std::collections::BTreeMap::<i64, u64>::new();
        let mut rng = Rng::new(11);
        for _ in 0..20_000 {
            // Two of five to four partitions, the others to 10,000.
            let token = if rng.below(5) < 2 { rng.below(4) as i64 } else { 100 + rng.below(10_000) as i64 };
            *counts.entry(token).or_default() += 1;
            hot.note(WINDOW_US, &[seen(token)]);
        }
        let report = hot.report(WINDOW_US);
        assert_eq!((report.noted, report.partitions.len()), (20_000, COUNTERS));
        let mut first: Vec<i64> = report.partitions[..4].iter().map(|partition| partition.token.0).collect();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2, 3]);
        for partition in &report.partitions {
            let truth = counts[&partition.token.0];
            assert!(partition.noted >= truth && partition.noted - partition.error <= truth, "{partition:?}, truly {truth}");
        }
    }

    #[test]
    fn what_was_hot_is_forgotten() {
        let hot = HotPartitions::default();
        let at = |windows: u64| 50 * WINDOW_US + windows * WINDOW_US;
        hot.note(at(0), &[seen(1)]);
        let tokens = |now_us| hot.report(now_us).partitions.iter().map(|partition| partition.token.0).collect::<Vec<_>>();
        assert_eq!(tokens(at(0)), [1]);
        hot.note(at(1), &[seen(2), seen(2)]);
        assert_eq!(tokens(at(1)), [2, 1], "the window before counts");
        hot.note(at(2), &[seen(3)]);
        assert_eq!(tokens(at(2)), [2, 3]);
        assert!(tokens(at(9)).is_empty());
        assert_eq!(hot.report(at(9)), HotReport { span_us: 0, ..HotReport::default() });
    }

    #[test]
    fn whoever_reads_is_not_waited_for() {
        let hot = HotPartitions::default();
        let reading = hot.0.lock();
        hot.note(1, &[seen(1)]);
        drop(reading);
        assert_eq!(hot.report(1).noted, 0);
    }

    #[test]
    fn one_in_so_many_is_chosen() {
        let mut noting = Noting::new(3);
        let mut noted = 0;
        for _ in 0..2_560_000 {
            if noting.is_due() {
                noted += 1;
                noting.choose();
            }
        }
        assert!((9_500..10_500).contains(&noted), "{noted}");
    }
}
