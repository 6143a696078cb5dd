//! The tables of a shard: which there are, who observes them, and up to where they are truncated.
//!
//! Invariants: a table's companion and its batch log come and go with it; what is derived from a table is truncated with it, under marks that
//! are stored as one blob.

use crate::deltas::stored_tables;
use crate::observers::{Observers, truncated_with};
use crate::{Observation, Shard};
use base::{Compression, TableId};
use engine::Sequence;
use model::{ColumnId, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Shard {
    /// The tables there are now, and what their rows at rest are compressed with; new ones are made.
    pub fn set_tables(&mut self, tables: impl Iterator<Item = (TableId, Compression)>) {
        for (table, compression) in tables {
            if self.tables.ids.insert(table) {
                for stored in stored_tables([table]) {
                    self.engine.create_table(stored);
                }
            }
            self.engine.set_compression(table, compression);
        }
    }

    /// The tables that are record sets, as they are now.
    pub fn set_record_sets(&mut self, tables: impl Iterator<Item = Arc<Table>>) {
        self.tables.record_sets = tables.map(|table| (table.id, table)).collect();
    }

    /// The columns of which only what was written after a time is there, as they are now: [`Table::floors`].
    pub fn set_floors(&mut self, tables: impl Iterator<Item = (TableId, Vec<(ColumnId, i64)>)>) {
        let floors = tables.filter(|(_, floors)| !floors.is_empty()).collect();
        let former = std::mem::replace(&mut self.tables.floors, floors);
        let changed = |(table, floors): &(&TableId, &Vec<_>)| self.tables.floors.get(table) != Some(*floors);
        former.iter().filter(changed).for_each(|(table, _)| self.engine.forget_dead_runs(*table));
    }

    /// The observers of tables, as they are now. From the next operation on each sees every change of its table; of rows that are there already
    /// it is told nothing.
    ///
    /// # Panics
    /// When a table is derived from itself.
    pub fn set_observers(&mut self, observations: impl Iterator<Item = Observation>) {
        self.tables.observers = Observers::new(observations);
    }

    /// A table is gone, durably.
    pub fn drop_table(&mut self, table: TableId) {
        if self.tables.ids.remove(&table) {
            for table in stored_tables([table]) {
                self.engine.drop_table(table);
                self.tables.truncations.remove(&table);
            }
        }
    }

    /// Empties a table and what is derived from it, and gives the blob that must be stored before anybody is told.
    pub fn truncate(&mut self, table: TableId) -> Vec<u8> {
        if let Some(kept) = &mut self.kept {
            kept.truncated(table);
        }
        for table in truncated_with(table, &self.tables.observers) {
            let sequence = self.engine.truncate(table);
            self.tables.truncations.insert(table, sequence);
            self.tables.unstored.push(table);
        }
        self.vectors.truncated(table);
        self.truncation_marks()
    }

    /// The blob that the last [`Shard::truncate`] gave, as it would be now.
    #[must_use]
    pub fn truncation_marks(&self) -> Vec<u8> {
        encode_truncations(&self.tables.truncations)
    }

    /// The blob that the last [`Shard::truncate`] or [`Shard::truncation_marks`] gave is stored. Until then no space is reclaimed.
    pub fn truncation_stored(&mut self) {
        for table in self.tables.unstored.drain(..) {
            self.engine.truncation_persisted(table);
        }
    }
}

/// Truncations as text: a line a table, `table sequence`.
fn encode_truncations(truncations: &BTreeMap<TableId, Sequence>) -> Vec<u8> {
    truncations.iter().map(|(table, sequence)| format!("{} {}\n", table.0, sequence.0)).collect::<String>().into_bytes()
}

/// The inverse of what [`Shard::truncate`] gives; `None` when the blob is damaged.
#[must_use]
pub fn decode_truncations(bytes: &[u8]) -> Option<BTreeMap<TableId, Sequence>> {
    std::str::from_utf8(bytes)
        .ok()?
        .lines()
        .map(|line| {
            let (table, sequence) = line.split_once(' ')?;
            Some((TableId(table.parse().ok()?), Sequence(sequence.parse().ok()?)))
        })
        .collect()
}
