//! Ratios between targets, beside the paper's.
//!
//! Measures are named `PHASE throughput`, `PHASE throughput with settling` (a load and the settle phase right after it) and
//! `PHASE OPERATION p50|p95|p99|p99.9|max`.

use crate::report::model::{OperationReport, PhaseKind, PhaseReport, Ratio, TargetReport};
use crate::study::Study;

/// A run of this name comes before what is measured: it is compared only if a paper asks for it.
const WARM_UP: &str = "warm-up";
/// Percentiles that are compared if no paper asks for others.
const PERCENTILES: [&str; 2] = ["p95", "p99"];

/// Every measure that the subject has, against each target that it is compared with.
#[must_use]
pub(super) fn ratios(study: &Study, targets: &[TargetReport]) -> Vec<Ratio> {
    pairs(study, targets).into_iter().flat_map(|(subject, baseline)| between(study, subject, baseline)).collect()
}

fn pairs<'a>(study: &Study, targets: &'a [TargetReport]) -> Vec<(&'a TargetReport, &'a TargetReport)> {
    let named = |name: &str| targets.iter().find(|target| target.name == name);
    if let Some([subject, baseline]) = &study.compare
        && let (Some(subject), Some(baseline)) = (named(subject), named(baseline))
    {
        return vec![(subject, baseline)];
    }
    let Some((first, others)) = targets.split_first() else { return Vec::new() };
    // Sizes of one system are for the scaling chart, not for ratios.
    others.iter().filter(|other| other.nodes == first.nodes).map(|other| (first, other)).collect()
}

fn between(study: &Study, subject: &TargetReport, baseline: &TargetReport) -> Vec<Ratio> {
    let paper = study.paper.as_ref().map(|paper| paper.ratios.as_slice()).unwrap_or_default();
    let mut measures: Vec<String> = paper.iter().map(|ratio| ratio.measure.clone()).collect();
    for phase in &subject.phases {
        if !matches!(phase.kind, PhaseKind::Load | PhaseKind::Run) || phase.name == WARM_UP {
            continue;
        }
        let mut add = |measure: String| {
            if !measures.contains(&measure) {
                measures.push(measure);
            }
        };
        add(format!("{} throughput", phase.name));
        for operation in &phase.operations {
            PERCENTILES.iter().for_each(|percentile| add(format!("{} {} {percentile}", phase.name, operation.operation)));
        }
    }
    let ratio = |measure: String| {
        let (ours, theirs) = (value(subject, &measure), value(baseline, &measure));
        let is_latency = !measure.contains("throughput");
        let quotient = ours.zip(theirs).filter(|(ours, theirs)| *ours > 0.0 && *theirs > 0.0);
        Ratio {
            subject: subject.name.clone(),
            baseline: baseline.name.clone(),
            subject_value: ours,
            baseline_value: theirs,
            unit: if is_latency { "ms" } else { "ops/s" }.to_owned(),
            measured: quotient.map(|(ours, theirs)| if is_latency { theirs / ours } else { ours / theirs }),
            paper: paper.iter().find(|ratio| ratio.measure == measure).map(|ratio| ratio.value),
            measure,
        }
    };
    measures.into_iter().map(ratio).collect()
}

