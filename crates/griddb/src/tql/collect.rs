//! Rows of an answer: as they come, or sorted. Sorted rows are kept until the end, with a limit only the first ones. Of a cut only its rows
//! are kept, and the others counted.

use super::cut::{After, Cut, Position, Rest, compare};
use super::value::Value;
use crate::container::Container;
use crate::row::{RowSet, RowsEnd, StoredRow};
use crate::{ErrorCode, GridError};
use model::row::{RowView, RowWriter, Stamp};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// Bytes that a kept row takes beyond its own.
const KEPT_BYTES: usize = 160;

/// A row's own copy.
#[derive(Debug)]
pub(super) struct OwnedRow {
    pub(super) clustering: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

impl OwnedRow {
    /// A copy of a row, with other cells for columns in `changed`, which is by position.
    pub(super) fn copy(row: &StoredRow<'_>, clustering: Vec<u8>, changed: &[(usize, Option<Vec<u8>>)]) -> Self {
        let (container, stamp) = (row.container, Stamp::at(0));
        let mut bytes = Vec::new();
        let mut writer = RowWriter::new(&mut bytes, stamp, true, None);
        for (position, _) in container.in_order_of_ids() {
            let own = row.cell(position);
            let cell = match changed.iter().find(|(column, _)| *column == position) {
                Some((_, cell)) => cell.as_deref(),
                None => own.as_deref(),
            };
            if let Some(cell) = cell {
                writer.value(container.column_id(position), stamp, cell);
            }
        }
        writer.finish();
        Self { clustering, bytes }
    }

    pub(super) fn view<'a>(&'a self, container: &'a Container) -> StoredRow<'a> {
        StoredRow { container, clustering: &self.clustering, view: RowView::new(&self.bytes) }
    }
}

struct Kept {
    values: Vec<(Value<'static>, bool)>,
    sequence: u64,
    row: OwnedRow,
    size: usize,
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.values, &other.values).then(self.sequence.cmp(&other.sequence))
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Kept {}

/// Rows of an answer in the making.
pub(super) struct Collector<'c> {
    pub(super) container: &'c Container,
    order: Vec<(usize, bool)>,
    limit: u64,
    offset: u64,
    skipped: u64,
    rows: RowSet,
    kept: BinaryHeap<Kept>,
    kept_bytes: usize,
    memory_max: usize,
    keeps_keys: bool,
    columns: u64,
    /// How many rows have been sorted.
    sequence: u64,
    cut: Option<Cut>,
    after: Option<After>,
    rest: Rest,
    /// Where a cut that is full ends, while the rows after it are kept and counted, as all of them may be few.
    full_at: Option<RowsEnd>,
}

impl<'c> Collector<'c> {
    pub(super) fn new(container: &'c Container, order: Vec<(usize, bool)>, limit: Option<u64>, offset: u64, memory_max: usize) -> Self {
        let (limit, rows) = (limit.unwrap_or(u64::MAX), RowSet::new(container, true, memory_max));
        Self {
            container,
            order,
            limit,
            offset,
            skipped: 0,
            rows,
            kept: BinaryHeap::new(),
            kept_bytes: 0,
            memory_max,
            keeps_keys: false,
            columns: u64::MAX,
            sequence: 0,
            cut: None,
            after: None,
            rest: Rest::default(),
            full_at: None,
        }
    }

    /// Takes only some of the rows, which are scanned in this direction.
    pub(super) fn cutting(mut self, mut cut: Cut, is_descending: bool) -> Self {
        let after = cut.after.take();
        self.after = after.map(|position| After::new(position, &self.order, self.container, is_descending));
        // A cut is bounded by itself.
        (self.memory_max, self.cut) = (usize::MAX, Some(cut));
        self.rows = self.rows.unbounded();
        self.rest.is_full = self.has_no_room();
        self
    }

    /// Has the rows keep their keys.
    pub(super) fn keeping_keys(mut self, keeps: bool) -> Self {
        self.keeps_keys = keeps;
        self.rows = self.rows.keeping_keys(keeps);
        self
    }

