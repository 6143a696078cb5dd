//! Writing a row's bytes.

use super::{
    COMPLEX, COMPLEX_HEADER_BYTES, DELETION, Deletion, EXPIRING, LIVENESS, OWN_EXPIRY, OWN_TIMESTAMP, ROW_HEADER_BYTES, Stamp, TOMBSTONE,
};
use crate::ColumnId;

/// What the engine needs to know of a row: whether there comes a time when nobody needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Something in it stays until it is overwritten.
    Lasting,
    /// Everything in it is deleted or will have expired at this time (seconds since the epoch), the time that deletions must be
    /// remembered not counted.
    Passing {
        /// The last expiry or deletion.
        gone_at_s: u32,
    },
}

/// Appends one row to a buffer. Cells must be given by ascending column id.
pub struct RowWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    shared: Stamp,
    count: u16,
    kind: RowKind,
}

impl RowKind {
    fn and_until(self, gone_at_s: u32) -> Self {
        match self {
            Self::Lasting => Self::Lasting,
            Self::Passing { gone_at_s: before } => Self::Passing { gone_at_s: before.max(gone_at_s) },
        }
    }

    fn and_stamp(self, stamp: Stamp) -> Self {
        if stamp.ttl_s == 0 { Self::Lasting } else { self.and_until(stamp.expires_at_s) }
    }
}

impl<'a> RowWriter<'a> {
    /// Starts a row. `shared` is the liveness's stamp when `liveness` is true, and that of cells given with an equal one.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, shared: Stamp, liveness: bool, deletion: Option<Deletion>) -> Self {
        let start = out.len();
        let mut flags = 0;
        let mut kind = RowKind::Passing { gone_at_s: 0 };
        if liveness {
            flags |= LIVENESS;
            kind = kind.and_stamp(shared);
        }
        if shared.ttl_s != 0 {
            flags |= EXPIRING;
        }
        if deletion.is_some() {
            flags |= DELETION;
        }
        let mut header = [0u8; ROW_HEADER_BYTES];
        header[0] = flags;
        header[4..12].copy_from_slice(&shared.timestamp.to_le_bytes());
        out.extend_from_slice(&header);
        if shared.ttl_s != 0 {
            out.extend_from_slice(&shared.ttl_s.to_le_bytes());
            out.extend_from_slice(&shared.expires_at_s.to_le_bytes());
        }
        if let Some(deletion) = deletion {
            out.extend_from_slice(&deletion.timestamp.to_le_bytes());
            out.extend_from_slice(&deletion.deleted_at_s.to_le_bytes());
            kind = kind.and_until(deletion.deleted_at_s);
        }
        Self { out, start, shared, count: 0, kind }
    }

    #[inline]
    fn header(&mut self, column: ColumnId, mut flags: u8, stamp: Stamp, length: usize) {
        let length = u32::try_from(length).expect("a value is far smaller than 4 GiB: frames are bounded");
        flags |= stamp_flags(stamp, self.shared, flags & TOMBSTONE != 0);
        let [column_low, column_high] = column.0.to_le_bytes();
        let [a, b, c, d] = length.to_le_bytes();
        self.out.extend_from_slice(&[column_low, column_high, flags, a, b, c, d]);
        write_stamp(self.out, flags, stamp);
        self.count = self.count.checked_add(1).expect("a table has at most 65,535 columns");
    }

    /// A cell with a value.
    #[inline]
    pub fn value(&mut self, column: ColumnId, stamp: Stamp, value: &[u8]) {
        self.header(column, 0, stamp, value.len());
        self.out.extend_from_slice(value);
        self.kind = self.kind.and_stamp(stamp);
    }

    /// A deleted cell.
    pub fn tombstone(&mut self, column: ColumnId, timestamp: i64, deleted_at_s: u32) {
        self.header(column, TOMBSTONE, Stamp::at(timestamp), 0);
        self.out.extend_from_slice(&deleted_at_s.to_le_bytes());
        self.kind = self.kind.and_until(deleted_at_s);
    }

    /// Starts a cell with elements; finish it with [`ComplexWriter::finish`].
    pub fn complex<'w>(&'w mut self, column: ColumnId, deletion: Option<Deletion>) -> ComplexWriter<'w, 'a> {
        self.header(column, COMPLEX, self.shared, 0);
        let start = self.out.len();
        let (timestamp, deleted_at_s) = deletion.map_or((i64::MIN, 0), |d| (d.timestamp, d.deleted_at_s));
        self.out.extend_from_slice(&timestamp.to_le_bytes());
        self.out.extend_from_slice(&deleted_at_s.to_le_bytes());
        self.out.extend_from_slice(&0u32.to_le_bytes());
        if deletion.is_some() {
            self.kind = self.kind.and_until(deleted_at_s);
        }
        ComplexWriter { row: self, start, count: 0 }
    }

    /// Ends the row.
    #[inline]
    pub fn finish(self) -> RowKind {
        self.out[self.start + 2..self.start + 4].copy_from_slice(&self.count.to_le_bytes());
        self.kind
    }

    /// How many cells there are so far.
    #[must_use]
    pub fn cell_count(&self) -> usize {
        usize::from(self.count)
    }
}

