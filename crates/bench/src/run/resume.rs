//! A run that goes on where an earlier one stopped, with the same directory and the same flags.
//!
//! Phases that are over stay as they are. What an earlier attempt ended with goes: failures, phases that were cut short, and the warnings of
//! both. A report must not mix what was measured in different ways, so every flag that figures depend on is in it and compared.

use super::error::RunError;
use super::files::json_path;
use super::options::Options;
use crate::report;
use crate::report::model::{PhaseReport, Report, TargetReport};
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
    Ok(Some(without_failures(found)))
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

fn without_failures(mut report: Report) -> Report {
    let mut gone = Vec::new();
    for target in &mut report.targets {
        gone.extend(failure_warning(target));
        target.failure = None;
        let cut_short = target.phases.iter().filter(|phase| !phase.complete);
        gone.extend(cut_short.filter_map(|phase| log_warning(&target.name, phase)));
        target.phases.retain(|phase| phase.complete);
    }
    report.warnings.retain(|warning| !gone.contains(warning));
    report
}

/// What is said first of a target that was given up.
pub(super) fn failure_warning(target: &TargetReport) -> Option<String> {
    Some(format!("{}: {}", target.name, target.failure.as_ref()?))
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

    #[test]
    fn what_an_earlier_attempt_ended_with_is_gone_with_its_warnings() {
        let mut cut_short = report();
        let said = cut_short.targets.iter().flat_map(|target| {
            let of_logs = target.phases.iter().filter_map(|phase| log_warning(&target.name, phase));
            failure_warning(target).into_iter().chain(of_logs)
        });
        cut_short.warnings = said.collect();
        cut_short.warnings.push("the nodes share one CPU".to_owned());
        let goes_on = without_failures(cut_short);
        assert!(goes_on.targets.iter().all(|target| target.failure.is_none() && target.phases.len() == 1));
        let stays = [
            "tarndb, load: the histogram log is not whole: full",
            "cassandra, load: the histogram log is not whole: full",
            "the nodes share one CPU",
        ];
        assert_eq!(goes_on.warnings, stays);
    }
}
