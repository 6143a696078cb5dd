//! Writes that are kept for a backup until it takes them, up to a bound.

use base::{SLOT_COUNT, Slot, TableId};
use engine::WriteBatch;
use std::collections::BTreeSet;

/// What is kept of writes for a backup.
pub(crate) struct Kept {
    tables: BTreeSet<TableId>,
    /// Tables that were made since: nothing of theirs was there to scan.
    new_tables: BTreeSet<TableId>,
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
    pub(crate) fn new(tables: BTreeSet<TableId>, bytes_max: usize) -> Self {
        let begun = Box::new([false; SLOT_COUNT as usize]);
        Self { tables, new_tables: BTreeSet::new(), begun, rows: WriteBatch::new(), bytes_max, fault: None }
    }

    /// The scan of a slot begins.
    pub(crate) fn begin_slot(&mut self, slot: Slot) {
        self.begun[usize::from(slot.0)] = true;
    }

    /// Tables as they are from now on.
    pub(crate) fn set_tables(&mut self, tables: impl Iterator<Item = TableId>) {
        self.new_tables.extend(tables.filter(|table| !self.tables.contains(table)));
    }

    /// Appends what was kept since the last call.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) -> Result<(), KeptFault> {
        self.fault.map_or(Ok(()), Err)?;
        out.extend_from_slice(self.rows.bytes());
        self.rows.clear();
        Ok(())
    }

    pub(crate) fn fault(&self) -> Option<KeptFault> {
        self.fault
    }

    /// A table is emptied.
    pub(crate) fn truncated(&mut self, table: TableId) {
        if self.tables.contains(&table) || self.new_tables.contains(&table) {
            self.fault = Some(KeptFault::Truncated);
        }
    }

    /// Whether rows of this table are kept in this slot.
    pub(crate) fn keeps(&self, table: TableId, slot: Slot) -> bool {
        (self.begun[usize::from(slot.0)] && self.tables.contains(&table)) || self.new_tables.contains(&table)
    }

    /// A group was written.
    pub(crate) fn wrote(&mut self, batch: &WriteBatch) {
        for row in batch.rows() {
            if self.fault.is_some() || !self.keeps(row.key.table, row.key.token.slot()) {
                continue;
            }
            if self.rows.bytes_in_log() + row.encoded.len() > self.bytes_max || self.rows.put(&row.key, row.kind, row.row).is_err() {
                self.rows.clear();
                self.fault = Some(KeptFault::TooMuch { bytes_max: self.bytes_max });
            }
        }
    }
}
