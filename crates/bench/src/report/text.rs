//! A report as text for a terminal: warnings first, then ratios beside the paper's, then what each target did.

use super::differences::{Difference, Kind, differences, is_unlike_first};
use super::figures::{count, duration, latency, number, times, times_given};
use super::findings::{labels, verdict, warnings};
use super::headline::headline;
use super::model::{OperationReport, PhaseReport, Report, Spread, TargetReport};
use super::rounds::Merged;
use std::fmt::Write;

/// Narrowest and widest that text is set.
const WIDTH_MIN: usize = 40;
const WIDTH_MAX: usize = 160;

/// After the name of what is not as in the first report.
const UNLIKE: &str = " ≠";

/// The closing table of a run.
#[must_use]
pub fn summary(report: &Report, terminal_width: usize) -> String {
    let width = terminal_width.clamp(WIDTH_MIN, WIDTH_MAX);
    let mut out = String::new();
    wrap(&mut out, "", &format!("{}: {}", report.study.name, headline(report)), width);
    wrap(&mut out, "", &report.study.title, width);
    for warning in warnings(report) {
        wrap(&mut out, "WARNING  ", &warning, width);
    }
    wrap(&mut out, "", &verdict(report), width);
    if !report.ratios.is_empty() {
        out.push('\n');
        ratio_table(&mut out, report);
    }
    let merged = Merged::of(report);
    for (at, (target, label)) in merged.report.targets.iter().zip(labels(&merged.report)).enumerate() {
        out.push('\n');
        let rounds = match report.repeats {
            1 => String::new(),
            repeats => format!(" · medians of {repeats} rounds, below them the lowest and the highest"),
        };
        wrap(&mut out, "", &format!("{label} · {} · {}{rounds}", target.server, addresses(&target.address)), width);
        let mut rows = vec![["", "replies/s", "p50", "p95", "p99", "p99.9", "max", "errors", "CPU/reply"].map(str::to_owned).to_vec()];
        for (place, phase) in target.phases.iter().enumerate().filter(|(_, phase)| !phase.operations.is_empty()) {
            let extremes = merged.extremes_of(at).map(|(lowest, highest)| [&lowest.phases[place], &highest.phases[place]]);
            phase_rows(&mut rows, phase, extremes, &of_rounds(&merged, report.repeats, at, place));
        }
        if rows.len() > 1 {
            // A narrow terminal shows fewer percentiles, not broken lines.
            let columns: &[usize] = match width {
                100.. => &[0, 1, 2, 3, 4, 5, 6, 7, 8],
                88.. => &[0, 1, 2, 3, 4, 5, 6, 7],
                _ => &[0, 1, 2, 4, 7],
            };
            table(&mut out, &rows, columns);
        }
    }
    out
}

/// The first of several is enough for a line.
fn addresses(all: &str) -> String {
    match all.split_once(',') {
        Some((first, others)) => format!("{first} and {} more", others.split(',').count()),
        None => all.to_owned(),
    }
}

fn ratio_table(out: &mut String, report: &Report) {
    let mut rows = vec![["", "subject", "baseline", "ratio", "paper"].map(str::to_owned).to_vec()];
    let pair = |subject: &str, baseline: &str| format!("{subject} / {baseline}");
    let mut before = String::new();
    for ratio in &report.ratios {
        let names = pair(&ratio.subject, &ratio.baseline);
        if names != before {
            rows.push(vec![names.clone(), String::new(), String::new(), String::new(), String::new()]);
            before = names;
        }
        let missing = || "–".to_owned();
        let figure = |value: Option<f64>| value.map_or_else(missing, |value| format!("{} {}", number(value), ratio.unit));
        let of = ratio.measured_spread.filter(|spread| spread.rounds < report.repeats);
        let of = of.map_or_else(String::new, |spread| format!(" ({} of {} rounds)", spread.rounds, report.repeats));
        rows.push(vec![
            format!("  {}{of}", ratio.measure),
            figure(ratio.subject_value),
            figure(ratio.baseline_value),
            ratio.measured.map_or_else(missing, times),
            ratio.paper.map_or_else(missing, times_given),
        ]);
        let spreads = [ratio.subject_spread, ratio.baseline_spread, ratio.measured_spread];
        if spreads.iter().any(Option::is_some) {
            for (name, of) in EXTREMES.into_iter().zip([|spread: Spread| spread.lowest, |spread: Spread| spread.highest]) {
                let [subject, baseline, measured] = spreads.map(|spread| spread.map(of));
                rows.push(vec![
                    format!("    {name}"),
                    figure(subject),
                    figure(baseline),
                    measured.map_or_else(missing, times),
                    String::new(),
                ]);
            }
        }
    }
    table(out, &rows, &[0, 1, 2, 3, 4]);
}

