//! A whole node on a machine that does not exist: cores over fake reactors, one order of events for each seed.
//!
//! ```text
//! Client ──bytes──► Machine ──any cut──► Core (over FakeReactor) ──► FakeDisk, FakeStable, blobs
//!                      │ picks by seed which core has which events when ◄── messages between cores
//!                      └ ends at any moment: Remains ── the power may go, too ──► Machine again
//! ```
//! Nothing here reads a clock or a die other than the machine's own.

#![allow(clippy::unwrap_used)]

mod client;
mod connection;
mod disk;
mod machine;
mod reactor;
mod stable;

pub(crate) use client::{Client, Reply, Statement, int, text};
pub(crate) use machine::{Loss, Machine, Setup};

/// How many iterations a test of that name takes: TARNDB_FUZZ_ITERATIONS, or `usual`.
pub(crate) fn iterations(usual: u64) -> u64 {
    std::env::var("TARNDB_FUZZ_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The first seed: TARNDB_FUZZ_SEED, or always the same.
pub(crate) fn first_seed() -> u64 {
    std::env::var("TARNDB_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Says which seed failed when a test panics.
pub(crate) struct Seeded(pub(crate) u64);

impl Drop for Seeded {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was TARNDB_FUZZ_SEED={} TARNDB_FUZZ_ITERATIONS=1", self.0);
        }
    }
}
