//! The entries of an index that a statement asks for, and which of them come next.
//!
//! Entries sort by value. Those of one value are in ring order and are read as they come. Those of a range are not: of a slot the first ones after the
//! cursor are picked out, [`PICKED_MAX`] at a time.

use super::cursor::{Cursor, Place};
use super::filter::BoundFilter;
use super::pattern::Among;
use crate::index::{EntryKey, FIRST_VALUE, after_value, prefix_key, value_key};
use crate::plan::{Comparator, IndexUse};
use base::{Slot, TableId, Token};
use model::operation::{Direction, PartitionKey, RowStore, Stop, Visit, index_slot_key, index_slot_token};
use model::row::RowView;
use std::collections::BinaryHeap;

/// Entries that are held at the same time.
const PICKED_MAX: usize = 256;

/// Room for a place of a usual length after a value.
const PLACE_BYTES: usize = 64;

/// Entries with `from <= key < to`.
struct EntryRange {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    /// Whether they are those of one value, `from`.
    is_point: bool,
}

/// The entries whose rows are looked at.
pub(in crate::exec) struct EntryRanges {
    /// The table of the entries.
    pub(super) table: TableId,
    ranges: Vec<EntryRange>,
    /// Whether an entry stands for all rows of its partition.
    pub(super) of_partitions: bool,
}

impl EntryRanges {
    /// Those that the filters of a statement ask for.
    pub(in crate::exec) fn new(used: &IndexUse, filters: &[BoundFilter]) -> Self {
        let mut ranges = vec![EntryRange { from: FIRST_VALUE.to_vec(), to: None, is_point: false }];
        for filter in used.filters.iter().filter_map(|position| filters.get(*position)) {
            let (operator, key, values) = filter.comparison();
            let encode = |value: &Vec<u8>| value_key(used.types.iter().zip(key.into_iter().chain([value.as_slice()])));
            let Some(first) = values.first() else { continue };
            let spans = |range: &&mut EntryRange| !range.is_point;
            match operator {
                Comparator::Equal | Comparator::In | Comparator::Contains | Comparator::ContainsKey => {
                    let point = |value: Vec<u8>| EntryRange { to: after_value(&value), from: value, is_point: true };
                    ranges = values.iter().map(encode).map(point).collect();
                }
                // A value that was cut may be on either side.
                Comparator::Greater | Comparator::GreaterOrEqual => {
                    let from = encode(first);
                    ranges.iter_mut().filter(spans).for_each(|range| range.from = from.clone().max(std::mem::take(&mut range.from)));
                }
                Comparator::Less | Comparator::LessOrEqual => {
                    let end = after_value(&encode(first));
                    for range in ranges.iter_mut().filter(spans) {
                        range.to = match (range.to.take(), end.clone()) {
                            (Some(one), Some(other)) => Some(one.min(other)),
                            (one, other) => one.or(other),
                        };
                    }
                }
                Comparator::Like(_) => {
                    let (Some(ty), Some(pattern)) = (used.types.first(), filter.pattern()) else { continue };
                    let range = |from: Vec<u8>, is_point| EntryRange { to: after_value(&from), from, is_point };
                    match pattern.among() {
                        Some(Among::Equal(text)) => ranges = vec![range(value_key([(ty, text)].into_iter()), true)],
                        Some(Among::Beginning(text)) => ranges = vec![range(prefix_key(ty, text), false)],
                        Some(Among::All) => {}
                        None => ranges.clear(),
                    }
                }
                _ => {}
            }
        }
        Self { table: used.index.id, ranges, of_partitions: used.of_partitions }
    }

    /// Whether they are those of certain values.
    pub(super) fn are_points(&self) -> bool {
        self.ranges.iter().all(|range| range.is_point)
    }

    /// The slots behind `after` that are served here and have none of them, which are points.
    pub(super) fn slots_without(&self, store: &dyn RowStore, of: TableId, after: Slot) -> Vec<Slot> {
        let values = self.ranges.iter().map(|range| range.from.as_slice()).collect::<Vec<_>>();
        store.slots_without((self.table, of), &values, after)
    }

    /// The first slot from `from` to `last` that may have entries that are asked for, and whether it is known to be complete.
    pub(super) fn next_slot(&self, store: &dyn RowStore, of: TableId, from: Slot, last: Slot) -> Result<Option<(Slot, bool)>, Stop> {
        let mut first = None;
        for range in &self.ranges {
            let next = if range.is_point { store.next_slot((self.table, of), &range.from, from, last)? } else { Some((from, false)) };
            first = [first, next].into_iter().flatten().min();
        }
        Ok(first)
    }

    /// The first entries of a slot after the cursor, in ring order, and whether those are all.
    pub(super) fn pick(&self, store: &dyn RowStore, slot: Slot, cursor: &Cursor, last: Token) -> Result<(Vec<EntryKey>, bool), Stop> {
        let bytes = index_slot_key(slot);
        let partition = PartitionKey { table: self.table, token: index_slot_token(slot), bytes: &bytes };
        let mut picked: BinaryHeap<EntryKey> = BinaryHeap::new();
        let mut are_all = true;
        for range in &self.ranges {
            let mut from = Vec::with_capacity(range.from.len() + PLACE_BYTES);
            from.extend_from_slice(&range.from);
            if range.is_point {
                // The entry of a static column stands for its partition, of which some rows may have been given.
                let clustering =
                    if let (Place::After(clustering), false) = (&cursor.place, self.of_partitions) { clustering.as_slice() } else { &[] };
                EntryKey::append_place(cursor.token, &cursor.partition, clustering, &mut from);
            }
            store.scan(&partition, &from, range.to.as_deref(), Direction::Forward, &mut |key, row| {
                if RowView::new(row).liveness().is_none() {
                    return Visit::Continue;
                }
                let Some(entry) = EntryKey::read(key) else { return Visit::Continue };
                if entry.token > last {
                    return if range.is_point { Visit::Stop } else { Visit::Continue };
                }
                if !is_after(&entry, cursor) {
                    return Visit::Continue;
                }
                if picked.len() == PICKED_MAX {
                    are_all = false;
                    if picked.peek().is_none_or(|largest| entry >= *largest) {
                        // Those of one value only grow.
                        return if range.is_point { Visit::Stop } else { Visit::Continue };
                    }
                    picked.pop();
                }
                picked.push(entry);
                Visit::Continue
            })?;
        }
        let mut picked = picked.into_sorted_vec();
        // A row may have several entries.
        picked.dedup();
        Ok((picked, are_all))
    }
}

/// Whether an entry's row comes after what the cursor has passed.
fn is_after(entry: &EntryKey, cursor: &Cursor) -> bool {
    match (entry.token, entry.partition.as_slice()).cmp(&(cursor.token, cursor.partition.as_slice())) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => match &cursor.place {
            Place::Start => true,
            // The entry of a static column stands for all rows of its partition.
            Place::After(clustering) => entry.clustering.is_empty() || entry.clustering > *clustering,
            Place::End => false,
        },
    }
}
