//! The index from the entries of a checkpoint: a slot at a time from cells that come sorted, leaves as they were.
//!
//! Cells that name records have no hash of their key (`UNKNOWN_HASH`): the first record of their token in the log after the checkpoint
//! has the same key, see `docs/decisions/0006-checkpoints.md`.
//!
//! Invariant: entries that are not in order are refused; nothing here trusts the stream beyond that the caller's `keep` has accepted
//! its locations.

use super::leaf::Leaf;
use super::pages::PageMap;
use super::partition::Partition;
use super::slot::{Entry, SlotIndex};
use super::{Candidate, Index, TAIL_BITS, TAIL_MASK};
use crate::format::checkpoint::{CELL_BYTES, Malformed};
use crate::location::Location;
use base::{SLOT_COUNT, Slot, TableId, Token};

/// What becomes of a location in the stream: kept, or left out as its segment has been used anew since.
pub(crate) type Kept = Result<bool, Malformed>;

/// A partition whose rows are still coming.
struct Coming {
    tail: u64,
    partition: Partition,
}

/// The slot that is being gathered.
#[derive(Default)]
pub(crate) struct Restore {
    table: Option<TableId>,
    /// The slot of the table; all before are done.
    slot: u32,
    cells: Vec<Entry>,
    coming: Option<Coming>,
    rows: u64,
    /// Tails and keys must grow.
    last: Option<(u64, Option<Box<[u8]>>)>,
}

impl Index {
    /// The next entries are of this table.
    pub(crate) fn restore_table(&mut self, restore: &mut Restore, table: TableId) -> Result<(), Malformed> {
        if restore.table == Some(table) {
            return Ok(());
        }
        if restore.table.is_some_and(|before| before.0 >= table.0) {
            return Err(Malformed);
        }
        self.restore_slot(restore)?;
        (restore.table, restore.slot, restore.last) = (Some(table), 0, None);
        Ok(())
    }

    fn restore_reach(&mut self, restore: &mut Restore, slot: u32) -> Result<(), Malformed> {
        if slot != restore.slot {
            if slot < restore.slot || slot >= SLOT_COUNT {
                return Err(Malformed);
            }
            self.restore_slot(restore)?;
            (restore.slot, restore.last) = (slot, None);
        }
        self.restore_partition_end(restore);
        Ok(())
    }

    /// Cells that name records.
    pub(crate) fn restore_cells(
        &mut self,
        restore: &mut Restore,
        slot: u32,
        cells: &[u8],
        mut keep: impl FnMut(Location) -> Kept,
    ) -> Result<(), Malformed> {
        self.restore_reach(restore, slot)?;
        let mut last = restore.last.take().map(|(tail, _)| tail);
        restore.cells.reserve(cells.len() / CELL_BYTES);
        for cell in cells.chunks_exact(CELL_BYTES) {
            let (tail, location) = cell.split_at(8);
            let word = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().expect("a cell has two words"));
            let (tail, location) = (word(tail), Location::from_word(word(location)));
            if tail > TAIL_MASK || last.is_some_and(|last| last >= tail) {
                return Err(Malformed);
            }
            last = Some(tail);
            if keep(location)? {
                restore.cells.push(Entry { tail, location });
                restore.rows += 1;
            }
        }
        restore.last = last.map(|tail| (tail, None));
        Ok(())
    }

    /// A partition, whose rows come next.
    pub(crate) fn restore_partition(&mut self, restore: &mut Restore, slot: u32, tail: u64, key: &[u8]) -> Result<(), Malformed> {
        self.restore_reach(restore, slot)?;
        let follows = match &restore.last {
            None => true,
            Some((last, Some(before))) if *last == tail => **before < *key,
            Some((last, _)) => *last < tail,
        };
        if tail > TAIL_MASK || !follows {
            return Err(Malformed);
        }
        restore.last = Some((tail, Some(key.into())));
        restore.coming = Some(Coming { tail, partition: Partition::new(key) });
        Ok(())
    }

    /// A leaf of the last partition.
    pub(crate) fn restore_rows(&self, restore: &mut Restore, bytes: &[u8], keep: impl FnMut(Location) -> Kept) -> Result<(), Malformed> {
        let Coming { partition, .. } = restore.coming.as_mut().ok_or(Malformed)?;
        let (bound, leaf) = Leaf::decode(bytes, keep)?;
        restore.rows += leaf.len() as u64;
        if leaf.len() > 0 { partition.rows.append(bound, leaf) } else { Ok(()) }
    }

    /// Pages of the last partition, after its leaves.
    pub(crate) fn restore_pages(
        &self,
        restore: &mut Restore,
        bytes: &[u8],
        mut keep: impl FnMut(Location) -> Kept,
    ) -> Result<(), Malformed> {
        let Coming { partition, .. } = restore.coming.as_mut().ok_or(Malformed)?;
        for page in PageMap::decode(bytes)? {
            if keep(page.location)? {
                restore.rows += u64::from(page.rows);
                partition.rows.append_page(page)?;
            }
        }
        Ok(())
    }

    fn restore_partition_end(&mut self, restore: &mut Restore) {
        // Without rows it is gone: all of them have been purged or are further on in the log.
        let Some(Coming { tail, partition }) = restore.coming.take().filter(|coming| !coming.partition.rows.is_empty()) else { return };
        let bounds: Vec<Box<[u8]>> = partition.rows.leaves_from(&[]).map(|(bound, _)| bound.into()).collect();
        let number = self.partitions.insert(partition);
        restore.cells.push(Entry { tail, location: Location::partition(number) });
        // All leaves but the last one may be worth pages.
        if let Some(table) = restore.table
            && let Some((_, filled)) = bounds.split_last()
        {
            let token = Token::from_biased(u64::from(restore.slot) << TAIL_BITS | tail);
            self.candidates.extend(filled.iter().map(|key| Candidate { table, token, number, key: key.clone(), purge: false }));
        }
    }

    /// Makes the slot of the cells gathered.
    pub(crate) fn restore_slot(&mut self, restore: &mut Restore) -> Result<(), Malformed> {
        self.restore_partition_end(restore);
        if restore.cells.is_empty() {
            return Ok(());
        }
        let table = restore.table.and_then(|table| self.tables.get_mut(table)).ok_or(Malformed)?;
        let (slot, page_bytes) = table.slot_mut(Slot(restore.slot as u16));
        *slot = SlotIndex::from_sorted(&restore.cells);
        self.cell_bytes += page_bytes + slot.heap_bytes();
        table.add_rows(restore.rows as i64);
        self.records += restore.rows;
        restore.cells.clear();
        restore.rows = 0;
        Ok(())
    }
}
