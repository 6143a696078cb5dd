//! Checks a study before anything of it runs: what is found wrong later is found after hours of loading.

use super::file::{BATCH_MAX, NODES_MAX, Phase, REPEATS_MAX, Study};
use crate::report::model::PhaseKind;
use load::cql::ConsistencyLevel;
use load::values::VERSION_BYTES;
use load::workload::{Clients, KeyChoice, Mix, OperationKind, Rows};

/// A row's values are this long at most.
const VALUE_BYTES_MAX: u64 = 1 << 20;
/// A year: durations are longer by mistake.
const SECONDS_MAX: f64 = 31_536_000.0;
const NAME_LETTERS_MAX: usize = 64;
/// What measures of latency end with.
const PERCENTILES: [&str; 5] = ["p50", "p95", "p99", "p99.9", "max"];

/// What is wrong with it, and what would be right.
pub(super) fn check(study: &Study) -> Result<(), String> {
    check_name("the study's name", &study.name)?;
    check_rows(&study.rows)?;
    if study.nodes.each().is_empty() || study.nodes.each().iter().any(|nodes| !(1..=NODES_MAX).contains(nodes)) {
        return Err(format!("nodes is a number from 1 to {NODES_MAX}, or a list of such numbers"));
    }
    if !(1..=NODES_MAX).contains(&study.replication) {
        return Err(format!("replication is a number of replicas from 1 to {NODES_MAX}"));
    }
    if !(1..=BATCH_MAX).contains(&study.batch) {
        return Err(format!("batch is a number of rows from 1 to {BATCH_MAX}"));
    }
    if !(1..=REPEATS_MAX).contains(&study.repeats) {
        return Err(format!("repeats is a number of rounds from 1 to {REPEATS_MAX}"));
    }
    if study.memory_of_data.is_some_and(|part| !is_positive(part)) {
        return Err("memory_of_data is a part of the data, for example 0.125".to_owned());
    }
    if study.cost.is_some_and(|cost| !is_positive(cost.node_hour)) {
        return Err("node_hour is a number of dollars, more than 0".to_owned());
    }
    if let Some(level) = &study.consistency {
        level.parse::<ConsistencyLevel>().map_err(|error| error.to_string())?;
    }
    if study.compare.as_ref().is_some_and(|[one, other]| one == other) {
        return Err("compare names two targets, not one twice".to_owned());
    }
    study.cql.check(study.rows.fields)?;
    check_phases(study)?;
    check_measures(study)
}

fn is_positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

/// Names stand in the names of files, and in those of measures.
fn check_name(what: &str, name: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || " .-_".contains(letter);
    if name.is_empty() || name.len() > NAME_LETTERS_MAX || name.starts_with(['.', '-', ' ']) || !name.chars().all(is_plain) {
        return Err(format!("{what} is of letters, digits, spaces and . - _, at most {NAME_LETTERS_MAX} bytes of them, not {name:?}"));
    }
    Ok(())
}

fn check_rows(rows: &Rows) -> Result<(), String> {
    let Rows { count, fields, field_bytes, field_bytes_min, .. } = *rows;
    if count == 0 || fields == 0 || field_bytes == 0 {
        return Err("rows need a count, fields and field_bytes of at least 1".to_owned());
    }
    if u64::from(fields) * u64::from(field_bytes) > VALUE_BYTES_MAX {
        return Err(format!("rows of {fields} fields of {field_bytes} bytes are larger than the 1 MiB that a row may have here"));
    }
    if field_bytes_min.is_some_and(|least| !(1..=field_bytes).contains(&least)) {
        return Err(format!("field_bytes_min is a number from 1 to field_bytes, {field_bytes}"));
    }
    Ok(())
}

