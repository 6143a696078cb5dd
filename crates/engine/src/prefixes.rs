//! The prefix filters of a shard's tables: noted by every write, filled by queries ([`crate::prefix_filter`]).

use crate::batch::WriteBatch;
use crate::engine::Engine;
use crate::key::{CachePolicy, Kind};
use crate::prefix_filter::{Filter, PrefixOf, hash, prefixes};
use crate::scan::{Direction, PartitionScan};
use base::{SLOT_COUNT, Slot, TableId, Token};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Rows of a slot that are read at once.
const COVERED_AT_ONCE: usize = 1024;

/// The filters of all tables that have one.
#[derive(Default)]
pub(crate) struct Prefixes {
    filters: RefCell<BTreeMap<TableId, Filter>>,
    bytes: Cell<usize>,
}

impl Prefixes {
    /// Notes the rows of a batch.
    #[inline]
    pub(crate) fn note(&mut self, batch: &WriteBatch) {
        let filters = self.filters.get_mut();
        if !filters.is_empty() {
            note_rows(filters, batch);
            self.count();
        }
    }

    /// Forgets a table that was dropped.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.filters.get_mut().remove(&table);
        self.count();
    }

    fn count(&self) {
        self.bytes.set(self.filters.borrow().values().map(Filter::bytes).sum());
    }

    /// What they take of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }
}

fn note_rows(filters: &mut BTreeMap<TableId, Filter>, batch: &WriteBatch) {
    for row in batch.rows() {
        let Some(filter) = filters.get_mut(&row.key.table) else { continue };
        let slot = row.key.token.slot();
        if (filter.prefix_of)(row.key.clustering, 0).is_none() {
            filter.uncover(slot);
        } else if !matches!(row.kind, Kind::Tombstone { .. }) {
            prefixes(filter.prefix_of, row.key.clustering).for_each(|prefix| filter.insert(hash(prefix), slot));
        }
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

    /// Reads some more rows of a slot, which are those of one partition from the key `first` on, into the table's filter. Returns whether it got any
    /// further: it does not where rows are not in memory.
    pub fn cover_slot(&self, (table, token, partition): (TableId, Token, &[u8]), first: &[u8], prefix_of: PrefixOf) -> bool {
        let (slot, mut filters) = (token.slot(), self.prefixes.filters.borrow_mut());
        let filter = filters.entry(table).or_insert_with(|| Filter::new(prefix_of));
        let Some(from) = filter.reached(slot, first).map(<[u8]>::to_vec) else { return false };
        let Some((hashes, next)) = self.prefixes_from((table, token, partition), &from, prefix_of) else { return false };
        let buckets = filter.buckets();
        hashes.into_iter().for_each(|hash| filter.insert(hash, slot));
        // A filter that has grown has forgotten some of them.
        if filter.buckets() == buckets {
            match next {
                Some(next) => filter.reach(slot, next),
                None => filter.cover(slot),
            }
        }
        drop(filters);
        self.prefixes.count();
        true
    }

    /// Hashes of the prefixes of a partition's next rows, and the key to go on from; no key at the end, and nothing where there is no row to be had.
    fn prefixes_from(
        &self,
        (table, token, partition): (TableId, Token, &[u8]),
        from: &[u8],
        prefix_of: PrefixOf,
    ) -> Option<(Vec<u64>, Option<Vec<u8>>)> {
        let (policy, direction) = (CachePolicy::Bypass, Direction::Forward);
        let (from, to) = (Bound::Included(from), Bound::Unbounded);
        let scan = PartitionScan { table, token, partition, from, to, direction, policy, read_ahead: 1 };
        let mut cursor = self.scan_partition(&scan).ok()?;
        let (mut hashes, mut last, mut rows) = (Vec::new(), Vec::new(), 0);
        while rows < COVERED_AT_ONCE {
            match cursor.next() {
                Ok(Some((clustering, _))) => {
                    prefix_of(clustering, 0)?;
                    hashes.extend(prefixes(prefix_of, clustering).map(hash));
                    rows += 1;
                    last.clear();
                    last.extend_from_slice(clustering);
                }
                Ok(None) => return Some((hashes, None)),
                Err(_) if hashes.is_empty() => return None,
                Err(_) => break,
            }
        }
        // The next key there can be.
        last.push(0);
        Some((hashes, Some(last)))
    }
}
