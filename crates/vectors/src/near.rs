//! A node and how far it is, and what searches use again.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A node and how far it is from what is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Near {
    pub(crate) distance: f32,
    pub(crate) id: u32,
}

impl Eq for Near {}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.id.cmp(&other.id))
    }
}

/// What searches use again.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The search that has met a node last, by node.
    met: Vec<u32>,
    search: u32,
    /// Nodes from which a search has yet to go on.
    pub(crate) ahead: BinaryHeap<Reverse<Near>>,
    /// Codes that were compared so far, for whoever measures work.
    pub(crate) compared: u64,
}

impl Scratch {
    pub(crate) fn begin(&mut self, nodes: usize) {
        self.met.resize(nodes, 0);
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.met.fill(0);
            self.search = 1;
        }
        self.ahead.clear();
    }

    /// Whether this search meets a node for the first time.
    #[inline]
    pub(crate) fn meet(&mut self, id: u32) -> bool {
        std::mem::replace(&mut self.met[id as usize], self.search) != self.search
    }

    pub(crate) fn bytes(&self) -> usize {
        self.met.capacity() * size_of::<u32>() + self.ahead.capacity() * size_of::<Near>()
    }
}
