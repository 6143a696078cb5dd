//! What a page has of several rounds besides the medians: the extremes, the rounds that its charts do not show in full, and each by itself.

use super::findings;
use super::measure::each_round;
use super::model::{PhaseKind, Report, TargetReport};
use super::rounds::{Counted, Extremes, rounds};
use super::timeline;
use crate::statistics::Summary;
use serde::Serialize;
use std::collections::BTreeMap;

/// Of a run of several rounds; lists are by target and phase as in the report beside it.
#[derive(Serialize)]
pub(super) struct Rounds {
    lowest: Vec<TargetReport>,
    highest: Vec<TargetReport>,
    phases: Vec<Vec<Phase>>,
    /// Each round by itself, with its label: for what must not vanish in a median.
    each: Vec<Labelled>,
}

#[derive(Serialize)]
struct Phase {
    /// Rounds that have it.
    rounds: usize,
    /// The round that charts show.
    drawn: u32,
    /// Throughput of the other rounds.
    others: Vec<Faint>,
    /// Of a load.
    with_settling: Option<Summary>,
}

/// Replies a second of a round, all operations together and each.
#[derive(Serialize)]
struct Faint {
    round: u32,
    t: Vec<f64>,
    operations: BTreeMap<String, Vec<Option<f64>>>,
}

#[derive(Serialize)]
struct Labelled {
    label: String,
    target: TargetReport,
}

impl Rounds {
    pub(super) fn of(report: &Report, phases: &[Vec<Counted<'_>>], extremes: &Extremes, widths: &BTreeMap<String, u32>) -> Self {
        let targets = rounds(&report.targets);
        let phases = phases.iter().zip(&targets).map(|(phases, rounds)| phases.iter().map(|one| phase(one, rounds, widths)).collect());
        Self {
            lowest: extremes.lowest.iter().map(without_series).collect(),
            highest: extremes.highest.iter().map(without_series).collect(),
            phases: phases.collect(),
            each: report
                .targets
                .iter()
                .zip(findings::labels(report))
                .map(|(target, label)| Labelled { label, target: without_series(target) })
                .collect(),
        }
    }
}

fn phase(counted: &Counted<'_>, rounds: &[&TargetReport], widths: &BTreeMap<String, u32>) -> Phase {
    let drawn = counted.drawn();
    let others = counted.each.iter().enumerate().filter(|(at, _)| *at != counted.drawn).map(|(_, (target, phase))| {
        let columns = timeline::columns(phase, widths[&phase.name]);
        Faint { round: target.round, t: columns.t, operations: columns.operations.into_iter().map(|(name, of)| (name, of.rate)).collect() }
    });
    let settled = each_round(rounds, &format!("{} throughput with settling", drawn.name));
    Phase {
        rounds: counted.each.len(),
        drawn: counted.each[counted.drawn].0.round,
        others: others.collect(),
        with_settling: Summary::of(settled.into_iter().map(|(_, figure)| figure)).filter(|_| drawn.kind == PhaseKind::Load),
    }
}

/// Without what charts alone need.
fn without_series(target: &TargetReport) -> TargetReport {
    let mut target = target.clone();
    for phase in &mut target.phases {
        phase.timeline = Vec::new();
        phase.operations.iter_mut().for_each(|operation| operation.spectrum = Vec::new());
    }
    target
}
