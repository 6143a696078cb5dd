//! How long a shard takes to come back: after a clean stop, after the death of the process, and without a checkpoint.
//!
//! `cargo run --release -p tarndb-engine --example restart_bench -- FILE [rows [threads]]`. FILE is made anew, is read and written past
//! the page cache, and stays. Reads are served by threads, so that several are in flight. With `scan` in the place of the rows FILE is that of
//! a run before, and is only scanned once more: `scripts/bench-restart.sh` has fio read it between scans.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

use base::{AlignedBuffer, BLOCK_BYTES, TableId, Token};
use engine::{Config, Engine, Key, Kind, Sequence, WriteBatch, WriteError};
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, Now, StableMemory, WriteSource};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const TABLE: TableId = TableId(1);
const ROW_BYTES: usize = 200;
const SEGMENT_BYTES: u64 = 8 << 20;
/// Linux's O_DIRECT on x86-64.
const O_DIRECT: i32 = 0o40000;

/// Stable memory that outlives the engine.
#[derive(Clone)]
struct Mirror(Arc<Mutex<Vec<u8>>>);

impl StableMemory for Mirror {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.0.lock().unwrap()[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.0.lock().unwrap()[offset..offset + bytes.len()]);
    }
}

type Read = (DiskTag, u64, AlignedBuffer);

/// A file whose reads are done by threads.
struct Disk {
    file: Arc<File>,
    reads: Sender<Read>,
    done: Receiver<(DiskTag, bool, AlignedBuffer)>,
    in_flight: usize,
    bytes_read: u64,
}

impl Disk {
    fn open(path: &str, anew: bool, threads: usize) -> Self {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(anew).custom_flags(O_DIRECT).open(path).unwrap();
        let file = Arc::new(file);
        let (reads, queue) = channel::<Read>();
        let (finished, done) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads {
            let (queue, finished, file) = (Arc::clone(&queue), finished.clone(), Arc::clone(&file));
            std::thread::spawn(move || {
                loop {
                    let next = queue.lock().unwrap().recv();
                    let Ok((tag, offset, mut buffer)) = next else { return };
                    let read = file.read_exact_at(&mut buffer, offset).is_ok();
                    if finished.send((tag, read, buffer)).is_err() {
                        return;
                    }
                }
            });
        }
        Self { file, reads, done, in_flight: 0, bytes_read: 0 }
    }

    /// Passes requests on and brings completions, until the engine waits for nothing.
    fn serve(&mut self, engine: &mut Engine, clock: &Clock) {
        loop {
            let requests: Vec<(DiskTag, DiskRequest)> = engine.take_requests().collect();
            let idle = requests.is_empty();
            for (tag, request) in requests {
                let (result, buffer) = match request {
                    DiskRequest::Read { offset, buffer, .. } => {
                        self.in_flight += 1;
                        self.bytes_read += buffer.len() as u64;
                        self.reads.send((tag, offset, buffer)).unwrap();
                        continue;
                    }
                    DiskRequest::Write { offset, source: WriteSource::Owned(buffer, length), .. } => {
                        (self.file.write_all_at(&buffer[..length], offset), Some(buffer))
                    }
                    DiskRequest::Write { offset, source: WriteSource::Shared(buffer, range), .. } => {
                        (self.file.write_all_at(&buffer[range], offset), None)
                    }
                    DiskRequest::Sync { .. } => (self.file.sync_data(), None),
                    DiskRequest::Extend { length, .. } => (self.file.set_len(length), None),
                    DiskRequest::Populate { buffer } => (Ok(()), Some(buffer)),
                    DiskRequest::Compute { .. } | DiskRequest::ReplaceBlob { .. } => unreachable!("the engine has neither"),
                };
                let result = result.map_err(|error| DiskError::Device { code: error.raw_os_error().unwrap_or(0) });
                engine.complete(clock.now(), DiskCompletion { tag, result, buffer });
            }
            if idle && self.in_flight == 0 {
                return;
            }
            if idle {
                let (tag, read, buffer) = self.done.recv().unwrap();
                self.in_flight -= 1;
                let result = if read { Ok(()) } else { Err(DiskError::Device { code: 5 }) };
                engine.complete(clock.now(), DiskCompletion { tag, result, buffer: Some(buffer) });
            }
        }
    }

    fn length(&self) -> u64 {
        self.file.metadata().unwrap().len()
    }

    /// Reads the first `bytes` of the file in order, a mebibyte at a time with some ahead: what the device can do.
    fn sequential(&mut self, bytes: u64) -> Duration {
        const PIECE: u64 = 1 << 20;
        let started = Instant::now();
        let (mut next, mut pool) = (0, Vec::new());
        while next < bytes || self.in_flight > 0 {
            while next < bytes && self.in_flight < 16 {
                let buffer = pool.pop().unwrap_or_else(|| AlignedBuffer::zeroed(PIECE as usize));
                self.reads.send((DiskTag(0), next, buffer)).unwrap();
                self.in_flight += 1;
                next += PIECE;
            }
            pool.push(self.done.recv().unwrap().2);
            self.in_flight -= 1;
        }
        started.elapsed()
    }

    /// Takes the checkpoints away by blanking the headers of their segments.
    fn forget_checkpoints(&self) {
        let mut block = AlignedBuffer::zeroed(BLOCK_BYTES);
        let blank = AlignedBuffer::zeroed(BLOCK_BYTES);
        for offset in (0..self.length()).step_by(SEGMENT_BYTES as usize) {
            self.file.read_exact_at(&mut block, offset).unwrap();
            if block.starts_with(b"TARNSEG1") && block[14] == 3 {
                self.file.write_all_at(&blank, offset).unwrap();
            }
        }
    }
}

