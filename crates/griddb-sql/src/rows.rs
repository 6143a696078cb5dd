//! Rows of a container in a reply of the node, read where they lie: `griddb::row` draws them.

use crate::cells::moment;
use griddb::ElementType;
use griddb::GridError;
use griddb::instant::{Instant, NANO_BYTES};
use griddb::row::Layout;
use griddb::schema::{ColumnDefinition, Kind};
use griddb::wire::Reader;
use sql::ValueRef;
use std::ops::Range;

/// Where the columns of a container's rows are.
pub(crate) struct RowFormat {
    columns: Vec<Place>,
    row_bytes: usize,
    /// Of the row's number, at the start.
    number_bytes: usize,
    variable_columns: usize,
}

enum Place {
    Fixed(usize, ElementType),
    /// After so many others in the variable part.
    Variable(usize, ElementType),
    /// The same of what SQL has no values for.
    Opaque(usize),
}

impl RowFormat {
    pub(crate) fn new(columns: &[ColumnDefinition], kind: Kind) -> Self {
        let layout = Layout::of(columns);
        let number_bytes = if kind == Kind::Collection { 8 } else { 0 };
        let offset_bytes = if layout.variable_columns > 0 { 8 } else { 0 };
        let (mut fixed, mut variable) = (number_bytes + offset_bytes + layout.null_bytes, 0);
        let place = |column: &ColumnDefinition| match column.fixed_bytes() {
            Some(bytes) => {
                fixed += bytes;
                Place::Fixed(fixed - bytes, column.element)
            }
            None => {
                variable += 1;
                if column.is_beyond_sql() { Place::Opaque(variable - 1) } else { Place::Variable(variable - 1, column.element) }
            }
        };
        Self {
            columns: columns.iter().map(place).collect(),
            row_bytes: number_bytes + layout.fixed_bytes,
            number_bytes,
            variable_columns: layout.variable_columns,
        }
    }
}

/// Rows of one reply, and the one at which a reader is.
#[derive(Default)]
pub(crate) struct Rows {
    bytes: Vec<u8>,
    rows: usize,
    fixed: usize,
    variable: usize,
    /// Where the row begins, one after it.
    next: usize,
    row: usize,
    /// Where the values of its variable columns are.
    values: Vec<Range<usize>>,
}

impl Rows {
    /// Rows that begin at `start`: their number, then all of them.
    ///
    /// # Errors
    /// There cannot be so many.
    pub(crate) fn new(bytes: Vec<u8>, start: usize, format: &RowFormat) -> Result<Self, GridError> {
        let mut reader = Reader::new(bytes.get(start..).unwrap_or_default());
        let rows = usize::try_from(reader.i64()?).map_err(|_| GridError::malformed("a negative number of rows"))?;
        let fixed = start + 8;
        reader.take(rows.checked_mul(format.row_bytes).ok_or(GridError::malformed("more rows than there are"))?)?;
        let variable = fixed + rows * format.row_bytes;
        Ok(Self { bytes, rows, fixed, variable, next: 0, row: 0, values: Vec::new() })
    }

    /// One row that begins at `start`.
    ///
    /// # Errors
    /// It is not whole.
    pub(crate) fn of_one(bytes: Vec<u8>, start: usize, format: &RowFormat) -> Result<Self, GridError> {
        Reader::new(bytes.get(start..).unwrap_or_default()).take(format.row_bytes)?;
        Ok(Self { bytes, rows: 1, fixed: start, variable: start + format.row_bytes, next: 0, row: 0, values: Vec::new() })
    }

    /// Before the first row again.
    pub(crate) fn rewind(&mut self) {
        self.next = 0;
    }

    /// The row's number, if its container is a collection.
    pub(crate) fn number(&self) -> i64 {
        i64::from_le_bytes(array(&self.bytes[self.row..]))
    }

    /// What each column of the row holds, as it is. The row's variable columns have to have been found.
    pub(crate) fn cells(&self, format: &RowFormat) -> Vec<Option<Vec<u8>>> {
        let cell = |(column, place): (usize, &Place)| {
            let bytes = match place {
                Place::Fixed(offset, element) => {
                    let start = self.row + offset;
                    self.bytes.get(start..start + element.fixed_bytes().unwrap_or(0))
                }
                Place::Variable(position, _) | Place::Opaque(position) => {
                    self.values.get(*position).and_then(|range| self.bytes.get(range.clone()))
                }
            };
            if self.is_null(format, column) { None } else { bytes.map(<[u8]>::to_vec) }
        };
        format.columns.iter().enumerate().map(cell).collect()
    }

