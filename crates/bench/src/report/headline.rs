//! What was run, in a line: how long, how much of the published size, on how many nodes, on which machine. A study's title says what a
//! publication did; the headline says what this report is of.

use super::figures::{count, duration, number};
use super::model::{PhaseKind, PhaseReport, Report, TargetReport};
use super::rounds::Merged;

/// For example `2 min 30 s at 1.2 % of the published size, one node, 2 CPUs (AMD EPYC 9R14), 31.0 GiB of memory`.
#[must_use]
pub fn headline(report: &Report) -> String {
    let rounds = rounds(report);
    let report: &Report = &Merged::of(report).report;
    let mut parts = vec![format!("{} {}", ran(report), size(report))];
    parts.extend(rounds);
    parts.extend(nodes(&report.targets));
    let machine = machine(report);
    if !machine.is_empty() {
        let from = if report.targets.iter().any(is_elsewhere) { "load from " } else { "" };
        parts.push(format!("{from}{machine}"));
    }
    parts.join(", ")
}

/// `medians of 3 rounds`, where there are several.
fn rounds(report: &Report) -> Option<String> {
    let begun = report.targets.iter().map(|target| target.round).max().unwrap_or(0);
    match report.repeats {
        1 => None,
        repeats if begun == repeats => Some(format!("medians of {repeats} rounds")),
        repeats if begun <= 1 => Some(format!("{begun} of {repeats} rounds")),
        repeats => Some(format!("medians of {begun} of {repeats} rounds")),
    }
}

/// How long the load was that is measured: that of the target that took longest.
fn ran(report: &Report) -> String {
    let of_kind = |target: &TargetReport, kind: PhaseKind| -> Vec<f64> {
        let counts = |phase: &&PhaseReport| phase.kind == kind && phase.name != "warm-up" && !phase.operations.is_empty();
        target.phases.iter().filter(counts).map(|phase| phase.seconds).collect()
    };
    let longest = |kind| {
        let all = report.targets.iter().map(|target| of_kind(target, kind)).filter(|seconds| !seconds.is_empty());
        all.max_by(|a, b| a.iter().sum::<f64>().total_cmp(&b.iter().sum()))
    };
    let together = |seconds: &[f64]| duration(whole(seconds.iter().sum()));
    match (longest(PhaseKind::Run), longest(PhaseKind::Load)) {
        (Some(runs), _) if runs.len() > 1 => format!("{} in {} runs", together(&runs), runs.len()),
        (Some(run), _) => together(&run),
        (None, Some(load)) => format!("A load of {}", together(&load)),
        (None, None) => "Nothing was run".to_owned(),
    }
}

/// A run of a minute ends some milliseconds after it, and was still one of a minute.
fn whole(seconds: f64) -> f64 {
    let rounded = seconds.round();
    if (seconds - rounded).abs() <= seconds * 0.02 { rounded } else { seconds }
}

/// `at 1.2 % of the published size`: of the study's, where nobody published figures of it.
fn size(report: &Report) -> String {
    let published = report.study.paper.as_ref().is_some_and(|paper| !paper.results.is_empty());
    let whose = if published || report.ratios.iter().any(|ratio| ratio.paper.is_some()) { "published" } else { "study's" };
    match report.scale {
        1.0 => format!("at the {whose} size"),
        scale if scale < 1.0 => format!("at {} % of the {whose} size", without_zeros(&number(scale * 100.0))),
        scale => format!("at {} times the {whose} size", without_zeros(&number(scale))),
    }
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// `one node`, `3 nodes`, `3, 5 and 10 nodes`.
fn nodes(targets: &[TargetReport]) -> Option<String> {
    let sizes: std::collections::BTreeSet<u32> = targets.iter().map(|target| target.nodes).collect();
    let sizes: Vec<String> = sizes.iter().map(|nodes| count((*nodes).into())).collect();
    match sizes.as_slice() {
        [] => None,
        [only] if only == "1" => Some("one node".to_owned()),
        [only] => Some(format!("{only} nodes")),
        [first @ .., last] => Some(format!("{} and {last} nodes", first.join(", "))),
    }
}

/// CPUs and memory, as far as the report tells.
fn machine(report: &Report) -> String {
    let told = |name: &str| report.environment.get(name).map(String::as_str);
    let cpus = told("CPUs of this process").map(|list| list.split(',').filter(|cpu| !cpu.trim_matches(['[', ']', ' ']).is_empty()).count());
    let cpus = match (cpus.filter(|cpus| *cpus > 0), told("CPU")) {
        (Some(cpus), model) => {
            let model = model.map(|model| format!(" ({model})")).unwrap_or_default();
            Some(if cpus == 1 { format!("1 CPU{model}") } else { format!("{cpus} CPUs{model}") })
        }
        (None, model) => model.map(str::to_owned),
    };
    let memory = told("memory").map(|memory| format!("{memory} of memory"));
    [cpus, memory].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Whether a target runs on another machine than the tool, as far as its addresses tell.
fn is_elsewhere(target: &TargetReport) -> bool {
    let here = |address: &str| ["127.", "localhost:", "[::1]"].iter().any(|start| address.starts_with(start));
    target.given.contains("://") && target.address.split(',').any(|address| !address.is_empty() && !here(address))
}