fn check_phases(study: &Study) -> Result<(), String> {
    let all = &study.phases;
    if all.is_empty() {
        return Err("there are no phases".to_owned());
    }
    let Some(load) = all.iter().position(|phase| phase.kind == PhaseKind::Load) else {
        return Err("no phase is of kind \"load\": there would be no rows to ask for".to_owned());
    };
    let mut names: Vec<&str> = all.iter().map(Phase::name).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("two phases are called {}: give one a name", twice[0]));
    }
    for (at, phase) in all.iter().enumerate() {
        let wrong = |what: String| format!("phase {}: {what}", phase.name());
        if at < load && matches!(phase.kind, PhaseKind::Run | PhaseKind::Verify) {
            return Err(wrong("it comes before the load: there would be no rows to ask for".to_owned()));
        }
        check_name("its name", phase.name()).map_err(wrong)?;
        check_phase(phase, study).map_err(wrong)?;
    }
    Ok(())
}

fn check_phase(phase: &Phase, study: &Study) -> Result<(), String> {
    check_keys(phase)?;
    let Clients { threads, connections, in_flight } = phase.clients.unwrap_or(study.clients);
    if threads == 0 || connections < threads || in_flight == 0 || in_flight > 1 << 14 {
        return Err("clients need at least one thread, a connection for each thread, and 1 to 16,384 requests in flight".to_owned());
    }
    for (key, seconds) in [("seconds", phase.seconds), ("timeout_s", phase.timeout_s)] {
        if seconds.is_some_and(|seconds| !is_positive(seconds) || seconds > SECONDS_MAX) {
            return Err(format!("{key} must be more than 0, and at most a year"));
        }
    }
    if phase.rate.is_some_and(|rate| !is_positive(rate)) {
        return Err("rate is operations a second, more than 0".to_owned());
    }
    let mixes = matches!(phase.kind, PhaseKind::Run | PhaseKind::Validate);
    match &phase.mix {
        None if mixes => return Err("it needs a mix: operations and keys".to_owned()),
        Some(mix) => check_mix(mix, phase.kind == PhaseKind::Validate, &study.rows)?,
        None => {}
    }
    let verifies = matches!(phase.kind, PhaseKind::Validate | PhaseKind::Verify) || phase.mix.as_ref().is_some_and(|mix| mix.verify);
    if verifies && !study.cql.leaves_operations() {
        return Err("what statements of the study's own read and write is not verified: it can have cql.schema alone".to_owned());
    }
    if phase.kind == PhaseKind::Run && phase.seconds.is_none() && phase.operations.is_none() {
        return Err("it never ends: give it seconds or operations".to_owned());
    }
    if phase.kind == PhaseKind::Validate && phase.operations.is_none() {
        return Err("it needs a number of operations".to_owned());
    }
    if phase.events.iter().any(|event| !(event.at_s.is_finite() && event.at_s >= 0.0)) {
        return Err("events happen at a number of seconds from 0".to_owned());
    }
    if phase.events.windows(2).any(|pair| pair[0].at_s > pair[1].at_s) {
        return Err("events stand in the order in which they happen".to_owned());
    }
    let end = phase.seconds.unwrap_or(f64::INFINITY);
    if let Some(late) = phase.events.iter().find(|event| event.at_s >= end) {
        return Err(format!("{} at {} s never happens: the phase ends after {end} s", late.what(), late.at_s));
    }
    Ok(())
}

/// Each kind of phase has keys of its own; others would do nothing.
fn check_keys(phase: &Phase) -> Result<(), String> {
    use PhaseKind::{Load, Run, Settle, Validate, Verify};
    let given: [(&str, bool, &[PhaseKind]); 8] = [
        ("mix", phase.mix.is_some(), &[Run, Validate]),
        ("operations", phase.operations.is_some(), &[Run, Validate]),
        ("seconds", phase.seconds.is_some(), &[Run, Validate]),
        ("rate", phase.rate.is_some(), &[Run, Load]),
        ("clients", phase.clients.is_some(), &[Run, Load, Validate, Verify]),
        ("rows", phase.rows.is_some(), &[Validate]),
        ("timeout_s", phase.timeout_s.is_some(), &[Settle]),
        ("events", !phase.events.is_empty(), &[Run]),
    ];
    match given.into_iter().find(|(_, is_given, kinds)| *is_given && !kinds.contains(&phase.kind)) {
        None => Ok(()),
        Some((key, _, kinds)) => {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            Err(format!("{key} is for phases of kind {}, not {}", kinds.join(", "), phase.kind.name()))
        }
    }
}

