//! A vector enters the graph: it gets a level, neighbours on each layer up to it, and becomes theirs.

use crate::graph::{Graph, State};
use crate::near::Near;

/// The beam that looks for neighbours of a new node.
const LINK_BEAM: usize = 160;
/// A list that is full keeps one in so many of its places free when it is chosen anew, which so happens once for several new neighbours.
const SPARE_PART: usize = 4;

impl Graph {
    /// Links one waiting vector. Returns whether there was one.
    pub fn link_next(&mut self) -> bool {
        let Some(id) = self.waiting.pop_first() else { return false };
        let level = self.draw_level();
        if level > 0 {
            self.upper.insert(id, vec![Vec::new(); level]);
        }
        self.states[id as usize] = State::Linked;
        self.linked += 1;
        // It is the first, or all others are dead.
        let Some(entry) = self.entry.filter(|_| self.linked > 1) else {
            self.entry = Some(id);
            return true;
        };
        let highest = self.level(entry);
        let code = self.codes.get(id);
        let mut from: Vec<Near> = self.descend(code, level.min(highest)).into_iter().collect();
        let mut chosen_by_layer = Vec::with_capacity(level.min(highest) + 1);
        for layer in (0..=level.min(highest)).rev() {
            let code = self.codes.get(id);
            let found = self.beam(code, &from, LINK_BEAM, layer, &|other| other != id && self.state(other) == State::Linked);
            chosen_by_layer.push((layer, self.choose(&found, Self::neighbours_max(layer))));
            if !found.is_empty() {
                from = found;
            }
        }
        for (layer, chosen) in chosen_by_layer {
            self.set_neighbours(id, layer, &chosen);
            for other in chosen {
                self.point(other, id, layer);
            }
        }
        if level > highest {
            self.entry = Some(id);
        }
        true
    }

    /// Of nodes, nearest first, those that are neighbours: each nearer to the node than to any that was chosen before, so that they lie in all
    /// directions; what is left of the room goes to the nearest others.
    pub(crate) fn choose(&self, candidates: &[Near], most: usize) -> Vec<u32> {
        if candidates.len() <= most {
            return candidates.iter().map(|near| near.id).collect();
        }
        let (mut chosen, mut others) = (Vec::with_capacity(most), Vec::new());
        let mut compared = 0;
        for near in candidates {
            if chosen.len() == most {
                break;
            }
            let code = self.codes.get(near.id);
            let is_apart = chosen.iter().all(|id| {
                compared += 1;
                self.near(code, *id).distance > near.distance
            });
            if is_apart { chosen.push(near.id) } else { others.push(near.id) }
        }
        let room = most - chosen.len();
        chosen.extend(others.into_iter().take(room));
        self.scratch.borrow_mut().compared += compared;
        chosen
    }

    /// Makes `to` a neighbour of `from`, in place of another where there is no room.
    fn point(&mut self, from: u32, to: u32, layer: usize) {
        let most = Self::neighbours_max(layer);
        let mut neighbours = self.neighbours(from, layer).to_vec();
        if neighbours.contains(&to) {
            return;
        }
        neighbours.push(to);
        if neighbours.len() > most {
            let code = self.codes.get(from);
            let mut candidates: Vec<Near> =
                neighbours.iter().filter(|id| self.state(**id) == State::Linked).map(|id| self.near(code, *id)).collect();
            candidates.sort_unstable();
            self.scratch.borrow_mut().compared += candidates.len() as u64;
            neighbours = self.choose(&candidates, most - most / SPARE_PART);
        }
        self.set_neighbours(from, layer, &neighbours);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::codes::OwnCode;
    use crate::graph::NEIGHBOURS_LOWEST_MAX;
    use crate::{Graph, Metric};
    use base::Rng;

    #[test]
    fn every_node_has_neighbours_and_none_is_its_own() {
        let mut rng = Rng::new(3);
        let mut graph = Graph::new(Metric::Euclidean, 8, 1);
        for _ in 0..2000 {
            let code = OwnCode::of(Metric::Euclidean, (0..8).map(|_| rng.below(1000) as f32).collect::<Vec<_>>().into_iter()).unwrap();
            graph.add(code.borrow());
        }
        assert_eq!((graph.linked(), graph.waiting()), (0, 2000));
        while graph.link_next() {}
        assert_eq!((graph.linked(), graph.waiting()), (2000, 0));
        for id in 0..2000 {
            for layer in 0..=graph.level(id) {
                let neighbours = graph.neighbours(id, layer);
                assert!(layer > 0 || !neighbours.is_empty(), "node {id}");
                assert!(neighbours.len() <= NEIGHBOURS_LOWEST_MAX && !neighbours.contains(&id), "node {id} on layer {layer}");
                assert!(neighbours.iter().all(|other| graph.level(*other) >= layer), "node {id} on layer {layer}");
            }
        }
    }
}