struct Clock(Instant);

impl Clock {
    fn now(&self) -> Now {
        let us = self.0.elapsed().as_micros() as u64 + 1;
        Now { monotonic_us: us, wall_us: us as i64 + 1_000_000_000_000 }
    }
}

struct Bench {
    disk: Disk,
    clock: Clock,
    stable: Mirror,
    rows: u64,
}

impl Bench {
    fn config(&self) -> Config {
        Config::new(1, 0, self.disk.length(), 64 << 30, 1 << 30)
    }

    fn open(&mut self) -> Engine {
        let tables = BTreeMap::from([(TABLE, Sequence(0))]);
        Engine::open(self.config(), Box::new(self.stable.clone()), &tables, self.clock.now()).unwrap()
    }

    fn write(&mut self, engine: &mut Engine, numbers: impl Iterator<Item = u64>) {
        let mut batch = WriteBatch::new();
        for (step, number) in numbers.enumerate() {
            let partition = number.to_be_bytes();
            batch.clear();
            let key = Key { table: TABLE, token: token(number), partition: &partition, clustering: &[] };
            batch.put(&key, Kind::Live, &[7; ROW_BYTES]).unwrap();
            loop {
                match engine.apply(self.clock.now(), &batch) {
                    Ok(_) => break,
                    Err(WriteError::Busy) => {}
                    Err(WriteError::Miss(miss)) => engine.fetch(&miss, 1),
                    Err(error) => panic!("{error}"),
                }
                engine.tick(self.clock.now());
                self.disk.serve(engine, &self.clock);
            }
            engine.finish(1);
            if step.is_multiple_of(64) {
                engine.tick(self.clock.now());
                self.disk.serve(engine, &self.clock);
            }
        }
    }

    fn restart(&mut self, what: &str) -> Engine {
        self.disk.bytes_read = 0;
        let (started, on_core) = (Instant::now(), on_core_ns());
        let mut engine = self.open();
        self.disk.serve(&mut engine, &self.clock);
        let (elapsed, on_core) = (started.elapsed(), on_core_ns() - on_core);
        assert!(engine.is_ready(), "{:?}", engine.recovery_error());
        assert!(self.rows == 0 || engine.stats().rows == self.rows, "every row is back");
        let (progress, read) = (engine.recovery_progress(), self.disk.bytes_read);
        println!(
            "{what:<28} {:>6.2} s ({:>5.2} s on the core): {:>9} rows from a checkpoint, {:>9} records read, {:>6.0} MiB at {:>6.0} MiB/s",
            elapsed.as_secs_f64(),
            on_core as f64 / 1e9,
            progress.checkpoint_rows.unwrap_or(0),
            progress.records,
            read as f64 / f64::from(1 << 20),
            read as f64 / f64::from(1 << 20) / elapsed.as_secs_f64(),
        );
        engine
    }

    fn shut_down(&mut self, mut engine: Engine) {
        let started = Instant::now();
        engine.shutdown();
        while !engine.is_clean() {
            engine.tick(self.clock.now());
            self.disk.serve(&mut engine, &self.clock);
        }
        println!("{:<28} {:>6.2} s", "shutdown", started.elapsed().as_secs_f64());
    }
}

/// Time of this thread on a core, where Linux tells it: on a busy machine it says more than the wall's.
fn on_core_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn token(number: u64) -> Token {
    let mut word = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    Token((word ^ (word >> 31)) as i64)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| panic!("which file?"));
    let rows = arguments.next();
    let scan = rows.as_deref() == Some("scan");
    let rows: u64 = rows.filter(|_| !scan).map_or(10_000_000, |text| text.parse().unwrap());
    let threads: usize = arguments.next().map_or(16, |text| text.parse().unwrap());
    let stable = Mirror(Arc::new(Mutex::new(vec![0; 3 * SEGMENT_BYTES as usize])));
    let mut bench = Bench { disk: Disk::open(&path, !scan, threads), clock: Clock(Instant::now()), stable, rows: 0 };
    if scan {
        bench.disk.forget_checkpoints();
        bench.restart("without a checkpoint");
        return;
    }
    let mut engine = bench.open();
    bench.disk.serve(&mut engine, &bench.clock);
    let started = Instant::now();
    // The rest is nearly as much as the log may grow by until the next checkpoint.
    bench.rows = rows / 100 * 77;
    bench.write(&mut engine, 0..bench.rows);
    println!("{:<28} {:>6.2} s, {} checkpoints", "load", started.elapsed().as_secs_f64(), engine.stats().checkpoints);
    bench.shut_down(engine);
    let mut engine = bench.restart("after a clean stop");
    bench.write(&mut engine, bench.rows..rows);
    bench.rows = rows;
    assert_eq!(engine.stats().checkpoints, 0, "the log since the checkpoint is at its longest");
    drop(engine);
    let engine = bench.restart("after the process has died");
    bench.shut_down(engine);
    let engine = bench.restart("after a clean stop");
    drop(engine);
    for _ in 0..2 {
        bench.disk.forget_checkpoints();
        let engine = bench.restart("without a checkpoint");
        drop(engine);
    }
    let bytes = bench.disk.bytes_read / SEGMENT_BYTES * SEGMENT_BYTES;
    let elapsed = bench.disk.sequential(bytes).as_secs_f64();
    println!("{:<28} {:>6.2} s: {:.0} MiB/s", "as many bytes in order", elapsed, bytes as f64 / f64::from(1 << 20) / elapsed);
}
