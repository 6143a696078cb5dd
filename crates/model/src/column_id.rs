//! The number of a column within its table.

/// Identifies a static or regular column within its table's rows. Key columns have ids, too, but no cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u16);
