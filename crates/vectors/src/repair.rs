//! Vectors leave the graph. A dead node is passed through as before, so nothing is worse for it but memory. Once there are enough of them a repair
//! goes through all nodes and gives those that point to dead ones other neighbours, from what the dead ones point to. Then nothing points to the
//! nodes that were dead when it began, and their numbers are free.
//!
//! Invariant: no node gets a dead neighbour (`link`), so what points to a dead node pointed to it when it died.

use crate::graph::{Graph, Repair, State};
use crate::near::Near;
use std::collections::BTreeSet;

/// A repair begins when one in so many nodes is dead.
const ONE_DEAD_IN: usize = 5;
/// Fewer are not worth it.
const DEAD_MIN: usize = 64;
/// Dead nodes that are freed at once, for each that a repair looks at at once.
const FREED_A_NODE: usize = 64;
/// With fewer neighbours on the lowest layer than these a node may be cut off from the others, together with those few.
const LONELY: usize = 8;
/// What it costs to look at a node that needs no repair, in comparisons.
const A_LOOK: u64 = 4;
/// Candidates that a repaired list is chosen from, for each that it may have.
const CANDIDATES_A_NEIGHBOUR: usize = 2;

impl Graph {
    /// Whether [`Graph::repair_some`] has something to do.
    #[must_use]
    pub fn needs_repair(&self) -> bool {
        self.repair.is_some() || (self.dead >= DEAD_MIN && self.dead * ONE_DEAD_IN >= self.linked)
    }

    /// Looks at the next nodes of a repair, or begins one. Only while [`Graph::needs_repair`].
    pub fn repair_some(&mut self, nodes: usize) {
        let mut repair = match self.repair.take() {
            Some(repair) => repair,
            None => {
                let is_dead = |id: &u32| self.state(*id) == State::Dead;
                Repair { next: 0, dead: (0..self.states.len() as u32).filter(is_dead).collect() }
            }
        };
        for _ in 0..nodes {
            if repair.next as usize >= self.states.len() {
                return self.free_dead(repair, FREED_A_NODE * nodes);
            }
            self.scratch.get_mut().compared += A_LOOK;
            // Who dies while it goes on stays until the next one, and is passed through until then.
            if self.state(repair.next) == State::Linked || repair.dead.binary_search(&repair.next).is_err() {
                self.repair_node(repair.next);
            }
            repair.next += 1;
        }
        self.repair = Some(repair);
    }

    fn repair_node(&mut self, id: u32) {
        if self.state(id) == State::Free {
            return;
        }
        for layer in 0..=self.level(id) {
            let neighbours = self.neighbours(id, layer);
            if neighbours.iter().all(|other| self.state(*other) == State::Linked) {
                continue;
            }
            let code = self.codes.get(id);
            let of_dead =
                neighbours.iter().filter(|other| self.state(**other) == State::Dead).flat_map(|dead| self.neighbours(*dead, layer));
            let ids: BTreeSet<u32> =
                neighbours.iter().chain(of_dead).filter(|other| **other != id && self.state(**other) == State::Linked).copied().collect();
            let mut candidates: Vec<Near> = ids.into_iter().map(|other| self.near(code, other)).collect();
            candidates.sort_unstable();
            self.scratch.borrow_mut().compared += candidates.len() as u64;
            let most = Self::neighbours_max(layer);
            candidates.truncate(CANDIDATES_A_NEIGHBOUR * most);
            let chosen = self.choose(&candidates, most);
            self.set_neighbours(id, layer, &chosen);
            if layer == 0 && chosen.len() < LONELY && self.state(id) == State::Linked && self.linked > LONELY {
                self.lonely.push(id);
            }
        }
    }

    /// Nodes that searches may not find any more since what was around them has died: they have to be added again.
    pub(crate) fn take_lonely(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.lonely)
    }

    /// Nothing points to those any more that were dead when the repair began: some of them are free now.
    fn free_dead(&mut self, mut repair: Repair, most: usize) {
        if self.entry.is_some_and(|entry| self.state(entry) == State::Dead) {
            let highest = self.upper.iter().filter(|(id, _)| self.state(**id) == State::Linked).max_by_key(|(_, layers)| layers.len());
            let any = || (0..self.states.len() as u32).find(|id| self.state(*id) == State::Linked);
            self.entry = highest.map(|(id, _)| *id).or_else(any);
        }
        let freed = repair.dead.split_off(repair.dead.len().saturating_sub(most));
        self.dead -= freed.len();
        self.scratch.get_mut().compared += freed.len() as u64;
        freed.into_iter().for_each(|id| self.release(id));
        self.repair = Some(repair).filter(|repair| !repair.dead.is_empty());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Metric;
    use crate::codes::OwnCode;
    use base::Rng;

    fn code(rng: &mut Rng) -> OwnCode {
        OwnCode::of(Metric::Euclidean, (0..16).map(|_| rng.below(1000) as f32).collect::<Vec<_>>().into_iter()).unwrap()
    }

    #[test]
    fn after_a_repair_nothing_points_to_what_was_dead() {
        let mut rng = Rng::new(11);
        let mut graph = Graph::new(Metric::Euclidean, 16, 1);
        for _ in 0..1000 {
            graph.add(code(&mut rng).borrow());
        }
        while graph.link_next() {}
        // All nodes die in time, the entry as well.
        for round in 0..12 {
            for _ in 0..300 {
                graph.kill(rng.below(graph.states.len() as u64) as u32);
            }
            assert!(graph.needs_repair(), "round {round}");
            let mut steps = 0;
            while graph.needs_repair() {
                graph.repair_some(7);
                if steps == 20 {
                    // Vectors come and go meanwhile.
                    graph.kill(rng.below(graph.states.len() as u64) as u32);
                    graph.add(code(&mut rng).borrow());
                    graph.link_next();
                }
                steps += 1;
            }
            for id in 0..graph.states.len() as u32 {
                for layer in 0..=graph.level(id) {
                    let neighbours = graph.neighbours(id, layer);
                    assert!(neighbours.iter().all(|other| graph.state(*other) != State::Free), "node {id} in round {round}");
                }
            }
            for _ in 0..300 {
                graph.add(code(&mut rng).borrow());
            }
            while graph.link_next() {}
            assert!(graph.states.len() < 2000, "numbers are given out again");
            let linked = (0..graph.states.len() as u32).filter(|id| graph.state(*id) == State::Linked).count();
            assert_eq!(linked, graph.linked());
            let all = graph.search(code(&mut rng).borrow(), linked, linked, &|_| true);
            assert!(all.len() * 100 >= linked * 99, "{} of {linked} are reached in round {round}", all.len());
        }
    }

    #[test]
    fn a_graph_whose_vectors_all_left_begins_anew() {
        let mut rng = Rng::new(2);
        let mut graph = Graph::new(Metric::Euclidean, 16, 1);
        for _ in 0..200 {
            graph.add(code(&mut rng).borrow());
        }
        while graph.link_next() {}
        (0..200).for_each(|id| graph.kill(id));
        assert!(graph.search(code(&mut rng).borrow(), 5, 50, &|_| true).is_empty());
        while graph.needs_repair() {
            graph.repair_some(100);
        }
        assert_eq!((graph.linked(), graph.dead, graph.entry), (0, 0, None));
        let id = graph.add(code(&mut rng).borrow());
        assert!(graph.link_next());
        assert_eq!(graph.search(code(&mut rng).borrow(), 5, 50, &|_| true).iter().map(|near| near.id).collect::<Vec<_>>(), [id]);
    }
}
