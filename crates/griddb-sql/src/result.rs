//! What a client of SQL is answered.
//!
//! | bytes | a result |
//! |---|---|
//! | 4, 4 | how many rows were changed; how many parameters there are |
//! | 1 | whether rows follow; the rest only with them |
//! | 1 | whether there are more |
//! | 4 | how many come |
//! | 4, … | size and schema: number of columns, each with name, type and flags, the key's columns, the labels |
//! | 4, … | size and rows, after 8 bytes without meaning |
//!
//! Columns have no names in the schema: two of one name would be refused. Their labels are the names.

use crate::cells::instant;
use crate::request::{put_any_null, type_number};
use griddb::wire::ReplyHeader;
use griddb::wire::{Status, put_i16, put_i32, put_i64, put_string, put_var_bytes, put_var_size};
use griddb::{ElementType, ErrorCode, GridError};
use sql::ValueRef;
use sql::time::Moment;

/// A column of a result; without a type each value has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) label: String,
    pub(crate) element: Option<ElementType>,
}

/// Rows in the making.
pub(crate) struct Page<'c> {
    columns: &'c [Column],
    fixed: Vec<u8>,
    variable: Vec<u8>,
    pub(crate) rows: usize,
    variable_columns: usize,
    /// Where the bits of the row's nulls are.
    nulls: usize,
}

