//! Rows by the entries of an index, where there are few of them.

use super::rows::after;
use crate::GridError;
use crate::container::Container;
use crate::failure::Failure;
use crate::row::{StoredRow, live};
use crate::tql::{IndexRange, KeyRange};
use base::TableId;
use model::operation::{
    Direction, INDEX_OVERSIZE_KEY, INDEX_STATE_KEY, PartitionKey, RowStore, Stop, Visit, index_slot_key, index_slot_token,
    is_index_complete,
};
use std::ops::Bound;

/// With more rows than this the container's rows are scanned: a row by its key costs several of those that a scan meets.
const ROWS_MAX: usize = 1_024;
/// So many entries are looked at, those of deleted rows included.
const VISITED_MAX: usize = 4 * ROWS_MAX;
/// So many rows are read from the device at a time.
const ROWS_AT_ONCE: usize = 64;

/// Entries begin with their value; no value begins with less than this byte.
const FIRST_VALUE: &[u8] = &[0x20];
/// An entry ends with the length of its value.
const LENGTH_BYTES: usize = 2;

/// Where the rows are that a statement needs.
pub(super) struct Located {
    /// The index that has told.
    pub(super) entries: TableId,
    /// Their keys, in the order of a scan.
    pub(super) keys: Vec<Vec<u8>>,
}

/// Locates all rows from one to before another that a statement needs; none if no index is of use.
pub(super) fn keys(
    container: &Container,
    ranges: &[IndexRange],
    (from, to): (&[u8], Option<&[u8]>),
    direction: Direction,
    store: &dyn RowStore,
) -> Result<Option<Located>, Stop> {
    for range in ranges {
        if let Some(mut keys) = keys_of(container, range, (from, to), store)? {
            keys.sort_unstable();
            keys.dedup();
            if keys.len() > ROWS_MAX {
                continue;
            }
            if direction == Direction::Reverse {
                keys.reverse();
            }
            return Ok(Some(Located { entries: range.entries, keys }));
        }
    }
    Ok(None)
}

/// The row keys of one index's entries; none if there are too many, or the index is not complete yet.
fn keys_of(
    container: &Container,
    range: &IndexRange,
    (from, to): (&[u8], Option<&[u8]>),
    store: &dyn RowStore,
) -> Result<Option<Vec<Vec<u8>>>, Stop> {
    let slot = container.partition().token.slot();
    let bytes = index_slot_key(slot);
    let partition = PartitionKey { table: range.entries, token: index_slot_token(slot), bytes: &bytes };
    if !is_index_complete(store.get(&partition, INDEX_STATE_KEY)?) || store.get(&partition, INDEX_OVERSIZE_KEY)?.is_some() {
        return Ok(None);
    }
    let place = place(container);
    let (mut keys, mut visited, keys_max) = (Vec::new(), 0, ROWS_MAX * range.entries_a_row);
    for values in &range.values {
        let (first, last) = match &range.value {
            Some(value) => {
                let last = to.map_or_else(|| upper(values), |to| Some([&value[..], &place, to].concat()));
                ([&value[..], &place, from].concat(), last)
            }
            None => (lower(values), upper(values)),
        };
        store.scan(&partition, &first, last.as_deref(), Direction::Forward, &mut |entry, row| {
            visited += 1;
            let key = row_key(entry, &place).filter(|key| live(row).is_some() && *key >= from && to.is_none_or(|to| *key < to));
            keys.extend(key.map(<[u8]>::to_vec));
            if keys.len() > keys_max || visited > VISITED_MAX { Visit::Stop } else { Visit::Continue }
        })?;
        if keys.len() > keys_max || visited > VISITED_MAX {
            return Ok(None);
        }
    }
    Ok(Some(keys))
}

fn lower(values: &KeyRange) -> Vec<u8> {
    match &values.lower {
        Bound::Unbounded => FIRST_VALUE.to_vec(),
        Bound::Included(key) => key.clone(),
        Bound::Excluded(key) => after(key.clone()),
    }
}

fn upper(values: &KeyRange) -> Option<Vec<u8>> {
    match &values.upper {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(after(key.clone())),
        Bound::Excluded(key) => Some(key.clone()),
    }
}

/// What stands between value and row key in all entries of a container: the token with the sign bit flipped, and the partition key as a text is
/// encoded.
fn place(container: &Container) -> Vec<u8> {
    let partition = container.partition();
    let mut place = (partition.token.0 ^ i64::MIN).to_be_bytes().to_vec();
    crate::key::encode_indexed(crate::ElementType::String, partition.bytes, &mut place);
    place
}

/// The row key that an entry has.
fn row_key<'e>(entry: &'e [u8], place: &[u8]) -> Option<&'e [u8]> {
    let (entry, value_bytes) = entry.split_last_chunk::<LENGTH_BYTES>()?;
    entry.get(usize::from(u16::from_be_bytes(*value_bytes))..)?.strip_prefix(place)
}

/// Visits the rows of these keys, as [`super::rows::scan`] does.
pub(super) fn visit(
    container: &Container,
    keys: &[Vec<u8>],
    store: &dyn RowStore,
    visit: impl FnMut(&StoredRow<'_>) -> Result<Visit, GridError>,
) -> Result<(), Failure> {
    visit_at_once(container, (keys, ROWS_AT_ONCE), store, visit)
}

/// The same, where so many rows are read from the device at a time.
pub(super) fn visit_at_once(
    container: &Container,
    (keys, rows_at_once): (&[Vec<u8>], usize),
    store: &dyn RowStore,
    mut visit: impl FnMut(&StoredRow<'_>) -> Result<Visit, GridError>,
) -> Result<(), Failure> {
    let partition = container.partition();
    for keys in keys.chunks(rows_at_once) {
        let mut is_missing = false;
        for clustering in keys {
            match store.get(&partition, clustering) {
                // What else is on the device is read together with it.
                Err(Stop::Miss) => is_missing = true,
                Err(stop) => return Err(stop.into()),
                Ok(_) if is_missing => {}
                Ok(row) => {
                    let Some(view) = row.and_then(live) else { continue };
                    if visit(&StoredRow { container, clustering, view })? == Visit::Stop {
                        return Ok(());
                    }
                }
            }
        }
        if is_missing {
            return Err(Stop::Miss.into());
        }
    }
    Ok(())
}
