//! Reading a stored row in place.
//!
//! Rows come from the engine, which has verified their checksum, or from a writer of this module: a length that does not fit is our
//! bug, and slicing panics on it.

use super::{
    CELL_HEADER_BYTES, COMPLEX, COMPLEX_HEADER_BYTES, DELETION, Deletion, ELEMENT_HEADER_BYTES, EXPIRING, LIVENESS, OWN_EXPIRY,
    OWN_TIMESTAMP, ROW_HEADER_BYTES, Stamp, TOMBSTONE,
};
use crate::ColumnId;

/// A row in place.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    flags: u8,
    count: u16,
    shared: Stamp,
    deletion: Option<Deletion>,
    cells: &'a [u8],
}

/// One column's content.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// Which column.
    pub column: ColumnId,
    /// When it was written; of a complex cell meaningless.
    pub stamp: Stamp,
    /// What it holds.
    pub content: Content<'a>,
}

/// What a cell holds.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Wire bytes.
    Value(&'a [u8]),
    /// It was deleted at this time (seconds).
    Tombstone(u32),
    /// A cell for each element.
    Complex(Complex<'a>),
}

/// A collection or user type with a cell for each element.
#[derive(Clone, Copy, Debug)]
pub struct Complex<'a> {
    /// Hides elements written at or before it.
    pub deletion: Option<Deletion>,
    count: u32,
    shared: Stamp,
    elements: &'a [u8],
}

/// One element.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// A set's element, a map's key, a list's position, a user type's field number.
    pub path: &'a [u8],
    /// When it was written.
    pub stamp: Stamp,
    /// What it holds.
    pub content: ElementContent<'a>,
}

/// What an element holds.
#[derive(Clone, Copy, Debug)]
pub enum ElementContent<'a> {
    /// Wire bytes; empty for a set.
    Value(&'a [u8]),
    /// It was deleted at this time (seconds).
    Tombstone(u32),
}

/// A forward reader over trusted bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(length);
        self.0 = tail;
        head
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_first_chunk::<N>().expect("a stored row holds what its lengths say");
        self.0 = tail;
        *head
    }

    #[inline]
    fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    #[inline]
    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    #[inline]
    fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.array())
    }

    /// The stamp of a cell or element with these flags.
    #[inline]
    fn stamp(&mut self, flags: u8, shared: Stamp) -> Stamp {
        let mut stamp = shared;
        if flags & OWN_TIMESTAMP != 0 {
            stamp.timestamp = self.i64();
        }
        if flags & OWN_EXPIRY != 0 {
            stamp.ttl_s = self.u32();
            stamp.expires_at_s = self.u32();
        }
        stamp
    }
}

impl<'a> RowView<'a> {
    /// Reads the header of a stored row.
    ///
    /// # Panics
    /// When `bytes` is not a whole row.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        assert!(bytes.len() >= ROW_HEADER_BYTES);
        let mut reader = Reader(bytes);
        let flags = reader.u8();
        let _zero = reader.u8();
        let count = reader.u16();
        let mut shared = Stamp::at(reader.i64());
        if flags & EXPIRING != 0 {
            shared.ttl_s = reader.u32();
            shared.expires_at_s = reader.u32();
        }
        let deletion = (flags & DELETION != 0).then(|| Deletion { timestamp: reader.i64(), deleted_at_s: reader.u32() });
        Self { flags, count, shared, deletion, cells: reader.0 }
    }

    /// The stamp of the row itself when it was inserted: it exists without cells.
    #[inline]
    #[must_use]
    pub fn liveness(&self) -> Option<Stamp> {
        (self.flags & LIVENESS != 0).then_some(self.shared)
    }

    /// The stamp that cells without their own have.
    #[inline]
    #[must_use]
    pub fn shared(&self) -> Stamp {
        self.shared
    }

    /// The deletion that hides older writes.
    #[inline]
    #[must_use]
    pub fn deletion(&self) -> Option<Deletion> {
        self.deletion
    }

    /// The cells by ascending column id, live or not.
    #[inline]
    #[must_use]
    pub fn cells(&self) -> Cells<'a> {
        Cells { reader: Reader(self.cells), left: self.count, shared: self.shared }
    }

    /// The columns of the cells by ascending id, each with the value that a read at `now_s` sees if its cell is a simple one.
    #[inline]
    pub fn live_values(&self, now_s: u32) -> impl Iterator<Item = (ColumnId, Option<&'a [u8]>)> + use<'a> {
        self.cells().map(move |cell| (cell.column, cell.live_value(now_s)))
    }

    /// Whether a read at `now_s` sees the row: it was inserted and lives, or one of `columns`' cells does.
    #[must_use]
    pub fn is_live(&self, now_s: u32) -> bool {
        self.liveness().is_some_and(|stamp| stamp.is_live(now_s)) || self.cells().any(|cell| cell.is_live(now_s))
    }
}

