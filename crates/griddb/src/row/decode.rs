//! Rows that clients send, and those that they get.

use super::cell::put_cell;
use super::{Layout, array};
use crate::schema::ColumnDefinition;
use crate::wire::Reader;
use crate::{ErrorCode, GridError};

/// Room for so many rows is made at once.
const ROWS_AT_ONCE: usize = 4_096;

/// Rows of one request, one after the other.
pub struct RowReader<'c, 'a> {
    columns: &'c [ColumnDefinition],
    layout: Layout,
    fixed: Reader<'a>,
    variable: &'a [u8],
    /// How many bytes of the variable parts no row has had: each row has its own.
    unread: usize,
    left: usize,
    /// Of each row's number, which some replies have.
    number_bytes: usize,
}

/// A row that a client has sent: what each column holds, as on the wire; none where it is null.
pub struct SentRow<'a> {
    values: Vec<Option<&'a [u8]>>,
}

impl<'c, 'a> RowReader<'c, 'a> {
    /// Reads `count` rows of these columns from all that is left.
    ///
    /// # Errors
    /// There cannot be so many.
    pub fn new(columns: &'c [ColumnDefinition], count: i64, reader: &mut Reader<'a>) -> Result<Self, GridError> {
        Self::with_numbers(columns, count, 0, reader)
    }

    /// The same of rows of a collection in a reply, which are numbered.
    ///
    /// # Errors
    /// There cannot be so many.
    pub fn of_reply(columns: &'c [ColumnDefinition], count: i64, reader: &mut Reader<'a>) -> Result<Self, GridError> {
        Self::with_numbers(columns, count, size_of::<i64>(), reader)
    }

    fn with_numbers(columns: &'c [ColumnDefinition], count: i64, number_bytes: usize, reader: &mut Reader<'a>) -> Result<Self, GridError> {
        let layout = Layout::of(columns);
        let left = usize::try_from(count).map_err(|_| GridError::malformed("a negative number of rows"))?;
        let bytes = left.checked_mul(number_bytes + layout.fixed_bytes).ok_or(GridError::malformed("more rows than there are"))?;
        let fixed = Reader::new(reader.take(bytes)?);
        let variable = reader.rest();
        Ok(Self { columns, layout, fixed, variable, unread: variable.len(), left, number_bytes })
    }

    /// All rows that are left.
    ///
    /// # Errors
    /// One of them is not whole, or no row of these columns.
    pub fn read_all(mut self) -> Result<Vec<SentRow<'a>>, GridError> {
        let mut rows = Vec::with_capacity(self.left.min(ROWS_AT_ONCE));
        while let Some(row) = self.next_row()? {
            rows.push(row);
        }
        Ok(rows)
    }

    /// The next row.
    ///
    /// # Errors
    /// It is not whole, or no row of these columns.
    pub fn next_row(&mut self) -> Result<Option<SentRow<'a>>, GridError> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(self.columns.len());
        self.next_into(&mut values)?;
        Ok(Some(SentRow { values }))
    }

    /// What each column of the next row holds, in memory that is there already; false after the last row.
    ///
    /// # Errors
    /// As [`RowReader::next_row`].
    #[inline]
    pub fn next_into(&mut self, values: &mut Vec<Option<&'a [u8]>>) -> Result<bool, GridError> {
        values.clear();
        let Some(left) = self.left.checked_sub(1) else { return Ok(false) };
        self.left = left;
        self.fixed.take(self.number_bytes)?;
        let (mut variable, mut start) = (Reader::new(&[]), 0);
        if self.layout.variable_columns > 0 {
            let offset = usize::try_from(self.fixed.i64()?).map_err(|_| GridError::malformed("a negative offset"))?;
            let rest = self.variable.get(offset..).ok_or(GridError::malformed("an offset beyond the end"))?;
            (variable, start) = (Reader::new(rest), rest.len());
            if variable.var_size()? != self.layout.variable_columns as u64 {
                return Err(GridError::malformed("a row with another number of variable columns"));
            }
        }
        let nulls = self.fixed.take(self.layout.null_bytes)?;
        for (position, column) in self.columns.iter().enumerate() {
            let value = match column.fixed_bytes() {
                Some(bytes) => self.fixed.take(bytes)?,
                None => variable.var_bytes()?,
            };
            let is_null = nulls[position / 8] >> (position % 8) & 1 == 1;
            if is_null && column.is_not_null {
                return Err(GridError::new(ErrorCode::DS_COL_ROWDATA_INVALID, format!("the column {} cannot be null", column.name)));
            }
            values.push((!is_null).then_some(value));
        }
        let read = start - variable.rest().len();
        self.unread = self.unread.checked_sub(read).ok_or(GridError::malformed("rows that have a variable part together"))?;
        Ok(true)
    }
}

impl SentRow<'_> {
    /// Brings its values into another order: the first is the one that was at the first of `positions`.
    pub(crate) fn reorder(&mut self, positions: &[usize]) {
        self.values = positions.iter().map(|position| self.values.get(*position).copied().flatten()).collect();
    }

    /// What a column holds, as on the wire; none if it is null.
    pub(crate) fn sent(&self, position: usize) -> Option<&[u8]> {
        self.values.get(position).copied().flatten()
    }

    /// Appends the cell of a column; false if it is null.
    ///
    /// # Errors
    /// A value that cannot be.
    pub fn cell(&self, column: &ColumnDefinition, position: usize, out: &mut Vec<u8>) -> Result<bool, GridError> {
        let Some(value) = self.values.get(position).copied().flatten() else { return Ok(false) };
        if column.is_array {
            array::to_cell(column.element, value, out)?;
        } else {
            put_cell(column.element, value, out)?;
        }
        Ok(true)
    }
}