/// What the rows below a median are called.
const EXTREMES: [&str; 2] = ["lowest", "highest"];

/// ` (2 of 3 rounds)`, where not all rounds have a phase.
fn of_rounds(merged: &Merged<'_>, repeats: u32, target: usize, phase: usize) -> String {
    let rounds = merged.phases[target][phase].each.len();
    if rounds == repeats as usize { String::new() } else { format!(" ({rounds} of {repeats} rounds)") }
}

/// A phase and its operations, and below each what is lowest and highest of the rounds.
fn phase_rows(rows: &mut Vec<Vec<String>>, phase: &PhaseReport, extremes: Option<[&PhaseReport; 2]>, of_rounds: &str) {
    let unfinished = if phase.complete { "" } else { " (unfinished)" };
    let beside = || EXTREMES.into_iter().zip(extremes.into_iter().flatten());
    rows.push(phase_row(format!("  {}, {}{unfinished}{of_rounds}", phase.name, duration(phase.seconds)), phase));
    rows.extend(beside().map(|(name, extreme)| phase_row(format!("    {name}"), extreme)));
    for (at, operation) in phase.operations.iter().enumerate() {
        rows.push(operation_row(format!("    {}", operation.operation), operation));
        rows.extend(beside().map(|(name, extreme)| operation_row(format!("      {name}"), &extreme.operations[at])));
    }
}

fn phase_row(title: String, phase: &PhaseReport) -> Vec<String> {
    let mut row = vec![title, number(phase.throughput)];
    row.resize(7, String::new());
    row.push(count(phase.errors.iter().map(|error| error.count).sum()));
    row.push(target_cpu(phase).map(latency).unwrap_or_default());
    row
}

fn operation_row(title: String, operation: &OperationReport) -> Vec<String> {
    let figures = operation.latency;
    let mut row = vec![title, number(operation.throughput)];
    row.extend([figures.p50, figures.p95, figures.p99, figures.p999, figures.max].map(latency));
    row.push(count(operation.errors));
    row
}

/// Microseconds of the target's CPU time for each reply.
fn target_cpu(phase: &PhaseReport) -> Option<f64> {
    let replies: u64 = phase.operations.iter().map(|operation| operation.replies).sum();
    phase.resources.target_cpu_s.filter(|_| replies > 0).map(|seconds| seconds * 1e6 / replies as f64)
}

/// Reports beside each other: each figure, and how many times that of the same target in the first report it is.
#[must_use]
pub fn compare_text(reports: &[(String, Report)]) -> String {
    let differences = differences(reports);
    let merged: Vec<Merged<'_>> = reports.iter().map(|(_, report)| Merged::of(report)).collect();
    let mut series = Vec::new();
    for (at, ((label, _), merged)) in reports.iter().zip(&merged).enumerate() {
        let unlike = if is_unlike_first(&differences, at) { UNLIKE } else { "" };
        for (place, (target, name)) in merged.report.targets.iter().zip(labels(&merged.report)).enumerate() {
            let extremes = merged.extremes_of(place).map(|(lowest, highest)| [lowest, highest]);
            let of_rounds = (0..target.phases.len()).map(|phase| of_rounds(merged, reports[at].1.repeats, place, phase)).collect();
            series.push(Series { label: format!("{label}: {name}{unlike}"), target, extremes, of_rounds, is_in_first: at == 0 });
        }
    }
    let mut out = String::new();
    for (label, report) in reports {
        for warning in warnings(report) {
            let _ = writeln!(out, "WARNING  {label}: {warning}");
        }
    }
    difference_table(&mut out, reports, &differences);
    let mut phases: Vec<&str> = Vec::new();
    for phase in series.iter().flat_map(|series| &series.target.phases).filter(|phase| !phase.operations.is_empty()) {
        if !phases.contains(&phase.name.as_str()) {
            phases.push(&phase.name);
        }
    }
    let medians = if merged.iter().any(|merged| merged.extremes.is_some()) {
        "; medians of rounds, below them the lowest and the highest"
    } else {
        ""
    };
    for name in phases {
        let mut rows = vec![["", "operation", "replies/s", "p50", "p95", "p99", "p99.9"].map(str::to_owned).to_vec()];
        series.iter().for_each(|one| compared_rows(&mut rows, one, &series, name));
        let _ = writeln!(out, "\n{name}  (in brackets: how many times the first report's{medians})");
        table(&mut out, &rows, &[0, 1, 2, 3, 4, 5, 6]);
    }
    out
}

