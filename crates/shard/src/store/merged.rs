//! Rows that are the only ones of their partitions, with the deltas that were written beside them.

use super::EngineStore;
use crate::deltas::companion;
use base::TableId;
use engine::{CachePolicy, Key, Miss, ReadError, Row};
use model::ColumnId;
use model::operation::{Basis, PartitionKey, RowStore, Stop};
use model::row::{ElementOrder, RowKind, RowView, merge};
use std::cmp::Ordering;

/// Deltas have no elements of collections, so there is never anything to compare.
struct NoElements;

impl ElementOrder for NoElements {
    fn compare(&self, _: ColumnId, one: &[u8], other: &[u8]) -> Ordering {
        one.cmp(other)
    }
}

/// Appends what a row is with its delta.
pub(crate) fn merge_delta(row: &[u8], delta: &[u8], now_s: u32, out: &mut Vec<u8>) -> RowKind {
    // The protocol alone knows which tombstones may be forgotten: none is here.
    merge(RowView::new(row), RowView::new(delta), None, &NoElements, now_s, u32::MAX, out)
}

impl<'a> EngineStore<'a> {
    /// The result of a read of a partition's only row, merged with its delta.
    #[inline]
    pub(super) fn with_delta(
        &self,
        partition: &PartitionKey<'_>,
        row: Result<Option<Row<'a>>, ReadError>,
    ) -> Result<Option<&'a [u8]>, Stop> {
        if !self.deltas.is_empty() {
            return self.get_merged(partition, row);
        }
        match row {
            Ok(row) => Ok(row.map(|row| {
                self.saw(&row);
                row.bytes
            })),
            Err(error) => Err(self.stop(error)),
        }
    }

    fn get_merged(&self, partition: &PartitionKey<'_>, row: Result<Option<Row<'a>>, ReadError>) -> Result<Option<&'a [u8]>, Stop> {
        let delta = self.engine.get(&key_of(partition, companion(partition.table)), CachePolicy::Keep);
        let (row, delta) = match (row, delta) {
            (Ok(row), Ok(delta)) => (row, delta),
            (row, delta) => {
                // A row with a delta will be written whole.
                let row = match (row, &delta) {
                    (Err(ReadError::Miss(miss)), Ok(Some(_))) => Err(ReadError::Miss(miss.in_passing())),
                    (row, _) => row,
                };
                // Both come from the device at once.
                let stops = [row.err(), delta.err()].map(|error| error.map(|error| self.stop(error)));
                let worst = stops.into_iter().flatten().max_by_key(|stop| *stop != Stop::Miss);
                return Err(worst.unwrap_or(Stop::Miss));
            }
        };
        let Some(delta) = delta else {
            return Ok(row.map(|row| {
                self.saw(&row);
                row.bytes
            }));
        };
        let mut merged = self.merged.borrow_mut();
        let Some(row) = row else {
            self.saw(&delta);
            return Ok(Some(delta.bytes));
        };
        if row.sequence > delta.sequence {
            self.saw(&row);
            merged.begin(partition, &[]);
            merged.end(None);
            return Ok(Some(row.bytes));
        }
        self.saw(&delta);
        let mut whole = merged.take_scratch();
        let kind = self.merge(row.bytes, delta.bytes, &mut whole);
        let lent = self.engine.lend(&whole);
        if kind == RowKind::Lasting {
            merged.begin(partition, &[]).extend_from_slice(&whole);
            merged.end(None);
        }
        merged.put_scratch(whole);
        Ok(Some(lent))
    }

    pub(crate) fn merge(&self, row: &[u8], delta: &[u8], out: &mut Vec<u8>) -> RowKind {
        merge_delta(row, delta, self.now_s, out)
    }

    /// Whether rows of this table may have deltas: then each is the only one of its partition.
    pub(super) fn has_deltas(&self, table: TableId) -> bool {
        !self.deltas.is_empty() && self.engine.table_rows(companion(table)) > 0
    }

    /// What a write goes by that may be a delta: the row, or that it is on the device only.
    pub(super) fn basis_of(&self, partition: &PartitionKey<'_>) -> Result<Basis<'_>, Stop> {
        // Other replicas may have the row in memory, and all of them write the same; an observer gets the old row, and a backup the new one.
        if self.replication.is_some_and(|replication| replication.is_replicated(partition.table))
            || self.tables.observers.has(partition.table)
            || self.vectors.has(partition.table)
            || self.kept.is_some_and(|kept| kept.keeps(partition.table, partition.token.slot()))
        {
            let missed_before = self.misses.borrow().len();
            let row = self.get(partition, &[]);
            if row.is_err() {
                // The row will be written whole, and is in memory then: what is read now makes no room for itself.
                let mut misses = self.misses.borrow_mut();
                let own = misses.split_off(missed_before);
                misses.extend(own.into_iter().map(Miss::in_passing));
            }
            return row.map(Basis::Row);
        }
        self.visited.set(Some((partition.table, partition.token.slot())));
        match self.engine.get(&key_of(partition, partition.table), CachePolicy::Keep) {
            Err(ReadError::Miss(miss)) => {
                let delta = self.engine.get(&key_of(partition, companion(partition.table)), CachePolicy::Keep);
                match delta {
                    Ok(None) if self.deltas.has_room(self.engine) => return Ok(Basis::Delta(None)),
                    // One from before the start may be outdated.
                    Ok(Some(delta)) if delta.sequence > self.engine.recovered_sequence() => return Ok(Basis::Delta(Some(delta.bytes))),
                    Err(error) => return Err(self.stop(error)),
                    Ok(_) => {}
                }
                Err(self.stop(ReadError::Miss(miss)))
            }
            row => self.with_delta(partition, row).map(|row| Basis::Row(self.shown_once(partition.table, row))),
        }
    }
}

/// The key of a partition's only row, in this table.
fn key_of<'k>(partition: &PartitionKey<'k>, table: TableId) -> Key<'k> {
    Key { table, token: partition.token, partition: partition.bytes, clustering: &[] }
}
