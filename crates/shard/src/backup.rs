//! A shard's part in a backup: which writes are kept for it, and the pause that makes its end one moment on all shards.
//!
//! While a backup runs, each row that is written in a slot whose scan has begun is kept for the backup as it is written. The backup takes what is kept
//! before each chunk of a scan, so of two images of a row the later one is the row. Rows of slots whose scan has not begun are seen by that scan.
//!
//! A paused shard runs no operation: all are parked. What it has written before the pause is before the cut, and nobody sees a later write before the
//! pause ends.
//!
//! Invariants: while rows are kept no delta is written, so each row that is kept is whole. A shard without a backup pays one test for each operation,
//! and one for each that writes.

use crate::Shard;
use base::{SLOT_COUNT, Slot, TableId};
use engine::WriteBatch;
use std::collections::BTreeSet;

/// The number by which the shard knows the scan of a backup: see [`Shard::scan_slot`].
pub const BACKUP_SCAN: u32 = u32::MAX - 16;

/// What is kept of writes for a backup.
pub(crate) struct Kept {
    tables: BTreeSet<TableId>,
    /// One for each slot: whether its scan has begun.
    begun: Box<[bool; SLOT_COUNT as usize]>,
    rows: WriteBatch,
    bytes_max: usize,
    fault: Option<KeptFault>,
}

/// Why what was kept is not all that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptFault {
    /// Nobody has taken it in time.
    #[error(
        "writers were faster than the backup: {bytes_max} bytes of changed rows waited on a core; give `--buffer` more, or the backup a faster target"
    )]
    TooMuch {
        /// The bound.
        bytes_max: usize,
    },
    /// A table was emptied.
    #[error("a table of the backup was truncated while it ran; start it again")]
    Truncated,
}

impl Kept {
    fn wrote(&mut self, batch: &WriteBatch) {
        for row in batch.rows() {
            let slot = row.key.token.slot();
            if !self.begun[usize::from(slot.0)] || !self.tables.contains(&row.key.table) || self.fault.is_some() {
                continue;
            }
            if self.rows.bytes_in_log() + row.encoded.len() > self.bytes_max || self.rows.put(&row.key, row.kind, row.row).is_err() {
                self.rows.clear();
                self.fault = Some(KeptFault::TooMuch { bytes_max: self.bytes_max });
            }
        }
    }
}

impl Shard {
    /// Keeps rows of these tables for a backup from now on, of slots for which [`Shard::keep_slot`] was called; at most so many bytes at a time.
    pub fn keep_writes(&mut self, tables: BTreeSet<TableId>, bytes_max: usize) {
        let begun = Box::new([false; SLOT_COUNT as usize]);
        self.kept = Some(Box::new(Kept { tables, begun, rows: WriteBatch::new(), bytes_max, fault: None }));
    }

    /// The scan of a slot begins.
    pub fn keep_slot(&mut self, slot: Slot) {
        if let Some(kept) = &mut self.kept {
            kept.begun[usize::from(slot.0)] = true;
        }
    }

    /// Takes what was kept since the last call.
    ///
    /// # Errors
    /// When it is not everything: the backup is over.
    pub fn take_kept(&mut self, out: &mut Vec<u8>) -> Result<(), KeptFault> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        if let Some(fault) = kept.fault {
            return Err(fault);
        }
        out.extend_from_slice(kept.rows.bytes());
        kept.rows.clear();
        Ok(())
    }

    /// Why what is kept is not everything.
    #[must_use]
    pub fn kept_fault(&self) -> Option<KeptFault> {
        self.kept.as_ref()?.fault
    }

    /// A scan is given up.
    pub fn end_scan(&mut self, number: u32) {
        self.forget_scan(number);
    }

    /// Keeps nothing any more.
    pub fn end_keeping(&mut self) {
        self.kept = None;
    }

    /// Whether operations are parked instead of run.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Whether an operation would be refused now because the lease is over.
    #[must_use]
    pub fn is_leased(&self, now_us: u64) -> bool {
        self.replication.as_ref().is_none_or(|replication| replication.is_leased_at(now_us))
    }

    /// A group was written.
    #[inline]
    pub(crate) fn keep(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.wrote(&self.run.batch);
        }
    }

    /// A table is emptied.
    pub(crate) fn keep_truncation(&mut self, table: TableId) {
        if let Some(kept) = &mut self.kept
            && kept.tables.contains(&table)
        {
            kept.fault = Some(KeptFault::Truncated);
        }
    }
}
