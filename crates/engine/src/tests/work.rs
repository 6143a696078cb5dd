//! Behaviour that takes some work to see: reclaiming, caching, wide partitions, shared tokens.

mod caching;
mod reclaiming;

use super::shard::{Shard, TABLE, config, key};
use crate::write::RESERVE_PUT;
use crate::{CachePolicy, Config, Direction, Key, Kind, OpenError, PartitionScan, ReadError, WriteBatch};
use base::{BLOCK_BYTES, TableId, Token};
use io::DiskRequest;
use std::collections::BTreeMap;
use std::ops::Bound;

const SEGMENT: u32 = 32 << 10;

#[test]
fn a_million_rows_in_one_partition_stay_fast() {
    let mut shard = Shard::new(config(1 << 20, 256, 256 << 20));
    let token = Token(77);
    let rows = 1_000_000u64;
    let mut batch = WriteBatch::new();
    for chunk in 0..rows / 1000 {
        batch.clear();
        for step in 0..1000 {
            // Neither rising nor falling: every part of the map is split.
            let number = (chunk * 1000 + step).wrapping_mul(7919) % rows;
            let clustering = number.to_be_bytes();
            let key = Key { table: TABLE, token, partition: b"wide", clustering: &clustering };
            batch.put(&key, Kind::Live, &number.to_le_bytes()).unwrap();
        }
        shard.write(&batch).unwrap();
        shard.turn();
    }
    assert_eq!(shard.read(|engine| engine.partition_rows(TABLE, token, b"wide", CachePolicy::Bypass)), Ok(rows as usize));
    let per_row = shard.engine.stats().index_bytes as f64 / rows as f64;
    println!("{per_row:.1} bytes of index a row of a wide partition with keys of 8 bytes");
    assert!(per_row < 48.0, "{per_row:.1} bytes a row");
    for direction in [Direction::Forward, Direction::Backward] {
        let (low, high) = (500_000u64.to_be_bytes(), 500_099u64.to_be_bytes());
        let scan = PartitionScan {
            table: TABLE,
            token,
            partition: b"wide",
            from: Bound::Included(&low),
            to: Bound::Included(&high),
            direction,
            policy: CachePolicy::Keep,
            read_ahead: 100,
        };
        let found = shard
            .read(|engine| {
                let mut cursor = engine.scan_partition(&scan)?;
                let mut found = Vec::new();
                while let Some((clustering, row)) = cursor.next()? {
                    assert_eq!(clustering.iter().rev().copied().collect::<Vec<u8>>(), row.bytes);
                    found.push(u64::from_be_bytes(clustering.try_into().unwrap()));
                }
                Ok(found)
            })
            .unwrap();
        let mut expected: Vec<u64> = (500_000..500_100).collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        assert_eq!(found, expected);
    }
    let mut shard = shard.restart();
    assert_eq!(shard.read(|engine| engine.partition_rows(TABLE, token, b"wide", CachePolicy::Bypass)), Ok(rows as usize));
}

#[test]
fn partitions_that_share_a_token_are_told_apart() {
    let mut shard = Shard::new(config(SEGMENT, 64, (600 << 10) + 6 * SEGMENT as usize));
    let name = |number: u32| format!("key {number:05}").into_bytes();
    for number in 0..500u32 {
        let partition = name(number * 7919 % 500);
        let mut batch = WriteBatch::new();
        let key = Key { table: TABLE, token: Token(3), partition: &partition, clustering: &[] };
        batch.put(&key, Kind::Live, &vec![number as u8; 300]).unwrap();
        shard.write(&batch).unwrap();
    }
    for _ in 0..2 {
        shard.settle();
        let all = shard.all();
        assert_eq!(all.len(), 500);
        assert!(all.is_sorted());
        for number in 0..500u32 {
            let partition = name(number);
            let key = Key { table: TABLE, token: Token(3), partition: &partition, clustering: &[] };
            let found = shard.read(|engine| Ok(engine.get(&key, CachePolicy::Keep)?.map(|row| row.bytes[0])));
            assert!(found.unwrap().is_some());
        }
        assert_eq!(shard.engine.has_partition(TABLE, Token(3), b"another", CachePolicy::Keep), Ok(false));
        shard = shard.restart();
    }
}

#[test]
fn group_commit_makes_writes_durable_on_request() {
    let mut shard = Shard::new(config(SEGMENT, 16, 1 << 20));
    let sequence = shard.put(1, b"row").unwrap();
    assert!(shard.engine.durable_sequence() < sequence);
    shard.engine.request_flush();
    shard.engine.tick(shard.now);
    while shard.disk_step() {}
    assert_eq!(shard.engine.durable_sequence(), sequence);
}

