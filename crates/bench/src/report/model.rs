//! `report.json`: the schema of a report, documented for readers in `docs/reference/bench-report.md`.
//!
//! Durations are seconds, latencies microseconds, sizes bytes, unless a field's name says otherwise. Fields are added, never renamed or
//! removed, while `schema` stays the same.

mod phase;

pub use phase::{ErrorCount, Event, Latency, OperationReport, PhaseKind, PhaseReport, Resources, Second, SecondOperation, Verified};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of this schema.
pub const SCHEMA: u32 = 1;

/// A run of a study on one or more targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was run.
    pub study: StudyInfo,
    /// Version and commit of the tool.
    pub tool: String,
    /// The command line.
    pub command: Vec<String>,
    /// When the run started, RFC 3339, UTC.
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// Factor on the study's number of rows and operations.
    pub scale: f64,
    /// Whether every phase on every target was finished.
    pub complete: bool,
    /// What a reader must know first: interrupted, client was the limit, target died.
    pub warnings: Vec<String>,
    /// The machine: CPU, cores, memory, kernel, device, file system. Name and value as a person reads them.
    pub environment: BTreeMap<String, String>,
    /// How often all phases of the study are run on each target: its rounds.
    #[serde(default = "one")]
    pub repeats: u32,
    /// What was measured, one for each round of each target; a study of several sizes has a target for each size.
    pub targets: Vec<TargetReport>,
    /// Ratios between targets beside the paper's.
    pub ratios: Vec<Ratio>,
    /// Flags that figures depend on, beside scale and study: `--memory`, `--server-cpus`, `--load-cpus`, `--agent`, `--seed`. A run goes on only
    /// with the same. Empty in reports of versions that did not keep them.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

fn one() -> u32 {
    1
}

/// A study as it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyInfo {
    /// Name, as `tarndb bench run` takes it.
    pub name: String,
    /// One line.
    pub title: String,
    /// What the study asks and how, a paragraph or two of plain text.
    pub description: String,
    /// The publication that it reproduces.
    pub paper: Option<Paper>,
    /// The file, after scale and flags: running it again repeats the run.
    pub file: String,
}

/// A publication and the figures in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// Title, publisher, date.
    pub citation: String,
    /// Where it is.
    pub url: String,
    /// What it ran on.
    pub setup: String,
    /// Its own result table.
    pub results: Vec<PaperResult>,
}

/// A figure of a publication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperResult {
    /// Whose.
    pub system: String,
    /// Nodes.
    pub nodes: Option<u32>,
    /// What was measured, as in [`Ratio::measure`].
    pub measure: String,
    /// The figure.
    pub value: f64,
    /// `ops/s`, `ms`, `$/100M`, …
    pub unit: String,
}

/// How two targets compare. With several rounds figures are medians of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// For example `run throughput`, `run read p95`, `load throughput`, `load throughput with settling`.
    pub measure: String,
    /// Name of the target that should win.
    pub subject: String,
    /// Name of the target that it is compared with.
    pub baseline: String,
    /// The subject's figure.
    pub subject_value: Option<f64>,
    /// The baseline's figure.
    pub baseline_value: Option<f64>,
    /// Unit of both.
    pub unit: String,
    /// How many times better the subject is: for latencies the inverse of their quotient. With several rounds the median of their ratios.
    pub measured: Option<f64>,
    /// How many times better the paper's winner is.
    pub paper: Option<f64>,
    /// How far the subject's figures of the rounds lie apart; absent with one round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_spread: Option<Spread>,
    /// How far the baseline's lie apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_spread: Option<Spread>,
    /// How far the ratios of the rounds lie apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_spread: Option<Spread>,
}

/// How far a figure of several rounds lies apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Of the round where it is lowest.
    pub lowest: f64,
    /// Of the round where it is highest.
    pub highest: f64,
    /// Rounds that have the figure.
    pub rounds: u32,
}

/// What was measured on a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetReport {
    /// Name in this report, for example `tarndb`, `cassandra`.
    pub name: String,
    /// What `--target` says of it, its options among it: without user and password, process and metrics. Empty in reports of versions that did not
    /// keep it.
    #[serde(default)]
    pub given: String,
    /// Protocol, for example `cql`.
    pub protocol: String,
    /// Addresses of its nodes, comma between them, as clients have them at first.
    pub address: String,
    /// Product and version as the server says it.
    pub server: String,
    /// Nodes of the target.
    pub nodes: u32,
    /// Which run of the study's phases on the target this is, from 1.
    #[serde(default = "one")]
    pub round: u32,
    /// Everything needed to set the target up again: flags, configuration, limits; `tables`, if the rows are spread over more than one.
    pub settings: BTreeMap<String, String>,
    /// In the order in which they ran.
    pub phases: Vec<PhaseReport>,
    /// Cost of 100 million operations by phase, if the study has a cost model.
    pub costs: Vec<Cost>,
    /// Why it was given up, if it was.
    pub failure: Option<String>,
}

/// What 100 million operations cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Phase.
    pub phase: String,
    /// Dollars for a node and an hour.
    pub node_hour: f64,
    /// Dollars for 100 million operations at the phase's throughput.
    pub per_100m: f64,
}