#[inline]
fn stamp_flags(stamp: Stamp, shared: Stamp, tombstone: bool) -> u8 {
    let mut flags = 0;
    if stamp.timestamp != shared.timestamp {
        flags |= OWN_TIMESTAMP;
    }
    if !tombstone && (stamp.ttl_s, stamp.expires_at_s) != (shared.ttl_s, shared.expires_at_s) {
        flags |= OWN_EXPIRY;
    }
    flags
}

#[inline]
fn write_stamp(out: &mut Vec<u8>, flags: u8, stamp: Stamp) {
    if flags & OWN_TIMESTAMP != 0 {
        out.extend_from_slice(&stamp.timestamp.to_le_bytes());
    }
    if flags & OWN_EXPIRY != 0 {
        out.extend_from_slice(&stamp.ttl_s.to_le_bytes());
        out.extend_from_slice(&stamp.expires_at_s.to_le_bytes());
    }
}

/// Appends the elements of one complex cell, by ascending path.
pub struct ComplexWriter<'w, 'a> {
    row: &'w mut RowWriter<'a>,
    start: usize,
    count: u32,
}

impl ComplexWriter<'_, '_> {
    fn header(&mut self, mut flags: u8, stamp: Stamp, path: &[u8], value_length: usize) {
        flags |= stamp_flags(stamp, self.row.shared, flags & TOMBSTONE != 0);
        let out = &mut *self.row.out;
        out.push(flags);
        for length in [path.len(), value_length] {
            let length = u32::try_from(length).expect("a value is far smaller than 4 GiB: frames are bounded");
            out.extend_from_slice(&length.to_le_bytes());
        }
        write_stamp(out, flags, stamp);
        self.count += 1;
    }

    /// An element with a value.
    pub fn value(&mut self, path: &[u8], stamp: Stamp, value: &[u8]) {
        self.header(0, stamp, path, value.len());
        self.row.out.extend_from_slice(path);
        self.row.out.extend_from_slice(value);
        self.row.kind = self.row.kind.and_stamp(stamp);
    }

    /// A deleted element.
    pub fn tombstone(&mut self, path: &[u8], timestamp: i64, deleted_at_s: u32) {
        self.header(TOMBSTONE, Stamp::at(timestamp), path, 0);
        self.row.out.extend_from_slice(&deleted_at_s.to_le_bytes());
        self.row.out.extend_from_slice(path);
        self.row.kind = self.row.kind.and_until(deleted_at_s);
    }

    /// Ends the cell.
    pub fn finish(self) {
        let count_at = self.start + 12;
        self.row.out[count_at..count_at + 4].copy_from_slice(&self.count.to_le_bytes());
        let length = (self.row.out.len() - self.start) as u32;
        assert!(length as usize >= COMPLEX_HEADER_BYTES);
        // The complex cell's header has no stamp of its own, so its length field ends where the value starts.
        self.row.out[self.start - 4..self.start].copy_from_slice(&length.to_le_bytes());
    }
}
