//! Rows that clients get.

use super::lent::Lent;
use super::{Layout, StoredRow, array};
use crate::container::Container;
use crate::geometry::Geometry;
use crate::instant::{Instant, NANO_BYTES};
use crate::key::{decode_key, decode_key_number, row_id};
use crate::schema::{ColumnDefinition, ElementType};
use crate::wire::{copy_reversed, put_var_bytes, put_var_size};
use crate::{ErrorCode, GridError};
use model::ColumnId;

/// Rows in the making.
pub struct RowSet {
    layout: Layout,
    has_numbers: bool,
    fixed: Lent,
    variable: Lent,
    rows: u64,
    bytes_max: usize,
    /// The row keys, if they are to be locked.
    keys: Option<Vec<Vec<u8>>>,
    /// Which columns are looked at, as [`crate::wire::Options`] has it.
    columns: u64,
    /// Memory for a value of a row key.
    cell: Vec<u8>,
}

/// A place in a [`RowSet`] behind one of its rows.
#[derive(Debug)]
pub(crate) struct RowsEnd {
    fixed: usize,
    variable: usize,
    pub(crate) rows: u64,
}

impl RowSet {
    /// Rows of a container, at most so many bytes; with numbers unless it is a time series or `has_numbers` is false.
    pub fn new(container: &Container, has_numbers: bool, bytes_max: usize) -> Self {
        let layout = Layout::of(&container.definition.columns);
        let has_numbers = has_numbers && !container.is_time_series();
        let (fixed, variable) = (Lent::take(), Lent::take());
        Self { layout, has_numbers, fixed, variable, rows: 0, bytes_max, keys: None, columns: u64::MAX, cell: Vec::new() }
    }

    /// Keeps the row keys, too.
    #[must_use]
    pub fn keeping_keys(self, keeps: bool) -> Self {
        Self { keys: keeps.then(Vec::new), ..self }
    }

    /// Leaves columns null that are not looked at.
    #[must_use]
    pub fn looking_at(self, columns: u64) -> Self {
        Self { columns, ..self }
    }

    /// Takes rows of any number of bytes.
    #[must_use]
    pub fn unbounded(self) -> Self {
        Self { bytes_max: usize::MAX, ..self }
    }

    /// Has every row numbered, by its key, with what an update of it will name.
    ///
    /// # Errors
    /// Those of `number`.
    pub(crate) fn number<E>(&mut self, mut number: impl FnMut(&[u8]) -> Result<u64, E>) -> Result<(), E> {
        let keys = self.keys.take().unwrap_or_default();
        for (row, key) in keys.iter().enumerate() {
            let number = number(key)?;
            if self.has_numbers {
                let start = row * (8 + self.layout.fixed_bytes);
                self.fixed[start..start + 8].copy_from_slice(&number.to_le_bytes());
            }
        }
        Ok(())
    }

    /// How many there are.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Where the rows end now.
    pub(crate) fn end(&self) -> RowsEnd {
        RowsEnd { fixed: self.fixed.len(), variable: self.variable.len(), rows: self.rows }
    }

    /// Forgets the rows after one of its former ends.
    pub(crate) fn truncate(&mut self, end: &RowsEnd) {
        self.fixed.truncate(end.fixed);
        self.variable.truncate(end.variable);
        self.rows = end.rows;
        if let Some(keys) = &mut self.keys {
            keys.truncate(usize::try_from(end.rows).unwrap_or(usize::MAX));
        }
    }

