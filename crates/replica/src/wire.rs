//! Bodies of the frames of a stream. All numbers are little endian.
//!
//! | Append | bytes |
//! |---|---|
//! | 8 | version of the metadata that the sender goes by |
//! | 8 | sequence up to which everything that was sent is committed |
//! | 8 | position of the first item in the stream; each that follows has the next |
//! | … | items |
//!
//! | Item | bytes |
//! |---|---|
//! | 8 | sequence: of the primary's engine, ascending |
//! | 8 | term of the slot |
//! | 8 | largest write timestamp so far, in microseconds |
//! | 4 | table of its first row |
//! | 2 | slot |
//! | 1 | purpose: 0 a write, 1 an image for one that catches up |
//! | 1 | 0 |
//! | 4 | length of the rows |
//! | … | rows: one atomic group |

use base::{Epoch, Slot, TableId};

const APPEND_HEAD_BYTES: usize = 24;
pub(crate) const ITEM_HEAD_BYTES: usize = 36;

/// Bytes that are no stream's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A body ends within a field.
    #[error("an Append ends {missing} bytes too early")]
    Short {
        /// How many are missing.
        missing: usize,
    },
    /// Items are missing, or come twice.
    #[error("an Append begins at position {found}, expected {expected}")]
    Gap {
        /// Where it begins.
        found: u64,
        /// Where the one before ended.
        expected: u64,
    },
    /// A field has a value that it cannot have.
    #[error("an Append has purpose {purpose} and slot {slot}")]
    Field {
        /// As sent.
        purpose: u8,
        /// As sent.
        slot: u16,
    },
}

/// What an item is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A client's write.
    Write = 0,
    /// What a row is now, for a replica that may not have it.
    Image = 1,
}

/// An item of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The primary's engine's sequence once it was written.
    pub sequence: u64,
    /// The primary's term.
    pub term: Epoch,
    /// The largest write timestamp that the primary's core has given so far.
    pub timestamp_us: i64,
    /// The table of its first row.
    pub table: TableId,
    /// The slot of all its rows.
    pub slot: Slot,
    /// What it is for.
    pub purpose: Purpose,
    /// The rows.
    pub rows: &'a [u8],
}

/// A decoded Append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Append<'a> {
    /// The version of the metadata that the sender goes by.
    pub version: u64,
    /// Up to this sequence, all that was sent is committed.
    pub committed: u64,
    /// The first item's place in the stream.
    pub position: u64,
    /// The items.
    pub items: Items<'a>,
}

/// Items that were received, to be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items<'a>(&'a [u8]);

