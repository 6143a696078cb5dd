//! Statements as clients send them, over rows in a map.
#![allow(clippy::unwrap_used)]

use super::{Access, Request, Work, start};
use crate::wire::{Statement, put_i16, put_i32, put_i64, put_string, put_var_bytes, put_var_size, statement};
use crate::{Catalog, ContainerName, ElementType, PUBLIC_DATABASE};
use base::{Now, Rng};
use model::operation::{Context, Direction, Operation, PartitionKey, Position, RowStore, ScannedRow, Stop, Visit, WriteSet};
use model::{Permissions, Schema, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

mod access;
mod cold;
mod figures;
mod indexes;
mod partitions;
mod precise_times;
mod renaming;
mod row_sets;
mod transactions;

type Key = (base::TableId, Vec<u8>);

/// Rows by table and clustering key: a container has one partition, and each data partition of a table is one of its own here.
#[derive(Default)]
struct Rows(BTreeMap<Key, Vec<u8>>);

/// The bits of a table's number, below those of a data partition's.
const TABLE_BITS: u32 = 12;

fn table_of(partition: &PartitionKey<'_>) -> base::TableId {
    // Entries of indexes have others.
    let value = partition.bytes.try_into().map_or(0, u32::from_be_bytes);
    base::TableId(partition.table.0 + (value.saturating_sub(127) << TABLE_BITS))
}

impl RowStore for Rows {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        Ok(self.0.get(&(table_of(partition), clustering.to_vec())).map(Vec::as_slice))
    }

    fn has_rows(&self, table: base::TableId) -> bool {
        let low = !(((1 << 30) - 1) >> TABLE_BITS << TABLE_BITS);
        self.0.keys().any(|(other, _)| other.0 & low == table.0)
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        let wanted = table_of(partition);
        let found = self.0.iter().filter(|((table, key), _)| *table == wanted && from <= &key[..] && to.is_none_or(|to| &key[..] < to));
        let mut found: Vec<_> = found.collect();
        if direction == Direction::Reverse {
            found.reverse();
        }
        for ((_, key), row) in found {
            if visit(key, row) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }

    fn scan_table(
        &self,
        _: base::TableId,
        _: Position<'_>,
        _: base::Token,
        _: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        unreachable!("statements are about one partition")
    }
}

/// A node that has one client.
struct Node {
    schema: Arc<Schema>,
    catalog: Arc<Catalog>,
    rows: Rows,
    now_us: i64,
    /// The client's number of the last statement.
    statement: i64,
    /// How long the statement that runs has waited.
    waited_us: u64,
    transaction_timeout_s: u32,
    /// What the client may do; none if that is everything.
    permissions: Option<Permissions>,
}

/// The same on all containers.
struct Everywhere(Permissions);

impl Access for Everywhere {
    fn permissions(&self, _: &Table) -> Permissions {
        self.0
    }
}

/// Instead of an error's number: the statement waits for a lock.
const WAITS: i32 = -1;

impl Node {
    fn new() -> Self {
        let (schema, rows) = (Arc::new(Schema::empty()), Rows::default());
        Self {
            schema,
            catalog: Arc::default(),
            rows,
            now_us: 1_000_000_000,
            statement: 76,
            waited_us: 0,
            transaction_timeout_s: 300,
            permissions: None,
        }
    }

    /// Serves a statement; the results of its reply, or the number of its error.
    fn serve(&mut self, number: i32, arguments: &[u8]) -> Result<Vec<u8>, i32> {
        self.statement += 1;
        self.serve_again(number, arguments)
    }

    /// As [`Node::serve`], as the same statement.
    fn serve_again(&mut self, number: i32, arguments: &[u8]) -> Result<Vec<u8>, i32> {
        let mut body = [number.to_le_bytes(), 5_i32.to_le_bytes()].concat();
        put_i64(&mut body, self.statement);
        body.extend_from_slice(arguments);
        let mut out = Vec::new();
        let access = self.permissions.map(Everywhere);
        for is_changed in [false, true] {
            let (catalog, schema) = (Arc::clone(&self.catalog), Arc::clone(&self.schema));
            let request = Request {
                catalog: &catalog,
                schema: &schema,
                database: PUBLIC_DATABASE,
                body: &body,
                transaction_timeout_s: self.transaction_timeout_s,
                received_us: 0,
                received_s: (self.now_us / 1_000_000) as u32,
                is_ipv6: false,
                access: access.as_ref().map(|access| access as &dyn Access),
            };
            let statement = Statement::read(&body, false).unwrap();
            out.clear();
            match start(request, &statement, is_changed, &mut out).map_err(|error| error.code.0)? {
                Work::Answered => break,
                Work::Run(execution) => {
                    if self.run(execution.to_operation().as_ref(), &mut out) == Err(Stop::Locked) {
                        return Err(WAITS);
                    }
                    break;
                }
                Work::Change { change, starts_again } => {
                    self.now_us += 1;
                    let changed = change.apply(&schema, PUBLIC_DATABASE, 9, self.now_us).map_err(|error| error.code.0)?;
                    if let Some(changed) = changed {
                        Arc::make_mut(&mut self.catalog).follow(&changed.schema);
                        self.schema = Arc::new(changed.schema);
                    }
                    if !starts_again {
                        return Ok(Vec::new());
                    }
                }
            }
        }
        // Header of the frame, statement, number, status.
        let body = &out[20..];
        match body[12] {
            0 => Ok(body[13..].to_vec()),
            _ => Err(i32::from_le_bytes(body[17..21].try_into().unwrap())),
        }
    }

    fn run(&mut self, operation: &dyn Operation, out: &mut Vec<u8>) -> Result<(), Stop> {
        self.now_us += 1_000;
        let now = Now { monotonic_us: self.waited_us, wall_us: self.now_us };
        let context = Context { now, timestamp_us: self.now_us, nonce: 0 };
        let mut writes = WriteSet::default();
        operation.run(&context, &self.rows, &mut writes, out)?;
        for row in writes.rows() {
            self.rows.0.insert((table_of(&row.partition), row.clustering.to_vec()), row.row.to_vec());
        }
        Ok(())
    }

    /// Makes a container; its number.
    fn put_container(
        &mut self,
        name: &str,
        kind: u8,
        columns: &[(&str, ElementType)],
        key_len: i16,
        is_modifiable: bool,
    ) -> Result<i64, i32> {
        let mut arguments = Vec::new();
        put_i32(&mut arguments, 0);
        ContainerName::parse(name).write(&mut arguments);
        arguments.extend_from_slice(&[kind, u8::from(is_modifiable)]);
        put_columns(columns, key_len, &mut arguments);
        put_string(&mut arguments, "");
        arguments.push(0);
        let reply = self.serve(statement::PUT_CONTAINER, &arguments)?;
        Ok(i64::from_le_bytes(reply[4..12].try_into().unwrap()))
    }
}

fn put_columns(columns: &[(&str, ElementType)], key_len: i16, out: &mut Vec<u8>) {
    put_i32(out, columns.len() as i32);
    for (name, element) in columns {
        put_string(out, name);
        out.extend_from_slice(&[*element as u8, if name.starts_with("must") { NOT_NULL } else { 0 }]);
    }
    put_i16(out, key_len);
    (0..key_len).for_each(|position| put_i16(out, position));
}

/// A column may not be null.
const NOT_NULL: u8 = 4;

/// What statements about rows begin with.
fn head(container: i64, version: i32, transaction_mode: u8) -> Vec<u8> {
    let mut out = Vec::new();
    put_i64(&mut out, container);
    put_i64(&mut out, 0);
    out.extend_from_slice(&[0; 16]);
    put_i32(&mut out, version);
    out.extend_from_slice(&[0, transaction_mode]);
    put_i32(&mut out, 0);
    out
}

/// A row of LONG, STRING.
fn row(id: i64, text: &str) -> Vec<u8> {
    rows(&[(id, text)])
}

fn rows(of: &[(i64, &str)]) -> Vec<u8> {
    let (mut fixed, mut variable) = (Vec::new(), Vec::new());
    for (id, text) in of {
        put_i64(&mut fixed, variable.len() as i64);
        fixed.push(0);
        put_i64(&mut fixed, *id);
        put_var_size(&mut variable, 1);
        put_var_bytes(&mut variable, text.as_bytes());
    }
    [fixed, variable].concat()
}

const COLUMNS: [(&str, ElementType); 2] = [("id", ElementType::Long), ("text", ElementType::String)];

fn query(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_i64(&mut out, i64::MAX);
    put_i64(&mut out, i64::MAX);
    out.push(0);
    put_i32(&mut out, 0);
    put_string(&mut out, text);
    out
}

#[test]
fn a_row_is_put_found_and_deleted() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let by_key = |key: i64| [head(id, 0, 0), key.to_le_bytes().to_vec()].concat();
    assert_eq!(node.serve(statement::GET_ROW, &by_key(7)), Ok(vec![0]));
    let put = |text| [head(id, 0, 0), row(7, text)].concat();
    assert_eq!(node.serve(statement::PUT_ROW, &put("one")), Ok(vec![0]));
    assert_eq!(node.serve(statement::PUT_ROW, &put("two")), Ok(vec![1]), "there was one");
    let found = node.serve(statement::GET_ROW, &by_key(7)).unwrap();
    // Found, the row's number, the row.
    assert_eq!((found[0], &found[9..]), (1, &row(7, "two")[..]));
    assert_eq!(node.serve(statement::DELETE_ROW, &by_key(7)), Ok(vec![1]));
    assert_eq!(node.serve(statement::DELETE_ROW, &by_key(7)), Ok(vec![0]));
    assert_eq!(node.serve(statement::GET_ROW, &by_key(7)), Ok(vec![0]));
    assert_eq!(node.serve(statement::GET_ROW, &[head(id, 1, 0), vec![0; 8]].concat()), Err(10_017), "another schema");
    assert_eq!(node.serve(statement::GET_ROW, &[head(id + 1, 0, 0), vec![0; 8]].concat()), Err(10_016), "no such container");
    assert_eq!(node.serve(statement::PUT_ROW, &[head(id, 0, 3), row(7, "x")].concat()), Err(110_031), "no such mode of transactions");
}

