//! How far a copy has come, told once a second.

use crate::service_manager;
use crate::size::Size;
use base::SLOT_COUNT;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it is told.
const EVERY: Duration = Duration::from_secs(1);

/// What threads count, and whether one has failed.
#[derive(Default)]
pub(super) struct Progress {
    rows: AtomicU64,
    bytes: AtomicU64,
    slots: AtomicU64,
    has_failed: AtomicBool,
    has_ended: Mutex<bool>,
    ended: Condvar,
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

    /// Nothing more is told.
    pub(super) fn end(&self) {
        *self.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.notify_all();
    }

    /// Tells the progress until the end.
    pub(super) fn tell(&self, former: u16, cores: u16) {
        let start = Instant::now();
        let mut ended = self.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            self.log(former, cores, start);
            ended = self.ended.wait_timeout(ended, EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.log(former, cores, start);
    }

    fn log(&self, former: u16, cores: u16, start: Instant) {
        let [rows, bytes, slots] = [&self.rows, &self.bytes, &self.slots].map(|count| count.load(Ordering::Relaxed));
        let percent = slots * 100 / u64::from(SLOT_COUNT);
        let (bytes, seconds) = (Size(bytes), start.elapsed().as_secs());
        tracing::info!(former, cores, percent, rows, %bytes, seconds, "copying the data for another number of cores");
        service_manager::starting(&format!("copying the data from {former} to {cores} cores: {percent} %"), 10 * EVERY);
    }
}
