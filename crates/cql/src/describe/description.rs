//! The rows that answer a DESCRIBE.

use model::DataType;

/// The result of a DESCRIBE: rows of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The columns' names and types.
    pub columns: Vec<(&'static str, DataType)>,
    /// The rows: a value in wire bytes for each column.
    pub rows: Vec<Vec<Vec<u8>>>,
}

pub(super) fn columns(names: &[&'static str]) -> Vec<(&'static str, DataType)> {
    names.iter().map(|name| (*name, DataType::Text)).collect()
}
