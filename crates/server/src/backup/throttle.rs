//! So many bytes a second, over all threads that ask.

use super::error::BackupError;
use crate::size::Size;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So much passes at a time: a slow stream still moves often enough for those who watch it.
pub(crate) const PIECE_BYTES: usize = 64 << 10;
const BYTES_PER_S_LEAST: u64 = 64 << 10;

/// Lets so many bytes a second pass.
pub(crate) struct Throttle {
    bytes_per_s: Option<u64>,
    next: Mutex<Instant>,
}

impl Throttle {
    pub(crate) fn new(limit: Option<Size>) -> Result<Self, BackupError> {
        match limit {
            Some(Size(given)) if given < BYTES_PER_S_LEAST => Err(BackupError::RateLimit { given, least: BYTES_PER_S_LEAST }),
            _ => Ok(Self { bytes_per_s: limit.map(|limit| limit.0), next: Mutex::new(Instant::now()) }),
        }
    }

    /// Waits until these bytes may pass.
    pub(crate) fn pass(&self, bytes: usize) {
        let Some(bytes_per_s) = self.bytes_per_s else { return };
        let until = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            *next = (*next).max(Instant::now()) + Duration::from_secs_f64(bytes as f64 / bytes_per_s as f64);
            *next
        };
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}
