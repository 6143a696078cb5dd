//! Queries by indexes: the entries are written by what CQL's indexes have, and read by GridDB's statements. Two containers have the same rows, and one of
//! them has indexes: each query gives the same of both.
#![allow(clippy::unwrap_used)]

use base::{Now, Rng, TableId, Token};
use cql::index::{self, Backfill, Backfilled};
use griddb::exec::{Request, Work, start};
use griddb::instant::Instant;
use griddb::wire::{Statement, statement};
use griddb::{Catalog, ContainerName, ElementType, PUBLIC_DATABASE};
use model::operation::{
    Context, Direction, Operation, PartitionKey, Position, RowChange, RowObserver, RowStore, ScannedRow, Stop, Visit, WriteSet,
};
use model::{Schema, Table};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

mod geometries;

const COLUMNS: [(&str, ElementType); 12] = [
    ("id", ElementType::Long),
    ("bool", ElementType::Bool),
    ("byte", ElementType::Byte),
    ("short", ElementType::Short),
    ("int", ElementType::Integer),
    ("long", ElementType::Long),
    ("float", ElementType::Float),
    ("double", ElementType::Double),
    ("time", ElementType::Timestamp),
    ("us", ElementType::MicroTimestamp),
    ("ns", ElementType::NanoTimestamp),
    ("text", ElementType::String),
];

/// How a reply says that its statement was done.
const NO_ERROR: u8 = 0;

/// Table, token, partition key, clustering key.
type Key = (TableId, Token, Vec<u8>, Vec<u8>);

#[derive(Default)]
struct Rows {
    rows: BTreeMap<Key, Vec<u8>>,
    /// Scans of containers.
    scans: Cell<u32>,
}

impl RowStore for Rows {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        let key = (partition.table, partition.token, partition.bytes.to_vec(), clustering.to_vec());
        Ok(self.rows.get(&key).map(Vec::as_slice))
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        self.scans.set(self.scans.get() + u32::from(partition.bytes.len() == 4));
        let start = (partition.table, partition.token, partition.bytes.to_vec(), from.to_vec());
        let is_here = |(table, token, bytes, _): &Key| (*table, *token, &bytes[..]) == (partition.table, partition.token, partition.bytes);
        let mut found: Vec<_> =
            self.rows.range(start..).take_while(|(key, _)| is_here(key) && to.is_none_or(|to| &key.3[..] < to)).collect();
        if direction == Direction::Reverse {
            found.reverse();
        }
        let _ = found.into_iter().find(|(key, row)| visit(&key.3, row) == Visit::Stop);
        Ok(())
    }

    fn scan_table(&self, table: TableId, from: Position<'_>, _: Token, visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit) -> Result<(), Stop> {
        let start = (table, from.token, from.partition.to_vec(), from.clustering.to_vec());
        for ((_, token, bytes, clustering), row) in self.rows.range(start..).take_while(|(key, _)| key.0 == table) {
            if visit(ScannedRow { partition: PartitionKey { table, token: *token, bytes }, clustering, row }) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }
}

struct Node {
    schema: Arc<Schema>,
    catalog: Arc<Catalog>,
    rows: Rows,
    now_us: i64,
}

impl Node {
    fn context(&mut self) -> Context {
        self.now_us += 1_000;
        Context { now: Now { monotonic_us: 0, wall_us: self.now_us }, timestamp_us: self.now_us, nonce: 0 }
    }

    /// The results of a reply.
    fn serve(&mut self, number: i32, arguments: &[u8]) -> Vec<u8> {
        let body = [&number.to_le_bytes()[..], &5_i32.to_le_bytes(), &7_i64.to_le_bytes(), arguments].concat();
        let mut out = Vec::new();
        for is_changed in [false, true] {
            out.clear();
            let (catalog, schema) = (Arc::clone(&self.catalog), Arc::clone(&self.schema));
            let (catalog, schema, database) = (&catalog, &schema, PUBLIC_DATABASE);
            let request = Request {
                catalog,
                schema,
                database,
                body: &body,
                transaction_timeout_s: 300,
                received_us: 0,
                received_s: 0,
                is_ipv6: false,
                access: None,
            };
            match start(request, &Statement::read(&body, false).unwrap(), is_changed, &mut out).unwrap() {
                Work::Answered => break,
                Work::Run(execution) => {
                    self.run(execution.to_operation().as_ref(), &mut out);
                    break;
                }
                Work::Change { change, starts_again } => {
                    let changed = change.apply(schema, database, 9, self.now_us).unwrap().unwrap();
                    Arc::make_mut(&mut self.catalog).follow(&changed.schema);
                    self.schema = Arc::new(changed.schema);
                    if !starts_again {
                        return Vec::new();
                    }
                }
            }
        }
        // Header of the frame, statement, number, status.
        assert_eq!(out[32], NO_ERROR, "{}", String::from_utf8_lossy(&out));
        out[33..].to_vec()
    }

