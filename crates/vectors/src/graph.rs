//! The graph: nodes with codes, each with its neighbours on the layers up to its level.
//!
//! | state of a node | found | passed through | has a code |
//! |---|---|---|---|
//! | free | no | no | no |
//! | waiting: it has no neighbours yet | by comparing all waiting ones | no | yes |
//! | linked | yes | yes | yes |
//! | dead: its vector is gone | no | yes, until the repair is over | yes |
//!
//! A layer's neighbours point from a node to others. A node that is pointed to need not point back, so a dead node stays until a repair has seen all others.

use crate::codes::{Code, Codes, Metric, OwnCode};
use crate::near::Scratch;
use base::Rng;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Neighbours of a node on a layer above the lowest, at most.
pub(crate) const NEIGHBOURS_MAX: usize = 20;
/// On the lowest.
pub(crate) const NEIGHBOURS_LOWEST_MAX: usize = 40;
/// Layers above the lowest that there can be.
pub(crate) const LEVELS_MAX: usize = 12;
/// Lists of neighbours of a block.
const BLOCK_LISTS: usize = 256;
/// A list: its length, and room for its neighbours.
const LIST: usize = NEIGHBOURS_LOWEST_MAX + 1;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    Waiting,
    Linked,
    Dead,
}

/// A repair that is under way.
pub(crate) struct Repair {
    /// The next node to look at.
    pub(crate) next: u32,
    /// Who was dead when it began, and is not free yet.
    pub(crate) dead: Vec<u32>,
}

/// A graph of vectors of one length.
pub struct Graph {
    pub(crate) metric: Metric,
    dimensions: usize,
    pub(crate) codes: Codes,
    pub(crate) states: Vec<State>,
    /// Neighbours on the lowest layer.
    lowest: Vec<Box<[u32]>>,
    /// Those on the layers above, of nodes that are on any.
    pub(crate) upper: BTreeMap<u32, Vec<Vec<u32>>>,
    /// Where searches begin: a linked or dead node of the highest level.
    pub(crate) entry: Option<u32>,
    pub(crate) waiting: BTreeSet<u32>,
    pub(crate) free: Vec<u32>,
    pub(crate) linked: usize,
    pub(crate) dead: usize,
    pub(crate) repair: Option<Repair>,
    /// Linked nodes that a repair has left with next to no neighbours.
    pub(crate) lonely: Vec<u32>,
    pub(crate) scratch: RefCell<Scratch>,
    pub(crate) rng: Rng,
}

impl Graph {
    /// An empty graph of vectors with so many numbers. Levels of nodes come from the seed.
    #[must_use]
    pub fn new(metric: Metric, dimensions: usize, seed: u64) -> Self {
        Self {
            metric,
            dimensions,
            codes: Codes::new(dimensions),
            states: Vec::new(),
            lowest: Vec::new(),
            upper: BTreeMap::new(),
            entry: None,
            waiting: BTreeSet::new(),
            free: Vec::new(),
            linked: 0,
            dead: 0,
            repair: None,
            lonely: Vec::new(),
            scratch: RefCell::default(),
            rng: Rng::new(seed),
        }
    }

    /// The measure.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Numbers of a vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Vectors that have neighbours.
    #[must_use]
    pub fn linked(&self) -> usize {
        self.linked
    }

    /// Vectors that wait to be linked.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The code of a vector, if it has as many numbers as there should be and can be compared.
    pub(crate) fn encode(&self, vector: impl ExactSizeIterator<Item = f32> + Clone) -> Option<OwnCode> {
        if vector.len() != self.dimensions {
            return None;
        }
        OwnCode::of(self.metric, vector)
    }

    /// Adds a vector, which waits to be linked.
    pub(crate) fn add(&mut self, code: Code<'_>) -> u32 {
        let id = self.free.pop().unwrap_or(self.states.len() as u32);
        self.put(id, code, State::Waiting);
        self.waiting.insert(id);
        id
    }

    /// Sets a node; the number after the last one makes the graph longer.
    pub(crate) fn put(&mut self, id: u32, code: Code<'_>, state: State) {
        self.codes.set(id, code);
        let at = id as usize;
        if at == self.states.len() {
            if at.is_multiple_of(BLOCK_LISTS) {
                self.lowest.push(vec![0; BLOCK_LISTS * LIST].into_boxed_slice());
            }
            self.states.push(state);
        }
        self.states[at] = state;
        self.set_neighbours(id, 0, &[]);
    }

    /// A vector is gone.
    pub(crate) fn kill(&mut self, id: u32) {
        match self.states[id as usize] {
            State::Waiting => {
                self.waiting.remove(&id);
                self.release(id);
            }
            State::Linked => {
                self.states[id as usize] = State::Dead;
                self.linked -= 1;
                self.dead += 1;
            }
            State::Free | State::Dead => {}
        }
    }

    /// A number may be given out again: nothing points to it.
    pub(crate) fn release(&mut self, id: u32) {
        self.states[id as usize] = State::Free;
        self.set_neighbours(id, 0, &[]);
        self.upper.remove(&id);
        self.free.push(id);
    }

    #[inline]
    pub(crate) fn state(&self, id: u32) -> State {
        self.states[id as usize]
    }

    /// The highest layer that a node is on.
    #[inline]
    pub(crate) fn level(&self, id: u32) -> usize {
        self.upper.get(&id).map_or(0, Vec::len)
    }

    /// A node's neighbours on a layer that it is on.
    #[inline]
    pub(crate) fn neighbours(&self, id: u32, layer: usize) -> &[u32] {
        if layer > 0 {
            return self.upper.get(&id).and_then(|layers| layers.get(layer - 1)).map_or(&[], Vec::as_slice);
        }
        let (block, at) = (id as usize / BLOCK_LISTS, id as usize % BLOCK_LISTS * LIST);
        let list = &self.lowest[block][at..at + LIST];
        &list[1..=list[0] as usize]
    }

    pub(crate) fn set_neighbours(&mut self, id: u32, layer: usize, neighbours: &[u32]) {
        if layer > 0 {
            if let Some(list) = self.upper.get_mut(&id).and_then(|layers| layers.get_mut(layer - 1)) {
                neighbours.clone_into(list);
            }
            return;
        }
        let (block, at) = (id as usize / BLOCK_LISTS, id as usize % BLOCK_LISTS * LIST);
        let list = &mut self.lowest[block][at..at + LIST];
        list[0] = neighbours.len() as u32;
        list[1..=neighbours.len()].copy_from_slice(neighbours);
    }

    /// Neighbours of a node on a layer, at most.
    pub(crate) fn neighbours_max(layer: usize) -> usize {
        if layer == 0 { NEIGHBOURS_LOWEST_MAX } else { NEIGHBOURS_MAX }
    }

    /// The level of a new node: each is on the next layer with a probability of one in [`NEIGHBOURS_MAX`].
    pub(crate) fn draw_level(&mut self) -> usize {
        let mut level = 0;
        while level < LEVELS_MAX && self.rng.below(NEIGHBOURS_MAX as u64) == 0 {
            level += 1;
        }
        level
    }

    /// What it takes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let lists = self.lowest.len() * BLOCK_LISTS * LIST * size_of::<u32>();
        let upper = self.upper.len() * (NEIGHBOURS_MAX * size_of::<u32>() + 64);
        let waiting = self.waiting.len() * 16;
        self.codes.bytes() + lists + upper + waiting + self.states.capacity() + self.free.capacity() * 4 + self.scratch.borrow().bytes()
    }
}
