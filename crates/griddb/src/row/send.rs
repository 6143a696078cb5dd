//! Rows that a client sends.

use super::Layout;
use crate::schema::ColumnDefinition;
use crate::wire::{put_var_bytes, put_var_size};

/// Rows in the making, as clients send them: each row is begun, then has its columns in their order.
#[derive(Clone, Debug)]
pub struct RowsWriter {
    layout: Layout,
    fixed: Vec<u8>,
    variable: Vec<u8>,
    rows: usize,
    /// Where the bits are that say which columns of the row are null.
    nulls: usize,
    /// The position of the next column.
    position: usize,
}

impl RowsWriter {
    /// Rows of these columns.
    #[must_use]
    pub fn new(columns: &[ColumnDefinition]) -> Self {
        Self { layout: Layout::of(columns), fixed: Vec::new(), variable: Vec::new(), rows: 0, nulls: 0, position: 0 }
    }

    /// Begins a row.
    pub fn begin(&mut self) {
        if self.layout.variable_columns > 0 {
            self.fixed.extend_from_slice(&(self.variable.len() as u64).to_le_bytes());
            put_var_size(&mut self.variable, self.layout.variable_columns);
        }
        self.nulls = self.fixed.len();
        self.fixed.resize(self.nulls + self.layout.null_bytes, 0);
        self.rows += 1;
        self.position = 0;
    }

    /// Appends what the row's next column holds, as on the wire; none if it is null.
    pub fn put(&mut self, column: &ColumnDefinition, value: Option<&[u8]>) {
        if value.is_none() {
            self.fixed[self.nulls + self.position / 8] |= 1 << (self.position % 8);
        }
        match (column.fixed_bytes(), value) {
            (Some(_), Some(bytes)) => self.fixed.extend_from_slice(bytes),
            (Some(bytes), None) => self.fixed.resize(self.fixed.len() + bytes, 0),
            (None, Some(bytes)) => put_var_bytes(&mut self.variable, bytes),
            // An array without elements: one byte that says so.
            (None, None) if column.is_array => put_var_bytes(&mut self.variable, &[1]),
            (None, None) => put_var_bytes(&mut self.variable, &[]),
        }
        self.position += 1;
    }

    /// The same of a column in the variable part: `make` appends its so many bytes.
    pub fn put_made(&mut self, bytes: usize, make: impl FnOnce(&mut Vec<u8>)) {
        put_var_size(&mut self.variable, bytes);
        make(&mut self.variable);
        self.position += 1;
    }

    /// How many there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends all of them.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.fixed);
        out.extend_from_slice(&self.variable);
    }

    /// Takes all of them away, and keeps the memory.
    pub fn clear(&mut self) {
        self.fixed.clear();
        self.variable.clear();
        self.rows = 0;
    }
}
