//! The outbox: what was written and the node has yet to send, a piece a slot.

use super::place::{KeyspaceNumber, Place, SetId};
use base::{Slot, TableId};
use engine::Sequence;

/// Buffers larger than this are not kept.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// One operation's write to one slot, for the slot's replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written<'a> {
    /// The keyspace of its tables.
    pub keyspace: KeyspaceNumber,
    /// The slot of all its rows.
    pub slot: Slot,
    /// The table of its first row.
    pub table: TableId,
    /// The slot's set.
    pub set: SetId,
    /// The sequence of the last row: the write is committed once the set is committed up to here. Later writes have larger ones.
    pub sequence: Sequence,
    /// The operation's write timestamp: later writes of other members must have larger ones.
    pub timestamp_us: i64,
    /// The rows, for [`WriteBatch::append_received`].
    pub rows: &'a [u8],
}

struct Piece {
    place: Place,
    table: TableId,
    sequence: Sequence,
    timestamp_us: i64,
    /// Where its rows end in the outbox's bytes.
    end: usize,
}

/// Pieces in the order in which they were written.
#[derive(Default)]
pub(super) struct Outbox {
    pieces: Vec<Piece>,
    bytes: Vec<u8>,
}

impl Outbox {
    /// Appends rows to the piece that comes next.
    #[inline]
    pub(super) fn append(&mut self, rows: &[u8]) {
        self.bytes.extend_from_slice(rows);
    }

    /// Ends the piece: all rows since the last one are of this place.
    #[inline]
    pub(super) fn end_piece(&mut self, place: Place, table: TableId, sequence: Sequence, timestamp_us: i64) {
        self.pieces.push(Piece { place, table, sequence, timestamp_us, end: self.bytes.len() });
    }

    pub(super) fn written(&self) -> impl Iterator<Item = Written<'_>> {
        let mut start = 0;
        self.pieces.iter().map(move |piece| {
            let Place { keyspace, slot, set } = piece.place;
            let rows = &self.bytes[std::mem::replace(&mut start, piece.end)..piece.end];
            Written { keyspace, slot, table: piece.table, set, sequence: piece.sequence, timestamp_us: piece.timestamp_us, rows }
        })
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
    }
}
