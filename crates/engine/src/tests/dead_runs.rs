//! Runs of dead rows: what is known after rows were written among them, against a map of what is dead.

use super::shard::{Shard, TABLE, config};
use crate::{DeadRun, Key, Kind, Sequence, WriteBatch};
use base::{Rng, TableId, Token};
use std::collections::BTreeSet;

const TOKEN: Token = Token(77);
const NAME: &[u8] = b"queue";

fn bytes(number: u8) -> Box<[u8]> {
    [0x10, number].into()
}

fn run(from: u8, to: Option<u8>, rows: u32) -> DeadRun {
    DeadRun { from: bytes(from), first: bytes(from), to: to.map(bytes), rows, newest: Sequence(1), since_s: 5 }
}

fn put(shard: &mut Shard, partition: &[u8], number: u8, kind: Kind) {
    let mut batch = WriteBatch::new();
    batch.put(&Key { table: TABLE, token: TOKEN, partition, clustering: &bytes(number) }, kind, b"row").unwrap();
    shard.write(&batch).unwrap();
}

/// The bounds of the run that is known.
type Bounds = (Box<[u8]>, Option<Box<[u8]>>);

fn known(shard: &Shard) -> Option<Bounds> {
    shard.engine.dead_run(TABLE, TOKEN, NAME).map(|run| (run.from, run.to))
}

#[test]
fn a_run_grows_by_its_neighbours_and_ends_where_a_row_is_written() {
    let mut shard = Shard::new(config(128 << 10, 64, 16 << 20));
    let keep = |shard: &Shard, run| shard.engine.keep_dead_run(TABLE, TOKEN, NAME, run);
    keep(&shard, run(10, Some(20), 9));
    assert_eq!(known(&shard), None, "too short to be kept");
    keep(&shard, run(10, Some(60), 50));
    keep(&shard, run(60, None, 3));
    assert_eq!(known(&shard), Some((bytes(10), None)));
    keep(&shard, run(2, Some(5), 3));
    assert_eq!(known(&shard), Some((bytes(10), None)), "another one, and shorter");
    put(&mut shard, NAME, 70, Kind::Tombstone { purge_after_s: 9 });
    put(&mut shard, NAME, 9, Kind::Live);
    put(&mut shard, b"other", 30, Kind::Live);
    assert_eq!(known(&shard), Some((bytes(10), None)), "none of these shows anything in it");
    put(&mut shard, NAME, 70, Kind::Expiring { purge_after_s: 9 });
    assert_eq!(known(&shard), Some((bytes(10), Some(bytes(70)))));
    put(&mut shard, NAME, 10, Kind::Live);
    assert_eq!(known(&shard), None);
    assert_eq!(shard.engine.dead_runs.bytes(), 0);
    keep(&shard, run(10, None, 90));
    shard.engine.truncate(TABLE);
    assert_eq!((known(&shard), shard.engine.dead_runs.bytes()), (None, 0));
}

#[test]
fn what_is_kept_is_bounded() {
    let shard = Shard::new(config(128 << 10, 64, 16 << 20));
    for token in 0..100_000 {
        shard.engine.keep_dead_run(TableId(3), Token(token), b"partition", run(1, Some(9), 40));
        assert!(shard.engine.dead_runs.bytes() <= 256 << 10);
    }
    assert!(shard.engine.dead_run(TableId(3), Token(99_999), b"partition").is_some());
}

#[test]
fn no_row_that_shows_something_is_ever_in_a_run() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut shard = Shard::new(config(128 << 10, 64, 16 << 20));
        let mut alive: BTreeSet<u8> = BTreeSet::new();
        for _ in 0..200 {
            let number = rng.below(100) as u8;
            if rng.below(4) == 0 {
                // A reader from here on: up to the next row that is there.
                let to = alive.range(number..).next().copied();
                if to != Some(number) {
                    let first = bytes(to.unwrap_or(100).min(number + rng.below(3) as u8));
                    let run = DeadRun { first, rows: 32 + rng.below(60) as u32, ..run(number, to, 0) };
                    shard.engine.keep_dead_run(TABLE, TOKEN, NAME, run);
                }
            } else if rng.below(3) == 0 {
                put(&mut shard, NAME, number, Kind::Live);
                alive.insert(number);
            } else {
                put(&mut shard, NAME, number, Kind::Tombstone { purge_after_s: 9 });
                alive.remove(&number);
            }
            let Some((from, to)) = known(&shard) else { continue };
            let hidden = alive.iter().find(|number| *from <= *bytes(**number) && to.as_ref().is_none_or(|to| bytes(**number) < *to));
            assert_eq!(hidden, None, "seed {seed}: {from:?} to {to:?}");
        }
    }
}
