//! What a client gets with a page and brings back for the next: everything that the next page needs, so that nothing is kept here.
//!
//! | bytes | paging state |
//! |---|---|
//! | 1 | version, 1 |
//! | 4 | the table's id |
//! | 4 | rows left of LIMIT; `FF FF FF FF`: there is none |
//! | … | where the next page starts: a [`Cursor`] |
//!
//! This server's own SQL says in its place what shall be made of the rows ([`super::folded`]):
//!
//! | bytes | what |
//! |---|---|
//! | 1 | 2 |
//! | … | a [`Spec`] by the columns of the result |
//! | … | for a page after the first: a paging state |

use super::super::fetch::Cursor;
use crate::CqlError;
use crate::wire::writer::{write_byte, write_int};
use crate::wire::{Reader, WireError};
use base::TableId;
use model::aggregate::Spec;

const VERSION: u8 = 1;
/// What begins with it asks for aggregates.
const AGGREGATES: u8 = 2;

/// No LIMIT, no page size.
pub(super) const NO_LIMIT: u32 = u32::MAX;

/// The contents of a paging state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PagingState {
    /// The table it belongs to.
    pub(super) table: TableId,
    /// Rows (or groups) left of LIMIT.
    pub(super) limit_left: u32,
    /// Where the next page starts.
    pub(super) cursor: Cursor,
}

impl PagingState {
    /// The bytes that the client gets.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32 + self.cursor.partition.len());
        write_byte(&mut out, VERSION);
        write_int(&mut out, self.table.0.cast_signed());
        write_int(&mut out, self.limit_left.cast_signed());
        self.cursor.write(&mut out);
        out
    }

    /// Reads a paging state that a client sent.
    ///
    /// # Errors
    /// For everything that is not a paging state of `table`.
    pub(super) fn decode(bytes: &[u8], table: TableId) -> Result<Self, CqlError> {
        let mut reader = Reader::new(bytes);
        let read = |reader: &mut Reader<'_>| -> Result<Option<Self>, WireError> {
            if reader.byte()? != VERSION {
                return Ok(None);
            }
            let table = TableId(reader.int()?.cast_unsigned());
            let limit_left = reader.int()?.cast_unsigned();
            Ok(Cursor::read(reader)?.map(|cursor| Self { table, limit_left, cursor }))
        };
        match read(&mut reader) {
            Ok(Some(state)) if state.table == table && reader.rest().is_empty() => Ok(state),
            _ => Err(invalid()),
        }
    }
}

/// In place of a paging state, for a statement that selects the columns of a table and nothing else: its rows are aggregated, and a page is one row with one
/// cell, encoded [`model::aggregate::Partials`]. `after` is the paging state of the page before.
#[must_use]
pub fn aggregating(spec: &Spec, after: Option<&[u8]>) -> Vec<u8> {
    let mut out = vec![AGGREGATES];
    spec.encode(&mut out);
    out.extend_from_slice(after.unwrap_or_default());
    out
}

/// What is made of rows, and the paging state of the page before.
type Aggregating<'a> = (Spec, Option<&'a [u8]>);

/// What [`aggregating`] has written, for rows of so many columns; none of a paging state.
///
/// # Errors
/// It cannot be read.
pub(super) fn aggregates(bytes: &[u8], columns: usize) -> Result<Option<Aggregating<'_>>, CqlError> {
    let Some((&AGGREGATES, rest)) = bytes.split_first() else { return Ok(None) };
    let (spec, after) = Spec::decode(rest, columns).map_err(|_| invalid())?;
    Ok(Some((spec, Some(after).filter(|after| !after.is_empty()))))
}

/// The error for a paging state that is none, or not of this statement.
pub(super) fn invalid() -> CqlError {
    CqlError::Protocol("Invalid value for the paging state".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::super::fetch::Place;
    use super::*;
    use base::{Rng, Token};

    #[test]
    fn what_is_to_be_aggregated_comes_in_its_place() {
        let spec = Spec { groups: vec![1], ..Spec::default() };
        let state = PagingState {
            table: TableId(7),
            limit_left: NO_LIMIT,
            cursor: Cursor { token: Token(5), partition: vec![1], place: Place::End, given: 0 },
        }
        .encode();
        assert_eq!(aggregates(&aggregating(&spec, None), 2), Ok(Some((spec.clone(), None))));
        let next = aggregating(&spec, Some(&state));
        assert_eq!(aggregates(&next, 2), Ok(Some((spec, Some(&state[..])))));
        assert!(aggregates(&next, 1).is_err(), "there is no such column");
        assert!(aggregates(&next[..3], 2).is_err(), "cut");
        assert_eq!(aggregates(&state, 2), Ok(None));
        assert!(PagingState::decode(&next, TableId(7)).is_err());
    }

    #[test]
    fn a_state_reads_back_and_no_other_bytes_do() {
        for (place, seed) in [(Place::Start, 1), (Place::After(vec![0x40, 1, 2]), 2), (Place::End, 3)] {
            let cursor = Cursor { token: Token(-5), partition: vec![1, 2, 3], place, given: 9 };
            let state = PagingState { table: TableId(7), limit_left: 100, cursor };
            let bytes = state.encode();
            assert_eq!(PagingState::decode(&bytes, TableId(7)), Ok(state));
            assert!(PagingState::decode(&bytes, TableId(8)).is_err());
            for cut in 0..bytes.len() {
                assert!(PagingState::decode(&bytes[..cut], TableId(7)).is_err(), "cut at {cut}");
            }
            let mut rng = Rng::new(seed);
            for _ in 0..2_000 {
                let mut damaged = bytes.clone();
                let at = rng.below(damaged.len() as u64) as usize;
                damaged[at] ^= 1 << rng.below(8);
                // Another position perhaps, but never a panic or a large allocation.
                let _ = PagingState::decode(&damaged, TableId(7));
            }
        }
    }
}
