//! What all writes of an operation share, and the order that timestamps and elements have.

use super::bindings::Environment;
use crate::value;
use model::operation::{RowStore, WriteSet};
use model::row::{Content, Deletion, ElementOrder, RowView};
use model::{ColumnId, DataType, Table};
use std::cmp::Ordering;

/// What writes of one statement have in common.
pub(super) struct Writer<'a> {
    pub(super) environment: &'a Environment<'a>,
    pub(super) store: &'a dyn RowStore,
    pub(super) writes: &'a mut WriteSet,
    pub(super) now_s: u32,
    /// Makes list positions of one operation different.
    pub(super) list_sequence: u64,
    /// Where the timestamp is this shard's own: the least one that is above all that is written over.
    pub(super) least: Option<i64>,
}

impl Writer<'_> {
    /// How far the request's own now is ahead of the clock, by which deletions are forgotten: one who writes for later must not have them forgotten now.
    pub(super) fn ahead_s(&self) -> u32 {
        self.now_s.saturating_sub(self.environment.context.now_s())
    }
}

/// A timestamp from `now` on that is larger than all in a row and than the deletion that hides it.
pub(super) fn after_all(now: i64, row: Option<RowView<'_>>, hidden_by: Option<Deletion>) -> i64 {
    let newest = row.map_or(i64::MIN, newest_timestamp);
    let hidden = hidden_by.map_or(i64::MIN, |deletion| deletion.timestamp);
    now.max(newest.saturating_add(1)).max(hidden.saturating_add(1))
}

/// The largest write timestamp of a row: a conditional write must be newer.
fn newest_timestamp(row: RowView<'_>) -> i64 {
    let mut newest = row.liveness().map_or(i64::MIN, |stamp| stamp.timestamp);
    if let Some(deletion) = row.deletion() {
        newest = newest.max(deletion.timestamp);
    }
    for cell in row.cells() {
        match cell.content {
            Content::Complex(complex) => {
                newest = newest.max(complex.deletion.map_or(i64::MIN, |deletion| deletion.timestamp));
                for element in complex.elements() {
                    newest = newest.max(element.stamp.timestamp);
                }
            }
            _ => newest = newest.max(cell.stamp.timestamp),
        }
    }
    newest
}

/// The order of elements by the type of their column.
pub(super) struct TableOrder<'a>(pub(super) &'a Table);

impl ElementOrder for TableOrder<'_> {
    fn compare(&self, column: ColumnId, one: &[u8], other: &[u8]) -> Ordering {
        match self.0.columns.iter().find(|candidate| candidate.id == column).map(|column| &column.data_type) {
            Some(DataType::Set(path, _) | DataType::Map(path, _, _)) => value::compare(path, one, other),
            // Positions of lists and numbers of fields sort by their bytes.
            _ => one.cmp(other),
        }
    }
}
