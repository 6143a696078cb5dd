//! Behaviour that takes some work to see: reclaiming, caching, wide partitions, shared tokens.

use super::shard::{Shard, TABLE, config, key};
use crate::write::RESERVE_PUT;
use crate::{CachePolicy, Config, Direction, Key, Kind, OpenError, PartitionScan, ReadError, WriteBatch};
use base::{BLOCK_BYTES, TableId, Token};
use io::DiskRequest;
use std::collections::BTreeMap;
use std::ops::Bound;

const SEGMENT: u32 = 32 << 10;

#[test]
fn uniform_overwrites_at_half_fill_are_amplified_less_than_twice() {
    for (fill, least) in [(50u64, 2.0), (75, 3.5)] {
        let (segment, capacity) = (64 << 10, 256u64);
        let mut shard = Shard::new(config(segment, capacity, 16 << 20));
        // Of what records can use: with segments of 8 MiB headers and the reserve are one or two hundredths, here they are an eighth.
        let rows = (capacity - 19) * u64::from(segment - 4096) * fill / 100 / 256;
        for number in 0..rows {
            shard.put(number, &[1; 216]).unwrap();
        }
        let overwrite = |shard: &mut Shard, times: u64| {
            for _ in 0..times * rows {
                let number = shard.rng.below(rows);
                shard.put(number, &[2; 216]).unwrap();
                if number.is_multiple_of(16) {
                    shard.turn();
                }
            }
        };
        overwrite(&mut shard, 2);
        let before = shard.engine.stats();
        overwrite(&mut shard, 2);
        let after = shard.engine.stats();
        let user = (after.user_bytes - before.user_bytes) as f64;
        let amplification = (user + (after.defrag_bytes - before.defrag_bytes) as f64) / user;
        println!("write amplification at {fill} % fill: {amplification:.2}");
        assert!(amplification < least, "{amplification:.2} at {fill} % fill");
        assert_eq!(shard.all().len() as u64, rows);
    }
}

#[test]
fn purged_tombstones_stay_away_after_a_restart() {
    let mut shard = Shard::new(config(SEGMENT, 32, 1 << 20));
    for number in 0..2000 {
        shard.put(number, &[1; 40]).unwrap();
    }
    for number in 0..2000 {
        shard.remove(number).unwrap();
    }
    assert_eq!(shard.engine.stats().rows, 2000);
    shard.now.wall_us += 10_000_000;
    // Some other rows, so that the segments with the tombstones are full.
    for number in 10_000..10_100 {
        shard.put(number, &[1; 400]).unwrap();
    }
    for _ in 0..20 {
        shard.settle();
    }
    assert!(shard.engine.stats().rows < 600, "{} rows are left", shard.engine.stats().rows);
    let mut shard = shard.restart();
    assert_eq!(shard.all().len(), 100);
}

/// Live records are gathered while space is short, and no writer comes: what waits to be purged does not wait for one, whether the records fill a segment or not.
#[test]
fn tombstones_are_purged_without_writers_while_space_is_short() {
    for overwritten in [10, 15] {
        let mut shard = Shard::new(config(SEGMENT, 64, 2 << 20));
        // As long as the oldest rows stay where they are, there may be rows that are older than a tombstone.
        for number in 0..100 {
            shard.put(number, &[1; 500]).unwrap();
        }
        for number in 1000..7000 {
            shard.put(number, &[1; 40]).unwrap();
        }
        let purge_after_s = shard.now.wall_s() + 5;
        for number in 1000..7000 {
            shard.put_as(Kind::Tombstone { purge_after_s }, number, b"").unwrap();
        }
        let mut number = 10_000;
        while !shard.engine.is_short_of_space() || shard.engine.segments.free_count() > RESERVE_PUT + 3 {
            shard.put(number, &[1; 500]).unwrap();
            number += 1;
        }
        for number in 10_000..10_000 + overwritten {
            shard.put(number, &[2; 500]).unwrap();
        }
        shard.settle();
        assert!(shard.engine.is_short_of_space() && shard.engine.stats().rows_purged == 0, "{overwritten} are overwritten");
        shard.now.wall_us += 10_000_000;
        shard.now.monotonic_us += 10_000_000;
        shard.settle();
        let stats = shard.engine.stats();
        assert!(stats.rows_purged > 4000, "{overwritten} are overwritten: {stats:?}");
    }
}

