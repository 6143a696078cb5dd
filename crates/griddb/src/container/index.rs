//! Indexes of a container. Each is an index of its table, as CQL's are: who writes a row writes its entries, in one atomic group, and CQL reads through it.
//!
//! Of an index of several columns the entries are of the first one. What the table's index cannot say is in its options.

use crate::schema::{Definition, Kind};
use crate::wire::{put_i32, put_string};
use base::TableId;
use model::{ColumnId, Index, Table};
use std::sync::Arc;

/// The name that a client gave it, if it gave one.
pub(super) const NAME_OPTION: &str = "griddb_name";
/// The ids of its columns.
pub(super) const COLUMNS_OPTION: &str = "griddb_columns";

/// The number of TREE. There are no others: HASH ended with GridDB 5, SPATIAL is for GEOMETRY.
pub(super) const TREE: u8 = 0;

/// An index of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerIndex {
    /// The table of its entries; none of the row key, which is the order of the rows.
    pub entries: Option<TableId>,
    /// Its name, as a client gave it; empty without.
    pub name: String,
    /// The positions of its columns.
    pub columns: Vec<usize>,
}

/// The ids of an index's columns.
fn column_ids(index: &Index) -> Vec<ColumnId> {
    let words = index.options.get(COLUMNS_OPTION).map_or("", String::as_str).split(' ');
    words.filter_map(|word| word.parse().ok().map(ColumnId)).collect()
}

/// The indexes that a table has left when these are its container's columns.
pub(super) fn keep_indexes(table: &mut Table, ids: &[ColumnId]) {
    table.indexes.retain(|_, index| column_ids(index).iter().all(|id| ids.contains(id)));
}

impl ContainerIndex {
    /// The indexes of a container whose columns have these ids.
    pub(super) fn all_of(table: &Table, definition: &Definition, ids: &[ColumnId]) -> Vec<Self> {
        let of_row_key = || Self { entries: None, name: String::new(), columns: (0..definition.key_len).collect() };
        let mut indexes = Vec::new();
        if definition.kind == Kind::Collection && definition.key_len > 0 {
            indexes.push(of_row_key());
        }
        let of_index = |index: &Arc<Index>| {
            let position = |id: ColumnId| ids.iter().position(|known| *known == id);
            let columns = column_ids(index).into_iter().map(position).collect::<Option<Vec<_>>>()?;
            let name = index.options.get(NAME_OPTION).cloned().unwrap_or_default();
            (!columns.is_empty()).then_some(Self { entries: Some(index.id), name, columns })
        };
        let mut declared: Vec<Self> = table.indexes.values().filter_map(of_index).collect();
        declared.sort_by_key(|index| index.entries);
        indexes.append(&mut declared);
        indexes
    }

    /// Appends it as clients get it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_i32(out, 0);
        put_string(out, &self.name);
        put_i32(out, self.columns.len() as i32);
        self.columns.iter().for_each(|position| put_i32(out, *position as i32));
        out.push(TREE);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Appends the column and the type of an index of one column.
    pub(crate) fn write_short(&self, out: &mut Vec<u8>) {
        put_i32(out, self.columns[0] as i32);
        out.push(TREE);
    }
}
