//! The walk over what was written after a sequence, and what the floor keeps from being purged for it.

use super::Planted;
use super::model::{RowKey, World, seeds};
use super::shard::{Shard, TABLE, config};
use crate::{Engine, ReadError, Sequence, TailPosition, TailScan};
use base::{Slot, TableId, Token};
use std::collections::BTreeMap;

/// What one chunk of a walk has come to.
struct Chunk {
    rows: Vec<(RowKey, u64)>,
    /// Where to go on.
    next: Option<TailPosition>,
}

fn chunk(engine: &Engine, scan: &TailScan<'_>, rows_max: usize) -> Result<Chunk, ReadError> {
    let mut cursor = engine.scan_tail(scan)?;
    let mut rows: Vec<(RowKey, u64)> = Vec::new();
    while rows.len() < rows_max {
        let Some(row) = cursor.next()? else { return Ok(Chunk { rows, next: cursor.paused().cloned() }) };
        let key = (scan.table.0, row.token.0, row.partition.to_vec(), row.clustering.to_vec());
        rows.push((key, row.row.sequence.0));
    }
    let next = rows.last().map(|((_, token, partition, clustering), _)| TailPosition {
        token: Token(*token),
        partition: partition.clone(),
        clustering: [clustering, &[0][..]].concat(),
    });
    Ok(Chunk { rows, next })
}

impl World {
    /// Walks over all tails after a sequence, with work between the chunks, and compares with what must be met.
    fn check_tail(&mut self, after: Sequence) -> usize {
        let new = |key| self.expected(key).filter(|version| version.sequence > after.0 && !version.purged).map(|version| version.sequence);
        let expected: Vec<(RowKey, u64)> = self.versions.keys().filter_map(|key| Some((key.clone(), new(key)?))).collect();
        let tail = self.engine().tail(after);
        let mut found: BTreeMap<RowKey, u64> = BTreeMap::new();
        for table in self.tables.keys().copied().collect::<Vec<TableId>>() {
            let mut from = TailPosition::default();
            for chunks in 0.. {
                assert!(chunks < 20_000, "a walk over a tail ends");
                let (budget, read_ahead) = (self.rng.below(60) as usize, 1 + self.rng.below(40) as usize);
                let rows_max = 1 + self.rng.below(30) as usize;
                let scan = TailScan { table, tail: &tail, from: &from, wants: &|_| true, budget, read_ahead };
                let Chunk { rows, next } = self.read(|engine| chunk(engine, &scan, rows_max));
                assert!(rows.iter().all(|(_, sequence)| *sequence > after.0));
                found.extend(rows);
                let Some(next) = next else { break };
                from = next;
                match self.rng.below(4) {
                    0 => self.turn(),
                    1 => self.write(false),
                    _ => {}
                }
            }
        }
        let safe = self.floor.is_some_and(|floor| floor <= after);
        for (key, sequence) in &expected {
            // It may have been purged, or a later version of it, before the walk came to it.
            let mut later = self.versions[key].iter().filter(|version| version.sequence >= *sequence);
            let met = found.contains_key(key) || (!safe && later.any(|version| self.may_be_gone(Some(version))));
            assert!(met, "{key:?} of {sequence} is after {} and was not met", after.0);
        }
        found.len()
    }
}

#[derive(Default)]
struct Seen {
    tails: usize,
    rows: usize,
    /// Of all that there were.
    all: usize,
    cold: u64,
}