/// Iterates over cells.
pub struct Cells<'a> {
    reader: Reader<'a>,
    left: u16,
    shared: Stamp,
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    #[inline]
    fn next(&mut self) -> Option<Cell<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let header = self.reader.array::<CELL_HEADER_BYTES>();
        let column = ColumnId(u16::from_le_bytes([header[0], header[1]]));
        let flags = header[2];
        let length = u32::from_le_bytes([header[3], header[4], header[5], header[6]]) as usize;
        if flags == 0 {
            return Some(Cell { column, stamp: self.shared, content: Content::Value(self.reader.take(length)) });
        }
        let stamp = self.reader.stamp(flags, self.shared);
        let content = if flags & TOMBSTONE != 0 {
            Content::Tombstone(self.reader.u32())
        } else if flags & COMPLEX != 0 {
            Content::Complex(Complex::new(self.reader.take(length), self.shared))
        } else {
            Content::Value(self.reader.take(length))
        };
        Some(Cell { column, stamp, content })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.left);
        (left, Some(left))
    }
}

impl<'a> Cell<'a> {
    /// Whether a read at `now_s` sees a value here.
    #[inline]
    #[must_use]
    pub fn is_live(&self, now_s: u32) -> bool {
        match self.content {
            Content::Value(_) => self.stamp.is_live(now_s),
            Content::Tombstone(_) => false,
            Content::Complex(complex) => complex.live(now_s).next().is_some(),
        }
    }

    /// The value a read at `now_s` sees in a simple cell.
    #[inline]
    #[must_use]
    pub fn live_value(&self, now_s: u32) -> Option<&'a [u8]> {
        match self.content {
            Content::Value(value) if self.stamp.is_live(now_s) => Some(value),
            _ => None,
        }
    }
}

impl<'a> Complex<'a> {
    fn new(bytes: &'a [u8], shared: Stamp) -> Self {
        assert!(bytes.len() >= COMPLEX_HEADER_BYTES);
        let mut reader = Reader(bytes);
        let timestamp = reader.i64();
        let deleted_at_s = reader.u32();
        let count = reader.u32();
        let deletion = (timestamp != i64::MIN).then_some(Deletion { timestamp, deleted_at_s });
        Self { deletion, count, shared, elements: reader.0 }
    }

    /// The elements by ascending path, live or not.
    #[must_use]
    pub fn elements(&self) -> Elements<'a> {
        Elements { reader: Reader(self.elements), left: self.count, shared: self.shared }
    }

    /// The elements a read at `now_s` sees, as path, value and stamp.
    pub fn live(&self, now_s: u32) -> impl Iterator<Item = (&'a [u8], &'a [u8], Stamp)> + use<'a> {
        self.elements().filter_map(move |element| match element.content {
            ElementContent::Value(value) if element.stamp.is_live(now_s) => Some((element.path, value, element.stamp)),
            _ => None,
        })
    }
}

/// Iterates over elements.
pub struct Elements<'a> {
    reader: Reader<'a>,
    left: u32,
    shared: Stamp,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let header = self.reader.array::<ELEMENT_HEADER_BYTES>();
        let flags = header[0];
        let path_length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let value_length = u32::from_le_bytes([header[5], header[6], header[7], header[8]]) as usize;
        let stamp = self.reader.stamp(flags, self.shared);
        let deleted_at_s = if flags & TOMBSTONE != 0 { Some(self.reader.u32()) } else { None };
        let path = self.reader.take(path_length);
        let value = self.reader.take(value_length);
        let content = deleted_at_s.map_or(ElementContent::Value(value), ElementContent::Tombstone);
        Some(Element { path, stamp, content })
    }
}
