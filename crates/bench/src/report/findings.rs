//! What a reader must know first, in words: what the run found, and what makes it less than it seems.

use super::figures::{count, duration, named, number, range, times, times_given};
use super::model::{Event, PhaseKind, PhaseReport, Ratio, Report, Spread, TargetReport, Verified};
use super::rounds::Merged;

/// Share of requests from which on failures are a warning.
const FAILED_SHARE: f64 = 0.001;

/// What targets are called in charts and tables: their names, with the nodes where several have the same name, then with a number; with their
/// round where there are several.
#[must_use]
pub fn labels(report: &Report) -> Vec<String> {
    let rounds: Vec<u32> = report.targets.iter().map(|target| target.round).collect();
    let unique = |labels: &[String], at: usize| {
        let same = |(label, round): &(&String, &u32)| **label == labels[at] && **round == rounds[at];
        labels.iter().zip(&rounds).filter(same).count() == 1
    };
    let names: Vec<String> = report.targets.iter().map(|target| target.name.clone()).collect();
    let sized: Vec<String> = report
        .targets
        .iter()
        .enumerate()
        .map(|(at, target)| if unique(&names, at) { target.name.clone() } else { format!("{}, {}", target.name, nodes(target.nodes)) })
        .collect();
    let numbered =
        sized.iter().enumerate().map(|(at, label)| if unique(&sized, at) { label.clone() } else { format!("{label} ({})", at + 1) });
    match report.repeats {
        1 => numbered.collect(),
        _ => numbered.zip(rounds.iter()).map(|(label, round)| format!("{label}, round {round}")).collect(),
    }
}

fn nodes(nodes: u32) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", count(nodes.into())) }
}

/// The report's own warnings, then those that its figures give and that it does not have yet.
#[must_use]
pub fn warnings(report: &Report) -> Vec<String> {
    let mut all = report.warnings.clone();
    let said = |all: &[String], words: &[&str]| all.iter().any(|warning| words.iter().all(|word| warning.contains(word)));
    if !report.complete && !said(&all, &["ncomplete"]) && !said(&all, &["nterrupted"]) {
        found(&mut all, "Incomplete: not every phase on every target was finished. What is here was measured until then.".to_owned());
    }
    for (target, label) in report.targets.iter().zip(labels(report)) {
        if let Some(failure) = target.failure.as_deref()
            && !said(&all, &[failure])
        {
            found(&mut all, format!("{label} was given up: {failure}"));
        }
        for phase in &target.phases {
            let name = &phase.name;
            if phase.resources.client_limited && !said(&all, &["client", "limit", &label, name]) {
                let busy = number(phase.resources.client_busiest * 100.0);
                found(
                    &mut all,
                    format!(
                        "The client was the limit in {name} on {label} (busiest thread {busy} % busy): the target can do more than is shown."
                    ),
                );
            }
            let verified = phase.verified;
            for (rows, what) in [(verified.lost, "lost"), (verified.stale, "stale"), (verified.wrong, "wrong")] {
                if rows > 0 {
                    found(
                        &mut all,
                        format!("{label}: {} of {} compared reads in {name} were {what}.", count(rows), count(verified.compared)),
                    );
                }
            }
            if verified.compared == 0 && verified.unknown > 0 {
                found(
                    &mut all,
                    format!(
                        "{label}: nothing was known of the rows that were read in {name} ({} reads): nothing is said of lost or stale ones.",
                        count(verified.unknown)
                    ),
                );
            }
            let (errors, replies) = errors_and_replies(phase);
            if errors as f64 > (errors + replies) as f64 * FAILED_SHARE {
                let share = number(errors as f64 / (errors + replies) as f64 * 100.0);
                found(
                    &mut all,
                    format!("{label}: {} of {} requests in {name} failed ({share} %).", count(errors), count(errors + replies)),
                );
            }
        }
    }
    all
}

/// Adds a warning that is not there yet: a report that carries its own findings does not get them twice.
fn found(all: &mut Vec<String>, warning: String) {
    if !all.contains(&warning) {
        all.push(warning);
    }
}

fn errors_and_replies(phase: &PhaseReport) -> (u64, u64) {
    let replies = phase.operations.iter().map(|operation| operation.replies).sum();
    let by_operation = phase.operations.iter().map(|operation| operation.errors).sum::<u64>();
    let by_kind = phase.errors.iter().map(|error| error.count).sum::<u64>();
    (by_operation.max(by_kind), replies)
}

/// What the run found, in a sentence or two.
#[must_use]
pub fn verdict(report: &Report) -> String {
    let merged = Merged::of(report);
    let repeats = report.repeats;
    let report: &Report = &merged.report;
    let measured: Vec<(&Ratio, f64)> = report.ratios.iter().filter_map(|ratio| Some((ratio, ratio.measured?))).collect();
    if let Some((first, factor)) = measured.iter().find(|(ratio, _)| ratio.measure == "run throughput").or(measured.first()) {
        return ratios(&measured, first, *factor, repeats);
    }
    let mut best: Vec<(String, &TargetReport, &PhaseReport)> = Vec::new();
    for (label, target) in labels(report).into_iter().zip(&report.targets) {
        if let Some(phase) = main_phase(target) {
            best.push((label, target, phase));
        }
    }
    match best.as_slice() {
        [] => "Nothing was measured.".to_owned(),
        [(label, target, phase)] => {
            let mut said = format!("{label}: {}.{}", throughputs(target, phase), extent(&merged, target, phase));
            let phases = report.targets.iter().flat_map(|target| &target.phases);
            for event in phases.clone().flat_map(|phase| &phase.events) {
                let told = foremost(event);
                if !told.is_empty() {
                    said.push_str(&format!(" After {}: {}.", event.what, told.join(", ")));
                }
            }
            said.push_str(&verification(phases.map(|phase| phase.verified)));
            said
        }
        [.., _] => scaling(&best).unwrap_or_else(|| {
            let each: Vec<String> = best.iter().map(|(label, _, phase)| format!("{label} {}", number(phase.throughput))).collect();
            format!("Replies/s in {}: {}.", best[0].2.name, each.join(", "))
        }),
    }
}

