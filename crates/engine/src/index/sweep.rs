//! Dropping the rows of segments in which everything has expired: a walk over the whole index, a bounded slice at a time.
//!
//! Rows come and go between slices: one that is written meanwhile is in another segment, so the walk need not see it.
//!
//! Invariant: a row that lies over a page stays, for the page may have an older version of it.

use super::lookup::Cell;
use super::partition::Partitions;
use super::slot::{Entry, SlotIndex};
use super::{Index, Table};
use crate::location::{Location, Target};
use base::{Slot, TableId};

/// How far a walk has come.
#[derive(Default)]
pub(crate) struct SweepCursor {
    table: Option<TableId>,
    slot: usize,
    /// The walk stopped inside of this partition.
    inside: Option<Inside>,
}

/// A place in a wide partition.
struct Inside {
    tail: u64,
    key: Box<[u8]>,
    /// Rows below this are done.
    row: Box<[u8]>,
}

impl SweepCursor {
    /// At the start of a slot.
    pub(super) fn at(table: TableId, slot: Slot) -> Self {
        Self { table: Some(table), slot: usize::from(slot.0), inside: None }
    }
}

impl Index {
    /// Drops the rows whose places `is_over` names, looking at about `budget` cells and rows more. Appends their places to `dropped`. False
    /// when nothing is left to look at.
    pub(crate) fn sweep(
        &mut self,
        cursor: &mut SweepCursor,
        is_over: &impl Fn(Location) -> bool,
        mut budget: usize,
        dropped: &mut Vec<Location>,
    ) -> bool {
        while budget > 0 {
            let next = self.tables.ids().filter(|id| cursor.table.is_none_or(|done| id.0 >= done.0)).min_by_key(|id| id.0);
            let Some(id) = next else { return false };
            if cursor.table != Some(id) {
                *cursor = SweepCursor { table: Some(id), ..SweepCursor::default() };
            }
            let Some(number) = self.table(id).and_then(|table: &Table| table.next_slot(cursor.slot)).map(|(number, _)| number) else {
                let Some(next) = id.0.checked_add(1) else { return false };
                *cursor = SweepCursor { table: Some(TableId(next)), ..SweepCursor::default() };
                continue;
            };
            if number != cursor.slot {
                (cursor.slot, cursor.inside) = (number, None);
            }
            self.sweep_slot(id, cursor, is_over, &mut budget, dropped);
        }
        true
    }

    pub(super) fn sweep_slot(
        &mut self,
        table: TableId,
        cursor: &mut SweepCursor,
        is_over: &impl Fn(Location) -> bool,
        budget: &mut usize,
        dropped: &mut Vec<Location>,
    ) {
        let from = cursor.inside.take();
        let first = from.as_ref().map_or(0, |inside| self.cells_done(table, cursor.slot, inside));
        let Self { tables, partitions, cell_bytes, records, .. } = self;
        let Some(table) = tables.get_mut(table) else { return };
        let Some(slot) = table.slot_existing(Slot(cursor.slot as u16)) else { return };
        let (count, dropped_before) = (slot.count(), dropped.len());
        *budget = budget.saturating_sub(count);
        let may_drop = |entry: &Entry| !entry.location.is_record() || is_over(entry.location);
        if slot.cells().any(may_drop) {
            let mut kept = Vec::with_capacity(count);
            let mut from = from;
            for (number, entry) in slot.cells().enumerate() {
                let stays = match entry.location.target() {
                    // Done before, or to be done in the next slice.
                    _ if number < first || cursor.inside.is_some() => true,
                    Target::Partition(number) => {
                        let same = |inside: &Inside| inside.key == partitions.get(number).key;
                        let row = from.take().filter(same).map(|inside| inside.row).unwrap_or_default();
                        cursor.inside = sweep_partition(partitions, entry.tail, number, row, is_over, budget, dropped);
                        !partitions.get(number).rows.is_empty()
                    }
                    _ if is_over(entry.location) => {
                        dropped.push(entry.location);
                        false
                    }
                    _ => true,
                };
                match entry.location.target() {
                    _ if stays => kept.push(*entry),
                    Target::Partition(number) => drop(partitions.remove(number)),
                    _ => {}
                }
            }
            if kept.len() < count {
                let bytes_before = slot.heap_bytes();
                *slot = if kept.is_empty() { SlotIndex::default() } else { SlotIndex::from_sorted(&kept) };
                *cell_bytes = *cell_bytes + slot.heap_bytes() - bytes_before;
            }
        }
        let rows = (dropped.len() - dropped_before) as u64;
        table.add_rows(-(rows as i64));
        *records -= rows;
        if cursor.inside.is_none() {
            cursor.slot += 1;
        }
    }

    /// How many cells of the slot are done.
    fn cells_done(&self, table: TableId, number: usize, inside: &Inside) -> usize {
        let Some(slot) = self.table(table).and_then(|table| table.slot(Slot(number as u16))) else { return 0 };
        let before = slot.cells().take_while(|entry| entry.tail < inside.tail).count();
        let Ok(position) = slot.find(inside.tail) else { return before };
        match slot.at(position).map(|entry| entry.location.target()) {
            Some(Target::Partition(_)) => match self.find_partition(slot, position, inside.tail, &inside.key) {
                Cell::Found(found) => before + found - position,
                Cell::Absent { rank } => before + rank,
            },
            _ => before,
        }
    }
}

/// Drops rows of one partition from `row` on; says where to go on if the budget is used up.
fn sweep_partition(
    partitions: &mut Partitions,
    tail: u64,
    number: u32,
    row: Box<[u8]>,
    is_over: &impl Fn(Location) -> bool,
    budget: &mut usize,
    dropped: &mut Vec<Location>,
) -> Option<Inside> {
    let next = partitions.change(number, |rows| rows.take_over(&row, budget, is_over, dropped));
    next.map(|row| Inside { tail, key: partitions.get(number).key.clone(), row })
}