/// A measure of a target: operations a second, or milliseconds.
fn value(target: &TargetReport, measure: &str) -> Option<f64> {
    if let Some(name) = measure.strip_suffix(" throughput") {
        return phase(target, name).map(|(_, phase)| phase.throughput);
    }
    if let Some(name) = measure.strip_suffix(" throughput with settling") {
        let (at, load) = phase(target, name)?;
        let settle = target.phases.get(at + 1).filter(|next| next.kind == PhaseKind::Settle && next.complete && !next.unknown)?;
        return Some(load.throughput * load.seconds / (load.seconds + settle.seconds));
    }
    let (rest, percentile) = measure.rsplit_once(' ')?;
    let (name, operation) = rest.rsplit_once(' ')?;
    let (_, phase) = phase(target, name)?;
    let operation = phase.operations.iter().find(|one| one.operation == operation)?;
    latency(operation, percentile).map(|us| us / 1000.0)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::study::find;
    use serde_json::{from_value, json};

    fn phase(name: &str, kind: &str, seconds: f64, throughput: f64, p95: f64) -> serde_json::Value {
        let latency = json!({"mean": 1.0, "p50": 1.0, "p95": p95, "p99": 2.0 * p95, "p999": 9.0, "max": 9.0});
        let operations = if throughput > 0.0 {
            json!([{"operation": "read", "replies": 1, "errors": 0, "throughput": throughput, "latency": latency, "spectrum": []}])
        } else {
            json!([])
        };
        json!({"name": name, "kind": kind, "started_s": 0.0, "seconds": seconds, "complete": true, "settings": {}, "throughput": throughput,
            "operations": operations, "errors": [], "verified": {"compared": 0, "lost": 0, "stale": 0, "wrong": 0}, "variation": null, "drift": null,
            "resources": {"network_received": 0, "network_sent": 0, "client_cpu_s": 0.0, "client_busiest": 0.0, "client_limited": false},
            "timeline": [], "events": [], "histogram_log": null})
    }

    fn target(name: &str, nodes: u32, phases: Vec<serde_json::Value>) -> TargetReport {
        from_value(json!({"name": name, "protocol": "cql", "address": "", "server": "", "nodes": nodes, "settings": {}, "phases": phases,
            "costs": [], "failure": null}))
        .unwrap()
    }

    fn measured(ratios: &[Ratio], measure: &str) -> Option<f64> {
        ratios.iter().find(|ratio| ratio.measure == measure).unwrap().measured
    }

    #[test]
    fn a_ratio_says_how_many_times_better_the_subject_is() {
        let study = find("aerospike-cassandra").unwrap();
        let cassandra = target(
            "cassandra",
            1,
            vec![
                phase("load", "load", 100.0, 10.0, 5.0),
                phase("settle", "settle", 100.0, 0.0, 0.0),
                phase("run", "run", 10.0, 5.0, 42_000.0),
            ],
        );
        let tarndb = target(
            "tarndb",
            1,
            vec![
                phase("load", "load", 10.0, 100.0, 5.0),
                phase("settle", "settle", 0.0, 0.0, 0.0),
                phase("warm-up", "run", 10.0, 90.0, 500.0),
                phase("run", "run", 10.0, 70.0, 1000.0),
            ],
        );
        let ratios = ratios(&study, &[cassandra, tarndb]);
        assert!(
            ratios.iter().all(|ratio| ratio.subject == "tarndb" && ratio.baseline == "cassandra"),
            "as the study says, not as they ran"
        );
        assert_eq!(measured(&ratios, "run throughput"), Some(14.0));
        assert_eq!(measured(&ratios, "run read p95"), Some(42.0));
        assert_eq!((measured(&ratios, "load throughput"), measured(&ratios, "load throughput with settling")), (Some(10.0), Some(20.0)));
        assert_eq!(measured(&ratios, "run update p95"), None, "it was not measured");
        assert!(!ratios.iter().any(|ratio| ratio.measure.starts_with("warm-up")), "nor is what comes before");
        let run = ratios.iter().find(|ratio| ratio.measure == "run throughput").unwrap();
        assert_eq!((run.paper, run.subject_value, run.baseline_value, run.unit.as_str()), (Some(14.0), Some(70.0), Some(5.0), "ops/s"));
    }

    #[test]
    fn settling_that_nobody_saw_end_is_not_counted() {
        let study = find("aerospike-cassandra").unwrap();
        let sides = |change: fn(&mut PhaseReport)| {
            ["tarndb", "cassandra"].map(|name| {
                let mut target = target(name, 1, vec![phase("load", "load", 10.0, 100.0, 5.0), phase("settle", "settle", 5.0, 0.0, 0.0)]);
                change(&mut target.phases[1]);
                target
            })
        };
        let with_settling = |change| measured(&ratios(&study, &sides(change)), "load throughput with settling");
        assert_eq!(with_settling(|_| ()), Some(1.0));
        assert_eq!(with_settling(|settle| settle.unknown = true), None);
        assert_eq!(with_settling(|settle| settle.complete = false), None);
    }

    #[test]
    fn sizes_of_one_system_are_not_compared() {
        let study = find("griddb-scaleout").unwrap();
        let sized = |nodes| target(&format!("n{nodes}"), nodes, vec![phase("run", "run", 10.0, 5.0, 1.0)]);
        assert!(ratios(&study, &[sized(3), sized(5)]).is_empty());
    }
}
