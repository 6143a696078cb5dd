//! Schema statements and DESCRIBE answer as Apache Cassandra 5.0.9 does: `ddl_golden/cassandra-5.0.9.txt` is what it answered, statement by
//! statement. Where TarnDB answers otherwise, it is on purpose, and stands in [`DIFFERENT`] with the reason.

use crate::schema_support::Session;
use cql::CqlError;
use cql::ddl::{Outcome, SchemaEventTarget};
use cql::wire::ChangeKind;

const GOLDEN: &str = include_str!("ddl_golden/cassandra-5.0.9.txt");

/// Statements that TarnDB answers in its own way, what it says, and why.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("ALTER TABLE t2 RENAME IF EXISTS nope TO x", "void", "IF EXISTS is what its documentation says"),
    ("ALTER TYPE ty RENAME aa TO b", "error\t2200\tDuplicate field name b in type ty", "the type's name, not the keyspace's"),
    (
        "ALTER TABLE s7 WITH crc_check_chance = 'NaN'",
        "error\t2300\tcrc_check_chance must be larger than or equal to 0 and smaller than or equal to 1.0 (got NaN)",
        "not a number is not a chance",
    ),
];

/// What a session that has nothing but the schema can say to a statement of the golden file.
fn answer(session: &mut Session, text: &str) -> Vec<String> {
    if text.starts_with("DESC") {
        return match session.describe(text) {
            Ok(description) if description.rows.is_empty() => vec!["empty".to_owned()],
            Ok(description) => {
                let row = |row: &Vec<Vec<u8>>| {
                    row.iter().map(|value| escaped(std::str::from_utf8(value).unwrap())).collect::<Vec<_>>().join("\t")
                };
                description.rows.iter().map(|values| format!("row\t{}", row(values))).collect()
            }
            Err(error) => vec![error_line(&error)],
        };
    }
    if let Some(name) = text.strip_prefix("USE ") {
        let name = name.trim_matches('"');
        let is_there = session.schema.keyspaces.contains_key(name) || cql::system::keyspace(name).is_some();
        if !is_there {
            return vec![format!("error\t2200\tKeyspace '{name}' does not exist")];
        }
        session.keyspace = Some(name.to_owned());
        return vec![format!("use\t{name}")];
    }
    match session.run(text) {
        Ok(outcome) => outcome_lines(&outcome),
        Err(error) => vec![error_line(&error)],
    }
}

fn outcome_lines(outcome: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = outcome.warnings.iter().map(|warning| format!("warning\t{}", escaped(warning))).collect();
    lines.push(match &outcome.change {
        None => "void".to_owned(),
        Some(change) => {
            let event = change.event.as_ref().expect("a change of keyspaces is told");
            let kind = match event.change {
                ChangeKind::Created => "CREATED",
                ChangeKind::Updated => "UPDATED",
                ChangeKind::Dropped => "DROPPED",
            };
            let keyspace = &event.keyspace;
            match &event.target {
                SchemaEventTarget::Keyspace => format!("{kind}\tKEYSPACE\t{keyspace}"),
                SchemaEventTarget::Table(name) => format!("{kind}\tTABLE\t{keyspace}\t{name}"),
                SchemaEventTarget::Type(name) => format!("{kind}\tTYPE\t{keyspace}\t{name}"),
                SchemaEventTarget::Function { name, .. } => format!("{kind}\tFUNCTION\t{keyspace}\t{name}"),
                SchemaEventTarget::Aggregate { name, .. } => format!("{kind}\tAGGREGATE\t{keyspace}\t{name}"),
            }
        }
    });
    lines
}

fn error_line(error: &CqlError) -> String {
    let message = escaped(&error.to_string());
    match error {
        CqlError::Syntax(_) => format!("error\t2000\t{message}"),
        CqlError::Unauthorized(_) => format!("error\t2100\t{message}"),
        CqlError::Invalid(_) => format!("error\t2200\t{message}"),
        CqlError::Config(_) => format!("error\t2300\t{message}"),
        CqlError::AlreadyExists { keyspace, table, .. } => format!("error\t2400\t{message}\t{keyspace}\t{table}"),
        other => panic!("no schema statement gives {other:?}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

#[test]
fn answers_are_those_of_cassandra() {
    let mut session = Session::new();
    let mut options = "";
    let mut lines = GOLDEN.lines().peekable();
    let (mut statements, mut wrong, mut used) = (0, Vec::new(), vec![false; DIFFERENT.len()]);
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("= options\t") {
            options = text;
        } else if line == "= fresh" {
            session = Session::new();
        } else if let Some(text) = line.strip_prefix("> ") {
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
                expected.push(line.trim_start_matches("  ").replace("{OPTIONS}", options));
            }
            statements += 1;
            if let Some(position) = DIFFERENT.iter().position(|(different, ..)| *different == text) {
                used[position] = true;
                expected = vec![DIFFERENT[position].1.to_owned()];
            }
            let given = answer(&mut session, &text.replace("\\\\", "\\"));
            if given != expected {
                wrong.push(format!("{text}\n  expected {}\n  given    {}", expected.join("\n           "), given.join("\n           ")));
            }
        }
    }
    assert!(statements > 500, "only {statements} statements in the golden file");
    assert!(wrong.is_empty(), "{} of {statements} answers differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(used.iter().all(|used| *used), "DIFFERENT names statements that are not in the golden file");
}
