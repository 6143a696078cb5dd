//! Indexes of a container. Each is an index of its table, as CQL's are: who writes a row writes its entries, in one atomic group, and CQL reads through it.
//!
//! Of an index of several columns the entries are of the first one. What the table's index cannot say is in its options.

use crate::geometry::{Geometry, grid};
use crate::schema::{Definition, ElementType, Kind};
use crate::wire::{put_i32, put_string};
use base::TableId;
use model::operation::IndexedValues;
use model::{ColumnId, DataType, Index, IndexPart, Table};
use std::sync::Arc;

/// The name that a client gave it, if it gave one.
pub(super) const NAME_OPTION: &str = "griddb_name";
/// The ids of its columns.
pub(super) const COLUMNS_OPTION: &str = "griddb_columns";

/// A kind of index, numbered as in the protocol. HASH, which was 1, ended with GridDB 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum IndexKind {
    /// In the order of values: TREE.
    Tree = 0,
    /// By the cells of a grid that geometries touch: SPATIAL.
    Spatial = 2,
}

impl IndexKind {
    /// The kind that a column of this type has: there is but one.
    #[must_use]
    pub fn of(element: ElementType) -> Self {
        if element == ElementType::Geometry { Self::Spatial } else { Self::Tree }
    }

    /// The kind of a number; none if it is not served.
    pub(crate) fn of_wire(number: u8) -> Option<Self> {
        [Self::Tree, Self::Spatial].into_iter().find(|kind| *kind as u8 == number)
    }

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "TREE",
            Self::Spatial => "SPATIAL",
        }
    }
}

/// An index of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerIndex {
    /// The table of its entries; none of the row key, which is the order of the rows.
    pub entries: Option<TableId>,
    /// Its name, as a client gave it; empty without.
    pub name: String,
    /// The positions of its columns.
    pub columns: Vec<usize>,
    /// What it is.
    pub kind: IndexKind,
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
        let of_row_key = || Self { entries: None, name: String::new(), columns: (0..definition.key_len).collect(), kind: IndexKind::Tree };
        let mut indexes = Vec::new();
        if definition.kind == Kind::Collection && definition.key_len > 0 {
            indexes.push(of_row_key());
        }
        let of_index = |index: &Arc<Index>| {
            let position = |id: ColumnId| ids.iter().position(|known| *known == id);
            let columns = column_ids(index).into_iter().map(position).collect::<Option<Vec<_>>>()?;
            let kind = IndexKind::of(definition.columns.get(*columns.first()?)?.element);
            let name = index.options.get(NAME_OPTION).cloned().unwrap_or_default();
            Some(Self { entries: Some(index.id), name, columns, kind })
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
        out.push(self.kind as u8);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Appends the column and the type of an index of one column.
    pub(crate) fn write_short(&self, out: &mut Vec<u8>) {
        put_i32(out, self.columns[0] as i32);
        out.push(self.kind as u8);
    }
}

/// Tells what entries a container's SPATIAL index has of a cell; none if the entries are of the cells themselves, or the table is no container.
#[must_use]
pub fn values_within(table: &Table, index: &Index) -> Option<Arc<dyn IndexedValues>> {
    let is_spatial = table.is_container() && index.part == IndexPart::Values && index.options.contains_key(COLUMNS_OPTION);
    is_spatial.then(|| Arc::new(CellsTouched) as Arc<dyn IndexedValues>)
}

/// The cells of a grid that the box around a geometry touches; none of one that is nowhere.
struct CellsTouched;

impl IndexedValues for CellsTouched {
    fn visit(&self, cell: &[u8], visit: &mut dyn FnMut(&DataType, &[u8])) {
        let geometry = std::str::from_utf8(cell).ok().and_then(|text| Geometry::parse(text).ok());
        if let Some(bounds) = geometry.as_ref().and_then(Geometry::bounds) {
            grid::entries(bounds).for_each(|entry| visit(&DataType::Blob, &entry));
        }
    }
}
