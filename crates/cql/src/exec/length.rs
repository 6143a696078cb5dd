//! Values that are too long for what is kept of them elsewhere: keys of views, entries of Cassandra's first kind of index.

use crate::CqlError;
use crate::index::IndexClass;
use crate::plan::Modify;
use model::{ColumnId, DataType, IndexPart, Table};

/// The most bytes that a key has, and so a value that is one in a view or an index.
pub(super) const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// Checks a value that is one cell.
#[inline]
pub(super) fn check_value(plan: &Modify, column: ColumnId, value: &[u8]) -> Result<(), CqlError> {
    if value.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    let keys = |view: &Table| view.columns[..view.partition_key_len + view.clustering_len].iter().any(|key| key.id == column);
    if plan.views.iter().any(|view| keys(&view.table)) {
        return Err(CqlError::Invalid(format!("Key length of {} is longer than maximum of 65535", value.len())));
    }
    check_indexed(&plan.table, column, |part| if part == IndexPart::Value { value.len() } else { 0 })
}

/// Checks an element of a collection, or a field of a user type.
#[inline]
pub(super) fn check_element(plan: &Modify, column: ColumnId, path: &[u8], value: &[u8]) -> Result<(), CqlError> {
    if path.len() + value.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    let is_set = plan.table.column_of_id(column).is_some_and(|(_, column)| matches!(column.data_type, DataType::Set(..)));
    check_indexed(&plan.table, column, |part| match part {
        IndexPart::Keys => path.len(),
        IndexPart::Values if is_set => path.len(),
        IndexPart::Values => value.len(),
        IndexPart::Entries => path.len() + value.len(),
        IndexPart::Value => 0,
    })
}

fn check_indexed(table: &Table, column: ColumnId, length: impl Fn(IndexPart) -> usize) -> Result<(), CqlError> {
    let indexes = table.indexes.values().filter(|index| index.column == column && IndexClass::of(index) == IndexClass::Legacy);
    for index in indexes {
        let bytes = length(index.part);
        if bytes > KEY_BYTES_MAX {
            let name = table.column_of_id(column).map_or("", |(_, column)| column.name.as_str());
            return Err(CqlError::Invalid(format!(
                "Cannot index value of size {bytes} for index {} on {}.{}({name}) (maximum allowed size={KEY_BYTES_MAX})",
                index.name, table.keyspace, table.name
            )));
        }
    }
    Ok(())
}