#[test]
fn what_this_schema_does_not_have_yet_is_told_from_what_it_has_no_more() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let other = node.put_container("other", 0, &COLUMNS, 1, false).unwrap();
    let wider = [COLUMNS[0], COLUMNS[1], ("number", ElementType::Integer)];
    node.put_container("Things", 0, &wider, 1, true).unwrap();
    let mut name = vec![0; 4];
    ContainerName::parse("other").write(&mut name);
    node.serve(statement::DROP_CONTAINER, &[name, vec![0]].concat()).unwrap();
    for (id, version, expected) in [
        (id, 1, None),
        (id, 2, Some((10_017, true))),
        (id, 0, Some((10_017, false))),
        (other, 0, Some((10_016, false))),
        (other + 1, 0, Some((10_016, true))),
    ] {
        let mut body = [statement::GET_ROW.to_le_bytes(), 5_i32.to_le_bytes()].concat();
        put_i64(&mut body, 77);
        body.extend_from_slice(&[head(id, version, 0), vec![0; 8]].concat());
        let request = Request {
            catalog: &node.catalog,
            schema: &node.schema,
            database: PUBLIC_DATABASE,
            body: &body,
            transaction_timeout_s: 300,
            received_us: 0,
            received_s: 0,
            is_ipv6: false,
            access: None,
        };
        let outcome = start(request, &Statement::read(&body, false).unwrap(), false, &mut Vec::new());
        assert_eq!(outcome.err().map(|error| (error.code.0, error.is_behind())), expected, "{id} {version}");
    }
}