#[test]
fn a_tombstone_is_kept_until_its_time() {
    let mut shard = Shard::new(config(SEGMENT, 16, 1 << 20));
    shard.put(1, b"row").unwrap();
    let mut batch = WriteBatch::new();
    let purge_after_s = shard.now.wall_s() + 100;
    batch.remove(&key(&1u64.to_be_bytes(), 1), purge_after_s).unwrap();
    shard.write(&batch).unwrap();
    for round in 0..40 {
        for number in 100..200 {
            shard.put(number, &[round; 300]).unwrap();
        }
    }
    shard.settle();
    let partition = 1u64.to_be_bytes();
    let kind = shard.read(|engine| Ok(engine.get(&key(&partition, 1), CachePolicy::Keep)?.map(|row| row.kind))).unwrap();
    assert_eq!(kind, Some(Kind::Tombstone { purge_after_s }));
}

#[test]
fn memory_for_the_next_frame_is_there_before_it_is_wanted() {
    let frames = |shard: &Shard| shard.engine.stats().frame_bytes / u64::from(SEGMENT);
    let mut shard = Shard::new(config(SEGMENT, 256, 2 << 20));
    shard.settle();
    assert_eq!(frames(&shard), 0, "nothing is wanted yet");
    shard.put(0, &[1; 500]).unwrap();
    shard.settle();
    assert_eq!((shard.engine.memory.pool_len(), frames(&shard)), (1, 2));
    for number in 0..5000 {
        shard.put(number, &[1; 500]).unwrap();
        let stats = shard.engine.stats();
        assert!(stats.memory_bytes <= (2 << 20) + 2 * u64::from(SEGMENT), "{} bytes", stats.memory_bytes);
    }
}

#[test]
fn what_is_read_again_stays_in_memory() {
    let mut shard = Shard::new(config(SEGMENT, 256, (600 << 10) + 16 * SEGMENT as usize));
    let rows = 8000u64;
    for number in 0..rows {
        shard.put(number, &[1; 400]).unwrap();
    }
    shard.settle();
    let limit = shard.config.memory_limit_bytes as u64;
    // A hot set that fits, read again and again among cold reads.
    let mut reads = 0;
    for round in 0..60u64 {
        let before = shard.engine.stats().device_reads;
        for number in 0..200 {
            assert_eq!(shard.get(number).unwrap().map(|row| row.len()), Some(400));
        }
        if round >= 10 {
            reads += shard.engine.stats().device_reads - before;
        }
        for _ in 0..40 {
            let number = shard.rng.below(rows);
            shard.get(number).unwrap();
        }
        shard.turn();
        let stats = shard.engine.stats();
        assert!(stats.memory_bytes < limit + u64::from(SEGMENT), "{} bytes with a limit of {limit}", stats.memory_bytes);
    }
    let share = reads as f64 / (50.0 * 200.0);
    assert!(share < 0.05, "{:.1} % of the hot reads went to the device", share * 100.0);
}

#[test]
fn a_record_is_read_in_the_units_that_the_device_has() {
    for unit in [512, 1024, BLOCK_BYTES] {
        let mut shard = Shard::new(Config { read_unit: unit, ..config(SEGMENT, 256, 16 * SEGMENT as usize) });
        for number in 0..4000 {
            shard.put(number, &[1; 400]).unwrap();
        }
        shard.settle();
        let (mut waiter, mut reads) = (0, 0);
        for number in 0..500u64 {
            let Err(ReadError::Miss(miss)) = shard.engine.get(&key(&number.to_be_bytes(), number), CachePolicy::Keep).map(|_| ()) else {
                continue;
            };
            shard.engine.fetch(&miss, waiter);
            for (_, request) in shard.engine.take_requests() {
                let DiskRequest::Read { offset, buffer, .. } = request else { continue };
                // The record is of 448 bytes, header and key included.
                assert!(buffer.len() <= 448usize.next_multiple_of(unit) + unit, "{} bytes in units of {unit}", buffer.len());
                assert!(offset.is_multiple_of(unit as u64) && buffer.len().is_multiple_of(unit));
                reads += 1;
            }
            waiter += 1;
        }
        assert!(reads > 100, "{reads} of them were on the device");
    }
}

