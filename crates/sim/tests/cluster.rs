//! Clusters under many seeds.
//!
//! `make test-long` goes on where these end (scripts/test.sh). A seed that fails prints the command that runs it again.

#![allow(clippy::unwrap_used)]

use node::Planted;
use sim::{ClusterOutcome, first_seed, run_cluster_seed, run_rot_seed, run_seeds, run_upgrade_seed, seeds};
use std::panic::catch_unwind;

/// How many seeds a planted bug may take to be found.
const PLANTED_SEEDS_MAX: u64 = 200;

#[test]
fn every_promise_of_a_cluster_is_kept_under_every_seed() {
    let mut total = ClusterOutcome::default();
    let outcomes = run_seeds(seeds(12), "every_promise_of_a_cluster", |seed| run_cluster_seed(seed, None));
    outcomes.iter().for_each(|outcome| total.add(outcome));
    println!("{total:#?}");
    let count = outcomes.len() as u64;
    if count >= 20 {
        assert!(total.acknowledged > 50 * count && total.undecided * 20 < count, "too little happened");
    }
}

/// Members get programs that know a later version of the nodes' protocol, one at a time, and clients do not notice.
#[test]
fn a_cluster_is_upgraded_while_it_serves() {
    let mut total = ClusterOutcome::default();
    run_seeds(seeds(2), "a_cluster_is_upgraded", run_upgrade_seed).iter().for_each(|outcome| total.add(outcome));
    println!("{total:#?}");
}

/// One member's device rots, again and again, and no client sees more than that it has to wait. Mostly a start finds it, for little leaves memory; `repair` has what reads find.
#[test]
fn a_device_that_rots_costs_nobody_anything() {
    let mut total = ClusterOutcome::default();
    let outcomes = run_seeds(seeds(3), "a_device_that_rots", run_rot_seed);
    outcomes.iter().for_each(|outcome| total.add(outcome));
    println!("{total:#?}");
    assert!(total.faults["rot"] > 0, "nothing has rotted");
}

// The simulator can fail: planted bugs are found. A test for each, so that they use all cores.

#[test]
fn an_acknowledgement_before_the_replicas_is_found() {
    find(Planted::EarlyAcknowledgement, 3);
}

#[test]
fn a_lease_that_does_not_end_is_found() {
    find(Planted::StaleLease, 30);
}

#[test]
fn a_missing_fence_is_found() {
    find(Planted::NoFencing, 33);
}

/// From a seed on that is just before one that finds it.
fn find(planted: Planted, first: u64) {
    let mut seeds = first..first + PLANTED_SEEDS_MAX;
    let found = seeds.find(|seed| catch_unwind(|| run_cluster_seed(*seed, Some(planted))).is_err());
    let seed = found.unwrap_or_else(|| panic!("{planted:?} was not found within {PLANTED_SEEDS_MAX} seeds"));
    println!("{planted:?} was found by seed {seed}");
}

#[test]
fn the_same_seed_gives_the_same_trace_of_a_cluster() {
    for seed in first_seed()..first_seed() + 1 {
        let (one, other) = (run_cluster_seed(seed, None), run_cluster_seed(seed, None));
        assert_eq!((one.digest, one.events), (other.digest, other.events), "seed {seed} gave two traces");
    }
}
