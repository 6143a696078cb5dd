//! The column of an index on vectors, as the shard sees it that keeps a graph of them. Rows have no entries: a query compares vectors.

use super::has_entries;
use crate::exec::range_of_deletion;
use crate::value::function::Similarity;
use model::operation::{FIRST_ROW_BYTE, RANGE_DELETION_PREFIX, RowVector, VectorColumn, VectorMetric};
use model::row::{Content, RowView};
use model::{ColumnId, ColumnKind, DataType, Index, Table};
use std::sync::Arc;

/// A regular column of vectors of floats that has an index.
pub struct Vectors {
    column: ColumnId,
    dimensions: usize,
    similarity: Similarity,
    /// Whether partitions have rows of their own besides.
    is_clustered: bool,
}

impl Vectors {
    /// Of an index; `None` if the rows of its column are compared one by one always.
    #[must_use]
    pub fn new(table: &Table, index: &Index) -> Option<Self> {
        let (_, column) = table.column_of_id(index.column)?;
        let DataType::Vector(element, dimensions) = &column.data_type else { return None };
        let has_graph = column.kind == ColumnKind::Regular && **element == DataType::Float && !has_entries(table, index);
        has_graph.then(|| Self {
            column: column.id,
            dimensions: *dimensions as usize,
            similarity: Similarity::of(index),
            is_clustered: table.clustering_len > 0,
        })
    }
}

impl VectorColumn for Vectors {
    fn metric(&self) -> VectorMetric {
        match self.similarity {
            Similarity::Cosine => VectorMetric::Cosine,
            Similarity::Euclidean => VectorMetric::Euclidean,
            Similarity::DotProduct => VectorMetric::DotProduct,
        }
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn of_row<'a>(&self, clustering: &'a [u8], row: &'a [u8]) -> RowVector<'a> {
        let view = RowView::new(row);
        if self.is_clustered && clustering.first().is_none_or(|first| *first == RANGE_DELETION_PREFIX) {
            let (from, to) = match clustering {
                [] => (&[FIRST_ROW_BYTE][..], None),
                range => match range_of_deletion(range) {
                    Some((from, to)) => (from, Some(to).filter(|to| !to.is_empty())),
                    None => return RowVector::Without,
                },
            };
            return match view.deletion() {
                Some(deletion) => RowVector::Deletion { from, to, timestamp: deletion.timestamp },
                None => RowVector::Without,
            };
        }
        match view.cells().find(|cell| cell.column == self.column).map(|cell| (cell.stamp, cell.content)) {
            Some((stamp, Content::Value(bytes))) => RowVector::Vector {
                bytes,
                timestamp: stamp.timestamp,
                expires_at_s: if stamp.ttl_s == 0 { 0 } else { stamp.expires_at_s.max(1) },
            },
            _ => RowVector::Without,
        }
    }
}

/// The indexes of a table on vectors that a shard may keep graphs of.
pub fn vector_columns(table: &Table) -> impl Iterator<Item = (Arc<Index>, Vectors)> + '_ {
    table.indexes.values().filter_map(|index| Some((Arc::clone(index), Vectors::new(table, index)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::row::{Deletion, RowWriter, Stamp};

    fn vectors(is_clustered: bool) -> Vectors {
        Vectors { column: ColumnId(3), dimensions: 2, similarity: Similarity::Cosine, is_clustered }
    }

    fn row(cell: Option<Stamp>, deletion: Option<i64>) -> Vec<u8> {
        let mut row = Vec::new();
        let deletion = deletion.map(|timestamp| Deletion { timestamp, deleted_at_s: 1 });
        let mut writer = RowWriter::new(&mut row, Stamp::at(1), true, deletion);
        if let Some(stamp) = cell {
            writer.value(ColumnId(3), stamp, b"bytes");
        }
        writer.finish();
        row
    }

    #[test]
    fn a_row_has_the_vector_of_its_cell() {
        let stamp = Stamp { timestamp: 7, ttl_s: 10, expires_at_s: 99 };
        for (is_clustered, clustering) in [(false, &b""[..]), (true, b"\x10\x01")] {
            let column = vectors(is_clustered);
            let vector = |timestamp, expires_at_s| RowVector::Vector { bytes: b"bytes", timestamp, expires_at_s };
            assert_eq!(column.of_row(clustering, &row(Some(stamp), None)), vector(7, 99));
            assert_eq!(column.of_row(clustering, &row(Some(Stamp::at(8)), None)), vector(8, 0));
            assert_eq!(column.of_row(clustering, &row(None, None)), RowVector::Without);
            assert_eq!(column.of_row(clustering, &row(None, Some(5))), RowVector::Without);
        }
    }

    #[test]
    fn deletions_of_ranges_and_partitions_say_what_they_cover() {
        let column = vectors(true);
        let range = [&[RANGE_DELETION_PREFIX, 0, 2][..], b"\x10\x05", b"\x10\x09"].concat();
        assert_eq!(
            column.of_row(&range, &row(None, Some(5))),
            RowVector::Deletion { from: b"\x10\x05", to: Some(b"\x10\x09"), timestamp: 5 }
        );
        assert_eq!(column.of_row(b"", &row(None, Some(6))), RowVector::Deletion { from: &[FIRST_ROW_BYTE], to: None, timestamp: 6 });
        assert_eq!(column.of_row(b"", &row(None, None)), RowVector::Without);
        assert_eq!(column.of_row(&[RANGE_DELETION_PREFIX, 9], &row(None, Some(5))), RowVector::Without);
    }
}
