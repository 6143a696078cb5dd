//! A shard over a disk that does not exist, with operations that read and write what they are told to.
#![allow(clippy::unwrap_used)]

mod backup;
mod catch_up;
mod dead_runs;
mod locks;
mod observers;
mod read_ahead;
mod replication;
mod vectors;

use crate::{Access, Durability, KeyspaceNumber, Outcome, Receipt, RowKey, Serving, SetId, Shard, ShardError, Ticket, stored_tables};
use base::{Now, Rng, Slot, TableId, Token};
use engine::{Config, Engine, Sequence, WriteBatch};
use model::ColumnId;
use model::operation::{Basis, Context, Operation, PartitionKey, RowStore, Stop, WriteSet};
use model::row::{Content, Deletion, RowView, RowWriter, Stamp};
use sim_disk::{Disk, Stable};
use std::collections::{BTreeMap, BTreeSet};

const TABLE: TableId = TableId(5);
/// Its rows lie in one partition a slot.
const WIDE: TableId = TableId(8);
/// What observers derive from both.
const ENTRIES: TableId = TableId(11);
/// When deleted rows may be purged.
const PURGE_S: u32 = 2_000;
const TTL_S: u32 = 5;
const KEYSPACE: KeyspaceNumber = KeyspaceNumber(0);

/// A row: its slot, and a number in it. Small ones are partitions with one row, larger ones rows of a wide partition.
type Place = (u16, u16);

const WIDE_FROM: u16 = 1000;

fn key_of(place: Place) -> RowKey {
    let tail = |tail: u16| Token::from_biased(u64::from(place.0) << 52 | u64::from(tail));
    if place.1 < WIDE_FROM {
        RowKey { table: TABLE, token: tail(place.1), partition: place.1.to_be_bytes().to_vec(), clustering: Vec::new() }
    } else {
        RowKey { table: WIDE, token: tail(7), partition: b"wide".to_vec(), clustering: [&[0x10], &place.1.to_be_bytes()[..]].concat() }
    }
}

/// The inverse of [`key_of`].
fn place_of(key: &engine::Key<'_>) -> Place {
    let bytes = if key.table == TABLE { key.partition } else { &key.clustering[1..] };
    (key.token.slot().0, u16::from_be_bytes(bytes.try_into().unwrap()))
}

fn row(value: u64) -> Vec<u8> {
    stamped_row(value, Stamp::at(value as i64))
}

fn stamped_row(value: u64, stamp: Stamp) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = RowWriter::new(&mut out, stamp, true, None);
    writer.value(ColumnId(1), stamp, &[7; 900]);
    writer.value(ColumnId(2), stamp, &value.to_be_bytes());
    writer.finish();
    out
}

/// What is left of a row that was deleted.
fn deleted(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    RowWriter::new(&mut out, Stamp::at(0), false, Some(Deletion { timestamp: value as i64, deleted_at_s: 1 })).finish();
    out
}

