//! A run that goes on where an earlier one stopped, with the same directory and the same flags.
//!
//! Phases that are over stay as they are, in a round of which the dataset is still there. What an earlier attempt ended with goes: failures, phases that were cut short, and the warnings of
//! both. A report must not mix what was measured in different ways, so every flag that figures depend on is in it and compared.

use super::error::RunError;
use super::files::json_path;
use super::options::Options;
use crate::report;
use crate::report::model::{PhaseReport, Report, TargetReport};
use crate::study::Study;
use crate::target::{Access, TargetSpec};
use std::collections::BTreeMap;

/// The incomplete report of the same run, if the directory holds one.
pub(super) fn resumed(options: &Options) -> Result<Option<Report>, RunError> {
    let out = options.out.clone();
    if !json_path(&out).exists() {
        return Ok(None);
    }
    let found = report::read_json(&json_path(&out))?;
    let differences = differences(&found, options);
    if !differences.is_empty() {
        return Err(RunError::OtherRun { out, differences: differences.join("; ") });
    }
    if found.complete {
        return Err(RunError::Finished { out });
    }
    Ok(Some(without_failures(found, &options.study)))
}

/// Flags that figures depend on, beside scale and study.
pub(super) fn settings(options: &Options) -> BTreeMap<String, String> {
    let cpus = |cpus: &[usize]| {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        if cpus.is_empty() { "any".to_owned() } else { cpus.join(",") }
    };
    let agents = &options.agents.addresses;
    BTreeMap::from([
        ("--memory".to_owned(), options.memory_bytes.map_or_else(|| "the study's".to_owned(), |bytes| format!("{bytes} bytes"))),
        ("--server-cpus".to_owned(), cpus(&options.server_cpus)),
        ("--load-cpus".to_owned(), cpus(&options.load_cpus)),
        ("--agent".to_owned(), if agents.is_empty() { "none".to_owned() } else { agents.join(",") }),
        ("--seed".to_owned(), options.seed.to_string()),
    ])
}

/// A target as `--target` says it, without what may change while it stays the same: who asks, its process, where its metrics are.
pub(super) fn given(spec: &TargetSpec) -> String {
    let with = |place: String, options: Vec<(&str, String)>| {
        let options: Vec<String> = options.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        if options.is_empty() { place } else { format!("{place}?{}", options.join("&")) }
    };
    match spec {
        TargetSpec::Private { protocol, nodes, batch, .. } => {
            let told = [("protocol", protocol.name().to_owned()), ("nodes", nodes.unwrap_or(1).to_string())];
            let batch = batch.map(|batch| ("batch", batch.to_string()));
            with("tarndb".to_owned(), told.into_iter().chain(batch).collect())
        }
        TargetSpec::Peer { name, options } => {
            with(name.clone(), options.iter().map(|(key, value)| (key.as_str(), value.clone())).collect())
        }
        TargetSpec::Server { name, address, access, nodes, .. } => {
            let (place, told) = match access {
                Access::Cql { consistency, table, .. } => {
                    (String::new(), vec![("consistency", consistency.clone()), ("table", table.clone())])
                }
                Access::Aerospike { namespace } => (format!("/{namespace}"), Vec::new()),
                Access::GridDb { cluster, batch, .. } => {
                    let place = if cluster.is_empty() { String::new() } else { format!("/{cluster}") };
                    (place, vec![("batch", batch.map(|batch| batch.to_string()))])
                }
            };
            let told = told.into_iter().filter_map(|(key, value)| Some((key, value?)));
            let options = [("nodes", nodes.to_string())].into_iter().chain(told).collect();
            with(format!("{name}={}://{address}{place}", spec.protocol().name()), options)
        }
    }
}

