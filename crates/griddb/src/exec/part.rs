//! A query that is executed in parts: each reply tells where the next part begins, and nothing of it is kept here.
//!
//! | entry of the state | what |
//! |---|---|
//! | 0 | the encoded row key of the last row that was looked at |
//! | 1 | how many rows OFFSET still leaves out |
//! | 2 | how many rows LIMIT still allows; missing where there is no limit |

use crate::GridError;
use crate::tql::{Execution, Select};
use crate::wire::{Reader, put_i32};
use model::operation::Direction;

const KEY: u8 = 0;
const OFFSET: u8 = 1;
const LIMIT: u8 = 2;

/// A part ends after so many rows, found or not: other requests of the core have their turn then.
const ROWS_MAX: usize = 20_000;
/// A part ends after so many bytes of rows.
const BYTES_MAX: usize = 1 << 20;
/// A part ends after so many bytes of rows that became aggregates.
const READ_BYTES_MAX: usize = 4 << 20;

/// One part of a query.
pub(super) struct Part {
    /// Where it begins; none for the first.
    begin: Option<Position>,
}

/// Between two parts.
struct Position {
    key: Vec<u8>,
    offset: u64,
    limit: Option<u64>,
}

/// Rows that a part has looked at.
pub(super) struct Progress {
    rows: usize,
    last: Vec<u8>,
}

impl Part {
    /// Reads whether the query is executed in parts, and where this one begins.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, GridError> {
        let is_enabled = reader.bool()?;
        let (mut key, mut offset, mut limit) = (None, 0, None);
        let number =
            |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).map_err(|_| GridError::malformed("a number of other than eight bytes"));
        for _ in 0..reader.count()? {
            let kind = reader.u8()?;
            let bytes = reader.bytes()?;
            match kind {
                KEY => key = Some(bytes.to_vec()),
                OFFSET => offset = number(bytes)?,
                LIMIT => limit = Some(number(bytes)?),
                _ => return Err(GridError::malformed("a state of a query that is not known")),
            }
        }
        Ok(is_enabled.then(|| Self { begin: key.map(|key| Position { key, offset, limit }) }))
    }

    /// What is left of the query's OFFSET and LIMIT.
    pub(super) fn resume(&self, select: &mut Select) {
        if let Some(Position { offset, limit, .. }) = &self.begin {
            select.resume(*offset, *limit);
        }
    }

    /// Cuts what was looked at off a range of keys.
    pub(super) fn narrow(&self, direction: Direction, from: &mut Vec<u8>, to: &mut Option<Vec<u8>>) {
        if let Some(Position { key, .. }) = &self.begin {
            leave_out(key, direction, from, to);
        }
    }
}

/// Cuts a range off after a key that was looked at: the key goes, too.
pub(super) fn leave_out(key: &[u8], direction: Direction, from: &mut Vec<u8>, to: &mut Option<Vec<u8>>) {
    match direction {
        Direction::Forward => begin_at(super::rows::after(key.to_vec()), from),
        Direction::Reverse => end_before(key.to_vec(), to),
    }
}

/// Ends a range with a key, which stays.
pub(super) fn end_with(key: &[u8], direction: Direction, from: &mut Vec<u8>, to: &mut Option<Vec<u8>>) {
    match direction {
        Direction::Forward => end_before(super::rows::after(key.to_vec()), to),
        Direction::Reverse => begin_at(key.to_vec(), from),
    }
}

fn begin_at(key: Vec<u8>, from: &mut Vec<u8>) {
    if key > *from {
        *from = key;
    }
}

fn end_before(key: Vec<u8>, to: &mut Option<Vec<u8>>) {
    if to.as_ref().is_none_or(|to| key < *to) {
        *to = Some(key);
    }
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { rows: 0, last: Vec::new() }
    }

    /// Notes a row; says whether the part ends with it.
    pub(super) fn passed(&mut self, key: &[u8], execution: &Execution<'_>) -> bool {
        self.rows += 1;
        let is_long = self.rows >= ROWS_MAX || execution.read_bytes() >= READ_BYTES_MAX;
        let is_over = is_long || execution.answer_bytes() >= BYTES_MAX;
        if is_over {
            self.last = key.to_vec();
        }
        is_over
    }

    /// The state that the client sends with the next part; none after the last one.
    pub(super) fn state(self, execution: &Execution<'_>) -> Option<Vec<u8>> {
        if self.last.is_empty() {
            return None;
        }
        let (offset, limit) = execution.left();
        let mut state = vec![1];
        put_i32(&mut state, 2 + i32::from(limit.is_some()));
        let mut entry = |kind: u8, bytes: &[u8]| {
            state.push(kind);
            put_i32(&mut state, bytes.len() as i32);
            state.extend_from_slice(bytes);
        };
        entry(KEY, &self.last);
        entry(OFFSET, &offset.to_le_bytes());
        if let Some(limit) = limit {
            entry(LIMIT, &limit.to_le_bytes());
        }
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::row::StoredRow;
    use crate::schema::{ElementType, Kind};
    use crate::testing::{column, container};
    use model::aggregate::{Fold, Function, Spec};
    use model::row::{RowView, RowWriter, Stamp};

    #[test]
    fn a_part_ends_after_so_many_bytes_of_cells() {
        let container = container("Long", Kind::Collection, vec![column("note", ElementType::String, false)], 0);
        let mut select = crate::tql::parse("SELECT *", &container, 0).unwrap();
        select.fold(Spec { folds: vec![Fold { function: Function::Count, column: 0 }], ..Spec::default() }).unwrap();
        let mut execution = Execution::new(select, &container, 1 << 20).unwrap();
        let mut bytes = Vec::new();
        let mut writer = RowWriter::new(&mut bytes, Stamp::at(1), true, None);
        writer.value(container.column_id(0), Stamp::at(1), "ä".repeat(READ_BYTES_MAX / 8).as_bytes());
        writer.finish();
        let mut progress = Progress::new();
        let mut passes = || {
            let row = StoredRow { container: &container, clustering: &[7], view: RowView::new(&bytes) };
            let _ = execution.push(&row).unwrap();
            progress.passed(row.clustering, &execution)
        };
        assert_eq!([passes(), passes(), passes(), passes()], [false, false, false, true]);
        assert!(progress.state(&execution).is_some());
    }
}
