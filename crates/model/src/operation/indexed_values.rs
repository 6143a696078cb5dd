//! What an index has entries of where a column's type does not tell: only the protocol knows what is in such a cell.

use crate::types::DataType;

/// The values within a cell.
pub trait IndexedValues: Send + Sync {
    /// Visits the values that have entries, each with its type; nothing of a cell that is none of the protocol's.
    fn visit(&self, cell: &[u8], visit: &mut dyn FnMut(&DataType, &[u8]));
}
