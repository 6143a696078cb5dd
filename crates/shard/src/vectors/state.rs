//! The graphs of a shard, and how far each has come.

use super::follow::follow;
use super::images::{Image, VectorImages, VectorPart};
use super::key::{decode_key, floats};
use base::{Now, Slot, TableId, Token};
use model::operation::{NearRow, NearestQuery, VectorColumn, VectorMetric};
use std::sync::Arc;
use vectors::{ImageReader, KeyedGraph, Metric};

/// With more vectors than these yet to be linked, all rows are compared.
pub(super) const UNLINKED_MAX: usize = 2048;
/// Vectors of more numbers have no graph: to link one would take too long a turn.
const DIMENSIONS_MAX: usize = 4096;
/// What links and repairs of a turn may compare: some hundreds of microseconds.
const COMPARED_BYTES_A_TURN: u64 = 256 << 10;
/// What a comparison costs besides the bytes that it compares, as bytes.
const COMPARISON_BYTES: u64 = 48;

/// An index on vectors.
#[derive(Clone)]
pub struct VectorIndex {
    /// Its table.
    pub table: TableId,
    /// Its own number.
    pub index: TableId,
    /// The column.
    pub column: Arc<dyn VectorColumn>,
}

/// How far the graphs of a shard have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorFigures {
    /// Vectors in graphs.
    pub linked: u64,
    /// Vectors that wait to be linked, and rows that a walk has yet to see.
    pub left: u64,
    /// Bytes of memory.
    pub bytes: u64,
    /// Vectors that came with images at the start.
    pub restored: u64,
    /// Indexes without a graph because there is no memory for it.
    pub refused: u64,
}

/// How far one graph has come.
pub(super) enum Phase {
    Small,
    /// A graph is read from what was stored of it, a part a turn.
    Reading(Box<Stored>),
    Walking(Walk),
    Ready,
    Refused {
        rows: u64,
    },
}

/// A row by its token, partition key and clustering key.
pub(super) type Seen = (Token, Vec<u8>, Vec<u8>);

/// A walk over all rows of a table.
#[derive(Default)]
pub(super) struct Walk {
    pub(super) next_slot: u16,
    /// The slot that it is in, and the last row that it has seen there.
    pub(super) place: Option<(Slot, Option<Seen>)>,
    /// Whether rows of its next chunk are being read.
    pub(super) waits: bool,
    /// Whether rows could not be read: it goes on when tables are looked at.
    pub(super) is_paused: bool,
    /// Rows that it has seen.
    pub(super) seen: u64,
    /// After it: up to this node those that it has not met are removed.
    pub(super) swept: u32,
}

/// What was stored of a graph: what has been read, and the parts that have not.
pub(super) struct Stored {
    reader: ImageReader,
    parts: std::vec::IntoIter<Vec<u8>>,
}

pub(super) struct Built {
    pub(super) spec: VectorIndex,
    pub(super) phase: Phase,
    pub(super) graph: Option<KeyedGraph>,
    pub(super) image: Image,
    /// Vectors that came with an image.
    pub(super) restored: u64,
}

/// The graphs of a shard.
#[derive(Default)]
pub(crate) struct Vectors {
    pub(super) built: Vec<Built>,
    /// What was stored of graphs that have not begun since the start.
    pub(super) images: VectorImages,
    /// Stored parts that are of no use any more.
    pub(super) outdated: Vec<(TableId, u32)>,
    pub(super) look_at_us: u64,
}

fn metric_of(metric: VectorMetric) -> Metric {
    match metric {
        VectorMetric::Cosine => Metric::Cosine,
        VectorMetric::Euclidean => Metric::Euclidean,
        VectorMetric::DotProduct => Metric::DotProduct,
    }
}

impl Built {
    fn new(spec: VectorIndex) -> Self {
        Self { spec, phase: Phase::Small, graph: None, image: Image::default(), restored: 0 }
    }

    fn kind(&self) -> (Metric, usize, u64) {
        let column = &self.spec.column;
        (metric_of(column.metric()), column.dimensions(), u64::from(self.spec.index.0))
    }

    pub(super) fn begin(&mut self, images: &mut VectorImages) {
        match images.remove(&self.spec.index) {
            Some(parts) => {
                let (metric, dimensions, seed) = self.kind();
                let reader = ImageReader::new(metric, dimensions, seed);
                self.phase = Phase::Reading(Box::new(Stored { reader, parts: parts.into_iter() }));
            }
            None => self.walk(None),
        }
    }

    /// The walk begins, with what was stored or from nothing.
    fn walk(&mut self, stored: Option<KeyedGraph>) {
        let (metric, dimensions, seed) = self.kind();
        self.image = if stored.is_some() { Image::stored() } else { Image::default() };
        self.restored = stored.as_ref().map_or(0, |graph| graph.len() as u64);
        self.graph = Some(stored.unwrap_or_else(|| KeyedGraph::new(metric, dimensions, seed)));
        self.phase = Phase::Walking(Walk::default());
    }

