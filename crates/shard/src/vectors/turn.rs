//! What a shard does about its graphs, turn by turn.

use super::images::{VectorImages, VectorPart};
use super::state::{Built, Phase, UNLINKED_MAX, VectorFigures, VectorIndex, Vectors};
use crate::Shard;
use base::{Now, TableId};
use vectors::KeyedGraph;

/// A table of so many rows on a shard gets a graph: to compare them all takes about as long as some searches.
const GRAPH_ROWS_MIN: u64 = 4096;
/// All graphs may take one in so many bytes of the shard's memory.
const MEMORY_PART: usize = 4;
/// Nodes that are looked at for expired vectors, each time that tables are looked at.
const EXPIRY_NODES: u32 = 8192;
/// How often tables are looked at.
const LOOK_EVERY_US: u64 = 500_000;

impl Shard {
    /// The indexes on vectors, as they are now. Rows of the tables of new ones are walked over in turns to come.
    pub fn set_vector_indexes(&mut self, indexes: impl Iterator<Item = VectorIndex>) {
        self.vectors.set(indexes);
    }

    /// Whether rows are still compared one by one for want of a graph that is being made.
    #[must_use]
    pub fn builds_vectors(&self, index: TableId) -> bool {
        let is_behind = |built: &Built| match &built.phase {
            Phase::Small => self.engine.table_rows(built.spec.table) >= GRAPH_ROWS_MIN,
            Phase::Reading(_) | Phase::Walking(_) => true,
            Phase::Ready => built.graph.as_ref().is_some_and(|graph| graph.unlinked() > UNLINKED_MAX),
            Phase::Refused { .. } => false,
        };
        self.vectors.built.iter().any(|built| built.spec.index == index && is_behind(built))
    }

    /// How far all graphs have come.
    #[must_use]
    pub fn vector_figures(&self) -> VectorFigures {
        let mut figures = VectorFigures::default();
        for built in &self.vectors.built {
            let rows = self.engine.table_rows(built.spec.table);
            figures.restored += built.restored;
            figures.bytes += built.bytes() as u64;
            figures.linked += built.graph.as_ref().map_or(0, |graph| graph.graph().linked() as u64);
            figures.left += built.graph.as_ref().map_or(0, |graph| graph.graph().waiting() as u64);
            match &built.phase {
                Phase::Reading(_) => figures.left += rows,
                Phase::Walking(walk) => figures.left += rows.saturating_sub(walk.seen),
                Phase::Refused { .. } => figures.refused += 1,
                Phase::Small | Phase::Ready => {}
            }
        }
        figures
    }

    /// A turn's share of the graphs. Gives the time at which to be called again.
    pub(crate) fn vectors_turn(&mut self, now: Now) -> Option<u64> {
        if (self.vectors.is_empty() && self.vectors.images.is_empty()) || !self.engine.is_ready() {
            return None;
        }
        if now.monotonic_us >= self.vectors.look_at_us {
            self.look_at_vector_tables(now);
        }
        match self.vectors.built.iter_mut().find(|built| matches!(built.phase, Phase::Reading(_))) {
            Some(built) => built.read_stored(),
            None => self.walk_vectors(now),
        }
        if let Some(built) = self.vectors.built.iter_mut().find(|built| built.graph.as_ref().is_some_and(KeyedGraph::has_work)) {
            built.step();
        }
        self.bound_vectors();
        Some(self.vectors.look_at_us)
    }

    /// Begins graphs of tables that have grown, ends those of tables that have not.
    fn look_at_vector_tables(&mut self, now: Now) {
        self.vectors.look_at_us = now.monotonic_us + LOOK_EVERY_US;
        let now_s = now.wall_s().clamp(0, i64::from(u32::MAX)) as u32;
        let Vectors { built, images, outdated, .. } = &mut self.vectors;
        for built in built {
            let rows = self.engine.table_rows(built.spec.table);
            match &mut built.phase {
                Phase::Small if rows >= GRAPH_ROWS_MIN => built.begin(images),
                Phase::Ready if rows < GRAPH_ROWS_MIN / 2 => built.reset(Phase::Small),
                Phase::Refused { rows: refused } if rows < *refused / 2 => built.reset(Phase::Small),
                Phase::Walking(walk) => walk.is_paused = false,
                _ => {}
            }
            if let Some(graph) = &mut built.graph {
                graph.expire(now_s, EXPIRY_NODES);
            }
        }
        // What is left is of indexes that were dropped, or whose tables were emptied.
        let left = std::mem::take(images).into_iter();
        outdated.extend(left.flat_map(|(index, parts)| (0..parts.len() as u32).map(move |part| (index, part))));
    }

    /// Tells the engine what the graphs take, and gives the largest up if that is too much.
    fn bound_vectors(&mut self) {
        let bytes_max = self.engine.memory_limit_bytes() / MEMORY_PART;
        let bytes: usize = self.vectors.built.iter().map(Built::bytes).sum();
        if bytes > 0
            && (bytes > bytes_max || self.engine.index_is_full())
            && let Some(largest) = self.vectors.built.iter_mut().max_by_key(|built| built.bytes())
        {
            let rows = self.engine.table_rows(largest.spec.table);
            largest.reset(Phase::Refused { rows });
        }
        self.engine.set_graph_bytes(self.vectors.built.iter().map(Built::bytes).sum());
    }

    /// What was stored of graphs before the start.
    pub fn set_vector_images(&mut self, images: VectorImages) {
        self.vectors.images = images;
    }

    /// The next part of an image that is due, to be stored before the next one is asked for. One without bytes takes the place of a part that is outdated.
    pub fn next_vector_part(&mut self, now: Now) -> Option<VectorPart> {
        if let Some((index, part)) = self.vectors.outdated.pop() {
            return Some(VectorPart { index, part, bytes: Vec::new() });
        }
        self.vectors.built.iter_mut().find_map(|built| built.next_part(now))
    }

    /// A part could not be stored: the image is written again from the start, some day.
    pub fn vector_part_failed(&mut self, now: Now, index: TableId) {
        for built in self.vectors.built.iter_mut().filter(|built| built.spec.index == index) {
            built.image.failed(now);
        }
    }
}
