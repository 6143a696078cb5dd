//! What rows may hold when some outcomes are unknown and some writes may still be lost.
//!
//! Each row has a set of possible values, `None` being no row. A write that was acknowledged maps every one of them; one whose outcome is
//! unknown adds the mapped ones to those that were there. What is read must be one of them, and is then the only one. Besides, a row knows what
//! was possible before each recent write, for a loss of power that may take it, and every value that it ever had, for faults that bring old
//! versions back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

#[derive(Clone, Debug)]
struct Cell<V> {
    now: BTreeSet<Option<V>>,
    /// What was possible before each acknowledged write, with the time of its acknowledgement.
    before: Vec<(u64, BTreeSet<Option<V>>)>,
    ever: BTreeSet<Option<V>>,
}

impl<V: Ord + Clone> Cell<V> {
    fn new() -> Self {
        Self { now: BTreeSet::from([None]), before: Vec::new(), ever: BTreeSet::from([None]) }
    }
}

/// Rows by key.
pub struct Cells<K, V> {
    rows: BTreeMap<K, Cell<V>>,
}

impl<K, V> Default for Cells<K, V> {
    fn default() -> Self {
        Self { rows: BTreeMap::new() }
    }
}

impl<K: Ord + Clone + Debug, V: Ord + Clone + Debug> Cells<K, V> {
    /// What the row may be.
    #[must_use]
    pub fn of(&self, key: &K) -> BTreeSet<Option<V>> {
        self.rows.get(key).map_or_else(|| BTreeSet::from([None]), |cell| cell.now.clone())
    }

    /// Every value that the row ever had, or may have had.
    #[must_use]
    pub fn ever(&self, key: &K) -> BTreeSet<Option<V>> {
        self.rows.get(key).map_or_else(|| BTreeSet::from([None]), |cell| cell.ever.clone())
    }

    /// All rows that ever were.
    #[must_use]
    pub fn keys(&self) -> Vec<K> {
        self.rows.keys().cloned().collect()
    }

    /// A write that happened for certain, acknowledged at this time.
    pub fn known(&mut self, key: &K, at_us: u64, change: impl Fn(Option<V>) -> Option<V>) {
        let cell = self.rows.entry(key.clone()).or_insert_with(Cell::new);
        let after: BTreeSet<_> = cell.now.iter().cloned().map(change).collect();
        let before = std::mem::replace(&mut cell.now, after);
        cell.before.push((at_us, before));
        cell.ever.extend(cell.now.iter().cloned());
    }

    /// A write that happened or not.
    pub fn unknown(&mut self, key: &K, change: impl Fn(Option<V>) -> Option<V>) {
        let cell = self.rows.entry(key.clone()).or_insert_with(Cell::new);
        let after: Vec<_> = cell.now.iter().cloned().map(change).collect();
        cell.now.extend(after);
        cell.ever.extend(cell.now.iter().cloned());
    }

    /// The row is gone, and that is durable: no loss brings it back.
    pub fn gone_for_good(&mut self, key: &K) {
        let cell = self.rows.entry(key.clone()).or_insert_with(Cell::new);
        (cell.now, cell.before) = (BTreeSet::from([None]), Vec::new());
    }

    /// Writes that were acknowledged at or after this time may be lost now.
    pub fn may_lose(&mut self, since_us: u64) {
        for cell in self.rows.values_mut() {
            for (at_us, before) in cell.before.drain(..) {
                if at_us >= since_us {
                    cell.now.extend(before);
                }
            }
        }
    }

    /// What was read is the only possibility.
    pub fn settle(&mut self, key: &K, seen: Option<V>) {
        let cell = self.rows.entry(key.clone()).or_insert_with(Cell::new);
        (cell.now, cell.before) = (BTreeSet::from([seen]), Vec::new());
    }

    /// Compares all that was read with all that may be there.
    ///
    /// # Panics
    /// When a row is what it cannot be.
    pub fn check(&mut self, rows: &BTreeMap<K, V>, what: &str) {
        let keys: BTreeSet<K> = self.rows.keys().chain(rows.keys()).cloned().collect();
        for key in keys {
            let (seen, possible) = (rows.get(&key).cloned(), self.of(&key));
            assert!(possible.contains(&seen), "{what}: row {key:?} is {}, possible are {}", brief(&seen), brief(&possible));
            self.settle(&key, seen);
        }
    }
}

pub(crate) fn brief(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    if text.len() <= 300 { text } else { format!("{}… ({} characters)", text.chars().take(300).collect::<String>(), text.len()) }
}

/// Something that only grows, by one at a time: between what was acknowledged and what was attempted.
#[derive(Clone, Debug, Default)]
pub struct Least {
    settled: i64,
    acknowledged_us: Vec<u64>,
    attempted: i64,
}

impl Least {
    /// An increment is sent.
    pub fn attempt(&mut self) {
        self.attempted += 1;
    }

    /// An increment certainly did not happen.
    pub fn refused(&mut self) {
        self.attempted -= 1;
    }

    /// An increment happened, acknowledged at this time.
    pub fn acknowledge(&mut self, at_us: u64) {
        self.acknowledged_us.push(at_us);
    }

    /// Increments that were acknowledged at or after this time may be lost now.
    pub fn may_lose(&mut self, since_us: u64) {
        self.acknowledged_us.retain(|at_us| *at_us < since_us);
    }

    /// The least that it may be.
    #[must_use]
    pub fn least(&self) -> i64 {
        self.settled + self.acknowledged_us.len() as i64
    }

    /// The most that it may be.
    #[must_use]
    pub fn most(&self) -> i64 {
        self.attempted
    }

    /// What was read is what it is.
    pub fn settle(&mut self, seen: i64) {
        *self = Self { settled: seen, acknowledged_us: Vec::new(), attempted: seen };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> Cells<u8, u8> {
        let mut cells = Cells::default();
        cells.known(&1, 10, |_| Some(1));
        cells.known(&1, 20, |_| Some(2));
        cells.unknown(&1, |_| Some(3));
        cells
    }

    fn set(values: &[u8]) -> BTreeSet<Option<u8>> {
        values.iter().map(|value| Some(*value)).collect()
    }

    #[test]
    fn an_acknowledged_write_is_the_only_possibility_until_one_is_unknown() {
        assert_eq!(cells().of(&1), set(&[2, 3]));
        let mut cells = cells();
        cells.known(&1, 30, |_| None);
        assert_eq!(cells.of(&1), BTreeSet::from([None]));
    }

    #[test]
    fn a_loss_of_power_takes_recent_writes_only() {
        let mut recent = cells();
        recent.may_lose(15);
        assert_eq!(recent.of(&1), set(&[1, 2, 3]));
        let mut old = cells();
        old.may_lose(21);
        assert_eq!(old.of(&1), set(&[2, 3]));
    }

    #[test]
    #[should_panic(expected = "row 1 is Some(1)")]
    fn an_old_value_is_wrong() {
        cells().check(&BTreeMap::from([(1, 1)]), "cells");
    }

    #[test]
    fn a_counter_is_between_what_was_acknowledged_and_what_was_attempted() {
        let mut counter = Least::default();
        (0..3).for_each(|_| counter.attempt());
        counter.acknowledge(10);
        counter.acknowledge(20);
        assert_eq!((counter.least(), counter.most()), (2, 3));
        counter.may_lose(20);
        assert_eq!((counter.least(), counter.most()), (1, 3));
    }
}
