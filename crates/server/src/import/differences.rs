//! What is not the same on both sides: the first are told, and all are counted.

use super::error::ImportError;
use crate::meter::Meter;
use std::sync::atomic::{AtomicU64, Ordering};

/// That are told.
const TOLD_MAX: u64 = 20;

/// Rows or records that differ, as several jobs find them.
pub(super) struct Differences<'a> {
    meter: &'a Meter,
    count: AtomicU64,
}

impl<'a> Differences<'a> {
    pub(super) fn new(meter: &'a Meter) -> Self {
        Self { meter, count: AtomicU64::new(0) }
    }

    /// Counts one, and tells it if it is one of the first.
    pub(super) fn add(&self, what: &str, text: &str) {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if before < TOLD_MAX {
            self.meter.say(&format!("{what}: {text}"));
        } else if before == TOLD_MAX {
            self.meter.say("there are more, which are counted only");
        }
    }

    /// How a comparison ends of so many `rows`, as the meter has counted them.
    pub(super) fn end(&self, keyspace: &str, rows: &str) -> Result<(), ImportError> {
        match self.count() {
            0 => {
                self.meter.say(&format!("{keyspace}: {} {rows} are the same on both sides", self.meter.amount()));
                Ok(())
            }
            rows => Err(ImportError::NotTheSame { keyspace: keyspace.to_owned(), rows }),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
