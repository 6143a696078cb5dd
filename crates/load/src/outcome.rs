//! What a load came to.

use crate::latency::{Histogram, Summary};
use crate::workload::OperationKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// A load that was carried out, wholly or until something stopped it.
#[derive(Debug)]
pub struct Outcome {
    /// When its first request was due.
    pub started: SystemTime,
    /// From then until the last reply.
    pub elapsed_s: f64,
    /// Why it ended.
    pub ended: Ended,
    /// In order, none missing; the last one may be shorter.
    pub seconds: Vec<Second>,
    /// Latencies of all replies that were no errors, in nanoseconds. Every operation of the mix is there.
    pub latencies: BTreeMap<OperationKind, Histogram>,
    /// Errors by operation.
    pub failed: BTreeMap<OperationKind, u64>,
    /// Errors by kind: the protocol's own names, `timeout`, `connection lost`, `not found`, `short row`.
    pub errors: BTreeMap<String, u64>,
    /// What the first error of each kind said.
    pub error_examples: BTreeMap<String, String>,
    /// Reads compared with what had been written.
    pub verified: Verified,
    /// Bytes handed to the kernel.
    pub bytes_sent: u64,
    /// Bytes that came.
    pub bytes_received: u64,
    /// Connections that were made again after they broke.
    pub reconnects: u64,
    /// Each thread's use of its CPU; of all agents one after another.
    pub threads: Vec<ThreadUse>,
}

impl Outcome {
    /// Replies that were no errors.
    #[must_use]
    pub fn replies(&self) -> u64 {
        self.latencies.values().map(Histogram::len).sum()
    }

    /// Errors of all kinds.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// CPU seconds of all threads.
    #[must_use]
    pub fn client_cpu_s(&self) -> f64 {
        self.threads.iter().map(|thread| thread.cpu_s).sum()
    }

    /// The busiest thread's share of a CPU, 0 to 1. Close to one: the client was the limit.
    #[must_use]
    pub fn client_busiest(&self) -> f64 {
        self.threads.iter().map(ThreadUse::busy).fold(0.0, f64::max)
    }
}

/// Why a load ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// As planned.
    Finished,
    /// [`crate::Control::stop`] was called.
    Stopped,
    /// No reply came for too long, or the target turned its clients away; in words.
    TargetDied(String),
    /// A load machine was lost; in words.
    AgentLost(String),
}

/// A second of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds between the load's start and this one's.
    pub start_s: f64,
    /// One, but for the last.
    pub length_s: f64,
    /// Replies that were no errors, by when they came. Every operation of the mix is there.
    pub operations: BTreeMap<OperationKind, Summary>,
    /// Errors.
    pub errors: u64,
}

/// Reads of a load that verifies: those that were compared with what had been written, and those that could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Reads of rows of which at least one field was known when the read was sent, and those that were found wrong though nothing was.
    pub compared: u64,
    /// Rows that were not there though their write had been acknowledged.
    pub lost: u64,
    /// Rows with an older value than the last one acknowledged.
    pub stale: u64,
    /// Rows with a value that was never written.
    pub wrong: u64,
    /// Reads of rows of which nothing was known: not among those compared, and nothing is said of lost or stale ones.
    pub unknown: u64,
}

impl std::ops::AddAssign for Verified {
    fn add_assign(&mut self, other: Self) {
        self.compared += other.compared;
        self.lost += other.lost;
        self.stale += other.stale;
        self.wrong += other.wrong;
        self.unknown += other.unknown;
    }
}

/// What a thread of the load generator used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// CPU seconds, user and system.
    pub cpu_s: f64,
    /// Seconds on the wall.
    pub wall_s: f64,
}

impl ThreadUse {
    /// Share of a CPU, 0 to 1.
    #[must_use]
    pub fn busy(&self) -> f64 {
        if self.wall_s > 0.0 { (self.cpu_s / self.wall_s).min(1.0) } else { 0.0 }
    }
}
