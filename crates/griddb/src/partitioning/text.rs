//! The text form: an option of the table has it, and statements of this server's own.

use super::{Division, Expiration, HASH_COUNT_MAX, HashDivision, IntervalUnit, Intervals, PARTS_MAX, Partitioning};
use crate::GridError;
use std::collections::BTreeMap;
use std::fmt::Write;

impl Partitioning {
    /// The text form.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            // Nothing fails that writes to a text.
            let _ = writeln!(text, "{line}");
        };
        if let Some(Intervals { column, every, unit }) = &self.intervals {
            line(format_args!("interval {every} {} {column}", unit.map_or("-", IntervalUnit::name)));
        }
        if let Some(HashDivision { column, count }) = &self.hash {
            line(format_args!("hash {count} {column}"));
        }
        if let Some(expiration) = &self.expiration {
            line(format_args!("expires {} {}", expiration.time, expiration.unit()));
        }
        line(format_args!("next {}", self.next));
        self.first.iter().for_each(|(interval, first)| line(format_args!("part {interval} {first}")));
        self.dropped.iter().for_each(|(interval, first)| line(format_args!("gone {interval} {first}")));
        text
    }

    /// Reads the text form; none of what is none.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let (mut intervals, mut hash, mut expiration, mut next) = (None, None, None, 0_u32);
        let (mut first, mut dropped) = (BTreeMap::new(), BTreeMap::new());
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ')?;
            let (word, others) = rest.split_once(' ').unwrap_or((rest, ""));
            match kind {
                "interval" => {
                    let (unit, column) = others.split_once(' ')?;
                    let unit = if unit == "-" { None } else { Some(IntervalUnit::of_name(unit)?) };
                    intervals = Some(Intervals { column: column.to_owned(), every: word.parse().ok()?, unit });
                }
                "hash" => hash = Some(HashDivision { column: others.to_owned(), count: word.parse().ok()? }),
                "expires" => expiration = Some(Expiration::new(word.parse().ok()?, others)?),
                "next" => next = word.parse().ok()?,
                "part" => drop(first.insert(word.parse().ok()?, others.parse().ok()?)),
                "gone" => drop(dropped.insert(word.parse().ok()?, others.parse().ok()?)),
                _ => return None,
            }
        }
        let read = Self { intervals, hash, expiration, first, dropped, next };
        read.is_sound().then_some(read)
    }

    /// Whether it can be one: nothing that follows from it is out of bounds.
    fn is_sound(&self) -> bool {
        let has_width = self.intervals.as_ref().is_none_or(|intervals| intervals.width().is_some());
        let has_count = self.hash.as_ref().is_none_or(|hash| (1..=HASH_COUNT_MAX).contains(&hash.count));
        let is_below = |first: &u32| first.checked_add(self.count()).is_some_and(|end| end <= self.next);
        (self.intervals.is_some() || self.hash.is_some())
            && has_width
            && has_count
            && self.next <= super::NUMBERS_MAX
            && self.first.values().chain(self.dropped.values()).all(is_below)
    }
}

impl Division {
    /// What a statement says.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Add(intervals) => intervals.iter().fold("add".to_owned(), |text, interval| format!("{text} {interval}")),
            Self::Drop(interval) => format!("drop {interval}"),
        }
    }

    /// Reads what a statement says.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn of_text(text: &str) -> Result<Self, GridError> {
        let malformed = || GridError::malformed("a change of data partitions that is not known");
        let mut words = text.split(' ');
        let kind = words.next();
        let intervals: Vec<i64> = words.map(str::parse).collect::<Result<_, _>>().map_err(|_| malformed())?;
        match (kind, &intervals[..]) {
            (Some("add"), intervals) if intervals.len() <= PARTS_MAX => Ok(Self::Add(intervals.to_vec())),
            (Some("drop"), [interval]) => Ok(Self::Drop(*interval)),
            _ => Err(malformed()),
        }
    }
}
