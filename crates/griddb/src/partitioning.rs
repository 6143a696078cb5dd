//! Tables whose rows are divided into data partitions: by intervals of a column, by a hash of one, or by intervals and then by a hash.
//!
//! A data partition is one partition of the table, in CQL's sense; all of them have numbers, which are given in turn and never again. Whoever writes or reads rows
//! finds the data partition by the row; a member checks that a row is where it belongs.
//!
//! | line of the text form | what |
//! |---|---|
//! | `interval`, width, unit or `-`, column | an interval has so many of them |
//! | `hash`, count, column | each interval has so many data partitions; or the table, if it has no intervals |
//! | `expires`, time, unit | how long after its interval's end a row is there |
//! | `next`, number | of the next data partition |
//! | `part`, interval, number | the first data partition of an interval: those of the hash follow |
//! | `gone`, interval, number | the same of one that was dropped |
//!
//! An interval is a value of its column divided by the width, rounded down. Times count in milliseconds.

mod check;
mod place;
mod text;

#[cfg(test)]
mod tests;

use crate::{ErrorCode, GridError};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The most data partitions of a hash.
pub const HASH_COUNT_MAX: u32 = 1_024;
/// How many data partitions a table has at most.
pub const PARTS_MAX: usize = 10_000;
/// How many it may ever have had: their numbers are parts of others.
const NUMBERS_MAX: u32 = 1 << 27;
/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;

/// The unit of intervals of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum IntervalUnit {
    Day,
    Hour,
}

impl IntervalUnit {
    const ALL: [(Self, &'static str); 2] = [(Self::Day, "DAY"), (Self::Hour, "HOUR")];

    /// The unit of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(unit, _)| *unit)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(unit, _)| *unit == self).map_or("", |(_, name)| name)
    }

    fn ms(self) -> i64 {
        match self {
            Self::Day => 24 * HOUR_MS,
            Self::Hour => HOUR_MS,
        }
    }
}

/// Units of the time after which rows expire, and their milliseconds.
const EXPIRATION_UNITS: [(&str, i64); 5] =
    [("DAY", 24 * HOUR_MS), ("HOUR", HOUR_MS), ("MINUTE", 60_000), ("SECOND", 1_000), ("MILLISECOND", 1)];

/// How long rows are there after the end of their interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiration {
    /// So many.
    pub time: u32,
    unit: usize,
}

impl Expiration {
    /// So many of a unit; none if there is no such unit.
    #[must_use]
    pub fn new(time: u32, unit: &str) -> Option<Self> {
        let unit = EXPIRATION_UNITS.iter().position(|(known, _)| known.eq_ignore_ascii_case(unit))?;
        Some(Self { time, unit })
    }

    /// The unit's name.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        EXPIRATION_UNITS[self.unit].0
    }

    fn ms(&self) -> i64 {
        i64::from(self.time) * EXPIRATION_UNITS[self.unit].1
    }
}

/// A division by intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// The column.
    pub column: String,
    /// How many values, or units, an interval has.
    pub every: i64,
    /// The unit, of a column of times.
    pub unit: Option<IntervalUnit>,
}

impl Intervals {
    /// The width, as the column's values count; none if it is too large.
    fn width(&self) -> Option<i64> {
        self.every.checked_mul(self.unit.map_or(1, IntervalUnit::ms)).filter(|width| *width > 0)
    }
}

/// A division by a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashDivision {
    /// The column.
    pub column: String,
    /// How many data partitions.
    pub count: u32,
}

/// How a table's rows are divided, and the data partitions that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    intervals: Option<Intervals>,
    hash: Option<HashDivision>,
    expiration: Option<Expiration>,
    /// The first data partition of each interval; of a table without intervals that of the only one, 0.
    first: BTreeMap<i64, u32>,
    /// The same of those that were dropped: rows may still be there, and none come again.
    dropped: BTreeMap<i64, u32>,
    next: u32,
}

