//! What a SELECT reads of each row, collected while its parts are planned.

use crate::plan::{Filter, Source, SourceColumn, Subject};
use model::{ColumnKind, Table};
use std::sync::Arc;

/// The columns and sources so far.
pub(super) struct Reads {
    pub(super) table: Arc<Table>,
    pub(super) cells: Vec<SourceColumn>,
    pub(super) sources: Vec<Source>,
}

impl Reads {
    /// Nothing yet.
    pub(super) fn new(table: Arc<Table>) -> Self {
        Self { table, cells: Vec::new(), sources: Vec::new() }
    }

    /// The index of the static or regular column at `position` among those that are read.
    pub(super) fn cell(&mut self, position: usize) -> usize {
        if let Some(index) = self.cells.iter().position(|cell| cell.position == position) {
            return index;
        }
        let is_static = self.table.columns[position].kind == ColumnKind::Static;
        self.cells.push(SourceColumn { position, is_static });
        self.cells.len() - 1
    }

    /// The value of the column at `position`, without making it a source.
    pub(super) fn column(&mut self, position: usize) -> Source {
        match self.table.columns[position].kind {
            ColumnKind::PartitionKey => Source::Partition(position),
            ColumnKind::Clustering => Source::Clustering(position - self.table.partition_key_len),
            ColumnKind::Static | ColumnKind::Regular => Source::Cell(self.cell(position)),
        }
    }

    /// The index of `source` among the sources.
    pub(super) fn source(&mut self, source: Source) -> usize {
        if let Some(index) = self.sources.iter().position(|other| *other == source) {
            return index;
        }
        self.sources.push(source);
        self.sources.len() - 1
    }

    /// The columns behind the sources so far.
    pub(super) fn source_columns(&self) -> Vec<usize> {
        let position = |source: &Source| match *source {
            Source::Partition(index) => index,
            Source::Clustering(index) => self.table.partition_key_len + index,
            Source::Cell(cell)
            | Source::WriteTime(cell)
            | Source::TimeToLive(cell)
            | Source::WriteTimes(cell)
            | Source::TimesToLive(cell) => self.cells[cell].position,
        };
        self.sources.iter().map(position).collect()
    }

    /// How many columns of the clustering key are read, from the first.
    pub(super) fn clustering_read(&self, filters: &[Filter]) -> usize {
        let end = |source: &Source| if let Source::Clustering(index) = source { index + 1 } else { 0 };
        let sources = self.sources.iter().map(end);
        let filters = filters.iter().map(|filter| match &filter.subject {
            Subject::Source(source) | Subject::Element(source, ..) => end(source),
            Subject::Clustering(range) => range.end,
        });
        sources.chain(filters).max().unwrap_or(0)
    }
}
