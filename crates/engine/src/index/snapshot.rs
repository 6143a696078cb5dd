//! The index as a stream of entries, a bounded slice at a time, in the order of table, slot, token and key.
//!
//! Rows change between slices. A checkpoint is fuzzy: every entry is right for the moment at which it was taken, which the stamp before
//! it names, and recovery applies what was appended since the first of those moments.
//!
//! Invariant: a row that is in the index from the first slice to the last is in the stream, under its place at some moment between.

use super::lookup::Cell;
use super::slot::SlotIndex;
use super::{Index, Partition, Table};
use crate::format::checkpoint::{Item, write_cells, write_pages, write_rows};
use crate::location::{Location, Target};
use base::TableId;

/// Cells in an entry at most.
const CELLS_MAX: usize = 4096;

/// How far a walk over the index has come.
#[derive(Default)]
pub(crate) struct SnapshotCursor {
    table: Option<TableId>,
    slot: usize,
    /// Cells of the slot with lower tails are done.
    tail: u64,
    /// Of the partitions with this tail, those with lower keys are done.
    key: Option<Box<[u8]>>,
    /// Of the partition with this key, rows below this bound are done.
    row: Option<Box<[u8]>>,
    /// All single rows of that partition are done, and so are its pages below this bound.
    page: Option<Box<[u8]>>,
    /// Single rows given out.
    pub(crate) rows: u64,
}

impl SnapshotCursor {
    fn next_slot(&mut self, slot: usize) {
        (self.slot, self.tail, self.key, self.row, self.page) = (slot, 0, None, None, None);
    }

    /// The partition with this key is done.
    fn after_partition(&mut self, tail: u64, key: &[u8]) {
        // The least key after it.
        let mut next = key.to_vec();
        next.push(0);
        (self.tail, self.key, self.row, self.page) = (tail, Some(next.into()), None, None);
    }
}

impl Index {
    /// Appends the next entries until `out` is `budget` bytes long, or longer by one entry. `device` gives a record's place on the device.
    /// False when nothing is left.
    pub(crate) fn snapshot(
        &self,
        cursor: &mut SnapshotCursor,
        device: &impl Fn(Location) -> Location,
        out: &mut Vec<u8>,
        budget: usize,
    ) -> bool {
        while out.len() < budget {
            let next = self.tables.ids().filter(|id| cursor.table.is_none_or(|done| id.0 >= done.0)).min_by_key(|id| id.0);
            let Some(id) = next else { return false };
            if cursor.table != Some(id) {
                cursor.table = Some(id);
                cursor.next_slot(0);
            }
            let Some((number, slot)) = self.table(id).and_then(|table: &Table| table.next_slot(cursor.slot)) else {
                let Some(next) = id.0.checked_add(1) else { return false };
                cursor.table = Some(TableId(next));
                cursor.next_slot(0);
                continue;
            };
            if number != cursor.slot {
                cursor.next_slot(number);
            }
            Item::Table(id).encode(out);
            // At least one step, however small the budget is.
            loop {
                self.snapshot_slot(cursor, slot, device, out, budget);
                if out.len() >= budget || cursor.slot != number {
                    break;
                }
            }
        }
        true
    }

    /// Where in the slot the walk goes on.
    fn resume(&self, cursor: &SnapshotCursor, slot: &SlotIndex) -> usize {
        let first = slot.find(cursor.tail).unwrap_or_else(|position| position);
        let Some(key) = &cursor.key else { return first };
        match slot.at(first).filter(|entry| entry.tail == cursor.tail).map(|entry| entry.location.target()) {
            Some(Target::Partition(_)) => match self.find_partition(slot, first, cursor.tail, key) {
                Cell::Found(position) => position,
                Cell::Absent { rank, .. } => first + rank,
            },
            _ => first,
        }
    }

    /// Appends a run of cells that name records, or a part of a partition.
    fn snapshot_slot(
        &self,
        cursor: &mut SnapshotCursor,
        slot: &SlotIndex,
        device: &impl Fn(Location) -> Location,
        out: &mut Vec<u8>,
        budget: usize,
    ) {
        let mut position = self.resume(cursor, slot);
        let Some((at, entry)) = slot.next_from(position) else { return cursor.next_slot(cursor.slot + 1) };
        if let Target::Partition(number) = entry.location.target() {
            return self.snapshot_partition(cursor, entry.tail, number, device, out, budget);
        }
        position = at;
        let mut count = 0;
        write_cells(out, cursor.slot as u32, |out| {
            while count < CELLS_MAX
                && (count == 0 || out.len() < budget)
                && let Some((at, entry)) = slot.next_from(position).filter(|(_, entry)| entry.location.is_record())
            {
                out.extend_from_slice(&entry.tail.to_le_bytes());
                out.extend_from_slice(&device(entry.location).word().to_le_bytes());
                cursor.tail = entry.tail + 1;
                position = at + 1;
                count += 1;
            }
        });
        (cursor.key, cursor.row, cursor.page) = (None, None, None);
        cursor.rows += count as u64;
    }

    fn snapshot_partition(
        &self,
        cursor: &mut SnapshotCursor,
        tail: u64,
        number: u32,
        device: &impl Fn(Location) -> Location,
        out: &mut Vec<u8>,
        budget: usize,
    ) {
        let partition = self.partitions.get(number);
        let goes_on = cursor.tail == tail && cursor.key.as_deref() == Some(&*partition.key);
        let from = cursor.row.take().filter(|_| goes_on);
        let from_page = cursor.page.take().filter(|_| goes_on);
        if let Some(low) = from_page {
            return self.snapshot_pages(cursor, tail, partition, low, device, out, budget);
        }
        if from.is_none() {
            Item::Partition { slot: cursor.slot as u32, tail, key: &partition.key }.encode(out);
        }
        let mut leaves = partition.rows.leaves_from(from.as_deref().unwrap_or_default()).peekable();
        while let Some((bound, leaf)) = leaves.next() {
            let (bound, first) = match &from {
                Some(from) if **from > *bound => (&**from, leaf.search(from).unwrap_or_else(|row| row)),
                _ => (bound, 0),
            };
            if leaf.len() > first {
                write_rows(out, |out| leaf.encode(bound, first, device, out));
                cursor.rows += (leaf.len() - first) as u64;
            }
            if out.len() >= budget
                && let Some((next, _)) = leaves.peek()
            {
                (cursor.tail, cursor.key, cursor.row) = (tail, Some(partition.key.clone()), Some((*next).into()));
                return;
            }
        }
        self.snapshot_pages(cursor, tail, partition, Box::default(), device, out, budget);
    }

    /// Appends the pages of a partition from `low` on.
    #[expect(clippy::too_many_arguments, reason = "where it is, what there is, and where it goes")]
    fn snapshot_pages(
        &self,
        cursor: &mut SnapshotCursor,
        tail: u64,
        partition: &Partition,
        low: Box<[u8]>,
        device: &impl Fn(Location) -> Location,
        out: &mut Vec<u8>,
        budget: usize,
    ) {
        let mut next = partition.rows.pages().map(|pages| (pages, low));
        while let Some((pages, low)) = next {
            let mut more = None;
            write_pages(out, |out| more = pages.encode(&low, device, out));
            if out.len() >= budget
                && let Some(low) = more
            {
                (cursor.tail, cursor.key, cursor.row) = (tail, Some(partition.key.clone()), None);
                cursor.page = Some(low.into());
                return;
            }
            next = more.map(|low| (pages, low.into()));
        }
        cursor.after_partition(tail, &partition.key);
    }
}
