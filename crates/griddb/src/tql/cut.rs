//! Part of a statement's rows: where it begins and ends, and what is left after it.

use super::value::Value;
use crate::GridError;
use crate::container::Container;
use crate::row::StoredRow;
use crate::wire::{Reader, put_i32};
use std::cmp::Ordering;

/// Which rows of an answer are wanted now.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Only those after this one; all without.
    pub after: Option<Position>,
    /// So many at most.
    pub rows_max: u64,
    /// No more once they have so many bytes. The last one may go beyond.
    pub bytes_max: usize,
    /// All of them, however few are wanted, if they have no more than so many bytes. It is for those that come as they are scanned.
    pub whole_bytes_max: usize,
    /// So many are left, after which there should be none. It need not be looked for others before. None if those left are to be counted.
    pub left: Option<u64>,
}

/// A row's place in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// What it has in the columns that rows are sorted by.
    pub cells: Vec<Option<Vec<u8>>>,
    /// Its encoded row key.
    pub key: Vec<u8>,
}

/// What is left after the rows that are given.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// How many rows: all, or as many as a cut has had counted.
    pub rows: u64,
    /// The last row that is given; none if that is none.
    pub position: Option<Position>,
    /// The key of the last row that was counted, where rows come as they are scanned.
    pub end: Vec<u8>,
    /// Whether the rows ended because the cut has no room for others.
    pub is_full: bool,
}

impl Position {
    /// The place of a row, where rows are sorted by these columns.
    pub(super) fn of(row: &StoredRow<'_>, order: &[(usize, bool)]) -> Self {
        let cells = order.iter().map(|(column, _)| row.cell(*column).map(|cell| cell.into_owned())).collect();
        Self { cells, key: row.clustering.to_vec() }
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut put = |bytes: &[u8]| {
            put_i32(out, bytes.len() as i32);
            out.extend_from_slice(bytes);
        };
        put(&self.key);
        for cell in &self.cells {
            put(&[u8::from(cell.is_some())]);
            put(cell.as_deref().unwrap_or_default());
        }
    }

    /// Reads one, where rows are sorted by so many columns.
    ///
    /// # Errors
    /// It ends too early.
    pub fn read(reader: &mut Reader<'_>, columns: usize) -> Result<Self, GridError> {
        let key = reader.bytes()?.to_vec();
        let cell = |_| Ok((reader.bytes()? == [1], reader.bytes()?));
        let cells = (0..columns).map(cell).map(|cell| cell.map(|(is_there, bytes)| is_there.then(|| bytes.to_vec())));
        Ok(Self { cells: cells.collect::<Result<_, GridError>>()?, key })
    }
}

/// A place that rows are compared with.
pub(super) struct After {
    values: Vec<(Value<'static>, bool)>,
    key: Vec<u8>,
    is_descending: bool,
}

impl After {
    /// The place of a row, where rows are sorted by these columns, then come in the order of a scan.
    pub(super) fn new(position: Position, order: &[(usize, bool)], container: &Container, is_descending: bool) -> Self {
        let columns = &container.definition.columns;
        let value = |((column, is_descending), cell): (&(usize, bool), Option<Vec<u8>>)| {
            (Value::of_cell(&columns[*column], cell.map(Into::into)), *is_descending)
        };
        Self { values: order.iter().zip(position.cells).map(value).collect(), key: position.key, is_descending }
    }

    /// Whether a row that is sorted by these values comes later.
    pub(super) fn precedes(&self, values: &[(Value<'_>, bool)], key: &[u8]) -> bool {
        let by_key = || {
            let order = self.key.as_slice().cmp(key);
            if self.is_descending { order.reverse() } else { order }
        };
        compare(&self.values, values).then_with(by_key) == Ordering::Less
    }
}

/// Compares two rows by what they are sorted by, each with whether the largest comes first.
pub(super) fn compare(one: &[(Value<'_>, bool)], other: &[(Value<'_>, bool)]) -> Ordering {
    for ((one, is_descending), (other, _)) in one.iter().zip(other) {
        let order = one.order(other);
        if order.is_ne() {
            return if *is_descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}
