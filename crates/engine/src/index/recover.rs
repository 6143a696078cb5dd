//! Building the index from the log: keys of earlier records are on the device, so partitions are told apart by a keyed hash.
//!
//! Records come in the order in which they were appended, so the later one of a key wins. The hash is 64 bits and keyed with the
//! store's secret id: two different keys of the same token pass for one another with a probability of 2^-64, far less than
//! that of a damaged record passing its checksum.

use super::lookup::tail;
use super::pages::NewPage;
use super::partition::{Partition, Partitions};
use super::slot::{SlotIndex, UNKNOWN_HASH};
use super::{Before, Index};
use crate::key::Key;
use crate::location::{Location, Target};
use base::{TableId, Token};

/// A token that more than one partition key has, some of them as plain records: their keys have to be read once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Collision {
    pub(crate) table: TableId,
    pub(crate) token: Token,
}

/// What a record of the log has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovered {
    /// The key is new.
    New,
    /// The row was here and is not any more.
    Replaced(Location),
    /// The index has this place, or a later one: from a checkpoint.
    Known,
}

/// What a slot has of a partition key.
pub(super) struct Hashed {
    /// Where its cell is, or would be.
    pub(super) position: usize,
    pub(super) found: Option<Location>,
    /// Cells of other keys with the same token, those before `position` if it was found.
    pub(super) others: usize,
}

/// Finds a partition key by its hash, or by `same_key` where the key is in memory. `takes` tells whether it is taken for that of a cell whose key is not known, if no other cell has it.
///
/// A row alone takes such a cell: if that was another key's, what there is of that key comes later, or was purged. A row of a wide
/// partition does not tell whether the cell is a row of the same partition: `settle` will.
pub(super) fn find_hashed(
    partitions: &Partitions,
    slot: &SlotIndex,
    tail: u64,
    hash: u64,
    same_key: impl Fn(&[u8]) -> bool,
    takes: impl Fn(Location) -> bool,
) -> Hashed {
    let mut position = slot.find(tail).unwrap_or_else(|position| position);
    let mut others = 0;
    let mut unknown = None;
    while let Some(entry) = slot.at(position).filter(|entry| entry.tail == tail) {
        let same = match entry.location.target() {
            Target::Partition(number) => same_key(&partitions.get(number).key),
            _ => slot.hash(position) == Some(hash),
        };
        if same {
            return Hashed { position, found: Some(entry.location), others };
        }
        if entry.location.is_record() && slot.hash(position) == Some(UNKNOWN_HASH) && takes(entry.location) {
            unknown = Some(Hashed { position, found: Some(entry.location), others });
        }
        others += 1;
        position += 1;
    }
    unknown.unwrap_or(Hashed { position, found: None, others })
}

impl Index {
    /// As `upsert`, without reading any record, for a row of a wide partition: one with a clustering key (others: `recover_alone`).
    /// `hash` is of the partition key; `is_later` tells whether a place comes after `location` in
    /// the log, or is the same. The flag tells of a collision to be settled by `settle` before the index is used.
    pub(crate) fn recover(
        &mut self,
        key: &Key<'_>,
        hash: u64,
        location: Location,
        is_later: impl Fn(Location) -> bool,
    ) -> (Recovered, bool) {
        let tail = tail(key.token);
        let Some(table) = self.tables.get_mut(key.table) else { return (Recovered::Known, false) };
        let (slot, page_bytes) = table.slot_mut(key.token.slot());
        let cells_before = slot.heap_bytes();
        self.cell_bytes += page_bytes;
        slot.ensure_hashes();
        let Hashed { position, found, others } =
            find_hashed(&self.partitions, slot, tail, hash, |partition| *partition == *key.partition, &is_later);
        let outcome = match found.map(|location| (location, location.target())) {
            Some((_, Target::Partition(number))) => {
                self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
                if self.partitions.get(number).rows.get(key.clustering).is_some_and(is_later) {
                    return (Recovered::Known, false);
                }
                let (before, new) = self.insert_row(key, number, location);
                self.add_rows(key.table, new);
                return match before {
                    Before::Nothing => (Recovered::New, others > 0),
                    Before::Row(old) => (Recovered::Replaced(old), false),
                };
            }
            Some((old, _)) if is_later(old) => Recovered::Known,
            Some((old, _)) => {
                let mut partition = Partition::new(key.partition);
                partition.rows.insert(&[], old, &self.limits);
                partition.rows.insert(key.clustering, location, &self.limits);
                slot.set_location(position, Location::partition(self.partitions.insert(partition)));
                Recovered::New
            }
            None => {
                let mut partition = Partition::new(key.partition);
                partition.rows.insert(key.clustering, location, &self.limits);
                slot.insert_hashed(tail, others, Location::partition(self.partitions.insert(partition)), Some(hash));
                Recovered::New
            }
        };
        self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
        let new = outcome == Recovered::New;
        if new {
            self.add_rows(key.table, 1);
        }
        (outcome, new && others > 0)
    }

    /// Recovery begins anew with these tables.
    pub(crate) fn reset(&mut self, tables: impl Iterator<Item = TableId>) {
        *self = Self::new(self.limits);
        tables.for_each(|table| self.create_table(table));
    }

    pub(super) fn add_rows(&mut self, table: TableId, rows: i64) {
        if let Some(table) = self.tables.get_mut(table) {
            table.add_rows(rows);
            self.records = self.records.saturating_add_signed(rows);
        }
    }

