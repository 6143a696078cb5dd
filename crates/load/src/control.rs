//! What the caller of a load can do while it runs: stop it, look at it, hear of each second.

use crate::latency::Histogram;
use crate::outcome::Second;
use crate::workload::OperationKind;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A handle on a load; any thread (that of Ctrl-C, that of a progress bar) may use it.
#[derive(Debug, Default)]
pub struct Control {
    stopped: AtomicBool,
    counters: Counters,
}

/// Written once a batch of replies, on a line of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counters {
    replies: AtomicU64,
    errors: AtomicU64,
}

/// How far a load is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Replies that were no errors.
    pub replies: u64,
    /// Errors.
    pub errors: u64,
}

impl Control {
    /// A handle for one load.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No further requests: the load ends when those in flight have replies, at most a second later.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Whether [`Control::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress { replies: self.counters.replies.load(Relaxed), errors: self.counters.errors.load(Relaxed) }
    }

    /// Adds a batch of replies.
    pub(crate) fn add(&self, replies: u64, errors: u64) {
        self.counters.replies.fetch_add(replies, Relaxed);
        if errors > 0 {
            self.counters.errors.fetch_add(errors, Relaxed);
        }
    }
}

/// Hears of a load on the thread that called [`crate::run`].
pub trait Observer {
    /// All connections can be used; the load starts when this returns.
    fn ready(&mut self) {}

    /// A second is complete, with the latencies in it. Seconds come in order, none is left out, about a second late.
    fn second(&mut self, _second: &Second, _latencies: &BTreeMap<OperationKind, Histogram>) {}
}

/// Hears nothing.
impl Observer for () {}
