//! The prefix filters of a shard's tables ([`crate::prefix_filter`]): noted by every write, filled a stretch of a slot at a time by whoever asks for it.

use crate::batch::WriteBatch;
use crate::engine::Engine;
use crate::error::ReadError;
use crate::key::{CachePolicy, Kind};
use crate::prefix_filter::{Filter, PrefixOf, hash, prefixes};
use crate::scan::{Direction, PartitionScan};
use base::{SLOT_COUNT, Slot, TableId, Token};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;

/// How far [`Engine::cover_slot`] has come with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covering {
    /// No further: the slot has a key without a prefix.
    Refused,
    /// There is more to read.
    Partly,
    /// To the end.
    Whole,
}

/// Rows that were read.
#[derive(Default)]
struct Found {
    rows: usize,
    hashes: Vec<u64>,
    /// The key to go on from.
    next: Option<Vec<u8>>,
}

/// The filters of all tables that have one.
#[derive(Default)]
pub(crate) struct Prefixes {
    filters: RefCell<BTreeMap<TableId, Filter>>,
    bytes: Cell<usize>,
    /// Whether one of them is full.
    are_full: Cell<bool>,
}

impl Prefixes {
    /// Notes the rows of a batch.
    #[inline]
    pub(crate) fn note(&mut self, batch: &WriteBatch) {
        let filters = self.filters.get_mut();
        if !filters.is_empty() && note_rows(filters, batch) {
            self.count();
        }
    }

    /// Forgets a table that was dropped.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.filters.get_mut().remove(&table);
        self.count();
    }

    fn count(&self) {
        let filters = self.filters.borrow();
        self.bytes.set(filters.values().map(Filter::bytes).sum());
        self.are_full.set(filters.values().any(Filter::is_full));
    }

    /// What they take of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }
}

/// Returns whether one of them is full, so that its size may have changed.
fn note_rows(filters: &mut BTreeMap<TableId, Filter>, batch: &WriteBatch) -> bool {
    let mut is_full = false;
    for row in batch.rows() {
        let Some(filter) = filters.get_mut(&row.key.table) else { continue };
        let slot = row.key.token.slot();
        if (filter.prefix_of)(row.key.clustering, 0).is_none() {
            filter.uncover(slot);
        } else if !matches!(row.kind, Kind::Tombstone { .. }) {
            prefixes(filter.prefix_of, row.key.clustering).for_each(|prefix| filter.note(hash(prefix), slot));
        }
        is_full |= filter.is_full();
    }
    is_full
}

impl Engine {
    /// The first slot from `from` to `last` that may have rows of a table whose clustering keys begin with `prefix`. They are about rows of the table `of`:
    /// a slot without any of these has none. With the slot comes whether it is covered.
    #[must_use]
    pub fn next_slot(&self, (table, of): (TableId, TableId), prefix: &[u8], from: Slot, last: Slot) -> Option<(Slot, bool)> {
        // A read there says that the table is gone.
        let Some(rows) = self.index.table(of) else { return Some((from, false)) };
        let has_rows = |slot: Slot| rows.slot(slot).is_some_and(|slot| slot.count() > 0);
        let filters = self.prefixes.filters.borrow();
        let filter = filters.get(&table);
        let next = match filter {
            Some(filter) => filter.next_slot(hash(prefix), from, last, has_rows),
            None => rows.next_slot(usize::from(from.0)).map(|(slot, _)| Slot(slot as u16)).filter(|next| *next <= last),
        }?;
        Some((next, filter.is_some_and(|filter| filter.is_covered(next))))
    }

    /// Leaves of these slots those that have no rows of a table whose clustering keys begin with one of `prefixes`, as far as is known without a look. They are
    /// about rows of the table `of`.
    pub fn retain_slots_without(&self, (table, of): (TableId, TableId), prefixes: &[&[u8]], slots: &mut Vec<Slot>) {
        let filters = self.prefixes.filters.borrow();
        let (Some(rows), Some(filter)) = (self.index.table(of), filters.get(&table)) else { return slots.clear() };
        let mut with = [false; SLOT_COUNT as usize];
        for prefix in prefixes {
            let Some(named) = filter.slots(hash(prefix)) else { return slots.clear() };
            named.for_each(|slot| with[usize::from(slot.0)] = true);
        }
        let has_rows = |slot: Slot| rows.slot(slot).is_some_and(|slot| slot.count() > 0);
        slots.retain(|slot| !with[usize::from(slot.0)] && (filter.is_covered(*slot) || !has_rows(*slot)));
    }

