//! Rows with one time to live: their segments go without a read, and nothing older comes back.

use super::shard::{Shard, TABLE, config};
use crate::{CachePolicy, Config, Key, Kind, WriteBatch};
use base::Token;

const SEGMENT: u32 = 32 << 10;
const TTL_S: i64 = 100;
const ROWS: u64 = 5000;

/// Too little memory for the rows, so that whoever wants to see one has to read it.
fn small() -> Config {
    config(SEGMENT, 256, (300 << 10) + 8 * SEGMENT as usize)
}

impl Shard {
    /// Rows from `first` on that expire after `TTL_S`, each in a partition of its own.
    fn put_expiring(&mut self, first: u64, count: u64) {
        let kind = Kind::Expiring { purge_after_s: self.now.wall_s() + TTL_S };
        for number in first..first + count {
            self.put_as(kind, number, &[1; 300]).unwrap();
        }
    }

    fn pass_time(&mut self) {
        self.now.wall_us += (TTL_S + 2) * 1_000_000;
    }

    /// Lets time pass and sees that all but the rows of the open segment go without a read.
    fn expire_unread(&mut self) {
        let (reads, before) = (self.reads, self.engine.stats());
        assert!(before.rows > ROWS / 2);
        self.pass_time();
        self.settle();
        let stats = self.engine.stats();
        let in_segment = u64::from(SEGMENT) / 300;
        assert!(stats.rows <= in_segment, "{} of {} rows are left", stats.rows, before.rows);
        assert_eq!(self.reads - reads, 0, "reads for {} segments", stats.segments_expired);
        assert!(stats.segments_expired > 40, "{} segments", stats.segments_expired);
        assert!(stats.segments_free >= before.segments_free + stats.segments_expired);
        assert_eq!(stats.defrag_bytes, before.defrag_bytes);
    }
}

#[test]
fn expired_segments_are_freed_without_a_read() {
    let mut shard = Shard::new(small());
    shard.put_expiring(0, ROWS);
    shard.settle();
    shard.expire_unread();
    // What is left goes with the next segments, and nothing comes back.
    let left = shard.engine.stats().rows;
    let mut shard = shard.restart();
    assert!(shard.engine.stats().rows <= left);
    assert_eq!(shard.get(5), Ok(None));
}

#[test]
fn rows_expire_unread_after_any_restart() {
    for checkpoint in [0, u64::MAX] {
        for clean in [true, false] {
            let mut shard = Shard::new(Config { checkpoint_bytes_min: checkpoint, ..small() });
            shard.put_expiring(0, ROWS);
            for _ in 0..5000 {
                if checkpoint > 0 || shard.engine.stats().checkpoints > 0 {
                    break;
                }
                shard.turn();
            }
            if clean {
                shard.shut_down();
            }
            let mut shard = shard.restart();
            let warm = shard.engine.recovery_progress().checkpoint_rows.is_some();
            assert_eq!(warm, checkpoint == 0, "clean: {clean}");
            shard.settle();
            shard.expire_unread();
        }
    }
}

#[test]
fn rows_of_wide_partitions_expire_unread() {
    let mut shard = Shard::new(Config { page_rows_max: 0, ..small() });
    let kind = Kind::Expiring { purge_after_s: shard.now.wall_s() + TTL_S };
    let mut batch = WriteBatch::new();
    for number in 0..ROWS {
        // Three very wide partitions, and many narrow ones.
        let (token, clustering) = if number.is_multiple_of(2) { (number % 3, number) } else { (number / 7, number % 7) };
        let (partition, clustering) = (token.to_be_bytes(), clustering.to_be_bytes());
        batch.clear();
        batch
            .put(&Key { table: TABLE, token: Token(token as i64 * 77), partition: &partition, clustering: &clustering }, kind, &[1; 300])
            .unwrap();
        shard.write(&batch).unwrap();
    }
    shard.settle();
    shard.expire_unread();
    let stats = shard.engine.stats();
    assert!(stats.wide_partitions <= stats.rows, "{} partitions of {} rows", stats.wide_partitions, stats.rows);
    let found = shard.all();
    assert_eq!(found.len() as u64, stats.rows);
}

/// Segments with a few rows that last, and others that rows with a time to live take the place of.
fn lasting_and_replaced(first: u64) -> Shard {
    let mut shard = Shard::new(small());
    for number in 0..1000 {
        shard.put(number, &[7; 300]).unwrap();
    }
    shard.put_expiring(first, ROWS);
    shard.settle();
    shard.pass_time();
    shard.settle();
    shard
}

#[test]
fn first_versions_expire_beside_rows_that_last() {
    let shard = lasting_and_replaced(1000);
    let stats = shard.engine.stats();
    assert!(stats.segments_expired > 40 && stats.rows < 1200, "{} segments, {} rows", stats.segments_expired, stats.rows);
    let mut shard = shard.restart();
    assert_eq!(shard.get(999), Ok(Some(vec![7; 300])));
}

#[test]
fn an_expired_row_hides_older_versions_for_as_long_as_they_are_in_the_log() {
    // Every tenth row of the old segments lasts, so that they stay.
    let mut shard = Shard::new(small());
    for number in 0..1000 {
        shard.put(number, &[7; 300]).unwrap();
    }
    let kind = Kind::Expiring { purge_after_s: shard.now.wall_s() + TTL_S };
    for number in (0..1000).filter(|number| number % 10 > 0) {
        shard.put_as(kind, number, &[1; 300]).unwrap();
    }
    shard.put_expiring(1000, 200);
    shard.settle();
    shard.pass_time();
    for _ in 0..3 {
        shard.settle();
        shard = shard.restart();
        for number in 0..1000 {
            let partition = u64::to_be_bytes(number);
            let found = shard.read(|engine| Ok(engine.get(&super::shard::key(&partition, number), CachePolicy::Keep)?.map(|row| row.kind)));
            let expected = if number % 10 > 0 { Some(kind) } else { Some(Kind::Live) };
            let found = found.unwrap();
            assert!(found == expected || (number % 10 > 0 && found.is_none()), "row {number} is {found:?}");
        }
    }
}

#[test]
fn a_write_beside_the_walk_is_kept() {
    let mut shard = Shard::new(small());
    shard.put_expiring(0, ROWS);
    shard.settle();
    shard.pass_time();
    // The walk takes several turns; what is written meanwhile may be anywhere in the index.
    for number in 0..ROWS {
        shard.put(number, &[9; 100]).unwrap();
        if number % 8 == 0 {
            shard.turn();
        }
    }
    shard.settle();
    let mut shard = shard.restart();
    for number in (0..ROWS).step_by(7) {
        assert_eq!(shard.get(number), Ok(Some(vec![9; 100])));
    }
}
