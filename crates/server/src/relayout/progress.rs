//! How far a copy has come, told once a second.

use crate::service_manager;
use crate::size::Size;
use base::SLOT_COUNT;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Has somebody told once a second how far something has come, until it has ended.
#[derive(Default)]
pub(super) struct Teller {
    has_ended: Mutex<bool>,
    ended: Condvar,
}

impl Teller {
    /// How often it is told.
    pub(super) const EVERY: Duration = Duration::from_secs(1);

    /// Nothing more is told.
    pub(super) fn end(&self) {
        *self.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.notify_all();
    }

    /// Tells until the end. `say` gets the seconds since this began.
    pub(super) fn tell(&self, say: impl Fn(u64)) {
        let start = Instant::now();
        let mut ended = self.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            say(start.elapsed().as_secs());
            ended = self.ended.wait_timeout(ended, Self::EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        say(start.elapsed().as_secs());
    }
}

/// What threads count, and whether one has failed.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) teller: Teller,
    rows: AtomicU64,
    bytes: AtomicU64,
    slots: AtomicU64,
    has_failed: AtomicBool,
}

impl Progress {
    /// Rows were read and are on their way.
    pub(super) fn copied(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// All rows of a slot were read.
    pub(super) fn slot_done(&self) {
        self.slots.fetch_add(1, Ordering::Relaxed);
    }

    /// The others need not go on.
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Tells what there is after so many seconds.
    pub(super) fn log(&self, former: u16, cores: u16, seconds: u64) {
        let [rows, bytes, slots] = [&self.rows, &self.bytes, &self.slots].map(|count| count.load(Ordering::Relaxed));
        let percent = slots * 100 / u64::from(SLOT_COUNT);
        let bytes = Size(bytes);
        tracing::info!(former, cores, percent, rows, %bytes, seconds, "copying the data for another number of cores");
        service_manager::starting(&format!("copying the data from {former} to {cores} cores: {percent} %"), 10 * Teller::EVERY);
    }
}
