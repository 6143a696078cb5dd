//! Ratios between targets, beside the paper's. With several rounds they are medians of the ratios of each round of the subject to the same
//! round of the baseline, for what the machine did meanwhile met both.

use crate::report::measure::each_round;
use crate::report::model::{PhaseKind, Ratio, Spread, TargetReport};
use crate::report::rounds::rounds;
use crate::statistics::Summary;
use crate::study::Study;

/// A run of this name comes before what is measured: it is compared only if a paper asks for it.
const WARM_UP: &str = "warm-up";
/// Percentiles that are compared if no paper asks for others.
const PERCENTILES: [&str; 2] = ["p95", "p99"];

/// The rounds of a target.
type Rounds<'a> = Vec<&'a TargetReport>;

/// Every measure that the subject has, against each target that it is compared with.
#[must_use]
pub(super) fn ratios(study: &Study, targets: &[TargetReport]) -> Vec<Ratio> {
    let targets = rounds(targets);
    pairs(study, &targets).into_iter().flat_map(|(subject, baseline)| between(study, subject, baseline)).collect()
}

fn pairs<'a, 'b>(study: &Study, targets: &'b [Rounds<'a>]) -> Vec<(&'b Rounds<'a>, &'b Rounds<'a>)> {
    let named = |name: &str| targets.iter().find(|rounds| rounds[0].name == name);
    if let Some([subject, baseline]) = &study.compare
        && let (Some(subject), Some(baseline)) = (named(subject), named(baseline))
    {
        return vec![(subject, baseline)];
    }
    let Some((first, others)) = targets.split_first() else { return Vec::new() };
    // Sizes of one system are for the scaling chart, not for ratios.
    others.iter().filter(|other| other[0].nodes == first[0].nodes).map(|other| (first, other)).collect()
}

fn between(study: &Study, subject: &Rounds<'_>, baseline: &Rounds<'_>) -> Vec<Ratio> {
    let paper = study.paper.as_ref().map(|paper| paper.ratios.as_slice()).unwrap_or_default();
    let mut measures: Vec<String> = paper.iter().map(|ratio| ratio.measure.clone()).collect();
    for phase in subject.iter().flat_map(|target| &target.phases) {
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
        let (ours, theirs) = (each_round(subject, &measure), each_round(baseline, &measure));
        let is_latency = !measure.contains("throughput");
        let quotients = ours.iter().filter_map(|(round, ours)| {
            let (_, theirs) = theirs.iter().find(|(other, _)| other == round)?;
            let quotient = if is_latency { theirs / ours } else { ours / theirs };
            Some((*round, quotient)).filter(|_| *ours > 0.0 && *theirs > 0.0)
        });
        let quotients: Vec<(u32, f64)> = quotients.collect();
        let figure = |each: &[(u32, f64)]| median_and_spread(each, study.repeats);
        let ((subject_value, subject_spread), (baseline_value, baseline_spread)) = (figure(&ours), figure(&theirs));
        let (measured, measured_spread) = figure(&quotients);
        Ratio {
            subject: subject[0].name.clone(),
            baseline: baseline[0].name.clone(),
            subject_value,
            baseline_value,
            unit: if is_latency { "ms" } else { "ops/s" }.to_owned(),
            measured,
            paper: paper.iter().find(|ratio| ratio.measure == measure).map(|ratio| ratio.value),
            subject_spread,
            baseline_spread,
            measured_spread,
            measure,
        }
    };
    measures.into_iter().map(ratio).collect()
}

