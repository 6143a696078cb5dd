//! Nanoseconds an operation on the hot paths of one shard, everything in memory.
//!
//! `cargo run --release -p tarndb-engine --example engine_bench [rows [part of a name [compression of series]]]`; turns (background work) are
//! included. Compressions are `lz4`, `none` and levels of Zstd.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

use base::{BLOCK_BYTES, Compression, Rng, TableId, Token};
use engine::{CachePolicy, Config, Direction, Engine, Key, Kind, PartitionScan, Sequence, WriteBatch, WriteError};
use io::{DiskCompletion, DiskRequest, DiskTag, Now, StableMemory};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Instant;

const TABLE: TableId = TableId(1);
const WIDE_ROWS: u64 = 1_000_000;
const ROW_BYTES: usize = 200;
const OPERATIONS: usize = 2_000_000;

struct Mirror(Vec<u8>);

impl StableMemory for Mirror {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.0[offset..offset + bytes.len()]);
    }
}

/// Does every request at once on a disk in memory.
fn serve_from(engine: &mut Engine, now: Now, disk: &mut Vec<u8>) {
    loop {
        let requests: Vec<(DiskTag, DiskRequest)> = engine.take_requests().collect();
        if requests.is_empty() {
            return;
        }
        for (tag, request) in requests {
            let buffer = match request {
                DiskRequest::Read { offset, mut buffer, .. } => {
                    let length = buffer.len();
                    buffer.copy_from_slice(&disk[offset as usize..offset as usize + length]);
                    Some(buffer)
                }
                DiskRequest::Write { offset, source: io::WriteSource::Owned(buffer, length), .. } => {
                    disk[offset as usize..offset as usize + length].copy_from_slice(&buffer[..length]);
                    Some(buffer)
                }
                DiskRequest::Write { offset, source: io::WriteSource::Shared(buffer, range), .. } => {
                    disk[offset as usize..offset as usize + range.len()].copy_from_slice(&buffer[range]);
                    None
                }
                DiskRequest::Extend { length, .. } => {
                    disk.resize(disk.len().max(length as usize), 0);
                    None
                }
                _ => None,
            };
            engine.complete(now, DiskCompletion { tag, result: Ok(()), buffer });
        }
    }
}

/// How long it takes to come back, the device's own time left out.
fn recovery(rows: u64) {
    let mut disk = Vec::new();
    let mut now = Now { monotonic_us: 0, wall_us: 0 };
    let tables = BTreeMap::from([(TABLE, Sequence(0))]);
    let open = |disk: &[u8], now| {
        let config = Config::new(1, 0, disk.len() as u64, 64 << 30, 1 << 30);
        let stable = Box::new(Mirror(vec![0; config.stable_bytes(3)]));
        Engine::open(config, stable, &tables, now).unwrap()
    };
    let mut engine = open(&disk, now);
    serve_from(&mut engine, now, &mut disk);
    let mut batch = WriteBatch::new();
    for number in 0..rows {
        let partition = number.to_be_bytes();
        batch.clear();
        let key = Key { table: TABLE, token: token(number), partition: &partition, clustering: &[] };
        batch.put(&key, Kind::Live, &[7; ROW_BYTES]).unwrap();
        while engine.apply(now, &batch) == Err(WriteError::Busy) {
            now.monotonic_us += 1_000_000;
            engine.tick(now);
            serve_from(&mut engine, now, &mut disk);
        }
        if number.is_multiple_of(256) {
            now.monotonic_us += 50;
            engine.tick(now);
            serve_from(&mut engine, now, &mut disk);
        }
    }
    engine.shutdown();
    while !engine.is_clean() {
        engine.tick(now);
        serve_from(&mut engine, now, &mut disk);
    }
    let segment_bytes = disk.len() / engine.stats().segments as usize;
    drop(engine);
    // Without the headers of their segments there are no checkpoints.
    for segment in disk.chunks_mut(segment_bytes).filter(|segment| segment[14] == 3) {
        segment[..BLOCK_BYTES].fill(0);
    }
    let stretch = start();
    let mut engine = open(&disk, now);
    serve_from(&mut engine, now, &mut disk);
    assert!(engine.is_ready() && engine.stats().rows == rows && engine.recovery_progress().records == rows);
    report("recovery without a checkpoint, a record", rows as usize, &stretch);
}

