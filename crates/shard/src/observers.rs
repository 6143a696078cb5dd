//! Row images: where a staged row meets the row it replaces, for the consumers of a table's writes.
//!
//! The place on the path: an operation has run and staged its rows, nothing is written yet. For each staged row of an observed table the
//! shard looks up the stored row and calls the table's observers; what they stage joins the operation's rows, and all of it becomes one atomic
//! group. A stored row that is not in memory stops the operation like any other miss: it is parked and runs again.
//!
//! Invariants:
//! - A row of an observed table is never a delta: [`super::store::EngineStore`] gives its writers the whole row.
//! - A derived row has the slot of its source, so both are in one piece of the replication stream.
//! - A shard without observers pays one branch for each operation that writes.

use crate::deltas::companion;
use base::TableId;
use model::operation::{Context, RowChange, RowObserver, RowStore, Stop, WriteSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An observer of a table, and the tables that it writes.
#[derive(Clone)]
pub struct Observation {
    /// The table whose changes it gets.
    pub table: TableId,
    /// Who gets them.
    pub observer: Arc<dyn RowObserver>,
    /// The tables of the rows that it stages.
    pub derived: Vec<TableId>,
    /// What becomes of them when `table` is truncated.
    pub truncation: DerivedTruncation,
}

/// What becomes of derived rows when their table is truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DerivedTruncation {
    /// They go with the rows that they are of.
    WithTable,
    /// They stay: they say what has been, not what is.
    Stays,
}

/// The observers of a shard's tables.
#[derive(Default)]
pub(crate) struct Observers {
    by_table: BTreeMap<TableId, Vec<Observation>>,
}

impl Observers {
    /// These, and no others.
    ///
    /// # Panics
    /// When a table is derived from itself: a change would never end.
    pub(crate) fn new(observations: impl Iterator<Item = Observation>) -> Self {
        let mut by_table: BTreeMap<TableId, Vec<Observation>> = BTreeMap::new();
        for observation in observations {
            by_table.entry(observation.table).or_default().push(observation);
        }
        let observers = Self { by_table };
        for table in observers.by_table.keys() {
            assert!(!observers.derived_from(*table, |_| true).contains(table), "table {} is derived from itself", table.0);
        }
        observers
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_table.is_empty()
    }

    /// Whether somebody needs the old rows of this table.
    #[inline]
    pub(crate) fn has(&self, table: TableId) -> bool {
        !self.by_table.is_empty() && self.by_table.contains_key(&table)
    }

    /// The tables whose rows follow from those of `table` by observations that count, at whatever remove; without `table`, unless it follows
    /// from itself.
    fn derived_from(&self, table: TableId, counts: impl Fn(&Observation) -> bool) -> Vec<TableId> {
        let mut found: Vec<TableId> = Vec::new();
        let mut next = vec![table];
        while let Some(source) = next.pop() {
            let observations = self.by_table.get(&source).into_iter().flatten().filter(|observation| counts(observation));
            for derived in observations.flat_map(|observation| &observation.derived) {
                if !found.contains(derived) {
                    found.push(*derived);
                    next.push(*derived);
                }
            }
        }
        found
    }

    /// Has every change in `writes` seen, those that observers add as well. `derived` is a buffer.
    ///
    /// # Errors
    /// [`Stop`] when an old row, or one that an observer reads, cannot be had now.
    ///
    /// # Panics
    /// When an observer breaks its contract.
    pub(crate) fn observe(
        &self,
        context: &Context,
        rows: &dyn RowStore,
        writes: &mut WriteSet,
        derived: &mut WriteSet,
    ) -> Result<(), Stop> {
        let mut index = 0;
        while let Some(staged) = writes.row(index) {
            index += 1;
            let Some(observations) = self.by_table.get(&staged.partition.table) else { continue };
            assert!(!staged.is_delta, "writers of an observed table know the old row");
            derived.clear();
            let old = rows.get(&staged.partition, staged.clustering)?;
            let change = RowChange {
                partition: staged.partition,
                clustering: staged.clustering,
                old,
                new: staged.row,
                purge_after_s: staged.purge_after_s,
                group: writes,
            };
            for Observation { observer, derived: tables, .. } in observations {
                let before = derived.len();
                observer.changed(context, &change, rows, derived)?;
                for row in derived.rows().skip(before) {
                    assert!(tables.contains(&row.partition.table), "an observer writes the tables it was registered with");
                    assert_eq!(row.partition.token.slot(), staged.partition.token.slot(), "a derived row stays in the slot of its source");
                }
            }
            writes.append(derived);
        }
        Ok(())
    }
}

/// The tables of the engine that are truncated with a table of the schema.
pub(crate) fn truncated_with(table: TableId, observers: &Observers) -> impl Iterator<Item = TableId> {
    let goes = |observation: &Observation| observation.truncation == DerivedTruncation::WithTable;
    std::iter::once(table).chain(observers.derived_from(table, goes)).flat_map(|table| [table, companion(table)])
}
