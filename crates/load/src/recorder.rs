//! What one thread measures: latencies and errors of the second that it is in, handed over when the second is past.

use crate::latency::{Histogram, histogram};
use crate::workload::OperationKind;
use std::collections::BTreeMap;

/// A second of one thread, or of one load machine.
#[derive(Debug)]
pub(crate) struct Part {
    /// Which, from the load's start.
    pub(crate) second: u64,
    /// One, but for the last.
    pub(crate) length_s: f64,
    /// Of replies that were no errors. Every operation of the mix is there.
    pub(crate) latencies: BTreeMap<OperationKind, Histogram>,
    /// Errors by operation.
    pub(crate) failed: BTreeMap<OperationKind, u64>,
    /// Errors by kind.
    pub(crate) errors: BTreeMap<String, Errors>,
}

/// Errors of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Errors {
    pub(crate) count: u64,
    /// What the first one said.
    pub(crate) example: String,
}

/// A thread's current second.
#[derive(Debug)]
pub(crate) struct Recorder {
    second: u64,
    /// By [`OperationKind`] as a number.
    current: [Option<Histogram>; OperationKind::COUNT],
    failed: BTreeMap<OperationKind, u64>,
    errors: BTreeMap<&'static str, Errors>,
    /// Since [`Recorder::take_batch`].
    replies: u64,
    failures: u64,
}

impl Recorder {
    pub(crate) fn new(kinds: impl Iterator<Item = OperationKind>) -> Self {
        let mut current = [const { None }; OperationKind::COUNT];
        kinds.for_each(|kind| current[kind as usize] = Some(histogram()));
        Self { second: 0, current, failed: BTreeMap::new(), errors: BTreeMap::new(), replies: 0, failures: 0 }
    }

    /// A reply that was no error.
    #[inline]
    pub(crate) fn reply(&mut self, kind: OperationKind, latency_ns: u64) {
        let histogram = self.current[kind as usize].as_mut().expect("only operations of the mix are sent");
        histogram.saturating_record(latency_ns);
        self.replies += 1;
    }

    /// An error, or a request that will have no reply.
    pub(crate) fn error(&mut self, kind: OperationKind, error: &'static str, message: &str) {
        *self.failed.entry(kind).or_default() += 1;
        self.count(error, message, 1);
    }

    /// Errors of requests that were never made.
    pub(crate) fn count(&mut self, error: &'static str, message: &str, count: u64) {
        let errors = self.errors.entry(error).or_insert_with(|| Errors { count: 0, example: message.to_owned() });
        errors.count += count;
        self.failures += count;
    }

    /// How many there are for the next [`Recorder::take_batch`].
    pub(crate) fn batch(&self) -> u64 {
        self.replies + self.failures
    }

    /// Replies and errors since the last call.
    pub(crate) fn take_batch(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.replies), std::mem::take(&mut self.failures))
    }

    /// Ends the second.
    pub(crate) fn take(&mut self) -> Part {
        let second = self.second;
        self.second += 1;
        let kinds = OperationKind::ALL.iter().zip(&mut self.current);
        let latencies = kinds.filter_map(|(kind, current)| Some((*kind, std::mem::replace(current.as_mut()?, histogram())))).collect();
        let errors = std::mem::take(&mut self.errors).into_iter().map(|(kind, errors)| (kind.to_owned(), errors)).collect();
        Part { second, length_s: 1.0, latencies, failed: std::mem::take(&mut self.failed), errors }
    }

    /// Ends the last second, in which nothing came after `last_reply_ns`; none if nothing was in it at all.
    pub(crate) fn take_last(&mut self, last_reply_ns: u64) -> Option<Part> {
        let second = self.second;
        let mut part = self.take();
        let is_empty = part.errors.is_empty() && part.latencies.values().all(Histogram::is_empty);
        part.length_s = (last_reply_ns as f64 / 1e9 - second as f64).clamp(0.0, 1.0);
        (second == 0 || !is_empty).then_some(part)
    }
}
