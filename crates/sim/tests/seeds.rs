//! Many seeds, and that they would find something.
//!
//! `make test-long` goes on where these end (scripts/test.sh), and `make sim` takes as many as one likes; a seed that fails prints the command that runs it again.

#![allow(clippy::unwrap_used)]

use sim::{Outcome, Planted, first_seed, run_seed, run_seeds, seeds};
use std::panic::catch_unwind;

/// How many seeds a planted bug may take to be found.
const PLANTED_SEEDS_MAX: u64 = 5;

#[test]
fn every_promise_is_kept_under_every_seed() {
    let mut total = Outcome::default();
    let outcomes = run_seeds(seeds(120), "every_promise", |seed| run_seed(seed, None));
    outcomes.iter().for_each(|outcome| total.add(outcome));
    println!("{total:#?}");
    let count = outcomes.len() as u64;
    // Headers name one another: that none is left which knows of a lost one takes more faults than a seed has, nearly always.
    let silent: u64 = total.damaged.silent.values().sum();
    assert!(silent <= count / 1_000, "{silent} losses that nobody noticed: {:?}", total.damaged.silent);
    if count >= 100 {
        assert!(total.kills > count / 2 && total.outages > count / 4 && total.acknowledged > 10 * count, "too little happened");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in first_seed()..first_seed() + 12 {
        let (one, other) = (run_seed(seed, None), run_seed(seed, None));
        assert!(one.events > 300, "seed {seed}: {} events", one.events);
        assert_eq!((one.digest, one.events), (other.digest, other.events), "seed {seed} gave two traces");
        assert_ne!(one.digest, run_seed(seed + 1_000_000, None).digest, "another seed should give another trace");
    }
}

/// The simulator can fail: each planted bug is found, and quickly.
#[test]
fn planted_bugs_are_found() {
    for planted in Planted::ALL {
        let found = (1..=PLANTED_SEEDS_MAX).find(|seed| catch_unwind(|| run_seed(*seed, Some(planted))).is_err());
        let seed = found.unwrap_or_else(|| panic!("{planted:?} was not found within {PLANTED_SEEDS_MAX} seeds"));
        println!("{planted:?} was found by seed {seed}");
    }
}
