//! The settings that change while a node runs, and all of them as the system's tables show them.

use crate::live_guardrails::LiveGuardrails;
use cql::exec::BatchLimits;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// From when on requests are slow, unless it is set: as in Cassandra.
pub const SLOW_QUERY_THRESHOLD_MS: u32 = 500;

/// The same for all cores of a node. A request reads numbers, without a lock; each counts by itself, so no order is kept among them.
#[derive(Debug, Default)]
pub struct LiveSettings {
    batch_warn_bytes: AtomicU64,
    batch_fail_bytes: AtomicU64,
    unlogged_partitions: AtomicU32,
    slow_query_threshold_ms: AtomicU32,
    guardrails: LiveGuardrails,
    shown: Mutex<Vec<(String, String)>>,
}

impl LiveSettings {
    /// Those that a node starts with. `shown` has all settings by name, for whoever may read the system's tables.
    #[must_use]
    pub fn new(limits: &BatchLimits, shown: Vec<(String, String)>) -> Self {
        Self {
            batch_warn_bytes: limits.warn_bytes.into(),
            batch_fail_bytes: limits.fail_bytes.into(),
            unlogged_partitions: limits.unlogged_partitions.into(),
            slow_query_threshold_ms: SLOW_QUERY_THRESHOLD_MS.into(),
            guardrails: LiveGuardrails::default(),
            shown: Mutex::new(shown),
        }
    }

    /// How large batches of CQL may be.
    #[must_use]
    pub fn batch_limits(&self) -> BatchLimits {
        BatchLimits {
            warn_bytes: self.batch_warn_bytes.load(Ordering::Relaxed),
            fail_bytes: self.batch_fail_bytes.load(Ordering::Relaxed),
            unlogged_partitions: self.unlogged_partitions.load(Ordering::Relaxed),
        }
    }

    /// A batch that writes more bytes is answered with a warning from now on.
    pub fn set_batch_warn_bytes(&self, bytes: u64) {
        self.batch_warn_bytes.store(bytes, Ordering::Relaxed);
    }

    /// A batch that writes more bytes is refused from now on.
    pub fn set_batch_fail_bytes(&self, bytes: u64) {
        self.batch_fail_bytes.store(bytes, Ordering::Relaxed);
    }

    /// An unlogged batch over more partitions is answered with a warning from now on.
    pub fn set_unlogged_partitions(&self, partitions: u32) {
        self.unlogged_partitions.store(partitions, Ordering::Relaxed);
    }

    /// Requests are slow that take longer, in milliseconds; 0 for none.
    #[must_use]
    pub fn slow_query_threshold_ms(&self) -> u32 {
        self.slow_query_threshold_ms.load(Ordering::Relaxed)
    }

    /// Requests are slow from now on that take longer; 0 for none.
    pub fn set_slow_query_threshold_ms(&self, ms: u32) {
        self.slow_query_threshold_ms.store(ms, Ordering::Relaxed);
    }

    /// What clients' statements are not to do.
    #[inline]
    #[must_use]
    pub fn guardrails(&self) -> &LiveGuardrails {
        &self.guardrails
    }

    /// All settings, by name.
    #[must_use]
    pub fn shown(&self) -> Vec<(String, String)> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows another value of a setting.
    pub fn show(&self, name: &str, value: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = shown.iter_mut().find(|(known, _)| known == name) {
            value.clone_into(known);
        }
    }
}

impl From<BatchLimits> for LiveSettings {
    fn from(limits: BatchLimits) -> Self {
        Self::new(&limits, Vec::new())
    }
}
