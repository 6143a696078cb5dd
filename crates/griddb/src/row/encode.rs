//! Rows that clients get.

use super::lent::Lent;
use super::{Layout, StoredRow, array, put_reversed};
use crate::container::Container;
use crate::geometry::Geometry;
use crate::instant::{Instant, NANO_BYTES};
use crate::key::{decode_key, row_id};
use crate::schema::{ColumnDefinition, ElementType};
use crate::wire::{put_var_bytes, put_var_size};
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
        if self.has_numbers {
            // Only transactions have a use for it, and who has to know a row again that has no key.
            let number = if row.container.definition.key_len == 0 { row_id(row.clustering) as u64 } else { self.rows };
            self.fixed.extend_from_slice(&number.to_le_bytes());
        }
        if self.layout.variable_columns > 0 {
            self.fixed.extend_from_slice(&(self.variable.len() as u64).to_le_bytes());
            put_var_size(&mut self.variable, self.layout.variable_columns);
        }
        let nulls = self.fixed.len();
        self.fixed.resize(nulls + self.layout.null_bytes, 0);
        let (mut key, mut cell) = (row.clustering, std::mem::take(&mut self.cell));
        let key_len = row.container.definition.key_len;
        let (mut cells, mut former) = (row.view.cells().peekable(), ColumnId(0));
        for (position, column) in row.container.definition.columns.iter().enumerate() {
            if position < key_len {
                cell.clear();
                decode_key(column.element, &mut key, &mut cell);
                self.put(column, Some(&cell));
                continue;
            }
            if self.columns >> position.min(63) & 1 == 0 {
                self.fixed[nulls + position / 8] |= 1 << (position % 8);
                self.put(column, None);
                continue;
            }
            let id = row.container.column_id(position);
            if id < former {
                cells = row.view.cells().peekable();
            }
            former = id;
            while cells.next_if(|cell| cell.column < id).is_some() {}
            let value = cells.next_if(|cell| cell.column == id).and_then(|cell| cell.live_value(0));
            let value = value.or(column.is_not_null.then(|| column.zero_cell()));
            if value.is_none() {
                self.fixed[nulls + position / 8] |= 1 << (position % 8);
            }
            self.put(column, value);
        }
        self.cell = cell;
        if self.fixed.len() + self.variable.len() > self.bytes_max {
            let message = format!("the rows take more than {} bytes: ask for fewer with LIMIT", self.bytes_max);
            return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message));
        }
        Ok(())
    }

    #[inline]
    fn put(&mut self, column: &ColumnDefinition, cell: Option<&[u8]>) {
        let fixed = &mut *self.fixed;
        match (column.fixed_bytes(), cell) {
            (Some(bytes), None) => fixed.resize(fixed.len() + bytes, 0),
            // Nothing else has so many.
            (Some(NANO_BYTES), Some(cell)) => fixed.extend_from_slice(&Instant::of_nano_cell(cell).nano_wire()),
            (Some(bytes), Some(cell)) => {
                let start = fixed.len();
                put_reversed(cell, fixed);
                fixed.resize(start + bytes, 0);
            }
            (None, Some(cell)) if column.is_array => array::to_wire(column.element, cell, &mut self.variable),
            // An array without elements: one byte that says so.
            (None, None) if column.is_array => put_var_bytes(&mut self.variable, &[1]),
            (None, cell) if column.element == ElementType::Geometry => Geometry::put_wire_of_cell(cell, &mut self.variable),
            (None, cell) => put_var_bytes(&mut self.variable, cell.unwrap_or_default()),
        }
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
