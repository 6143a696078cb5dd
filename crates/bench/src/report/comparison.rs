//! A comparison for programs: `compare.json`, documented in `docs/reference/bench-report.md`. Fields are added, never renamed or removed, while
//! `schema` stays the same.

use super::differences::{Difference, Kind, differences, is_unlike_first};
use super::findings::labels;
use super::headline::headline;
use super::model::{Latency, OperationReport, Report, SCHEMA, TargetReport};
use super::rounds::Merged;
use serde::Serialize;

/// Reports beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this schema, which rises with that of reports.
    pub schema: u32,
    /// Whether all are of one study and nothing but versions differs.
    pub alike: bool,
    /// What is not the same in all, the gravest first.
    pub differences: Vec<Difference>,
    /// In the order in which they were named.
    pub runs: Vec<ComparedRun>,
}

/// A report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Name of its directory.
    pub label: String,
    /// Name of the study.
    pub study: String,
    /// What was run.
    pub headline: String,
    /// When.
    pub started: String,
    /// Whether it was run under the conditions of the first: all but versions is the same.
    pub like_first: bool,
    /// What was measured, by target, phase and operation.
    pub figures: Vec<ComparedFigures>,
}

/// An operation of a phase on a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFigures {
    /// What the target is called in the report.
    pub target: String,
    /// Its nodes.
    pub nodes: u32,
    /// Name in the study.
    pub phase: String,
    /// `read`, `update`, …
    pub operation: String,
    /// Replies a second.
    pub throughput: f64,
    /// Of replies that were no errors.
    pub latency: Latency,
    /// With several rounds the figures above are medians; absent with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<ComparedSpread>,
}

/// How far the rounds lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ComparedSpread {
    /// Rounds that have the figures.
    pub rounds: usize,
    /// The lowest of each.
    pub lowest: ComparedExtreme,
    /// The highest.
    pub highest: ComparedExtreme,
}

/// The figures of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ComparedExtreme {
    /// Replies a second.
    pub throughput: f64,
    /// Of replies that were no errors.
    pub latency: Latency,
}

impl Comparison {
    /// Of reports, each with its label.
    #[must_use]
    pub fn of(reports: &[(String, Report)]) -> Self {
        let differences = differences(reports);
        let runs = reports.iter().enumerate().map(|(at, (label, report))| ComparedRun {
            label: label.clone(),
            study: report.study.name.clone(),
            headline: headline(report),
            started: report.started.clone(),
            like_first: !is_unlike_first(&differences, at),
            figures: figures(report),
        });
        let runs = runs.collect();
        Self { schema: SCHEMA, alike: differences.iter().all(|difference| difference.kind == Kind::Version), differences, runs }
    }
}

fn figures(report: &Report) -> Vec<ComparedFigures> {
    let merged = Merged::of(report);
    let mut all = Vec::new();
    for (at, (target, label)) in merged.report.targets.iter().zip(labels(&merged.report)).enumerate() {
        for (place, phase) in target.phases.iter().enumerate() {
            let spread = |operation: usize| {
                let extreme = |target: &TargetReport| {
                    let OperationReport { throughput, latency, .. } = target.phases[place].operations[operation];
                    ComparedExtreme { throughput, latency }
                };
                let (lowest, highest) = merged.extremes_of(at)?;
                Some(ComparedSpread { rounds: merged.phases[at][place].each.len(), lowest: extreme(lowest), highest: extreme(highest) })
            };
            all.extend(phase.operations.iter().enumerate().map(|(number, operation)| ComparedFigures {
                spread: spread(number),
                target: label.clone(),
                nodes: target.nodes,
                phase: phase.name.clone(),
                operation: operation.operation.clone(),
                throughput: operation.throughput,
                latency: operation.latency,
            }));
        }
    }
    all
}
