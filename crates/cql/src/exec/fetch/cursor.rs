//! Where a fetch goes on.
//!
//! | bytes | cursor |
//! |---|---|
//! | 8 | token |
//! | 2 + n | partition key |
//! | 1 | 0: at the partition's start, 1: after a row, 2: after the partition |
//! | 2 + n | with 1: the row's clustering key |
//! | 4 | rows given of the partition so far |
//!
//! Integers are big-endian. It is a position, not a row: the rows around it may come and go.

use crate::wire::writer::{write_byte, write_int, write_long, write_short_bytes};
use crate::wire::{Reader, WireError};
use base::Token;

/// A position between rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Cursor {
    /// The partition's token.
    pub(in crate::exec) token: Token,
    /// The partition's key; empty for what comes first with this token.
    pub(in crate::exec) partition: Vec<u8>,
    /// Where in the partition.
    pub(in crate::exec) place: Place,
    /// How many rows (or groups) of the partition were given already.
    pub(in crate::exec) given: u32,
}

/// A position within a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Place {
    /// Before its first row.
    Start,
    /// After the row with this clustering key.
    After(Vec<u8>),
    /// After its last row.
    End,
}

impl Cursor {
    /// The start of a partition, or with an empty key of a token.
    pub(in crate::exec) fn start(token: Token, partition: Vec<u8>) -> Self {
        Self { token, partition, place: Place::Start, given: 0 }
    }

    /// Appends it.
    pub(in crate::exec) fn write(&self, out: &mut Vec<u8>) {
        write_long(out, self.token.0);
        write_short_bytes(out, &self.partition);
        match &self.place {
            Place::Start => write_byte(out, 0),
            Place::After(clustering) => {
                write_byte(out, 1);
                write_short_bytes(out, clustering);
            }
            Place::End => write_byte(out, 2),
        }
        write_int(out, self.given.cast_signed());
    }

    /// Reads one; `None` for a byte that is no place.
    ///
    /// # Errors
    /// When the bytes end too early.
    pub(in crate::exec) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let token = Token(reader.long()?);
        let partition = reader.short_bytes()?.to_vec();
        let place = match reader.byte()? {
            0 => Place::Start,
            1 => Place::After(reader.short_bytes()?.to_vec()),
            2 => Place::End,
            _ => return Ok(None),
        };
        let given = reader.int()?.cast_unsigned();
        Ok(Some(Self { token, partition, place, given }))
    }
}