    /// The slots of a table that [`Engine::cover_slot`] has something to read in. They are about rows of the table `of`.
    pub fn slots_to_cover(&self, (table, of): (TableId, TableId)) -> Vec<Slot> {
        let mut filters = self.prefixes.filters.borrow_mut();
        if let Some(filter) = filters.get_mut(&table) {
            filter.renew(self.table_rows(table));
        }
        let filter = filters.get(&table);
        let slots = self.table_slots(of).filter(|slot| filter.is_none_or(|filter| filter.lacks(*slot))).collect();
        drop(filters);
        self.prefixes.count();
        slots
    }

    /// Whether a filter is full: slots have to be read again, into a larger one.
    #[must_use]
    pub fn has_full_filters(&self) -> bool {
        self.prefixes.are_full.get()
    }

    /// All slots of a table have been read that can be: a successor of its filter replaces it.
    pub fn end_covering(&self, table: TableId) {
        if let Some(filter) = self.prefixes.filters.borrow_mut().get_mut(&table) {
            filter.succeed();
        }
        self.prefixes.count();
    }

    /// Reads up to `rows_max` more rows of a slot, which are those of one partition from the key `first` on, into the table's filter.
    ///
    /// # Errors
    /// Rows have to be fetched first, or cannot be read.
    pub fn cover_slot(
        &self,
        (table, token, partition): (TableId, Token, &[u8]),
        first: &[u8],
        prefix_of: PrefixOf,
        rows_max: usize,
    ) -> Result<Covering, ReadError> {
        let (slot, mut filters) = (token.slot(), self.prefixes.filters.borrow_mut());
        let filter = filters.entry(table).or_insert_with(|| Filter::new(prefix_of));
        filter.renew(self.table_rows(table));
        let covering = match filter.reached(slot, first).map(<[u8]>::to_vec) {
            None => Covering::Whole,
            Some(from) => match self.prefixes_from((table, token, partition), &from, prefix_of, rows_max)? {
                None => Covering::Refused,
                Some(found) => {
                    let covering = if found.next.is_some() { Covering::Partly } else { Covering::Whole };
                    filter.read(slot, (found.rows as u64, &found.hashes), found.next);
                    covering
                }
            },
        };
        drop(filters);
        self.prefixes.count();
        Ok(covering)
    }

    /// The prefixes of a partition's next rows; none if one of them has none.
    fn prefixes_from(
        &self,
        (table, token, partition): (TableId, Token, &[u8]),
        from: &[u8],
        prefix_of: PrefixOf,
        rows_max: usize,
    ) -> Result<Option<Found>, ReadError> {
        let (policy, direction) = (CachePolicy::Bypass, Direction::Forward);
        let (from, to) = (Bound::Included(from), Bound::Unbounded);
        let scan = PartitionScan { table, token, partition, from, to, direction, policy, read_ahead: rows_max };
        let mut cursor = self.scan_partition(&scan)?;
        let (mut found, mut last) = (Found::default(), Vec::new());
        while found.rows < rows_max {
            match cursor.next() {
                Ok(Some((clustering, row))) => {
                    if prefix_of(clustering, 0).is_none() {
                        return Ok(None);
                    }
                    if !matches!(row.kind, Kind::Tombstone { .. }) {
                        found.hashes.extend(prefixes(prefix_of, clustering).map(hash));
                    }
                    found.rows += 1;
                    last.clear();
                    last.extend_from_slice(clustering);
                }
                Ok(None) => return Ok(Some(found)),
                Err(error) if found.rows == 0 => return Err(error),
                Err(_) => break,
            }
        }
        // The next key there can be.
        last.push(0);
        found.next = Some(last);
        Ok(Some(found))
    }
}
