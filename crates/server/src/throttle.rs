//! So much a second, over all threads that ask.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lets so much pass in a second: bytes, or rows.
pub(crate) struct Throttle {
    per_s: Option<u64>,
    next: Mutex<Instant>,
}

impl Throttle {
    /// Without a limit nobody waits.
    pub(crate) fn new(per_s: Option<u64>) -> Self {
        Self { per_s, next: Mutex::new(Instant::now()) }
    }

    /// Waits until this may pass.
    pub(crate) fn pass(&self, amount: usize) {
        let Some(per_s) = self.per_s else { return };
        let until = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            *next = (*next).max(Instant::now()) + Duration::from_secs_f64(amount as f64 / per_s as f64);
            *next
        };
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}
