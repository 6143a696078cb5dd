//! A statement for the target.

use crate::feed::{LogRow, quoted};

/// A statement, and the values of its markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) values: Vec<Option<Vec<u8>>>,
}

impl Statement {
    pub(super) fn bind(&mut self, value: &[u8]) {
        self.values.push(Some(value.to_vec()));
    }

    /// Adds ` WHERE a = ? AND …` with those columns of the key that the row has.
    pub(super) fn add_key<'n>(&mut self, row: &LogRow, names: impl Iterator<Item = &'n String>) {
        let mut separator = " WHERE ";
        for name in names {
            if let Some((_, value)) = row.value(name) {
                self.text.push_str(&format!("{separator}{} = ?", quoted(name)));
                self.bind(value);
                separator = " AND ";
            }
        }
    }
}
