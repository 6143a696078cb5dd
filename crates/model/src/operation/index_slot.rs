//! Where the entries of an index are, whatever protocol's clients made it: `docs/decisions/0024-secondary-indexes.md`.
//!
//! Entries of the rows of one slot are one partition of the index's table. Their keys begin with the value; keys that begin with less are of rows
//! about the slot itself.

use super::FIRST_ROW_BYTE;
use crate::row::{Content, RowView};
use base::{Slot, Token};

/// What of an encoded value is in its entry: longer ones are cut, so that they are found among those that begin alike.
pub const INDEX_VALUE_BYTES_MAX: usize = 1024;

/// The key of the row that says how far the slot's index has come.
pub const INDEX_STATE_KEY: &[u8] = &[FIRST_ROW_BYTE];

/// The key of the row that says that the slot has rows whose keys are too long for entries.
pub const INDEX_OVERSIZE_KEY: &[u8] = &[FIRST_ROW_BYTE + 1];

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
