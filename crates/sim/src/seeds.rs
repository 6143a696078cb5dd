//! Which seeds a test takes, how it runs them, and what it says of the one that failed.

use std::ops::Range;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// After so many failures it is enough.
const FAILURES_MAX: u64 = 5;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// `usual` seeds from 1, or what TARNDB_SEED (the first) and TARNDB_SEEDS (how many) say.
#[must_use]
pub fn seeds(usual: u64) -> Range<u64> {
    let first = first_seed();
    first..first + number("TARNDB_SEEDS").unwrap_or(usual)
}

/// TARNDB_SEED, or 1.
#[must_use]
pub fn first_seed() -> u64 {
    number("TARNDB_SEED").unwrap_or(1)
}

/// Runs every seed of `seeds` on all cores and gives what they came to.
///
/// # Panics
///
/// When a seed did, after as many as are worth seeing; each is told with the command that runs it again, for which `test` is the name.
pub fn run_seeds<T: Send>(seeds: Range<u64>, test: &str, run: impl Fn(u64) -> T + Sync + RefUnwindSafe) -> Vec<T> {
    let began = Instant::now();
    let (next, failed) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let take_some = || {
        let mut outcomes = Vec::new();
        while failed.load(Ordering::Relaxed) < FAILURES_MAX {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            if let Ok(outcome) = catch_unwind(|| run(seed)) {
                outcomes.push(outcome);
            } else {
                failed.fetch_add(1, Ordering::Relaxed);
                eprintln!("seed {seed} failed; again: TARNDB_SEED={seed} TARNDB_SEEDS=1 cargo test -p tarndb-sim {test}");
            }
        }
        outcomes
    };
    let outcomes: Vec<T> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(take_some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    assert_eq!(failed.into_inner(), 0, "seeds failed: see above for the commands that run them again");
    let seconds = began.elapsed().as_secs_f64();
    println!("{} seeds in {seconds:.1} s, {:.1} a second on {threads} threads", outcomes.len(), outcomes.len() as f64 / seconds);
    outcomes
}

/// Says which seed it was when a test panics.
pub struct Seeded(pub u64);

impl Drop for Seeded {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was TARNDB_SEED={} TARNDB_SEEDS=1", self.0);
        }
    }
}
