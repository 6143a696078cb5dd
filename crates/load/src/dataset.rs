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

/// Failed inserts whose rows are kept, in 8 MiB; with more, nothing is known of any row.
const FAILED_INSERTS_MAX: usize = 1 << 20;

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
    /// Rows whose inserts had no acknowledgement: each may be there or not.
    failed_inserts: Mutex<Vec<u64>>,
    /// Whether there may be writes that nobody kept account of: earlier loads', updates of a load that did not verify, those of an account
    /// that was given up, or more failed inserts than [`FAILED_INSERTS_MAX`].
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
            failed_inserts: Mutex::default(),
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
            let mut failed = self.failed_inserts.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.len() < FAILED_INSERTS_MAX {
                failed.push(number);
            } else {
                self.unaccounted.store(1, Relaxed);
            }
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
        Arc::clone(versions.get_or_insert_with(|| Arc::new(self.account(inserts))))
    }

    fn account(&self, inserts: u64) -> Versions {
        let rows = (self.row_count() + inserts * self.share.of).max(self.rows.count);
        // Nothing but inserts: every row has its first version, but for those whose insert may not have happened.
        let pristine = if self.unaccounted.load(Relaxed) == 0 { self.row_count() } else { 0 };
        let account = Versions::new(rows, self.rows.fields, pristine);
        let failed = self.failed_inserts.lock().unwrap_or_else(PoisonError::into_inner);
        failed.iter().filter(|row| **row < pristine).for_each(|row| account.forget(*row));
        account
    }

    /// What a load that writes without verifying leaves of the account: nothing, since it wrote what is not in it. Nor is a later account to
    /// take what was written under this one for first versions.
    pub(crate) fn forget_versions(&self) {
        if self.versions.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            self.unaccounted.store(1, Relaxed);
        }
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

    /// Which of the first `count` rows something is known of.
    fn known_rows(dataset: &Dataset, count: u64) -> Vec<u64> {
        let versions = dataset.versions(0);
        let is_known = |row: &u64| {
            let mut known = [crate::versions::Acknowledged::default()];
            versions.snapshot(*row, &mut known);
            known[0].is_known()
        };
        (0..count).filter(is_known).collect()
    }

    #[test]
    fn a_failed_insert_leaves_only_its_row_unknown() {
        let dataset = Dataset::empty(rows(10), Share::ALL);
        (0..10).for_each(|_| {
            let row = dataset.next_insert();
            dataset.insert_ended(row, row != 3 && row != 7);
        });
        assert_eq!(known_rows(&dataset, 10), [0, 1, 2, 4, 5, 6, 8, 9]);
        let share = Dataset::empty(rows(10), Share { index: 1, of: 2 });
        (0..5).for_each(|_| {
            let row = share.next_insert();
            share.insert_ended(row, row != 5);
        });
        assert!(!known_rows(&share, 10).contains(&5) && known_rows(&share, 10).len() == 9);
    }

    #[test]
    fn more_failed_inserts_than_are_kept_leave_every_row_unknown() {
        let count = FAILED_INSERTS_MAX as u64 + 2;
        for (acknowledged, known) in [(2, 2), (1, 0)] {
            let dataset = Dataset::empty(rows(count), Share::ALL);
            (0..count).for_each(|row| dataset.insert_ended(dataset.next_insert(), row < acknowledged));
            assert_eq!(known_rows(&dataset, count).len(), known, "{acknowledged} acknowledged");
        }
    }

    #[test]
    fn first_versions_are_known_only_if_nothing_else_was_written() {
        let fill = || {
            let dataset = Dataset::empty(rows(10), Share::ALL);
            (0..10).for_each(|_| dataset.insert_ended(dataset.next_insert(), true));
            dataset
        };
        let known = |dataset: &Dataset| known_rows(dataset, 10).contains(&3);
        assert!(known(&fill()));
        assert!(!known(&Dataset::filled(rows(10), Share::ALL)));
        let updated = fill();
        updated.updated_unaccounted();
        assert!(!known(&updated));
        let given_up = fill();
        assert!(known(&given_up));
        given_up.forget_versions();
        assert!(!known(&given_up), "it may have been written under the first account");
    }
}