#[test]
fn a_scan_leaves_the_cache_as_it_is() {
    let mut shard = Shard::new(config(SEGMENT, 256, (600 << 10) + 16 * SEGMENT as usize));
    for number in 0..4000 {
        shard.put(number, &[1; 400]).unwrap();
    }
    shard.settle();
    for _ in 0..3 {
        for number in 0..200 {
            shard.get(number).unwrap();
        }
    }
    let before = shard.engine.stats();
    assert_eq!(shard.all().len(), 4000);
    let after_scan = shard.engine.stats();
    assert_eq!(after_scan.cache_inserts, before.cache_inserts);
    for number in 0..200 {
        shard.get(number).unwrap();
    }
    assert_eq!(shard.engine.stats().device_reads, after_scan.device_reads, "the hot rows are still in memory");
}

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
fn a_dropped_table_gives_its_space_back() {
    let mut shard = Shard::new(config(SEGMENT, 24, 1 << 20));
    for round in 0..5 {
        for number in 0..400 {
            shard.put(number, &[round; 900]).unwrap();
        }
        let mark = shard.engine.truncate(TABLE);
        assert_eq!(shard.all().len(), 0);
        shard.tables.insert(TABLE, mark);
        shard.engine.truncation_persisted(TABLE);
        shard.settle();
        assert_eq!(shard.engine.stats().live_bytes, 0);
        assert_eq!(shard.engine.stats().rows, 0);
    }
    shard.engine.drop_table(TABLE);
    shard.settle();
    assert!(shard.engine.stats().index_bytes < 1000, "{} bytes of index are left", shard.engine.stats().index_bytes);
}

/// Rows of a table, and then the shard opened by somebody who does not know that table; after a clean end if `checkpoint`.
fn opened_without_the_table(next_table: u32, checkpoint: bool) -> Shard {
    let mut shard = Shard::new(config(SEGMENT, 24, 1 << 20));
    for number in 0..50 {
        shard.put(number, &[1; 900]).unwrap();
    }
    if checkpoint {
        shard.shut_down();
    }
    let Shard { engine, disk, stable, config, .. } = shard;
    drop(engine);
    Shard::over_tables(Config { next_table: TableId(next_table), ..config }, disk, stable, BTreeMap::new())
}

#[test]
fn rows_of_a_table_that_nobody_knows_are_kept() {
    for checkpoint in [false, true] {
        let shard = opened_without_the_table(TABLE.0, checkpoint);
        assert_eq!(shard.engine.recovery_error(), Some(&OpenError::UnknownTables { tables: vec![TABLE], records: 50 }));
        let Shard { engine, disk, stable, config, .. } = shard;
        drop(engine);
        let mut shard = Shard::over(config, disk, stable);
        assert_eq!(shard.all().len(), 50, "nothing was purged");
    }
}

#[test]
fn rows_of_a_table_that_was_dropped_are_dead() {
    for checkpoint in [false, true] {
        let shard = opened_without_the_table(TABLE.0 + 1, checkpoint);
        assert!(shard.engine.is_ready());
        assert_eq!(shard.engine.stats().live_bytes, 0);
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
fn neighbours_are_read_together() {
    let mut shard = Shard::new(config(SEGMENT, 256, (320 << 10) + 6 * SEGMENT as usize));
    let mut batch = WriteBatch::new();
    for number in 0..1000u64 {
        let clustering = number.to_be_bytes();
        batch.clear();
        batch.put(&Key { table: TABLE, token: Token(9), partition: b"series", clustering: &clustering }, Kind::Live, &[7; 100]).unwrap();
        shard.write(&batch).unwrap();
    }
    for number in 0..1000 {
        shard.put(number, &[1; 400]).unwrap();
    }
    shard.settle();
    let before = shard.engine.stats();
    let scan = PartitionScan {
        table: TABLE,
        token: Token(9),
        partition: b"series",
        from: Bound::Unbounded,
        to: Bound::Unbounded,
        direction: Direction::Forward,
        policy: CachePolicy::Bypass,
        read_ahead: 256,
    };
    let count = shard.read(|engine| {
        let mut cursor = engine.scan_partition(&scan)?;
        let mut count = 0;
        while cursor.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    });
    assert_eq!(count, Ok(1000));
    let after = shard.engine.stats();
    let (reads, records) = (after.device_reads - before.device_reads, after.device_records - before.device_records);
    assert!(records > 900 && reads * 20 < records, "{reads} reads for {records} records");
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
