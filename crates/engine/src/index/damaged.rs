//! What the index names at places whose records are damaged: where it has them, and how it forgets them.

use super::{Index, SweepCursor};
use crate::location::{Location, Target};
use base::{Slot, TableId, Token};

/// A row that is damaged and whose keys the index has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DamagedRow {
    pub(crate) token: Token,
    pub(crate) partition: Vec<u8>,
    pub(crate) clustering: Vec<u8>,
}

impl Index {
    /// Whether a slot of a table names such a place, for a row or for a page; and how many places were looked at, up to the first such.
    pub(crate) fn names_in(&self, table: TableId, slot: Slot, is_it: &impl Fn(Location) -> bool) -> (bool, usize) {
        let Some(cells) = self.table(table).and_then(|table| table.slot(slot)) else { return (false, 0) };
        let mut seen = 0;
        for entry in cells.cells() {
            seen += 1;
            match entry.location.target() {
                Target::Partition(number) => {
                    let rows = &self.partitions.get(number).rows;
                    let pages = rows.pages().into_iter().flat_map(|pages| pages.locations());
                    for location in rows.leaves_from(&[]).flat_map(|(_, leaf)| leaf.locations().iter().copied()).chain(pages) {
                        seen += 1;
                        if is_it(location) {
                            return (true, seen);
                        }
                    }
                }
                _ if is_it(entry.location) => return (true, seen),
                _ => {}
            }
        }
        (false, seen)
    }

    /// Rows of wide partitions of a slot at such places.
    pub(crate) fn rows_at(&self, table: TableId, slot: Slot, is_it: &impl Fn(Location) -> bool) -> Vec<DamagedRow> {
        let mut found = Vec::new();
        for (tail, number) in self.partitions_in(table, slot) {
            let partition = self.partitions.get(number);
            for (_, leaf) in partition.rows.leaves_from(&[]) {
                for row in (0..leaf.len()).filter(|row| is_it(leaf.location(*row))) {
                    let token = Token::from_biased(slot.first_token().biased() | tail);
                    found.push(DamagedRow { token, partition: partition.key.to_vec(), clustering: leaf.key(row).to_vec() });
                }
            }
        }
        found
    }

    /// Forgets pages and rows alone in their partitions at such places of a slot.
    pub(crate) fn forget_at(&mut self, table: TableId, slot: Slot, is_it: &impl Fn(Location) -> bool) {
        for (_, number) in self.partitions_in(table, slot) {
            let Some(pages) = self.partitions.get(number).rows.pages() else { continue };
            let range = pages.range(std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
            let damaged = range.filter(|(_, page)| is_it(page.location));
            let ranges: Vec<(Vec<u8>, Vec<u8>)> = damaged.map(|(low, page)| (low.to_vec(), pages.high_of(low, page).to_vec())).collect();
            for (low, high) in ranges {
                self.replace_pages(table, number, (&low, &high), Vec::new(), |_| false);
            }
        }
        let mut budget = usize::MAX;
        self.sweep_slot(table, &mut SweepCursor::at(table, slot), is_it, &mut budget, &mut Vec::new());
    }

    /// The wide partitions of a slot, with the lower bits of their tokens.
    fn partitions_in(&self, table: TableId, slot: Slot) -> Vec<(u64, u32)> {
        let Some(cells) = self.table(table).and_then(|table| table.slot(slot)) else { return Vec::new() };
        let number = |entry: &super::Entry| match entry.location.target() {
            Target::Partition(number) => Some((entry.tail, number)),
            _ => None,
        };
        cells.cells().filter_map(number).collect()
    }
}
