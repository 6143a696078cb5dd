//! The model test: seeded random work on an engine over a fake disk, compared with an ordered map at every step.
//!
//! The model keeps every version of a key that may still be seen. After the death of the process the last one has to be there; after the
//! loss of power one that is at least as new as the last durable one; batches are there as a whole or not at all.

use super::Planted;
use crate::format::segment_header::{HeaderBlock, HeaderState, SegmentHeader};
use crate::location::{Location, Target};
use crate::{
    CachePolicy, Config, Direction, Engine, Key, Kind, LogKey, Miss, PartitionScan, ReadError, Sequence, TablePosition, TableScan,
    WriteBatch, WriteError,
};
use base::{BLOCK_BYTES, Rng, TableId, Token};
use io::Now;
use sim_disk::{Disk, Stable};
use std::collections::BTreeMap;
use std::ops::Bound;

pub(super) type RowKey = (u32, i64, Vec<u8>, Vec<u8>);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Version {
    pub(super) sequence: u64,
    kind: Kind,
    row: Vec<u8>,
    batch: u64,
    /// It, or another one like it, was purged before it could be seen, and may be back after the next crash.
    pub(super) purged: bool,
}

/// What a seed varies.
#[derive(Clone, Copy, Debug)]
struct Setup {
    segment_bytes: u32,
    capacity_segments: u64,
    memory_bytes: usize,
    partitions: u64,
    row_bytes: u64,
    mirrors: usize,
    checkpoint_bytes: u64,
    leaf_rows: usize,
    page_rows: usize,
    page_bytes: usize,
    page_row_bytes: usize,
    encrypted: bool,
    /// Most of the time every row that is written expires soon.
    expiring: bool,
}

pub(super) struct World {
    seed: u64,
    pub(super) rng: Rng,
    setup: Setup,
    disk: Disk,
    stable: Stable,
    engine: Option<Engine>,
    now: Now,
    pub(super) versions: BTreeMap<RowKey, Vec<Version>>,
    /// Durable truncation marks of existing tables.
    pub(super) tables: BTreeMap<TableId, Sequence>,
    /// Marks that are not durable yet.
    pending: BTreeMap<TableId, Sequence>,
    batches: u64,
    waiter: u64,
    next_table: u32,
    /// Nothing that is newer may be purged.
    pub(super) floor: Option<Sequence>,
    planted: Option<Planted>,
    fulls: u64,
    kills: u64,
    outages: u64,
    /// Starts of the machine.
    boot: u64,
    /// Starts from a checkpoint.
    warm_starts: u64,
    /// Checkpoints that were damaged.
    spoilt: u64,
    /// The most pages and rows in them that were there at a time.
    pages: u64,
    rows_in_pages: u64,
    /// Segments that were freed unread.
    expired: u64,
    /// Segments of moved records.
    pub(super) cold: u64,
    trace: Vec<String>,
}

impl World {
    pub(super) fn new(seed: u64, planted: Option<Planted>) -> Self {
        let mut rng = Rng::new(seed);
        let segment_bytes = [16 << 10, 32 << 10, 64 << 10][rng.below(3) as usize];
        let setup = Setup {
            segment_bytes,
            capacity_segments: 12 + rng.below(60),
            memory_bytes: segment_bytes as usize * [1, 10, 16, 200][rng.below(4) as usize] + [0, 1 << 20][rng.below(2) as usize],
            partitions: [5, 10, 60, 400][rng.below(4) as usize],
            row_bytes: [40, 400, 2500][rng.below(3) as usize],
            mirrors: 2 + rng.below(3) as usize,
            checkpoint_bytes: [0, 64 << 10, 200 << 10, u64::MAX][rng.below(4) as usize],
            leaf_rows: [3, 8, 30][rng.below(3) as usize],
            page_rows: [0, 4, 8, 12, 40][rng.below(5) as usize],
            page_bytes: [600, 4000][rng.below(2) as usize],
            page_row_bytes: [300, 4000][rng.below(2) as usize],
            encrypted: seed % 3 == 1,
            expiring: seed % 5 > 2,
        };
        // Segments in which everything expires come soon if rows are large.
        let setup = Setup { row_bytes: setup.row_bytes.max(if setup.expiring { 400 } else { 0 }), ..setup };
        // Moved records get segments of their own where there is room for that, and something to reclaim.
        let roomy = Setup {
            segment_bytes: 16 << 10,
            capacity_segments: 64 + setup.capacity_segments / 4,
            memory_bytes: 2 << 20,
            partitions: 10,
            row_bytes: 2500,
            mirrors: setup.mirrors.max(3),
            page_rows: setup.page_rows.min(4),
            ..setup
        };
        let setup = if seed.is_multiple_of(5) { roomy } else { setup };
        let stable = Stable::new(setup.segment_bytes as usize * setup.mirrors);
        let mut world = Self {
            seed,
            rng,
            setup,
            disk: Disk::new(),
            stable,
            engine: None,
            now: Now { monotonic_us: 1, wall_us: 1_000_000_000 },
            versions: BTreeMap::new(),
            tables: BTreeMap::from([(TableId(1), Sequence(0)), (TableId(2), Sequence(0))]),
            pending: BTreeMap::new(),
            batches: 0,
            waiter: 0,
            next_table: 3,
            floor: None,
            planted,
            fulls: 0,
            kills: 0,
            outages: 0,
            boot: 1,
            warm_starts: 0,
            spoilt: 0,
            pages: 0,
            rows_in_pages: 0,
            expired: 0,
            cold: 0,
            trace: Vec::new(),
        };
        world.open();
        world
    }

