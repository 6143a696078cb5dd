//! Shards in memory, and a node that does nothing but run requests on them.

use super::super::{IsPrimary, Namespace, Need, Options, RecordCoordinator, Shape, Work, part, start};
use super::Ask;
use crate::ResultCode;
use crate::wire::{HEADER_BYTES, Header, Kind, Message, field};
use base::{Now, TableId, Token};
use model::operation::{Context, Direction, Operation, Part, PartitionKey, Position, RowStore, ScannedRow, Step, Stop, Visit, WriteSet};
use model::record_set::RecordSetError;
use model::{Schema, Table};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

type Key = (TableId, Token, Vec<u8>);

pub(super) const NOW_S: u32 = 1_700_000_000;
pub(super) const CORES: u16 = 3;

struct Rows {
    rows: BTreeMap<Key, Vec<u8>>,
    /// Rows that have to be read first, and those that were.
    cold: bool,
    warm: RefCell<BTreeSet<Key>>,
    misses: Cell<u32>,
    /// The newest schema.
    schema: Schema,
}

impl Rows {
    /// Whether a row is in memory; if not, it is the next time.
    fn is_warm(&self, key: &Key) -> bool {
        let is_warm = !self.cold || self.warm.borrow().contains(key);
        if !is_warm {
            self.misses.set(self.misses.get() + 1);
            self.warm.borrow_mut().insert(key.clone());
        }
        is_warm
    }
}

