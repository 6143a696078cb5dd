//! Queries by indexes: the entries are written by what CQL's indexes have, and read by Aerospike's queries. What a query gives is what a look at all records
//! of a model gives, whatever was written over, deleted or has expired, and however far an index is.
#![allow(clippy::unwrap_used)]

use aerospike::exec::{self, Namespace, Options, Work};
use aerospike::index::{Definition, IndexChange, values_within};
use aerospike::operate::code;
use aerospike::value::msgpack::write;
use aerospike::wire::{HEADER_BYTES, Header, Message, MessageWriter, Operation as BinOperation, field, info1, info2, info3};
use aerospike::{ResultCode, value::ParticleType};
use base::{Now, Rng, Slot, TableId, Token};
use cql::index::{self, Backfill, Backfilled};
use model::operation::{
    Context, Direction, Operation, PartitionKey, Position, RowChange, RowObserver, RowStore, ScannedRow, Step, Stop, Visit, WriteSet,
};
use model::record_set::{DIGEST_BYTES, table_name};
use model::{Schema, Table};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod geo;

/// The slots in which records are, of which the last one's index is never backfilled.
const SLOTS: [u16; 4] = [0, 5, 6, 4_095];
const DIGESTS: u64 = 120;
const INTEGER: u8 = ParticleType::Integer as u8;
const STRING: u8 = ParticleType::String as u8;

type Digest = [u8; DIGEST_BYTES];
/// Table, token, partition key, clustering key.
type Key = (TableId, Token, Vec<u8>, Vec<u8>);

/// Rows, some of which may be on the device: a run that waits for them finds them in memory the next time, one that ends without them does not.
#[derive(Default)]
struct Rows {
    rows: BTreeMap<Key, Vec<u8>>,
    is_cold: bool,
    warm: RefCell<BTreeSet<Key>>,
    missed: RefCell<Vec<Key>>,
}

impl Rows {
    fn check(&self, key: &Key) -> Result<(), Stop> {
        if !self.is_cold || self.warm.borrow().contains(key) {
            return Ok(());
        }
        self.missed.borrow_mut().push(key.clone());
        Err(Stop::Miss)
    }
}

impl RowStore for Rows {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        let key = (partition.table, partition.token, partition.bytes.to_vec(), clustering.to_vec());
        let Some(row) = self.rows.get(&key) else { return Ok(None) };
        self.check(&key).map(|()| Some(row.as_slice()))
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        assert_eq!(direction, Direction::Forward);
        let start = (partition.table, partition.token, partition.bytes.to_vec(), from.to_vec());
        let is_here = |(table, token, bytes, _): &Key| (*table, *token, &bytes[..]) == (partition.table, partition.token, partition.bytes);
        for (key, row) in self.rows.range(start..).take_while(|(key, _)| is_here(key) && to.is_none_or(|to| &key.3[..] < to)) {
            self.check(key)?;
            if visit(&key.3, row) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }

    fn scan_table(
        &self,
        table: TableId,
        from: Position<'_>,
        until: Token,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        let start = (table, from.token, from.partition.to_vec(), from.clustering.to_vec());
        for ((_, token, bytes, clustering), row) in self.rows.range(start..).take_while(|(key, _)| key.0 == table && key.1 <= until) {
            if visit(ScannedRow { partition: PartitionKey { table, token: *token, bytes }, clustering, row }) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// A record as the model has it.
#[derive(Clone, Debug, Default)]
struct Record {
    number: Option<i64>,
    text: Option<String>,
    list: Vec<i64>,
    keys: Vec<String>,
    /// The last second that it is there.
    until_s: Option<i64>,
}

struct Node {
    schema: Schema,
    rows: Rows,
    now_us: i64,
    runs: u64,
    /// Entries that the last run wrote or ended.
    entries_changed: usize,
}

/// A message about the set.
fn message(fields: &[(u8, &[u8])], operations: &[BinOperation<'_>], flags: [u8; 3], ttl_s: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut message = MessageWriter::begin(&mut out);
    let attributes = &mut message.attributes;
    (attributes.info1, attributes.info2, attributes.info3, attributes.ttl) = (flags[0], flags[1], flags[2], ttl_s);
    message.field(&mut out, field::NAMESPACE, b"test", &[]);
    message.field(&mut out, field::SET, b"s", &[]);
    fields.iter().for_each(|(kind, data)| message.field(&mut out, *kind, data, &[]));
    operations.iter().for_each(|operation| message.operation(&mut out, operation));
    message.end(&mut out, ResultCode::OK);
    out
}

impl Node {
    fn new() -> Self {
        Self { schema: Schema::empty(), rows: Rows::default(), now_us: 1_700_000_000_000_000, runs: 0, entries_changed: 0 }
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(self.schema.table("test", "s").unwrap())
    }

    fn change(&mut self, command: &str) {
        match IndexChange::of_request(command).unwrap().unwrap() {
            IndexChange::Create { namespace, set, name, definition } => {
                let declared = self.schema.declare_bins(&namespace, &set, &[definition.needed_bin().unwrap()], 1).unwrap();
                self.schema = declared.map_or_else(|| self.schema.clone(), |declared| declared.schema);
                assert!(definition.add(&mut self.schema, &namespace, table_name(&set).unwrap(), &name).unwrap());
            }
            IndexChange::Drop { namespace, name } => drop(Definition::remove(&mut self.schema, &namespace, &name).unwrap()),
        }
    }

    fn backfill(&mut self, name: &str, slots: &[u16]) {
        let table = self.table();
        let index = &table.indexes[name];
        for slot in slots {
            let stretch = Backfill::new(&table, index, Slot(*slot)).unwrap().of_values_within(values_within(&table, index));
            while Backfilled::read(&self.run(&stretch)) != Some(Backfilled::Complete) {}
        }
    }

    /// Runs an operation, and the observers of what it writes.
    fn run(&mut self, operation: &dyn Operation) -> Vec<u8> {
        (self.now_us, self.runs) = (self.now_us + 1, self.runs + 1);
        let context = Context { now: Now { monotonic_us: 0, wall_us: self.now_us }, timestamp_us: self.now_us, nonce: 0 };
        let (mut writes, mut derived, mut reply) = (WriteSet::default(), WriteSet::default(), Vec::new());
        let mut waits = 0;
        while let Err(stop) = operation.run(&context, &self.rows, &mut writes, &mut reply) {
            assert!(stop == Stop::Miss && waits < 10_000, "{stop:?} after {waits} waits");
            waits += 1;
            self.rows.warm.borrow_mut().extend(self.rows.missed.borrow_mut().drain(..));
        }
        self.rows.missed.borrow_mut().clear();
        for row in writes.rows() {
            let Some(table) = self.schema.tables().find(|table| table.id == row.partition.table) else { continue };
            for (index, entries) in index::observers(table) {
                let entries = entries.of_values_within(values_within(table, &index));
                let (partition, clustering) = (row.partition, row.clustering);
                let old = self.rows.get(&partition, clustering).unwrap();
                let change = RowChange { partition, clustering, old, new: row.row, purge_after_s: None, group: &writes };
                entries.changed(&context, &change, &self.rows, &mut derived).unwrap();
            }
        }
        self.entries_changed = derived.len();
        for row in writes.rows().chain(derived.rows()) {
            let PartitionKey { table, token, bytes } = row.partition;
            self.rows.rows.insert((table, token, bytes.to_vec(), row.clustering.to_vec()), row.row.to_vec());
        }
        reply
    }

    fn serve(&mut self, body: &[u8]) -> Result<Vec<u8>, ResultCode> {
        let message = Message::decode(body).unwrap();
        let namespaces = [Namespace { name: "test".to_owned(), default_ttl_s: 0 }];
        let options = Options {
            namespaces: &namespaces,
            cores: 2,
            record_bytes_max: 1 << 20,
            is_primary: None,
            jobs: None,
            may_read: None,
            is_forwarded: false,
        };
        loop {
            let schema = self.schema.clone();
            match exec::start(&schema, &message, body, &options)? {
                Work::Record(request) => return Ok(self.run(&request)),
                Work::Declare(needs) => {
                    for need in needs {
                        self.schema = schema.declare_bins(&need.namespace, &need.set, &need.bins, 1).unwrap().unwrap().schema;
                    }
                }
                Work::Background(_) => unreachable!("nothing here runs in the background"),
                Work::Coordinate(mut coordinator) => {
                    let (mut reply, mut results) = (Vec::new(), Vec::new());
                    while let Step::Run(parts) = coordinator.step(std::mem::take(&mut results), &mut reply).unwrap() {
                        for part in parts {
                            // Every other part is another member's.
                            let mut description = Vec::new();
                            assert!(part.operation.describe(&mut description));
                            let again = exec::part(&schema, Some(&message), &description, &options).unwrap().unwrap();
                            results.push(if self.runs.is_multiple_of(2) { self.run(&*part.operation) } else { self.run(&*again) });
                        }
                    }
                    return Ok(reply);
                }
            }
        }
    }

    fn put(&mut self, digest: &Digest, record: &Record, ttl_s: u32) {
        let write = |name: &'static [u8], particle| BinOperation { code: code::WRITE, particle, name, value: &[] };
        let (number, list, map) = (record.number.map(i64::to_be_bytes), list(&record.list), map(&record.keys));
        let mut bins = vec![
            BinOperation { value: &list, ..write(b"l", ParticleType::List as u8) },
            BinOperation { value: &map, ..write(b"m", ParticleType::Map as u8) },
        ];
        bins.extend(number.as_ref().map(|number| BinOperation { value: number, ..write(b"n", INTEGER) }));
        bins.extend(record.text.as_ref().map(|text| BinOperation { value: text.as_bytes(), ..write(b"n", STRING) }));
        let flags = [0, info2::WRITE, info3::CREATE_OR_REPLACE];
        let reply = self.serve(&message(&[(field::DIGEST, digest)], &bins, flags, ttl_s)).unwrap();
        assert_eq!(Message::decode(&reply[HEADER_BYTES..]).map_or(reply[5], |message| message.result.0), 0);
    }

    fn delete(&mut self, digest: &Digest) {
        self.serve(&message(&[(field::DIGEST, digest)], &[], [0, info2::WRITE | info2::DELETE, 0], 0)).unwrap();
    }

    /// The records that a query gives, page by page.
    fn query(&mut self, query: &Query, page: u64) -> Result<BTreeSet<Digest>, ResultCode> {
        let (mut found, mut after) = (BTreeSet::new(), BTreeMap::<u16, Digest>::new());
        let limit = page.to_be_bytes();
        loop {
            let whole = SLOTS.iter().filter(|slot| !after.contains_key(slot));
            let (pids, digests) =
                (whole.flat_map(|slot| slot.to_le_bytes()).collect::<Vec<_>>(), after.values().flatten().copied().collect::<Vec<_>>());
            let mut fields = vec![(field::PARTITIONS, &pids[..]), (field::DIGESTS, &digests), (field::RECORDS_MAX, &limit)];
            fields.extend(query.fields.iter().map(|(kind, data)| (*kind, &data[..])));
            let reply = self.serve(&message(&fields, &[], [info1::READ | info1::GET_ALL, 0, info3::PARTITION_DONE], 0))?;
            let (mut rest, mut count) = (&reply[..], 0);
            while let Some(header) = Header::read(rest, 1 << 30).unwrap() {
                let (mut body, next) = rest[HEADER_BYTES..].split_at(header.body_bytes);
                while !body.is_empty() {
                    let (said, following) = Message::read(body).unwrap();
                    assert_eq!(said.result, ResultCode::OK);
                    if let Some(digest) = said.fields.digest {
                        assert!(found.insert(*digest), "a record is given once");
                        after.insert(model::record_set::token(digest).slot().0, *digest);
                        count += 1;
                    }
                    body = following;
                }
                rest = next;
            }
            if count < page {
                return Ok(found);
            }
        }
    }
}

fn list(items: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    write::list(&mut out, items.len(), 0);
    items.iter().for_each(|item| write::integer(&mut out, *item));
    out
}

fn map(keys: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    write::map(&mut out, keys.len(), 0);
    for key in keys {
        write::typed(&mut out, ParticleType::String, key.as_bytes());
        write::integer(&mut out, 1);
    }
    out
}

struct Query {
    fields: Vec<(u8, Vec<u8>)>,
    is_met: Box<dyn Fn(&Record) -> bool>,
}

impl Query {
    fn new(
        bin: &str,
        particle: u8,
        (low, high): (&[u8], &[u8]),
        part: u8,
        context: &[u8],
        is_met: impl Fn(&Record) -> bool + 'static,
    ) -> Self {
        let sized = |value: &[u8]| [&(value.len() as u32).to_be_bytes()[..], value].concat();
        let range = [&[1, bin.len() as u8], bin.as_bytes(), &[particle], &sized(low), &sized(high)].concat();
        let mut fields = vec![(field::INDEX_RANGE, range)];
        fields.extend((part > 0).then(|| (field::INDEX_TYPE, vec![part])));
        fields.extend((!context.is_empty()).then(|| (field::INDEX_CONTEXT, context.to_vec())));
        Self { fields, is_met: Box::new(is_met) }
    }

    fn random(rng: &mut Rng) -> Self {
        let low = rng.below(12) as i64 - 6;
        let high = low + if rng.below(2) == 0 { 0 } else { rng.below(8) as i64 };
        let (from, to) = (low.to_be_bytes(), high.to_be_bytes());
        let is_in = move |number: &i64| (low..=high).contains(number);
        let text = text(rng);
        match rng.below(5) {
            0 => Self::new("n", INTEGER, (&from, &to), 0, &[], move |record| record.number.as_ref().is_some_and(is_in)),
            1 => Self::new("l", INTEGER, (&from, &to), 1, &[], move |record| record.list.iter().any(is_in)),
            2 => Self::new("l", INTEGER, (&from, &to), 0, HIGHEST, move |record| record.list.iter().max().is_some_and(is_in)),
            3 => Self::new("m", STRING, (text.clone().as_bytes(), text.clone().as_bytes()), 2, &[], move |record| {
                record.keys.contains(&text)
            }),
            _ => {
                let wanted = text.clone();
                Self::new("n", STRING, (text.as_bytes(), text.as_bytes()), 0, &[], move |record| record.text.as_ref() == Some(&wanted))
            }
        }
    }
}

/// The path to a list's element of the highest rank.
const HIGHEST: &[u8] = &[0x92, 0x11, 0xFF];

/// A text: short, empty, with zeros, or too long to be whole in an entry.
fn text(rng: &mut Rng) -> String {
    let tail = ["", "a", "b", "\0", "a\0b"][rng.below(5) as usize];
    if rng.below(4) == 0 { "x".repeat(1_100) + tail } else { tail.to_owned() }
}

fn digest(rng: &mut Rng) -> Digest {
    let number = rng.below(DIGESTS);
    let mut digest = [number as u8; DIGEST_BYTES];
    digest[..2].copy_from_slice(&SLOTS[(number % 4) as usize].to_le_bytes());
    digest[2] = 0;
    digest
}

const CREATE: [(&str, &str); 5] = [
    ("number", "set=s;indexname=number;indexdata=n,NUMERIC"),
    ("list", "set=s;indexname=list;indextype=LIST;indexdata=l,NUMERIC"),
    ("highest", "set=s;indexname=highest;context=khH/;indexdata=l,NUMERIC"),
    ("keys", "set=s;indexname=keys;indextype=MAPKEYS;indexdata=m,STRING"),
    ("text", "set=s;indexname=text;indexdata=n,STRING"),
];

fn record(rng: &mut Rng) -> Record {
    let mut record = Record::default();
    match rng.below(3) {
        0 => record.number = Some(rng.below(12) as i64 - 6),
        1 => record.text = Some(text(rng)),
        _ => {}
    }
    record.list = (0..rng.below(5)).map(|_| rng.below(12) as i64 - 6).collect();
    record.keys = (0..rng.below(3)).map(|_| text(rng)).collect::<BTreeSet<_>>().into_iter().collect();
    record
}

#[test]
fn queries_give_what_a_look_at_all_records_gives() {
    for seed in 0..12 {
        let rng = &mut Rng::new(seed);
        let (mut node, mut records) = (Node::new(), BTreeMap::<Digest, Record>::new());
        // Half of the indexes are there before the records.
        for (position, (_, create)) in CREATE.iter().enumerate().filter(|(position, _)| position % 2 == 0) {
            node.change(&format!("sindex-create:ns=test;{create}"));
            assert!(position < CREATE.len());
        }
        for step in 0..600 {
            let digest = digest(rng);
            match rng.below(8) {
                0 => {
                    node.delete(&digest);
                    records.remove(&digest);
                }
                1 => node.now_us += 1_000_000 * rng.below(4) as i64,
                // The same again, or nearly.
                2 if records.contains_key(&digest) => {
                    let ttl_s = if rng.below(4) == 0 { 5 } else { 0 };
                    let record = records.get_mut(&digest).unwrap();
                    record.until_s = (ttl_s > 0).then_some(node.now_us / 1_000_000 + i64::from(ttl_s));
                    if rng.below(2) == 0 {
                        record.list.push(rng.below(12) as i64 - 6);
                    }
                    node.put(&digest, record, ttl_s);
                }
                _ => {
                    let ttl_s = if rng.below(4) == 0 { 5 } else { 0 };
                    let now_s = node.now_us / 1_000_000;
                    let record = Record { until_s: (ttl_s > 0).then_some(now_s + i64::from(ttl_s)), ..record(rng) };
                    node.put(&digest, &record, ttl_s);
                    records.insert(digest, record);
                }
            }
            if step == 200 {
                (1..CREATE.len()).step_by(2).for_each(|at| node.change(&format!("sindex-create:ns=test;{}", CREATE[at].1)));
            }
            if step == 300 {
                CREATE.iter().for_each(|(name, _)| node.backfill(name, &SLOTS[..3]));
            }
            if step % 5 == 0 && step > 200 {
                let (query, page) = (Query::random(rng), 1 + rng.below(40));
                let found = node.query(&query, page).unwrap();
                let now_s = node.now_us / 1_000_000;
                let is_there = |record: &&Record| record.until_s.is_none_or(|until_s| now_s <= until_s) && (query.is_met)(record);
                let wanted: BTreeSet<Digest> = records.iter().filter(|(_, record)| is_there(record)).map(|(digest, _)| *digest).collect();
                assert_eq!(found, wanted, "seed {seed}, step {step}, {:?}", query.fields);
            }
        }
        node.change("sindex-delete:ns=test;indexname=number");
        let query = Query::new("n", INTEGER, (&[0; 8], &[0; 8]), 0, &[], |_| true);
        assert_eq!(node.query(&query, 10), Err(ResultCode::INDEX_NOT_FOUND));
    }
}

/// Entries are written for values that the record did not have, and ended for those that it has no more.
#[test]
fn a_write_changes_the_entries_of_what_it_changes() {
    let (mut node, digest) = (Node::new(), digest(&mut Rng::new(1)));
    CREATE.iter().for_each(|(_, create)| node.change(&format!("sindex-create:ns=test;{create}")));
    let record = |number, list: &[i64], keys: &[&str]| Record {
        number: Some(number),
        list: list.to_vec(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        ..Record::default()
    };
    let first = record(1, &[1, 2, 3, 4, 5], &["a", "b"]);
    let second = record(2, &[1, 2, 3, 4, 6, 6], &["a", "c", "d"]);
    // One of the number, five of elements, one of the highest, two of keys.
    let steps = [
        (first.clone(), 0, 9),
        (first.clone(), 0, 0),
        (record(2, &[1, 2, 3, 4, 5], &["a", "b"]), 0, 2),
        (record(2, &[5, 4, 3, 2, 1], &["b", "a"]), 0, 0),
        (record(2, &[1, 2, 3, 4, 6, 6], &["a", "b"]), 0, 4),
        (second.clone(), 0, 3),
        // They are to end one day: all are written again, once a second at most.
        (second.clone(), 1_000, 10),
        (second.clone(), 1_000, 0),
        (second.clone(), 0, 10),
    ];
    for (record, ttl_s, changed) in steps {
        node.put(&digest, &record, ttl_s);
        assert_eq!(node.entries_changed, changed, "{record:?}, {ttl_s}");
        let found = node.query(&Query::new("l", INTEGER, (&[0; 8], &10_i64.to_be_bytes()), 1, &[], |_| true), 10);
        assert_eq!(found, Ok(BTreeSet::from([digest])));
    }
    node.delete(&digest);
    assert_eq!(node.entries_changed, 10);
    node.put(&digest, &second, 0);
    assert_eq!(node.entries_changed, 10);
    let long = record(2, &(0..1_000).collect::<Vec<_>>(), &[]);
    node.put(&digest, &long, 0);
    node.put(&digest, &Record { number: Some(3), ..long }, 0);
    assert_eq!(node.entries_changed, 2);
}

/// A list with more elements than a cell may have entries of has its slot scanned.
#[test]
fn records_with_too_many_values_are_found() {
    let (mut node, rng) = (Node::new(), &mut Rng::new(1));
    node.change(&format!("sindex-create:ns=test;{}", CREATE[1].1));
    let digests: Vec<Digest> = (0..8).map(|_| digest(rng)).collect();
    for digest in &digests {
        node.put(digest, &Record { list: (0..3_000).collect(), ..Record::default() }, 0);
    }
    node.backfill("list", &SLOTS);
    for wanted in [0_i64, 2_999] {
        let query = Query::new("l", INTEGER, (&wanted.to_be_bytes(), &wanted.to_be_bytes()), 1, &[], |_| true);
        assert_eq!(node.query(&query, 3).unwrap(), digests.iter().copied().collect(), "{wanted}");
    }
}

/// The slots' entries are looked at, not their rows: what has no entry is not found, once the index is complete.
#[test]
fn a_complete_index_is_used() {
    let (mut node, rng) = (Node::new(), &mut Rng::new(2));
    node.change(&format!("sindex-create:ns=test;{}", CREATE[0].1));
    let digest = digest(rng);
    node.put(&digest, &Record { number: Some(5), ..Record::default() }, 0);
    node.backfill("number", &SLOTS);
    let entries = node.table().indexes["number"].id;
    let query = Query::new("n", INTEGER, (&5_i64.to_be_bytes(), &5_i64.to_be_bytes()), 0, &[], |_| true);
    assert_eq!(node.query(&query, 3).unwrap().len(), 1);
    node.rows.rows.retain(|key, _| key.0 != entries || key.3.len() == 1);
    assert!(node.query(&query, 3).unwrap().is_empty());
}

/// Whatever is on the device, a query gets on: it waits for what is next, and does not ask for it again and again.
#[test]
fn queries_find_what_is_on_the_device() {
    let (mut node, rng) = (Node::new(), &mut Rng::new(3));
    node.change(&format!("sindex-create:ns=test;{}", CREATE[0].1));
    let digests: BTreeSet<Digest> = (0..200).map(|_| digest(rng)).collect();
    for digest in &digests {
        node.put(digest, &Record { number: Some(5), ..Record::default() }, 0);
    }
    node.backfill("number", &SLOTS);
    node.rows.is_cold = true;
    for (low, high) in [(5_i64, 5_i64), (4, 6)] {
        node.rows.warm.borrow_mut().clear();
        let query = Query::new("n", INTEGER, (&low.to_be_bytes(), &high.to_be_bytes()), 0, &[], |_| true);
        let runs = node.runs;
        assert_eq!(node.query(&query, 1_000).unwrap(), digests, "{low} to {high}");
        assert!(node.runs - runs < 1_000, "{} parts", node.runs - runs);
    }
}