    /// Leaves columns of the rows null that are not looked at.
    pub(super) fn looking_at(mut self, columns: u64) -> Self {
        self.columns = columns;
        self.rows = self.rows.looking_at(columns);
        self
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// How many rows are still to be left out, and how many may still come.
    pub(super) fn left(&self) -> (u64, Option<u64>) {
        (self.offset - self.skipped, (self.limit < u64::MAX).then(|| self.limit - self.rows.rows()))
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rows = RowSet::new(self.container, true, self.memory_max).keeping_keys(self.keeps_keys).looking_at(self.columns);
        self.kept.clear();
        (self.kept_bytes, self.skipped, self.sequence) = (0, 0, 0);
        (self.rest, self.full_at) = (Rest { is_full: self.has_no_room(), ..Rest::default() }, None);
    }

    /// Whether a cut has all of its rows.
    fn has_no_room(&self) -> bool {
        self.cut.as_ref().is_some_and(|cut| self.rows.rows() >= cut.rows_max || self.rows.bytes() >= cut.bytes_max)
    }

    /// Adds a row; breaks when no other one can be in the answer.
    pub(super) fn push(&mut self, row: &StoredRow<'_>) -> Result<ControlFlow<()>, GridError> {
        if self.limit == 0 {
            return Ok(ControlFlow::Break(()));
        }
        if !self.order.is_empty() {
            self.keep(row)?;
            return Ok(ControlFlow::Continue(()));
        }
        if self.after.as_ref().is_some_and(|after| !after.precedes(&[], row.clustering)) {
            return Ok(ControlFlow::Continue(()));
        }
        if self.skipped < self.offset {
            self.skipped += 1;
        } else if self.rest.is_full {
            self.count(row);
            self.keep_if_small(row)?;
        } else {
            self.rows.push(row)?;
            if self.has_no_room() {
                self.rest.is_full = true;
                self.rest.position = Some(Position::of(row, &[]));
                self.full_at = self.is_small().then(|| self.rows.end());
            }
        }
        let given = self.full_at.as_ref().map_or(self.rows.rows(), |end| end.rows);
        let is_done = given + self.rest.rows >= self.limit || self.ends_cut();
        Ok(if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Counts a row that a cut has no room for.
    fn count(&mut self, row: &StoredRow<'_>) {
        self.rest.rows += 1;
        self.rest.end.clear();
        self.rest.end.extend_from_slice(row.clustering);
    }

    /// Keeps a row that a full cut has counted, until all of them are no longer few.
    fn keep_if_small(&mut self, row: &StoredRow<'_>) -> Result<(), GridError> {
        if let Some(end) = &self.full_at {
            self.rows.push(row)?;
            if !self.is_small() {
                self.rows.truncate(end);
                self.full_at = None;
            }
        }
        Ok(())
    }

    /// Whether the rows have so few bytes that a cut would give all of them.
    fn is_small(&self) -> bool {
        self.cut.as_ref().is_some_and(|cut| self.rows.bytes() <= cut.whole_bytes_max)
    }

    /// Whether a cut needs no other rows, as it is full or has seen that there are too many.
    fn ends_cut(&self) -> bool {
        let Some(left) = self.cut.as_ref().and_then(|cut| cut.left) else { return false };
        self.rest.rows > 0 || (self.rest.is_full && self.rows.rows() < left)
    }

    fn keep(&mut self, row: &StoredRow<'_>) -> Result<(), GridError> {
        let columns = &self.container.definition.columns;
        let value = |(position, is_descending): &(usize, bool)| {
            (Value::of_cell(&columns[*position], row.cell(*position)).into_owned(), *is_descending)
        };
        let values: Vec<_> = self.order.iter().map(value).collect();
        if self.after.as_ref().is_some_and(|after| !after.precedes(&values, row.clustering)) {
            return Ok(());
        }
        self.sequence += 1;
        let row = OwnedRow::copy(row, row.clustering.to_vec(), &[]);
        let values_bytes: usize = values.iter().map(|(value, _)| value.heap_bytes() + size_of::<Value<'_>>()).sum();
        let size = KEPT_BYTES + values_bytes + row.clustering.len() + row.bytes.len();
        self.kept_bytes += size;
        self.kept.push(Kept { values, sequence: self.sequence, row, size });
        if self.kept.len() as u64 > self.limit.saturating_add(self.offset) {
            self.drop_last();
        }
        let bytes_max = self.cut.as_ref().map_or(self.memory_max, |cut| cut.bytes_max);
        // The last ones may come in another cut, if this one has at least a row.
        while self.cut.is_some() && self.kept_bytes > bytes_max && self.kept.len() as u64 > self.offset.saturating_add(1) {
            self.drop_last();
        }
        if self.kept_bytes > bytes_max && (self.cut.is_none() || self.offset > 0) {
            let message = format!("the rows to sort take more than {bytes_max} bytes: ask for fewer with LIMIT");
            return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message));
        }
        Ok(())
    }

    fn drop_last(&mut self) {
        self.kept_bytes -= self.kept.pop().map_or(0, |kept| kept.size);
    }

    pub(super) fn finish(mut self) -> Result<(RowSet, Rest), GridError> {
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        for kept in std::mem::take(&mut self.kept).into_sorted_vec().into_iter().skip(offset) {
            let row = kept.row.view(self.container);
            self.rows.push(&row)?;
            if self.cut.is_some() {
                self.rest.position = Some(Position::of(&row, &self.order));
            }
        }
        if self.full_at.is_some() {
            self.rest = Rest::default();
        }
        if !self.order.is_empty() && self.cut.is_some() {
            self.rest.rows = self.sequence.saturating_sub(self.offset).min(self.limit) - self.rows.rows();
        }
        Ok((self.rows, self.rest))
    }
}
