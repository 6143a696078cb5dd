//! Statements of every kind, as clients send them, over containers that are made first.

mod repeated;

pub(crate) use repeated::repeated;

use crate::memory_node::Node;
use griddb::client::{self, ContainerId, LoginArguments};
use griddb::geometry::Geometry;
use griddb::row::RowsWriter;
use griddb::schema::{ColumnDefinition, Kind, write_columns};
use griddb::wire::*;
use griddb::{ContainerName, ElementType, IndexKind};
use model::aggregate::{Fold, Function, Spec};

const UUID: [u8; 16] = [7; 16];
const BEGIN: u8 = 1;
const CONTINUE: u8 = 2;

/// A statement's number and its arguments.
pub(crate) type Sent = (i32, Vec<u8>);

/// A container of each kind.
pub(crate) struct Containers {
    things: Made,
    pairs: Made,
    series: Made,
    log: Made,
}

struct Made {
    name: ContainerName,
    id: ContainerId,
    columns: Vec<ColumnDefinition>,
}

fn column(name: &str, element: ElementType, is_array: bool) -> ColumnDefinition {
    ColumnDefinition { name: name.to_owned(), element, is_array, is_not_null: false }
}

/// The body of a frame.
pub(crate) fn body((number, arguments): &Sent) -> Vec<u8> {
    let mut out = Vec::new();
    let head = ReplyHeader { statement: *number, id: 77, is_ipv6: false, is_repeatable: false };
    head.write_request(5, &mut out, |out| out.extend_from_slice(arguments));
    let header = FrameHeader::read(&out, false, usize::MAX).unwrap().unwrap();
    out.split_off(header.bytes)
}

/// A whole frame.
pub(crate) fn frame(body: &[u8]) -> Vec<u8> {
    [&MAGIC.to_le_bytes()[..], &[0; 12], &(body.len() as u32).to_le_bytes(), body].concat()
}

