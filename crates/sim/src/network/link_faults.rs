//! Faults of the links between machines: delays, and directions that nothing gets through.

use base::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// The delay of each link, slow links and cut directions.
#[derive(Default)]
pub(super) struct LinkFaults {
    delays_us: BTreeMap<(usize, usize), u64>,
    slow_us: BTreeMap<(usize, usize), u64>,
    cut: BTreeSet<(usize, usize)>,
}

impl LinkFaults {
    /// How long bytes take now.
    pub(super) fn delay_us(&mut self, from: usize, to: usize, rng: &mut Rng) -> u64 {
        let usual = *self.delays_us.entry((from, to)).or_insert_with(|| 20 + rng.below(480));
        let base = usual + self.slow_us.get(&(from, to)).copied().unwrap_or(0);
        base + rng.below(base)
    }

    pub(super) fn slow(&mut self, from: usize, to: usize, by_us: u64) {
        self.slow_us.insert((from, to), by_us);
    }

    pub(super) fn cut(&mut self, from: usize, to: usize) {
        self.cut.insert((from, to));
    }

    pub(super) fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cut.contains(&(from, to))
    }

    pub(super) fn heal_link(&mut self, from: usize, to: usize) {
        self.cut.remove(&(from, to));
        self.slow_us.remove(&(from, to));
    }

    pub(super) fn clear(&mut self) {
        self.cut.clear();
        self.slow_us.clear();
    }
}