#[test]
fn what_is_done_twice_and_leaves_the_same_is_repeatable() {
    let mut node = Node::new();
    let things = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let log = node.put_container("log", 0, &COLUMNS, 0, false).unwrap();
    for (number, arguments, expected) in [
        (statement::PUT_ROW, [head(things, 0, 0), row(7, "one")].concat(), true),
        (statement::DELETE_ROW, [head(things, 0, 0), vec![0; 8]].concat(), true),
        (statement::GET_ROW, [head(things, 0, 0), vec![0; 8]].concat(), true),
        (statement::PUT_ROW, [head(log, 0, 0), row(7, "one")].concat(), false),
        (statement::APPEND_TIME_SERIES_ROW, [head(things, 0, 0), row(7, "one")].concat(), false),
    ] {
        let mut body = [number.to_le_bytes(), 5_i32.to_le_bytes()].concat();
        put_i64(&mut body, 77);
        body.extend_from_slice(&arguments);
        let request = Request {
            catalog: &node.catalog,
            schema: &node.schema,
            database: PUBLIC_DATABASE,
            body: &body,
            transaction_timeout_s: 300,
            received_us: 0,
            received_s: 0,
            is_ipv6: false,
            access: None,
        };
        let Ok(Work::Run(execution)) = start(request, &Statement::read(&body, false).unwrap(), false, &mut Vec::new()) else {
            panic!("{number}")
        };
        assert_eq!(execution.reply().is_repeatable, expected, "{number}");
    }
}

