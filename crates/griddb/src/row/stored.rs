//! Rows of a container's table.

use crate::container::Container;
use crate::key::decode_key;
use model::ColumnId;
use model::row::RowView;
use std::borrow::Cow;

/// A row that is there.
#[derive(Clone, Copy)]
pub struct StoredRow<'a> {
    /// Where it is.
    pub container: &'a Container,
    /// Its row key, encoded.
    pub clustering: &'a [u8],
    /// Its other columns.
    pub view: RowView<'a>,
}

/// The row in these bytes, unless it was deleted.
pub fn live(row: &[u8]) -> Option<RowView<'_>> {
    let view = RowView::new(row);
    view.liveness().is_some().then_some(view)
}

impl<'a> StoredRow<'a> {
    /// The cell of a column; none if it is null. A column that was added later has its type's zero where it may not be null.
    pub fn cell(&self, position: usize) -> Option<Cow<'a, [u8]>> {
        let keys = self.container.key_columns();
        if position < keys.len() {
            let (mut input, mut cell) = (self.clustering, Vec::new());
            for column in &keys[..=position] {
                cell.clear();
                decode_key(column.element, &mut input, &mut cell);
            }
            return Some(Cow::Owned(cell));
        }
        let column = &self.container.definition.columns[position];
        let value = self.regular(self.container.column_id(position));
        value.or(column.is_not_null.then(|| column.zero_cell())).map(Cow::Borrowed)
    }

    fn regular(&self, column: ColumnId) -> Option<&'a [u8]> {
        let cells = self.view.cells();
        cells.take_while(|cell| cell.column <= column).find(|cell| cell.column == column)?.live_value(0)
    }
}
