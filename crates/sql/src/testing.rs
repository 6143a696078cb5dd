//! What tests of several modules need: rows in memory.

use crate::tables::{Scan, SourceError, Value, ValueRef};

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
