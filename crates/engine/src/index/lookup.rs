//! Finding, inserting, moving and removing rows of the index.

use super::partition::Partition;
use super::slot::{Entry, SlotIndex};
use super::{Before, Candidate, Index, TAIL_MASK, Table};
use crate::format::record::Record;
use crate::key::Key;
use crate::location::{Location, Target};
use crate::memory::{Memory, Stored};
use base::{TableId, Token};

/// Where a partition is.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Absent,
    /// Absent, and its token has exactly one cell, of another partition key: this one.
    Beside(Location),
    /// Its only row has an empty clustering key and is this record.
    Single(Location, Record<'a>),
    /// It has an ordered map of rows.
    Partition(u32),
}

/// Why a partition could not be found or excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    UnknownTable,
    /// The record that holds the key is not in memory.
    Missing(Location),
    /// The record that holds the key is damaged.
    Damaged(Location),
}

pub(super) fn tail(token: Token) -> u64 {
    token.biased() & TAIL_MASK
}

/// A partition's cell within its slot, or the rank among cells of its token at which it would go.
pub(super) enum Cell {
    Found(usize),
    Absent { rank: usize },
}

impl Table {
    /// The cell of a token that has exactly one.
    pub(crate) fn only_cell(&self, token: Token) -> Option<Location> {
        let slot = self.slot(token.slot())?;
        let first = slot.find(tail(token)).ok()?;
        let alone = slot.at(first + 1).is_none_or(|next| next.tail != tail(token));
        slot.at(first).map(|entry| entry.location).filter(|_| alone)
    }
}

