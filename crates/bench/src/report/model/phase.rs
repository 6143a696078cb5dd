//! A phase on a target: what was measured in it, as a whole and second by second.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Connects, looks at the server, makes the schema.
    Check,
    /// A short run whose reads are compared with what was written.
    Validate,
    /// Fills the dataset.
    Load,
    /// Waits until the target has finished compaction or defragmentation.
    Settle,
    /// Empties the caches of target and kernel.
    DropCaches,
    /// The load that is measured.
    Run,
    /// Reads every row once and compares it with what was acknowledged.
    Verify,
}

impl PhaseKind {
    /// As studies and reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Validate => "validate",
            Self::Load => "load",
            Self::Settle => "settle",
            Self::DropCaches => "drop-caches",
            Self::Run => "run",
            Self::Verify => "verify",
        }
    }
}

/// A phase on a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseReport {
    /// Name in the study.
    pub name: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// Seconds between the start of the target's first phase and this one's.
    pub started_s: f64,
    /// How long it took.
    pub seconds: f64,
    /// Whether it ended by itself.
    pub complete: bool,
    /// Of a settle phase: nothing is known of the target's background work, so it was not waited for.
    #[serde(default)]
    pub unknown: bool,
    /// What it was told: threads, connections, in flight, pace, distribution, rows. Name and value as a person reads them.
    pub settings: BTreeMap<String, String>,
    /// Replies a second, all operations together, errors excluded.
    pub throughput: f64,
    /// By operation: `read`, `update`, …
    pub operations: Vec<OperationReport>,
    /// By kind, most frequent first.
    pub errors: Vec<ErrorCount>,
    /// Reads compared with what was written, and those that differed.
    pub verified: Verified,
    /// Standard deviation by mean of the throughput of ten-second windows; absent when there are fewer than two.
    pub variation: Option<f64>,
    /// Throughput of the last tenth by that of the first; absent when the phase is too short.
    pub drift: Option<f64>,
    /// What it took of the target and the client.
    pub resources: Resources,
    /// A second each.
    pub timeline: Vec<Second>,
    /// Events that were made to happen, in order.
    pub events: Vec<Event>,
    /// HdrHistogram log (version 2) beside `report.json`.
    pub histogram_log: Option<String>,
    /// Why the histogram log is not whole, if it isn't; the figures here are.
    #[serde(default)]
    pub histogram_log_failure: Option<String>,
}

impl PhaseReport {
    /// Of a phase that has begun, and of which nothing is known yet.
    #[must_use]
    pub fn begun(name: &str, kind: PhaseKind, started_s: f64) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            started_s,
            seconds: 0.0,
            complete: false,
            unknown: false,
            settings: BTreeMap::new(),
            throughput: 0.0,
            operations: Vec::new(),
            errors: Vec::new(),
            verified: Verified::default(),
            variation: None,
            drift: None,
            resources: Resources::default(),
            timeline: Vec::new(),
            events: Vec::new(),
            histogram_log: None,
            histogram_log_failure: None,
        }
    }
}

/// Something that was done to the target under load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds after the start of the phase.
    pub second: f64,
    /// What was done, for example `kill`.
    pub what: String,
    /// What came of it: name (for example `noticed_s`, `lowest`, `recovered_after_s`) and figure.
    pub figures: BTreeMap<String, f64>,
}

/// One kind of operation in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationReport {
    /// `read`, `update`, `insert`, `scan`, `read-modify-write`.
    pub operation: String,
    /// Replies that were no errors.
    pub replies: u64,
    /// Replies that were errors, and requests without a reply.
    pub errors: u64,
    /// Replies a second.
    pub throughput: f64,
    /// Of replies that were no errors.
    pub latency: Latency,
    /// Latency spectrum: percentile (0 to 100) and microseconds, rising.
    pub spectrum: Vec<(f64, f64)>,
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95 of 100 are not longer.
    pub p95: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// How often something went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// For example `timeout`, `overloaded`, `connection lost`.
    pub kind: String,
    /// How often.
    pub count: u64,
}

/// Reads of a phase that verifies: those that were compared with what had been written, and those that could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Reads of rows of which something was known, or that were found wrong though nothing was.
    pub compared: u64,
    /// Rows that were not there though their write had been acknowledged.
    pub lost: u64,
    /// Rows with an older value than the last one acknowledged.
    pub stale: u64,
    /// Rows with a value that was never written.
    pub wrong: u64,
    /// Reads of rows of which nothing was known: not among those compared. 0 in reports from before they were counted apart.
    #[serde(default)]
    pub unknown: u64,
}

/// What a phase took. Absent: could not be read (a remote target without metrics).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// CPU seconds of the target.
    pub target_cpu_s: Option<f64>,
    /// Largest resident memory of the target.
    pub target_memory_peak: Option<u64>,
    /// Bytes that the target had the device read.
    pub device_read: Option<u64>,
    /// Bytes that the target had the device write.
    pub device_written: Option<u64>,
    /// Bytes that the target's network namespace, or its machines, received: all traffic there, the load's own where it is in the same.
    #[serde(default)]
    pub target_network_received: Option<u64>,
    /// Bytes that were sent from there.
    #[serde(default)]
    pub target_network_sent: Option<u64>,
    /// Bytes that the client received.
    pub network_received: u64,
    /// Bytes that the client sent.
    pub network_sent: u64,
    /// CPU seconds of the client.
    pub client_cpu_s: f64,
    /// How busy the client's busiest thread was, 0 to 1.
    pub client_busiest: f64,
    /// Whether the client was the limit.
    pub client_limited: bool,
}

/// A second of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds after the start of the phase, at its end.
    pub second: f64,
    /// Replies that were no errors and their latencies, by operation.
    pub operations: BTreeMap<String, SecondOperation>,
    /// Errors.
    pub errors: u64,
    /// CPU seconds that the target took in it.
    pub target_cpu_s: Option<f64>,
    /// Resident memory of the target.
    pub target_memory: Option<u64>,
    /// Bytes that the target had the device read in it.
    pub device_read: Option<u64>,
    /// Bytes that the target had the device write in it.
    pub device_written: Option<u64>,
    /// Bytes that the target's network namespace, or its machines, received in it.
    #[serde(default)]
    pub target_network_received: Option<u64>,
    /// Bytes that were sent from there in it.
    #[serde(default)]
    pub target_network_sent: Option<u64>,
}

/// One operation in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondOperation {
    /// Replies that were no errors.
    pub replies: u64,
    /// Their latencies.
    pub p50: f64,
    /// 95 of 100.
    pub p95: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}
