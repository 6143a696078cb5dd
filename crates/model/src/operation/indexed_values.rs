//! What an index has entries of where a column's type does not tell: only the protocol knows what is in such a cell.

use crate::types::DataType;

/// A cell has so many entries; a slot with a cell of more is scanned.
pub const INDEXED_VALUES_MAX: usize = 1_024;

/// The values within a cell.
pub trait IndexedValues: Send + Sync {
    /// Visits the values that have entries, each with its type; nothing of a cell that is none of the protocol's. What is more than
    /// one beyond [`INDEXED_VALUES_MAX`] may be left out.
    fn visit(&self, cell: &[u8], visit: &mut dyn FnMut(&DataType, &[u8]));
}
