//! A batch of rows in the making: records as the log will have them, only sequence and checksum missing.
//!
//! The batch is a flat arena that is used again and again: after its first few uses nothing is allocated.

use crate::error::{ReceivedError, WriteError};
use crate::format::record::{self, FLAG_CONTINUES, FLAG_STARTS, Fields, HEADER_BYTES};
use crate::key::{Key, Kind};
use crate::location::padded;
use crate::received::ReceivedRows;
use crate::resident::is_resident;

/// A batch that was larger does not keep its memory for the next one.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Rows that are written together: after a crash all of them are there or none.
#[derive(Debug, Default)]
pub struct WriteBatch {
    bytes: Vec<u8>,
    /// Where the last record starts.
    last: usize,
    rows: usize,
    has_live: bool,
    has_resident: bool,
    /// Whether a row was begun and not ended.
    unfinished: bool,
}

impl WriteBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the batch and keeps its memory, up to a bound.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
        self.last = 0;
        self.rows = 0;
        self.has_live = false;
        self.has_resident = false;
        self.unfinished = false;
    }

    /// How many rows it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes it will take in the log.
    #[must_use]
    pub fn bytes_in_log(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has rows other than tombstones.
    pub(crate) fn has_live(&self) -> bool {
        self.has_live
    }

    /// Whether it has rows of tables that stay in memory.
    pub(crate) fn has_resident(&self) -> bool {
        self.has_resident
    }

    /// The rows as records without sequence and checksum: what another shard gets by [`WriteBatch::append_received`].
    ///
    /// # Panics
    /// When a row was begun and not ended: the caller's bug.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        assert!(!self.unfinished, "every row that was begun must be ended");
        &self.bytes
    }

    /// Adds a row.
    ///
    /// # Errors
    /// `KeyTooLong`; the batch is as before.
    pub fn put(&mut self, key: &Key<'_>, kind: Kind, row: &[u8]) -> Result<(), WriteError> {
        self.begin_row(key, kind)?.extend_from_slice(row);
        self.end_row();
        Ok(())
    }

    /// Adds a tombstone without content. A deletion is always a tombstone: older versions of the row may still be in the log.
    ///
    /// # Errors
    /// `KeyTooLong`; the batch is as before.
    pub fn remove(&mut self, key: &Key<'_>, purge_after_s: i64) -> Result<(), WriteError> {
        self.put(key, Kind::Tombstone { purge_after_s }, &[])
    }

    /// Starts a row whose bytes the caller appends to the buffer it gets; `end_row` must follow.
    ///
    /// The buffer has other rows before: only append.
    ///
    /// # Errors
    /// `KeyTooLong`; the batch is as before.
    pub fn begin_row(&mut self, key: &Key<'_>, kind: Kind) -> Result<&mut Vec<u8>, WriteError> {
        let length_of = |key: &[u8]| u16::try_from(key.len()).map_err(|_| WriteError::KeyTooLong { bytes: key.len() });
        let (partition_bytes, clustering_bytes) = (length_of(key.partition)?, length_of(key.clustering)?);
        let flags = record::kind_flags(kind) | self.join();
        self.count_row(kind);
        self.has_resident |= is_resident(key.table);
        let fields = Fields { length: HEADER_BYTES, flags, token: key.token, table: key.table, partition_bytes, clustering_bytes };
        record::push_header(&mut self.bytes, &fields, kind);
        self.bytes.extend_from_slice(key.partition);
        self.bytes.extend_from_slice(key.clustering);
        self.unfinished = true;
        Ok(&mut self.bytes)
    }

    /// Adds rows that another shard's batch had.
    ///
    /// # Errors
    /// `ReceivedError` when the bytes are no such rows; the batch is as before.
    pub fn append_received(&mut self, bytes: &[u8]) -> Result<(), ReceivedError> {
        let mut rows = ReceivedRows::new(bytes);
        let first = rows.next().transpose()?;
        // Most often there are no others, which would have to be good as well before anything is added.
        rows.clone().try_for_each(|row| row.map(|_| ()))?;
        for row in first.into_iter().chain(rows.flatten()) {
            let flags = record::kind_flags(row.kind) | self.join();
            self.count_row(row.kind);
            self.bytes.extend_from_slice(row.encoded);
            record::set_flags(&mut self.bytes[self.last..], flags);
        }
        Ok(())
    }

    /// The row that comes next belongs to the same group as those before it. Returns the flag that says whether it starts one.
    fn join(&mut self) -> u8 {
        if self.rows == 0 {
            return FLAG_STARTS;
        }
        let previous = &mut self.bytes[self.last..];
        let continued = record::Record::trusted(previous).flags() | FLAG_CONTINUES;
        record::set_flags(previous, continued);
        0
    }

    /// A row starts here.
    fn count_row(&mut self, kind: Kind) {
        self.last = self.bytes.len();
        self.rows += 1;
        self.has_live |= !matches!(kind, Kind::Tombstone { .. });
    }

    /// Ends the row that `begin_row` started.
    pub fn end_row(&mut self) {
        self.unfinished = false;
        let length = self.bytes.len() - self.last;
        // A batch beyond 4 GiB wraps here and is refused by its size before anybody reads the length.
        record::set_length(&mut self.bytes[self.last..], length);
        self.bytes.resize(self.last + padded(length), 0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::{TableId, Token};

    #[test]
    fn a_large_row_does_not_keep_its_memory() {
        let mut batch = WriteBatch::new();
        let key = Key { table: TableId(1), token: Token(1), partition: b"k", clustering: b"" };
        batch.put(&key, Kind::Live, &vec![7; 4 * KEPT_BYTES_MAX]).unwrap();
        batch.clear();
        assert!(batch.bytes.capacity() <= KEPT_BYTES_MAX, "{} bytes are kept", batch.bytes.capacity());
    }
}
