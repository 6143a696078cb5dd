//! Finding the nearest nodes: down the layers greedily, then over the lowest one with a beam.

use crate::codes::{Code, distance};
use crate::graph::{Graph, State};
use crate::near::Near;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A search looks at so many nodes for each that it wants, at most: a filter that few nodes pass must not make it look at all.
const LOOKED_AT_A_WANTED: usize = 64;

impl Graph {
    #[inline]
    pub(crate) fn near(&self, to: Code<'_>, id: u32) -> Near {
        Near { distance: distance(self.metric, to, self.codes.get(id)), id }
    }

    /// The nearest linked nodes of those that `accept` takes, nearest first: `count` at most, found with a beam of `beam` nodes. Waiting nodes are
    /// all looked at.
    pub(crate) fn search(&self, to: Code<'_>, count: usize, beam: usize, accept: &dyn Fn(u32) -> bool) -> Vec<Near> {
        let is_found = |id: u32| self.state(id) == State::Linked && accept(id);
        let beam = beam.max(count);
        let mut found = match self.descend(to, 0) {
            Some(from) => self.beam(to, &[from], beam, 0, &is_found),
            None => Vec::new(),
        };
        if !self.waiting.is_empty() {
            found.extend(self.waiting.iter().filter(|id| accept(**id)).map(|id| self.near(to, *id)));
            self.scratch.borrow_mut().compared += self.waiting.len() as u64;
            found.sort_unstable();
        }
        found.truncate(count);
        found
    }

    /// From the entry down to the layer above `layer`: the nearest node that is found by going on to the nearest neighbour.
    pub(crate) fn descend(&self, to: Code<'_>, layer: usize) -> Option<Near> {
        let entry = self.entry?;
        let mut here = self.near(to, entry);
        let mut compared = 1;
        for layer in (layer + 1..=self.level(entry)).rev() {
            loop {
                let neighbours = self.neighbours(here.id, layer);
                compared += neighbours.len() as u64;
                match neighbours.iter().map(|id| self.near(to, *id)).min() {
                    Some(next) if next < here => here = next,
                    _ => break,
                }
            }
        }
        self.scratch.borrow_mut().compared += compared;
        Some(here)
    }

    /// The nearest nodes of a layer that are found from some on, nearest first: at most `width` that count. Those that do not are passed through.
    pub(crate) fn beam(&self, to: Code<'_>, from: &[Near], width: usize, layer: usize, counts: &dyn Fn(u32) -> bool) -> Vec<Near> {
        let mut scratch = self.scratch.borrow_mut();
        let scratch = &mut *scratch;
        scratch.begin(self.states.len());
        let mut found: BinaryHeap<Near> = BinaryHeap::with_capacity(width + 1);
        let mut looked_at = 0;
        for near in from {
            scratch.meet(near.id);
            scratch.ahead.push(Reverse(*near));
            if counts(near.id) {
                found.push(*near);
            }
        }
        while let Some(Reverse(here)) = scratch.ahead.pop() {
            let is_full = found.len() >= width;
            if is_full && found.peek().is_some_and(|worst| here.distance > worst.distance) {
                break;
            }
            if looked_at >= width * LOOKED_AT_A_WANTED {
                break;
            }
            for id in self.neighbours(here.id, layer) {
                if !scratch.meet(*id) {
                    continue;
                }
                looked_at += 1;
                let near = self.near(to, *id);
                if found.len() >= width && found.peek().is_some_and(|worst| near >= *worst) {
                    continue;
                }
                scratch.ahead.push(Reverse(near));
                if counts(*id) {
                    found.push(near);
                    if found.len() > width {
                        found.pop();
                    }
                }
            }
        }
        scratch.compared += looked_at as u64;
        found.into_sorted_vec()
    }

    /// How many codes were compared so far: a measure of work.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.scratch.borrow().compared
    }
}