impl<'c> Page<'c> {
    pub(crate) fn new(columns: &'c [Column]) -> Self {
        let is_variable = |column: &&Column| column.element.is_none_or(|element| element.fixed_bytes().is_none());
        let variable_columns = columns.iter().filter(is_variable).count();
        Self { columns, fixed: Vec::new(), variable: Vec::new(), rows: 0, variable_columns, nulls: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.fixed.len() + self.variable.len()
    }

    pub(crate) fn begin_row(&mut self) {
        self.rows += 1;
        if self.variable_columns > 0 {
            self.fixed.extend_from_slice(&(self.variable.len() as u64).to_le_bytes());
            put_var_size(&mut self.variable, self.variable_columns);
        }
        self.nulls = self.fixed.len();
        self.fixed.resize(self.nulls + self.columns.len().div_ceil(8), 0);
    }

    /// Appends a value of the row.
    ///
    /// # Errors
    /// It is not of the column's type.
    pub(crate) fn put(&mut self, column: usize, value: ValueRef<'_>) -> Result<(), GridError> {
        let Some(element) = self.columns[column].element else {
            self.put_any(value);
            return Ok(());
        };
        if value == ValueRef::Null {
            self.fixed[self.nulls + column / 8] |= 1 << (column % 8);
            match element.fixed_bytes() {
                Some(bytes) => self.fixed.resize(self.fixed.len() + bytes, 0),
                None => put_var_size(&mut self.variable, 0),
            }
            return Ok(());
        }
        let unfit = || {
            let message = format!(
                "the column {} holds {} in its first rows, and then a value of another type: use CAST",
                self.columns[column].label,
                element.name()
            );
            GridError::new(ErrorCode::SQL_EXECUTION_FAILED, message)
        };
        let untold = || {
            let message = format!("the column {} has a time that {} has no room for", self.columns[column].label, element.name());
            GridError::new(ErrorCode::SQL_EXECUTION_FAILED, message)
        };
        let fixed = &mut self.fixed;
        match (element, value) {
            (ElementType::Bool, ValueRef::Integer(value)) => fixed.push(u8::from(value != 0)),
            (ElementType::Byte, ValueRef::Integer(value)) => fixed.push(i8::try_from(value).map_err(|_| unfit())? as u8),
            (ElementType::Short, ValueRef::Integer(value)) => {
                fixed.extend_from_slice(&i16::try_from(value).map_err(|_| unfit())?.to_le_bytes());
            }
            (ElementType::Integer, ValueRef::Integer(value)) => {
                fixed.extend_from_slice(&i32::try_from(value).map_err(|_| unfit())?.to_le_bytes());
            }
            (ElementType::Long | ElementType::Timestamp, ValueRef::Integer(value)) => fixed.extend_from_slice(&value.to_le_bytes()),
            (element, ValueRef::Text(text)) if element.is_time() => {
                let moment = Moment::parse(text).ok_or_else(unfit)?;
                put_time(fixed, element, moment).ok_or_else(untold)?;
            }
            (ElementType::MicroTimestamp | ElementType::NanoTimestamp, ValueRef::Integer(value)) => {
                put_time(fixed, element, Moment::of_ms(value)).ok_or_else(untold)?;
            }
            (ElementType::Float, ValueRef::Real(value)) => fixed.extend_from_slice(&(value as f32).to_le_bytes()),
            (ElementType::Float, ValueRef::Integer(value)) => fixed.extend_from_slice(&(value as f32).to_le_bytes()),
            (ElementType::Double, ValueRef::Real(value)) => fixed.extend_from_slice(&value.to_le_bytes()),
            (ElementType::Double, ValueRef::Integer(value)) => fixed.extend_from_slice(&(value as f64).to_le_bytes()),
            (ElementType::String, ValueRef::Text(text)) => put_var_bytes(&mut self.variable, text.as_bytes()),
            (ElementType::Blob, ValueRef::Blob(bytes)) => put_var_bytes(&mut self.variable, bytes),
            (ElementType::Blob, ValueRef::Text(text)) => put_var_bytes(&mut self.variable, text.as_bytes()),
            _ => return Err(unfit()),
        }
        Ok(())
    }

    /// A value with its type.
    fn put_any(&mut self, value: ValueRef<'_>) {
        let mut with = |element: ElementType, bytes: [u8; 8]| {
            self.fixed.push(element as u8);
            self.fixed.extend_from_slice(&bytes);
        };
        match value {
            ValueRef::Null => put_any_null(&mut self.fixed),
            // SQLite gives none.
            ValueRef::Time(moment) => with(ElementType::Timestamp, moment.ms.to_le_bytes()),
            ValueRef::Integer(value) => with(ElementType::Long, value.to_le_bytes()),
            ValueRef::Real(value) => with(ElementType::Double, value.to_le_bytes()),
            ValueRef::Text(text) => {
                with(ElementType::String, [0; 8]);
                put_var_bytes(&mut self.variable, text.as_bytes());
            }
            ValueRef::Blob(bytes) => {
                with(ElementType::Blob, [0; 8]);
                put_var_bytes(&mut self.variable, bytes);
            }
        }
    }

    pub(crate) fn write(&self, is_followed: bool, out: &mut Vec<u8>) {
        out.push(1);
        out.push(u8::from(is_followed));
        put_i32(out, self.rows as i32);
        sized(out, |out| {
            put_i32(out, self.columns.len() as i32);
            for column in self.columns {
                put_string(out, "");
                out.push(type_number(column.element));
                out.push(0);
            }
            put_i16(out, 0);
            self.columns.iter().for_each(|column| put_string(out, &column.label));
        });
        sized(out, |out| {
            put_i64(out, 0);
            out.extend_from_slice(&self.fixed);
            out.extend_from_slice(&self.variable);
        });
    }
}

/// Appends a time as a column has it; none if it has no room for it.
fn put_time(out: &mut Vec<u8>, element: ElementType, moment: Moment) -> Option<()> {
    let time = || Some(instant(moment)).filter(|time| time.fits_wire());
    match element {
        ElementType::NanoTimestamp => out.extend_from_slice(&time()?.nano_wire()),
        ElementType::MicroTimestamp => out.extend_from_slice(&time()?.us.to_le_bytes()),
        _ => out.extend_from_slice(&moment.ms.to_le_bytes()),
    }
    Some(())
}

/// Appends what `write` does after its size.
fn sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put_i32(out, 0);
    write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// One result.
pub(crate) enum Outcome<'p> {
    /// Rows, and whether there are more.
    Rows(&'p Page<'p>, bool),
    /// How many rows were changed.
    Changed(i64),
    /// How many parameters a prepared statement has.
    Prepared(usize),
}

/// Appends a whole reply.
pub(crate) fn write_reply(header: ReplyHeader, outcomes: &[Outcome<'_>], out: &mut Vec<u8>) {
    let reply = header.begin(Status::Success, out);
    // No transaction is open, and each statement commits what it does.
    out.extend_from_slice(&[0, 1]);
    put_i32(out, outcomes.len() as i32);
    for outcome in outcomes {
        let (changed, parameters) = match outcome {
            Outcome::Rows(..) => (0, 0),
            Outcome::Changed(rows) => (i32::try_from(*rows).unwrap_or(i32::MAX), 0),
            Outcome::Prepared(parameters) => (0, *parameters as i32),
        };
        put_i32(out, changed);
        put_i32(out, parameters);
        match outcome {
            Outcome::Rows(page, is_followed) => page.write(*is_followed, out),
            _ => out.push(0),
        }
    }
    put_i32(out, 0);
    reply.end(out);
}
