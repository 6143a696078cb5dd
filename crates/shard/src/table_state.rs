//! What a shard knows of its tables; `tables` changes it.

use crate::observers::Observers;
use base::TableId;
use engine::Sequence;
use model::{ColumnId, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a shard knows of its tables.
pub(crate) struct Tables {
    pub(crate) ids: BTreeSet<TableId>,
    /// The tables that are record sets.
    pub(crate) record_sets: BTreeMap<TableId, Arc<Table>>,
    /// Columns of tables of which only what was written after a time is there.
    pub(crate) floors: BTreeMap<TableId, Vec<(ColumnId, i64)>>,
    pub(crate) observers: Observers,
    /// The last sequence that a truncation has taken, by table of the engine.
    pub(crate) truncations: BTreeMap<TableId, Sequence>,
    /// Truncated tables whose marks are not stored yet.
    pub(crate) unstored: Vec<TableId>,
}

impl Tables {
    pub(crate) fn new(ids: BTreeSet<TableId>, truncations: BTreeMap<TableId, Sequence>) -> Self {
        let (record_sets, floors) = (BTreeMap::new(), BTreeMap::new());
        Self { ids, record_sets, floors, observers: Observers::default(), truncations, unstored: Vec::new() }
    }
}
