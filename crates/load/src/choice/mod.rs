//! Which row an operation is for: one generator a thread, a function of its seed and of how many rows there are.
//!
//! Distributions are those of YCSB 0.17.0 and cassandra-stress 5.0; `docs/reference/bench-load.md` has their formulas,
//! `tests/ycsb-generators` compares them with YCSB's own classes.

mod operation;
mod zipfian;

pub use operation::OperationChooser;
pub use zipfian::{Zipfian, zeta};

use crate::keys::fnv;
use crate::workload::KeyChoice;
use base::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Items of the zipfian beneath YCSB's scrambled one, before they are scattered over the rows.
pub const SCRAMBLED_ITEMS: u64 = 10_000_000_000;
/// ζ of those, as YCSB carries it.
pub const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;
/// The skew that this ζ is for.
const SCRAMBLED_THETA: f64 = 0.99;

/// A uniform number from 0 up to 1, with 53 bits.
#[must_use]
pub fn uniform(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Chooses rows.
#[derive(Clone, Debug)]
pub struct Chooser {
    kind: Kind,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum Kind {
    Sequential {
        next: Arc<AtomicU64>,
        rows: u64,
    },
    Uniform {
        rows: u64,
    },
    Zipfian(Zipfian),
    /// Scattered over `rows`; those that are not there yet are drawn again.
    Scrambled {
        zipfian: Zipfian,
        rows: u64,
    },
    Latest(Zipfian),
    Gaussian {
        rows: u64,
        mean: f64,
        deviation: f64,
    },
    Hotspot {
        hot: u64,
        cold: u64,
        hot_operations: f64,
    },
    Exponential {
        rate: f64,
    },
}

impl Chooser {
    /// For a dataset that has `rows` when the load starts and is expected to get `inserts` more. `sequence` is shared by all threads.
    #[must_use]
    pub fn new(choice: &KeyChoice, rows: u64, inserts: u64, sequence: &Arc<AtomicU64>, rng: Rng) -> Self {
        let rows = rows.max(1);
        let kind = match *choice {
            KeyChoice::Sequential => Kind::Sequential { next: Arc::clone(sequence), rows },
            KeyChoice::Uniform => Kind::Uniform { rows },
            KeyChoice::Zipfian { constant } => Kind::Zipfian(Zipfian::new(rows, constant)),
            KeyChoice::ScrambledZipfian { constant } => {
                // As YCSB's core workload makes it: bounds are inclusive, hence one item more, and twice the inserts to be safe.
                let zipfian = if constant == SCRAMBLED_THETA {
                    Zipfian::with_zeta(SCRAMBLED_ITEMS + 1, constant, SCRAMBLED_ZETA)
                } else {
                    Zipfian::new(SCRAMBLED_ITEMS + 1, constant)
                };
                Kind::Scrambled { zipfian, rows: rows + 2 * inserts + 1 }
            }
            KeyChoice::Latest => Kind::Latest(Zipfian::new((rows - 1).max(1), SCRAMBLED_THETA)),
            KeyChoice::Gaussian { deviations } => {
                let last = rows as f64;
                Kind::Gaussian { rows, mean: (1.0 + last) / 2.0, deviation: (last - 1.0) / 2.0 / deviations }
            }
            KeyChoice::Hotspot { rows: share, operations } => {
                let hot = ((rows as f64 * share) as u64).clamp(1, rows);
                Kind::Hotspot { hot, cold: rows - hot, hot_operations: operations }
            }
            KeyChoice::Exponential { percentile, rows: share } => {
                Kind::Exponential { rate: -(1.0 - percentile / 100.0).ln() / (rows as f64 * share) }
            }
        };
        Self { kind, rng }
    }

    /// A row; `last` is the number of the newest one that is there.
    pub fn next(&mut self, last: u64) -> u64 {
        let rng = &mut self.rng;
        match &mut self.kind {
            Kind::Sequential { next, rows } => next.fetch_add(1, Relaxed) % *rows,
            Kind::Uniform { rows } => rng.below(*rows),
            Kind::Zipfian(zipfian) => zipfian.item(uniform(rng)),
            Kind::Scrambled { zipfian, rows } => loop {
                let row = fnv(zipfian.item(uniform(rng))) % *rows;
                if row <= last {
                    return row;
                }
            },
            Kind::Latest(zipfian) => last - zipfian.item_of_grown(uniform(rng), last.max(1)).min(last),
            Kind::Gaussian { rows, mean, deviation } => {
                // The cast cuts the fraction off, as in Java.
                let chosen = *mean + *deviation * gaussian(rng);
                (chosen as u64).clamp(1, *rows) - 1
            }
            Kind::Hotspot { hot, cold, hot_operations } => {
                if uniform(rng) < *hot_operations || *cold == 0 {
                    rng.below(*hot)
                } else {
                    *hot + rng.below(*cold)
                }
            }
            Kind::Exponential { rate } => loop {
                // One minus: the logarithm of zero has no value.
                let back = (-(1.0 - uniform(rng)).ln() / *rate) as u64;
                if back <= last {
                    return last - back;
                }
            },
        }
    }

    /// The generator's source of chance, for what else is drawn by the same thread.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

/// A standard normal number (Box and Muller, 1958).
fn gaussian(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(rng)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(rng)).cos()
}

#[cfg(test)]
mod tests;