/// A change of a table's data partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Division {
    /// Make those of these intervals, unless they are there.
    Add(Vec<i64>),
    /// Drop those of this one.
    Drop(i64),
}

impl Partitioning {
    /// A division that has data partitions from the beginning if it is by a hash alone.
    #[must_use]
    pub fn new(intervals: Option<Intervals>, hash: Option<HashDivision>, expiration: Option<Expiration>) -> Self {
        let mut new = Self { intervals, hash, expiration, first: BTreeMap::new(), dropped: BTreeMap::new(), next: 0 };
        if new.intervals.is_none() {
            new.first.insert(0, 0);
            new.next = new.count();
        }
        new
    }

    /// The division by intervals, if there is one.
    #[must_use]
    pub fn intervals(&self) -> Option<&Intervals> {
        self.intervals.as_ref()
    }

    /// The division by a hash, if there is one.
    #[must_use]
    pub fn hash(&self) -> Option<&HashDivision> {
        self.hash.as_ref()
    }

    /// When rows expire, if they do.
    #[must_use]
    pub fn expiration(&self) -> Option<&Expiration> {
        self.expiration.as_ref()
    }

    /// Whether a column says where a row is.
    #[must_use]
    pub fn is_by(&self, column: &str) -> bool {
        self.columns().any(|own| own.eq_ignore_ascii_case(column))
    }