/// What makes the run of a report another one than what is asked for, in words. Reports of earlier versions do not tell all.
fn differences(found: &Report, options: &Options) -> Vec<String> {
    let mut all = Vec::new();
    let mut differs = |what: &str, was: &str, is: &str| {
        if was != is {
            all.push(format!("{what} was {was} and is {is} now"));
        }
    };
    differs("the study", &found.study.name, &options.study.name);
    differs("the number of rounds (repeats, --repeats)", &found.repeats.to_string(), &options.study.repeats.to_string());
    differs("--scale", &found.scale.to_string(), &options.scale.to_string());
    for (flag, is) in settings(options) {
        differs(&flag, found.settings.get(&flag).unwrap_or(&is), &is);
    }
    for target in &found.targets {
        match options.targets.iter().find(|spec| spec.name() == target.name) {
            Some(spec) if !target.given.is_empty() => differs("--target", &target.given, &given(spec)),
            Some(_) => {}
            None => differs("--target", &target.name, "not given"),
        }
    }
    if all.is_empty() && found.study.file != options.study.file() {
        all.push("the study's file, --duration or --rate is another".to_owned());
    }
    all
}

fn without_failures(mut report: Report, study: &Study) -> Report {
    let mut gone = Vec::new();
    let lost: Vec<bool> = (0..report.targets.len()).map(|at| is_dataset_lost(&report.targets, at, study)).collect();
    for (target, is_dataset_lost) in report.targets.iter_mut().zip(lost) {
        gone.extend(failure_warning(target, study.repeats));
        target.failure = None;
        let goes = |phase: &PhaseReport| !phase.complete || is_dataset_lost;
        let name = called(target, study.repeats);
        gone.extend(target.phases.iter().filter(|phase| goes(phase)).filter_map(|phase| log_warning(&name, phase)));
        target.phases.retain(|phase| !goes(phase));
        target.costs.retain(|cost| target.phases.iter().any(|phase| phase.name == cost.phase));
    }
    report.warnings.retain(|warning| !gone.contains(warning));
    report
}

/// Whether a round has to begin anew: another round has made the dataset since, or will before it is this one's turn again.
fn is_dataset_lost(targets: &[TargetReport], at: usize, study: &Study) -> bool {
    let unfinished = |target: &TargetReport| !is_finished(target, study);
    let others = targets.iter().filter(|other| other.name == targets[at].name && other.round != targets[at].round);
    unfinished(&targets[at]) && others.clone().any(|other| other.round > targets[at].round || unfinished(other))
}

/// Whether a round has all phases of the study.
pub(super) fn is_finished(target: &TargetReport, study: &Study) -> bool {
    study.phases.iter().all(|phase| target.phases.iter().any(|done| done.complete && done.name == phase.name()))
}

/// A target's name, and its round where there are several.
pub(super) fn called(target: &TargetReport, repeats: u32) -> String {
    let TargetReport { name, round, .. } = target;
    if repeats == 1 { name.clone() } else { format!("{name}, round {round}") }
}

/// What is said first of a target that was given up.
pub(super) fn failure_warning(target: &TargetReport, repeats: u32) -> Option<String> {
    Some(format!("{}: {}", called(target, repeats), target.failure.as_ref()?))
}

