//! What one job does at a time: some partitions of a set.

use base::SLOT_COUNT;
use std::ops::Range;

/// Partitions that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Empty for all that the namespace has.
    pub(super) set: &'a str,
    pub(super) partitions: Range<u16>,
}

/// All partitions of each set, so many at a time.
pub(super) fn pieces<'a>(sets: &[&'a str], group: u16) -> Vec<Piece<'a>> {
    let firsts = || (0..SLOT_COUNT as u16).step_by(usize::from(group));
    sets.iter().flat_map(|set| firsts().map(move |first| Piece { set, partitions: first..first + group })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_each_partition_of_each_set_once() {
        for group in [1, 4] {
            let pieces = pieces(&["a", "b"], group);
            let of = |set| pieces.iter().filter(move |piece| piece.set == set).flat_map(|piece| piece.partitions.clone());
            assert!(of("a").eq(0..4096) && of("b").eq(0..4096), "{group}");
        }
    }
}