#[test]
fn many_writers_share_the_syncs_that_they_wait_for() {
    let mut shard = Shard::new(config(SEGMENT, 64, 1 << 20));
    let (turns, writers) = (50u64, 40u64);
    let before = shard.engine.stats().syncs;
    for turn in 0..turns {
        // Each writer asks for a flush after its write, and all wait for the device.
        for writer in 0..writers {
            let sequence = shard.put(turn * writers + writer, b"row").unwrap();
            shard.engine.request_flush();
            assert!(shard.engine.durable_sequence() < sequence);
        }
        shard.engine.tick(shard.now);
        // Writers that come while a cycle is under way wait for the next one, all for the same.
        for late in 0..writers {
            shard.put(1_000_000 + turn * writers + late, b"late").unwrap();
            shard.engine.request_flush();
            shard.engine.tick(shard.now);
        }
        let last = shard.put(2_000_000 + turn, b"last").unwrap();
        shard.engine.request_flush();
        while shard.engine.durable_sequence() < last {
            shard.turn();
        }
    }
    let stats = shard.engine.stats();
    let (syncs, rows) = (stats.syncs - before, stats.rows_written);
    assert_eq!(rows, turns * (2 * writers + 1));
    // Sealed segments may add a cycle now and then.
    assert!(syncs <= 3 * turns, "{syncs} syncs for {rows} writes");
}

#[test]
fn many_reads_at_once_do_not_fill_the_index() {
    let mut shard = Shard::new(config(SEGMENT, 256, 1 << 20));
    for number in 0..4000 {
        shard.put(number, &[1; 900]).unwrap();
    }
    shard.settle();
    let mut waiters = 0;
    for number in (0..4000u64).step_by(8) {
        let name = number.to_be_bytes();
        if let Err(ReadError::Miss(miss)) = shard.engine.get(&key(&name, number), CachePolicy::Bypass) {
            shard.engine.fetch(&miss, (1 << 40) + number);
            waiters += 1;
        }
    }
    assert!(waiters > 256 && shard.engine.stats().memory_bytes > 1 << 20, "{waiters} reads are under way");
    assert!(!shard.engine.index_is_full());
    shard.settle();
    (0..4000u64).step_by(8).for_each(|number| shard.engine.finish((1 << 40) + number));
    shard.put(1 << 30, b"a new key").unwrap();
}

#[test]
fn a_flood_of_equal_tokens_does_not_slow_down_its_neighbours() {
    // Ten thousand keys of one token in the middle of a slot, and others around them: linear work at each would take minutes.
    let mut shard = Shard::new(config(1 << 20, 64, 64 << 20));
    let mut batch = WriteBatch::new();
    for number in 0..10_000u64 {
        let name = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
        batch.clear();
        batch.put(&Key { table: TABLE, token: Token(1 << 30), partition: &name, clustering: &[] }, Kind::Live, b"flood").unwrap();
        shard.write(&batch).unwrap();
    }
    for number in 0..100u64 {
        let name = number.to_be_bytes();
        let token = Token((1 << 30) - 50 + number as i64);
        let key = Key { table: TABLE, token, partition: &name, clustering: &[] };
        batch.clear();
        batch.put(&key, Kind::Live, b"neighbour").unwrap();
        shard.write(&batch).unwrap();
    }
    for _ in 0..5000 {
        for number in 0..100u64 {
            let name = number.to_be_bytes();
            let key = Key { table: TABLE, token: Token((1 << 30) - 50 + number as i64), partition: &name, clustering: &[] };
            assert_eq!(shard.engine.get(&key, CachePolicy::Keep).unwrap().map(|row| row.bytes), Some(&b"neighbour"[..]));
        }
    }
    assert_eq!(shard.all().len(), 10_100);
}

#[test]
fn an_index_that_fills_the_memory_refuses_new_rows_only() {
    let mut shard = Shard::new(config(SEGMENT, 2000, 1 << 20));
    let mut rows = 0;
    let refused = loop {
        match shard.put(rows, b"row") {
            Ok(_) => rows += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, crate::WriteError::IndexFull { .. }), "{refused}");
    shard.settle();
    // The last row may have made a slot grow.
    assert!(shard.engine.stats().memory_bytes <= (1 << 20) + 4096, "{} bytes", shard.engine.stats().memory_bytes);
    shard.put(5, b"overwritten").unwrap();
    assert_eq!(shard.get(5), Ok(Some(b"overwritten".to_vec())));
    assert_eq!(shard.get(rows - 1), Ok(Some(b"row".to_vec())));
    let mut shard = shard.restart();
    assert_eq!(shard.all().len() as u64, rows);
}
