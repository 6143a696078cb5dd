//! Which rows of a dataset there are, and what has been written to them: kept from the load that fills it to the last that reads it.
//!
//! Rows have numbers from 0. A load machine inserts those of its [`Share`], in order; it knows of a row that it can be read when its insert
//! and all before it have ended.

use crate::versions::Versions;
use crate::window::Window;
use crate::workload::Rows;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// One load machine's part of the rows that are inserted: those whose number leaves `index` when divided by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Which, from 0.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

impl Share {
    /// All rows.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// How many of the rows below `rows` are its own.
    #[must_use]
    pub fn own_below(self, rows: u64) -> u64 {
        rows.saturating_sub(self.index).div_ceil(self.of)
    }

    /// The number of its row number `ordinal`.
    #[must_use]
    pub fn number(self, ordinal: u64) -> u64 {
        ordinal * self.of + self.index
    }

    /// Its row next to `number`.
    #[must_use]
    pub fn nearest(self, number: u64) -> u64 {
        number - number % self.of + self.index
    }
}

/// A dataset from the phase that fills it to the last one that reads it.
#[derive(Debug)]
pub struct Dataset {
    rows: Rows,
    share: Share,
    /// Own rows that inserts were handed out for.
    next: AtomicU64,
    /// Own rows whose inserts have ended.
    ended: Window,
    /// Inserts without an acknowledgement.
    failed_inserts: AtomicU64,
    /// Whether there may be writes that nobody kept account of: earlier loads', or updates of a load that did not verify.
    unaccounted: AtomicU64,
    versions: Mutex<Option<Arc<Versions>>>,
}

impl Dataset {
    /// Without any row: a load inserts them.
    #[must_use]
    pub fn empty(rows: Rows, share: Share) -> Self {
        Self::with_rows(rows, share, 0)
    }

    /// Filled by an earlier process, with `rows.count` rows: which values they have is not known, and is learned from what is written.
    #[must_use]
    pub fn filled(rows: Rows, share: Share) -> Self {
        let count = rows.count;
        Self::with_rows(rows, share, count)
    }

    /// As [`Dataset::filled`], with the rows below `there`, by an earlier process whose [`Dataset::row_count`] that was.
    ///
    /// # Panics
    /// When `share` is none.
    #[must_use]
    pub fn with_rows(rows: Rows, share: Share, there: u64) -> Self {
        assert!(share.index < share.of, "a share is one of as many as there are");
        let own = share.own_below(there);
        Self {
            rows,
            share,
            next: AtomicU64::new(own),
            ended: Window::new(own),
            failed_inserts: AtomicU64::new(0),
            unaccounted: AtomicU64::new(u64::from(there > 0)),
            versions: Mutex::new(None),
        }
    }

    /// What rows look like.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Which part of it is this load machine's.
    #[must_use]
    pub fn share(&self) -> Share {
        self.share
    }

    /// How many rows there are; those of other load machines as if these were as far as this one.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.ended.done_below() * self.share.of
    }

    /// Number of the newest row that can be read; 0 also when there is none.
    pub(crate) fn last(&self) -> u64 {
        self.row_count().saturating_sub(1)
    }

    /// The row that the next insert is for. Its end must be told.
    pub(crate) fn next_insert(&self) -> u64 {
        self.share.number(self.next.fetch_add(1, Relaxed))
    }

    /// Where this load machine's sequential reading of all rows begins: each has a stretch of its own.
    pub(crate) fn first_in_sequence(&self) -> u64 {
        self.rows.count / self.share.of * self.share.index
    }

    /// How many inserts it takes until it is full.
    pub(crate) fn inserts_left(&self) -> u64 {
        self.share.own_below(self.rows.count).saturating_sub(self.next.load(Relaxed))
    }

    /// An insert has ended.
    pub(crate) fn insert_ended(&self, number: u64, acknowledged: bool) {
        if !acknowledged {
            self.failed_inserts.fetch_add(1, Relaxed);
        }
        self.ended.done(number / self.share.of);
    }

    /// An update was sent that nobody keeps account of.
    pub(crate) fn updated_unaccounted(&self) {
        // A load, then mostly nothing: the line stays shared between the threads.
        if self.unaccounted.load(Relaxed) == 0 {
            self.unaccounted.store(1, Relaxed);
        }
    }

    /// The account of versions, made when a load first verifies, with room for `inserts` more rows than there are.
    pub(crate) fn versions(&self, inserts: u64) -> Arc<Versions> {
        self.ended.advance();
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = (self.row_count() + inserts * self.share.of).max(self.rows.count);
        // Nothing but acknowledged inserts: every row has its first version.
        let as_inserted = self.unaccounted.load(Relaxed) == 0 && self.failed_inserts.load(Relaxed) == 0;
        let pristine = if as_inserted { self.row_count() } else { 0 };
        Arc::clone(versions.get_or_insert_with(|| Arc::new(Versions::new(rows, self.rows.fields, pristine))))
    }

    /// What a load that has not verified leaves of the account: nothing, since it wrote what is not in it.
    pub(crate) fn forget_versions(&self) {
        *self.versions.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Tables;
    use crate::workload::{Keys, Values};

    fn rows(count: u64) -> Rows {
        Rows { count, fields: 1, field_bytes: 10, field_bytes_min: None, values: Values::Random, keys: Keys::Number, tables: Tables::ONE }
    }

    #[test]
    fn shares_cover_every_row_once() {
        let mut numbers: Vec<u64> = (0..3)
            .flat_map(|index| {
                let share = Share { index, of: 3 };
                (0..share.own_below(100)).map(move |ordinal| share.number(ordinal))
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        assert_eq!(Share { index: 2, of: 3 }.nearest(40), 41);
    }

    #[test]
    fn a_row_is_there_when_its_insert_and_all_before_have_ended() {
        let dataset = Dataset::empty(rows(10), Share::ALL);
        let (one, two) = (dataset.next_insert(), dataset.next_insert());
        dataset.insert_ended(two, true);
        assert_eq!(dataset.row_count(), 0);
        dataset.insert_ended(one, true);
        assert_eq!((dataset.row_count(), dataset.last(), dataset.inserts_left()), (2, 1, 8));
    }

    #[test]
    fn first_versions_are_known_only_if_nothing_else_was_written() {
        let fill = || {
            let dataset = Dataset::empty(rows(10), Share::ALL);
            (0..10).for_each(|_| dataset.insert_ended(dataset.next_insert(), true));
            dataset
        };
        let known = |dataset: &Dataset| {
            let mut known = [crate::versions::Acknowledged::default()];
            dataset.versions(0).snapshot(3, &mut known);
            known[0].is_known()
        };
        assert!(known(&fill()));
        assert!(!known(&Dataset::filled(rows(10), Share::ALL)));
        let updated = fill();
        updated.updated_unaccounted();
        assert!(!known(&updated));
    }
}