fn made(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// What it answers to a statement that it has to do.
pub(crate) fn done(node: &mut Node, sent: &Sent) -> Vec<u8> {
    let (body, mut out) = (body(sent), Vec::new());
    node.serve(&Statement::read(&body, false).unwrap(), &body, &mut out);
    assert_eq!(error_of(&out, false), None, "statement {}", sent.0);
    out.split_off(20 + 13)
}

fn make(node: &mut Node, name: &str, kind: Kind, columns: Vec<ColumnDefinition>, key_len: usize) -> Made {
    let name = ContainerName::parse(name);
    done(node, &(statement::PUT_CONTAINER, made(|out| client::put_container((&name, kind), (&columns, key_len), false, out))));
    let found = done(node, &(statement::GET_CONTAINER, made(|out| client::name_container(&name, kind, out))));
    let id = client::read_container(&mut Reader::new(&found)).unwrap().unwrap();
    Made { name, id, columns }
}

/// Makes the containers, and puts some rows and a transaction into them.
pub(crate) fn prepare(node: &mut Node) -> Containers {
    use ElementType::*;
    let mut things = vec![column("id", Long, false), column("text", String, false), column("place", Geometry, false)];
    for element in [Bool, Byte, Short, Integer, Float, Double, Timestamp, Blob, MicroTimestamp, NanoTimestamp] {
        things.push(column(element.name().trim_end_matches(')').replace('(', "_").as_str(), element, false));
    }
    things.extend([column("numbers", Integer, true), column("texts", String, true)]);
    let things = make(node, "Things", Kind::Collection, things, 1);
    let pairs = make(node, "pairs", Kind::Collection, vec![column("a", Integer, false), column("b", String, false)], 2);
    let series = make(node, "series", Kind::TimeSeries, vec![column("at", Timestamp, false), column("v", Double, false)], 1);
    let log = make(node, "log", Kind::Collection, vec![column("line", String, false)], 0);
    let containers = Containers { things, pairs, series, log };
    let all = [&containers.things, &containers.pairs, &containers.series, &containers.log];
    all.iter().for_each(|made| drop(done(node, &made.put_rows(0..3))));
    let Containers { things, .. } = &containers;
    done(node, &things.of(statement::PUT_ROW, BEGIN, &[], &things.rows(0..1)));
    containers
}

impl Made {
    /// Rows whose columns all have values, but for every other one of those that may be null.
    fn rows(&self, numbers: std::ops::Range<usize>) -> Vec<u8> {
        let mut rows = RowsWriter::new(&self.columns);
        let place = Geometry::parse("POLYGON((0 0,9 0,9 9,0 0))").unwrap().to_wire();
        for number in numbers {
            rows.begin();
            for (position, column) in self.columns.iter().enumerate() {
                let value = match (column.element, column.is_array) {
                    (ElementType::String, true) => [&[2 << 1 | 1, 1 << 1 | 1, b'x', 2 << 1 | 1][..], "ö".as_bytes()].concat(),
                    (_, true) => [&[2 << 1 | 1][..], &[7; 8]].concat(),
                    (ElementType::String, _) => format!("größe {number}").into_bytes(),
                    (ElementType::Blob, _) => vec![9; 40],
                    (ElementType::Geometry, _) => place.clone(),
                    (_, _) => vec![number as u8, 0, 0, 0, 0, 0, 0, 0, 0][..column.fixed_bytes().unwrap_or(0)].to_vec(),
                };
                let is_null = position > 1 && (position + number) % 2 == 0 && number > 0;
                rows.put(column, (!is_null).then_some(&value[..]));
            }
        }
        made(|out| rows.write(out))
    }

    fn put_rows(&self, numbers: std::ops::Range<usize>) -> Sent {
        let count = numbers.len() as i64;
        self.of(statement::PUT_MULTIPLE_ROWS, 0, &[], &[&count.to_le_bytes()[..], &self.rows(numbers)].concat())
    }

    /// A statement about its rows.
    fn of(&self, number: i32, mode: u8, options: &[u8], rest: &[u8]) -> Sent {
        let mut out = Vec::new();
        put_i64(&mut out, self.id.id);
        put_i64(&mut out, 3);
        out.extend_from_slice(&UUID);
        put_i32(&mut out, self.id.version);
        out.extend_from_slice(&[1, mode]);
        put_i32(&mut out, options.len() as i32);
        out.extend_from_slice(&[options, rest].concat());
        (number, out)
    }

    fn tql(&self, text: &str) -> Sent {
        (statement::QUERY_TQL, made(|out| client::query(self.id, 100, text, out)))
    }

    /// A query without a text.
    fn asked(&self, number: i32, rest: &[u8]) -> Sent {
        let sized = [&i64::MAX.to_le_bytes()[..], &2_i64.to_le_bytes(), &[0; 5]].concat();
        self.of(number, 0, &[], &[&sized, rest].concat())
    }
}

/// CONNECT and LOGIN, without which nothing is served.
pub(crate) fn log_in() -> [Sent; 2] {
    let arguments = LoginArguments { user: "admin", digest: "8c6976e5b5410415", cluster_name: "TarnDB", database: Some("public") };
    [(statement::CONNECT, made(client::connect)), (statement::LOGIN, made(|out| client::log_in(&arguments, out)))]
}

/// Statements of all kinds about the containers.
pub(crate) fn statements(containers: &Containers) -> Vec<Sent> {
    let Containers { things, pairs, series, log } = containers;
    let mut all = log_in().to_vec();
    all.extend([things, pairs, series, log].map(|made| made.put_rows(0..2)));
    all.extend(about_containers(things));
    all.extend(by_key(containers));
    all.extend(queries(containers));
    all.extend(about_several(containers));
    all.extend(about_transactions(containers));
    all
}

fn about_containers(things: &Made) -> Vec<Sent> {
    let index = ("by_text", &[1_usize][..], IndexKind::Tree);
    vec![
        (statement::GET_PARTITION_ADDRESS, made(client::find_master)),
        (statement::GET_CONTAINER, made(|out| client::name_container(&things.name, Kind::Collection, out))),
        (statement::DROP_CONTAINER, made(|out| client::name_container(&things.name, Kind::Collection, out))),
        (statement::GET_CONTAINER_PROPERTIES, made(|out| client::get_properties(&things.name, &[ContainerName::parse("series")], out))),
        (statement::GET_PARTITION_CONTAINER_NAMES, made(|out| client::list_containers(0, out))),
        (
            statement::PUT_CONTAINER,
            made(|out| client::put_container((&ContainerName::parse("New@7"), Kind::Collection), (&things.columns, 1), true, out)),
        ),
        (
            statement::PUT_CONTAINER,
            made(|out| {
                let of = (&ContainerName::parse("parts"), Kind::Collection);
                client::put_partitioned_container(of, (&things.columns, 1), "hash 4 id\nnext 0\n", false, out);
            }),
        ),
        (
            statement::PUT_CONTAINER,
            made(|out| client::rename_column((&things.name, Kind::Collection), (&things.columns, 1), ("TEXT", "words"), out)),
        ),
        (statement::CREATE_INDEX, made(|out| client::change_index(things.id, index, &[], out))),
        (statement::DROP_INDEX, made(|out| client::change_index(things.id, index, &[1, 1], out))),
    ]
}

fn by_key(Containers { things, pairs, series, .. }: &Containers) -> Vec<Sent> {
    let key = 1_i64.to_le_bytes();
    let of_columns = [2_i64.to_le_bytes(), key].concat();
    let nulls_and_values = |rest: &[u8]| [&[0; 9][..], rest].concat();
    vec![
        things.of(statement::PUT_ROW, 0, &[], &things.rows(0..1)),
        things.of(statement::GET_ROW, 0, &[], &key),
        things.of(statement::GET_ROW, CONTINUE, &[2, 0, 1], &key),
        things.of(statement::DELETE_ROW, 0, &[], &key),
        things.of(statement::UPDATE_ROW_BY_ID, CONTINUE, &[], &[&key[..], &things.rows(0..1)].concat()),
        things.of(statement::DELETE_ROW_BY_ID, CONTINUE, &[], &key),
        pairs.of(statement::GET_ROW, 0, &[], &nulls_and_values(&[1, 0, 0, 0, 3, 5, b'a', b'b'])),
        series.of(statement::APPEND_TIME_SERIES_ROW, 0, &[], &series.rows(0..1)),
        series.of(statement::GET_TIME_SERIES_ROW_RELATED, 0, &[], &[&key[..], &[2]].concat()),
        series.of(statement::INTERPOLATE_TIME_SERIES_ROW, 0, &[], &[&key[..], &[1, 0, 0, 0]].concat()),
        series.of(statement::AGGREGATE_TIME_SERIES, 0, &[], &[&of_columns[..], &[1, 0, 0, 0, 3]].concat()),
    ]
}

fn queries(Containers { things, series, .. }: &Containers) -> Vec<Sent> {
    let place = Geometry::parse("POINT(1 1)").unwrap().to_wire();
    let place = made(|out| put_var_bytes(out, &place));
    let of_times = [0_i64.to_le_bytes(), 2_i64.to_le_bytes()].concat();
    let mut fetch = made(|out| [1_i64, 2, 2].iter().for_each(|number| put_i64(out, *number)));
    // What a connection keeps of a row set: container, rows left, version, time, ended by LIMIT; end, query, position.
    let asked = [&statement::QUERY_TQL.to_le_bytes()[..], &[8, 0, 0, 0], b"select *"].concat();
    fetch.extend([things.id.id.to_le_bytes(), 3_i64.to_le_bytes()].concat());
    fetch.extend([&things.id.version.to_le_bytes()[..], &[1; 8], &[0], &[0; 4]].concat());
    fetch.extend([&(asked.len() as i32).to_le_bytes()[..], &asked, &[0; 4]].concat());
    let count = Fold { function: Function::Rows, column: 0 };
    let encoded = made(|out| Spec { groups: vec![1], folds: vec![count], conditions: Vec::new() }.encode(out));
    let own = made(|out| {
        put_i16(out, OWN_GROUP);
        put_i32(out, encoded.len() as i32 + 6 + 10 + 3);
        put_i16(out, AGGREGATES_OPTION);
        put_i32(out, encoded.len() as i32);
        out.extend_from_slice(&encoded);
        put_i16(out, COLUMNS_OPTION);
        put_i64(out, 3);
        put_i16(out, FIGURES_OPTION);
        out.push(1);
    });
    let in_parts = made(|out| {
        [i64::MAX, 0].iter().for_each(|number| put_i64(out, *number));
        out.push(1);
        put_i32(out, 2);
        out.extend_from_slice(&[0, 2, 0, 0, 0, 1, 1, 1, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        put_string(out, "select * where id < 9");
    });
    vec![
        things.tql("select * where id >= 1 and (text like 'g%' or not ELEMENT(0, numbers) = 7) order by text desc limit 2 offset 1"),
        things.tql("select avg(\"INTEGER\") where TIMESTAMP > TO_TIMESTAMP_MS(0)"),
        things.tql("explain analyze select * where ST_MBRIntersects(place, ST_GeomFromText('POINT(1 1)'))"),
        series.tql("select TIME_AVG(v) where at < TIMESTAMP('2026-01-01T00:00:00Z')"),
        things.of(
            statement::QUERY_TQL,
            CONTINUE,
            &[2, 0, 1],
            &made(|out| {
                [100_i64, 2].iter().for_each(|number| put_i64(out, *number));
                out.extend_from_slice(&[0; 5]);
                put_string(out, "select * order by text");
            }),
        ),
        things.of(statement::QUERY_TQL, 0, &own, &in_parts),
        things.of(statement::FETCH_ROW_SET, 0, &[], &fetch),
        things.asked(statement::QUERY_COLLECTION_GEOMETRY_RELATED, &[&[2, 0, 0, 0][..], &place, &[0]].concat()),
        things.asked(statement::QUERY_COLLECTION_GEOMETRY_WITH_EXCLUSION, &[&[2, 0, 0, 0][..], &place, &place].concat()),
        series.asked(statement::QUERY_TIME_SERIES_RANGE, &[&of_times[..], &[0]].concat()),
        series.asked(statement::QUERY_TIME_SERIES_SAMPLING, &[&of_times[..], &[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 5, 0]].concat()),
    ]
}

fn about_several(Containers { things, pairs, log, .. }: &Containers) -> Vec<Sent> {
    let mut put = UUID.to_vec();
    [0, 2].iter().for_each(|number| put_i32(&mut put, *number));
    for (made, key_len) in [(things, 1), (log, 0)] {
        put.push(0);
        write_columns(made.columns.iter(), key_len, &mut put);
    }
    put_i32(&mut put, 2);
    for (schema, made) in [things, log].into_iter().enumerate() {
        [1, made.id.id, 3].iter().for_each(|number| put_i64(&mut put, *number));
        put.extend_from_slice(&[1, 0, 0, 0, 0, 0]);
        put_i32(&mut put, schema as i32);
        let rows = made.rows(0..2);
        put_i32(&mut put, rows.len() as i32 + 8);
        put_i64(&mut put, 2);
        put.extend_from_slice(&rows);
    }
    let mut get = UUID.to_vec();
    put_acceptable_version(&mut get);
    put_i32(&mut get, 3);
    // From 1 on; 1 and 2; of two columns, one.
    get.extend_from_slice(&[ElementType::Long as u8, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    get.extend_from_slice(&[&[ElementType::Long as u8, 1, 2, 0, 0, 0][..], &1_i64.to_le_bytes(), &2_i64.to_le_bytes()].concat());
    get.extend_from_slice(&[0xFF, 1, 2, 0, 0, 0, ElementType::Integer as u8, ElementType::String as u8]);
    let row = pairs.rows(1..2);
    put_i32(&mut get, row.len() as i32 + 4);
    put_i32(&mut get, 1);
    get.extend_from_slice(&row);
    put_i32(&mut get, 3);
    for (predicate, made) in [things, things, pairs].into_iter().enumerate() {
        put_i32(&mut get, 0);
        made.name.write(&mut get);
        put_i32(&mut get, predicate as i32);
    }
    let mut query = UUID.to_vec();
    [0, 2].iter().for_each(|number| put_i32(&mut query, *number));
    for (made, text) in [(things, "select *"), (pairs, "select count(*)")] {
        put_i32(&mut query, statement::QUERY_TQL);
        put_i64(&mut query, 1);
        put_i64(&mut query, made.id.id);
        put_i64(&mut query, 3);
        put_i32(&mut query, made.id.version);
        query.extend_from_slice(&[1, 0, 0, 0, 0, 0]);
        [100_i64, 1].iter().for_each(|number| put_i64(&mut query, *number));
        query.extend_from_slice(&[0; 5]);
        put_string(&mut query, text);
    }
    vec![
        (statement::PUT_MULTIPLE_CONTAINER_ROWS, put),
        (statement::GET_MULTIPLE_CONTAINER_ROWS, get),
        (statement::EXECUTE_MULTIPLE_QUERIES, query),
    ]
}

fn about_transactions(Containers { things, log, .. }: &Containers) -> Vec<Sent> {
    let session = [&things.id.id.to_le_bytes()[..], &3_i64.to_le_bytes(), &UUID, &[0; 4]].concat();
    let mut many = UUID.to_vec();
    [0, 2].iter().for_each(|number| put_i32(&mut many, *number));
    for made in [things, log] {
        [1, made.id.id, 3].iter().for_each(|number| put_i64(&mut many, *number));
    }
    let mut create = UUID.to_vec();
    put_i32(&mut create, 0);
    create.extend_from_slice(&[1, 1, 0, 0, 0]);
    [things.id.id, 3].iter().for_each(|number| put_i64(&mut create, *number));
    let ends = [statement::COMMIT_TRANSACTION, statement::ABORT_TRANSACTION, statement::CREATE_SESSION, statement::CLOSE_SESSION];
    let mut all = ends.map(|number| (number, session.clone())).to_vec();
    all.push((statement::CLOSE_MULTIPLE_SESSIONS, many));
    all.push((statement::CREATE_MULTIPLE_SESSIONS, create));
    all.push((statement::FLUSH_LOG, vec![0; 4]));
    all.extend(about_users());
    all
}

fn about_users() -> impl Iterator<Item = Sent> {
    let write = |number: i32, out: &mut Vec<u8>| {
        put_i32(out, 0);
        match number {
            statement::GET_USERS | statement::GET_DATABASES => {
                out.push(1);
                put_string(out, "ann");
            }
            statement::PUT_USER => {
                put_string(out, "ann");
                out.extend_from_slice(&[0, 1]);
                put_string(out, "digest");
                out.push(1);
            }
            _ => {
                put_string(out, "db");
                out.push(0);
                put_i32(out, 1);
                ["ann", "READ"].iter().for_each(|text| put_string(out, text));
            }
        }
    };
    (statement::GET_USERS..=statement::DROP_PRIVILEGE).map(move |number| (number, made(|out| write(number, out))))
}