    /// For the message of a failure.
    fn note(&mut self, what: &str) {
        let engine = self.engine.as_ref().unwrap();
        self.trace.push(format!("{what} at sequence {} (durable {})", engine.log.last_sequence().0, engine.durable_sequence().0));
    }

    pub(super) fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().unwrap()
    }

    /// Starts an engine that recovers what is there.
    fn start(&mut self) {
        let config = Config {
            segment_bytes: self.setup.segment_bytes,
            flush_interval_us: 10_000,
            checkpoint_bytes_min: self.setup.checkpoint_bytes,
            leaf_rows_max: self.setup.leaf_rows,
            page_rows_max: self.setup.page_rows,
            page_bytes_max: self.setup.page_bytes,
            page_row_bytes_max: self.setup.page_row_bytes,
            boot: self.boot,
            log_key: self.setup.encrypted.then(|| LogKey::new([7; 32])),
            ..Config::new(
                99,
                0,
                self.disk.len(),
                self.setup.capacity_segments * u64::from(self.setup.segment_bytes),
                self.setup.memory_bytes,
            )
        };
        self.now.wall_us += 1000;
        let mut engine = Engine::open(config, Box::new(self.stable.clone()), &self.tables, self.now).unwrap();
        engine.planted = self.planted;
        self.engine = Some(engine);
    }

    /// Starts an engine and stops it in the middle of recovery.
    fn start_and_stop(&mut self) {
        self.start();
        for _ in 0..self.rng.below(60) {
            self.disk_step();
        }
        self.engine = None;
    }

    fn open(&mut self) {
        self.start();
        for _ in 0..100_000 {
            if self.engine().is_ready() {
                let progress = self.engine().recovery_progress();
                self.warm_starts += u64::from(progress.checkpoint_rows.is_some());
                self.trace.push(format!("{progress:?}"));
                if let Some(floor) = self.floor {
                    self.engine().set_purge_floor(Some(floor));
                    self.engine().restore_purged(floor);
                }
                self.check_index();
                return;
            }
            self.disk_step();
        }
        panic!("recovery does not end: {:?}", self.engine().recovery_error());
    }

    /// Now and then a bit of a checkpoint turns wrong: that costs time at the next start, and no row.
    fn spoil_checkpoint(&mut self) {
        let segment_bytes = self.setup.segment_bytes as usize;
        let of_checkpoint = |bytes: &&[u8]| {
            let block = SegmentHeader::read_block(&bytes[..BLOCK_BYTES]);
            matches!(block, HeaderBlock::Valid(header) if header.state == HeaderState::Checkpoint)
        };
        let segments = self.disk.bytes().chunks(segment_bytes).enumerate();
        let parts: Vec<usize> = segments.filter(|(_, bytes)| of_checkpoint(bytes)).map(|(segment, _)| segment).collect();
        if parts.is_empty() || self.rng.below(3) > 0 {
            return;
        }
        self.spoilt += 1;
        let segment = parts[self.rng.below(parts.len() as u64) as usize];
        // Of the header block only the first copies: two bad sectors would cost the segment.
        let offset = if self.rng.below(4) == 0 { self.rng.below(128) } else { 4096 + self.rng.below(2000) };
        self.disk.damage(segment * segment_bytes + offset as usize, 1 << self.rng.below(8));
    }

    /// The accounts of the index and of the segments agree with the rows that are there.
    fn check_index(&mut self) {
        let engine = self.engine.as_ref().unwrap();
        let (mut rows, mut live) = (0, 0);
        for table in engine.index.table_ids() {
            let table = engine.index.table(table).unwrap();
            let mut at = 0;
            while let Some((number, slot)) = table.next_slot(at) {
                let mut position = 0;
                while let Some((cell, entry)) = slot.next_from(position) {
                    let mut count = |location: Location, more: u32| {
                        rows += u64::from(more);
                        live += engine.memory.device_location(location).padded() as u64;
                    };
                    match entry.location.target() {
                        Target::Partition(number) => {
                            let rows = &engine.index.partitions.get(number).rows;
                            rows.range(Bound::Unbounded, Bound::Unbounded).for_each(|(_, location)| count(location, 1));
                            let pages = rows.page_range(Bound::Unbounded, Bound::Unbounded);
                            pages.for_each(|(_, page)| count(page.location, page.rows));
                        }
                        _ => count(entry.location, 1),
                    }
                    position = cell + 1;
                }
                at = number + 1;
            }
        }
        assert_eq!((engine.stats().rows, engine.stats().live_bytes), (rows, live), "seed {}: {:?}", self.seed, self.trace);
    }

    /// Hands requests over and lets the disk do one of them.
    fn disk_step(&mut self) -> bool {
        let engine = self.engine.as_mut().unwrap();
        for (tag, request) in engine.take_requests() {
            self.disk.submit(tag, request);
        }
        self.now.monotonic_us += self.rng.below(300);
        let Some(completion) = self.disk.step(&mut self.rng) else { return false };
        engine.complete(self.now, completion);
        true
    }

    pub(super) fn turn(&mut self) {
        let steps = self.rng.below(4);
        for _ in 0..steps {
            self.disk_step();
        }
        self.now.monotonic_us += self.rng.below(3000);
        self.now.wall_us += 2000;
        let now = self.now;
        self.engine().tick(now);
    }

    fn fetch(&mut self, miss: &Miss, waiter: u64) {
        self.engine().fetch(miss, waiter);
        let mut ready = Vec::new();
        for _ in 0..10_000 {
            self.engine().take_ready(&mut ready);
            if ready.contains(&waiter) {
                return;
            }
            if self.rng.below(8) == 0 {
                self.turn();
            } else {
                self.disk_step();
            }
        }
        panic!("a fetch does not end");
    }

    /// Runs a read until it finds everything in memory.
    pub(super) fn read<T>(&mut self, operation: impl Fn(&Engine) -> Result<T, ReadError>) -> T {
        self.waiter += 1;
        let waiter = self.waiter;
        for _ in 0..3000 {
            match operation(self.engine()) {
                Ok(value) => {
                    self.engine().finish(waiter);
                    return value;
                }
                Err(ReadError::Miss(miss)) => self.fetch(&miss, waiter),
                Err(error) => panic!("seed {}: {error}", self.seed),
            }
        }
        panic!("seed {}: an operation misses for ever", self.seed);
    }

    fn random_key(&mut self) -> RowKey {
        let table = *self.tables.keys().nth(self.rng.below(self.tables.len() as u64) as usize).unwrap();
        let number = self.rng.below(self.setup.partitions);
        // Some partitions share a token; some have many rows.
        let token =
            if number.is_multiple_of(7) { (number % 3) as i64 } else { (number as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) };
        let wide = number % 3 == 1;
        // Half of the rows are near a place that moves on, so that others come to rest.
        let place = if self.rng.below(2) == 0 { (self.batches / 8 + self.rng.below(12)) % 200 } else { self.rng.below(200) };
        let clustering = if wide && self.rng.below(10) > 0 { place.to_be_bytes()[6..].to_vec() } else { Vec::new() };
        (table.0, token, format!("partition {number}").into_bytes(), clustering)
    }

    fn mark(&self, table: u32) -> u64 {
        let mark = self.tables.get(&TableId(table)).map_or(u64::MAX, |mark| mark.0);
        mark.max(self.pending.get(&TableId(table)).map_or(0, |mark| mark.0))
    }

    pub(super) fn expected(&self, key: &RowKey) -> Option<&Version> {
        self.versions.get(key)?.last().filter(|version| version.sequence >= self.mark(key.0))
    }

    /// Whether the row may have been purged by now.
    pub(super) fn may_be_gone(&self, version: Option<&Version>) -> bool {
        version.is_none_or(|version| version.kind.purge_after_s().is_some_and(|after| after < self.now.wall_s()))
    }

    fn assert_agrees(&self, key: &RowKey, found: Option<&Version>) {
        let expected = self.expected(key);
        let same = match (found, expected) {
            (Some(found), Some(expected)) => {
                found.sequence == expected.sequence && found.kind == expected.kind && found.row == expected.row
            }
            (None, expected) => self.may_be_gone(expected),
            (Some(_), None) => false,
        };
        assert!(
            same,
            "seed {}: {key:?} is {:?}, expected {:?}",
            self.seed,
            found.map(|version| (version.sequence, version.kind)),
            (expected.map(|version| (version.sequence, version.kind)), &self.trace)
        );
    }

    pub(super) fn get(&mut self, key: &RowKey) -> Option<Version> {
        let (table, token, partition, clustering) = key.clone();
        self.read(|engine| {
            let key = Key { table: TableId(table), token: Token(token), partition: &partition, clustering: &clustering };
            let row = engine.get(&key, CachePolicy::Keep)?;
            Ok(row.map(|row| Version { sequence: row.sequence.0, kind: row.kind, row: row.bytes.to_vec(), batch: 0, purged: false }))
        })
    }

    pub(super) fn check_random_get(&mut self) {
        let key = self.random_key();
        let found = self.get(&key);
        self.assert_agrees(&key, found.as_ref());
    }

    fn random_kind(&mut self) -> Kind {
        let purge_after_s = self.now.wall_s() + self.rng.below(3) as i64 - 1;
        if self.setup.expiring && self.batches % 500 > 100 {
            return Kind::Expiring { purge_after_s };
        }
        match self.rng.below(8) {
            0 => Kind::Tombstone { purge_after_s },
            1 => Kind::Expiring { purge_after_s },
            _ => Kind::Live,
        }
    }

    pub(super) fn write(&mut self, only_tombstones: bool) {
        let rows = if self.rng.below(3) == 0 { 2 + self.rng.below(6) } else { 1 };
        self.batches += 1;
        let mut batch = WriteBatch::new();
        let mut written = Vec::new();
        for _ in 0..rows {
            let key = self.random_key();
            let kind = if only_tombstones { Kind::Tombstone { purge_after_s: self.now.wall_s() } } else { self.random_kind() };
            let mut row = vec![0; if only_tombstones { 0 } else { self.rng.below(self.setup.row_bytes) as usize }];
            self.rng.fill(&mut row);
            let named = Key { table: TableId(key.0), token: Token(key.1), partition: &key.2, clustering: &key.3 };
            batch.put(&named, kind, &row).unwrap();
            written.push((key, Version { sequence: 0, kind, row, batch: self.batches, purged: false }));
        }
        self.waiter += 1;
        let waiter = self.waiter;
        let mut tries = 0u32;
        // A process that died within a write to the stable memory writes nothing more to the device either.
        while tries < 20_000 && !self.stable.has_crashed() {
            tries += 1;
            let now = self.now;
            match self.engine().apply(now, &batch) {
                Ok(last) => {
                    let first = last.0 + 1 - written.len() as u64;
                    for (number, (key, mut version)) in written.into_iter().enumerate() {
                        version.sequence = first + number as u64;
                        self.versions.entry(key).or_default().push(version);
                    }
                    break;
                }
                Err(WriteError::Miss(miss)) => self.fetch(&miss, waiter),
                Err(WriteError::Busy) => {
                    self.turn();
                    if tries.is_multiple_of(500) {
                        // Space waits for the truncations that the caller has not made durable.
                        self.persist_truncations();
                    }
                }
                Err(WriteError::Full { .. }) => {
                    self.fulls += 1;
                    break;
                }
                Err(WriteError::IndexFull { .. } | WriteError::TooLarge { .. }) => break,
                Err(error) => panic!("seed {}: {error}", self.seed),
            }
        }
        let engine = self.engine.as_mut().unwrap();
        engine.finish(waiter);
        assert!(tries < 20_000, "seed {}: busy for ever: {:?} {:?}", self.seed, engine.stats(), self.setup);
    }

    fn check_partition_scan(&mut self) {
        let (table, token, partition, _) = self.random_key();
        let bound = |rng: &mut Rng| rng.below(200).to_be_bytes()[6..].to_vec();
        let (low, high) = (bound(&mut self.rng), bound(&mut self.rng));
        let from = [Bound::Unbounded, Bound::Included(&low[..]), Bound::Excluded(&low[..])][self.rng.below(3) as usize];
        let to = [Bound::Unbounded, Bound::Included(&high[..]), Bound::Excluded(&high[..])][self.rng.below(3) as usize];
        let direction = if self.rng.below(2) == 0 { Direction::Forward } else { Direction::Backward };
        let read_ahead = 1 + self.rng.below(64) as usize;
        let scan = PartitionScan {
            table: TableId(table),
            token: Token(token),
            partition: &partition,
            from,
            to,
            direction,
            policy: CachePolicy::Bypass,
            read_ahead,
        };
        let found = self.read(|engine| {
            let mut cursor = engine.scan_partition(&scan)?;
            let mut found = Vec::new();
            while let Some((clustering, row)) = cursor.next()? {
                let version = Version { sequence: row.sequence.0, kind: row.kind, row: row.bytes.to_vec(), batch: 0, purged: false };
                found.push(((table, token, scan.partition.to_vec(), clustering.to_vec()), version));
            }
            Ok(found)
        });
        let mut keys: Vec<&RowKey> = found.iter().map(|(key, _)| key).collect();
        if direction == Direction::Backward {
            keys.reverse();
        }
        assert!(keys.is_sorted_by(|left, right| left < right), "seed {}: rows out of order", self.seed);
        let inside = |key: &[u8]| {
            (match from {
                Bound::Unbounded => true,
                Bound::Included(from) => key >= from,
                Bound::Excluded(from) => key > from,
            }) && (match to {
                Bound::Unbounded => true,
                Bound::Included(to) => key <= to,
                Bound::Excluded(to) => key < to,
            })
        };
        if (from, to) == (Bound::Unbounded, Bound::Unbounded) {
            let rows = self.read(|engine| engine.partition_rows(TableId(table), Token(token), &partition, CachePolicy::Bypass));
            // Between the two reads rows may have been purged.
            assert!(rows <= found.len(), "seed {}: {rows} rows counted, {} read", self.seed, found.len());
            let lasting = found.iter().filter(|(_, version)| version.kind == Kind::Live).count();
            assert!(rows >= lasting, "seed {}: {rows} rows counted, {lasting} are live", self.seed);
        }
        let found: BTreeMap<RowKey, Version> = found.into_iter().collect();
        let of_partition = |key: &&RowKey| key.0 == table && key.1 == token && key.2 == partition && inside(&key.3);
        for key in self.versions.keys().filter(of_partition) {
            self.assert_agrees(key, found.get(key));
        }
        for (key, version) in &found {
            self.assert_agrees(key, Some(version));
        }
    }

    /// Reads a whole table in pages, with work between them that does not change rows.
    fn check_table_scan(&mut self) {
        let table = *self.tables.keys().nth(self.rng.below(self.tables.len() as u64) as usize).unwrap();
        let mut found: Vec<(RowKey, Version)> = Vec::new();
        loop {
            let last = found.last().map(|(key, _)| key.clone());
            let page = 1 + self.rng.below(100) as usize;
            let read_ahead = 1 + self.rng.below(32) as usize;
            let rows = self.read(|engine| {
                let from = match &last {
                    None => TablePosition::Token(Token(i64::MIN)),
                    Some((_, token, partition, clustering)) => TablePosition::After { token: Token(*token), partition, clustering },
                };
                let mut cursor =
                    engine.scan_table(&TableScan { table, from, to: Token(i64::MAX), policy: CachePolicy::Bypass, read_ahead })?;
                let mut rows = Vec::new();
                while rows.len() < page
                    && let Some(row) = cursor.next()?
                {
                    let key = (table.0, row.token.0, row.partition.to_vec(), row.clustering.to_vec());
                    rows.push((
                        key,
                        Version { sequence: row.row.sequence.0, kind: row.row.kind, row: row.row.bytes.to_vec(), batch: 0, purged: false },
                    ));
                }
                Ok(rows)
            });
            let end = rows.len() < page;
            found.extend(rows);
            if end {
                break;
            }
            self.turn();
        }
        assert!(found.is_sorted_by(|(left, _), (right, _)| left < right), "seed {}: table out of order", self.seed);
        let found: BTreeMap<RowKey, Version> = found.into_iter().collect();
        for key in self.versions.keys().filter(|key| key.0 == table.0) {
            self.assert_agrees(key, found.get(key));
        }
        for (key, version) in &found {
            self.assert_agrees(key, Some(version));
        }
    }

    pub(super) fn truncate(&mut self) {
        let table = *self.tables.keys().nth(self.rng.below(self.tables.len() as u64) as usize).unwrap();
        if self.rng.below(4) == 0 {
            // A dropped table: durable first, then told to the engine. Its id is never used again.
            self.tables.remove(&table);
            self.pending.remove(&table);
            self.engine().drop_table(table);
            self.versions.retain(|key, _| key.0 != table.0);
            let new = TableId(self.next_table);
            self.next_table += 1;
            self.tables.insert(new, Sequence(0));
            self.engine().create_table(new);
            return;
        }
        let mark = self.engine().truncate(table);
        self.pending.insert(table, mark);
        if self.rng.below(2) == 0 {
            self.persist_truncations();
        }
    }

    pub(super) fn persist_truncations(&mut self) {
        for (table, mark) in std::mem::take(&mut self.pending) {
            self.tables.insert(table, mark);
            self.engine().truncation_persisted(table);
            for (_, versions) in self.versions.iter_mut().filter(|(key, _)| key.0 == table.0) {
                versions.retain(|version| version.sequence >= mark.0);
            }
        }
    }

    fn all_rows(&mut self) -> BTreeMap<RowKey, Version> {
        let mut all = BTreeMap::new();
        for table in self.tables.keys().copied().collect::<Vec<_>>() {
            let rows = self.read(|engine| {
                let from = TablePosition::Token(Token(i64::MIN));
                let mut cursor =
                    engine.scan_table(&TableScan { table, from, to: Token(i64::MAX), policy: CachePolicy::Bypass, read_ahead: 64 })?;
                let mut rows = Vec::new();
                while let Some(row) = cursor.next()? {
                    let key = (table.0, row.token.0, row.partition.to_vec(), row.clustering.to_vec());
                    rows.push((
                        key,
                        Version { sequence: row.row.sequence.0, kind: row.row.kind, row: row.row.bytes.to_vec(), batch: 0, purged: false },
                    ));
                }
                Ok(rows)
            });
            all.extend(rows);
        }
        all
    }

    /// The process dies, sometimes in the middle of a write. Everything acknowledged is there afterwards.
    pub(super) fn kill(&mut self) {
        self.kills += 1;
        let mut unknown: Option<u64> = None;
        if self.rng.below(2) == 0 && !self.engine().closing {
            self.stable.crash_in_write(self.rng.below(400) as usize);
            for _ in 0..20 {
                self.write(false);
                if self.stable.has_crashed() {
                    unknown = Some(self.batches);
                    break;
                }
            }
        }
        self.note(&format!("kill, unknown batch {unknown:?}"));
        self.engine = None;
        self.disk.lose_process(&mut self.rng);
        self.stable.reopen();
        self.pending.clear();
        self.spoil_checkpoint();
        while self.rng.below(4) == 0 {
            self.start_and_stop();
            self.disk.lose_process(&mut self.rng);
        }
        self.open();
        let found = self.all_rows();
        if let Some(batch) = unknown {
            self.settle_unknown(batch, &found);
        }
        self.assert_all(&found);
    }

    /// A batch that was being written when the process died is there as a whole or not at all.
    fn settle_unknown(&mut self, batch: u64, found: &BTreeMap<RowKey, Version>) {
        let mut there = Vec::new();
        for (key, versions) in &self.versions {
            if let Some(version) = versions.iter().rev().find(|version| version.batch == batch) {
                there.push(found.get(key).is_some_and(|found| found.sequence == version.sequence));
            }
        }
        let whole = there.iter().all(|there| *there) || there.iter().all(|there| !*there);
        assert!(whole, "seed {}: a part of batch {batch} is there", self.seed);
        if there.iter().any(|there| !*there) {
            for versions in self.versions.values_mut() {
                versions.retain(|version| version.batch != batch);
            }
        }
    }

    fn assert_all(&self, found: &BTreeMap<RowKey, Version>) {
        for key in self.versions.keys() {
            self.assert_agrees(key, found.get(key));
        }
        for (key, version) in found {
            self.assert_agrees(key, Some(version));
        }
    }

    /// The power goes. What was durable is there, or something newer; batches are whole.
    pub(super) fn lose_power(&mut self) {
        self.outages += 1;
        let durable = self.engine().durable_sequence().0;
        self.note("power loss");
        self.engine = None;
        self.disk.lose_power(&mut self.rng);
        self.stable.lose_power(&mut self.rng);
        self.boot += 1;
        self.pending.clear();
        self.spoil_checkpoint();
        while self.rng.below(4) == 0 {
            self.start_and_stop();
            self.disk.lose_power(&mut self.rng);
            self.stable.lose_power(&mut self.rng);
            self.boot += 1;
        }
        self.open();
        let found = self.all_rows();
        let mut survivors: BTreeMap<u64, bool> = BTreeMap::new();
        for (key, versions) in &self.versions {
            let mark = self.mark(key.0);
            let valid: Vec<&Version> = versions.iter().filter(|version| version.sequence >= mark).collect();
            let least = valid.iter().rev().find(|version| version.sequence <= durable);
            match found.get(key) {
                None => assert!(
                    self.may_be_gone(least.copied())
                        || valid.iter().any(|version| version.sequence >= least.unwrap().sequence && self.may_be_gone(Some(version))),
                    "seed {}: {key:?} was durable at {durable} and is gone: {:?}: {:?}",
                    self.seed,
                    least.map(|version| version.sequence),
                    self.trace
                ),
                Some(row) => {
                    // Numbers of writes that were lost are given out again, so a number alone does not name a version.
                    let same = |version: &&&Version| (version.sequence, version.kind, &version.row) == (row.sequence, row.kind, &row.row);
                    let version = valid.iter().find(same).unwrap_or_else(|| {
                        panic!("seed {}: {key:?} has row {} that was never written: {:?}", self.seed, row.sequence, self.trace)
                    });
                    assert!(least.is_none_or(|least| row.sequence >= least.sequence), "seed {}: {key:?} went back", self.seed);
                    survivors.insert(version.batch, true);
                }
            }
        }
        for (key, row) in &found {
            assert!(self.versions.contains_key(key), "seed {}: {key:?} is {row:?} out of nowhere", self.seed);
        }
        // If a row of a batch is there, so are its others, or newer ones.
        for (key, versions) in &self.versions {
            for version in versions.iter().filter(|version| survivors.contains_key(&version.batch) && version.sequence >= self.mark(key.0))
            {
                let newer = found.get(key).is_some_and(|row| row.sequence >= version.sequence);
                let gone = !found.contains_key(key)
                    && versions.iter().any(|later| later.sequence >= version.sequence && self.may_be_gone(Some(later)));
                assert!(newer || gone, "seed {}: a part of batch {} is there", self.seed, version.batch);
            }
        }
        // From here on what was found is what counts. A row that may have been purged may also come back.
        let wall_s = self.now.wall_s();
        for (key, versions) in &mut self.versions {
            match found.get(key) {
                Some(row) => versions.retain(|version| version.sequence == row.sequence && version.row == row.row),
                None => {
                    versions.retain(|version| version.kind.purge_after_s().is_some_and(|after| after < wall_s));
                    versions.iter_mut().for_each(|version| version.purged = true);
                }
            }
        }
    }

    /// The end comes while the shard is being shut down.
    fn interrupt_shutdown(&mut self) {
        self.engine().shutdown();
        for _ in 0..self.rng.below(20) {
            self.turn();
        }
        if self.rng.below(3) == 0 { self.kill() } else { self.lose_power() }
    }

    pub(super) fn shut_down(&mut self) {
        self.engine().shutdown();
        for _ in 0..20_000 {
            if self.engine().is_clean() {
                break;
            }
            self.turn();
        }
        let (seed, stats, setup) = (self.seed, self.engine().stats(), self.setup);
        assert!(self.engine().is_clean(), "seed {seed}: shutdown does not end: {stats:?} {setup:?}");
        self.engine = None;
        self.disk.lose_power(&mut self.rng);
        self.stable.lose_power(&mut self.rng);
        self.boot += 1;
        self.pending.clear();
        self.open();
        let found = self.all_rows();
        self.assert_all(&found);
    }

    pub(super) fn check_accounts(&mut self) {
        let stats = self.engine().stats();
        let limit = self.setup.memory_bytes.max((self.setup.mirrors + 3) * self.setup.segment_bytes as usize) as u64;
        assert!(
            stats.frame_bytes <= limit + 4 * u64::from(self.setup.segment_bytes),
            "seed {}: {} bytes of frames with a limit of {limit}",
            self.seed,
            stats.frame_bytes
        );
        assert!(stats.segments <= stats.segments_capacity);
        self.pages = self.pages.max(stats.pages);
        self.rows_in_pages = self.rows_in_pages.max(stats.rows_in_pages);
        self.expired = self.expired.max(stats.segments_expired);
        self.cold = self.cold.max(stats.segments_cold);
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            match self.rng.below(1000) {
                0..500 => self.write(false),
                500..700 => self.check_random_get(),
                700..760 => self.check_partition_scan(),
                760..765 => self.check_table_scan(),
                765..768 => self.truncate(),
                768..780 => self.persist_truncations(),
                // What takes long to gather needs some peace.
                780..789 if self.seed.is_multiple_of(5) && self.rng.below(6) > 0 => self.turn(),
                780..784 => self.kill(),
                784..786 => self.lose_power(),
                786..787 => self.shut_down(),
                787..789 => self.interrupt_shutdown(),
                789..800 => self.engine().request_flush(),
                800..830 => self.write(true),
                _ => self.turn(),
            }
            if self.rng.below(50) == 0 {
                self.check_accounts();
            }
        }
        self.shut_down();
    }
}

