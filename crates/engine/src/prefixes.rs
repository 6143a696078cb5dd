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
    /// No further: the slot has a key without a prefix, or others come first.
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
    figures: Cell<Figures>,
}

/// What there is of filters.
#[derive(Clone, Copy, Default)]
struct Figures {
    bytes: usize,
    /// How many are full.
    full: usize,
}

impl Figures {
    fn of(filter: &Filter) -> Self {
        Self { bytes: filter.bytes(), full: usize::from(filter.is_full()) }
    }

    /// One filter has changed.
    fn change(&mut self, before: Self, after: Self) {
        self.bytes = self.bytes - before.bytes + after.bytes;
        self.full = self.full - before.full + after.full;
    }
}

impl Prefixes {
    /// Notes the rows of a batch.
    #[inline]
    pub(crate) fn note(&mut self, batch: &WriteBatch) {
        let filters = self.filters.get_mut();
        if !filters.is_empty() {
            note_rows(filters, self.figures.get_mut(), batch);
        }
    }

    /// Forgets a table that was dropped or emptied.
    pub(crate) fn forget(&mut self, table: TableId) {
        if let Some(filter) = self.filters.get_mut().remove(&table) {
            self.figures.get_mut().change(Figures::of(&filter), Figures::default());
        }
    }

    /// Changes the filter of a table, which is made if there is none and it is said how.
    fn change<R>(&self, table: TableId, prefix_of: Option<PrefixOf>, change: impl FnOnce(&mut Filter) -> R) -> Option<R> {
        let mut filters = self.filters.borrow_mut();
        let mut figures = self.figures.get();
        if let (Some(prefix_of), false) = (prefix_of, filters.contains_key(&table)) {
            let filter = Filter::new(prefix_of);
            figures.change(Figures::default(), Figures::of(&filter));
            filters.insert(table, filter);
        }
        let changed = filters.get_mut(&table).map(|filter| {
            let before = Figures::of(filter);
            let changed = change(filter);
            figures.change(before, Figures::of(filter));
            changed
        });
        self.figures.set(figures);
        changed
    }

    /// What they take of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.figures.get().bytes
    }
}

fn note_rows(filters: &mut BTreeMap<TableId, Filter>, figures: &mut Figures, batch: &WriteBatch) {
    for row in batch.rows() {
        let Some(filter) = filters.get_mut(&row.key.table) else { continue };
        let (slot, before) = (row.key.token.slot(), Figures::of(filter));
        if (filter.prefix_of)(row.key.clustering, 0).is_none() {
            filter.uncover(slot);
        } else if !matches!(row.kind, Kind::Tombstone { .. }) {
            prefixes(filter.prefix_of, row.key.clustering).for_each(|prefix| filter.note(hash(prefix), slot));
        }
        figures.change(before, Figures::of(filter));
    }
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

    /// The first slot of a table from `from` on that [`Engine::cover_slot`] has something to read in. They are about rows of the table `of`.
    #[must_use]
    pub fn next_slot_to_cover(&self, (table, of): (TableId, TableId), from: Slot) -> Option<Slot> {
        let filters = self.prefixes.filters.borrow();
        let (rows, filter) = (self.index.table(of)?, filters.get(&table));
        let mut next = usize::from(from.0);
        loop {
            let slot = Slot(rows.next_slot(next)?.0 as u16);
            if filter.is_none_or(|filter| filter.lacks(slot)) {
                return Some(slot);
            }
            next = usize::from(slot.0) + 1;
        }
    }

    /// Whether a table has a filter.
    #[must_use]
    pub fn has_filter(&self, table: TableId) -> bool {
        self.prefixes.filters.borrow().contains_key(&table)
    }

    /// How many filters are full: their slots have to be read again, into larger ones.
    #[must_use]
    pub fn full_filters(&self) -> usize {
        self.prefixes.figures.get().full
    }

    /// Whether all rows of a slot are in a table's filter.
    #[must_use]
    pub fn is_covered(&self, table: TableId, slot: Slot) -> bool {
        self.prefixes.filters.borrow().get(&table).is_some_and(|filter| filter.is_covered(slot))
    }

    /// All slots of a table have been read that its owner reads: a successor of its filter replaces it, whatever it covers.
    pub fn end_covering(&self, table: TableId) {
        self.prefixes.change(table, None, Filter::succeed);
    }

    /// Reads up to `rows_max` more rows of a slot, which are those of one partition from the key `first` on, into the table's filter. If it is not
    /// `patient`, it reads no slot that would have to wait for others, and nothing ahead.
    ///
    /// # Errors
    /// Rows have to be fetched first, or cannot be read.
    pub fn cover_slot(
        &self,
        (table, token, partition): (TableId, Token, &[u8]),
        first: &[u8],
        prefix_of: PrefixOf,
        (rows_max, patient): (usize, bool),
    ) -> Result<Covering, ReadError> {
        let (slot, rows) = (token.slot(), self.table_rows(table));
        let from = self.prefixes.change(table, Some(prefix_of), |filter| {
            filter.renew(rows);
            filter.reached(slot, first, patient).map(<[u8]>::to_vec).ok_or(filter.lacks(slot))
        });
        let from = match from {
            Some(Ok(from)) => from,
            Some(Err(true)) | None => return Ok(Covering::Refused),
            Some(Err(false)) => return Ok(Covering::Whole),
        };
        let read_ahead = if patient { rows_max } else { 1 };
        let Some(found) = self.prefixes_from((table, token, partition), &from, prefix_of, (rows_max, read_ahead))? else {
            return Ok(Covering::Refused);
        };
        let covering = if found.next.is_some() { Covering::Partly } else { Covering::Whole };
        self.prefixes.change(table, None, |filter| filter.read(slot, (found.rows as u64, &found.hashes), found.next));
        Ok(covering)
    }

    /// The prefixes of a partition's next rows; none if one of them has none.
    fn prefixes_from(
        &self,
        (table, token, partition): (TableId, Token, &[u8]),
        from: &[u8],
        prefix_of: PrefixOf,
        (rows_max, read_ahead): (usize, usize),
    ) -> Result<Option<Found>, ReadError> {
        let (policy, direction) = (CachePolicy::Bypass, Direction::Forward);
        let (from, to) = (Bound::Included(from), Bound::Unbounded);
        let scan = PartitionScan { table, token, partition, from, to, direction, policy, read_ahead };
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
