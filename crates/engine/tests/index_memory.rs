//! What a single-row record and a row of a time series cost in DRAM, by the engine's own account and by the allocator's.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(unsafe_code, reason = "counting allocations takes an allocator")]

use base::{Rng, TableId, Token};
use engine::{Config, Engine, Key, Kind, Sequence, WriteBatch, WriteError};
use io::{DiskCompletion, DiskRequest, DiskTag, Now, StableMemory, WriteSource};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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

fn serve(engine: &mut Engine, now: Now) {
    loop {
        let requests: Vec<(DiskTag, DiskRequest)> = engine.take_requests().collect();
        if requests.is_empty() {
            return;
        }
        for (tag, request) in requests {
            let buffer = match request {
                DiskRequest::Read { buffer, .. } | DiskRequest::Write { source: WriteSource::Owned(buffer, _), .. } => Some(buffer),
                _ => None,
            };
            engine.complete(now, DiskCompletion { tag, result: Ok(()), buffer });
        }
    }
}

/// The allocator's account is of the whole process: one test at a time.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn a_row_of_a_time_series_costs_at_most_2_bytes_all_in() {
    let _alone = ALONE.lock().unwrap();
    let config = Config { segment_bytes: 256 << 10, ..Config::new(1, 0, 0, 128 << 20, 256 << 20) };
    let stable = Box::new(Mirror(vec![0; config.stable_bytes(3)]));
    let mut now = Now { monotonic_us: 0, wall_us: 0 };
    let table = TableId(1);
    let mut engine = Engine::open(config, stable, &BTreeMap::from([(table, Sequence(0))]), now).unwrap();
    serve(&mut engine, now);
    let before = ALLOCATED.load(Ordering::Relaxed);
    let frames_before = engine.stats().frame_bytes as usize;

    let rows = 600_000u64;
    let mut rng = Rng::new(3);
    let mut batch = WriteBatch::new();
    for first in (0..rows).step_by(500) {
        batch.clear();
        for number in first..first + 500 {
            let (clustering, mut row) = (number.to_be_bytes(), [0; 40]);
            rng.fill(&mut row[..8]);
            batch.put(&Key { table, token: Token(5), partition: b"series", clustering: &clustering }, Kind::Live, &row).unwrap();
        }
        while let Err(error) = engine.apply(now, &batch) {
            assert_eq!(error, WriteError::Busy);
            now.monotonic_us += 1_000;
            engine.tick(now);
            serve(&mut engine, now);
        }
        now.monotonic_us += 1_000;
        engine.tick(now);
        serve(&mut engine, now);
    }
    for _ in 0..1000 {
        now.monotonic_us += 1_000;
        engine.tick(now);
        serve(&mut engine, now);
    }
    drop(batch);

    let stats = engine.stats();
    assert_eq!(stats.rows, rows);
    let accounted = stats.index_bytes as f64 / rows as f64;
    let measured = (ALLOCATED.load(Ordering::Relaxed) + frames_before - before - stats.frame_bytes as usize) as f64 / rows as f64;
    println!("{accounted:.2} bytes a row of a series accounted, {measured:.2} allocated");
    assert!(accounted <= 2.0, "{accounted:.2} bytes a row by the engine's account");
    assert!(measured <= 2.0, "{measured:.2} bytes a row by the allocator's");
}

#[test]
fn a_single_row_record_costs_at_most_32_bytes_all_in() {
    let _alone = ALONE.lock().unwrap();
    let config = Config { segment_bytes: 1 << 20, ..Config::new(1, 0, 0, 1 << 30, 256 << 20) };
    let stable = Box::new(Mirror(vec![0; config.stable_bytes(3)]));
    let mut now = Now { monotonic_us: 0, wall_us: 0 };
    let table = TableId(1);
    let mut engine = Engine::open(config, stable, &BTreeMap::from([(table, Sequence(0))]), now).unwrap();
    serve(&mut engine, now);
    let before = ALLOCATED.load(Ordering::Relaxed);
    let frames_before = engine.stats().frame_bytes as usize;

    let rows = 400_000u64;
    let mut rng = Rng::new(3);
    let mut batch = WriteBatch::new();
    for number in 0..rows {
        batch.clear();
        let partition = number.to_le_bytes();
        batch.put(&Key { table, token: Token(rng.next_u64() as i64), partition: &partition, clustering: &[] }, Kind::Live, b"row").unwrap();
        while let Err(error) = engine.apply(now, &batch) {
            assert_eq!(error, WriteError::Busy);
            now.monotonic_us += 1_000;
            engine.tick(now);
            serve(&mut engine, now);
        }
    }
    now.monotonic_us += 1_000_000;
    engine.tick(now);
    serve(&mut engine, now);
    drop(batch);

    let stats = engine.stats();
    assert_eq!(stats.rows, rows);
    let accounted = stats.index_bytes as f64 / rows as f64;
    let frames = stats.frame_bytes as usize - frames_before;
    let measured = (ALLOCATED.load(Ordering::Relaxed) - before - frames) as f64 / rows as f64;
    println!("{accounted:.1} bytes a row accounted, {measured:.1} allocated");
    assert!(accounted <= 32.0, "{accounted:.1} bytes a row by the engine's account");
    assert!(measured <= 32.0, "{measured:.1} bytes a row by the allocator's");
}