    /// A column has another name now.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        let intervals = self.intervals.iter_mut().map(|intervals| &mut intervals.column);
        let all = intervals.chain(self.hash.iter_mut().map(|hash| &mut hash.column));
        all.filter(|column| column.eq_ignore_ascii_case(from)).for_each(|column| to.clone_into(column));
    }

    fn columns(&self) -> impl Iterator<Item = &str> {
        let intervals = self.intervals.iter().map(|intervals| &*intervals.column);
        intervals.chain(self.hash.iter().map(|hash| &*hash.column))
    }

    /// Data partitions of an interval.
    fn count(&self) -> u32 {
        self.hash.as_ref().map_or(1, |hash| hash.count)
    }

    /// All data partitions with their intervals, in their order.
    pub fn parts(&self) -> impl Iterator<Item = (i64, u32)> + '_ {
        self.parts_between(Bound::Unbounded, Bound::Unbounded, None)
    }

    /// Those of some intervals; with `hash`, that one of each.
    pub fn parts_between(&self, from: Bound<i64>, to: Bound<i64>, hash: Option<u32>) -> impl Iterator<Item = (i64, u32)> + '_ {
        let is_empty = match (from, to) {
            (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) if from > to => true,
            (Bound::Excluded(from), Bound::Excluded(to)) => from == to,
            _ => false,
        };
        let range = if is_empty { (Bound::Included(0), Bound::Excluded(0)) } else { (from, to) };
        let count = self.count();
        let parts = move |first: u32| hash.map_or(first..first + count, |hash| first + hash..first + hash + 1);
        self.first.range(range).flat_map(move |(interval, first)| parts(*first).map(|part| (*interval, part)))
    }

    /// Those that were dropped, with their intervals.
    pub(crate) fn dropped_parts(&self) -> impl Iterator<Item = (i64, u32)> + '_ {
        let count = self.count();
        self.dropped.iter().flat_map(move |(interval, first)| (*first..first + count).map(|part| (*interval, part)))
    }

    /// Whether an interval has data partitions.
    #[must_use]
    pub fn has(&self, interval: i64) -> bool {
        self.first.contains_key(&interval)
    }

    /// The number of the next data partition that will be made.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// The data partition of a place, if it is there.
    #[must_use]
    pub fn part(&self, interval: i64, hash: u32) -> Option<u32> {
        self.first.get(&interval).map(|first| first + hash)
    }

    /// The least value of an interval, and the one after the greatest.
    #[must_use]
    pub fn bounds(&self, interval: i64) -> Option<(i64, i64)> {
        let width = self.intervals.as_ref()?.width()?;
        Some((interval.saturating_mul(width), interval.saturating_add(1).saturating_mul(width)))
    }

    /// When the rows of an interval are gone: seconds since the epoch; none if never.
    #[must_use]
    pub fn expires_at_s(&self, interval: i64) -> Option<u32> {
        let expiration = self.expiration.as_ref()?;
        let (_, end_ms) = self.bounds(interval)?;
        let gone_s = end_ms.saturating_add(expiration.ms()).saturating_add(999).div_euclid(1_000);
        Some(gone_s.clamp(0, i64::from(u32::MAX)) as u32)
    }

    /// Whether the rows of an interval are gone, and those that are put are gone at once.
    #[must_use]
    pub fn is_expired(&self, interval: i64, now_s: u32) -> bool {
        self.expires_at_s(interval).is_some_and(|gone_s| gone_s <= now_s)
    }

    /// Makes a change of the data partitions; false if it changes nothing. Intervals whose rows have expired need none: they are forgotten.
    ///
    /// # Errors
    /// There would be too many, or an interval was dropped or is not there.
    pub fn change(&mut self, change: &Division, now_s: u32) -> Result<bool, GridError> {
        match change {
            Division::Add(intervals) => self.add(intervals, now_s),
            Division::Drop(interval) => self.drop_interval(*interval),
        }
    }

    fn add(&mut self, intervals: &[i64], now_s: u32) -> Result<bool, GridError> {
        if self.intervals.is_none() {
            return Err(not_of_intervals());
        }
        let mut is_changed = false;
        for interval in intervals.iter().copied() {
            if self.is_expired(interval, now_s) || self.has(interval) {
                continue;
            }
            self.check_not_dropped(interval)?;
            if !is_changed {
                let mut first = std::mem::take(&mut self.first);
                first.retain(|interval, _| !self.is_expired(*interval, now_s));
                (self.first, is_changed) = (first, true);
            }
            let count = self.count();
            if (self.first.len() + 1) * count as usize > PARTS_MAX || self.next > NUMBERS_MAX - count {
                let message = format!("a table has at most {PARTS_MAX} data partitions: drop those that are not needed");
                return Err(GridError::new(ErrorCode::SQL_TABLE_PARTITION_MAX_ASSIGN_COUNT, message));
            }
            self.first.insert(interval, self.next);
            self.next += count;
        }
        Ok(is_changed)
    }

    /// Refuses an interval that was dropped.
    ///
    /// # Errors
    /// It was.
    pub fn check_not_dropped(&self, interval: i64) -> Result<(), GridError> {
        if !self.dropped.contains_key(&interval) {
            return Ok(());
        }
        let (from, to) = self.bounds(interval).unwrap_or_default();
        let column = self.intervals.as_ref().map_or("", |intervals| &intervals.column);
        let message = format!("the data partition of {column} from {from} to before {to} was dropped: rows of it cannot be put any more");
        Err(GridError::new(ErrorCode::SQL_TABLE_PARTITION_ALREADY_REMOVED, message))
    }

    fn drop_interval(&mut self, interval: i64) -> Result<bool, GridError> {
        if self.intervals.is_none() {
            return Err(not_of_intervals());
        }
        self.check_not_dropped(interval)?;
        let Some(first) = self.first.remove(&interval) else {
            let message = "the table has no data partition of this value: \"#table_partitions\" shows those that there are";
            return Err(GridError::new(ErrorCode::SQL_DDL_INVALID_PARAMETER, message));
        };
        self.dropped.insert(interval, first);
        Ok(true)
    }
}

fn not_of_intervals() -> GridError {
    let message = "the table is not partitioned by intervals: it keeps its data partitions";
    GridError::new(ErrorCode::SQL_DDL_INVALID_PARTITIONING_TABLE_TYPE, message)
}