/// A target of one of the reports.
struct Series<'a> {
    label: String,
    target: &'a TargetReport,
    /// The lowest and the highest of its rounds.
    extremes: Option<[&'a TargetReport; 2]>,
    /// By phase, where not all rounds have it.
    of_rounds: Vec<String>,
    is_in_first: bool,
}

fn difference_table(out: &mut String, reports: &[(String, Report)], differences: &[Difference]) {
    if differences.is_empty() {
        return;
    }
    let mut rows = vec![std::iter::once("differs".to_owned()).chain(reports.iter().map(|(label, _)| label.clone())).collect::<Vec<_>>()];
    for difference in differences {
        let unlike = if difference.kind == Kind::Version { "" } else { UNLIKE };
        rows.push(std::iter::once(format!("{}{unlike}", difference.what)).chain(difference.values.iter().cloned()).collect());
    }
    table(out, &rows, &(0..=reports.len()).collect::<Vec<_>>());
    if differences.iter().any(|difference| difference.kind != Kind::Version) {
        let _ = writeln!(out, "≠ after a name: not run like the first report, so that a part of each ratio comes from that");
    }
}

/// The operations of a phase of a target, each figure beside that of the same target in the first report, else of its first target.
fn compared_rows(rows: &mut Vec<Vec<String>>, one: &Series<'_>, all: &[Series<'_>], name: &str) {
    let first = all.iter().filter(|other| other.is_in_first);
    let same = first.clone().find(|other| other.target.name == one.target.name && other.target.nodes == one.target.nodes);
    let base = same.or(first.clone().next()).and_then(|other| other.target.phases.iter().find(|phase| phase.name == name));
    let Some(place) = one.target.phases.iter().position(|phase| phase.name == name) else { return };
    for (at, operation) in one.target.phases[place].operations.iter().enumerate() {
        let base = base.and_then(|phase| phase.operations.iter().find(|other| other.operation == operation.operation));
        let beside = |figure: String, value: f64, base: f64| {
            if one.is_in_first || base <= 0.0 { figure } else { format!("{figure} ({})", times(value / base)) }
        };
        let (ours, theirs) = (operation.latency, base.map(|base| base.latency).unwrap_or_default());
        let mut row = vec![format!("{}{}", one.label, one.of_rounds[place]), operation.operation.clone()];
        row.push(beside(number(operation.throughput), operation.throughput, base.map_or(0.0, |base| base.throughput)));
        for (value, base) in [(ours.p50, theirs.p50), (ours.p95, theirs.p95), (ours.p99, theirs.p99), (ours.p999, theirs.p999)] {
            row.push(beside(latency(value), value, base));
        }
        rows.push(row);
        for (name, extreme) in EXTREMES.into_iter().zip(one.extremes.into_iter().flatten()) {
            let OperationReport { throughput, latency: figures, .. } = &extreme.phases[place].operations[at];
            let mut row = vec![String::new(), name.to_owned(), number(*throughput)];
            row.extend([figures.p50, figures.p95, figures.p99, figures.p999].map(latency));
            rows.push(row);
        }
    }
}

/// Rows with the columns chosen: the first to the left, the others to the right.
fn table(out: &mut String, rows: &[Vec<String>], columns: &[usize]) {
    let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
    let widths: Vec<usize> =
        columns.iter().map(|column| rows.iter().map(|row| cell(row, *column).chars().count()).max().unwrap_or(0)).collect();
    for row in rows {
        let mut line = String::new();
        for (at, (column, width)) in columns.iter().zip(&widths).enumerate() {
            let text = cell(row, *column);
            let _ = if at == 0 { write!(line, "{text:<width$}") } else { write!(line, "  {text:>width$}") };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Text in lines of at most `width`, the first after `mark`, the others indented as far.
fn wrap(out: &mut String, mark: &str, text: &str, width: usize) {
    let indent = mark.chars().count();
    let mut line = mark.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}
