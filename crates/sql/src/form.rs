//! What times are to a statement, which is known once its tables were found.

use crate::tables::{Table, Times};
use crate::time::{self, Moment};
use rusqlite::types::Value;
use rusqlite::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is said of other times where times are precise.
pub(crate) const BEYOND: &str =
    "a time is not of the years 0000 to 9999: statements with times more precise than a millisecond have no others";

/// What times are to a statement.
#[derive(Debug)]
pub(crate) struct Form {
    /// Whether they are texts of milliseconds, whatever the statement has.
    is_of_texts: bool,
    is_precise: AtomicBool,
    /// The time zone of what says none: how much later its clocks are than those of UTC.
    zone_ms: i64,
}

impl Form {
    pub(crate) fn new(times: Times, zone_ms: i64) -> Self {
        Self { is_of_texts: times == Times::Texts, is_precise: AtomicBool::new(times == Times::PreciseTexts), zone_ms }
    }

    pub(crate) fn zone_ms(&self) -> i64 {
        self.zone_ms
    }

    /// Something is more precise than a millisecond.
    pub(crate) fn be_precise(&self) {
        self.is_precise.store(true, Ordering::Relaxed);
    }

    /// A table has been found.
    pub(crate) fn follow(&self, table: &Table) {
        if table.columns.iter().any(|column| column.kind.is_precise_time()) {
            self.be_precise();
        }
    }

    pub(crate) fn times(&self) -> Times {
        match (self.is_of_texts, self.is_precise.load(Ordering::Relaxed)) {
            (true, _) => Times::Texts,
            (false, true) => Times::PreciseTexts,
            (false, false) => Times::Milliseconds,
        }
    }

    pub(crate) fn is_precise(&self) -> bool {
        self.times() == Times::PreciseTexts
    }

    /// A time as SQLite has it.
    ///
    /// # Errors
    /// As a text it would not compare as the time does.
    pub(crate) fn shown(&self, moment: Option<Moment>) -> Result<Value> {
        Ok(match (moment, self.times()) {
            (None, _) => Value::Null,
            (Some(moment), Times::Milliseconds) => Value::Integer(moment.ms),
            (Some(moment), Times::Texts) => Value::Text(time::format(moment.ms)),
            (Some(moment), Times::PreciseTexts) if moment.has_comparable_text() => Value::Text(moment.format()),
            (Some(_), Times::PreciseTexts) => return Err(Error::UserFunctionError(BEYOND.into())),
        })
    }
}
