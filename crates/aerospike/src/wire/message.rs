//! A request about records, or one message of a reply: 22 bytes of header, fields, operations.
//!
//! | offset | bytes | header |
//! |---|---|---|
//! | 0 | 1 | its length, 22 |
//! | 1 | 4 | flags: [`info1`], [`info2`], [`info3`], [`info4`] |
//! | 5 | 1 | result code, of a reply |
//! | 6 | 4 | generation |
//! | 10 | 4 | time to live; of a reply, when the record expires, in seconds since 2010 |
//! | 14 | 4 | timeout in milliseconds; of a batch's reply, the record's index |
//! | 18 | 2 | number of fields: length (4, of what follows), type (1), data |
//! | 20 | 2 | number of operations: length (4), code (1), particle type (1), flags (1), length of the name (1), name, value |

use super::{Fields, HEADER_BYTES, Header, WireError};
use crate::ResultCode;

/// Bytes of the message's own header.
pub const MESSAGE_HEADER_BYTES: usize = 22;

/// Bytes of a bin's name.
pub const BIN_NAME_BYTES_MAX: usize = 15;

/// The first byte of flags.
#[allow(missing_docs, reason = "named as the protocol names them")]
pub mod info1 {
    pub const READ: u8 = 1;
    pub const GET_ALL: u8 = 1 << 1;
    pub const SHORT_QUERY: u8 = 1 << 2;
    pub const BATCH: u8 = 1 << 3;
    pub const NO_BINS: u8 = 1 << 5;
}

/// The second byte of flags.
#[allow(missing_docs, reason = "named as the protocol names them")]
pub mod info2 {
    pub const WRITE: u8 = 1;
    pub const DELETE: u8 = 1 << 1;
    pub const GENERATION: u8 = 1 << 2;
    pub const GENERATION_GREATER: u8 = 1 << 3;
    pub const DURABLE_DELETE: u8 = 1 << 4;
    pub const CREATE_ONLY: u8 = 1 << 5;
    pub const RESPOND_ALL_OPS: u8 = 1 << 7;
}

/// The third byte of flags.
#[allow(missing_docs, reason = "named as the protocol names them")]
pub mod info3 {
    pub const LAST: u8 = 1;
    pub const PARTITION_DONE: u8 = 1 << 2;
    pub const UPDATE_ONLY: u8 = 1 << 3;
    pub const CREATE_OR_REPLACE: u8 = 1 << 4;
    pub const REPLACE_ONLY: u8 = 1 << 5;
    /// Of reads: without it they are linearizable, or the session's own writes are seen; with it any replica will do.
    pub const READ_RELAXED: u8 = 1 << 7;
}

/// The fourth byte of flags, of transactions.
#[allow(missing_docs, reason = "named as the protocol names them")]
pub mod info4 {
    pub const VERIFY: u8 = 1;
    pub const ROLL_FORWARD: u8 = 1 << 1;
    pub const ROLL_BACK: u8 = 1 << 2;
    /// The record must not be locked yet.
    pub const ON_LOCKING_ONLY: u8 = 1 << 4;
    /// Between members: all records of an ended transaction are done.
    pub const DONE: u8 = 1 << 7;
}

/// What a request says besides fields and operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// See [`info1`].
    pub info1: u8,
    /// See [`info2`].
    pub info2: u8,
    /// See [`info3`].
    pub info3: u8,
    /// See [`info4`].
    pub info4: u8,
    /// The generation that the client expects.
    pub generation: u32,
    /// Seconds; three of the largest numbers have meanings of their own.
    pub ttl: u32,
}

/// A request, or one message of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Flags, generation and time to live.
    pub attributes: Attributes,
    /// How a request ended, of a reply.
    pub result: ResultCode,
    /// A request's timeout in milliseconds; of a batch's reply, the record's index.
    pub number: u32,
    /// Its fields.
    pub fields: Fields<'a>,
    /// Its operations.
    pub operations: Operations<'a>,
}

/// An operation on a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation<'a> {
    /// What to do: [`crate::operate::code`].
    pub code: u8,
    /// The type of the value.
    pub particle: u8,
    /// The bin's name; empty for all bins, or for what is about the record.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// The operations of a request, all lengths checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations<'a> {
    count: u16,
    bytes: &'a [u8],
}

#[inline]
fn split_operation(rest: &[u8]) -> Result<(Operation<'_>, &[u8]), WireError> {
    const TRUNCATED: WireError = WireError::Truncated("an operation");
    let (length, after) = rest.split_first_chunk::<4>().ok_or(TRUNCATED)?;
    let (data, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or(TRUNCATED)?;
    let ([code, particle, _flags, name_bytes], data) = data.split_first_chunk::<4>().ok_or(TRUNCATED)?;
    let (name, value) = data.split_at_checked(usize::from(*name_bytes)).ok_or(WireError::Truncated("the name of a bin"))?;
    Ok((Operation { code: *code, particle: *particle, name, value }, after))
}

impl<'a> Operations<'a> {
    /// Checks `count` operations and gives what follows them.
    pub(super) fn read(bytes: &'a [u8], count: u16) -> Result<(Self, &'a [u8]), WireError> {
        let mut rest = bytes;
        for _ in 0..count {
            rest = split_operation(rest)?.1;
        }
        Ok((Self { count, bytes: &bytes[..bytes.len() - rest.len()] }, rest))
    }

    /// As bytes, to be kept; [`Operations::of_checked`] is the inverse.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Operations that were checked before.
    pub(crate) fn of_checked(count: u16, bytes: &'a [u8]) -> Self {
        Self { count, bytes }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The operations in order.
    pub fn iter(&self) -> impl Iterator<Item = Operation<'a>> + use<'a> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let (operation, after) = split_operation(rest).ok()?;
            rest = after;
            Some(operation)
        })
    }
}

impl<'a> Message<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// Lengths that do not fit.
    pub fn decode(body: &'a [u8]) -> Result<Self, WireError> {
        match Self::read(body)? {
            (message, []) => Ok(message),
            (_, rest) => Err(WireError::Trailing(rest.len())),
        }
    }

    /// Reads a message and gives what follows it: a reply may have many in one body.
    ///
    /// # Errors
    /// Lengths that do not fit.
    pub fn read(body: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let (header, rest) = body.split_first_chunk::<MESSAGE_HEADER_BYTES>().ok_or(WireError::Truncated("the header of a message"))?;
        if usize::from(header[0]) != MESSAGE_HEADER_BYTES {
            return Err(WireError::Length { what: "the header of a message", bytes: usize::from(header[0]) });
        }
        let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let count = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let attributes =
            Attributes { info1: header[1], info2: header[2], info3: header[3], info4: header[4], generation: number(6), ttl: number(10) };
        let (fields, rest) = Fields::read(rest, count(18))?;
        let (operations, rest) = Operations::read(rest, count(20))?;
        Ok((Self { attributes, result: ResultCode(header[5]), number: number(14), fields, operations }, rest))
    }
}

/// Reads the messages of a reply, whole frames with one or more in each.
pub(crate) fn for_each_message(mut frames: &[u8], mut visit: impl FnMut(&Message<'_>)) {
    while let Ok(Some(header)) = Header::read(frames, usize::MAX) {
        let Some((mut body, rest)) = frames[HEADER_BYTES..].split_at_checked(header.body_bytes) else { return };
        while let Ok((message, next)) = Message::read(body) {
            visit(&message);
            body = next;
        }
        frames = rest;
    }
}