/// The partition that holds the series.
const SERIES: (Token, &[u8]) = (Token(5), b"series");

/// Appends the rows of a series, 1,000 a batch, with a turn after each batch. Returns how often the engine was busy. A function of its own
/// so that a profiler can be told to look at nothing else.
#[inline(never)]
fn append_series(engine: &mut Engine, now: &mut Now, disk: &mut Vec<u8>, rng: &mut Rng, rows: u64) -> u64 {
    let mut batch = WriteBatch::new();
    let mut time = 1_700_000_000_000_000u64;
    let mut row = [0u8; 40];
    let mut busy = 0;
    for _ in 0..rows / 1000 {
        batch.clear();
        for _ in 0..1000 {
            time += 1_000_000 + rng.below(1000);
            row[..8].copy_from_slice(&time.to_le_bytes());
            row[8..16].copy_from_slice(&(20.0 + rng.below(100) as f64 / 10.0).to_le_bytes());
            row[16..24].copy_from_slice(&(1000 + rng.below(50)).to_le_bytes());
            let key = Key { table: TABLE, token: SERIES.0, partition: SERIES.1, clustering: &time.to_be_bytes() };
            batch.put(&key, Kind::Live, &row).unwrap();
        }
        while engine.apply(*now, &batch) == Err(WriteError::Busy) {
            busy += 1;
            now.monotonic_us += 1_000;
            engine.tick(*now);
            serve_from(engine, *now, disk);
        }
        now.monotonic_us += 400;
        engine.tick(*now);
        serve_from(engine, *now, disk);
    }
    busy
}

/// A time series of `rows` rows of 40 bytes in one partition: how fast it grows, what it costs in memory, how fast it is read from memory
/// and from a device that costs nothing. Clustering keys are times with a little jitter, rows sensor readings: they compress as such do.
fn series(rows: u64, compression: Compression) {
    // Little more capacity than the pages take: the space of what was moved to pages is used again.
    let capacity = (rows * 60).max(512 << 20);
    for (what, memory) in [("in memory", capacity as usize + (256 << 20)), ("cold", 128 << 20)] {
        let mut disk = Vec::new();
        let mut now = Now { monotonic_us: 0, wall_us: 0 };
        let tables = BTreeMap::from([(TABLE, Sequence(0))]);
        let config = Config::new(1, 0, 0, capacity, memory);
        let stable = Box::new(Mirror(vec![0; config.stable_bytes(3)]));
        let mut engine = Engine::open(config, stable, &tables, now).unwrap();
        serve_from(&mut engine, now, &mut disk);
        engine.set_compression(TABLE, compression);
        let mut rng = Rng::new(7);
        let stretch = start();
        let busy = append_series(&mut engine, &mut now, &mut disk, &mut rng, rows);
        report(&format!("append to a series, 1000 a batch, {what}"), rows as usize, &stretch);
        for _ in 0..2000 {
            now.monotonic_us += 1_000;
            engine.tick(now);
            serve_from(&mut engine, now, &mut disk);
        }
        let stats = engine.stats();
        let each = |bytes: u64| bytes as f64 / rows as f64;
        println!("{:<44} {:>8.2} bytes a row, {busy} times busy", "index of a series", each(stats.index_bytes));
        println!("{:<44} {:>8.2} bytes a row, {} pages", "pages in the log", each(stats.page_bytes), stats.pages);
        let scan = PartitionScan {
            table: TABLE,
            token: SERIES.0,
            partition: SERIES.1,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            direction: Direction::Forward,
            policy: CachePolicy::Bypass,
            read_ahead: 1000,
        };
        let (mut count, mut after, mut met) = (0, Vec::new(), 0);
        let stretch = start();
        'all: loop {
            let from = if count == 0 { Bound::Unbounded } else { Bound::Excluded(&after[..]) };
            let mut last = after.clone();
            let mut cursor = engine.scan_partition(&PartitionScan { from, ..scan }).unwrap();
            let miss = loop {
                match cursor.next() {
                    Ok(Some((clustering, row))) => {
                        count += usize::from(row.bytes.len() == 40);
                        last.clear();
                        last.extend_from_slice(clustering);
                    }
                    Ok(None) => break 'all,
                    Err(engine::ReadError::Miss(miss)) => break miss,
                    Err(error) => panic!("{error}"),
                }
            };
            drop(cursor);
            after = last;
            // What was fetched stays until it has been read, or two pages that are needed at once would drive each other out for ever.
            if count > met {
                engine.finish(1);
                met = count;
            }
            engine.fetch(&miss, 1);
            serve_from(&mut engine, now, &mut disk);
        }
        report(&format!("slice of a series, {what}"), count, &stretch);
        assert_eq!(count as u64, rows);
        if what == "in memory" {
            let stretch = start();
            for _ in 0..100_000 {
                let from = (1_700_000_000_000_000 + rng.below(rows) * 1_000_000).to_be_bytes();
                let slice = PartitionScan { from: Bound::Included(&from), ..scan };
                let mut cursor = engine.scan_partition(&slice).unwrap();
                for _ in 0..10 {
                    cursor.next().unwrap();
                }
            }
            report("ten rows somewhere in a series", 100_000, &stretch);
        }
    }
}

