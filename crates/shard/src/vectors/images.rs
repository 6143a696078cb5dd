//! Images of graphs: what the node stores of them, and gives back at the next start.
//!
//! An image is written in parts, one after the other, when a graph has nothing else to do. At the start a graph begins as its image says, and the walk over all
//! rows puts right what is not so any more: a row whose vector it has costs no links. So an image may be old, and it may be missing.

use base::{Now, TableId};
use std::collections::BTreeMap;
use vectors::KeyedGraph;

/// Bytes of a part.
const PART_BYTES: usize = 512 << 10;
/// Graphs that take more memory are built anew at each start: all small files are read before a node serves.
const IMAGE_BYTES_MAX: usize = 256 << 20;
/// A new image is made when one in so many vectors has changed.
const CHANGED_PART: u64 = 10;
/// Two images of a graph are so far apart.
const IMAGE_EVERY_US: u64 = 60_000_000;

/// Parts of images, by their indexes.
pub type VectorImages = BTreeMap<TableId, Vec<Vec<u8>>>;

/// A part of an image.
#[derive(Debug)]
pub struct VectorPart {
    /// The index.
    pub index: TableId,
    /// The part's number.
    pub part: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What is stored of a graph.
#[derive(Default)]
pub(super) struct Image {
    /// The image that is being written: its number, its next part, the node that it begins with.
    writing: Option<(u64, u32, u32)>,
    /// How many changes of the graph the last one has.
    changes: Option<u64>,
    next_at_us: u64,
}

impl Image {
    /// One that was read.
    pub(super) fn stored() -> Self {
        Self { changes: Some(0), ..Self::default() }
    }

    fn is_due(&self, graph: &KeyedGraph, now: Now) -> bool {
        let least = self.changes.map_or(1, |changes| changes + graph.len() as u64 / CHANGED_PART + 1);
        now.monotonic_us >= self.next_at_us && graph.changes() >= least && graph.bytes() <= IMAGE_BYTES_MAX
    }

    /// The next part of an image that is due, and its number.
    pub(super) fn next_part(&mut self, graph: &KeyedGraph, now: Now) -> Option<(u32, Vec<u8>)> {
        if self.writing.is_none() {
            if !self.is_due(graph, now) {
                return None;
            }
            self.changes = Some(graph.changes());
            self.writing = Some((now.wall_us.cast_unsigned(), 0, 0));
        }
        let (number, part, from) = self.writing?;
        let (bytes, next) = graph.write_part(number, part, from, PART_BYTES);
        self.writing = next.map(|next| (number, part + 1, next));
        if next.is_none() {
            self.next_at_us = now.monotonic_us + IMAGE_EVERY_US;
        }
        Some((part, bytes))
    }

    /// A part could not be stored.
    pub(super) fn failed(&mut self, now: Now) {
        *self = Self { next_at_us: now.monotonic_us + IMAGE_EVERY_US, ..Self::default() };
    }
}
