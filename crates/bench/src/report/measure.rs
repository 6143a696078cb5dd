//! A measure of a target by its name, and of all its rounds.
//!
//! Measures are named `PHASE throughput`, `PHASE throughput with settling` (a load and the settle phase right after it) and
//! `PHASE OPERATION p50|p95|p99|p99.9|max`.

use super::model::{OperationReport, PhaseKind, PhaseReport, TargetReport};

/// A measure of each round that has it, with the round's number: operations a second, or milliseconds. What was cut short counts only if no
/// round finished it.
pub(crate) fn each_round(rounds: &[&TargetReport], measure: &str) -> Vec<(u32, f64)> {
    let measured = |target: &&TargetReport| value(target, measure).map(|(value, complete)| (target.round, value, complete));
    let all: Vec<(u32, f64, bool)> = rounds.iter().filter_map(measured).collect();
    let is_finished = all.iter().any(|(.., complete)| *complete);
    all.into_iter().filter(|(.., complete)| *complete || !is_finished).map(|(round, value, _)| (round, value)).collect()
}

/// A measure of a target, and whether its phase ended by itself.
fn value(target: &TargetReport, measure: &str) -> Option<(f64, bool)> {
    if let Some(name) = measure.strip_suffix(" throughput") {
        return phase(target, name).map(|(_, phase)| (phase.throughput, phase.complete));
    }
    if let Some(name) = measure.strip_suffix(" throughput with settling") {
        let (at, load) = phase(target, name)?;
        let settle = target.phases.get(at + 1).filter(|next| next.kind == PhaseKind::Settle && next.complete && !next.unknown)?;
        return Some((load.throughput * load.seconds / (load.seconds + settle.seconds), load.complete));
    }
    let (rest, percentile) = measure.rsplit_once(' ')?;
    let (name, operation) = rest.rsplit_once(' ')?;
    let (_, phase) = phase(target, name)?;
    let operation = phase.operations.iter().find(|one| one.operation == operation)?;
    latency(operation, percentile).map(|us| (us / 1000.0, phase.complete))
}

fn phase<'a>(target: &'a TargetReport, name: &str) -> Option<(usize, &'a PhaseReport)> {
    target.phases.iter().enumerate().find(|(_, phase)| phase.name == name && phase.throughput > 0.0)
}

fn latency(operation: &OperationReport, percentile: &str) -> Option<f64> {
    let latency = &operation.latency;
    match percentile {
        "p50" => Some(latency.p50),
        "p95" => Some(latency.p95),
        "p99" => Some(latency.p99),
        "p99.9" => Some(latency.p999),
        "max" => Some(latency.max),
        _ => None,
    }
}
