//! Rows on the wire, and as tables have them.
//!
//! Several rows come as all their fixed parts, then all their variable parts.
//!
//! | bytes | fixed part |
//! |---|---|
//! | 8 | the row's number: in replies about collections only |
//! | 8 | where the row's variable part begins, from the first one's; only if there are variable columns |
//! | n/8 | a bit for each of the n columns that is null, lowest bit first |
//! | … | the values of fixed columns, of null columns too |
//!
//! The variable part has the number of variable columns, then size and bytes of each. A cell of a table has big-endian bytes, so numbers are
//! turned around.

mod array;
mod cell;
mod decode;
mod encode;
mod lent;
mod send;
mod stored;

pub(crate) use cell::put_cell;
pub use decode::{RowReader, SentRow};
pub use encode::RowSet;
pub(crate) use encode::RowsEnd;
pub use send::RowsWriter;
pub use stored::{StoredRow, live};

use crate::schema::ColumnDefinition;

/// Appends a number turned around. Most have eight bytes or four, which are then turned at once.
#[inline]
fn put_reversed(number: &[u8], out: &mut Vec<u8>) {
    if let Ok(number) = <[u8; 8]>::try_from(number) {
        out.extend_from_slice(&u64::from_be_bytes(number).to_le_bytes());
    } else if let Ok(number) = <[u8; 4]>::try_from(number) {
        out.extend_from_slice(&u32::from_be_bytes(number).to_le_bytes());
    } else {
        out.extend(number.iter().rev());
    }
}

/// The sizes of a row's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of the bits that say which columns are null.
    pub null_bytes: usize,
    /// How many columns are in the variable part.
    pub variable_columns: usize,
    /// All of the fixed part but the row's number.
    pub fixed_bytes: usize,
}

impl Layout {
    /// The layout of rows of these columns.
    #[must_use]
    pub fn of(columns: &[ColumnDefinition]) -> Self {
        let null_bytes = columns.len().div_ceil(8);
        let variable_columns = columns.iter().filter(|column| column.fixed_bytes().is_none()).count();
        let values: usize = columns.iter().filter_map(ColumnDefinition::fixed_bytes).sum();
        let offset = if variable_columns > 0 { 8 } else { 0 };
        Self { null_bytes, variable_columns, fixed_bytes: offset + null_bytes + values }
    }
}

#[cfg(test)]
mod tests;
