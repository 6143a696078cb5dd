//! Looking through the entries of an index: slot by slot, in each the rows in the order of the ring. A slot whose index is not complete yet is scanned.

use super::chunk::End;
use super::cursor::{Cursor, Place};
use super::entry_ranges::EntryRanges;
use super::gather::Gather;
use crate::index::{EntryKey, FIRST_VALUE, value_prefix};
use base::{Slot, Token};
use model::operation::{
    EntryStretch, INDEX_OVERSIZE_KEY, INDEX_STATE_KEY, PartitionKey, RowStore, Stop, Visit, index_slot_key, index_slot_token,
    is_index_complete,
};

/// A chunk reads entries of so many slots into the filter.
const COVERED_MAX: u32 = 8;
/// And so many of each.
const COVERED_ROWS_MAX: usize = 1024;

/// A chunk ends after so many slots.
const SLOTS_MAX: u32 = 1024;

impl Gather<'_> {
    /// Looks at the rows of entries up to `until`.
    pub(super) fn indexed(&mut self, store: &dyn RowStore, entries: &EntryRanges, until: Token) -> Result<(), Stop> {
        let (mut slots, mut covered) = (0, 0);
        loop {
            let here = self.cursor.token.slot();
            let next = entries.next_slot(store, self.plan.table.id, here, until.slot())?;
            let Some((slot, is_covered)) = next else {
                self.leave();
                return Ok(());
            };
            if slot != here {
                self.leave();
                if self.end.is_some() {
                    return Ok(());
                }
                self.begin_at(slot.first_token());
            }
            let last = slot.last_token().min(until);
            let bytes = index_slot_key(slot);
            let partition = PartitionKey { table: entries.table, token: index_slot_token(slot), bytes: &bytes };
            if is_covered {
                self.entries_of_slot(store, entries, slot, last)?;
            } else if is_index_complete(store.get(&partition, INDEX_STATE_KEY)?) && store.get(&partition, INDEX_OVERSIZE_KEY)?.is_none() {
                if covered < COVERED_MAX {
                    covered += 1;
                    let (prefix_of, rows_max) = (value_prefix, COVERED_ROWS_MAX);
                    store.cover_slot(&EntryStretch { partition, first: FIRST_VALUE, prefix_of, rows_max, fetches: false })?;
                }
                self.entries_of_slot(store, entries, slot, last)?;
            } else {
                self.ring(store, last)?;
            }
            if self.end.is_some() || last >= until {
                return Ok(());
            }
            self.begin_at(Token(last.0 + 1));
            slots += 1;
            if slots == SLOTS_MAX {
                self.end = Some(End::Early);
                return Ok(());
            }
        }
    }

    fn entries_of_slot(&mut self, store: &dyn RowStore, entries: &EntryRanges, slot: Slot, last: Token) -> Result<(), Stop> {
        loop {
            let (picked, are_all) = entries.pick(store, slot, &self.cursor, last)?;
            for entry in &picked {
                if self.entry(store, entry, entries.of_partitions)? == Visit::Stop {
                    return Ok(());
                }
            }
            if are_all {
                self.leave();
                return Ok(());
            }
        }
    }

    /// Looks at the row of an entry.
    fn entry(&mut self, store: &dyn RowStore, entry: &EntryKey, of_partitions: bool) -> Result<Visit, Stop> {
        let is_same = self.cursor.token == entry.token && self.cursor.partition == entry.partition;
        if is_same && self.cursor.place == Place::End {
            return Ok(Visit::Continue);
        }
        if !is_same {
            self.leave();
        }
        if self.end.is_some() || self.stop_before_more() {
            return Ok(Visit::Stop);
        }
        let partition = PartitionKey { table: self.plan.table.id, token: entry.token, bytes: &entry.partition };
        if !is_same {
            self.cursor = Cursor::start(entry.token, entry.partition.clone());
        }
        if !self.is_entered() {
            self.begin_partition(store, &partition)?;
        }
        let visit = if of_partitions {
            self.rows_of_partition(store, &partition)?
        } else {
            let Some(row) = store.get(&partition, &entry.clustering)? else { return Ok(Visit::Continue) };
            self.row(&entry.clustering, row)
        };
        // A partition that has given all it may is over, and not the chunk.
        Ok(if self.end.is_some() { visit } else { Visit::Continue })
    }
}