    /// Puts a page in the place of everything in its range that it supersedes, and says where that was. `key` is that of the page's
    /// record; `is_later` and the flag are as for `recover`. `None` if what the index has of the partition is later than all its pages.
    ///
    /// The index may have a later page from a checkpoint: then the record of that one comes, too, and puts things right.
    pub(crate) fn recover_page(
        &mut self,
        key: &Key<'_>,
        hash: u64,
        page: NewPage,
        is_later: impl Fn(Location) -> bool,
        superseded: impl Fn(Location) -> bool,
    ) -> Option<(Vec<Location>, bool)> {
        let tail = tail(key.token);
        let table = self.tables.get_mut(key.table)?;
        let (slot, page_bytes) = table.slot_mut(key.token.slot());
        let cells_before = slot.heap_bytes();
        self.cell_bytes += page_bytes;
        slot.ensure_hashes();
        let Hashed { position, found, others } =
            find_hashed(&self.partitions, slot, tail, hash, |partition| *partition == *key.partition, &is_later);
        let number = match found.map(|location| (location, location.target())) {
            Some((_, Target::Partition(number))) => number,
            // A partition with pages has no cell of this kind: they are gone.
            Some((old, _)) if is_later(old) => {
                self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
                return None;
            }
            single => {
                let mut partition = Partition::new(key.partition);
                if let Some((old, _)) = single {
                    partition.rows.insert(&[], old, &self.limits);
                }
                let number = self.partitions.insert(partition);
                match single {
                    Some(_) => slot.set_location(position, Location::partition(number)),
                    None => slot.insert_hashed(tail, others, Location::partition(number), Some(hash)),
                }
                number
            }
        };
        self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
        let high = page.high.clone();
        let old = self.replace_pages(key.table, number, (key.clustering, &high), vec![page], superseded);
        Some((old, found.is_none() && others > 0))
    }

    /// The records whose keys `settle` needs for a collision.
    pub(crate) fn collision_records(&self, collision: Collision) -> Vec<Location> {
        self.cells_of(collision).into_iter().filter(|location| location.is_record()).collect()
    }

    fn cells_of(&self, collision: Collision) -> Vec<Location> {
        let Some(slot) = self.table(collision.table).and_then(|table| table.slot(collision.token.slot())) else { return Vec::new() };
        let tail = tail(collision.token);
        let mut cells = Vec::new();
        let mut position = slot.find(tail).unwrap_or_else(|position| position);
        while let Some(entry) = slot.at(position).filter(|entry| entry.tail == tail) {
            cells.push(entry.location);
            position += 1;
        }
        cells
    }

    /// Makes partitions of all cells of a collision and puts them in the order of their keys. `key_of` tells a record's partition
    /// key; a record for which it knows none is damaged, and its place is returned: its row cannot be named any more. So is the place, with
    /// the flag not set, of a row that has a later place.
    pub(crate) fn settle(&mut self, collision: Collision, key_of: impl Fn(Location) -> Option<Box<[u8]>>) -> Vec<(Location, bool)> {
        let mut lost = Vec::new();
        let mut keyed: Vec<u32> = Vec::new();
        let mut cells = self.cells_of(collision);
        // Partitions first: a record may be a row of one of them.
        cells.sort_by_key(|cell| cell.is_record());
        for cell in cells {
            let number = match cell.target() {
                Target::Partition(number) => number,
                _ => match key_of(cell) {
                    Some(key) => {
                        if let Some(number) = keyed.iter().copied().find(|number| self.partitions.get(*number).key == key) {
                            let rows = &self.partitions.get(number).rows;
                            let paged = rows.pages().is_some_and(|pages| pages.covering(&[]).is_some());
                            if paged || rows.get(&[]).is_some() {
                                lost.push((cell, false));
                            } else {
                                self.partitions.change(number, |rows| rows.insert(&[], cell, &self.limits));
                            }
                            continue;
                        }
                        let mut partition = Partition::new(&key);
                        partition.rows.insert(&[], cell, &self.limits);
                        self.partitions.insert(partition)
                    }
                    None => {
                        lost.push((cell, true));
                        continue;
                    }
                },
            };
            keyed.push(number);
        }
        keyed.sort_by(|left, right| self.partitions.get(*left).key.cmp(&self.partitions.get(*right).key));
        let tail = tail(collision.token);
        let Some(table) = self.tables.get_mut(collision.table) else { return lost };
        table.add_rows(-(lost.len() as i64));
        self.records -= lost.len() as u64;
        let (slot, _) = table.slot_mut(collision.token.slot());
        let cells_before = slot.heap_bytes();
        while let Ok(position) = slot.find(tail) {
            slot.remove(position);
        }
        for (rank, number) in keyed.into_iter().enumerate() {
            slot.insert_hashed(tail, rank, Location::partition(number), Some(0));
        }
        self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
        lost
    }

    /// Ends recovery: the hashes are not needed any more.
    pub(crate) fn drop_hashes(&mut self) {
        let mut freed = 0;
        for (_, table) in self.tables.iter_mut() {
            for slot in table.slots_mut() {
                let before = slot.heap_bytes();
                slot.drop_hashes();
                freed += before - slot.heap_bytes();
            }
        }
        self.cell_bytes -= freed;
    }
}