/// Starts the body of an Append.
pub fn begin_append(out: &mut Vec<u8>, version: u64, committed: u64, position: u64) {
    for number in [version, committed, position] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// Appends an item to the body of an Append.
pub fn push_item(out: &mut Vec<u8>, item: &Item<'_>) {
    let mut head = [0; ITEM_HEAD_BYTES];
    head[..8].copy_from_slice(&item.sequence.to_le_bytes());
    head[8..16].copy_from_slice(&item.term.0.to_le_bytes());
    head[16..24].copy_from_slice(&item.timestamp_us.to_le_bytes());
    head[24..28].copy_from_slice(&item.table.0.to_le_bytes());
    head[28..30].copy_from_slice(&item.slot.0.to_le_bytes());
    head[30] = item.purpose as u8;
    head[32..].copy_from_slice(&(item.rows.len() as u32).to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(item.rows);
}

impl<'a> Append<'a> {
    /// Reads a frame's body.
    ///
    /// # Errors
    /// A head that is not whole.
    pub fn decode(body: &'a [u8]) -> Result<Self, WireError> {
        let (version, rest) = number(body)?;
        let (committed, rest) = number(rest)?;
        let (position, rest) = number(rest)?;
        Ok(Self { version, committed, position, items: Items(rest) })
    }
}

impl<'a> Items<'a> {
    /// Bytes that were not looked at yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Items from bytes that [`Items::rest`] gave.
    #[must_use]
    pub fn from_rest(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next item.
    ///
    /// # Errors
    /// What follows is none.
    pub fn next_item(&mut self) -> Result<Option<Item<'a>>, WireError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (sequence, rest) = number(self.0)?;
        let (term, rest) = number(rest)?;
        let (timestamp, rest) = number(rest)?;
        let missing = || WireError::Short { missing: ITEM_HEAD_BYTES - 24 - rest.len() };
        let (head, rest) = rest.split_first_chunk::<12>().ok_or_else(missing)?;
        let [t0, t1, t2, t3, s0, s1, purpose, _, l0, l1, l2, l3] = *head;
        let slot = u16::from_le_bytes([s0, s1]);
        let field = WireError::Field { purpose, slot };
        let purpose = match purpose {
            0 => Purpose::Write,
            1 => Purpose::Image,
            _ => return Err(field),
        };
        if u32::from(slot) >= base::SLOT_COUNT {
            return Err(field);
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let Some((rows, rest)) = rest.split_at_checked(length) else {
            return Err(WireError::Short { missing: length - rest.len() });
        };
        self.0 = rest;
        Ok(Some(Item {
            sequence,
            term: Epoch(term),
            timestamp_us: timestamp.cast_signed(),
            table: TableId(u32::from_le_bytes([t0, t1, t2, t3])),
            slot: Slot(slot),
            purpose,
            rows,
        }))
    }
}

fn number(bytes: &[u8]) -> Result<(u64, &[u8]), WireError> {
    let (number, rest) = bytes.split_first_chunk::<8>().ok_or(WireError::Short { missing: 8 - bytes.len().min(8) })?;
    Ok((u64::from_le_bytes(*number), rest))
}

const _: () = assert!(APPEND_HEAD_BYTES == 24 && ITEM_HEAD_BYTES == 24 + 12);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Rng;

    fn item(rows: &[u8]) -> Item<'_> {
        Item { sequence: 7, term: Epoch(3), timestamp_us: -5, table: TableId(0x0102_0304), slot: Slot(4095), purpose: Purpose::Image, rows }
    }

    #[test]
    fn items_come_out_as_they_went_in() {
        let mut body = Vec::new();
        begin_append(&mut body, 1, 2, 3);
        push_item(&mut body, &item(b"rows"));
        push_item(&mut body, &item(b""));
        let append = Append::decode(&body).unwrap();
        assert_eq!((append.version, append.committed, append.position), (1, 2, 3));
        let mut items = append.items;
        assert_eq!(items.next_item(), Ok(Some(item(b"rows"))));
        assert_eq!(items.next_item(), Ok(Some(item(b""))));
        assert_eq!(items.next_item(), Ok(None));
    }

    #[test]
    fn an_item_is_these_bytes() {
        let mut bytes = Vec::new();
        push_item(&mut bytes, &item(b"ab"));
        let golden: &[u8] = &[
            7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 4, 3, 2, 1, 0xFF, 0x0F, 1, 0,
            2, 0, 0, 0, b'a', b'b',
        ];
        assert_eq!(bytes, golden);
    }

    #[test]
    fn what_is_cut_or_changed_is_refused_or_another_item() {
        let mut body = Vec::new();
        begin_append(&mut body, 1, 2, 3);
        push_item(&mut body, &item(b"some rows"));
        for cut in APPEND_HEAD_BYTES + 1..body.len() {
            let mut items = Append::decode(&body[..cut]).unwrap().items;
            assert!(matches!(items.next_item(), Err(WireError::Short { .. })), "cut at {cut}");
        }
        let mut rng = Rng::new(1);
        for _ in 0..10_000 {
            let mut body = body.clone();
            let at = rng.below(body.len() as u64) as usize;
            body[at] ^= 1 << rng.below(8);
            let mut items = Append::decode(&body).unwrap().items;
            while let Ok(Some(_)) = items.next_item() {}
        }
    }
}
