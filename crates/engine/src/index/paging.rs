//! Partitions whose rows move to pages and back into view: what the index knows of it.

use super::lookup::{Cell, tail};
use super::pages::NewPage;
use super::{Candidate, Index, Partition};
use crate::key::Key;
use crate::location::{Location, Target};
use base::{TableId, Token};

/// Where a partition with an ordered map is.
#[derive(Clone, Copy)]
struct Held {
    /// Position of its cell in the slot.
    position: usize,
    number: u32,
}

impl Index {
    fn held(&self, table: TableId, token: Token, partition: &[u8]) -> Option<Held> {
        let slot = self.table(table)?.slot(token.slot())?;
        let tail = tail(token);
        let first = slot.find(tail).ok()?;
        if slot.at(first)?.location.is_record() {
            return None;
        }
        let Cell::Found(position) = self.find_partition(slot, first, tail, partition) else { return None };
        let Target::Partition(number) = slot.at(position)?.location.target() else { return None };
        Some(Held { position, number })
    }

    /// The number of the partition with this key, if it has an ordered map of rows.
    pub(crate) fn partition_number(&self, key: &Key<'_>) -> Option<u32> {
        self.held(key.table, key.token, key.partition).map(|held| held.number)
    }

    /// The partition that a candidate names, if it is still the same.
    pub(crate) fn partition_of(&self, candidate: &Candidate) -> Option<&Partition> {
        let partition = self.partitions.try_get(candidate.number)?;
        let held = self.held(candidate.table, candidate.token, &partition.key)?;
        (held.number == candidate.number).then_some(partition)
    }

    /// Whether the key falls in the range of a page.
    pub(crate) fn is_over_page(&self, key: &Key<'_>) -> bool {
        let held = self.held(key.table, key.token, key.partition);
        let pages = held.and_then(|held| self.partitions.get(held.number).rows.pages());
        pages.is_some_and(|pages| pages.covering(key.clustering).is_some())
    }

    /// Has the page around this key made again soon.
    pub(crate) fn ask_for_page(&mut self, key: &Key<'_>) {
        if let Some(held) = self.held(key.table, key.token, key.partition) {
            let key_in_page = key.clustering.into();
            let candidate = Candidate { table: key.table, token: key.token, number: held.number, key: key_in_page, purge: true };
            self.candidates.push_back(candidate);
        }
    }

    /// As `Rows::replace_pages`, for a partition of this table.
    pub(crate) fn replace_pages(
        &mut self,
        table: TableId,
        number: u32,
        range: (&[u8], &[u8]),
        new: Vec<NewPage>,
        superseded: impl Fn(Location) -> bool,
    ) -> Vec<Location> {
        let (old, rows) = self.partitions.change(number, |rows| {
            let before = rows.len();
            let old = rows.replace_pages(range, new, superseded);
            (old, rows.len() as i64 - before as i64)
        });
        if let Some(table) = self.tables.get_mut(table) {
            table.add_rows(rows);
            self.records = self.records.saturating_add_signed(rows);
        }
        old
    }

    /// Puts a page in the place of the one that starts at the same key and has the same range, whose place it returns.
    pub(crate) fn replace_page(&mut self, key: &Key<'_>, new: NewPage) -> Vec<Location> {
        let held = self.held(key.table, key.token, key.partition).expect("the page was located");
        let high = new.high.clone();
        self.replace_pages(key.table, held.number, (key.clustering, &high), vec![new], |_| false)
    }

    /// Removes a page without rows; an empty partition goes with its last page.
    pub(crate) fn remove_page(&mut self, key: &Key<'_>) {
        let held = self.held(key.table, key.token, key.partition).expect("the page was located");
        self.partitions.change(held.number, |rows| rows.remove_page(key.clustering));
        self.remove_if_empty(key, held.position, held.number);
    }

    /// Takes a partition's cell away if nothing is left of it.
    pub(super) fn remove_if_empty(&mut self, key: &Key<'_>, position: usize, number: u32) {
        if !self.partitions.get(number).rows.is_empty() {
            return;
        }
        self.partitions.remove(number);
        let table = self.tables.get_mut(key.table).expect("the partition was found in it");
        let slot = table.slot_existing(key.token.slot()).expect("the partition was found in it");
        let cells_before = slot.heap_bytes();
        slot.remove(position);
        self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
    }
}
