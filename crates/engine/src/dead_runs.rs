//! Stretches of a partition in which no row has anything to show: what readers found out, so that the next one passes over them.
//!
//! Deleted rows stay for a time, because an older write may still come. A queue leaves one for each element that it ever had, before the
//! few that it has: who reads it would look at all of them each time.
//!
//! Invariants:
//! - a run ends where a row is written that is more than a deletion; until then nobody sees anything in it. What is not written through
//!   a batch shows nothing new;
//! - what is kept is bounded: one run a token, and all are forgotten when they take too much. Nothing depends on a run being there.

use crate::key::{Key, Kind, Sequence};
use base::{TableId, Token};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Fewer rows are looked at again.
const ROWS_MIN: u32 = 32;
/// What all runs of a shard may take of memory.
const BYTES_MAX: usize = 256 << 10;

/// A run of rows that show nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadRun {
    /// The lower bound of clustering keys.
    pub from: Box<[u8]>,
    /// There is no row between the lower bound and this key.
    pub first: Box<[u8]>,
    /// The upper bound, exclusive; none is the partition's end.
    pub to: Option<Box<[u8]>>,
    /// How many rows are known to be in it, about.
    pub rows: u32,
    /// None of them is newer.
    pub newest: Sequence,
    /// From this second on they show nothing.
    pub since_s: u32,
}

struct Entry {
    partition: Box<[u8]>,
    run: DeadRun,
}

/// The runs of a shard.
#[derive(Default)]
pub(crate) struct DeadRuns {
    runs: RefCell<BTreeMap<(TableId, Token), Entry>>,
    bytes: Cell<usize>,
}

impl DeadRun {
    fn bytes(&self) -> usize {
        size_of::<Entry>() + self.from.len() + self.first.len() + self.to.as_ref().map_or(0, |to| to.len())
    }

    /// Whether a scan within these bounds comes to it.
    #[must_use]
    pub fn overlaps(&self, from: &[u8], to: Option<&[u8]>) -> bool {
        self.to.as_ref().is_none_or(|high| *from < **high) && to.is_none_or(|to| *self.from < *to)
    }

    fn has(&self, key: &[u8]) -> bool {
        *self.from <= *key && self.to.as_ref().is_none_or(|to| *key < **to)
    }

    /// Whether nothing lies between the two.
    fn touches(&self, other: &Self) -> bool {
        let reaches = |one: &Self, other: &Self| one.to.as_ref().is_none_or(|to| *other.from <= **to);
        reaches(self, other) && reaches(other, self)
    }

    /// Both as one.
    fn joined(&mut self, other: Self) {
        // Who passed over a run has counted its rows.
        let is_beside = self.to.as_ref() == Some(&other.from) || other.to.as_ref() == Some(&self.from);
        self.rows = if is_beside { self.rows.saturating_add(other.rows) } else { self.rows.max(other.rows) };
        self.to = if other.has_end_of(self) { other.to } else { self.to.take() };
        if other.from < self.from {
            (self.from, self.first) = (other.from, other.first);
        }
        self.newest = self.newest.max(other.newest);
        self.since_s = self.since_s.max(other.since_s);
    }

    /// Whether it ends where another does, or later.
    fn has_end_of(&self, other: &Self) -> bool {
        match (&self.to, &other.to) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(one), Some(other)) => one >= other,
        }
    }

    /// A row at this key shows something from now on. Returns whether there is a run left.
    fn cut(&mut self, key: &[u8]) -> bool {
        if *key < *self.first {
            self.from = [key, &[0]].concat().into();
            return *self.from <= *self.first;
        }
        self.to = Some(key.into());
        *key > *self.first && *key > *self.from
    }
}

impl DeadRuns {
    /// Notes rows that are written.
    #[inline]
    pub(crate) fn note<'k>(&mut self, rows: impl Iterator<Item = (Key<'k>, Kind)>) {
        if !self.runs.get_mut().is_empty() {
            self.note_rows(rows);
        }
    }

    fn note_rows<'k>(&mut self, rows: impl Iterator<Item = (Key<'k>, Kind)>) {
        let runs = self.runs.get_mut();
        for (key, _) in rows.filter(|(_, kind)| !matches!(kind, Kind::Tombstone { .. })) {
            let place = (key.table, key.token);
            let Some(entry) = runs.get_mut(&place).filter(|entry| *entry.partition == *key.partition) else { continue };
            if !entry.run.has(key.clustering) {
                continue;
            }
            let before = entry.run.bytes();
            let is_left = entry.run.cut(key.clustering);
            self.bytes.update(|bytes| bytes + entry.run.bytes() - before);
            if !is_left && let Some(entry) = runs.remove(&place) {
                self.bytes.update(|bytes| bytes - entry.run.bytes());
            }
        }
    }

    /// Forgets a table that was emptied or dropped.
    pub(crate) fn forget(&mut self, table: TableId) {
        let runs = self.runs.get_mut();
        runs.retain(|(other, _), _| *other != table);
        self.bytes.set(runs.values().map(|entry| entry.run.bytes()).sum());
    }

    /// What they take of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }
}

impl DeadRuns {
    /// The run that is known of a partition.
    #[inline]
    pub(crate) fn find(&self, table: TableId, token: Token, partition: &[u8]) -> Option<DeadRun> {
        let runs = self.runs.borrow();
        if runs.is_empty() {
            return None;
        }
        runs.get(&(table, token)).filter(|entry| *entry.partition == *partition).map(|entry| entry.run.clone())
    }

    /// Keeps a run that a read of all its rows has found. It joins the one that is known, or takes its place if it is longer.
    pub(crate) fn keep(&self, table: TableId, token: Token, partition: &[u8], run: DeadRun) {
        let (runs, bytes) = (&mut *self.runs.borrow_mut(), &self.bytes);
        let place = (table, token);
        match runs.get_mut(&place).filter(|entry| *entry.partition == *partition) {
            Some(Entry { run: known, .. }) => {
                let before = known.bytes();
                if known.touches(&run) && known.since_s <= run.since_s {
                    known.joined(run);
                } else if known.rows <= run.rows || known.since_s > run.since_s {
                    *known = run;
                }
                bytes.set(bytes.get() + known.bytes() - before);
            }
            None if run.rows < ROWS_MIN => return,
            None => {
                bytes.set(bytes.get() + run.bytes());
                if let Some(other) = runs.insert(place, Entry { partition: partition.into(), run }) {
                    bytes.set(bytes.get() - other.run.bytes());
                }
            }
        }
        if bytes.get() > BYTES_MAX {
            runs.clear();
            bytes.set(0);
        }
    }
}
