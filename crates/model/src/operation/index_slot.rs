//! Where the entries of an index are, whatever protocol's clients made it: `docs/decisions/0024-secondary-indexes.md`.
//!
//! Entries of the rows of one slot are one partition of the index's table. Their keys begin with the value; keys that begin with less are of rows
//! about the slot itself.

use super::{FIRST_ROW_BYTE, PartitionKey};
use crate::row::{Content, RowView};
use base::{Slot, Token};

/// What of an encoded value is in its entry: longer ones are cut, so that they are found among those that begin alike.
pub const INDEX_VALUE_BYTES_MAX: usize = 1024;

/// The key of the row that says how far the slot's index has come.
pub const INDEX_STATE_KEY: &[u8] = &[FIRST_ROW_BYTE];

/// The key of the row that says that the slot has rows whose keys are too long for entries.
pub const INDEX_OVERSIZE_KEY: &[u8] = &[FIRST_ROW_BYTE + 1];

/// Gives the prefixes of an entry's key by which slots are found, by their number from 0 on; none of a key that is no entry, and after the last one.
pub type PrefixOf = fn(&[u8], usize) -> Option<&[u8]>;

/// Entries of a slot that are to be read for the filter of their index.
#[derive(Clone, Copy, Debug)]
pub struct EntryStretch<'a> {
    /// All entries of the slot are rows of this partition, from the key `first` on.
    pub partition: PartitionKey<'a>,
    /// The first key.
    pub first: &'a [u8],
    /// Their prefixes.
    pub prefix_of: PrefixOf,
    /// No more than so many.
    pub rows_max: usize,
    /// Whether to fetch those that are not in memory. If not, none of them is worth an error.
    pub fetches: bool,
}

/// How far [`super::RowStore::cover_slot`] has come with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covering {
    /// No further: an entry is none, or not in memory, or others come first.
    Refused,
    /// There is more to read.
    Partly,
    /// To the end.
    Whole,
}

/// The partition key of a slot's entries.
#[must_use]
pub fn index_slot_key(slot: Slot) -> [u8; 2] {
    slot.0.to_be_bytes()
}

/// The token of a slot's entries. The ring's first token is nobody's.
#[must_use]
pub fn index_slot_token(slot: Slot) -> Token {
    Token(slot.first_token().0 | 1)
}

/// Whether a slot's state says that all of its rows have their entries.
#[must_use]
pub fn is_index_complete(state: Option<&[u8]>) -> bool {
    let cell = state.and_then(|state| RowView::new(state).cells().next());
    cell.is_some_and(|cell| matches!(cell.content, Content::Value([])))
}
