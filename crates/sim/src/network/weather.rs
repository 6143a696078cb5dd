//! How it goes between each two machines: delays, and directions that nothing gets through.

use base::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// The usual delays and those that are slow.
#[derive(Default)]
pub(super) struct Weather {
    delays_us: BTreeMap<(usize, usize), u64>,
    slow_us: BTreeMap<(usize, usize), u64>,
    cut: BTreeSet<(usize, usize)>,
}

impl Weather {
    /// How long bytes take now.
    pub(super) fn delay_us(&mut self, from: usize, to: usize, dice: &mut Rng) -> u64 {
        let usual = *self.delays_us.entry((from, to)).or_insert_with(|| 20 + dice.below(480));
        let base = usual + self.slow_us.get(&(from, to)).copied().unwrap_or(0);
        base + dice.below(base)
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

    pub(super) fn mend(&mut self, from: usize, to: usize) {
        self.cut.remove(&(from, to));
        self.slow_us.remove(&(from, to));
    }

    pub(super) fn clear(&mut self) {
        self.cut.clear();
        self.slow_us.clear();
    }
}
