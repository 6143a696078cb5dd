//! A shard's part in a backup: which writes are kept for it, and the pause that makes its end one moment on all shards.
//!
//! While a backup runs, each row that is written in a slot whose scan has begun is kept for the backup as it is written. The backup takes what is kept
//! before each chunk of a scan, so of two images of a row the later one is the row. Rows of slots whose scan has not begun are seen by that scan.
//!
//! A paused shard runs no operation: all are parked. What it has written before the pause is before the cut, and nobody sees a later write before the
//! pause ends.
//!
//! Invariants: where rows are kept no delta is written, so each row that is kept is whole; deltas from before are in the rows that the scan sees, which merges them
//! first. A shard without a backup pays one test for each operation, and one for each that writes.

use crate::Shard;
use crate::kept::{Kept, KeptFault};
use crate::replicated::SCANNER;
use crate::shard::Pause;
use base::{Slot, TableId};
use std::collections::BTreeSet;

/// The number by which the shard knows the scan of a backup: see [`Shard::scan_slot`].
pub const BACKUP_SCAN: u32 = u32::MAX - 16;

impl Shard {
    /// Keeps rows of these tables for a backup from now on, of slots for which [`Shard::keep_slot`] was called; at most so many bytes at a time.
    pub fn keep_writes(&mut self, tables: BTreeSet<TableId>, bytes_max: usize) {
        self.kept = Some(Box::new(Kept::new(tables, bytes_max)));
    }

    /// The scan of a slot begins.
    pub fn keep_slot(&mut self, slot: Slot) {
        if let Some(kept) = &mut self.kept {
            kept.begin_slot(slot);
        }
    }

    /// The backup's tables as they are from now on: rows of those that are new are kept in all slots.
    pub fn keep_new_tables(&mut self, tables: impl Iterator<Item = TableId>) {
        if let Some(kept) = &mut self.kept {
            kept.set_tables(tables);
        }
    }

    /// Appends what was kept since the last call.
    ///
    /// # Errors
    /// When it is not everything: the backup is over.
    pub fn take_kept(&mut self, out: &mut Vec<u8>) -> Result<(), KeptFault> {
        self.kept.as_mut().map_or(Ok(()), |kept| kept.take(out))
    }

    /// Why what is kept is not everything.
    #[must_use]
    pub fn kept_fault(&self) -> Option<KeptFault> {
        self.kept.as_ref()?.fault()
    }

    /// Whether a scan that had to wait may go on, told once.
    pub fn take_scan_ready(&mut self, number: u32) -> bool {
        let waiter = SCANNER | u64::from(number);
        let before = self.waiters.ready.len();
        self.waiters.ready.retain(|ready| *ready != waiter);
        self.waiters.ready.len() < before
    }

    /// A scan is given up.
    pub fn end_scan(&mut self, number: u32) {
        self.forget_scan(number);
    }

    /// Keeps nothing any more.
    pub fn end_keeping(&mut self) {
        self.kept = None;
    }

    /// From now on operations are parked instead of run.
    pub fn pause(&mut self) {
        self.pause = Pause::Paused;
    }

    /// Operations run again: those that were parked in the next turns.
    pub fn resume(&mut self) {
        if self.pause == Pause::Paused {
            self.pause = Pause::Resuming;
        }
    }

    /// Whether an operation would be refused now because the lease is over.
    #[must_use]
    pub fn is_leased(&self, now_us: u64) -> bool {
        self.replication.as_ref().is_none_or(|replication| replication.is_leased_at(now_us))
    }
}
