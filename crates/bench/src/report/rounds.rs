//! Rounds of a target as one: each figure's median over the rounds that have it, the lowest, and the highest.
//!
//! Tables, charts and findings show a report with the rounds merged. A report of one round is shown as it is.

use super::model::{Cost, ErrorCount, Event, Latency, OperationReport, PhaseReport, Report, Resources, TargetReport, Verified};
use crate::statistics::Summary;
use std::borrow::Cow;

/// A report with one target for all rounds of it.
pub(super) struct Merged<'a> {
    /// Its figures are medians; phases have no timelines where there are several rounds.
    pub(super) report: Cow<'a, Report>,
    /// Where the phases of its targets come from, by target and phase.
    pub(super) phases: Vec<Vec<Counted<'a>>>,
    /// With several rounds.
    pub(super) extremes: Option<Extremes>,
}

/// Targets with the phases and operations of the merged report's.
pub(super) struct Extremes {
    /// The lowest of each figure.
    pub(super) lowest: Vec<TargetReport>,
    /// The highest.
    pub(super) highest: Vec<TargetReport>,
}

/// A phase in all rounds where it counts: those that finished it, or all that began it if none did.
pub(super) struct Counted<'a> {
    /// Its rounds, in order.
    pub(super) each: Vec<(&'a TargetReport, &'a PhaseReport)>,
    /// Reads that were compared in any round, whether it counts or not: what is lost once must not vanish.
    verified: Verified,
    /// Which of them charts show: the one whose throughput is the median, the lower of two.
    pub(super) drawn: usize,
}

impl<'a> Counted<'a> {
    fn of(rounds: &[&'a TargetReport], name: &str) -> Self {
        let find = |target: &&'a TargetReport| Some((*target, target.phases.iter().find(|phase| phase.name == name)?));
        let mut each: Vec<(&TargetReport, &PhaseReport)> = rounds.iter().filter_map(find).collect();
        let verified = verified(&each);
        if each.iter().any(|(_, phase)| phase.complete) {
            each.retain(|(_, phase)| phase.complete);
        }
        let mut sorted: Vec<usize> = (0..each.len()).collect();
        sorted.sort_by(|one, other| each[*one].1.throughput.total_cmp(&each[*other].1.throughput));
        let drawn = sorted[(sorted.len() - 1) / 2];
        Self { each, verified, drawn }
    }

    /// The phase that charts show.
    pub(super) fn drawn(&self) -> &'a PhaseReport {
        self.each[self.drawn].1
    }

    /// A figure of the rounds that have it.
    fn pick(&self, how: How, figure: impl Fn(&PhaseReport) -> Option<f64>) -> Option<f64> {
        Summary::of(self.each.iter().filter_map(|(_, phase)| figure(phase))).map(how)
    }
}

/// Which of a summary's figures.
type How = fn(Summary) -> f64;

impl<'a> Merged<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        if report.repeats == 1 {
            let alone = |target: &'a TargetReport| {
                target.phases.iter().map(|phase| Counted { each: vec![(target, phase)], verified: phase.verified, drawn: 0 }).collect()
            };
            return Self { report: Cow::Borrowed(report), phases: report.targets.iter().map(alone).collect(), extremes: None };
        }
        let targets = rounds(&report.targets);
        let phases: Vec<Vec<Counted<'a>>> = targets.iter().map(|rounds| counted(rounds)).collect();
        let merge = |how: How| targets.iter().zip(&phases).map(|(rounds, phases)| target(rounds, phases, how)).collect();
        let (lowest, highest) = (merge(|figure| figure.least), merge(|figure| figure.most));
        let medians = Report { targets: merge(|figure| figure.median), repeats: 1, ..without_targets(report) };
        Self { report: Cow::Owned(medians), phases, extremes: Some(Extremes { lowest, highest }) }
    }

    /// The lowest and the highest of a target.
    pub(super) fn extremes_of(&self, target: usize) -> Option<(&TargetReport, &TargetReport)> {
        self.extremes.as_ref().map(|Extremes { lowest, highest }| (&lowest[target], &highest[target]))
    }
}

