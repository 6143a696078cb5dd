//! Keys of entries, as `cql::index` writes them; a test of `node` compares what both make of the same records.
//!
//! | bytes | |
//! |---|---|
//! | … | the value: `20` if it is empty; else `40` and an integer with its sign bit flipped, or bytes with `00` as `00 FF` and `00 00` at the end; cut |
//! | 8 | the record's token, sign bit flipped |
//! | … | its digest, encoded as bytes are |
//! | 2 | bytes of the value |

use super::definition::{Definition, ValueKind};
use crate::geo::{self, CellRange, Shape};
use base::Token;
use model::operation::{INDEX_VALUE_BYTES_MAX, PrefixOf};
use model::record_set::DIGEST_BYTES;
use model::{Index, Table};
use std::collections::BTreeSet;

const EMPTY: u8 = 0x20;
const VALUE: u8 = 0x40;

/// Keys of entries begin with their value, none of which begins with less.
pub(crate) const FIRST_VALUE: &[u8] = &[EMPTY];

/// Entries with `from <= key < to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryRange {
    pub(crate) from: Vec<u8>,
    pub(crate) to: Option<Vec<u8>>,
}

/// Which entries a query looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryRanges {
    /// In their order, none in another; at least one.
    pub(crate) ranges: Vec<EntryRange>,
    /// What all of them begin with, if they are of one value: then they are in the order of the records.
    pub(crate) value: Option<Vec<u8>>,
    /// What they begin with, if that is little enough to look for the slots that have such entries; else empty.
    pub(crate) prefixes: Vec<Vec<u8>>,
}

/// Bytes of cells' numbers by which slots are found: squares of some 120, 8 and 0.5 km a side on Earth.
const PREFIX_BYTES: [usize; 3] = [2, 3, 4];
/// Slots are looked for by at most so many prefixes: each slot that is found is one look-up for each of them.
const PREFIXES_MAX: u64 = 16;

impl EntryRanges {
    /// The entries of values from one to another, ends included.
    pub(super) fn new(kind: ValueKind, low: &[u8], high: &[u8]) -> Self {
        let (from, last) = (value_key(kind, low), value_key(kind, high));
        let value = (from == last).then(|| from.clone());
        Self { prefixes: value.clone().into_iter().collect(), value, ranges: vec![EntryRange { from, to: after(last) }] }
    }

    /// The entries of what a shape may meet.
    pub(super) fn of_shape(shape: &Shape) -> Self {
        let key = |cell: u64| [&[VALUE][..], &cell.to_be_bytes()].concat();
        let range = |(first, last): CellRange| EntryRange { from: key(first), to: after(key(last)) };
        let cells = geo::ranges(shape);
        let prefixes = PREFIX_BYTES.iter().rev().find_map(|bytes| prefixes(&cells, *bytes)).unwrap_or_default();
        Self { ranges: cells.into_iter().map(range).collect(), value: None, prefixes }
    }

    /// The prefixes of entries by which slots are found, by their number.
    pub(crate) fn prefix_of(&self) -> PrefixOf {
        prefix_of(self.value.is_some())
    }

    /// The first key of a record that comes after this one, or at a token, in a range of one value.
    pub(crate) fn from_place(value: &[u8], token: Token, after: Option<&[u8; DIGEST_BYTES]>) -> Vec<u8> {
        let mut key = value.to_vec();
        key.extend_from_slice(&(token.0 ^ i64::MIN).to_be_bytes());
        put_bytes(after.map_or(&[], |digest| digest.as_slice()), &mut key);
        key
    }
}

/// The prefixes of so many bytes that cells in these ranges have; none if they are too many.
fn prefixes(cells: &[CellRange], bytes: usize) -> Option<Vec<Vec<u8>>> {
    let cut = |cell: u64| cell >> (64 - 8 * bytes);
    let mut found = BTreeSet::new();
    for (first, last) in cells {
        if cut(*last) - cut(*first) >= PREFIXES_MAX {
            return None;
        }
        found.extend(cut(*first)..=cut(*last));
    }
    let key = |cut: &u64| [&[VALUE][..], &cut.to_be_bytes()[8 - bytes..]].concat();
    (found.len() as u64 <= PREFIXES_MAX).then(|| found.iter().map(key).collect())
}

fn prefix_of(is_of_values: bool) -> PrefixOf {
    if is_of_values { prefix_of_value } else { prefix_of_cell }
}

/// The prefixes of an index's entries by which slots are found, by their number; `None` if it is none of this protocol's.
#[must_use]
pub fn prefix_of_entries(table: &Table, index: &Index) -> Option<PrefixOf> {
    Definition::of(table, index).map(|definition| prefix_of(definition.kind != ValueKind::Geo))
}

/// The prefixes of a cell's entry by which slots are found, by their number.
fn prefix_of_cell(key: &[u8], number: usize) -> Option<&[u8]> {
    value_of_entry(key)?.get(..1 + PREFIX_BYTES.get(number)?)
}

/// Other entries have one: their value.
fn prefix_of_value(key: &[u8], number: usize) -> Option<&[u8]> {
    if number == 0 { value_of_entry(key) } else { None }
}

fn value_key(kind: ValueKind, value: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    match (kind, <[u8; 8]>::try_from(value)) {
        (ValueKind::Numeric, Ok(number)) => {
            key.push(VALUE);
            key.extend_from_slice(&(i64::from_be_bytes(number) ^ i64::MIN).to_be_bytes());
        }
        _ => put_bytes(value, &mut key),
    }
    key.truncate(INDEX_VALUE_BYTES_MAX);
    key
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_empty() {
        return out.push(EMPTY);
    }
    out.push(VALUE);
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The first key after all that begin with `prefix`.
fn after(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

/// The value that an entry's key begins with; `None` for other keys of a slot.
pub(super) fn value_of_entry(key: &[u8]) -> Option<&[u8]> {
    let (rest, value_bytes) = key.split_last_chunk::<2>()?;
    rest.get(..usize::from(u16::from_be_bytes(*value_bytes)))
}

/// Where the record of an entry is; `None` for bytes that are no entry of a record.
pub(crate) fn place_of_entry(key: &[u8]) -> Option<(Token, [u8; DIGEST_BYTES])> {
    let value_bytes = value_of_entry(key)?.len();
    let (token, rest) = key[value_bytes..key.len() - 2].split_first_chunk::<8>()?;
    let mut rest = rest.strip_prefix(&[VALUE])?.strip_suffix(&[0, 0])?;
    let mut digest = [0; DIGEST_BYTES];
    for byte in &mut digest {
        (*byte, rest) = match rest {
            [0, 0xFF, rest @ ..] => (0, rest),
            [0, ..] | [] => return None,
            [byte, rest @ ..] => (*byte, rest),
        };
    }
    rest.is_empty().then_some((Token(i64::from_be_bytes(*token) ^ i64::MIN), digest))
}
