//! A shard over a disk that does not exist, with operations that read and write what they are told to.
#![allow(clippy::unwrap_used)]

mod replication;

use crate::{Access, Durability, KeyspaceNumber, Outcome, Receipt, Serving, SetId, Shard, ShardError, Ticket, stored_tables};
use base::{Now, Rng, Slot, TableId, Token};
use engine::{Config, Engine, Sequence, WriteBatch};
use model::ColumnId;
use model::operation::{Context, Operation, PartitionKey, RowStore, Stop, WriteSet};
use model::row::{Content, RowView, RowWriter, Stamp};
use sim_disk::{Disk, Stable};
use std::collections::{BTreeMap, BTreeSet};

const TABLE: TableId = TableId(5);
const KEYSPACE: KeyspaceNumber = KeyspaceNumber(0);

/// A partition with one row: its slot, and a number in it.
type Place = (u16, u16);

fn token(place: Place) -> Token {
    Token::from_biased(u64::from(place.0) << 52 | u64::from(place.1))
}

fn row(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = RowWriter::new(&mut out, Stamp::at(value as i64), true, None);
    writer.value(ColumnId(1), Stamp::at(value as i64), &[7; 900]);
    writer.value(ColumnId(2), Stamp::at(value as i64), &value.to_be_bytes());
    writer.finish();
    out
}

fn value_of(row: &[u8]) -> u64 {
    let cell = RowView::new(row).cells().last().unwrap();
    let Content::Value(bytes) = cell.content else { panic!("the cell has a value") };
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// Reads places, then writes others; the reply is what was read, 0 for nothing.
#[derive(Clone, Default)]
struct Work {
    reads: Vec<Place>,
    writes: Vec<(Place, u64)>,
    /// Slots whose rows are scanned.
    scan: Option<(u16, u16)>,
}

impl Operation for Work {
    fn run(&self, _: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        for place in &self.reads {
            let bytes = place.1.to_be_bytes();
            let row = store.get(&PartitionKey { table: TABLE, token: token(*place), bytes: &bytes }, &[])?;
            reply.extend(row.map_or(0, value_of).to_be_bytes());
        }
        if let Some((first, last)) = self.scan {
            let from = model::operation::Position { token: token((first, 0)), partition: &[], clustering: &[] };
            let until = Token::from_biased(u64::from(last) << 52 | ((1 << 52) - 1));
            store.scan_table(TABLE, from, until, &mut |row| {
                reply.extend(value_of(row.row).to_be_bytes());
                model::operation::Visit::Continue
            })?;
        }
        for (place, value) in &self.writes {
            let bytes = place.1.to_be_bytes();
            writes.begin(&PartitionKey { table: TABLE, token: token(*place), bytes: &bytes }, &[]).extend(row(*value));
            writes.end(None);
        }
        Ok(())
    }
}

fn read(places: &[Place]) -> Work {
    Work { reads: places.to_vec(), ..Work::default() }
}

fn write(writes: &[(Place, u64)]) -> Work {
    Work { writes: writes.to_vec(), ..Work::default() }
}

fn scan(first: u16, last: u16) -> Work {
    Work { scan: Some((first, last)), ..Work::default() }
}

/// What a client has heard.
type Heard = Result<Vec<u64>, ShardError>;

/// A core of a member.
struct Member {
    shard: Shard,
    disk: Disk,
    now: Now,
    rng: Rng,
    next_ticket: u64,
    heard: BTreeMap<u64, Heard>,
}

impl Member {
    fn new(memory_bytes: usize, durability: Durability) -> Self {
        let config = Config { segment_bytes: 16 << 10, flush_interval_us: 5_000, ..Config::new(7, 0, 0, 160 * (16 << 10), memory_bytes) };
        let stable = Stable::new(config.stable_bytes(3));
        let now = Now { monotonic_us: 1, wall_us: 1_000_000_000 };
        let tables: BTreeMap<TableId, Sequence> = stored_tables([TABLE]).into_iter().map(|table| (table, Sequence(0))).collect();
        let engine = Engine::open(config, Box::new(stable), &tables, now).unwrap();
        let shard = Shard::new(engine, durability, BTreeSet::from([TABLE]), BTreeMap::new(), 1);
        let mut member = Self { shard, disk: Disk::new(), now, rng: Rng::new(3), next_ticket: 0, heard: BTreeMap::new() };
        while !member.shard.is_ready() {
            member.turn();
        }
        member
    }

    /// One that is a primary of slots, each with its set, and has a lease for ever.
    fn primary(memory_bytes: usize, slots: &[(u16, Serving)]) -> Self {
        let mut member = Self::new(memory_bytes, Durability::Memory);
        member.shard.set_replicated([(TABLE, KEYSPACE)].into_iter());
        member.shard.set_lease(u64::MAX);
        slots.iter().for_each(|(slot, serving)| member.shard.serve(KEYSPACE, Slot(*slot), *serving));
        member
    }

    fn disk_step(&mut self) -> bool {
        for (tag, request) in self.shard.take_requests() {
            self.disk.submit(tag, request);
        }
        self.now.monotonic_us += 100;
        let Some(completion) = self.disk.step(&mut self.rng) else { return false };
        self.shard.completed(self.now, completion);
        true
    }

    fn turn(&mut self) {
        while self.disk_step() {}
        self.now.monotonic_us += 1000;
        self.now.wall_us += 1000;
        self.shard.turn(self.now);
        self.hear();
    }

    fn hear(&mut self) {
        while let Some((ticket, outcome)) = self.shard.next_finished() {
            let values = outcome.map(|reply| values(&reply));
            assert!(self.heard.insert(ticket.0[0], values).is_none(), "a client hears once");
        }
    }

    /// Starts an operation. What it is called; its reply is in `heard` once there is one.
    fn start(&mut self, work: Work) -> u64 {
        self.start_with(Access::Primary, work)
    }

    fn start_with(&mut self, access: Access, work: Work) -> u64 {
        self.next_ticket += 1;
        let number = self.next_ticket;
        let ticket = Ticket([number, 0]);
        let context = self.shard.context(self.now);
        let mut reply = Vec::new();
        match self.shard.run_with(&context, access, &work, &mut reply) {
            Outcome::Done => {
                self.heard.insert(number, Ok(values(&reply)));
            }
            Outcome::Unsynced(sequence) => self.shard.hold(ticket, sequence, reply),
            Outcome::Waits => self.shard.park(ticket, Box::new(work)),
            Outcome::Failed(error) => {
                self.heard.insert(number, Err(error));
            }
        }
        self.hear();
        number
    }

    /// Starts an operation and gives what is heard of it at once, or after some turns.
    fn ask(&mut self, work: Work) -> Option<Heard> {
        let number = self.start(work);
        for _ in 0..100 {
            if let Some(heard) = self.heard.remove(&number) {
                return Some(heard);
            }
            self.turn();
        }
        None
    }

    fn committed(&mut self, set: SetId, sequence: Sequence) {
        self.shard.set_committed(set, sequence);
        self.hear();
    }

    /// Writes what another member has sent.
    fn receive(&mut self, rows: &[u8]) -> Sequence {
        let mut batch = WriteBatch::new();
        batch.append_received(rows).unwrap();
        for _ in 0..1000 {
            match self.shard.apply_received(self.now, 9, &batch).unwrap() {
                Receipt::Applied(sequence) => return sequence,
                Receipt::Waits => self.turn(),
            }
        }
        panic!("rows received are written some day");
    }
}

fn values(reply: &[u8]) -> Vec<u64> {
    reply.chunks(8).map(|value| u64::from_be_bytes(value.try_into().unwrap())).collect()
}
