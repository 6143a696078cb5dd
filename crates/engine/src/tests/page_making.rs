//! Page making beside clients: what it reads, how much at once, and that writers wait for it.

use super::shard::{Shard, TABLE, config, key};
use crate::{CachePolicy, Key, Kind, WriteBatch, WriteError};
use base::Token;

const SEGMENT: u32 = 64 << 10;
const PARTITIONS: u64 = 200;

fn store(memory_bytes: usize) -> Shard {
    Shard::new(crate::Config { leaf_rows_max: 32, page_rows_max: 32, page_row_bytes_max: 180, ..config(SEGMENT, 2000, memory_bytes) })
}

fn row_key<'a>(partition: &'a [u8; 8], clustering: &'a [u8]) -> Key<'a> {
    Key { table: TABLE, token: Token(i64::from_be_bytes(*partition)), partition, clustering }
}

/// A batch with the next row of each partition. They begin one after the other, so that not all leaves are full at once.
fn next_rows(number: u64, bytes: usize) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for partition in (0..PARTITIONS).filter(|partition| partition % 32 <= number) {
        let (name, clustering) = (partition.to_be_bytes(), number.to_be_bytes());
        batch.put(&row_key(&name, &clustering), Kind::Live, &vec![number as u8; bytes]).unwrap();
    }
    batch
}

#[test]
fn rows_that_are_too_large_for_pages_are_not_read_to_find_that_out() {
    let mut shard = store(1 << 20);
    for number in 0..120 {
        shard.write(&next_rows(number, 200)).unwrap();
        shard.turn();
    }
    shard.settle();
    let stats = shard.engine.stats();
    assert!(stats.pages == 0 && !shard.engine.has_rows_for_pages(), "{stats:?}");
    assert_eq!(shard.reads, 0);
}

#[test]
fn few_records_are_read_at_once_while_others_read() {
    for others_read in [false, true] {
        let mut shard = store(1 << 20);
        (0..2000).for_each(|number| assert!(shard.put(number, &[7; 1000]).is_ok()));
        let mut most = 0;
        for number in 0..200 {
            shard.write(&next_rows(number, 100)).unwrap();
            if others_read {
                let before = shard.reads;
                let name = number.to_be_bytes();
                shard.read(|engine| engine.get(&key(&name, number), CachePolicy::Bypass).map(|row| row.is_some())).unwrap();
                assert!(shard.reads > before, "it is in memory");
            }
            for _ in 0..60 {
                let before = shard.reads;
                shard.turn();
                while shard.disk_step() {}
                most = most.max(shard.reads - before);
            }
        }
        shard.settle();
        assert!(shard.engine.stats().rows_in_pages > 10_000, "{:?}", shard.engine.stats());
        assert!(if others_read { (1..=8).contains(&most) } else { most > 8 }, "others read: {others_read}, {most} at once");
    }
}

#[test]
fn writers_that_outrun_page_making_wait_for_it() {
    let mut shard = store(3 << 19);
    let mut waits = 0;
    for number in 0..500 {
        let batch = next_rows(number, 30);
        let mut tries = 0;
        while let Err(error) = shard.engine.apply(shard.now, &batch) {
            assert_eq!(error, WriteError::Busy, "after {number} rows of each partition");
            waits += u32::from(shard.engine.index_is_full());
            assert!(!shard.engine.index_is_full() || !shard.engine.writable());
            tries += 1;
            assert!(tries < 100_000, "it waits for ever");
            for _ in 0..3 {
                shard.disk_step();
            }
            shard.now.monotonic_us += 1000;
            shard.engine.tick(shard.now);
        }
    }
    assert!(waits > 0, "page making kept up");
    shard.settle();
    assert!(!shard.engine.has_no_room() && !shard.engine.index_is_full());
    assert_eq!(shard.all().len() as u64, (0..PARTITIONS).map(|partition| 500 - partition % 32).sum::<u64>());
}
