//! A table: its columns, options, indexes and views.

use super::column::{Column, ColumnKind, DroppedColumn};
use crate::column_id::ColumnId;
use crate::record_set::RecordSet;
use crate::types::DataType;
use base::TableId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The engine's id.
    pub id: TableId,
    /// The id drivers see.
    pub uuid: u128,
    /// The keyspace's name.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// All columns: partition key by position, clustering by position, then static and regular columns by name. This is the order
    /// of `SELECT *`.
    pub columns: Vec<Column>,
    /// How many of `columns`, from the first, make the partition key.
    pub partition_key_len: usize,
    /// How many of `columns`, after the partition key, make the clustering key.
    pub clustering_len: usize,
    /// The id the next column gets. Ids are never used again, so cells of a dropped column are never taken for another's.
    pub next_column: ColumnId,
    /// Columns that were there once, by name: what may take such a name again depends on what had it.
    pub dropped_columns: BTreeMap<String, DroppedColumn>,
    /// Options of `WITH`.
    pub options: TableOptions,
    /// The dictionary of a record set; none for a table whose columns were declared.
    pub records: Option<RecordSet>,
    /// Secondary indexes by name, which no other index of the keyspace has.
    pub indexes: BTreeMap<String, Arc<Index>>,
    /// `WITH COMPACT STORAGE`: a row is there while a cell of it is.
    pub compact: bool,
    /// The names of the materialized views that follow its rows, in the same keyspace.
    pub views: BTreeSet<String>,
    /// What a materialized view shows; none for a table. Its value columns have the ids that they have in the base table.
    pub view: Option<View>,
}

/// What makes a table a materialized view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The name of the base table, in the same keyspace.
    pub base: String,
    /// `SELECT *`: columns that the base table gets later are shown as well.
    pub shows_all: bool,
    /// The conditions of `WHERE`, as CQL.
    pub where_clause: String,
}

/// A secondary index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The engine's id of the table that its entries are in.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// The column that is indexed.
    pub column: ColumnId,
    /// What of the column is indexed.
    pub part: IndexPart,
    /// The implementation that a `USING` clause has named; none of an index without one.
    pub class: Option<String>,
    /// What `WITH OPTIONS` has given.
    pub options: BTreeMap<String, String>,
}

/// What of a column an index has entries of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexPart {
    /// The value; of a frozen collection the whole.
    Value,
    /// A map's keys.
    Keys,
    /// The elements of a list or set, a map's values.
    Values,
    /// A map's pairs of key and value.
    Entries,
}

/// Options of `CREATE TABLE … WITH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// For people.
    pub comment: String,
    /// Seconds; 0 is never.
    pub default_time_to_live: u32,
    /// Seconds a tombstone is kept at least.
    pub gc_grace_seconds: u32,
    /// Options that differ from their defaults, by name (`compaction`, `caching`, …), as drivers and DESCRIBE want them; TarnDB itself has a
    /// use for `compression` only.
    pub kept: BTreeMap<String, KeptOption>,
}

/// The option in [`TableOptions::kept`] that makes a table a GridDB container, and says what CQL cannot: the `griddb` crate reads and writes it.
pub const CONTAINER_OPTION: &str = "griddb";
/// Its entry in a partitioned table, whose rows are not in one partition.
pub const PARTITIONING_ENTRY: &str = "partitioning";

/// The option in [`TableOptions::kept`] that says which columns were dropped with a timestamp of their own: by name, their id and the timestamp. A
/// column that comes back under such a name has the id again, and what was written to it after that time.
pub const DROPPED_AT_OPTION: &str = "dropped_at";

/// The option in [`TableOptions::kept`] that says whether and how changes of the table are logged (a map), or Cassandra's flag (a scalar).
pub const CDC_OPTION: &str = "cdc";

/// The option in [`TableOptions::kept`] that makes a table the CDC log of another one: the `cql` crate reads and writes it.
pub const CDC_LOG_OPTION: &str = "cdc_log";

