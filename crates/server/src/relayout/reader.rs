//! Reads one former core's shard, slot by slot, and gives its rows to the new cores.
//!
//! Rows that not all replicas have yet come once more at the end: so one sequence divides the rows of each new core.

use super::error::RelayoutError;
use super::progress::Progress;
use super::store::Store;
use base::{SLOT_COUNT, Slot, TableId};
use engine::{Sequence, WriteBatch};
use io_linux::BlockingDisk;
use model::operation::batch_log;
use shard::{Chunk, ShardError, SlotScan};
use std::collections::BTreeSet;
use std::sync::mpsc::SyncSender;

/// Rows travel in batches of about this size, each a group in the log.
const BATCH_BYTES: usize = 256 << 10;
/// So many bytes of rows that others may lack are kept for the end; if there are more, nobody knows which they were.
const LATE_BYTES_MAX: usize = 64 << 20;
/// The scan's number at the shard.
const SCAN: u32 = 1;

/// Rows for a new core.
pub(super) enum Rows {
    /// All of a slot.
    All(Vec<u8>),
    /// Those again that not all replicas have.
    Late(Vec<u8>),
    /// Which of the rows all replicas have is not known.
    AllMayBeLate,
}

/// One former core's reader.
pub(super) struct Reader<'a> {
    pub(super) core: u16,
    pub(super) former_cores: u16,
    pub(super) tables: &'a BTreeSet<TableId>,
    /// Up to this sequence all replicas have the rows.
    pub(super) committed: Option<u64>,
    pub(super) writers: Vec<SyncSender<Rows>>,
    pub(super) progress: &'a Progress,
}

impl Reader<'_> {
    /// Copies everything.
    pub(super) fn copy(&self, store: &mut Store) -> Result<(), RelayoutError> {
        let mut pending = WriteBatch::new();
        let mut target = 0;
        for slot in (0..SLOT_COUNT as u16).map(Slot).filter(|slot| slot.core(self.former_cores).0 == self.core) {
            let core = usize::from(slot.core(self.writers.len() as u16).0);
            if core != target {
                self.send(target, &mut pending)?;
                target = core;
            }
            self.copy_slot(store, slot, target, &mut pending)?;
            self.progress.slot_done();
            if self.progress.has_failed() {
                return Err(RelayoutError::GivenUp);
            }
        }
        self.send(target, &mut pending)?;
        self.copy_late(store)?;
        Ok(())
    }

    fn copy_slot(&self, store: &mut Store, slot: Slot, target: usize, pending: &mut WriteBatch) -> Result<(), RelayoutError> {
        let mut scan = SlotScan::new(self.copied_tables(), slot);
        let mut chunk = WriteBatch::new();
        loop {
            let step = store.shard.scan_slot(BlockingDisk::now(), SCAN, &mut scan, BATCH_BYTES, &mut chunk);
            if scan.damaged() > 0 {
                return Err(RelayoutError::Damaged { core: self.core, places: scan.damaged() });
            }
            // A row may be as large as a batch can be.
            if pending.bytes_in_log() + chunk.bytes_in_log() > BATCH_BYTES {
                self.send(target, pending)?;
            }
            if !chunk.is_empty() {
                pending.append_received(chunk.bytes()).expect("rows of a batch are rows");
                chunk.clear();
            }
            match step.map_err(|error| self.unreadable(error))? {
                Chunk::More => {}
                Chunk::End => return Ok(()),
                Chunk::Waits => self.wait(store)?,
            }
        }
    }

    /// Gives the rows that not all replicas have, once more.
    fn copy_late(&self, store: &mut Store) -> Result<(), RelayoutError> {
        let Some(committed) = self.committed else { return self.all_may_be_late() };
        let mut walk = store.shard.tail_walk(self.copied_tables(), Sequence(committed));
        let (mut bytes, mut chunk) = (0, WriteBatch::new());
        loop {
            let step = store.shard.tail_images(BlockingDisk::now(), SCAN, &mut walk, &|_, _| true, BATCH_BYTES, &mut chunk);
            // Rows of one call are of one slot.
            let slot = chunk.rows().next().map(|row| row.key.token.slot());
            if let Some(slot) = slot {
                let target = slot.core(self.writers.len() as u16).0;
                bytes += chunk.bytes_in_log();
                if bytes > LATE_BYTES_MAX {
                    return self.all_may_be_late();
                }
                self.give(usize::from(target), Rows::Late(chunk.bytes().to_vec()))?;
                chunk.clear();
            }
            match step.map_err(|error| self.unreadable(error))? {
                Chunk::More => {}
                Chunk::End => return Ok(()),
                Chunk::Waits => self.wait(store)?,
            }
        }
    }

    fn all_may_be_late(&self) -> Result<(), RelayoutError> {
        (0..self.writers.len()).try_for_each(|target| self.give(target, Rows::AllMayBeLate))
    }

    /// Tables with rows that are the truth: what is kept beside a table is merged with its rows.
    fn copied_tables(&self) -> impl Iterator<Item = TableId> + '_ {
        self.tables.iter().flat_map(|table| [*table, batch_log(*table)])
    }

    fn wait(&self, store: &mut Store) -> Result<(), RelayoutError> {
        store.turn_until(|shard| shard.take_scans_ready().any(|number| number == SCAN));
        match store.shard.engine().poisoned() {
            Some(_) => Err(self.unreadable(ShardError::Poisoned)),
            None => Ok(()),
        }
    }

    fn unreadable(&self, error: ShardError) -> RelayoutError {
        RelayoutError::Shard { core: self.core, done: "read", error }
    }

    fn send(&self, target: usize, pending: &mut WriteBatch) -> Result<(), RelayoutError> {
        if pending.is_empty() {
            return Ok(());
        }
        self.progress.copied(pending.len() as u64, pending.bytes_in_log() as u64);
        self.give(target, Rows::All(pending.bytes().to_vec()))?;
        pending.clear();
        Ok(())
    }

    fn give(&self, target: usize, rows: Rows) -> Result<(), RelayoutError> {
        self.writers[target].send(rows).map_err(|_| RelayoutError::GivenUp)
    }
}
