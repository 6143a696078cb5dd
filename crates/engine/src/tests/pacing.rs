//! A writer at full speed against a device that is nearly full and not fast, in turns of a fake clock: it gets slower the fuller the device is,
//! bit by bit, and never stands still.

use super::shard::{Shard, config, key};
use crate::{Kind, WriteBatch, WriteError};

const SEGMENT: u32 = 64 << 10;
const CAPACITY: u64 = 128;
/// Rows that fill what records can use.
const ROWS: u64 = (CAPACITY - 11) * (SEGMENT as u64 - 4096) / 256;
/// Requests that the device does in a turn, far less than the writer would need.
const REQUESTS_A_TURN: usize = 3;
/// Rows that the writer has ready for a turn: half a segment.
const ROWS_A_TURN: u64 = 128;
/// Turns in a window.
const WINDOW: usize = 30;

/// A device with so many percent of it live, written over once.
fn filled(fill: u64) -> (Shard, u64) {
    let mut shard = Shard::new(config(SEGMENT, CAPACITY, 4 << 20));
    let rows = ROWS * fill / 100;
    for write in 0..2 * rows {
        let number = if write < rows { write } else { shard.rng.below(rows) };
        shard.put(number, &[1; 216]).unwrap();
    }
    (shard, rows)
}

/// How many rows a window takes. Of ten rows `new` are new, the others uniform overwrites.
fn window(shard: &mut Shard, rows: &mut u64, new: u64) -> u64 {
    let (mut taken, mut batch) = (0, WriteBatch::new());
    for _ in 0..WINDOW {
        for _ in 0..REQUESTS_A_TURN {
            shard.disk_step();
        }
        shard.now.monotonic_us += 1000;
        shard.engine.tick(shard.now);
        for _ in 0..ROWS_A_TURN {
            let is_new = shard.rng.below(10) < new;
            let number = if is_new { *rows } else { shard.rng.below(*rows) };
            batch.clear();
            batch.put(&key(&number.to_be_bytes(), number), Kind::Live, &[2; 216]).unwrap();
            match shard.engine.apply(shard.now, &batch) {
                Ok(_) => {
                    taken += 1;
                    *rows += u64::from(is_new);
                }
                // The row that is there has to be read first: another one will do.
                Err(WriteError::Miss(_)) => {}
                Err(WriteError::Busy) => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
    taken
}

#[test]
fn a_writer_at_full_speed_slows_down_smoothly() {
    let mut before = WINDOW as u64 * ROWS_A_TURN;
    for fill in [60, 75, 85, 90] {
        let (mut shard, mut rows) = filled(fill);
        let windows: Vec<u64> = (0..60).map(|_| window(&mut shard, &mut rows, 0)).skip(10).collect();
        let mean = windows.iter().sum::<u64>() / windows.len() as u64;
        let (least, most) = (*windows.iter().min().unwrap(), *windows.iter().max().unwrap());
        println!("{fill} % fill: {mean} rows a window, {least} to {most}");
        assert!(least * 2 > mean && most < mean * 2, "{least} to {most} rows a window, {mean} on average, at {fill} % fill: {windows:?}");
        assert!(mean < before && mean * 4 > before.min(1200), "{mean} rows a window at {fill} % fill, {before} at the fill before");
        before = mean;
    }
}

#[test]
fn a_nearly_full_device_slows_its_writer_gradually() {
    let (mut shard, mut rows) = filled(50);
    let mut windows = Vec::new();
    while rows < ROWS * 9 / 10 {
        windows.push(window(&mut shard, &mut rows, 3));
        assert!(windows.len() < 2000, "the writer stands still at {rows} of {ROWS} rows: {windows:?}");
    }
    // The first windows empty what was in store.
    let falls = windows[5..].windows(2).filter(|pair| pair[1] * 2 < pair[0]).count();
    println!("{windows:?}");
    assert!(falls == 0 && !windows.contains(&0), "from one window to the next the writer was halved {falls} times: {windows:?}");
}