fn run(seed: u64, operations: u64, planted: Option<Planted>) -> World {
    let mut world = World::new(seed, planted);
    world.run(operations);
    world
}

/// Which seeds to run: 40 from 0 on, unless told.
pub(super) fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str, otherwise| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let first = number("TARNDB_SEED", 0);
    first..first + number("TARNDB_SEEDS", 40)
}

#[test]
fn acknowledged_writes_survive_whatever_happens() {
    let (mut kills, mut outages, mut fulls, mut warm_starts, mut spoilt) = (0, 0, 0, 0, 0);
    let (mut pages, mut rows_in_pages, mut expired, mut cold) = (0, 0, 0, 0);
    for seed in seeds() {
        let result = std::panic::catch_unwind(|| run(seed, 3000, None));
        let Ok(world) = result else {
            panic!("reproduce with TARNDB_SEED={seed} TARNDB_SEEDS=1 cargo test -p tarndb-engine acknowledged_writes");
        };
        kills += world.kills;
        outages += world.outages;
        fulls += world.fulls;
        warm_starts += world.warm_starts;
        spoilt += world.spoilt;
        pages += world.pages;
        rows_in_pages += world.rows_in_pages;
        expired += world.expired;
        cold += world.cold;
    }
    println!("{kills} kills, {outages} outages, {fulls} writes refused for want of space");
    println!("{warm_starts} starts from a checkpoint, {spoilt} checkpoints spoilt, {pages} pages of {rows_in_pages} rows");
    println!("{expired} segments were freed unread, {cold} were filled with moved records");
    assert!(pages > 0 || seeds().count() < 10, "no pages were made");
    assert!(cold > 0 || seeds().count() < 10, "no segment was filled with moved records");
    assert!(expired > 0 || seeds().count() < 10, "no segment was freed unread");
}

/// The harness can fail: each planted bug is found within a few seeds.
#[test]
fn planted_bugs_are_found() {
    let planted = [
        (Planted::SkipMirror, 10),
        (Planted::SkipSync, 10),
        (Planted::LateStart, 100),
        (Planted::EarlyCommit, 1000),
        (Planted::IgnoreReuse, 100),
        (Planted::IgnoreTruncation, 100),
        (Planted::SkipBeside, 1000),
        (Planted::VolatilePages, 1000),
        (Planted::PagesOverAll, 100),
        (Planted::ExpiredOverOlder, 100),
        (Planted::ColdOverWriters, 1000),
    ];
    for (planted, seeds) in planted {
        let found = (0..seeds).find(|seed| std::panic::catch_unwind(|| run(*seed, 3000, Some(planted))).is_err());
        let seed = found.unwrap_or_else(|| panic!("{planted:?} was not found within {seeds} seeds"));
        println!("{planted:?} was found by seed {seed}");
    }
}
