//! What is kept in memory, what is read from the device, and in which units.

use super::*;

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
