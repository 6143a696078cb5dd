//! Which operation comes next: each kind by its weight.

use super::uniform;
use crate::workload::{Mix, OperationKind};
use base::Rng;

/// Chooses kinds of operations.
#[derive(Clone, Debug)]
pub struct OperationChooser {
    /// Kinds with the sum of the weights up to and with theirs; the last is one.
    kinds: Vec<(f64, OperationKind)>,
}

impl OperationChooser {
    /// For a mix that has an operation with a positive weight.
    #[must_use]
    pub fn new(mix: &Mix) -> Self {
        let weights = || mix.operations.iter().filter(|(_, weight)| **weight > 0.0);
        let total: f64 = weights().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let kinds = weights()
            .map(|(kind, weight)| {
                sum += weight / total;
                (sum, *kind)
            })
            .collect();
        Self { kinds }
    }

    /// All kinds that can be chosen.
    pub fn kinds(&self) -> impl Iterator<Item = OperationKind> + '_ {
        self.kinds.iter().map(|(_, kind)| *kind)
    }

    /// The share of a kind.
    #[must_use]
    pub fn share(&self, kind: OperationKind) -> f64 {
        let mut before = 0.0;
        for (sum, candidate) in &self.kinds {
            if *candidate == kind {
                return sum - before;
            }
            before = *sum;
        }
        0.0
    }

    /// The next kind.
    pub fn next(&self, rng: &mut Rng) -> OperationKind {
        let last = self.kinds.last().expect("a plan's mix has an operation").1;
        if self.kinds.len() == 1 {
            return last;
        }
        let point = uniform(rng);
        self.kinds.iter().find(|(sum, _)| point < *sum).map_or(last, |(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::KeyChoice;

    #[test]
    fn kinds_come_by_their_weights() {
        let operations = [(OperationKind::Read, 3.0), (OperationKind::Update, 1.0), (OperationKind::Scan, 0.0)].into();
        let mix = Mix { operations, keys: KeyChoice::Uniform, scan_rows_max: 1, update_all_fields: false, verify: false };
        let chooser = OperationChooser::new(&mix);
        let mut rng = Rng::new(3);
        let reads = (0..100_000).filter(|_| chooser.next(&mut rng) == OperationKind::Read).count();
        assert!((74_000..76_000).contains(&reads), "{reads}");
        assert!((chooser.share(OperationKind::Update) - 0.25).abs() < 1e-9 && chooser.share(OperationKind::Insert) == 0.0);
    }
}