/// 0 for a row without cells.
fn value_of(row: &[u8]) -> u64 {
    let Some(cell) = RowView::new(row).cells().last() else { return 0 };
    let Content::Value(bytes) = cell.content else { panic!("the cell has a value") };
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// Reads places, then writes others; the reply is what was read, 0 for nothing.
#[derive(Clone, Default)]
struct Work {
    reads: Vec<Place>,
    writes: Vec<(Place, u64)>,
    removes: Vec<Place>,
    /// Written as a delta if the row is on the device.
    updates: Vec<(Place, u64)>,
    /// Written with a time to live of [`TTL_S`].
    expiring: Vec<(Place, u64)>,
    /// Slots whose rows are scanned.
    scan: Option<(u16, u16)>,
    /// A row that is a lock while its value is not 0.
    waits_for: Option<Place>,
}

impl Operation for Work {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        if let Some(place) = self.waits_for {
            let key = key_of(place);
            let lock = store.get(&partition_of(&key), &key.clustering)?;
            if lock.is_some_and(|lock| value_of(lock) > 0) {
                return Err(Stop::Locked);
            }
        }
        for place in &self.reads {
            let key = key_of(*place);
            let row = store.get(&partition_of(&key), &key.clustering)?;
            reply.extend(row.map_or(0, value_of).to_be_bytes());
        }
        if let Some((first, last)) = self.scan {
            let from = model::operation::Position { token: key_of((first, 0)).token, partition: &[], clustering: &[] };
            let until = Token::from_biased(u64::from(last) << 52 | ((1 << 52) - 1));
            store.scan_table(TABLE, from, until, &mut |row| {
                reply.extend(value_of(row.row).to_be_bytes());
                model::operation::Visit::Continue
            })?;
        }
        for (place, value) in &self.writes {
            let key = key_of(*place);
            writes.begin(&partition_of(&key), &key.clustering).extend(row(*value));
            writes.end(None);
        }
        for place in &self.removes {
            let key = key_of(*place);
            writes.begin(&partition_of(&key), &key.clustering).extend(deleted(context.timestamp_us as u64));
            writes.end(Some(PURGE_S));
        }
        for (place, value) in &self.expiring {
            let (key, expires_at_s) = (key_of(*place), context.now_s() + TTL_S);
            let stamp = Stamp { timestamp: *value as i64, ttl_s: TTL_S, expires_at_s };
            writes.begin(&partition_of(&key), &key.clustering).extend(stamped_row(*value, stamp));
            writes.end(Some(expires_at_s + TTL_S));
        }
        for (place, value) in &self.updates {
            let key = key_of(*place);
            let partition = partition_of(&key);
            let basis = store.basis(&partition)?;
            let is_delta = matches!(basis, Basis::Delta(_));
            let (Basis::Row(before) | Basis::Delta(before)) = basis;
            let merged = before.map_or_else(
                || row(*value),
                |before| {
                    let mut merged = Vec::new();
                    crate::store::merge_delta(before, &row(*value), 0, &mut merged);
                    merged
                },
            );
            writes.begin(&partition, &[]).extend(merged);
            if is_delta { writes.end_delta() } else { writes.end(None) }
        }
        Ok(())
    }
}

fn partition_of(key: &RowKey) -> PartitionKey<'_> {
    PartitionKey { table: key.table, token: key.token, bytes: &key.partition }
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
    stable: Stable,
    config: Config,
    now: Now,
    rng: Rng,
    next_ticket: u64,
    heard: BTreeMap<u64, Heard>,
    /// Truncations whose marks are stored.
    truncations: BTreeMap<TableId, Sequence>,
}

impl Member {
    fn new(memory_bytes: usize, durability: Durability) -> Self {
        let config = Config { segment_bytes: 16 << 10, flush_interval_us: 5_000, ..Config::new(7, 0, 0, 160 * (16 << 10), memory_bytes) };
        let stable = Stable::new(config.stable_bytes(3));
        let now = Now { monotonic_us: 1, wall_us: 1_000_000_000 };
        Self::over(config, Disk::new(), stable, now, durability, BTreeMap::new())
    }

    fn over(
        mut config: Config,
        disk: Disk,
        stable: Stable,
        now: Now,
        durability: Durability,
        truncations: BTreeMap<TableId, Sequence>,
    ) -> Self {
        config.file_bytes = disk.len();
        let tables = BTreeSet::from([TABLE, WIDE, ENTRIES]);
        let truncated = |table| truncations.get(&table).copied().unwrap_or_default();
        let stored: BTreeMap<TableId, Sequence> =
            stored_tables(tables.clone()).into_iter().map(|table| (table, truncated(table))).collect();
        let engine = Engine::open(config.clone(), Box::new(stable.clone()), &stored, now).unwrap();
        let shard = Shard::new(engine, durability, tables, truncations.clone(), 1);
        let (rng, heard) = (Rng::new(3), BTreeMap::new());
        let mut member = Self { shard, disk, stable, config, now, rng, next_ticket: 0, heard, truncations };
        while !member.shard.is_ready() {
            member.turn();
        }
        member
    }

    /// The process dies and comes back.
    fn restart(self) -> Self {
        let Self { shard, mut disk, stable, config, now, mut rng, truncations, .. } = self;
        drop(shard);
        disk.lose_process(&mut rng);
        Self::over(config, disk, stable, now, Durability::Memory, truncations)
    }

    /// The machine loses power and comes back.
    fn restart_without_power(self) -> Self {
        let Self { shard, mut disk, stable, config, now, mut rng, truncations, .. } = self;
        drop(shard);
        disk.lose_power(&mut rng);
        stable.lose_power(&mut rng);
        Self::over(config, disk, stable, now, Durability::Device, truncations)
    }

    /// One that is a primary of slots, each with its set, and has a lease for ever.
    fn primary(memory_bytes: usize, slots: &[(u16, Serving)]) -> Self {
        let mut member = Self::new(memory_bytes, Durability::Memory);
        member.shard.set_replicated([(WIDE, KEYSPACE), (TABLE, KEYSPACE)].into_iter());
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