fn run(seed: u64, operations: u64, planted: Option<Planted>) -> Seen {
    let mut world = World::new(seed, planted);
    let mut seen = Seen::default();
    for _ in 0..operations {
        match world.rng.below(1000) {
            0..600 => world.write(false),
            600..640 => world.write(true),
            640..660 => world.check_random_get(),
            660..662 => world.truncate(),
            662..670 => world.persist_truncations(),
            670..673 => world.kill(),
            673..674 => world.lose_power(),
            674..675 => world.shut_down(),
            675..680 => {
                // Somebody has gone, or come back.
                let last = world.engine().log.last_sequence();
                world.floor = if world.floor.is_none() { Some(last) } else { None };
                let floor = world.floor;
                world.engine().set_purge_floor(floor);
                world.engine().restore_purged(floor.unwrap_or(last));
            }
            680..700 => {
                let last = world.engine().log.last_sequence().0;
                let after = match world.rng.below(3) {
                    0 => world.rng.below(last + 1),
                    1 => last - world.rng.below(last.min(200) + 1),
                    _ => world.floor.map_or(last, |floor| floor.0.min(last)),
                };
                seen.tails += 1;
                seen.rows += world.check_tail(Sequence(after));
                seen.all += world.versions.len();
            }
            _ => world.turn(),
        }
        if let Some(floor) = world.floor {
            assert!(!world.engine().purged_above(floor), "seed {seed}: a row above the floor was purged");
        }
        world.check_accounts();
    }
    seen.cold = world.cold;
    seen
}

#[test]
fn a_walk_over_a_tail_misses_nothing() {
    let mut seen = Seen::default();
    for seed in seeds() {
        let Ok(one) = std::panic::catch_unwind(|| run(seed, 2000, None)) else {
            panic!("reproduce with TARNDB_SEED={seed} TARNDB_SEEDS=1 cargo test -p tarndb-engine a_walk_over_a_tail");
        };
        seen = Seen { tails: seen.tails + one.tails, rows: seen.rows + one.rows, all: seen.all + one.all, cold: seen.cold + one.cold };
    }
    println!("{} tails of {} rows of {}, {} segments of moved records", seen.tails, seen.rows, seen.all, seen.cold);
    let enough = seen.tails > 500 && seen.rows > 10_000 && seen.rows * 2 < seen.all && seen.cold > 0;
    assert!(enough || seeds().count() < 30, "the walks were over too little");
}

#[test]
fn planted_bugs_of_tails_are_found() {
    for planted in [Planted::TailBeginsLate, Planted::MovedCountAsOld, Planted::PurgeAboveFloor] {
        let found = (0..100).find(|seed| std::panic::catch_unwind(|| run(*seed, 2000, Some(planted))).is_err());
        println!("{planted:?} was found by seed {:?}", found.unwrap_or_else(|| panic!("{planted:?} was not found")));
    }
}

#[test]
fn the_tail_costs_what_was_written_after_it_not_what_there_is() {
    let mut shard = Shard::new(config(32 << 10, 200, 2 << 20));
    for number in 0..8000 {
        shard.put(number, &[1; 300]).unwrap();
        if number % 50 == 0 {
            shard.turn();
        }
    }
    shard.settle();
    for restart in [false, true] {
        if restart {
            shard = shard.restart();
        }
        let after = shard.put(1, &[2; 300]).unwrap();
        for number in 100..150 {
            shard.put(number, &[2; 300]).unwrap();
        }
        let (tail, from, reads) = (shard.engine.tail(after), TailPosition::default(), shard.reads);
        let all = |_| true;
        let scan = TailScan { table: TABLE, tail: &tail, from: &from, wants: &all, budget: usize::MAX, read_ahead: 64 };
        let found = shard.read(|engine| chunk(engine, &scan, usize::MAX)).unwrap().rows;
        assert_eq!((found.len(), found.iter().map(|(_, sequence)| *sequence).min()), (50, Some(after.0 + 1)));
        assert!(shard.reads - reads < 20, "{} reads", shard.reads - reads);
        let half = |slot: Slot| slot.0 < 2048;
        let some = shard.read(|engine| chunk(engine, &TailScan { wants: &half, ..scan }, usize::MAX)).unwrap().rows;
        assert!(some.iter().all(|((_, token, ..), _)| *token < 0) && some.len() < found.len());
    }
}