impl Index {
    /// Finds a partition by its key.
    #[inline]
    pub(crate) fn find<'a>(&self, table: TableId, token: Token, partition: &[u8], memory: &'a Memory) -> Result<Place<'a>, Unresolved> {
        let table = self.table(table).ok_or(Unresolved::UnknownTable)?;
        let Some(slot) = table.slot(token.slot()) else { return Ok(Place::Absent) };
        let tail = tail(token);
        let Ok(first) = slot.find(tail) else { return Ok(Place::Absent) };
        let Some(entry) = slot.at(first) else { return Ok(Place::Absent) };
        if entry.location.is_record() {
            return match memory.stored(entry.location) {
                Stored::Here(record) if record.partition() == partition => Ok(Place::Single(entry.location, record)),
                Stored::Here(_) => Ok(Place::Beside(entry.location)),
                Stored::Elsewhere => Err(Unresolved::Missing(entry.location)),
                Stored::Damaged(_) => Err(Unresolved::Damaged(entry.location)),
            };
        }
        match self.find_partition(slot, first, tail, partition) {
            Cell::Found(position) => match slot.at(position).map(|entry| entry.location.target()) {
                Some(Target::Partition(number)) => Ok(Place::Partition(number)),
                _ => unreachable!("the cell was just found"),
            },
            Cell::Absent { .. } if slot.at(first + 1).is_none_or(|next| next.tail != tail) => Ok(Place::Beside(entry.location)),
            Cell::Absent { .. } => Ok(Place::Absent),
        }
    }

    /// Among the cells of one token, which are all partitions, the one with this key.
    pub(super) fn find_partition(&self, slot: &SlotIndex, first: usize, tail: u64, partition: &[u8]) -> Cell {
        let key_of = |entry: &Entry| match entry.location.target() {
            Target::Partition(number) => &*self.partitions.get(number).key,
            _ => unreachable!("a record is the only cell of its token"),
        };
        let position = slot.first_not(first, |entry| entry.tail == tail && key_of(entry) < partition);
        match slot.at(position).filter(|entry| entry.tail == tail) {
            Some(entry) if key_of(&entry) == partition => Cell::Found(position),
            _ => Cell::Absent { rank: position - first },
        }
    }

    /// The slot of a token, and the first cell that a lookup would read in it: for `SlotIndex::touch`.
    #[inline]
    pub(crate) fn home(&self, table: TableId, token: Token) -> Option<(&SlotIndex, usize)> {
        let slot = self.table(table)?.slot(token.slot())?;
        Some((slot, slot.home(tail(token))))
    }

    /// Points `key` to `location`, and says where it pointed before.
    ///
    /// The record that holds the key must be in memory (`find` did not answer `Missing`). A damaged record at the token is taken for
    /// this key's: nothing can be known about it any more, and a key must not become unwritable.
    pub(crate) fn upsert(&mut self, key: &Key<'_>, location: Location, memory: &Memory) -> Before {
        let tail = tail(key.token);
        let table = self.tables.get_mut(key.table).expect("the caller has looked the table up");
        let (slot, page_bytes) = table.slot_mut(key.token.slot());
        self.cell_bytes += page_bytes;
        let cells_before = slot.heap_bytes();
        let (before, new_rows) = match slot.find(tail) {
            Err(_) => {
                let cell = if key.clustering.is_empty() {
                    location
                } else {
                    let mut partition = Partition::new(key.partition);
                    partition.rows.insert(key.clustering, location, &self.limits);
                    Location::partition(self.partitions.insert(partition))
                };
                slot.insert(tail, 0, cell);
                (Before::Nothing, 1)
            }
            Ok(first) => {
                let old = slot.at(first).expect("the cell was just found").location;
                if old.is_record() {
                    let other = match memory.stored(old) {
                        Stored::Here(record) if record.partition() != key.partition => Some(record.partition()),
                        Stored::Here(_) | Stored::Damaged(_) => None,
                        Stored::Elsewhere => unreachable!("the caller has made sure that the key can be compared"),
                    };
                    match other {
                        None if key.clustering.is_empty() => {
                            slot.set_location(first, location);
                            (Before::Row(old), 0)
                        }
                        None => {
                            let mut partition = Partition::new(key.partition);
                            partition.rows.insert(&[], old, &self.limits);
                            partition.rows.insert(key.clustering, location, &self.limits);
                            slot.set_location(first, Location::partition(self.partitions.insert(partition)));
                            (Before::Nothing, 1)
                        }
                        Some(other) => {
                            let mut theirs = Partition::new(other);
                            theirs.rows.insert(&[], old, &self.limits);
                            let mut ours = Partition::new(key.partition);
                            ours.rows.insert(key.clustering, location, &self.limits);
                            let rank = usize::from(other < key.partition);
                            slot.set_location(first, Location::partition(self.partitions.insert(theirs)));
                            slot.insert(tail, rank, Location::partition(self.partitions.insert(ours)));
                            (Before::Nothing, 1)
                        }
                    }
                } else {
                    self.upsert_row(key, first, location)
                }
            }
        };
        let table = self.tables.get_mut(key.table).expect("the caller has looked the table up");
        let (slot, _) = table.slot_mut(key.token.slot());
        self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
        if new_rows > 0 {
            table.add_rows(new_rows);
            self.records += new_rows as u64;
        }
        before
    }

    /// The part of `upsert` for a token whose cells are partitions.
    fn upsert_row(&mut self, key: &Key<'_>, first: usize, location: Location) -> (Before, i64) {
        let tail = tail(key.token);
        let table = self.tables.get(key.table).expect("the caller has looked the table up");
        let slot = table.slot(key.token.slot()).expect("the caller has found the slot");
        match self.find_partition(slot, first, tail, key.partition) {
            Cell::Found(position) => {
                let Some(Target::Partition(number)) = slot.at(position).map(|entry| entry.location.target()) else {
                    unreachable!("the cell was just found");
                };
                self.insert_row(key, number, location)
            }
            Cell::Absent { rank } => {
                let mut partition = Partition::new(key.partition);
                partition.rows.insert(key.clustering, location, &self.limits);
                let cell = Location::partition(self.partitions.insert(partition));
                let table = self.tables.get_mut(key.table).expect("the caller has looked the table up");
                let (slot, _) = table.slot_mut(key.token.slot());
                slot.insert(tail, rank, cell);
                (Before::Nothing, 1)
            }
        }
    }

    /// Inserts into a partition's map, and notes where pages may be worth making.
    pub(super) fn insert_row(&mut self, key: &Key<'_>, number: u32, location: Location) -> (Before, i64) {
        let limits = self.limits;
        let inserted = self.partitions.change(number, |rows| rows.insert(key.clustering, location, &limits));
        if let Some(look_at) = inserted.look_at {
            let candidate = Candidate { table: key.table, token: key.token, number, key: look_at, purge: false };
            self.candidates.push_back(candidate);
        }
        match inserted.before {
            Some(old) => (Before::Row(old), 0),
            None => (Before::Nothing, 1),
        }
    }

    /// As `upsert` for rows, clustering key and place each, of a partition that `partition_number` has found by this key. `replaced` gets the
    /// places of the rows that were there.
    pub(crate) fn upsert_rows<'k>(
        &mut self,
        (key, number): (&Key<'_>, u32),
        rows: impl Iterator<Item = (&'k [u8], Location)>,
        mut replaced: impl FnMut(Location),
    ) {
        let (limits, candidates) = (self.limits, &mut self.candidates);
        let new = self.partitions.change(number, |map| {
            let before = map.len();
            map.insert_all(rows, &limits, |inserted| {
                if let Some(look_at) = inserted.look_at {
                    candidates.push_back(Candidate { table: key.table, token: key.token, number, key: look_at, purge: false });
                }
                if let Some(old) = inserted.before {
                    replaced(old);
                }
            });
            map.len() - before
        });
        let table = self.tables.get_mut(key.table).expect("the partition was found in it");
        table.add_rows(new as i64);
        self.records += new as u64;
    }

    /// Whether a table has anything at a token.
    pub(crate) fn home_is_taken(&self, table: TableId, token: Token) -> bool {
        self.table(table).and_then(|table| table.slot(token.slot())).is_some_and(|slot| slot.find(tail(token)).is_ok())
    }

    /// Where the index has the row with this key, or the page that starts at it, if that place satisfies `is_it`. Reads no record: a
    /// cell that names one is known by its place.
    pub(crate) fn locate(&self, key: &Key<'_>, is_it: impl Fn(Location) -> bool) -> Option<Location> {
        let slot = self.table(key.table)?.slot(key.token.slot())?;
        let tail = tail(key.token);
        let first = slot.find(tail).ok()?;
        let location = slot.at(first)?.location;
        if location.is_record() {
            return Some(location).filter(|location| key.clustering.is_empty() && is_it(*location));
        }
        let Cell::Found(position) = self.find_partition(slot, first, tail, key.partition) else { return None };
        let Target::Partition(number) = slot.at(position)?.location.target() else { return None };
        let rows = &self.partitions.get(number).rows;
        let page = || rows.pages()?.at(key.clustering).map(|page| page.location);
        rows.get(key.clustering).filter(|location| is_it(*location)).or_else(|| page().filter(|location| is_it(*location)))
    }

    /// Points the row or page that `locate` found to another place.
    pub(crate) fn relocate(&mut self, key: &Key<'_>, is_it: impl Fn(Location) -> bool, to: Location) -> Option<Location> {
        let slot = self.tables.get_mut(key.table)?.slot_existing(key.token.slot())?;
        let tail = tail(key.token);
        let first = slot.find(tail).ok()?;
        let location = slot.at(first)?.location;
        if location.is_record() {
            if !key.clustering.is_empty() || !is_it(location) {
                return None;
            }
            slot.set_location(first, to);
            return Some(location);
        }
        let slot = self.table(key.table)?.slot(key.token.slot())?;
        let Cell::Found(position) = self.find_partition(slot, first, tail, key.partition) else { return None };
        let Target::Partition(number) = slot.at(position)?.location.target() else { return None };
        self.partitions.change(number, |rows| {
            if let Some(old) = rows.get(key.clustering).filter(|location| is_it(*location)) {
                rows.replace(key.clustering, to);
                return Some(old);
            }
            let old = rows.pages()?.at(key.clustering).map(|page| page.location).filter(|location| is_it(*location))?;
            rows.relocate_page(key.clustering, to);
            Some(old)
        })
    }

    /// Removes a row that `locate` has found; an empty partition goes with its last row.
    pub(crate) fn remove(&mut self, key: &Key<'_>) {
        let tail = tail(key.token);
        let table = self.tables.get_mut(key.table).expect("the row was located");
        table.add_rows(-1);
        self.records -= 1;
        let slot = table.slot_existing(key.token.slot()).expect("the row was located");
        let cells_before = slot.heap_bytes();
        let first = slot.find(tail).expect("the row was located");
        let location = slot.at(first).expect("the row was located").location;
        if location.is_record() {
            slot.remove(first);
            self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
            return;
        }
        let slot = self.table(key.table).and_then(|table| table.slot(key.token.slot())).expect("the row was located");
        let Cell::Found(position) = self.find_partition(slot, first, tail, key.partition) else {
            unreachable!("the row was located");
        };
        let Some(Target::Partition(number)) = slot.at(position).map(|entry| entry.location.target()) else {
            unreachable!("the row was located");
        };
        self.partitions.change(number, |rows| rows.remove(key.clustering));
        self.remove_if_empty(key, position, number);
    }
}
