//! A graph follows the rows: those that are written, and those that a walk meets. Each is shown as it is now.

use super::key::{encode_key, floats};
use engine::Key;
use model::operation::{RowVector, VectorColumn};
use vectors::{Entry, KeyedGraph};

/// Sorts after every clustering key there can be.
const LAST_CLUSTERING: &[u8] = &[0xFF];

/// Shows a graph a row as it is now.
pub(super) fn follow(graph: &mut KeyedGraph, column: &dyn VectorColumn, key: &Key<'_>, row: &[u8]) {
    let of = |clustering: &[u8]| encode_key(key.token, key.partition, clustering);
    match column.of_row(key.clustering, row) {
        RowVector::Vector { bytes, timestamp, expires_at_s } => {
            graph.put(&of(key.clustering), floats(bytes), Entry { timestamp, expires_at_s });
        }
        RowVector::Without => graph.remove(&of(key.clustering)),
        RowVector::Deletion { from, to, timestamp } => graph.remove_range(&of(from), &of(to.unwrap_or(LAST_CLUSTERING)), timestamp),
    }
}