impl RowStore for Rows {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        assert!(clustering.is_empty(), "a record has no clustering key");
        let key = (partition.table, partition.token, partition.bytes.to_vec());
        match self.rows.get(&key) {
            Some(_) if !self.is_warm(&key) => Err(Stop::Miss),
            row => Ok(row.map(Vec::as_slice)),
        }
    }

    fn record_set(&self, id: TableId) -> Option<&Table> {
        let tables = self.schema.keyspaces.values().flat_map(|keyspace| keyspace.tables.values());
        tables.map(|table| &**table).find(|table| table.id == id)
    }

    fn record_set_of_name(&self, keyspace: &str, name: &str) -> Option<&Table> {
        self.schema.table(keyspace, name).map(|table| &**table)
    }

    fn scan(
        &self,
        _: &PartitionKey<'_>,
        _: &[u8],
        _: Option<&[u8]>,
        _: Direction,
        _: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        Ok(())
    }

    fn scan_table(
        &self,
        table: TableId,
        from: Position<'_>,
        until: Token,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        for (key, row) in self.rows.range((table, from.token, from.partition.to_vec())..) {
            if key.0 != table || key.1 > until {
                break;
            }
            if !self.is_warm(key) {
                return Err(Stop::Miss);
            }
            let partition = PartitionKey { table, token: key.1, bytes: &key.2 };
            if visit(ScannedRow { partition, clustering: &[], row }) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// A database with the namespaces `test` and `day`, where records last a day.
pub(super) struct Database {
    pub(super) schema: Schema,
    rows: Rows,
    namespaces: Vec<Namespace>,
    pub(super) now_s: u32,
    pub(super) runs: i64,
    /// The monotonic clock.
    pub(super) clock_us: u64,
    pub(super) declarations: u32,
    pub(super) record_bytes_max: u32,
    pub(super) cores: u16,
    /// Slots of other members: parts about them are made there again.
    pub(super) others: BTreeSet<u16>,
    /// Slots that nobody serves.
    pub(super) unserved: BTreeMap<u16, ResultCode>,
    pub(super) jobs: std::sync::Arc<crate::jobs::Jobs>,
    /// The tables that the client may read, if those are not all.
    pub(super) readable: Option<BTreeSet<&'static str>>,
    /// What functions have logged.
    pub(super) log: Vec<(i64, String)>,
}

/// One message of a reply, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) result: u8,
    pub(super) info3: u8,
    pub(super) generation: u32,
    pub(super) void_time: u32,
    pub(super) index: u32,
    pub(super) digest: Option<[u8; 20]>,
    pub(super) set: Option<Vec<u8>>,
    pub(super) key: Option<Vec<u8>>,
    pub(super) bins: Vec<(String, u8, Vec<u8>)>,
    pub(super) version: Option<u64>,
    pub(super) deadline_s: Option<u32>,
}

impl Said {
    fn of(message: &Message<'_>) -> Self {
        let bins = message.operations.iter();
        Self {
            result: message.result.0,
            info3: message.attributes.info3,
            generation: message.attributes.generation,
            void_time: message.attributes.ttl,
            index: message.number,
            digest: message.fields.digest.copied(),
            set: message.fields.set.map(<[u8]>::to_vec),
            key: message.fields.key.map(<[u8]>::to_vec),
            version: message.fields.transaction.version,
            deadline_s: message.fields.transaction.deadline_s,
            bins: bins.map(|bin| (String::from_utf8_lossy(bin.name).into_owned(), bin.particle, bin.value.to_vec())).collect(),
        }
    }
}

impl Database {
    pub(super) fn new() -> Self {
        let namespace = |name: &str, default_ttl_s| Namespace { name: name.to_owned(), default_ttl_s };
        Self {
            schema: Schema::empty(),
            rows: Rows { rows: BTreeMap::new(), cold: false, warm: RefCell::default(), misses: Cell::new(0), schema: Schema::empty() },
            namespaces: vec![namespace("test", 0), namespace("day", 86_400)],
            now_s: NOW_S,
            runs: 0,
            clock_us: 5,
            declarations: 0,
            record_bytes_max: 1 << 20,
            cores: CORES,
            others: BTreeSet::new(),
            unserved: BTreeMap::new(),
            jobs: std::sync::Arc::default(),
            readable: None,
            log: Vec::new(),
        }
    }

    /// From now on, every row has to be read from the device once.
    pub(super) fn cool_down(&mut self) {
        self.rows.cold = true;
        self.rows.warm.borrow_mut().clear();
    }

    pub(super) fn misses(&self) -> u32 {
        self.rows.misses.get()
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.rows.len()
    }

    fn run(&mut self, operation: &dyn Operation) -> Vec<u8> {
        loop {
            // The clock stands still, or goes back: writes must win nevertheless.
            self.runs += 1;
            let now = Now { monotonic_us: self.clock_us, wall_us: i64::from(self.now_s) * 1_000_000 };
            let context = Context { now, timestamp_us: 1_000 - self.runs, nonce: self.runs as u64 };
            let (mut writes, mut reply) = (WriteSet::default(), b"before".to_vec());
            match operation.run(&context, &self.rows, &mut writes, &mut reply) {
                Err(Stop::Miss) => {
                    assert_eq!(reply, b"before", "nothing is left of a run that stopped");
                    continue;
                }
                outcome => outcome.unwrap(),
            }
            for row in writes.rows() {
                let key = (row.partition.table, row.partition.token, row.partition.bytes.to_vec());
                if let Some(before) = self.rows.rows.get(&key) {
                    let timestamp = |row| {
                        let row = model::row::RowView::new(row);
                        row.deletion().map_or(row.shared().timestamp, |deletion| deletion.timestamp)
                    };
                    let is_kept = |row| crate::record::kept_in(row).is_some();
                    if is_kept(row.row) || is_kept(before) {
                        assert!(timestamp(row.row) >= timestamp(before), "a lock leaves the time of what others see");
                    } else {
                        assert!(timestamp(row.row) > timestamp(before), "timestamps of a record grow");
                    }
                }
                let view = model::row::RowView::new(row.row);
                let ends = match view.liveness() {
                    _ if crate::record::kept_in(row.row).is_some() => None,
                    Some(stamp) => (stamp.ttl_s > 0).then_some(stamp.expires_at_s),
                    None => Some(self.now_s),
                };
                let is_remembered = self.rows.record_set(row.partition.table).is_some_and(Table::remembers_deletions);
                let grace_s = row.purge_after_s.zip(ends).map_or(0, |(purged, ends)| purged - ends);
                assert!(grace_s == 0 || is_remembered && grace_s == model::record_set::REMEMBERED_S, "{grace_s}");
                assert_eq!(row.purge_after_s.map(|ends| ends - grace_s), ends, "the engine may forget a record as soon as it is gone");
                self.rows.warm.borrow_mut().insert(key.clone());
                self.rows.rows.insert(key, row.row.to_vec());
            }
            return reply.split_off(6);
        }
    }

    /// The pieces of a reply.
    pub(super) fn pieces(&mut self, body: &[u8]) -> Vec<Vec<u8>> {
        let message = Message::decode(body).unwrap();
        loop {
            let (schema, jobs) = (self.schema.clone(), std::sync::Arc::clone(&self.jobs));
            let namespaces = self.namespaces.clone();
            let others = self.others.clone();
            let is_primary = |_: &str, slot: u16| !others.contains(&slot);
            let is_primary: Option<&IsPrimary<'_>> = if self.cores == CORES { None } else { Some(&is_primary) };
            let readable = self.readable.clone();
            let may_read = |table: &Table| readable.as_ref().is_some_and(|readable| readable.contains(&*table.name));
            let options = Options {
                namespaces: &namespaces,
                cores: self.cores,
                record_bytes_max: self.record_bytes_max,
                is_primary,
                jobs: Some(&jobs),
                may_read: readable.is_some().then_some(&may_read),
                is_forwarded: false,
            };
            match start(&schema, &message, body, &options) {
                Ok(Work::Record(request)) => {
                    // Sent to another core or not, it is the same.
                    let operation = request.to_operation();
                    return vec![if self.runs % 2 == 0 { self.run(&request) } else { self.run(&*operation) }];
                }
                Ok(Work::Coordinate(coordinator)) => return self.drive(coordinator, &message, &options),
                Ok(Work::Background(coordinator)) => {
                    let said = self.drive(coordinator, &message, &options).concat();
                    assert!(said.is_empty(), "nobody listens");
                    return vec![refusal(&message, ResultCode::OK)];
                }
                Ok(Work::Declare(needs)) => {
                    for need in needs {
                        if let Err(error) = self.declare(&need) {
                            return vec![refusal(&message, super::super::declaration_failure(&error))];
                        }
                    }
                }
                Err(code) => return vec![refusal(&message, code)],
            }
        }
    }

    /// Runs a coordinator to its end.
    fn drive(&mut self, mut coordinator: Box<dyn RecordCoordinator>, message: &Message<'_>, options: &Options<'_>) -> Vec<Vec<u8>> {
        let (mut pieces, mut results) = (Vec::new(), Vec::new());
        loop {
            let mut piece = Vec::new();
            let step = coordinator.step(std::mem::take(&mut results), &mut piece).unwrap();
            self.log.extend(coordinator.take_log());
            pieces.push(piece);
            let parts = match step {
                Step::Run(parts) => parts,
                Step::Wait { until_us: u64::MAX } => {
                    let needs = coordinator.take_needs();
                    assert!(!needs.is_empty(), "it waits for something");
                    needs.iter().for_each(|need| self.declare(need).unwrap());
                    continue;
                }
                // The core's next turn.
                Step::Wait { until_us: 0 } => continue,
                Step::Wait { until_us } => {
                    assert!(until_us > self.clock_us);
                    self.clock_us = until_us;
                    continue;
                }
                Step::Done => return pieces,
            };
            assert!(!parts.is_empty());
            for (number, Part { token, operation, .. }) in parts.into_iter().enumerate() {
                let slot = token.slot().0;
                results.push(if let Some(code) = self.unserved.get(&slot) {
                    match coordinator.part_failed(number, *code) {
                        Some(result) => result,
                        None => return vec![refusal(message, *code)],
                    }
                } else if self.others.contains(&slot) {
                    let mut description = Vec::new();
                    assert!(operation.describe(&mut description));
                    let is_one = Shape::of(message) == Shape::One;
                    let scan = (message.fields.batch.is_none() && !is_one).then_some(message);
                    let options = &Options { may_read: None, ..*options };
                    let again = part(&self.schema, scan, &description, options).unwrap().unwrap();
                    self.run(&*again)
                } else {
                    self.run(&*operation)
                });
            }
        }
    }

    pub(super) fn declare(&mut self, need: &Need) -> Result<(), RecordSetError> {
        self.declarations += 1;
        let uuid = u128::from(self.declarations);
        if let Some(declared) = self.schema.declare_bins(&need.namespace, &need.set, &need.bins, uuid)? {
            self.schema = declared.schema;
        }
        if need.remembers {
            self.schema.remember_deletions(&need.namespace, &need.set);
        }
        self.rows.schema = self.schema.clone();
        Ok(())
    }

    /// Ends transactions that clients have left.
    pub(super) fn sweep(&mut self) {
        let (schema, namespaces, others) = (std::sync::Arc::new(self.schema.clone()), self.namespaces.clone(), self.others.clone());
        let options = Options {
            namespaces: &namespaces,
            cores: self.cores,
            record_bytes_max: self.record_bytes_max,
            is_primary: None,
            jobs: None,
            may_read: None,
            is_forwarded: false,
        };
        let slots = (0..4_096).filter(|slot| !others.contains(slot)).collect();
        let Some(coordinator) = super::super::sweep(&schema, "test", slots, &options) else { return };
        // Parts are batches.
        let body = Ask::about(&[(field::BATCH, &[0; 5])]).encode();
        self.drive(coordinator, &Message::decode(&body).unwrap(), &options);
    }

    /// Drops all rows of a table of `test`.
    pub(super) fn empty(&mut self, name: &str) {
        let table = self.schema.table("test", name).map_or(TableId(0), |table| table.id);
        self.rows.rows.retain(|key, _| key.0 != table);
    }

    /// The rows of a table of `test`, deletions left out.
    pub(super) fn live_rows(&self, name: &str) -> usize {
        let table = self.schema.table("test", name).map_or(TableId(0), |table| table.id);
        let of_table = self.rows.rows.iter().filter(|(key, _)| key.0 == table);
        of_table.filter(|(_, row)| crate::record::kept_in(row).is_some() || model::row::RowView::new(row).liveness().is_some()).count()
    }

    /// All messages of a reply.
    pub(super) fn ask(&mut self, ask: &Ask) -> Vec<Said> {
        let reply = self.pieces(&ask.encode()).concat();
        let (mut rest, mut said) = (reply.as_slice(), Vec::new());
        while let Some(header) = Header::read(rest, 1 << 30).unwrap() {
            assert_eq!(header.kind, Kind::Message);
            assert!(header.body_bytes > 0, "a frame has messages");
            let (mut body, after) = rest[HEADER_BYTES..].split_at(header.body_bytes);
            while !body.is_empty() {
                let (message, next) = Message::read(body).unwrap();
                said.push(Said::of(&message));
                body = next;
            }
            rest = after;
        }
        assert!(rest.is_empty());
        said
    }

    /// The only message of a reply.
    pub(super) fn one(&mut self, ask: &Ask) -> Said {
        let mut said = self.ask(ask);
        assert_eq!(said.len(), 1);
        said.remove(0)
    }
}

fn refusal(message: &Message<'_>, code: ResultCode) -> Vec<u8> {
    let mut out = Vec::new();
    Shape::of(message).write(&mut out, code);
    out
}
