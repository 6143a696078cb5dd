//! Replies: the head that every one has, and errors; as they are written and as clients read them.

use super::Reader;
use super::frame::FrameHeader;
use super::statement;
use super::writer::{put_i32, put_i64, put_string};
use crate::{ErrorCode, GridError};

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Done.
    Success = 0,
    /// The statement is wrong.
    StatementError = 1,
    /// The node cannot do it now: the client connects again and asks again.
    NodeError = 2,
}

impl Status {
    /// The status of a number. What clients are told of a node that is the wrong one (3) is for them as any fault of a node.
    fn of_wire(number: u8) -> Self {
        match number {
            0 => Self::Success,
            1 => Self::StatementError,
            _ => Self::NodeError,
        }
    }
}

/// What of a statement its reply repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader {
    /// Which statement.
    pub statement: i32,
    /// The client's number of it.
    pub id: i64,
    /// Whether frames of the connection have addresses of IPv6.
    pub is_ipv6: bool,
    /// Whether the statement may be done twice, as what it leaves is then the same.
    pub is_repeatable: bool,
}

/// A reply in the making.
pub struct Reply {
    start: usize,
    body: usize,
}

impl ReplyHeader {
    /// Begins a reply; its results are appended, then [`Reply::end`].
    pub fn begin(self, status: Status, out: &mut Vec<u8>) -> Reply {
        let start = out.len();
        let body = FrameHeader::begin(out, self.is_ipv6);
        put_i32(out, self.statement);
        if self.statement == statement::CONNECT {
            put_i32(out, self.id as i32);
        } else {
            put_i64(out, self.id);
        }
        out.push(status as u8);
        Reply { start, body }
    }

    /// Appends the whole request that such a reply is to; `write` appends its arguments.
    pub fn write_request(self, partition: i32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        let body = FrameHeader::begin(out, self.is_ipv6);
        put_i32(out, self.statement);
        put_i32(out, partition);
        if self.statement == statement::CONNECT {
            put_i32(out, self.id as i32);
        } else {
            put_i64(out, self.id);
        }
        write(out);
        Reply { start, body }.end(out);
    }

    /// Appends a whole reply that tells of an error.
    pub fn write_error(self, status: Status, error: &GridError, out: &mut Vec<u8>) {
        let reply = self.begin(status, out);
        put_i32(out, 1);
        put_i32(out, error.code.0);
        put_string(out, &error.message);
        // Type, file and function: a server's own matter.
        for text in ["UserException", "", ""] {
            put_string(out, text);
        }
        put_i32(out, 0);
        put_string(out, error.code.name());
        put_i32(out, 0);
        reply.end(out);
    }

    /// Appends a whole reply without results.
    pub fn write_done(self, out: &mut Vec<u8>) {
        self.begin(Status::Success, out).end(out);
    }
}

/// A reply as a client reads it.
pub struct ReplyBody<'a> {
    /// The client's number of the statement.
    pub id: i64,
    /// The results, or why there are none.
    pub outcome: Result<Reader<'a>, (Status, GridError)>,
}

impl<'a> ReplyBody<'a> {
    /// Reads the body of a frame.
    ///
    /// # Errors
    /// It ends too early.
    pub fn read(body: &'a [u8]) -> Result<Self, GridError> {
        let mut reader = Reader::new(body);
        let id = if reader.i32()? == statement::CONNECT { i64::from(reader.i32()?) } else { reader.i64()? };
        let status = Status::of_wire(reader.u8()?);
        if status == Status::Success {
            return Ok(Self { id, outcome: Ok(reader) });
        }
        let _count = reader.i32()?;
        let error = GridError::new(ErrorCode(reader.i32()?), reader.string()?.to_owned());
        Ok(Self { id, outcome: Err((status, error)) })
    }
}

/// Why a statement failed, if this is the whole reply to one that did, as [`ReplyHeader::write_error`] writes it.
#[must_use]
pub fn error_of(reply: &[u8], is_ipv6: bool) -> Option<GridError> {
    let header = FrameHeader::read(reply, is_ipv6, reply.len()).ok().flatten()?;
    let body = ReplyBody::read(reply.get(header.bytes..header.bytes + header.body_bytes)?).ok()?;
    body.outcome.err().map(|(_, error)| error)
}

impl Reply {
    /// Fills in the length.
    pub fn end(self, out: &mut [u8]) {
        let length = (out.len() - self.body) as u32;
        out[self.body - 4..self.body].copy_from_slice(&length.to_le_bytes());
    }

    /// Forgets the reply.
    pub fn abandon(self, out: &mut Vec<u8>) {
        out.truncate(self.start);
    }
}
