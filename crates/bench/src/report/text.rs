//! A report as text for a terminal: warnings first, then ratios beside the paper's, then what each target did.

use super::differences::{Kind, differences, is_unlike_first};
use super::figures::{count, duration, latency, number, times, times_given};
use super::findings::{labels, verdict, warnings};
use super::headline::headline;
use super::model::{PhaseReport, Report};
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
    for (target, label) in report.targets.iter().zip(labels(report)) {
        out.push('\n');
        wrap(&mut out, "", &format!("{label} · {} · {}", target.server, addresses(&target.address)), width);
        let mut rows = vec![["", "replies/s", "p50", "p95", "p99", "p99.9", "max", "errors", "CPU/reply"].map(str::to_owned).to_vec()];
        for phase in target.phases.iter().filter(|phase| !phase.operations.is_empty()) {
            phase_rows(&mut rows, phase);
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
        rows.push(vec![
            format!("  {}", ratio.measure),
            figure(ratio.subject_value),
            figure(ratio.baseline_value),
            ratio.measured.map_or_else(missing, times),
            ratio.paper.map_or_else(missing, times_given),
        ]);
    }
    table(out, &rows, &[0, 1, 2, 3, 4]);
}

fn phase_rows(rows: &mut Vec<Vec<String>>, phase: &PhaseReport) {
    let unfinished = if phase.complete { "" } else { " (unfinished)" };
    let mut title = vec![format!("  {}, {}{unfinished}", phase.name, duration(phase.seconds)), number(phase.throughput)];
    title.resize(7, String::new());
    title.push(count(phase.errors.iter().map(|error| error.count).sum()));
    title.push(target_cpu(phase).map(latency).unwrap_or_default());
    rows.push(title);
    for operation in &phase.operations {
        let figures = operation.latency;
        let mut row = vec![format!("    {}", operation.operation), number(operation.throughput)];
        row.extend([figures.p50, figures.p95, figures.p99, figures.p999, figures.max].map(latency));
        row.push(count(operation.errors));
        rows.push(row);
    }
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
    let mut series = Vec::new();
    for (at, (label, report)) in reports.iter().enumerate() {
        let unlike = if is_unlike_first(&differences, at) { UNLIKE } else { "" };
        for (target, name) in report.targets.iter().zip(labels(report)) {
            series.push((format!("{label}: {name}{unlike}"), target, std::ptr::eq(report, &reports[0].1)));
        }
    }
    let mut out = String::new();
    for (label, report) in reports {
        for warning in warnings(report) {
            let _ = writeln!(out, "WARNING  {label}: {warning}");
        }
    }
    if !differences.is_empty() {
        let mut rows =
            vec![std::iter::once("differs".to_owned()).chain(reports.iter().map(|(label, _)| label.clone())).collect::<Vec<_>>()];
        for difference in &differences {
            let unlike = if difference.kind == Kind::Version { "" } else { UNLIKE };
            rows.push(std::iter::once(format!("{}{unlike}", difference.what)).chain(difference.values.iter().cloned()).collect());
        }
        table(&mut out, &rows, &(0..=reports.len()).collect::<Vec<_>>());
        if differences.iter().any(|difference| difference.kind != Kind::Version) {
            let _ = writeln!(out, "≠ after a name: not run like the first report, so that a part of each ratio comes from that");
        }
    }
    let mut phases: Vec<&str> = Vec::new();
    for phase in series.iter().flat_map(|(_, target, _)| &target.phases).filter(|phase| !phase.operations.is_empty()) {
        if !phases.contains(&phase.name.as_str()) {
            phases.push(&phase.name);
        }
    }
    for name in phases {
        let mut rows = vec![["", "operation", "replies/s", "p50", "p95", "p99", "p99.9"].map(str::to_owned).to_vec()];
        for (label, target, in_first) in &series {
            // The target of the same name in the first report, else its first target.
            let first = series.iter().filter(|(_, _, in_first)| *in_first);
            let same = first.clone().find(|(_, other, _)| other.name == target.name && other.nodes == target.nodes);
            let base = same.or(first.clone().next()).and_then(|(_, other, _)| other.phases.iter().find(|phase| phase.name == name));
            let Some(phase) = target.phases.iter().find(|phase| phase.name == name) else { continue };
            for operation in &phase.operations {
                let base = base.and_then(|phase| phase.operations.iter().find(|other| other.operation == operation.operation));
                let beside = |figure: String, value: f64, base: f64| {
                    if *in_first || base <= 0.0 { figure } else { format!("{figure} ({})", times(value / base)) }
                };
                let (ours, theirs) = (operation.latency, base.map(|base| base.latency).unwrap_or_default());
                let mut row = vec![label.clone(), operation.operation.clone()];
                row.push(beside(number(operation.throughput), operation.throughput, base.map_or(0.0, |base| base.throughput)));
                for (value, base) in [(ours.p50, theirs.p50), (ours.p95, theirs.p95), (ours.p99, theirs.p99), (ours.p999, theirs.p999)] {
                    row.push(beside(latency(value), value, base));
                }
                rows.push(row);
            }
        }
        let _ = writeln!(out, "\n{name}  (in brackets: how many times the first report's)");
        table(&mut out, &rows, &[0, 1, 2, 3, 4, 5, 6]);
    }
    out
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