/// Does every request at once and keeps nothing: what is read back comes from memory.
fn serve(engine: &mut Engine, now: Now) {
    loop {
        let requests: Vec<(DiskTag, DiskRequest)> = engine.take_requests().collect();
        if requests.is_empty() {
            return;
        }
        for (tag, request) in requests {
            let buffer = match request {
                DiskRequest::Read { buffer, .. } => Some(buffer),
                DiskRequest::Write { source: io::WriteSource::Owned(buffer, _), .. } => Some(buffer),
                _ => None,
            };
            engine.complete(now, DiskCompletion { tag, result: Ok(()), buffer });
        }
    }
}

fn token(number: u64) -> Token {
    let mut word = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    Token((word ^ (word >> 31)) as i64)
}

/// A stretch of work: wall time, and time on the core where Linux tells it (on a busy machine the two differ).
struct Stretch {
    started: Instant,
    on_core_ns: u64,
}

fn on_core_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn start() -> Stretch {
    Stretch { started: Instant::now(), on_core_ns: on_core_ns() }
}

fn report(what: &str, operations: usize, stretch: &Stretch) {
    let each = |ns: u64| ns as f64 / operations as f64;
    let (wall, on_core) = (stretch.started.elapsed().as_nanos() as u64, on_core_ns() - stretch.on_core_ns);
    println!("{what:<44} {:>8.1} ns/op on the core {:>8.1} ns/op wall", each(on_core), each(wall));
}

