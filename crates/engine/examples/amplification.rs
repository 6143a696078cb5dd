//! Write amplification by counts, not by time: the same on every machine.
//!
//! Rows of 256 bytes in the log are written in order, then overwritten as the workload says: twice as many as there are rows to come to rest
//! (six times under skew), as many again to count. The device is memory and answers at once.
//!
//! `cargo run --release -p tarndb-engine --example amplification [workload]` prints bytes appended per byte written, by fill of what records
//! can use.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use base::{Rng, TableId, Token};
use engine::{Config, Engine, Key, Kind, Sequence, WriteBatch, WriteError};
use io::{DiskCompletion, DiskRequest, DiskTag, Now, StableMemory};
use std::collections::BTreeMap;

const TABLE: TableId = TableId(1);
const SEGMENT_BYTES: u64 = 256 << 10;
const SEGMENTS: u64 = 512;
/// Segments that are kept free for reclaiming, about.
const AHEAD: u64 = 19;
const ROW_BYTES: u64 = 256;
/// Writes between two turns.
const WRITES_A_TURN: u64 = 64;

struct Mirror(Vec<u8>);

impl StableMemory for Mirror {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.0[offset..offset + into.len()]);
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

/// Which row is written next.
enum Workload {
    Uniform,
    /// Nine of ten writes go to a tenth of the rows.
    HotTenth,
    /// Zipf's law with this sum of weights and exponent 0.99 (Gray and others, "Quickly generating billion-record synthetic databases", 1994).
    Zipfian {
        sum: f64,
    },
}

const THETA: f64 = 0.99;

impl Workload {
    fn next(&self, rng: &mut Rng, rows: u64) -> u64 {
        match self {
            Self::Uniform => rng.below(rows),
            Self::HotTenth if rng.below(10) > 0 => rng.below(rows / 10) * 10,
            Self::HotTenth => rng.below(rows),
            Self::Zipfian { sum } => {
                let draw = rng.below(1 << 53) as f64 / (1u64 << 53) as f64;
                let two = 1.0 + 0.5f64.powf(THETA);
                let eta = (1.0 - (2.0 / rows as f64).powf(1.0 - THETA)) / (1.0 - two / sum);
                let rank = match draw * sum {
                    low if low < 1.0 => 0,
                    low if low < two => 1,
                    _ => (rows as f64 * (eta * draw - eta + 1.0).powf(1.0 / (1.0 - THETA))) as u64,
                };
                // Ranks are spread over the rows.
                rank.min(rows - 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) % rows
            }
        }
    }
}

struct Bench {
    engine: Engine,
    disk: Vec<u8>,
    now: Now,
    batch: WriteBatch,
}

impl Bench {
    fn new() -> Self {
        let config = Config {
            segment_bytes: SEGMENT_BYTES as u32,
            checkpoint_bytes_min: u64::MAX,
            ..Config::new(1, 0, 0, SEGMENTS * SEGMENT_BYTES, 64 << 20)
        };
        let stable = Box::new(Mirror(vec![0; config.stable_bytes(3)]));
        let now = Now { monotonic_us: 0, wall_us: 0 };
        let engine = Engine::open(config, stable, &BTreeMap::from([(TABLE, Sequence(0))]), now).unwrap();
        let mut bench = Self { engine, disk: Vec::new(), now, batch: WriteBatch::new() };
        bench.serve();
        bench
    }

    fn serve(&mut self) {
        loop {
            let requests: Vec<(DiskTag, DiskRequest)> = self.engine.take_requests().collect();
            if requests.is_empty() {
                return;
            }
            for (tag, request) in requests {
                let buffer = self.answer(request);
                self.engine.complete(self.now, DiskCompletion { tag, result: Ok(()), buffer });
            }
        }
    }

    fn answer(&mut self, request: DiskRequest) -> Option<base::AlignedBuffer> {
        match request {
            DiskRequest::Read { offset, mut buffer, .. } => {
                let length = buffer.len();
                buffer.copy_from_slice(&self.disk[offset as usize..offset as usize + length]);
                Some(buffer)
            }
            DiskRequest::Write { offset, source: io::WriteSource::Owned(buffer, length), .. } => {
                self.disk[offset as usize..offset as usize + length].copy_from_slice(&buffer[..length]);
                Some(buffer)
            }
            DiskRequest::Write { offset, source: io::WriteSource::Shared(buffer, range), .. } => {
                self.disk[offset as usize..offset as usize + range.len()].copy_from_slice(&buffer[range]);
                None
            }
            DiskRequest::Extend { length, .. } => {
                self.disk.resize(self.disk.len().max(length as usize), 0);
                None
            }
            _ => None,
        }
    }

    fn turn(&mut self) {
        self.now.monotonic_us += 200;
        self.engine.tick(self.now);
        self.serve();
    }

    fn put(&mut self, number: u64) {
        // Keys of eight bytes, spread over the ring by an odd factor.
        let token = Token(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64);
        let partition = number.to_be_bytes();
        self.batch.clear();
        let key = Key { table: TABLE, token, partition: &partition, clustering: &[] };
        self.batch.put(&key, Kind::Live, &[7; ROW_BYTES as usize - 40]).unwrap();
        let mut waiter = 1;
        loop {
            match self.engine.apply(self.now, &self.batch) {
                Ok(_) => break,
                Err(WriteError::Busy) => self.turn(),
                Err(WriteError::Miss(miss)) => {
                    self.engine.fetch(&miss, waiter);
                    self.serve();
                    waiter += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        (1..waiter).for_each(|waiter| self.engine.finish(waiter));
    }
}

fn measure(name: &str, fill: u64) {
    let rows = (SEGMENTS - AHEAD) * (SEGMENT_BYTES - 4096) * fill / 100 / ROW_BYTES;
    let workload = match name {
        "uniform" => Workload::Uniform,
        "hot tenth" => Workload::HotTenth,
        _ => Workload::Zipfian { sum: (1..=rows).map(|rank| (rank as f64).powf(-THETA)).sum() },
    };
    let mut bench = Bench::new();
    let mut rng = Rng::new(1);
    let mut overwrite = |bench: &mut Bench, writes: u64| {
        for write in 0..writes {
            let number = workload.next(&mut rng, rows);
            bench.put(number);
            if write.is_multiple_of(WRITES_A_TURN) {
                bench.turn();
            }
        }
    };
    (0..rows).for_each(|number| bench.put(number));
    let settle = if name == "uniform" { 2 } else { 6 };
    overwrite(&mut bench, settle * rows);
    let before = bench.engine.stats();
    overwrite(&mut bench, settle * rows);
    let after = bench.engine.stats();
    let user = (after.user_bytes - before.user_bytes) as f64;
    let amplification = (user + (after.defrag_bytes - before.defrag_bytes) as f64) / user;
    println!("| {name} | {fill} % | {amplification:.2} |");
}

fn main() {
    let only = std::env::args().nth(1);
    println!("| workload | fill | write amplification |\n|---|---|---|");
    for name in
        ["uniform", "zipfian 0.99", "hot tenth"].into_iter().filter(|name| only.as_ref().is_none_or(|only| name.contains(only.as_str())))
    {
        for fill in [50, 60, 75, 85] {
            measure(name, fill);
        }
    }
}
