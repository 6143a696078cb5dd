//! What a write has changed in a row: the difference between the row before and after, as the pieces that were written.
//!
//! The rows are merged ones: what lost against a later write is not in them, and is no change. What a merge only tidies up is none either: a value that has
//! expired becomes a tombstone with the same timestamp, and tombstones are forgotten.
//!
//! A deletion may be older than what it meets. It is told all the same, so what it leaves is told after it, as if it had been written anew.

use model::ColumnId;
use model::row::{Cell, Complex, Content, Deletion, Element, ElementContent, RowView, Stamp};
use std::collections::HashMap;

/// What has changed.
#[derive(Debug, Default)]
pub(super) struct RowDelta<'a> {
    /// The deletion of the row.
    pub(super) deletion: Option<Deletion>,
    /// The row's marker, with which an INSERT makes it be there.
    pub(super) marker: Option<Stamp>,
    /// By ascending column.
    pub(super) pieces: Vec<Piece<'a>>,
}

/// A change of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) column: ColumnId,
    /// 0 of what does not expire.
    pub(super) ttl_s: u32,
    pub(super) what: What<'a>,
}

/// What a column got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What<'a> {
    /// A value.
    Value(&'a [u8]),
    /// Its value, or all elements that it had, were deleted.
    Deleted,
    /// An element: its path and value.
    Element(&'a [u8], &'a [u8]),
    /// The element of this path was deleted.
    DeletedElement(&'a [u8]),
}

/// The deletion in `new` if it is later than the one in `old`.
pub(super) fn new_deletion(old: Option<Deletion>, new: Option<Deletion>) -> Option<Deletion> {
    new.filter(|new| old.is_none_or(|old| new.timestamp > old.timestamp))
}

impl<'a> RowDelta<'a> {
    /// Between a row before and after. With `left_above` a deletion is told before it: what was written after this timestamp and is still there is told anew.
    pub(super) fn new(old: Option<RowView<'_>>, new: RowView<'a>, now_s: u32, left_above: Option<i64>) -> Self {
        let is_left = |marker: &Stamp| left_above.is_some_and(|timestamp| marker.timestamp > timestamp);
        let is_new = |marker: &Stamp| old.and_then(|old| old.liveness()) != Some(*marker);
        let mut delta = Self {
            deletion: new_deletion(old.and_then(|old| old.deletion()), new.deletion()),
            marker: new.liveness().filter(|marker| is_new(marker) || is_left(marker)),
            pieces: Vec::with_capacity(new.cells().size_hint().0),
        };
        let mut olds = old.map(|old| old.cells()).into_iter().flatten().peekable();
        for cell in new.cells() {
            while olds.next_if(|old| old.column < cell.column).is_some() {}
            let old = olds.next_if(|old| old.column == cell.column);
            delta.cell(old.as_ref(), &cell, now_s, left_above);
        }
        delta
    }

    /// Whether nothing has changed.
    pub(super) fn is_empty(&self) -> bool {
        self.deletion.is_none() && self.marker.is_none() && self.pieces.is_empty()
    }

    fn push(&mut self, column: ColumnId, ttl_s: u32, what: What<'a>) {
        self.pieces.push(Piece { column, ttl_s, what });
    }

    fn cell(&mut self, old: Option<&Cell<'_>>, new: &Cell<'a>, now_s: u32, left_above: Option<i64>) {
        let (column, stamp) = (new.column, new.stamp);
        match new.content {
            Content::Value(value) => {
                let is_same = old.is_some_and(|old| old.stamp == stamp && matches!(old.content, Content::Value(other) if other == value));
                if !is_same || left_above.is_some_and(|timestamp| stamp.timestamp > timestamp) {
                    self.push(column, stamp.ttl_s, What::Value(value));
                }
            }
            Content::Tombstone(_) => {
                let was_live = |old: &Cell<'_>| matches!(old.content, Content::Value(_)) && old.stamp.is_live(now_s);
                if old.is_none_or(|old| old.stamp.timestamp < stamp.timestamp || was_live(old)) {
                    self.push(column, 0, What::Deleted);
                }
            }
            Content::Complex(complex) => {
                let former = old.and_then(|old| if let Content::Complex(former) = old.content { Some(former) } else { None });
                self.complex(column, former.as_ref(), &complex, now_s, left_above);
            }
        }
    }

    fn complex(&mut self, column: ColumnId, old: Option<&Complex<'_>>, new: &Complex<'a>, now_s: u32, mut left_above: Option<i64>) {
        if new_deletion(old.and_then(|old| old.deletion), new.deletion).is_some() {
            self.push(column, 0, What::Deleted);
            left_above = left_above.or(Some(i64::MIN));
        }
        let former: HashMap<&[u8], Element<'_>> =
            old.map(Complex::elements).into_iter().flatten().map(|element| (element.path, element)).collect();
        for element in new.elements() {
            let old = former.get(element.path);
            match element.content {
                ElementContent::Value(value) => {
                    let is_same = |old: &&Element<'_>| {
                        old.stamp == element.stamp && matches!(old.content, ElementContent::Value(other) if other == value)
                    };
                    let is_left = left_above.is_some_and(|timestamp| element.stamp.timestamp > timestamp);
                    if is_left || old.filter(is_same).is_none() {
                        self.push(column, element.stamp.ttl_s, What::Element(element.path, value));
                    }
                }
                ElementContent::Tombstone(_) => {
                    let was_live = |old: &Element<'_>| matches!(old.content, ElementContent::Value(_)) && old.stamp.is_live(now_s);
                    if old.is_none_or(|old| old.stamp.timestamp < element.stamp.timestamp || was_live(old)) {
                        self.push(column, 0, What::DeletedElement(element.path));
                    }
                }
            }
        }
    }
}