#[test]
fn rows_are_queried_and_counted() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let many: Vec<(i64, &str)> = (0..100).map(|id| (id, if id % 2 == 0 { "even" } else { "odd" })).collect();
    let mut arguments = head(id, 0, 0);
    put_i64(&mut arguments, 100);
    arguments.extend_from_slice(&rows(&many));
    assert_eq!(node.serve(statement::PUT_MULTIPLE_ROWS, &arguments), Ok(vec![0]));
    let mut ask = |text: &str| node.serve(statement::QUERY_TQL, &[head(id, 0, 0), query(text)].concat());
    let rows_of = |reply: &[u8]| i64::from_le_bytes(reply[9..17].try_into().unwrap());
    for (text, expected) in [
        ("select *", 100),
        ("select * where id >= 90", 10),
        ("select * where id >= 90 and text = 'odd'", 5),
        ("select * where id > 5 order by id desc limit 3", 3),
        ("select * where id < 0", 0),
    ] {
        let reply = ask(text).unwrap();
        assert_eq!((reply[4], rows_of(&reply)), (0, expected), "{text}");
    }
    let reply = ask("select count(*) where text = 'even'").unwrap();
    let value = i64::from_le_bytes(reply[18..26].try_into().unwrap());
    assert_eq!((reply[4], rows_of(&reply), reply[17], value), (1, 1, ElementType::Long as u8, 50));
    assert_eq!(ask("select nothing").unwrap_err(), 151_001);
}

