//! A column of a table, there or dropped.

use crate::column_id::ColumnId;
use crate::column_mask::ColumnMask;
use crate::types::DataType;
use std::sync::Arc;

/// What is remembered of a column that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedColumn {
    /// What part it played: static or regular.
    pub kind: ColumnKind,
    /// Its type, with tuples in place of user types, so that those can be dropped, too.
    pub data_type: DataType,
    /// The write timestamp of the drop, in microseconds since the epoch.
    pub dropped_at_us: i64,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its id.
    pub id: ColumnId,
    /// Its name.
    pub name: String,
    /// What part it plays.
    pub kind: ColumnKind,
    /// The order of a clustering column.
    pub order: Order,
    /// Its type.
    pub data_type: DataType,
    /// What is shown in place of its values to those who may not see them; none shows them to everybody.
    pub mask: Option<Arc<ColumnMask>>,
}

/// What part a column plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Part of the partition key.
    PartitionKey,
    /// Part of the clustering key.
    Clustering,
    /// One value for the whole partition.
    Static,
    /// A value in each row.
    Regular,
}

/// The order of a clustering column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}