fn check_mix(mix: &Mix, verifies: bool, rows: &Rows) -> Result<(), String> {
    let mut weights = mix.operations.values();
    if weights.clone().any(|weight| !(weight.is_finite() && *weight >= 0.0)) || weights.all(|weight| *weight == 0.0) {
        return Err("the weights of operations are numbers from 0, not all of them 0".to_owned());
    }
    if mix.scan_rows_max == 0 {
        return Err("scan_rows_max is at least 1".to_owned());
    }
    let shortest = rows.field_bytes_min.unwrap_or(rows.field_bytes);
    if (mix.verify || verifies) && (shortest as usize) < VERSION_BYTES {
        return Err(format!("values that are verified have {VERSION_BYTES} bytes or more, not {shortest}"));
    }
    let share = |part: f64| part > 0.0 && part <= 1.0;
    let (holds, says) = match mix.keys {
        KeyChoice::Sequential | KeyChoice::Uniform | KeyChoice::Latest => (true, ""),
        KeyChoice::Zipfian { constant } | KeyChoice::ScrambledZipfian { constant } => {
            (constant > 0.0 && constant < 1.0, "a zipfian distribution's constant lies between 0 and 1, as YCSB's 0.99")
        }
        KeyChoice::Gaussian { deviations } => {
            (is_positive(deviations), "a gaussian distribution has more than 0 deviations from the middle to the ends")
        }
        KeyChoice::Hotspot { rows, operations } => {
            (share(rows) && share(operations), "a hotspot's rows and operations are shares above 0, at most 1")
        }
        KeyChoice::Exponential { percentile, rows } => (
            percentile > 0.0 && percentile < 100.0 && share(rows),
            "an exponential distribution has a percentile between 0 and 100, and a share of the rows above 0, at most 1",
        ),
    };
    if holds { Ok(()) } else { Err(says.to_owned()) }
}

/// A paper's measures must be some that the study has, or they are compared with nothing for ever.
fn check_measures(study: &Study) -> Result<(), String> {
    for ratio in study.paper.iter().flat_map(|paper| &paper.ratios) {
        let measure = ratio.measure.as_str();
        let is_known = study.phases.iter().any(|phase| measures_of(phase, measure));
        if !is_known {
            return Err(format!(
                "no phase has the paper's measure {measure:?}; measures are PHASE throughput, PHASE throughput with settling (of a load), and PHASE OPERATION {}",
                PERCENTILES.join("|")
            ));
        }
        if !is_positive(ratio.value) {
            return Err(format!("the paper's {measure} is a factor above 0"));
        }
    }
    Ok(())
}

fn measures_of(phase: &Phase, measure: &str) -> bool {
    let Some(rest) = measure.strip_prefix(phase.name()).and_then(|rest| rest.strip_prefix(' ')) else { return false };
    let has = |operation: &str| match (&phase.mix, phase.kind) {
        (Some(mix), PhaseKind::Run) => mix.operations.keys().any(|kind| kind.name() == operation),
        (None, PhaseKind::Load) => operation == OperationKind::Insert.name(),
        _ => false,
    };
    match rest {
        "throughput" => matches!(phase.kind, PhaseKind::Run | PhaseKind::Load),
        "throughput with settling" => phase.kind == PhaseKind::Load,
        latency => latency.rsplit_once(' ').is_some_and(|(operation, percentile)| has(operation) && PERCENTILES.contains(&percentile)),
    }
}
