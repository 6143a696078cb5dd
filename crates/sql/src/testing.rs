//! What tests of several modules need: rows in memory.

use crate::tables::{Scan, SourceError, Value, ValueRef};
use rusqlite::types::ValueRef as SqlRef;

/// All rows of a statement that SQLite itself has run, as an oracle.
pub(crate) fn rows_of(mut rows: rusqlite::Rows<'_>) -> Vec<Vec<Value>> {
    let columns = rows.as_ref().expect("its statement is there").column_count();
    let mut all = Vec::new();
    while let Some(row) = rows.next().expect("SQLite goes on") {
        let value = |column| match row.get_ref(column).expect("there are so many columns") {
            SqlRef::Null => Value::Null,
            SqlRef::Integer(value) => Value::Integer(value),
            SqlRef::Real(value) => Value::Real(value),
            SqlRef::Text(text) => Value::Text(String::from_utf8(text.to_vec()).expect("texts are UTF-8")),
            SqlRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
        };
        all.push((0..columns).map(value).collect());
    }
    all
}

/// A scan of rows, and the row at which it is.
pub(crate) struct Rows(std::vec::IntoIter<Vec<Value>>, Vec<Value>);

impl Rows {
    pub(crate) fn new(rows: Vec<Vec<Value>>) -> Self {
        Self(rows.into_iter(), Vec::new())
    }
}

impl Scan for Rows {
    fn advance(&mut self) -> Result<bool, SourceError> {
        let next = self.0.next();
        let is_there = next.is_some();
        self.1 = next.unwrap_or_default();
        Ok(is_there)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.1[column].as_ref()
    }
}