/// What comparing reads has shown of all phases together. Never that none was lost where none could have been found.
fn verification(phases: impl Iterator<Item = Verified>) -> String {
    let (mut compared, mut differ, mut unknown) = (0, 0, 0);
    for verified in phases {
        compared += verified.compared;
        differ += verified.lost + verified.stale + verified.wrong;
        unknown += verified.unknown;
    }
    match (compared, differ, unknown) {
        (0, _, 0) => String::new(),
        (0, _, _) => " Nothing was known of the rows that were read: nothing is said of lost or stale ones.".to_owned(),
        (_, 0, 0) => format!(" None of {} compared reads was lost, stale or wrong.", count(compared)),
        (_, 0, _) => format!(
            " None of {} compared reads was lost, stale or wrong; {} others were of rows of which nothing was known.",
            count(compared),
            count(unknown)
        ),
        // The warnings say which.
        (..) => String::new(),
    }
}

/// How far the throughput of a target's rounds lies apart.
fn extent(merged: &Merged<'_>, target: &TargetReport, main: &PhaseReport) -> String {
    let found = merged.report.targets.iter().position(|other| std::ptr::eq(other, target));
    let Some((of, (lowest, highest))) = found.and_then(|of| Some((of, merged.extremes_of(of)?))) else { return String::new() };
    let Some(at) = target.phases.iter().position(|phase| phase.name == main.name) else { return String::new() };
    let rounds = merged.phases[of][at].each.len();
    let throughputs = range(number, lowest.phases[at].throughput, highest.phases[at].throughput);
    let of = if rounds == 1 { "Figures of one round".to_owned() } else { format!("Medians of {rounds} rounds") };
    format!(" {of}; in {} {throughputs}.", main.name)
}

/// Of the main phase, or of each measured one if there are several.
fn throughputs(target: &TargetReport, main: &PhaseReport) -> String {
    let runs: Vec<&PhaseReport> =
        target.phases.iter().filter(|phase| phase.kind == PhaseKind::Run && !phase.operations.is_empty()).collect();
    match runs.as_slice() {
        [] | [_] => format!("{} replies/s in {} over {}", number(main.throughput), main.name, duration(main.seconds)),
        several => {
            let each: Vec<String> = several.iter().map(|phase| format!("{} in {}", number(phase.throughput), phase.name)).collect();
            format!("replies/s: {}", each.join(", "))
        }
    }
}

/// Of an event: what a reader asks first, or all that there is.
fn foremost(event: &Event) -> Vec<String> {
    const FOREMOST: [&str; 4] = ["noticed_s", "served_s", "whole_s", "longest_us"];
    let told = |name: &str| event.figures.get(name).map(|figure| named(name, *figure));
    let asked: Vec<String> = FOREMOST.into_iter().filter_map(told).collect();
    if asked.is_empty() { event.figures.keys().filter_map(|name| told(name)).collect() } else { asked }
}

fn ratios(measured: &[(&Ratio, f64)], first: &Ratio, factor: f64, repeats: u32) -> String {
    let mut said = format!("{} against {}: {} {}", first.subject, first.baseline, first.measure, times(factor));
    let spread = first.measured_spread.map(|Spread { lowest, highest, rounds }| {
        let of = if rounds == repeats { format!("{rounds}") } else { format!("{rounds} of {repeats}") };
        format!("median of {of} rounds, {}", range(times, lowest, highest))
    });
    let beside: Vec<String> = spread.into_iter().chain(first.paper.map(|paper| format!("paper: {}", times_given(paper)))).collect();
    if !beside.is_empty() {
        said.push_str(&format!(" ({})", beside.join("; ")));
    }
    said.push('.');
    let of_paper: Vec<bool> = measured.iter().filter_map(|(ratio, factor)| Some(*factor >= ratio.paper?)).collect();
    if !of_paper.is_empty() {
        let reached = of_paper.iter().filter(|reached| **reached).count();
        said.push_str(&format!(" {reached} of {} ratios reach the paper's.", of_paper.len()));
    }
    said
}

/// The smallest size beside the largest, when every target is another size of the same.
fn scaling(best: &[(String, &TargetReport, &PhaseReport)]) -> Option<String> {
    let smallest = best.iter().min_by_key(|(_, target, _)| target.nodes)?;
    let largest = best.iter().max_by_key(|(_, target, _)| target.nodes)?;
    if smallest.1.nodes == largest.1.nodes || smallest.2.name != largest.2.name || smallest.2.throughput <= 0.0 {
        return None;
    }
    let factor = largest.2.throughput / smallest.2.throughput;
    let linear = f64::from(largest.1.nodes) / f64::from(smallest.1.nodes);
    Some(format!(
        "{}: {} replies/s in {}, {} those of {} (linear: {}).",
        nodes(largest.1.nodes),
        number(largest.2.throughput),
        largest.2.name,
        times(factor),
        nodes(smallest.1.nodes),
        times(linear)
    ))
}

/// The last measured run, else the last load.
pub(super) fn main_phase(target: &TargetReport) -> Option<&PhaseReport> {
    let last = |kind: PhaseKind| target.phases.iter().rev().find(|phase| phase.kind == kind && !phase.operations.is_empty());
    last(PhaseKind::Run).or_else(|| last(PhaseKind::Load))
}
