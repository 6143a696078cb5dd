//! Rows of SQL as a stream of Arrow: columns with types, a batch of rows at a time.
//!
//! - [`flatbuffer`]: how heads of messages are written.
//! - [`kind`]: which type a column has.
//! - [`column`]: values of a batch.
//! - [`message`]: schema, batches, end.
//!
//! SQL may have values of several types in a column, Arrow has one. A column of a table tells its own, and the values of the first batch widen it; for what is
//! computed these values alone tell. A later value that the type cannot hold ends the stream, and is never changed in silence.

mod column;
mod flatbuffer;
mod kind;
mod message;

use crate::sql_tables::SqlError;
use column::Column;
use kind::Kind;
use sql::{Query, Value, ValueRef};

/// Rows of a batch.
const ROWS_MAX: usize = 8_192;
/// Bytes after which a batch ends.
const BYTES_MAX: usize = 1 << 20;

/// A stream that is written.
pub(super) struct Stream {
    names: Vec<String>,
    /// What is known of columns by the rows that came so far; the columns themselves once the first batch is whole.
    kinds: Vec<Option<Kind>>,
    columns: Vec<Column>,
    /// Rows of the first batch, which tell types.
    first: Vec<Vec<Value>>,
    rows: usize,
    bytes: usize,
}

impl Stream {
    pub(super) fn of(query: &Query) -> Self {
        let (names, kinds) = query.columns().into_iter().map(|column| (column.name, column.kind.map(Kind::of))).unzip();
        Self { names, kinds, columns: Vec::new(), first: Vec::new(), rows: 0, bytes: 0 }
    }

    /// Takes the row at which a query is; whether the batch is whole.
    pub(super) fn row(&mut self, query: &Query) -> Result<bool, SqlError> {
        self.rows += 1;
        if self.columns.is_empty() {
            let row = query.row();
            for (kind, value) in self.kinds.iter_mut().zip(&row) {
                *kind = Kind::widened(*kind, value.as_ref());
                self.bytes += size_of::<Value>() + length(value.as_ref());
            }
            self.first.push(row);
        } else {
            for at in 0..self.columns.len() {
                let value = query.value(at);
                if !self.columns[at].push(value) {
                    return Err(self.does_not_hold(at, value));
                }
            }
            self.bytes = self.columns.iter().map(Column::bytes).sum();
        }
        Ok(self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX)
    }

    fn does_not_hold(&self, at: usize, value: ValueRef<'_>) -> SqlError {
        let value = match value {
            ValueRef::Null => "null",
            ValueRef::Integer(_) => "an integer",
            ValueRef::Real(_) => "a real",
            ValueRef::Text(_) | ValueRef::Time(_) => "a text",
            ValueRef::Blob(_) => "a blob",
        };
        SqlError::Mixed { column: self.names[at].clone(), kind: self.columns[at].kind.name(), value }
    }

    /// Appends the batch, and before the first one the schema.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        if self.columns.is_empty() {
            self.decide();
            message::schema(self.names.iter().map(String::as_str).zip(&self.columns), out);
        }
        if self.rows > 0 {
            message::batch(&mut self.columns, out);
        }
        (self.rows, self.bytes) = (0, 0);
    }

    /// Decides the types of columns, and moves the first rows there.
    fn decide(&mut self) {
        let rows = std::mem::take(&mut self.first);
        let kind = |(at, kind): (usize, &Option<Kind>)| {
            // Nothing but nulls; or numbers that no number's type holds all of.
            let kind = kind.unwrap_or(Kind::Text);
            if rows.iter().all(|row| kind.holds(row[at].as_ref())) { kind } else { Kind::Text }
        };
        self.columns = self.kinds.iter().enumerate().map(kind).map(Column::new).collect();
        for row in &rows {
            for (column, value) in self.columns.iter_mut().zip(row) {
                let is_held = column.push(value.as_ref());
                assert!(is_held, "the type was widened by this value");
            }
        }
    }

    /// Appends what stands after the last row.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if self.rows > 0 || self.columns.is_empty() {
            self.flush(out);
        }
        out.extend_from_slice(&message::END);
    }
}

/// What stands in place of the end where a stream has begun and cannot go on.
pub(super) fn failure(why: &str) -> Vec<u8> {
    message::broken(why)
}

fn length(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(text) => text.len(),
        ValueRef::Blob(bytes) => bytes.len(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Time(_) => 0,
    }
}
