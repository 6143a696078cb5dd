//! Mutated statements of SQL: no panic, and no memory beyond what was received.
#![allow(clippy::unwrap_used)]

#[path = "../../griddb/tests/allocated/mod.rs"]
mod allocated;
#[path = "../../aerospike/tests/fuzzer/mod.rs"]
mod fuzzer;

use allocated::allocated;
use fuzzer::{fuzz, is_full_run};
use griddb::wire::{ReplyHeader, Statement, put_i16, put_i32, put_i64, put_string, put_var_bytes, put_var_size};
use sql::Value;
use tarndb_griddb_sql::request::{SQL_CANCEL, SQL_EXECUTE, SqlRequest, read_cancel};

/// What a request may take whatever its length: a batch of 100,000 rows without parameters.
const FIXED_BYTES: usize = 3 << 20;
/// What it may take for each of its bytes: one stands for a parameter.
const TIMES_MAX: usize = 100;

/// The type of a parameter that has its type with its value.
const ANY: u8 = 0xFF;
const STRING: u8 = 0;
const BLOB: u8 = 10;

/// A body of a frame.
fn body(number: i32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    ReplyHeader { statement: number, id: 77, is_ipv6: false, is_repeatable: false }.write_request(5, &mut out, write);
    out.split_off(20)
}

fn sized(out: &mut Vec<u8>, content: &[u8]) {
    put_i32(out, content.len() as i32);
    out.extend_from_slice(content);
}

/// SQL_EXECUTE with so many rows of parameters of these types; or without any.
fn execution(operation: i32, parameters: Option<(&[u8], i64, &[u8])>, text: Option<&str>) -> Vec<u8> {
    body(SQL_EXECUTE, |out| {
        out.extend_from_slice(&[7; 16]);
        out.push(if text.is_some() { 1 } else { 2 });
        put_i32(out, operation);
        [5, 4].iter().for_each(|query| put_i64(out, *query));
        out.extend_from_slice(&[0, 0, u8::from(parameters.is_some())]);
        if let Some((types, rows, table)) = parameters {
            put_i64(out, rows);
            let mut schema = Vec::new();
            put_i32(&mut schema, types.len() as i32);
            for kind in types {
                put_string(&mut schema, "");
                schema.extend_from_slice(&[*kind, 0]);
            }
            sized(out, &schema);
            sized(out, &[&[0; 8], table].concat());
        }
        let mut options = Vec::new();
        put_i16(&mut options, 10_001);
        put_i32(&mut options, 1_500);
        put_i16(&mut options, 10_003);
        put_i64(&mut options, 100);
        sized(out, &options);
        put_i32(out, i32::from(text.is_some()));
        text.iter().for_each(|text| put_string(out, text));
    })
}

/// Two rows of values of every type, as columns have them.
fn of_types() -> Vec<u8> {
    let types = [STRING, 1, 2, 3, 4, 5, 6, 7, 8, BLOB, 11, 12];
    let (mut fixed, mut variable) = (Vec::new(), Vec::new());
    for row in 0..2_u8 {
        put_i64(&mut fixed, variable.len() as i64);
        fixed.extend_from_slice(&[row << 3, 0]);
        // BOOL, BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, the three kinds of TIMESTAMP.
        fixed.extend_from_slice(&[row; 1 + 1 + 2 + 4 + 8 + 4 + 8 + 8 + 8 + 9]);
        put_var_size(&mut variable, 2);
        put_var_bytes(&mut variable, "größe".as_bytes());
        put_var_bytes(&mut variable, &[9; 200]);
    }
    execution(3, Some((&types, 2, &[fixed, variable].concat())), Some("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"))
}

/// A row of values that have their types with them.
fn of_any_types() -> Vec<u8> {
    let (mut fixed, mut variable) = (vec![0; 9], Vec::new());
    put_var_size(&mut variable, 3);
    for kind in [ANY, 5, 7, STRING, BLOB, 12] {
        fixed.push(kind);
        fixed.extend_from_slice(&[0; 8]);
    }
    ["text", "bytes"].iter().for_each(|text| put_var_bytes(&mut variable, text.as_bytes()));
    variable.extend_from_slice(&[1; 9]);
    execution(2, Some((&[ANY; 6], 1, &[fixed, variable].concat())), Some("SELECT ?, ?, ?, ?, ?, ?"))
}

fn corpus() -> Vec<Vec<u8>> {
    vec![
        of_types(),
        of_any_types(),
        execution(0, Some((&[], 3, &[])), Some("INSERT INTO t VALUES (1)")),
        execution(1, None, Some("SELECT 1")),
        execution(5, None, None),
        body(SQL_CANCEL, |out| out.extend_from_slice(&[3; 24])),
    ]
}

/// Whether it is one, and what it has taken.
fn read(body: &[u8]) -> (bool, usize) {
    let Ok(statement) = Statement::read(body, false) else { return (false, 0) };
    let is_one = || match statement.number() {
        SQL_CANCEL => read_cancel(statement.arguments).is_ok(),
        _ => SqlRequest::read(statement.arguments).is_ok(),
    };
    allocated(is_one)
}

#[test]
fn requests_are_read_as_they_are() {
    let all: Vec<bool> = corpus().iter().map(|body| read(body).0).collect();
    assert_eq!(all, [true; 6]);
    let bytes = of_any_types();
    let request = SqlRequest::read(Statement::read(&bytes, false).unwrap().arguments).unwrap();
    let row = &request.parameters.unwrap()[0];
    assert_eq!(
        row[..5],
        [Value::Null, Value::Integer(0), Value::Real(0.0), Value::Text("text".to_owned()), Value::Blob(b"bytes".to_vec())]
    );
}

#[test]
fn requests_survive_mutated_bodies() {
    let mut done = 0;
    fuzz("wire_fuzz requests", &corpus(), |body, _| {
        let (is_one, taken) = read(body);
        done += u32::from(is_one);
        assert!(taken <= FIXED_BYTES + TIMES_MAX * body.len(), "{} bytes have taken {taken}", body.len());
    });
    assert!(done > 1_000 || !is_full_run(), "{done} read");
}

/// 5,000 rows that all have one text of 60,000 bytes would be 300 MB.
#[test]
fn rows_that_have_one_text_together_are_refused() {
    const ROWS: i64 = 5_000;
    for (kind, row) in [(STRING, vec![0; 9]), (ANY, vec![0; 18])] {
        let mut table = row.repeat(ROWS as usize);
        put_var_size(&mut table, 1);
        put_var_bytes(&mut table, &[b'x'; 60_000]);
        let (is_one, taken) = read(&execution(3, Some((&[kind], ROWS, &table)), Some("INSERT INTO t VALUES (?)")));
        assert!(!is_one && taken < FIXED_BYTES, "{taken}");
    }
}

/// A reader that believes how many rows there are: what the fuzzer is there to find.
#[test]
fn the_fuzzer_finds_a_planted_bug() {
    let believe = |body: &[u8]| {
        let Some(rows) = body.get(56..60).and_then(|rows| rows.first_chunk()) else { return };
        let (_, taken) = allocated(|| Vec::<u8>::with_capacity(u32::from_le_bytes(*rows) as usize & 0x7FF_FFFF));
        assert!(taken <= FIXED_BYTES + TIMES_MAX * body.len());
    };
    assert!(std::panic::catch_unwind(|| fuzz("wire_fuzz planted_bug", &corpus(), |body, _| believe(body))).is_err());
}