    #[inline]
    fn is_null(&self, format: &RowFormat, column: usize) -> bool {
        let offset_bytes = if format.variable_columns > 0 { 8 } else { 0 };
        let nulls = self.row + format.number_bytes + offset_bytes;
        self.bytes[nulls + column / 8] >> (column % 8) & 1 == 1
    }

    /// Goes to the next row; false after the last. `reads_variable`: whether any of its variable columns is looked at.
    pub(crate) fn advance(&mut self, format: &RowFormat, reads_variable: bool) -> Result<bool, GridError> {
        if self.next == self.rows {
            return Ok(false);
        }
        self.row = self.fixed + self.next * format.row_bytes;
        self.next += 1;
        if reads_variable && format.variable_columns > 0 {
            self.find_variable(format)?;
        }
        Ok(true)
    }

    fn find_variable(&mut self, format: &RowFormat) -> Result<(), GridError> {
        let at = self.row + format.number_bytes;
        let offset = usize::try_from(Reader::new(&self.bytes[at..]).i64()?).map_err(|_| GridError::malformed("a negative offset"))?;
        let rest = self.bytes[self.variable..].get(offset..).ok_or(GridError::malformed("an offset beyond the end"))?;
        let mut reader = Reader::new(rest);
        reader.var_size()?;
        self.values.clear();
        for _ in 0..format.variable_columns {
            let value = reader.var_bytes()?;
            let end = self.bytes.len() - reader.rest().len();
            self.values.push(end - value.len()..end);
        }
        Ok(())
    }

    /// Appends what the first columns of the row hold, which are not null, so that other rows' do not look the same.
    pub(crate) fn put_key(&self, format: &RowFormat, key_len: usize, out: &mut Vec<u8>) {
        for place in format.columns.iter().take(key_len) {
            let bytes = match place {
                Place::Fixed(offset, element) => {
                    let start = self.row + offset;
                    self.bytes.get(start..start + element.fixed_bytes().unwrap_or(0))
                }
                Place::Variable(position, _) | Place::Opaque(position) => {
                    self.values.get(*position).and_then(|range| self.bytes.get(range.clone()))
                }
            };
            let bytes = bytes.unwrap_or_default();
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }

    /// A column of the row.
    #[inline]
    pub(crate) fn value(&self, format: &RowFormat, column: usize) -> ValueRef<'_> {
        if self.is_null(format, column) {
            return ValueRef::Null;
        }
        match &format.columns[column] {
            Place::Fixed(offset, element) => self.fixed(self.row + offset, *element),
            Place::Variable(position, element) => {
                let bytes = self.values.get(*position).and_then(|range| self.bytes.get(range.clone())).unwrap_or_default();
                match element {
                    ElementType::String => std::str::from_utf8(bytes).map_or(ValueRef::Null, ValueRef::Text),
                    _ => ValueRef::Blob(bytes),
                }
            }
            Place::Opaque(_) => ValueRef::Null,
        }
    }

    #[inline]
    fn fixed(&self, at: usize, element: ElementType) -> ValueRef<'_> {
        let bytes = &self.bytes[at..];
        match element {
            ElementType::Bool => ValueRef::Integer(i64::from(bytes[0] != 0)),
            ElementType::Byte => ValueRef::Integer(i64::from(bytes[0] as i8)),
            ElementType::Short => ValueRef::Integer(i64::from(i16::from_le_bytes(array(bytes)))),
            ElementType::Integer => ValueRef::Integer(i64::from(i32::from_le_bytes(array(bytes)))),
            ElementType::Float => ValueRef::Real(f64::from(f32::from_le_bytes(array(bytes)))),
            ElementType::Double => ValueRef::Real(f64::from_le_bytes(array(bytes))),
            ElementType::Long | ElementType::Timestamp => ValueRef::Integer(i64::from_le_bytes(array(bytes))),
            ElementType::MicroTimestamp => ValueRef::Time(moment(Instant { us: i64::from_le_bytes(array(bytes)), ns: 0 })),
            // What the node has checked is one.
            ElementType::NanoTimestamp => ValueRef::Time(moment(Instant::of_nano_wire(&array::<NANO_BYTES>(bytes)).unwrap_or_default())),
            ElementType::String | ElementType::Geometry | ElementType::Blob => ValueRef::Null,
        }
    }
}

#[inline]
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}
