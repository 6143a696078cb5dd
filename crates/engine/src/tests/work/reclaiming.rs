//! Space that comes back: of overwritten rows, tombstones and dropped tables.

use super::*;

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
