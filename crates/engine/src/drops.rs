//! Tables that are dropped or truncated: gone from the index at once, their space given back in slices.
//!
//! A truncated table's records stay where they are until the caller has made the truncation durable; a crash before that brings all
//! of them back, never a part.
//!
//! Invariant: while a drop is under way, no segment is emptied by defragmentation and no cache frame is evicted, as the entries still
//! to be released name places in them.

use crate::engine::Engine;
use crate::index::{Entry, Partition, Table};
use crate::key::Sequence;
use crate::location::Target;
use base::{Compression, TableId};
use std::collections::VecDeque;

/// Entries released in one slice.
const SLICE_ENTRIES: usize = 8192;

/// A detached table being released.
struct Drop {
    table: Table,
    /// Not before the caller has made this table's truncation durable.
    held: Option<TableId>,
    slot: usize,
    entries: Vec<Entry>,
    partition: Option<Partition>,
}

/// Detached tables, oldest first.
#[derive(Default)]
pub(crate) struct Drops {
    queue: VecDeque<Drop>,
}

impl Drops {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn workable(&self) -> Option<usize> {
        self.queue.iter().position(|drop| drop.held.is_none())
    }

    /// Whether a truncation may still be undone.
    pub(crate) fn has_held(&self) -> bool {
        self.queue.iter().any(|drop| drop.held.is_some())
    }

    /// What this table was before truncations that may still be undone.
    pub(crate) fn held_tables(&self, table: TableId) -> impl Iterator<Item = &Table> {
        self.queue.iter().filter(move |drop| drop.held == Some(table)).map(|drop| &drop.table)
    }

    pub(crate) fn has_work(&self) -> bool {
        self.workable().is_some()
    }
}

impl Engine {
    /// Adds an empty table; nothing happens if it is there. A table id is never used for another table.
    pub fn create_table(&mut self, table: TableId) {
        self.index.create_table(table);
    }

    /// Forgets a table. Call it when the drop is durable: records of a table that `open` is not told of are dead.
    pub fn drop_table(&mut self, table: TableId) {
        // A truncation of the same table needs no mark any more.
        self.truncation_persisted(table);
        self.set_compression(table, Compression::default());
        self.detach(table, None);
    }

    /// Empties a table. Its rows are gone at once; durable is the truncation when the caller has stored that records of this table
    /// with sequences below the returned one are dead, and has told so by `truncation_persisted`.
    pub fn truncate(&mut self, table: TableId) -> Sequence {
        if self.detach(table, Some(table)) {
            self.index.create_table(table);
        }
        self.log.next_sequence()
    }

    /// The mark of the latest `truncate` of this table is durable: the space may be reclaimed.
    pub fn truncation_persisted(&mut self, table: TableId) {
        for drop in &mut self.drops.queue {
            if drop.held == Some(table) {
                drop.held = None;
            }
        }
    }

    fn detach(&mut self, table: TableId, held: Option<TableId>) -> bool {
        self.dead_runs.forget(table);
        self.prefixes.forget(table);
        let Some(table) = self.index.detach_table(table) else { return false };
        self.drops.queue.push_back(Drop { table, held, slot: 0, entries: Vec::new(), partition: None });
        true
    }

    /// Releases a slice of a detached table.
    pub(crate) fn drop_slice(&mut self) {
        let Some(position) = self.drops.workable() else { return };
        let Some(mut drop) = self.drops.queue.remove(position) else { return };
        let mut budget = SLICE_ENTRIES;
        while budget > 0 {
            if let Some(partition) = &mut drop.partition {
                match partition.rows.take_leaf() {
                    Some(locations) => {
                        budget = budget.saturating_sub(locations.len());
                        locations.into_iter().for_each(|location| self.release(location));
                    }
                    None => drop.partition = None,
                }
            } else if let Some(entry) = drop.entries.pop() {
                budget -= 1;
                match entry.location.target() {
                    Target::Partition(number) => drop.partition = Some(self.index.take_partition(number)),
                    _ => self.release(entry.location),
                }
            } else if let Some((slot, entries)) = self.index.take_slot(&mut drop.table, drop.slot) {
                drop.slot = slot;
                drop.entries = entries;
            } else {
                self.index.forget(&drop.table);
                return;
            }
        }
        self.drops.queue.insert(position, drop);
    }
}
