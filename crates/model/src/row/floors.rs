//! Columns of which only what was written after a time is there.

use super::{Cell, Content, ElementContent, RowView, RowWriter};
use crate::ColumnId;

/// Columns, each with the timestamp at or before which nothing of it is there.
pub type Floors = [(ColumnId, i64)];

/// Appends `row` without what lies at or below the floors of its columns. False if there is nothing of that, and then nothing was appended.
pub fn without_below(row: &[u8], floors: &Floors, out: &mut Vec<u8>) -> bool {
    let view = RowView::new(row);
    let floor_of = |cell: &Cell<'_>| floors.iter().find(|(column, _)| *column == cell.column).map(|(_, floor)| *floor);
    if !view.cells().any(|cell| floor_of(&cell).is_some_and(|floor| is_in_part_below(&cell, floor))) {
        return false;
    }
    let mut writer = RowWriter::new(out, view.shared(), view.liveness().is_some(), view.deletion());
    for cell in view.cells() {
        let (column, floor) = (cell.column, floor_of(&cell).unwrap_or(i64::MIN));
        match cell.content {
            Content::Value(value) if cell.stamp.timestamp > floor => writer.value(column, cell.stamp, value),
            Content::Tombstone(deleted_at_s) if cell.stamp.timestamp > floor => {
                writer.tombstone(column, cell.stamp.timestamp, deleted_at_s);
            }
            Content::Value(_) | Content::Tombstone(_) => {}
            Content::Complex(complex) => {
                let mut written = writer.complex(column, complex.deletion.filter(|deletion| deletion.timestamp > floor));
                for element in complex.elements().filter(|element| element.stamp.timestamp > floor) {
                    match element.content {
                        ElementContent::Value(value) => written.value(element.path, element.stamp, value),
                        ElementContent::Tombstone(deleted_at_s) => {
                            written.tombstone(element.path, element.stamp.timestamp, deleted_at_s);
                        }
                    }
                }
                written.finish();
            }
        }
    }
    writer.finish();
    true
}

fn is_in_part_below(cell: &Cell<'_>, floor: i64) -> bool {
    match cell.content {
        Content::Value(_) | Content::Tombstone(_) => cell.stamp.timestamp <= floor,
        Content::Complex(complex) => {
            complex.deletion.is_some_and(|deletion| deletion.timestamp <= floor)
                || complex.elements().any(|element| element.stamp.timestamp <= floor)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::row::{Deletion, Stamp, is_well_formed};

    #[test]
    fn only_what_is_above_its_floor_is_left() {
        let shared = Stamp { timestamp: 5, ttl_s: 7, expires_at_s: 9 };
        let mut row = Vec::new();
        let mut writer = RowWriter::new(&mut row, shared, true, Some(Deletion { timestamp: 1, deleted_at_s: 2 }));
        writer.value(ColumnId(1), shared, b"at five");
        writer.value(ColumnId(2), Stamp::at(8), b"at eight");
        writer.tombstone(ColumnId(3), 4, 5);
        let mut complex = writer.complex(ColumnId(4), Some(Deletion { timestamp: 3, deleted_at_s: 3 }));
        complex.value(b"a", shared, b"one");
        complex.tombstone(b"b", 8, 9);
        complex.finish();
        writer.finish();
        let all = [1, 2, 3, 4].map(ColumnId);
        let mut out = Vec::new();
        assert!(!without_below(&row, &[], &mut out) && !without_below(&row, &[(ColumnId(9), 99)], &mut out));
        assert!(!without_below(&row, &all.map(|column| (column, 2)), &mut out) && out.is_empty());
        assert!(without_below(&row, &all.map(|column| (column, 5)), &mut out));
        assert!(is_well_formed(&out));
        let view = RowView::new(&out);
        assert_eq!((view.liveness(), view.deletion(), view.shared()), (Some(shared), RowView::new(&row).deletion(), shared));
        let cells: Vec<Cell<'_>> = view.cells().collect();
        assert_eq!(cells.iter().map(|cell| cell.column).collect::<Vec<_>>(), [ColumnId(2), ColumnId(4)]);
        assert!(matches!(cells[0].content, Content::Value(b"at eight")));
        let Content::Complex(complex) = cells[1].content else { panic!("it has elements") };
        assert_eq!((complex.deletion.is_none(), complex.elements().count()), (true, 1));
        out.clear();
        assert!(without_below(&row, &[(ColumnId(3), i64::MAX)], &mut out));
        assert_eq!(RowView::new(&out).cells().count(), 3);
    }
}