fn write(engine: &mut Engine, now: Now, batch: &WriteBatch) {
    loop {
        match engine.apply(now, batch) {
            Ok(_) => return,
            Err(WriteError::Busy) => {
                engine.tick(Now { monotonic_us: now.monotonic_us + 1_000_000, ..now });
                serve(engine, now);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// An engine in memory, and what is needed to work on it.
struct Bench {
    engine: Engine,
    now: Now,
    batch: WriteBatch,
    rng: Rng,
    rows: u64,
    only: Option<String>,
}

impl Bench {
    fn wants(&self, what: &str) -> bool {
        self.only.as_ref().is_none_or(|only| what.contains(only.as_str()))
    }

    fn turn(&mut self) {
        self.now.monotonic_us += 50;
        self.engine.tick(self.now);
        serve(&mut self.engine, self.now);
    }

    fn put(&mut self, number: u64) {
        let partition = number.to_be_bytes();
        self.batch.clear();
        let key = Key { table: TABLE, token: token(number), partition: &partition, clustering: &[] };
        self.batch.put(&key, Kind::Live, &[7; ROW_BYTES]).unwrap();
        write(&mut self.engine, self.now, &self.batch);
    }

    fn fill(&mut self) {
        let stretch = start();
        for number in 0..self.rows {
            self.put(number);
            if number.is_multiple_of(256) {
                self.turn();
            }
        }
        report("insert", self.rows as usize, &stretch);
        println!("{:<44} {:>8.1} bytes a row", "index", self.engine.stats().index_bytes as f64 / self.rows as f64);
    }

    fn get(&mut self, what: &str, range: u64) {
        if !self.wants(what) {
            return;
        }
        let mut found = 0;
        let stretch = start();
        for _ in 0..OPERATIONS {
            let number = self.rng.below(range);
            let partition = number.to_be_bytes();
            let key = Key { table: TABLE, token: token(number), partition: &partition, clustering: &[] };
            found += self.engine.get(&key, CachePolicy::Keep).unwrap().map_or(0, |row| row.bytes.len());
        }
        report(what, OPERATIONS, &stretch);
        assert_eq!(found, OPERATIONS * ROW_BYTES);
    }

    fn overwrite(&mut self, what: &str, range: u64) {
        if !self.wants(what) {
            return;
        }
        let stretch = start();
        for operation in 0..OPERATIONS {
            let number = self.rng.below(range);
            self.put(number);
            if operation.is_multiple_of(256) {
                self.turn();
            }
        }
        report(what, OPERATIONS, &stretch);
    }

    fn wide(&mut self) {
        if !self.wants("wide") {
            return;
        }
        let (token, partition) = (Token(5), b"series");
        let stretch = start();
        for first in (0..WIDE_ROWS).step_by(1000) {
            self.batch.clear();
            for number in first..first + 1000 {
                let clustering = number.to_be_bytes();
                let key = Key { table: TABLE, token, partition, clustering: &clustering };
                self.batch.put(&key, Kind::Live, &[7; 40]).unwrap();
            }
            write(&mut self.engine, self.now, &self.batch);
            self.turn();
        }
        report("append to a wide partition, 1000 a batch", WIDE_ROWS as usize, &stretch);
        let mut found = 0;
        let stretch = start();
        for _ in 0..OPERATIONS / 4 {
            let clustering = self.rng.below(WIDE_ROWS).to_be_bytes();
            let key = Key { table: TABLE, token, partition, clustering: &clustering };
            found += self.engine.get(&key, CachePolicy::Keep).unwrap().map_or(0, |row| row.bytes.len());
        }
        report("get from a wide partition", OPERATIONS / 4, &stretch);
        assert_eq!(found, OPERATIONS / 4 * 40);
        let scan = PartitionScan {
            table: TABLE,
            token,
            partition,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            direction: Direction::Forward,
            policy: CachePolicy::Bypass,
            read_ahead: 1,
        };
        let stretch = start();
        let mut cursor = self.engine.scan_partition(&scan).unwrap();
        let mut count = 0;
        while cursor.next().unwrap().is_some() {
            count += 1;
        }
        report("scan of a wide partition", count, &stretch);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rows: u64 = arguments.next().map_or(1_000_000, |text| text.parse().unwrap());
    let config = Config::new(1, 0, 0, 64 << 30, 2 << 30);
    let stable = Box::new(Mirror(vec![1; config.stable_bytes(3)]));
    let now = Now { monotonic_us: 0, wall_us: 0 };
    let engine = Engine::open(config, stable, &BTreeMap::from([(TABLE, Sequence(0))]), now).unwrap();
    let mut bench = Bench { engine, now, batch: WriteBatch::new(), rng: Rng::new(1), rows, only: arguments.next() };
    serve(&mut bench.engine, now);
    assert!(bench.engine.is_ready());
    if bench.only.as_deref() != Some("series") {
        bench.fill();
    }
    bench.get("get, uniform", rows);
    bench.get("get, a thousand hot rows", rows.min(1000));
    bench.overwrite("overwrite, uniform", rows);
    bench.overwrite("overwrite, a thousand hot rows", rows.min(1000));
    bench.wide();
    let compression = match arguments.next().as_deref() {
        None | Some("lz4") => Compression::Lz4,
        Some("none") => Compression::None,
        Some(level) => Compression::Zstd { level: level.parse().unwrap() },
    };
    let (recover, page) = (bench.wants("recovery"), bench.wants("series"));
    drop(bench);
    if recover {
        recovery(rows);
    }
    if page {
        series(rows, compression);
    }
}
