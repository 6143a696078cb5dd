//! Which vectors are nearest to a given one, found without comparing all of them: a hierarchical navigable small world (HNSW: Malkov and Yashunin,
//! arXiv 1603.09320) over quantised copies of the vectors.
//!
//! - [`codes`]: a vector as one byte a dimension, and how far two of them are apart.
//! - [`graph`]: nodes, their neighbours on each layer; `search`, `link` (a vector enters), `repair` (vectors leave).
//! - [`keyed`]: a graph whose nodes have keys: the rows that the vectors are of.
//! - [`image`]: the same as bytes, in parts, and back.
//!
//! Invariants:
//! - Nothing here is an answer: it names candidates. Whoever asks reads each one's row and compares its vector. So the graph decides recall and nothing else.
//! - Every step is small: the caller links, repairs or removes one node or a few, writes or reads a part of an image, and other work comes between.
//! - The same calls give the same graph: there is no thread, no clock, and levels come from a seed.

mod codes;
mod graph;
mod image;
mod keyed;
mod link;
mod near;
mod repair;
mod search;

pub use codes::Metric;
pub use graph::Graph;
pub use image::{ImageError, ImageReader};
pub use keyed::{Entry, KeyedGraph};
