//! One engine over a fake disk, with the loop that a shard would run around it.

use crate::{CachePolicy, Config, Engine, Key, Kind, ReadError, Row, Sequence, TablePosition, TableScan, WriteBatch, WriteError};
use base::{Rng, TableId, Token};
use io::{DiskRequest, Now};
use sim_disk::{Disk, Stable};
use std::collections::BTreeMap;

pub(super) const TABLE: TableId = TableId(1);

/// An engine, its disk and its stable memory.
pub(super) struct Shard {
    pub(super) engine: Engine,
    pub(super) disk: Disk,
    pub(super) stable: Stable,
    pub(super) config: Config,
    pub(super) now: Now,
    pub(super) rng: Rng,
    pub(super) tables: BTreeMap<TableId, Sequence>,
    /// Reads that the engine has asked the disk for.
    pub(super) reads: u64,
    waiter: u64,
}

/// A store of its own with small segments.
pub(super) fn config(segment_bytes: u32, capacity_segments: u64, memory_bytes: usize) -> Config {
    let capacity = capacity_segments * u64::from(segment_bytes);
    Config { segment_bytes, flush_interval_us: 10_000, ..Config::new(0x0123_4567_89AB_CDEF, 3, 0, capacity, memory_bytes) }
}

impl Shard {
    pub(super) fn new(config: Config) -> Self {
        let stable = Stable::new(config.stable_bytes(3));
        Self::over(config, Disk::new(), stable)
    }

    /// Opens an engine and waits until it is ready or cannot become so.
    pub(super) fn over(config: Config, disk: Disk, stable: Stable) -> Self {
        Self::over_tables(config, disk, stable, BTreeMap::from([(TABLE, Sequence(0))]))
    }

    /// The same with other tables.
    pub(super) fn over_tables(mut config: Config, disk: Disk, stable: Stable, tables: BTreeMap<TableId, Sequence>) -> Self {
        config.file_bytes = disk.len();
        let now = Now { monotonic_us: 1, wall_us: 1_000_000_000 };
        let engine = Engine::open(config.clone(), Box::new(stable.clone()), &tables, now).unwrap();
        let mut shard = Self { engine, disk, stable, config, now, rng: Rng::new(5), tables, reads: 0, waiter: 0 };
        for _ in 0..100_000 {
            if shard.engine.is_ready() || shard.engine.recovery_error().is_some() {
                break;
            }
            shard.disk_step();
        }
        shard
    }

    /// The process dies and comes back.
    pub(super) fn restart(self) -> Self {
        let Self { engine, mut disk, stable, config, mut rng, tables, now, .. } = self;
        drop(engine);
        disk.lose_process(&mut rng);
        let mut shard = Self::over(config, disk, stable);
        shard.now = Now { monotonic_us: now.monotonic_us + 1, wall_us: now.wall_us };
        shard.tables = tables;
        shard
    }

    pub(super) fn disk_step(&mut self) -> bool {
        for (tag, request) in self.engine.take_requests() {
            self.reads += u64::from(matches!(request, DiskRequest::Read { .. }));
            self.disk.submit(tag, request);
        }
        self.now.monotonic_us += 100;
        let Some(completion) = self.disk.step(&mut self.rng) else { return false };
        self.engine.complete(self.now, completion);
        true
    }

    pub(super) fn turn(&mut self) {
        while self.disk_step() {}
        self.now.monotonic_us += 1000;
        self.engine.tick(self.now);
    }

    /// Lets background work come to rest.
    pub(super) fn settle(&mut self) {
        for _ in 0..200 {
            self.turn();
        }
    }

    pub(super) fn shut_down(&mut self) {
        self.engine.shutdown();
        for _ in 0..1000 {
            if self.engine.is_clean() {
                return;
            }
            self.turn();
        }
        panic!("shutdown does not end");
    }

    /// Writes as a shard would: fetches what is missing, waits when it is told to.
    pub(super) fn write(&mut self, batch: &WriteBatch) -> Result<Sequence, WriteError> {
        self.waiter += 1;
        let waiter = self.waiter;
        let mut result = Err(WriteError::Busy);
        for _ in 0..10_000 {
            result = self.engine.apply(self.now, batch);
            match &result {
                Err(WriteError::Miss(miss)) => {
                    let miss = miss.clone();
                    self.engine.fetch(&miss, waiter);
                    self.wait_for(waiter);
                }
                Err(WriteError::Busy) => self.turn(),
                _ => break,
            }
        }
        self.engine.finish(waiter);
        result
    }

    pub(super) fn put(&mut self, number: u64, row: &[u8]) -> Result<Sequence, WriteError> {
        self.put_as(Kind::Live, number, row)
    }

    pub(super) fn put_as(&mut self, kind: Kind, number: u64, row: &[u8]) -> Result<Sequence, WriteError> {
        let mut batch = WriteBatch::new();
        batch.put(&key(&number.to_be_bytes(), number), kind, row)?;
        self.write(&batch)
    }

    pub(super) fn remove(&mut self, number: u64) -> Result<Sequence, WriteError> {
        let mut batch = WriteBatch::new();
        batch.remove(&key(&number.to_be_bytes(), number), self.now.wall_s() - 1)?;
        self.write(&batch)
    }

    fn wait_for(&mut self, waiter: u64) {
        let mut ready = Vec::new();
        for _ in 0..10_000 {
            self.engine.take_ready(&mut ready);
            if ready.contains(&waiter) {
                return;
            }
            self.disk_step();
        }
        panic!("a fetch does not end");
    }

    /// Runs a read until it has an answer.
    pub(super) fn read<T>(&mut self, operation: impl Fn(&Engine) -> Result<T, ReadError>) -> Result<T, ReadError> {
        self.waiter += 1;
        let waiter = self.waiter;
        for _ in 0..10_000 {
            match operation(&self.engine) {
                Err(ReadError::Miss(miss)) => {
                    self.engine.fetch(&miss, waiter);
                    self.wait_for(waiter);
                }
                other => {
                    self.engine.finish(waiter);
                    return other;
                }
            }
        }
        panic!("an operation misses for ever");
    }

    pub(super) fn get(&mut self, number: u64) -> Result<Option<Vec<u8>>, ReadError> {
        let partition = number.to_be_bytes();
        self.read(|engine| Ok(live(engine.get(&key(&partition, number), CachePolicy::Keep)?).map(<[u8]>::to_vec)))
    }

    /// All rows of the table in order, without tombstones.
    pub(super) fn all(&mut self) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        self.read(|engine| {
            let from = TablePosition::Token(Token(i64::MIN));
            let scan = TableScan { table: TABLE, from, to: Token(i64::MAX), policy: CachePolicy::Bypass, read_ahead: 256 };
            let mut cursor = engine.scan_table(&scan)?;
            let mut rows = Vec::new();
            while let Some(found) = cursor.next()? {
                if let Some(bytes) = live(Some(found.row)) {
                    rows.push((found.partition.to_vec(), found.clustering.to_vec(), bytes.to_vec()));
                }
            }
            Ok(rows)
        })
        .unwrap()
    }
}

fn live(row: Option<Row<'_>>) -> Option<&[u8]> {
    row.filter(|row| !matches!(row.kind, Kind::Tombstone { .. })).map(|row| row.bytes)
}

/// A single-row partition whose token is spread over the ring.
pub(super) fn key(partition: &[u8], number: u64) -> Key<'_> {
    let token = Token(crate::format::record::mix(number) as i64);
    Key { table: TABLE, token, partition, clustering: &[] }
}
