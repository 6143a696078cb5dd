//! Nanoseconds an operation on the hot paths of one shard, everything in memory.
//!
//! `cargo run --release -p tarndb-engine --example engine_bench [rows]`
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

use base::{Rng, TableId, Token};
use engine::{CachePolicy, Config, Engine, Key, Kind, WriteBatch, WriteError};
use io::{DiskCompletion, DiskRequest, DiskTag, Now, StableMemory};
use std::collections::BTreeMap;
use std::time::Instant;

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

fn main() {
    let rows: u64 = std::env::args().nth(1).map_or(1_000_000, |text| text.parse().unwrap());
    let config = Config::new(1, 0, 0, 64 << 30, 32 << 30);
    let stable = Box::new(Mirror(vec![1; config.stable_bytes(3)]));
    let mut now = Now { monotonic_us: 0, wall_us: 0 };
    let table = TableId(1);
    let mut engine = Engine::open(config, stable, &BTreeMap::from([(table, engine::Sequence(0))]), now).unwrap();
    serve(&mut engine, now);
    assert!(engine.is_ready());

    let mut batch = WriteBatch::new();
    let row = [7u8; ROW_BYTES];
    let key = |number: u64| number.to_be_bytes();
    let stretch = start();
    for number in 0..rows {
        let partition = key(number);
        batch.clear();
        batch.put(&Key { table, token: token(number), partition: &partition, clustering: &[] }, Kind::Live, &row).unwrap();
        write(&mut engine, now, &batch);
        if number % 64 == 0 {
            now.monotonic_us += 50;
            engine.tick(now);
            serve(&mut engine, now);
        }
    }
    report("insert, 200 bytes, ticks included", rows as usize, &stretch);
    let stats = engine.stats();
    println!("index: {:.1} bytes a row", stats.index_bytes as f64 / rows as f64);

    let mut rng = Rng::new(1);
    let mut found = 0usize;
    let stretch = start();
    for _ in 0..OPERATIONS {
        let number = rng.below(rows);
        let partition = key(number);
        let key = Key { table, token: token(number), partition: &partition, clustering: &[] };
        found += engine.get(&key, CachePolicy::Keep).unwrap().map_or(0, |row| row.bytes.len());
    }
    report("get, uniform", OPERATIONS, &stretch);
    assert_eq!(found, OPERATIONS * ROW_BYTES);

    let hot = rows.min(1000);
    let stretch = start();
    for _ in 0..OPERATIONS {
        let number = rng.below(hot);
        let partition = key(number);
        let key = Key { table, token: token(number), partition: &partition, clustering: &[] };
        found += engine.get(&key, CachePolicy::Keep).unwrap().map_or(0, |row| row.bytes.len());
    }
    report("get, a thousand hot rows", OPERATIONS, &stretch);

    for (what, range) in [("overwrite, uniform, ticks included", rows), ("overwrite, a thousand hot rows", hot)] {
        let stretch = start();
        for operation in 0..OPERATIONS / 2 {
            let number = rng.below(range);
            let partition = key(number);
            batch.clear();
            batch.put(&Key { table, token: token(number), partition: &partition, clustering: &[] }, Kind::Live, &row).unwrap();
            write(&mut engine, now, &batch);
            if operation % 256 == 0 {
                now.monotonic_us += 50;
                engine.tick(now);
                serve(&mut engine, now);
            }
        }
        report(what, OPERATIONS / 2, &stretch);
    }

    // A wide partition that grows at its end.
    let wide = b"series";
    let stretch = start();
    for number in 0..1_000_000u64 / 1000 {
        batch.clear();
        for step in 0..1000 {
            let clustering = (number * 1000 + step).to_be_bytes();
            batch.put(&Key { table, token: Token(5), partition: wide, clustering: &clustering }, Kind::Live, &row[..40]).unwrap();
        }
        write(&mut engine, now, &batch);
        engine.tick(now);
        serve(&mut engine, now);
    }
    report("append to a wide partition, batches of 1000", 1_000_000, &stretch);
    let stretch = start();
    for _ in 0..OPERATIONS / 4 {
        let clustering = rng.below(1_000_000).to_be_bytes();
        let key = Key { table, token: Token(5), partition: wide, clustering: &clustering };
        found += engine.get(&key, CachePolicy::Keep).unwrap().map_or(0, |row| row.bytes.len());
    }
    report("get from a wide partition", OPERATIONS / 4, &stretch);
    println!("{found} bytes read; {:?}", engine.stats());
}
