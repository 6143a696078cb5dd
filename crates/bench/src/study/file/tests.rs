//! What a study says, and which ones are refused.

#![allow(clippy::unwrap_used)]

use super::*;
use load::tables::Tables;

const SMALL: &str = r#"
name = "small"
title = "t"
description = "d"
rows = { count = 1000, field_bytes = 10 }
clients = { connections = 1 }
[[phases]]
kind = "load"
[[phases]]
kind = "run"
operations = 500
mix = { operations = { read = 1 }, keys = { distribution = "uniform" } }
"#;

#[test]
fn what_a_study_says_after_flags_says_it_again() {
    let mut study = Study::parse("small", SMALL).unwrap();
    study.scale(0.1).unwrap();
    assert_eq!((study.rows.count, study.phases[1].operations), (100, Some(50)));
    study.at_rate(20.0);
    study.last(3.0);
    assert_eq!((study.phases[1].seconds, study.phases[1].operations, study.phases[1].rate), (Some(3.0), None, Some(20.0)));
    assert_eq!(Study::parse("again", &study.file()).unwrap(), study);
    assert!(study.scale(0.0).is_err() && study.scale(f64::NAN).is_err());
}

#[test]
fn a_study_has_one_round_unless_it_says_otherwise() {
    let study = Study::parse("small", SMALL).unwrap();
    assert_eq!(study.repeats, 1);
    assert!(!study.file().contains("repeats"), "runs of earlier versions go on");
    let repeated = |repeats: &str| Study::parse("small", &SMALL.replace("rows =", &format!("repeats = {repeats}\nrows =")));
    for most in [2, 99] {
        let study = repeated(&most.to_string()).unwrap();
        assert_eq!(study.repeats, most);
        assert_eq!(Study::parse("again", &study.file()).unwrap(), study);
    }
    for (wrong, says) in [("0", "from 1 to 99"), ("100", "from 1 to 99"), ("-1", "u32"), ("1.5", "u32"), ("\"three\"", "u32")] {
        let error = repeated(wrong).unwrap_err().to_string();
        assert!(error.contains("repeats") && error.contains(says), "{error}");
    }
}

#[test]
fn events_move_with_the_length_of_their_phase() {
    let events = "operations = 500\nseconds = 100\nevents = [{ at_s = 40, do = \"kill-node\", node = \"leader\" }, { at_s = 70, do = \"start-node\" }]";
    let mut study = Study::parse("small", &SMALL.replace("operations = 500", events)).unwrap();
    study.last(10.0);
    let at: Vec<f64> = study.phases[1].events.iter().map(|event| event.at_s).collect();
    assert_eq!(at, [4.0, 7.0]);
    assert_eq!(study.phases[1].events.iter().map(Event::what).collect::<Vec<_>>(), ["kill-node (leader)", "start-node"]);
    assert_eq!(Study::parse("again", &study.file()).unwrap(), study);
}

#[test]
fn rows_are_in_one_table_unless_the_study_says_otherwise() {
    let study = Study::parse("small", SMALL).unwrap();
    assert_eq!(study.rows.tables, Tables::ONE);
    assert!(!study.file().contains("tables"), "reports of earlier versions repeat the same run");
    let spread = |tables: &str| Study::parse("small", &SMALL.replace("count = 1000", &format!("count = 1000, tables = {tables}")));
    let study = spread("1024").unwrap();
    assert_eq!(study.rows.tables.count(), 1_024);
    assert_eq!(Study::parse("again", &study.file()).unwrap(), study);
    for (wrong, says) in [("0", "from 1 to 1024"), ("1025", "from 1 to 1024"), ("-1", "u32"), ("1.5", "u32"), ("\"three\"", "u32")] {
        let error = spread(wrong).unwrap_err().to_string();
        assert!(error.contains("tables") && error.contains(says), "{error}");
    }
}

#[test]
fn sizes_are_a_number_or_a_list() {
    let sized = |nodes: &str| Study::parse("small", &format!("nodes = {nodes}\n{SMALL}"));
    for (nodes, each) in [("3", vec![3]), ("[3, 5]", vec![3, 5])] {
        let study = sized(nodes).unwrap();
        assert_eq!(study.nodes.each(), each);
        assert_eq!(Study::parse("again", &study.file()).unwrap(), study);
    }
    for wrong in ["0", "[]", "[3, 65]", "\"three\""] {
        assert!(sized(wrong).unwrap_err().to_string().contains("number"), "{wrong}");
    }
}

#[test]
fn requests_go_to_primaries_unless_the_study_says_otherwise() {
    assert_eq!(Study::parse("small", SMALL).unwrap().routing, Routing::Primary);
    let study = Study::parse("small", &format!("routing = \"any\"\n{SMALL}")).unwrap();
    assert_eq!(study.routing, Routing::Any);
    assert_eq!(Study::parse("again", &study.file()).unwrap(), study);
}