#[test]
fn a_query_in_parts_gives_what_it_gives_at_once() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let long = "x".repeat(100);
    let many: Vec<(i64, &str)> = (0..45_000).map(|id| (id, if id % 2 == 0 { &long[..] } else { "odd" })).collect();
    let mut arguments = head(id, 0, 0);
    put_i64(&mut arguments, many.len() as i64);
    arguments.extend_from_slice(&rows(&many));
    node.serve(statement::PUT_MULTIPLE_ROWS, &arguments).unwrap();
    for (text, expected, parts_min) in [
        ("select *", (0..45_000).collect::<Vec<i64>>(), 3),
        ("select * order by id desc", (0..45_000).rev().collect(), 3),
        ("select * where id < 100 limit 7 offset 50", (50..57).collect(), 1),
        ("select * limit 30000 offset 10000", (10_000..40_000).collect(), 3),
        ("select * order by id desc limit 20001 offset 20001", (4_998..24_999).rev().collect(), 2),
        ("select * where text = 'even'", Vec::new(), 3),
        ("select * where id > 100000", Vec::new(), 1),
        ("select * order by text limit 1", vec![1], 1),
    ] {
        let (mut found, mut parts, mut state) = (Vec::new(), 0, [&[1][..], &[0; 4]].concat());
        while !state.is_empty() {
            let mut arguments = head(id, 0, 0);
            put_i64(&mut arguments, i64::MAX);
            put_i64(&mut arguments, i64::MAX);
            arguments.extend_from_slice(&state);
            put_string(&mut arguments, text);
            let reply = node.serve(statement::QUERY_TQL, &arguments).unwrap();
            let results = i32::from_le_bytes(reply[..4].try_into().unwrap());
            let size = i32::from_le_bytes(reply[5..9].try_into().unwrap()) as usize;
            let count = i64::from_le_bytes(reply[9..17].try_into().unwrap()) as usize;
            // The row's number, where its texts are, nulls, the key.
            found.extend((0..count).map(|row| i64::from_le_bytes(reply[17 + row * 25 + 17..][..8].try_into().unwrap())));
            parts += 1;
            state.clear();
            if results == 2 {
                assert_eq!(reply[9 + size], 4);
                state.extend_from_slice(&reply[9 + size + 5..]);
            }
        }
        assert_eq!(found, expected, "{text}");
        assert!(parts >= parts_min, "{text}: {parts} parts");
    }
    let mut wrong = head(id, 0, 0);
    put_i64(&mut wrong, 1);
    put_i64(&mut wrong, 1);
    wrong.push(1);
    put_i32(&mut wrong, 1);
    wrong.push(1);
    put_i32(&mut wrong, 3);
    wrong.extend_from_slice(b"abc");
    put_string(&mut wrong, "select *");
    assert_eq!(node.serve(statement::QUERY_TQL, &wrong), Err(10_038), "a state that was not given here");
}

#[test]
fn rows_without_a_key_are_numbered_and_a_time_series_is_appended_to() {
    let mut node = Node::new();
    let log = node.put_container("log", 0, &COLUMNS, 0, false).unwrap();
    for _ in 0..2 {
        assert_eq!(node.serve(statement::PUT_ROW, &[head(log, 0, 0), row(1, "same")].concat()), Ok(vec![0]));
    }
    assert_eq!(node.rows.0.len(), 2);
    assert_eq!(node.serve(statement::GET_ROW, &[head(log, 0, 0), vec![0; 8]].concat()), Err(60_050), "there is no row key");
    let columns = [("at", ElementType::Timestamp), ("text", ElementType::String)];
    assert_eq!(node.put_container("bad", 1, &COLUMNS, 1, false), Err(60_015), "its key is a time");
    let series = node.put_container("series", 1, &columns, 1, false).unwrap();
    let append = [head(series, 0, 0), row(0, "now")].concat();
    assert_eq!(node.serve(statement::APPEND_TIME_SERIES_ROW, &append), Ok(vec![0]));
    let nearest = |time_ms: i64, operator: u8| [head(series, 0, 0), time_ms.to_le_bytes().to_vec(), vec![operator]].concat();
    let newest = node.serve(statement::GET_TIME_SERIES_ROW_RELATED, &nearest(i64::from(i32::MAX), 0)).unwrap();
    assert_eq!(newest[0], 1);
    let time_ms = i64::from_le_bytes(newest[10..18].try_into().unwrap());
    assert_eq!(time_ms, node.now_us / 1_000 - 1, "the server's clock, when it was appended");
    assert_eq!(node.serve(statement::GET_TIME_SERIES_ROW_RELATED, &nearest(time_ms, 1)), Ok(vec![0]), "none is before it");
    let endless =
        "select time_sampling(*, TO_TIMESTAMP_MS(0), TIMESTAMP('9999-01-01T00:00:00.000Z'), 1, MILLISECOND) limit 1 offset 9000000000000";
    let endless = [head(series, 0, 0), query(endless)].concat();
    assert_eq!(node.serve(statement::QUERY_TQL, &endless), Err(1_008), "rows that nobody sees are counted");
}