/// What is said of a phase whose histogram log is not whole.
pub(super) fn log_warning(target: &str, phase: &PhaseReport) -> Option<String> {
    let why = phase.histogram_log_failure.as_ref()?;
    Some(format!("{target}, {}: the histogram log is not whole: {why}", phase.name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::run::{Agents, blank};
    use crate::study;
    use serde_json::{from_value, json};

    fn options() -> Options {
        Options {
            study: study::find("ycsb-a").unwrap(),
            scale: 1.0,
            targets: ["tarndb", "cassandra?durability=group"].map(|given| TargetSpec::parse(given).unwrap()).to_vec(),
            out: "/nowhere".into(),
            server_cpus: vec![0],
            load_cpus: vec![1],
            memory_bytes: Some(300 << 20),
            peers: None,
            commands: BTreeMap::new(),
            agents: Agents::default(),
            seed: 1,
            command: Vec::new(),
            tool: String::new(),
        }
    }

    fn phase(name: &str, complete: bool, log_failure: Option<&str>) -> serde_json::Value {
        json!({"name": name, "kind": "run", "started_s": 0.0, "seconds": 1.0, "complete": complete, "settings": {}, "throughput": 1.0,
            "operations": [], "errors": [], "verified": {"compared": 0, "lost": 0, "stale": 0, "wrong": 0}, "variation": null, "drift": null,
            "resources": {"network_received": 0, "network_sent": 0, "client_cpu_s": 0.0, "client_busiest": 0.0, "client_limited": false},
            "timeline": [], "events": [], "histogram_log": null, "histogram_log_failure": log_failure})
    }

    fn report() -> Report {
        let options = options();
        let target = |spec: &TargetSpec| {
            let phases = [phase("load", true, Some("full")), phase("run", false, Some("fuller"))];
            from_value(json!({"name": spec.name(), "given": given(spec), "protocol": "cql", "address": "", "server": "", "nodes": 1,
                "settings": {}, "phases": phases, "costs": [], "failure": "interrupted"}))
            .unwrap()
        };
        Report { targets: options.targets.iter().map(target).collect(), ..blank(&options) }
    }

    #[test]
    fn a_run_goes_on_only_with_the_flags_that_it_began_with() {
        assert!(differences(&report(), &options()).is_empty());
        let target = |given: &str| vec![TargetSpec::parse("tarndb").unwrap(), TargetSpec::parse(given).unwrap()];
        let others = [
            (Options { memory_bytes: None, ..options() }, "--memory was 314572800 bytes and is the study's now"),
            (Options { server_cpus: Vec::new(), ..options() }, "--server-cpus was 0 and is any now"),
            (Options { load_cpus: vec![1, 2], ..options() }, "--load-cpus was 1 and is 1,2 now"),
            (Options { seed: 2, ..options() }, "--seed was 1 and is 2 now"),
            (Options { scale: 0.5, ..options() }, "--scale was 1 and is 0.5 now"),
            (Options { study: study::find("ycsb-b").unwrap(), ..options() }, "the study was ycsb-a and is ycsb-b now"),
            (
                Options { agents: Agents { addresses: vec!["a:1".to_owned()], ..Agents::default() }, ..options() },
                "--agent was none and is a:1 now",
            ),
            (
                Options { targets: target("cassandra?durability=batch"), ..options() },
                "--target was cassandra?durability=group and is cassandra?durability=batch now",
            ),
            (Options { targets: target("scylla"), ..options() }, "--target was cassandra and is not given now"),
        ];
        for (options, says) in others {
            assert_eq!(differences(&report(), &options), [says]);
        }
        let mut longer = options();
        longer.study.last(5.0);
        assert_eq!(differences(&report(), &longer), ["the study's file, --duration or --rate is another"]);
        let mut again = options();
        again.study.repeats = 3;
        assert_eq!(differences(&report(), &again), ["the number of rounds (repeats, --repeats) was 1 and is 3 now"]);
        let more = Options { targets: [options().targets, vec![TargetSpec::parse("cql://x:1").unwrap()]].concat(), ..options() };
        assert!(differences(&report(), &more).is_empty(), "a target that was not begun mixes nothing");
    }

    #[test]
    fn a_report_that_does_not_tell_its_flags_goes_on() {
        let mut old = report();
        old.settings.clear();
        old.targets.iter_mut().for_each(|target| target.given.clear());
        assert!(differences(&old, &Options { seed: 2, ..options() }).is_empty());
    }

    #[test]
    fn a_target_is_the_same_whoever_asks_and_whatever_its_process_is() {
        let given = |text: &str| given(&TargetSpec::parse(text).unwrap());
        let other = given("x=cql://me:secret@h:1,i:2?nodes=2&pid=7&metrics=http://h:3&consistency=ONE");
        assert_eq!(other, "x=cql://h:1,i:2?nodes=2&consistency=ONE");
        assert_eq!(given("x=aerospike://h:1/space"), "x=aerospike://h:1/space?nodes=1");
        assert_eq!(given("x=griddb://me:secret@h:1/c?batch=10&pid=7"), "x=griddb://h:1/c?nodes=1&batch=10");
        assert_ne!(given("tarndb?nodes=3"), given("tarndb?nodes=5"));
        assert_ne!(given("tarndb?protocol=griddb&batch=10"), given("tarndb?protocol=griddb"));
    }

    /// A study of a load and a run in three rounds.
    fn repeated() -> Options {
        let mut options = options();
        options.study.repeats = 3;
        options.study.phases.retain(|phase| ["load", "run"].contains(&phase.name()));
        options
    }

    /// What is left of `tarndb` in rounds of which the runs were finished or not, and of which round its warnings are.
    fn left(finished: &[bool]) -> (Vec<usize>, Vec<String>) {
        let options = repeated();
        let mut report = Report { targets: Vec::new(), ..blank(&options) };
        for (finished, round) in finished.iter().zip(1..) {
            let failure = (!finished).then_some("died");
            let target = json!({"name": "tarndb", "round": round, "protocol": "cql", "address": "", "server": "", "nodes": 1, "settings": {},
                "phases": [phase("load", true, Some("full")), phase("run", *finished, None)], "costs": [], "failure": failure});
            report.targets.push(from_value(target).unwrap());
        }
        let said = |target: &TargetReport| {
            let of_log = log_warning(&called(target, 3), &target.phases[0]);
            failure_warning(target, 3).into_iter().chain(of_log).collect::<Vec<_>>()
        };
        report.warnings = report.targets.iter().flat_map(said).collect();
        let goes_on = without_failures(report, &options.study);
        (goes_on.targets.iter().map(|target| target.phases.len()).collect(), goes_on.warnings)
    }

    #[test]
    fn a_round_goes_on_if_no_other_round_makes_its_dataset_again() {
        let log = |round: u32| format!("tarndb, round {round}, load: the histogram log is not whole: full");
        assert_eq!(left(&[true, false]), (vec![2, 1], vec![log(1), log(2)]), "it was under way when the run ended");
        assert_eq!(left(&[false, true]), (vec![0, 2], vec![log(2)]), "the second round has made the dataset again");
        assert_eq!(left(&[true, false, true]), (vec![2, 0, 2], vec![log(1), log(3)]));
        assert_eq!(left(&[false, false]), (vec![0, 0], vec![]), "the first will make it again before it is the second's turn");
    }

    #[test]
    fn a_round_is_finished_when_it_has_all_phases() {
        let (options, mut report) = (repeated(), report());
        assert!(!is_finished(&report.targets[0], &options.study), "its run was cut short");
        report.targets[0].phases[1].complete = true;
        assert!(is_finished(&report.targets[0], &options.study));
    }

    #[test]
    fn what_an_earlier_attempt_ended_with_is_gone_with_its_warnings() {
        let mut cut_short = report();
        let said = cut_short.targets.iter().flat_map(|target| {
            let of_logs = target.phases.iter().filter_map(|phase| log_warning(&target.name, phase));
            failure_warning(target, 1).into_iter().chain(of_logs)
        });
        cut_short.warnings = said.collect();
        cut_short.warnings.push("the nodes share one CPU".to_owned());
        let goes_on = without_failures(cut_short, &options().study);
        assert!(goes_on.targets.iter().all(|target| target.failure.is_none() && target.phases.len() == 1));
        let stays = [
            "tarndb, load: the histogram log is not whole: full",
            "cassandra, load: the histogram log is not whole: full",
            "the nodes share one CPU",
        ];
        assert_eq!(goes_on.warnings, stays);
    }
}