/// Of the rounds that have a figure; with one round there is no spread.
fn median_and_spread(each: &[(u32, f64)], repeats: u32) -> (Option<f64>, Option<Spread>) {
    let summary = Summary::of(each.iter().map(|(_, figure)| *figure));
    let spread = |summary: Summary| Spread { lowest: summary.least, highest: summary.most, rounds: each.len() as u32 };
    (summary.map(|summary| summary.median), summary.filter(|_| repeats > 1).map(spread))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::report::model::PhaseReport;
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

    /// A target in a round: its throughput and p95 of reads, and whether the phase was finished.
    fn in_round(name: &str, round: u32, throughput: f64, p95: f64, complete: bool) -> TargetReport {
        let mut target = target(name, 1, vec![phase("run", "run", 10.0, throughput, p95)]);
        (target.round, target.phases[0].complete) = (round, complete);
        target
    }

    #[test]
    fn ratios_of_rounds_are_between_the_same_rounds() {
        let study = Study { repeats: 3, ..find("aerospike-cassandra").unwrap() };
        let pair = |round, ours, theirs| {
            [in_round("tarndb", round, ours, 1e6 / ours, true), in_round("cassandra", round, theirs, 1e6 / theirs, true)]
        };
        // In the second round the machine is half as fast.
        let targets = [pair(1, 100.0, 10.0), pair(2, 50.0, 4.0), pair(3, 90.0, 10.0)].concat();
        let ratios = ratios(&study, &targets);
        let of = |measure: &str| ratios.iter().find(|ratio| ratio.measure == measure).unwrap();
        let run = of("run throughput");
        assert_eq!((run.subject_value, run.baseline_value, run.measured), (Some(90.0), Some(10.0), Some(10.0)));
        assert_eq!(run.measured_spread, Some(Spread { lowest: 9.0, highest: 12.5, rounds: 3 }));
        assert_eq!(run.subject_spread, Some(Spread { lowest: 50.0, highest: 100.0, rounds: 3 }));
        assert_eq!(run.baseline_spread, Some(Spread { lowest: 4.0, highest: 10.0, rounds: 3 }));
        let latency = of("run read p95").measured_spread.unwrap();
        assert!((latency.lowest - 9.0).abs() < 1e-9 && (latency.highest - 12.5).abs() < 1e-9, "{latency:?}");
        assert_eq!((of("load throughput").measured, of("load throughput").measured_spread), (None, None));
    }

    #[test]
    fn a_round_that_was_cut_short_is_not_counted() {
        let study = Study { repeats: 3, ..find("aerospike-cassandra").unwrap() };
        let ours = [(1, 100.0), (2, 50.0)].map(|(round, rate)| in_round("tarndb", round, rate, 1.0, true));
        let both = |finished: bool| {
            [ours.to_vec(), vec![in_round("cassandra", 1, 1.0, 1.0, false), in_round("cassandra", 2, 10.0, 1.0, finished)]].concat()
        };
        let run = |finished| ratios(&study, &both(finished)).into_iter().find(|ratio| ratio.measure == "run throughput").unwrap();
        let one = run(true);
        assert_eq!((one.measured, one.measured_spread.unwrap().rounds), (Some(5.0), 1));
        assert_eq!((one.subject_value, one.subject_spread.unwrap().rounds), (Some(75.0), 2));
        let none = run(false);
        assert_eq!((none.measured, none.measured_spread.unwrap().rounds), (Some(52.5), 2), "what there is is shown, as in a single round");
    }

    #[test]
    fn one_round_has_no_spread() {
        let study = find("aerospike-cassandra").unwrap();
        let ratios = ratios(&study, &[in_round("tarndb", 1, 9.0, 1.0, true), in_round("cassandra", 1, 3.0, 1.0, true)]);
        let run = ratios.iter().find(|ratio| ratio.measure == "run throughput").unwrap();
        assert_eq!((run.measured, run.measured_spread, run.subject_spread, run.baseline_spread), (Some(3.0), None, None, None));
        assert!(!serde_json::to_string(run).unwrap().contains("spread"));
    }

    #[test]
    fn sizes_of_one_system_are_not_compared() {
        let study = find("griddb-scaleout").unwrap();
        let sized = |nodes| target(&format!("n{nodes}"), nodes, vec![phase("run", "run", 10.0, 5.0, 1.0)]);
        assert!(ratios(&study, &[sized(3), sized(5)]).is_empty());
    }
}