    /// Runs an operation, and the observers of what it writes.
    fn run(&mut self, operation: &dyn Operation, out: &mut Vec<u8>) {
        let context = self.context();
        let (mut writes, mut derived) = (WriteSet::default(), WriteSet::default());
        operation.run(&context, &self.rows, &mut writes, out).unwrap();
        for row in writes.rows() {
            let Some(table) = self.schema.tables().find(|table| table.id == row.partition.table) else { continue };
            for (index, entries) in index::observers(table) {
                let entries = entries.of_values_within(griddb::container::values_within(table, &index));
                let (partition, clustering) = (row.partition, row.clustering);
                let old = self.rows.get(&partition, clustering).unwrap();
                let change = RowChange { partition, clustering, old, new: row.row, purge_after_s: None, group: &writes };
                entries.changed(&context, &change, &self.rows, &mut derived).unwrap();
            }
        }
        for row in writes.rows().chain(derived.rows()) {
            let PartitionKey { table, token, bytes } = row.partition;
            self.rows.rows.insert((table, token, bytes.to_vec(), row.clustering.to_vec()), row.row.to_vec());
        }
    }

    /// Makes a container; its number.
    fn put_container(&mut self, name: &str) -> i64 {
        self.put_container_of(name, &COLUMNS)
    }

    fn put_container_of(&mut self, name: &str, columns: &[(&str, ElementType)]) -> i64 {
        let mut arguments = 0_i32.to_le_bytes().to_vec();
        ContainerName::parse(name).write(&mut arguments);
        arguments.extend_from_slice(&[0, 0]);
        arguments.extend_from_slice(&(columns.len() as i32).to_le_bytes());
        for (name, element) in columns {
            arguments.extend_from_slice(&(name.len() as i32).to_le_bytes());
            arguments.extend_from_slice(name.as_bytes());
            arguments.extend_from_slice(&[*element as u8, 0]);
        }
        // One column makes the key; no affinity.
        arguments.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
        let reply = self.serve(statement::PUT_CONTAINER, &arguments);
        i64::from_le_bytes(reply[4..12].try_into().unwrap())
    }

