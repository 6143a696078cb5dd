//! Which seeds a test takes, and what it says of the one that failed.

use std::ops::Range;

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

/// Says which seed it was when a test panics.
pub struct Seeded(pub u64);

impl Drop for Seeded {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was TARNDB_SEED={} TARNDB_SEEDS=1", self.0);
        }
    }
}