/// The value of an option in [`TableOptions::kept`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptOption {
    /// A text, number or boolean, as text without quotes.
    Scalar(String),
    /// A map of texts.
    Map(BTreeMap<String, String>),
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { comment: String::new(), default_time_to_live: 0, gc_grace_seconds: 864_000, kept: BTreeMap::new() }
    }
}

impl Table {
    /// The partition key's columns.
    #[must_use]
    pub fn partition_key(&self) -> &[Column] {
        &self.columns[..self.partition_key_len]
    }

    /// Whether an INSERT marks a row as there. With COMPACT STORAGE only its cells do, if it can have any.
    #[must_use]
    pub fn has_row_markers(&self) -> bool {
        !self.compact || self.value_columns().is_empty()
    }

    /// The clustering key's columns.
    #[must_use]
    pub fn clustering(&self) -> &[Column] {
        &self.columns[self.partition_key_len..self.partition_key_len + self.clustering_len]
    }

    /// Static and regular columns.
    #[must_use]
    pub fn value_columns(&self) -> &[Column] {
        &self.columns[self.partition_key_len + self.clustering_len..]
    }

    /// The column `name` and its position in `columns`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns.iter().enumerate().find(|(_, column)| column.name == name)
    }

    /// Whether it has static columns.
    #[must_use]
    pub fn has_static(&self) -> bool {
        self.value_columns().iter().any(|column| column.kind == ColumnKind::Static)
    }

    /// The column with this id.
    #[must_use]
    pub fn column_of_id(&self, id: ColumnId) -> Option<(usize, &Column)> {
        self.columns.iter().enumerate().find(|(_, column)| column.id == id)
    }

    /// The engine's tables that hold what is stored of it: its rows, then the entries of its indexes.
    pub fn stored(&self) -> impl Iterator<Item = TableId> + '_ {
        std::iter::once(self.id).chain(self.indexes.values().map(|index| index.id))
    }

    /// The id and timestamp of a column of this name that was dropped with a timestamp of its own.
    #[must_use]
    pub fn dropped_at(&self, name: &str) -> Option<(ColumnId, i64)> {
        let Some(KeptOption::Map(dropped)) = self.options.kept.get(DROPPED_AT_OPTION) else { return None };
        let (id, timestamp) = dropped.get(name)?.split_once(' ')?;
        Some((ColumnId(id.parse().ok()?), timestamp.parse().ok()?))
    }

    /// Columns that were dropped and have come back, each with the timestamp at or before which nothing of it is there.
    #[must_use]
    pub fn floors(&self) -> Vec<(ColumnId, i64)> {
        let floor = |column: &Column| self.dropped_at(&column.name).filter(|(id, _)| *id == column.id);
        if self.options.kept.contains_key(DROPPED_AT_OPTION) { self.columns.iter().filter_map(floor).collect() } else { Vec::new() }
    }

    /// Whether it is a container of GridDB: its clients write it, CQL reads it.
    #[must_use]
    pub fn is_container(&self) -> bool {
        self.options.kept.contains_key(CONTAINER_OPTION)
    }

    /// Whether it is a partitioned table of GridDB's clients, whose rows are not in one partition.
    #[must_use]
    pub fn is_partitioned_container(&self) -> bool {
        matches!(self.options.kept.get(CONTAINER_OPTION), Some(KeptOption::Map(kept)) if kept.contains_key(PARTITIONING_ENTRY))
    }

    /// Whether it has masked columns.
    #[must_use]
    pub fn has_masks(&self) -> bool {
        self.columns.iter().any(|column| column.mask.is_some())
    }

    /// Whether it is the CDC log of another table: writes of that table fill it, clients read it.
    #[must_use]
    pub fn is_cdc_log(&self) -> bool {
        self.options.kept.contains_key(CDC_LOG_OPTION)
    }

    /// Whether its columns are counters.
    #[must_use]
    pub fn is_counter(&self) -> bool {
        self.value_columns().iter().any(|column| column.data_type == DataType::Counter)
    }
}
