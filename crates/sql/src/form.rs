//! What times are to a statement, which is known once its tables were found.

use crate::tables::{Table, Times};
use crate::time::{self, Moment};
use rusqlite::types::Value;
use std::sync::atomic::{AtomicU8, Ordering};

const ALL: [Times; 3] = [Times::Milliseconds, Times::Texts, Times::PreciseTexts];

/// What times are to a statement.
#[derive(Debug)]
pub(crate) struct Form(AtomicU8);

impl Form {
    pub(crate) fn new(times: Times) -> Self {
        Self(AtomicU8::new(times as u8))
    }

    pub(crate) fn set(&self, times: Times) {
        self.0.store(times as u8, Ordering::Relaxed);
    }

    /// A table has been found.
    pub(crate) fn follow(&self, table: &Table) {
        if self.times() == Times::Milliseconds && table.columns.iter().any(|column| column.kind.is_precise_time()) {
            self.set(Times::PreciseTexts);
        }
    }

    pub(crate) fn times(&self) -> Times {
        ALL[usize::from(self.0.load(Ordering::Relaxed))]
    }

    pub(crate) fn is_precise(&self) -> bool {
        self.times() == Times::PreciseTexts
    }

    /// A time as SQLite has it.
    pub(crate) fn shown(&self, moment: Option<Moment>) -> Value {
        match (moment, self.times()) {
            (None, _) => Value::Null,
            (Some(moment), Times::Milliseconds) => Value::Integer(moment.ms),
            (Some(moment), Times::Texts) => Value::Text(time::format(moment.ms)),
            (Some(moment), Times::PreciseTexts) => Value::Text(moment.format()),
        }
    }
}
