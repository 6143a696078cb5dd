//! What rows may hold when some outcomes are unknown: each row has a set of possible values, `None` being no row.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Rows by key.
pub(crate) struct Cells<K, V> {
    possible: BTreeMap<K, BTreeSet<Option<V>>>,
}

impl<K: Ord + Clone + Debug, V: Ord + Clone + Debug> Cells<K, V> {
    pub(crate) fn new() -> Self {
        Self { possible: BTreeMap::new() }
    }

    /// What the row may be.
    pub(crate) fn of(&self, key: &K) -> BTreeSet<Option<V>> {
        self.possible.get(key).cloned().unwrap_or_else(|| BTreeSet::from([None]))
    }

    pub(crate) fn keys(&self) -> Vec<K> {
        self.possible.keys().cloned().collect()
    }

    /// A write that happened for certain.
    pub(crate) fn known(&mut self, key: &K, change: impl Fn(Option<V>) -> Option<V>) {
        let after = self.of(key).into_iter().map(change).collect();
        self.possible.insert(key.clone(), after);
    }

    /// A write that happened or not.
    pub(crate) fn unknown(&mut self, key: &K, change: impl Fn(Option<V>) -> Option<V>) {
        let before = self.of(key);
        let after = before.iter().cloned().map(change).chain(before.clone()).collect();
        self.possible.insert(key.clone(), after);
    }

    /// Compares all that was read with all that may be there; what was read is then the only possibility.
    pub(crate) fn check(&mut self, rows: &BTreeMap<K, V>, what: &str) {
        let keys: BTreeSet<K> = self.possible.keys().chain(rows.keys()).cloned().collect();
        for key in keys {
            let (seen, possible) = (rows.get(&key).cloned(), self.of(&key));
            assert!(possible.contains(&seen), "{what}: row {key:?} is {}, possible are {}", brief(&seen), brief(&possible));
            self.possible.insert(key, BTreeSet::from([seen]));
        }
    }
}

fn brief(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    if text.len() <= 300 { text } else { format!("{}… ({} characters)", text.chars().take(300).collect::<String>(), text.len()) }
}