    /// Bytes that they have.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.fixed.len() + self.variable.len()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// There is no room.
    pub fn push(&mut self, row: &StoredRow<'_>) -> Result<(), GridError> {
        self.rows += 1;
        if let Some(keys) = &mut self.keys {
            keys.push(row.clustering.to_vec());
        }
        let number_bytes = if self.has_numbers { 8 } else { 0 };
        let start = self.fixed.len();
        push_zeros(&mut self.fixed, number_bytes + self.layout.fixed_bytes);
        let mut fixed = &mut self.fixed[start..];
        if self.has_numbers {
            // Only transactions have a use for it, and who has to know a row again that has no key.
            let number = if row.container.definition.key_len == 0 { row_id(row.clustering) as u64 } else { self.rows };
            next(&mut fixed, 8).copy_from_slice(&number.to_le_bytes());
        }
        if self.layout.variable_columns > 0 {
            next(&mut fixed, 8).copy_from_slice(&(self.variable.len() as u64).to_le_bytes());
            put_var_size(&mut self.variable, self.layout.variable_columns);
        }
        put_columns(row, self.columns, self.layout.null_bytes, fixed, (&mut self.variable, &mut self.cell));
        if self.fixed.len() + self.variable.len() > self.bytes_max {
            let message = format!("the rows take more than {} bytes: ask for fewer with LIMIT", self.bytes_max);
            return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message));
        }
        Ok(())
    }

    /// Appends all of them.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.fixed);
        out.extend_from_slice(&self.variable);
    }

    /// Appends their number, then all of them.
    pub fn write_with_count(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.rows.to_le_bytes());
        self.write(out);
    }
}

/// Appends zeros: without a call for as few as most rows have.
#[inline]
fn push_zeros(out: &mut Vec<u8>, bytes: usize) {
    const FEW: usize = 64;
    let end = out.len() + bytes;
    if bytes <= FEW {
        out.extend_from_slice(&[0; FEW]);
        out.truncate(end);
    } else {
        out.resize(end, 0);
    }
}

/// The next so many bytes of a row's fixed part.
#[inline]
fn next<'f>(fixed: &mut &'f mut [u8], bytes: usize) -> &'f mut [u8] {
    fixed.split_off_mut(..bytes).expect("a row's fixed part has the bytes of its columns")
}

/// Puts what a row's columns hold, those that are looked at, into its fixed part, which has zeros, and its variable part. The cell is memory that is used again.
#[inline]
fn put_columns(row: &StoredRow<'_>, columns: u64, null_bytes: usize, mut fixed: &mut [u8], (variable, cell): (&mut Vec<u8>, &mut Vec<u8>)) {
    let nulls = next(&mut fixed, null_bytes);
    let (mut key, key_len) = (row.clustering, row.container.definition.key_len);
    let (mut values, mut value, mut former) = (row.view.live_values(0), None, ColumnId(0));
    for (position, column) in row.container.definition.columns.iter().enumerate() {
        if position < key_len {
            if let (Some(bytes), true) = (column.fixed_bytes(), column.element != ElementType::NanoTimestamp) {
                decode_key_number(&mut key, next(&mut fixed, bytes));
            } else {
                cell.clear();
                decode_key(column.element, &mut key, cell);
                put(column, Some(cell), &mut fixed, variable);
            }
            continue;
        }
        let mut found = None;
        if columns >> position.min(63) & 1 != 0 {
            let id = row.container.column_id(position);
            if id < former {
                (values, value) = (row.view.live_values(0), None);
            }
            former = id;
            while value.is_none_or(|(column, _)| column < id) {
                value = values.next();
                if value.is_none() {
                    break;
                }
            }
            let own = value.and_then(|(column, value)| value.filter(|_| column == id));
            found = own.or_else(|| column.is_not_null.then(|| column.zero_cell()));
        }
        if found.is_none() {
            nulls[position / 8] |= 1 << (position % 8);
        }
        put(column, found, &mut fixed, variable);
    }
}

/// Puts what a column holds into the part that it is in; the bytes of the fixed part are zeros.
#[inline]
fn put(column: &ColumnDefinition, cell: Option<&[u8]>, fixed: &mut &mut [u8], variable: &mut Vec<u8>) {
    match (column.fixed_bytes(), cell) {
        (Some(bytes), None) => _ = next(fixed, bytes),
        // Nothing else has so many.
        (Some(NANO_BYTES), Some(cell)) => next(fixed, NANO_BYTES).copy_from_slice(&Instant::of_nano_cell(cell).nano_wire()),
        (Some(bytes), Some(cell)) => copy_reversed(cell, next(fixed, bytes)),
        (None, Some(cell)) if column.is_array => array::to_wire(column.element, cell, variable),
        // An array without elements: one byte that says so.
        (None, None) if column.is_array => put_var_bytes(variable, &[1]),
        (None, cell) if column.element == ElementType::Geometry => Geometry::put_wire_of_cell(cell, variable),
        (None, cell) => put_var_bytes(variable, cell.unwrap_or_default()),
    }
}