fn without_targets(report: &Report) -> Report {
    Report {
        study: report.study.clone(),
        tool: report.tool.clone(),
        command: report.command.clone(),
        started: report.started.clone(),
        warnings: report.warnings.clone(),
        environment: report.environment.clone(),
        targets: Vec::new(),
        ratios: report.ratios.clone(),
        settings: report.settings.clone(),
        ..*report
    }
}

/// The rounds of each target, in the order of their first ones.
pub(crate) fn rounds(targets: &[TargetReport]) -> Vec<Vec<&TargetReport>> {
    let mut all: Vec<Vec<&TargetReport>> = Vec::new();
    for target in targets {
        let is_other_round = |other: &&TargetReport| other.round != target.round;
        let same = |rounds: &&mut Vec<&TargetReport>| {
            rounds[0].name == target.name && rounds[0].nodes == target.nodes && rounds.iter().all(is_other_round)
        };
        match all.iter_mut().find(same) {
            Some(rounds) => rounds.push(target),
            None => all.push(vec![target]),
        }
    }
    all
}

/// All phases of a target's rounds.
fn counted<'a>(rounds: &[&'a TargetReport]) -> Vec<Counted<'a>> {
    let mut names: Vec<&str> = Vec::new();
    for phase in rounds.iter().flat_map(|target| &target.phases) {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    names.into_iter().map(|name| Counted::of(rounds, name)).collect()
}

fn target(rounds: &[&TargetReport], phases: &[Counted<'_>], how: How) -> TargetReport {
    // A round that could not be started tells nothing of its server.
    let told = rounds.iter().rev().find(|target| !target.server.is_empty()).unwrap_or(&rounds[0]);
    TargetReport {
        name: told.name.clone(),
        given: told.given.clone(),
        protocol: told.protocol.clone(),
        address: told.address.clone(),
        server: told.server.clone(),
        nodes: told.nodes,
        round: 1,
        settings: told.settings.clone(),
        phases: phases.iter().map(|phase| merged_phase(phase, how)).collect(),
        costs: phases.iter().filter_map(|phase| cost(phase, how)).collect(),
        failure: None,
    }
}

fn cost(phase: &Counted<'_>, how: How) -> Option<Cost> {
    let each = phase.each.iter().filter_map(|(target, phase)| target.costs.iter().find(|cost| cost.phase == phase.name));
    let costs: Vec<&Cost> = each.collect();
    let per_100m = Summary::of(costs.iter().map(|cost| cost.per_100m)).map(how)?;
    Some(Cost { per_100m, ..costs[0].clone() })
}

fn merged_phase(counted: &Counted<'_>, how: How) -> PhaseReport {
    let drawn = counted.drawn();
    let figure = |of: fn(&PhaseReport) -> f64| counted.pick(how, |phase| Some(of(phase))).unwrap_or_default();
    let operations: Vec<OperationReport> = operation_names(counted).into_iter().map(|name| operation(counted, name, how)).collect();
    let errors = figure(|phase| phase.errors.iter().map(|error| error.count as f64).sum()) as u64;
    PhaseReport {
        name: drawn.name.clone(),
        kind: drawn.kind,
        started_s: figure(|phase| phase.started_s),
        seconds: figure(|phase| phase.seconds),
        complete: drawn.complete,
        unknown: counted.each.iter().any(|(_, phase)| phase.unknown),
        settings: drawn.settings.clone(),
        throughput: figure(|phase| phase.throughput),
        // The kinds of errors differ from round to round.
        errors: if errors > 0 { vec![ErrorCount { kind: "all kinds".to_owned(), count: errors }] } else { Vec::new() },
        verified: counted.verified,
        variation: counted.pick(how, |phase| phase.variation),
        drift: counted.pick(how, |phase| phase.drift),
        resources: resources(counted, operations.iter().map(|operation| operation.replies).sum(), how),
        operations,
        timeline: Vec::new(),
        events: drawn.events.iter().enumerate().map(|(at, event)| merged_event(counted, at, event, how)).collect(),
        histogram_log: drawn.histogram_log.clone(),
        histogram_log_failure: drawn.histogram_log_failure.clone(),
    }
}

fn verified(each: &[(&TargetReport, &PhaseReport)]) -> Verified {
    let sum = |of: fn(&Verified) -> u64| each.iter().map(|(_, phase)| of(&phase.verified)).sum();
    Verified {
        compared: sum(|verified| verified.compared),
        lost: sum(|verified| verified.lost),
        stale: sum(|verified| verified.stale),
        wrong: sum(|verified| verified.wrong),
        unknown: sum(|verified| verified.unknown),
    }
}

fn operation_names<'a>(counted: &Counted<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for operation in counted.each.iter().flat_map(|(_, phase)| &phase.operations) {
        if !names.contains(&operation.operation.as_str()) {
            names.push(&operation.operation);
        }
    }
    names
}