#[test]
fn columns_come_and_go_and_rows_stay() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    node.serve(statement::PUT_ROW, &[head(id, 0, 0), row(7, "one")].concat()).unwrap();
    let wider = [COLUMNS[0], ("number", ElementType::Integer), COLUMNS[1]];
    assert_eq!(node.put_container("Things", 0, &wider, 1, false), Err(60_016), "nobody has allowed it");
    assert_eq!(node.put_container("Things", 0, &[("id", ElementType::Integer), COLUMNS[1]], 1, true), Err(60_016), "another key");
    assert_eq!(node.put_container("Things", 0, &wider, 1, true), Ok(id));
    let found = node.serve(statement::GET_ROW, &[head(id, 1, 0), 7_i64.to_le_bytes().to_vec()].concat()).unwrap();
    let nulls = found[17];
    assert_eq!((nulls, &found[found.len() - 3..]), (2, &b"one"[..]), "the new column is null, the text is where it was");
    let turned = [COLUMNS[0], COLUMNS[1], ("must_have", ElementType::Integer)];
    assert_eq!(node.put_container("Things", 0, &turned, 1, true), Ok(id));
    let found = node.serve(statement::GET_ROW, &[head(id, 2, 0), 7_i64.to_le_bytes().to_vec()].concat()).unwrap();
    assert_eq!(found[17..], [&[0][..], &7_i64.to_le_bytes(), &[0; 4], &[3, 7], b"one"].concat()[..], "in the new order, with a zero");
    let zeros = node.serve(statement::QUERY_TQL, &[head(id, 2, 0), query("select * where must_have = 0")].concat()).unwrap();
    assert_eq!(zeros[9..17], 1_i64.to_le_bytes(), "a query sees the zero, too");
    assert_eq!(node.put_container("Things", 0, &COLUMNS[..1], 1, true), Ok(id));
    let found = node.serve(statement::GET_ROW, &[head(id, 3, 0), 7_i64.to_le_bytes().to_vec()].concat()).unwrap();
    assert_eq!(found[9..], [&[0][..], &7_i64.to_le_bytes()].concat()[..], "one column is left");
}

#[test]
fn rows_of_several_containers_are_put_and_read_at_once() {
    let mut node = Node::new();
    let ids = ["a", "b"].map(|name| node.put_container(name, 0, &COLUMNS, 1, false).unwrap());
    let mut put = vec![0; 16];
    put_i32(&mut put, 0);
    put_i32(&mut put, 1);
    put.push(0);
    put_columns(&COLUMNS, 1, &mut put);
    put_i32(&mut put, 2);
    for id in ids {
        put_i64(&mut put, 1);
        put_i64(&mut put, id);
        put_i64(&mut put, 3);
        put.extend_from_slice(&[2, 0]);
        put_i32(&mut put, 0);
        put_i32(&mut put, 0);
        let sent = rows(&[(1, "x"), (2, "y")]);
        put_i32(&mut put, sent.len() as i32 + 8);
        put_i64(&mut put, 2);
        put.extend_from_slice(&sent);
    }
    assert_eq!(node.serve(statement::PUT_MULTIPLE_CONTAINER_ROWS, &put), Ok(Vec::new()));
    assert_eq!(node.rows.0.len(), 4);
    let mut get = vec![0; 16];
    put_i32(&mut get, 0);
    put_i32(&mut get, 1);
    // The rows from 2 on.
    get.extend_from_slice(&[ElementType::Long as u8, 0, 1]);
    put_i64(&mut get, 2);
    get.push(0);
    put_i32(&mut get, 2);
    for name in ["b", "missing"] {
        put_i32(&mut get, 0);
        ContainerName::parse(name).write(&mut get);
        put_i32(&mut get, 0);
    }
    let reply = node.serve(statement::GET_MULTIPLE_CONTAINER_ROWS, &get).unwrap();
    assert_eq!(reply[..4], 1_i32.to_le_bytes(), "what is not there has no rows");
    assert_eq!(reply[reply.len() - row(2, "y").len()..], row(2, "y"));
}