    fn create_index(&mut self, container: i64, column: i32) {
        let mut arguments = [&container.to_le_bytes()[..], &[0; 8]].concat();
        arguments.extend_from_slice(&[13, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        arguments.extend_from_slice(&column.to_le_bytes());
        // Of the type that fits the column.
        arguments.push(0xFF);
        self.serve(statement::CREATE_INDEX, &arguments);
    }

    fn query(&mut self, container: i64, text: &str) -> (Vec<u8>, u32) {
        let mut arguments = head(container);
        arguments.extend_from_slice(&[i64::MAX.to_le_bytes(); 2].concat());
        arguments.extend_from_slice(&[0; 5]);
        arguments.extend_from_slice(&(text.len() as i32).to_le_bytes());
        arguments.extend_from_slice(text.as_bytes());
        self.rows.scans.set(0);
        (self.serve(statement::QUERY_TQL, &arguments), self.rows.scans.get())
    }

    fn backfill(&mut self, container: i64) {
        let table: Arc<Table> = Arc::clone(self.schema.tables().find(|table| i64::from(table.id.0) == container).unwrap());
        let slot = griddb::token_of_partition(5).slot();
        for index in table.indexes.values() {
            let within = griddb::container::values_within(&table, index);
            let stretch = Backfill::new(&table, index, slot).unwrap().of_values_within(within);
            let mut reply = Vec::new();
            while Backfilled::read(&reply) != Some(Backfilled::Complete) {
                reply.clear();
                self.run(&stretch, &mut reply);
            }
        }
    }
}

fn head(container: i64) -> Vec<u8> {
    [&container.to_le_bytes()[..], &[0; 24], &[0; 4], &[0, 0], &[0; 4]].concat()
}

/// A row with a value of each column, or none.
fn row(id: i64, random: &mut Rng) -> Vec<u8> {
    let nulls: [u8; 2] = [random.next_u64() as u8 & random.next_u64() as u8 & 0xFE, random.below(16) as u8 & random.below(16) as u8];
    let small = random.below(9) as i64 - 4;
    let double = [-0.0, 0.0, f64::NAN, f64::INFINITY, -1.5, 2.5, 0.1, 1e300, -3.0][random.below(9) as usize];
    let text = ["", "a", "ab", "b\0", "b", &"long".repeat(300), &["long".repeat(300), "er".to_owned()].concat()][random.below(7) as usize]
        .to_owned();
    let mut fixed = 0_i64.to_le_bytes().to_vec();
    fixed.extend_from_slice(&nulls);
    fixed.extend_from_slice(&id.to_le_bytes());
    fixed.push(random.below(2) as u8);
    fixed.push(small as u8);
    fixed.extend_from_slice(&(small as i16 * 100).to_le_bytes());
    fixed.extend_from_slice(&(small as i32 * 100_000).to_le_bytes());
    fixed.extend_from_slice(&(small << 40).to_le_bytes());
    fixed.extend_from_slice(&(double as f32).to_le_bytes());
    fixed.extend_from_slice(&double.to_le_bytes());
    fixed.extend_from_slice(&random.below(5).to_le_bytes());
    fixed.extend_from_slice(&(random.below(4) * 499).to_le_bytes());
    fixed.extend_from_slice(&Instant { us: random.below(4) as i64 * 499, ns: random.below(3) as u16 * 127 }.nano_wire());
    fixed.push(3);
    if text.len() < 128 {
        fixed.push((text.len() as u8) << 1 | 1);
    } else {
        fixed.extend_from_slice(&((text.len() as u32) << 2).to_le_bytes());
    }
    [fixed, text.into_bytes()].concat()
}

/// A condition of one column.
fn condition(random: &mut Rng) -> String {
    let operator = ["=", "<", "<=", ">", ">=", "<>"][random.below(6) as usize];
    let small = random.below(11) as i64 - 5;
    let number = ["-0.0", "0", "0.1", "-1.5", "2", "1e300", "2.5", "0.10000000149011612", "-4"][random.below(9) as usize];
    let long = "long".repeat(300);
    let text = ["", "a", "ab", "b", &long[..], &long[..1024], "zz"][random.below(7) as usize];
    let time = format!("TIMESTAMP_NS('1970-01-01T00:00:00.00{:04}{:03}Z')", random.below(4) * 499, random.below(3) * 127);
    match random.below(10) {
        8 => format!("us {operator} {time}"),
        9 => format!("{time} {operator} ns"),
        0 => format!("byte {operator} {small}"),
        1 => format!("short {operator} {}", small * 100),
        2 => format!("int {operator} {}", small * 100_000),
        3 => format!("{} {operator} long", small << 40),
        4 => format!("float {operator} {number}"),
        5 => format!("double {operator} {number}"),
        6 if random.below(2) == 0 => format!("time {operator} {time}"),
        6 => format!("time {operator} TO_TIMESTAMP_MS({})", random.below(5)),
        _ => format!("text {operator} '{text}'"),
    }
}

#[test]
fn a_query_by_an_index_gives_what_a_scan_gives() {
    let mut node = Node { schema: Arc::new(Schema::empty()), catalog: Arc::default(), rows: Rows::default(), now_us: 0 };
    let mut random = Rng::new(5);
    let (plain, indexed) = (node.put_container("plain"), node.put_container("indexed"));
    let put = |node: &mut Node, random: &mut Rng| {
        let sent = row(random.below(300) as i64, random);
        for container in [plain, indexed] {
            node.serve(statement::PUT_ROW, &[head(container), sent.clone()].concat());
        }
    };
    // Rows that are there before their indexes, and rows that come, change and go afterwards.
    (0..200).for_each(|_| put(&mut node, &mut random));
    (1..COLUMNS.len() as i32).for_each(|column| node.create_index(indexed, column));
    assert_eq!(node.query(indexed, "select * where int = 100000").1, 1, "it is not complete yet");
    node.backfill(indexed);
    (0..200).for_each(|_| put(&mut node, &mut random));
    for id in 0..30_i64 {
        for container in [plain, indexed] {
            node.serve(statement::DELETE_ROW, &[head(container), id.to_le_bytes().to_vec()].concat());
        }
    }
    let mut unscanned = 0;
    for _ in 0..3_000 {
        let mut text = condition(&mut random);
        while random.below(3) == 0 {
            let joint = if random.below(4) == 0 { "OR" } else { "AND" };
            text = format!("{text} {joint} {}", condition(&mut random));
        }
        let what = ["*", "COUNT(*)", "MAX_ROWS(id)"][random.below(3) as usize];
        let order =
            if what == "*" { ["", " ORDER BY id DESC", " ORDER BY int", " LIMIT 3 OFFSET 1"][random.below(4) as usize] } else { "" };
        let text = format!("SELECT {what} WHERE {text}{order}");
        let (expected, _) = node.query(plain, &text);
        let (found, scans) = node.query(indexed, &text);
        assert_eq!(found, expected, "{text}");
        unscanned += u32::from(scans == 0);
    }
    assert!(unscanned > 1_000, "{unscanned} queries were answered by an index");
}
