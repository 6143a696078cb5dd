//! What stands in place of a column's values for those who may not see them.

use crate::types::DataType;

/// The keyspace of native functions.
const NATIVE: &str = "system";

/// A function of the column's value that gives another value of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMask {
    /// The function's keyspace: `system`, or that of the table.
    pub keyspace: String,
    /// The function's name.
    pub function: String,
    /// The arguments that follow the column's value.
    pub arguments: Vec<MaskArgument>,
}

/// An argument of a masking function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskArgument {
    /// Its type.
    pub data_type: DataType,
    /// Its bytes; none is null.
    pub value: Option<Vec<u8>>,
}

impl ColumnMask {
    /// Whether the function is a native one, and none that a user has made.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.keyspace == NATIVE
    }
}