#[test]
fn a_study_has_statements_of_its_own() {
    let with = |cql: &str| Study::parse("small", &format!("{SMALL}[cql]\n{cql}"));
    let study = with("schema = [\"CREATE INDEX ON {table} (field0)\"]\nread = \"SELECT key FROM {table} WHERE field0 = :field0\"").unwrap();
    assert_eq!(Study::parse("again", &study.file()).unwrap(), study);
    assert!(!Study::parse("small", SMALL).unwrap().file().contains("cql"), "reports of earlier versions repeat the same run");
    let beyond = with("read = \"SELECT key FROM {table} WHERE field9 = :field9\"").unwrap_err().to_string();
    assert!(beyond.contains("cql.read: :field9 is none of"), "{beyond}");
    // What they write is not known, so that it cannot be looked for.
    let verified = |cql: &str| {
        let text = format!("{SMALL}[[phases]]\nkind = \"verify\"\n[cql]\n{cql}");
        Study::parse("small", &text)
    };
    verified("schema = [\"CREATE INDEX ON {table} (field0)\"]").unwrap();
    let error = verified("update = \"UPDATE {table} SET field0 = :field0 WHERE key = :key\"").unwrap_err().to_string();
    assert!(error.contains("phase verify") && error.contains("cql.schema alone"), "{error}");
}

#[test]
fn an_unknown_key_is_named() {
    for (wrong, named) in [
        (format!("routing = \"some\"\n{SMALL}"), "some"),
        (SMALL.replace("field_bytes", "field_byte"), "field_byte"),
        (SMALL.replace("operations = 500", "operation = 500"), "operation"),
        (SMALL.replace("uniform", "unifrom"), "unifrom"),
        (format!("speed = 1\n{SMALL}"), "speed"),
    ] {
        let error = Study::parse("small", &wrong).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn a_study_that_makes_no_sense_is_refused_with_the_remedy() {
    for (from, to, says) in [
        ("kind = \"load\"", "kind = \"check\"", "load"),
        ("operations = 500\n", "", "seconds or operations"),
        ("count = 1000", "count = 0", "count"),
        ("connections = 1", "connections = 0", "connection"),
        ("read = 1 ", "read = 0 ", "weights"),
        ("kind = \"run\"", "kind = \"settle\"", "mix is for phases of kind run, validate"),
        ("kind = \"run\"", "kind = \"load\"", "two phases"),
        ("kind = \"run\"", "kind = \"run\"\ntimeout_s = 5", "timeout_s is for phases of kind settle, not run"),
        ("kind = \"load\"", "kind = \"load\"\n[[phases]]\nkind = \"settle\"\ntimeout_s = -4", "more than 0"),
        ("kind = \"load\"", "kind = \"load\"\n[[phases]]\nkind = \"settle\"\ntimeout_s = inf", "at most a year"),
        ("kind = \"load\"", "kind = \"load\"\n[[phases]]\nkind = \"settle\"\nseconds = 4", "seconds is for phases of kind run, validate"),
        ("kind = \"load\"", "kind = \"verify\"\n[[phases]]\nkind = \"load\"", "before the load"),
        ("kind = \"run\"", "kind = \"run\"\nname = \"80/20\"", "letters, digits"),
        ("kind = \"run\"", "kind = \"run\"\nname = \"../out\"", "letters, digits"),
        ("name = \"small\"", "name = \"a/b\"", "letters, digits"),
        ("name = \"small\"", "name = \"small\"\nconsistency = \"MOST\"", "MOST"),
        ("name = \"small\"", "name = \"small\"\nreplication = 0", "replication"),
        ("name = \"small\"", "name = \"small\"\ncompare = [\"a\", \"a\"]", "two targets"),
        ("name = \"small\"", "name = \"small\"\ncost = { node_hour = -1 }", "node_hour"),
        ("field_bytes = 10", "field_bytes = 10, field_bytes_min = 11", "field_bytes_min"),
        ("\"uniform\"", "\"zipfian\", constant = 1.0", "between 0 and 1"),
        ("\"uniform\"", "\"scrambled-zipfian\", constant = nan", "between 0 and 1"),
        ("\"uniform\"", "\"gaussian\", deviations = 0", "deviations"),
        ("\"uniform\"", "\"hotspot\", rows = 1.5", "hotspot"),
        ("\"uniform\"", "\"exponential\", percentile = 100", "percentile"),
        ("keys = {", "scan_rows_max = 0, keys = {", "scan_rows_max"),
        ("operations = 500", "seconds = 5\nevents = [{ at_s = 5, do = \"kill-node\" }]", "never happens"),
    ] {
        let wrong = SMALL.replacen(from, to, 1);
        assert_ne!(wrong, SMALL);
        let error = Study::parse("small", &wrong).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
    let verified = SMALL.replacen("field_bytes = 10", "field_bytes = 7", 1).replacen("keys = {", "verify = true, keys = {", 1);
    assert!(Study::parse("small", &verified).unwrap_err().to_string().contains("8 bytes or more"));
}

#[test]
fn a_paper_s_measures_are_some_that_the_study_has() {
    let with = |measure: &str| {
        let paper = format!("[paper]\ncitation = \"c\"\nurl = \"u\"\nsetup = \"s\"\nratios = [{{ measure = \"{measure}\", value = 2 }}]\n");
        Study::parse("small", &format!("{SMALL}{paper}"))
    };
    for known in ["load throughput", "load throughput with settling", "load insert p50", "run throughput", "run read p99.9", "run read max"]
    {
        with(known).unwrap();
    }
    for unknown in ["throughput", "walk throughput", "run throughput with settling", "run update p95", "run read p90", "load read p95"] {
        let error = with(unknown).unwrap_err().to_string();
        assert!(error.contains(unknown) && error.contains("PHASE throughput"), "{error}");
    }
}

#[test]
fn what_is_no_study_is_said_on_one_line() {
    let error = Study::parse("small.toml", &SMALL.replace("field_bytes", "field_byte")).unwrap_err().to_string();
    assert!(error.starts_with("small.toml, line 5: unknown field `field_byte`") && !error.contains('\n'), "{error}");
}