fn operation(counted: &Counted<'_>, name: &str, how: How) -> OperationReport {
    let of = |phase: &PhaseReport| phase.operations.iter().find(|one| one.operation == name).cloned();
    let each: Vec<OperationReport> = counted.each.iter().filter_map(|(_, phase)| of(phase)).collect();
    let figure = |of: fn(&OperationReport) -> f64| Summary::of(each.iter().map(of)).map(how).unwrap_or_default();
    OperationReport {
        operation: name.to_owned(),
        replies: figure(|one| one.replies as f64) as u64,
        errors: figure(|one| one.errors as f64) as u64,
        throughput: figure(|one| one.throughput),
        latency: Latency {
            mean: figure(|one| one.latency.mean),
            p50: figure(|one| one.latency.p50),
            p95: figure(|one| one.latency.p95),
            p99: figure(|one| one.latency.p99),
            p999: figure(|one| one.latency.p999),
            max: figure(|one| one.latency.max),
        },
        spectrum: of(counted.drawn()).map(|one| one.spectrum).unwrap_or_default(),
    }
}

/// So that each by reply is the median, lowest or highest by reply: what a reader looks at.
fn resources(counted: &Counted<'_>, replies: u64, how: How) -> Resources {
    let by_reply = |of: &dyn Fn(&Resources) -> Option<f64>| {
        let figure = |phase: &PhaseReport| {
            let own: u64 = phase.operations.iter().map(|operation| operation.replies).sum();
            of(&phase.resources).filter(|_| own > 0).map(|figure| figure / own as f64)
        };
        counted.pick(how, figure).map(|figure| figure * replies as f64)
    };
    let bytes =
        |of: fn(&Resources) -> Option<u64>| by_reply(&|resources| of(resources).map(|bytes| bytes as f64)).map(|bytes| bytes as u64);
    let each = || counted.each.iter().map(|(_, phase)| &phase.resources);
    Resources {
        target_cpu_s: by_reply(&|resources| resources.target_cpu_s),
        target_memory_peak: counted
            .pick(how, |phase| phase.resources.target_memory_peak.map(|bytes| bytes as f64))
            .map(|bytes| bytes as u64),
        device_read: bytes(|resources| resources.device_read),
        device_written: bytes(|resources| resources.device_written),
        target_network_received: bytes(|resources| resources.target_network_received),
        target_network_sent: bytes(|resources| resources.target_network_sent),
        network_received: bytes(|resources| Some(resources.network_received)).unwrap_or_default(),
        network_sent: bytes(|resources| Some(resources.network_sent)).unwrap_or_default(),
        client_cpu_s: by_reply(&|resources| Some(resources.client_cpu_s)).unwrap_or_default(),
        client_busiest: counted.pick(how, |phase| Some(phase.resources.client_busiest)).unwrap_or_default(),
        client_limited: each().any(|resources| resources.client_limited),
    }
}

/// An event by its place among those of its phase, at the second at which the chart shows it.
fn merged_event(counted: &Counted<'_>, at: usize, drawn: &Event, how: How) -> Event {
    let figures = drawn.figures.keys().filter_map(|name| {
        let of = |phase: &PhaseReport| phase.events.get(at).filter(|event| event.what == drawn.what)?.figures.get(name).copied();
        Some((name.clone(), counted.pick(how, of)?))
    });
    Event { second: drawn.second, what: drawn.what.clone(), figures: figures.collect() }
}
