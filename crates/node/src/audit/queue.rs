//! The queue from a core to the writer: lines of a turn at once, bounded by their bytes.

use super::AuditFilter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

/// What happens to a line that does not fit into a core's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is dropped, and counted.
    Drop,
    /// It is queued, and no further request is served on that core until the writer has caught up.
    Block,
}

/// How a node audits.
#[derive(Clone, Debug)]
pub struct AuditConfig {
    /// Which lines are wanted.
    pub filter: AuditFilter,
    /// What happens when the writer does not keep up.
    pub when_full: WhenFull,
    /// A core may have queued so many bytes.
    pub queue_bytes_max: usize,
    /// Lines that all cores have dropped since the writer told of it.
    pub untold: Arc<AtomicU64>,
    /// To the writer.
    pub writer: Sender<AuditMessage>,
}

/// What the writer is told.
#[derive(Debug)]
pub enum AuditMessage {
    /// Lines to write.
    Lines(Lines),
    /// No more come.
    End,
}

/// What a core has queued, and what it has dropped.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) queued_bytes: AtomicUsize,
    pub(super) dropped: AtomicU64,
}

/// Whole lines of one core. They count as queued as long as this lives.
#[derive(Debug)]
pub struct Lines {
    pub(super) text: String,
    pub(super) account: Arc<Account>,
}

impl Lines {
    /// The lines, each with its end.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// So many of them cannot be written: they count as dropped.
    pub fn give_up(&self, count: u64) {
        self.account.dropped.fetch_add(count, Ordering::Relaxed);
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.account.queued_bytes.fetch_sub(self.text.len(), Ordering::Release);
    }
}