    /// Reads the next part of what was stored.
    pub(super) fn read_stored(&mut self) {
        let Phase::Reading(stored) = &mut self.phase else { return };
        let read = stored.parts.next().map(|part| stored.reader.read(&part));
        match (read, std::mem::replace(&mut self.phase, Phase::Small)) {
            (Some(Ok(false)), reading) => self.phase = reading,
            (Some(Ok(true)), Phase::Reading(stored)) => self.walk(Some(stored.reader.finish())),
            // A part is missing, or is none.
            _ => self.walk(None),
        }
    }

    pub(super) fn reset(&mut self, phase: Phase) {
        (self.graph, self.image, self.restored) = (None, Image::default(), 0);
        self.phase = phase;
    }

    pub(super) fn bytes(&self) -> usize {
        let stored = match &self.phase {
            Phase::Reading(stored) => stored.reader.bytes() + stored.parts.as_slice().iter().map(Vec::len).sum::<usize>(),
            _ => 0,
        };
        stored + self.graph.as_ref().map_or(0, KeyedGraph::bytes)
    }

    pub(super) fn has_work(&self) -> bool {
        let walks = match &self.phase {
            Phase::Reading(_) => true,
            Phase::Walking(walk) => !walk.waits && !walk.is_paused,
            Phase::Small | Phase::Ready | Phase::Refused { .. } => false,
        };
        walks || self.graph.as_ref().is_some_and(KeyedGraph::has_work)
    }

    /// The next part of its image, if one is due.
    pub(super) fn next_part(&mut self, now: Now) -> Option<VectorPart> {
        let graph = self.graph.as_ref().filter(|graph| matches!(self.phase, Phase::Ready) && !graph.has_work())?;
        let (part, bytes) = self.image.next_part(graph, now)?;
        Some(VectorPart { index: self.spec.index, part, bytes })
    }

    /// Links vectors or repairs, a turn's worth.
    pub(super) fn step(&mut self) {
        let Some(graph) = &mut self.graph else { return };
        let a_comparison = graph.graph().dimensions() as u64 + COMPARISON_BYTES;
        let end = graph.graph().compared() + COMPARED_BYTES_A_TURN / a_comparison;
        while graph.has_work() && graph.graph().compared() < end {
            graph.step();
        }
    }
}

impl Vectors {
    /// Whether a table has an index on vectors.
    #[inline]
    pub(crate) fn has(&self, table: TableId) -> bool {
        self.built.iter().any(|built| built.spec.table == table)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.built.is_empty()
    }

    /// Whether a walk waits for rows.
    pub(crate) fn waits(&self) -> bool {
        self.built.iter().any(|built| matches!(&built.phase, Phase::Walking(walk) if walk.waits))
    }

    pub(crate) fn has_work(&self) -> bool {
        self.built.iter().any(Built::has_work)
    }

    /// A table was emptied.
    pub(crate) fn truncated(&mut self, table: TableId) {
        for built in self.built.iter_mut().filter(|built| built.spec.table == table) {
            built.reset(Phase::Small);
        }
    }

    pub(super) fn set(&mut self, specs: impl Iterator<Item = VectorIndex>) {
        let mut former = std::mem::take(&mut self.built);
        for spec in specs.filter(|spec| (1..=DIMENSIONS_MAX).contains(&spec.column.dimensions())) {
            let known = former.iter().position(|built| (built.spec.table, built.spec.index) == (spec.table, spec.index));
            self.built.push(match known {
                Some(known) => Built { spec, ..former.swap_remove(known) },
                None => Built::new(spec),
            });
        }
        self.look_at_us = 0;
    }

    /// Candidates of a query, if there is a graph that is complete; with slots, of these.
    pub(crate) fn nearest(&self, query: &NearestQuery<'_>, slots: &[Slot]) -> Option<Vec<NearRow>> {
        let built = self.built.iter().find(|built| (built.spec.table, built.spec.index) == (query.table, query.index))?;
        let graph = built.graph.as_ref().filter(|graph| matches!(built.phase, Phase::Ready) && graph.unlinked() <= UNLINKED_MAX)?;
        let is_within = |key: &[u8]| {
            let Some((token, ..)) = decode_key(key) else { return false };
            if slots.is_empty() { (query.first..=query.last).contains(&token) } else { slots.binary_search(&token.slot()).is_ok() }
        };
        let found = graph.search(floats(query.vector), query.count, query.now_s, &is_within)?;
        let rows = found.iter().filter_map(|key| decode_key(key));
        Some(
            rows.map(|(token, partition, clustering)| NearRow { token, partition: partition.to_vec(), clustering: clustering.to_vec() })
                .collect(),
        )
    }
}

/// Shows the graphs what was written.
impl Vectors {
    #[inline]
    pub(crate) fn wrote(&mut self, batch: &engine::WriteBatch) {
        if !self.built.is_empty() {
            for row in batch.rows() {
                self.row(&row.key, row.row);
            }
        }
    }

    fn row(&mut self, key: &engine::Key<'_>, row: &[u8]) {
        for Built { spec, graph, .. } in &mut self.built {
            if let Some(graph) = graph.as_mut().filter(|_| spec.table == key.table) {
                follow(graph, &*spec.column, key, row);
            }
        }
    }
}
