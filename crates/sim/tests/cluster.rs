//! Clusters under many seeds.
//!
//! A seed that fails prints the command that runs it again.

#![allow(clippy::unwrap_used)]

use node::Planted;
use sim::{ClusterOutcome, first_seed, run_cluster_seed, seeds};
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many seeds a planted bug may take to be found.
const PLANTED_SEEDS_MAX: u64 = 60;
/// After so many failures it is enough.
const FAILURES_MAX: u64 = 5;

#[test]
fn every_promise_of_a_cluster_is_kept_under_every_seed() {
    let (seeds, began) = (seeds(6), Instant::now());
    let (next, failed, total) = (AtomicU64::new(seeds.start), AtomicU64::new(0), Mutex::new(ClusterOutcome::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while failed.load(Ordering::Relaxed) < FAILURES_MAX {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    match catch_unwind(|| run_cluster_seed(seed, None)) {
                        Ok(outcome) => total.lock().unwrap().add(&outcome),
                        Err(_) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                            eprintln!(
                                "seed {seed} failed; again: TARNDB_SEED={seed} TARNDB_SEEDS=1 cargo test -p tarndb-sim every_promise_of_a_cluster"
                            );
                        }
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner(), 0, "seeds failed: see above for the commands that run them again");
    let total = total.into_inner().unwrap();
    let (count, seconds) = (seeds.end - seeds.start, began.elapsed().as_secs_f64());
    println!("{count} seeds in {seconds:.1} s, {:.1} a second on {threads} threads: {total:#?}", count as f64 / seconds);
    if count >= 100 {
        assert!(total.acknowledged > 50 * count && total.undecided * 20 < count, "too little happened");
    }
}

/// The simulator can fail: each planted bug is found.
#[test]
#[ignore = "takes many minutes: a cluster's seed takes seconds"]
fn planted_bugs_of_a_cluster_are_found() {
    for planted in [Planted::EarlyAcknowledgement, Planted::StaleLease, Planted::NoFencing] {
        let found = seeds(PLANTED_SEEDS_MAX).find(|seed| catch_unwind(|| run_cluster_seed(*seed, Some(planted))).is_err());
        let seed = found.unwrap_or_else(|| panic!("{planted:?} was not found within {PLANTED_SEEDS_MAX} seeds"));
        println!("{planted:?} was found by seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_of_a_cluster() {
    for seed in first_seed()..first_seed() + 1 {
        let (one, other) = (run_cluster_seed(seed, None), run_cluster_seed(seed, None));
        assert_eq!((one.digest, one.events), (other.digest, other.events), "seed {seed} gave two traces");
    }
}