#[test]
fn a_range_of_keys_of_two_columns_is_read() {
    let mut node = Node::new();
    let id = node.put_container("pairs", 0, &[("a", ElementType::Integer), ("b", ElementType::Integer)], 2, false).unwrap();
    let pair = |a: i32, b: i32| [&[0][..], &a.to_le_bytes(), &b.to_le_bytes()].concat();
    for number in 0..9 {
        node.serve(statement::PUT_ROW, &[head(id, 0, 0), pair(number / 3, number % 3)].concat()).unwrap();
    }
    let mut get = |ends: [Option<(i32, i32)>; 2], count: i32| {
        let mut get = vec![0; 16];
        put_i32(&mut get, 0);
        put_i32(&mut get, 1);
        get.extend_from_slice(&[0xFF, 0]);
        put_i32(&mut get, 2);
        get.extend_from_slice(&[ElementType::Integer as u8; 2]);
        get.extend(ends.map(|end| u8::from(end.is_some())));
        let keys: Vec<u8> = ends.into_iter().flatten().flat_map(|(a, b)| pair(a, b)).collect();
        put_i32(&mut get, keys.len() as i32 + 4);
        put_i32(&mut get, count);
        get.extend_from_slice(&keys);
        put_i32(&mut get, 1);
        put_i32(&mut get, 0);
        ContainerName::parse("pairs").write(&mut get);
        put_i32(&mut get, 0);
        node.serve(statement::GET_MULTIPLE_CONTAINER_ROWS, &get)
    };
    for (ends, rows) in [([None, None], 9), ([Some((0, 2)), None], 7), ([None, Some((1, 0))], 4), ([Some((0, 2)), Some((1, 0))], 2)] {
        let reply = get(ends, ends.into_iter().flatten().count() as i32).unwrap();
        // Each row has its number and the pair.
        let at = reply.len() - rows * 17 - 8;
        assert_eq!(reply[at..at + 8], (rows as i64).to_le_bytes(), "{ends:?}");
    }
    assert_eq!(get([Some((0, 2)), None], 2), Err(10_038), "one key is said and two are told");
}

#[test]
fn arbitrary_statements_are_refused_or_done() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let mut random = Rng::new(11);
    let sound = [
        (statement::PUT_ROW, [head(id, 0, 0), row(7, "one")].concat()),
        (statement::PUT_MULTIPLE_ROWS, [head(id, 0, 0), 1_i64.to_le_bytes().to_vec(), row(7, "one")].concat()),
        (statement::QUERY_TQL, [head(id, 0, 0), query("select * where id > 1")].concat()),
        (statement::GET_ROW, [head(id, 0, 0), vec![7; 8]].concat()),
        (statement::QUERY_TQL, [head(id, 0, 0), query("explain analyze select * where text = 'a' order by text")].concat()),
        (statement::CREATE_INDEX, indexes::request(id, 0, "name", &[1], 0, None)),
        (statement::DROP_INDEX, indexes::request(id, 0, "", &[], 0xFF, Some([1, 1]))),
    ];
    let mut done = 0;
    for _ in 0..20_000 {
        let (number, mut bytes) = sound[random.below(7) as usize].clone();
        let number = if random.below(4) == 0 { statement::ALL.start + random.below(64) as i32 } else { number };
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        }
        done += usize::from(node.serve(number, &bytes).is_ok());
    }
    assert!(done > 1_000, "{done} were done");
}
