//! Replies: the head that every one has, and errors.

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

/// Why a statement failed, if this is the whole reply to one that did, as [`ReplyHeader::write_error`] writes it.
#[must_use]
pub fn error_of(reply: &[u8], is_ipv6: bool) -> Option<GridError> {
    let header = FrameHeader::read(reply, is_ipv6, reply.len()).ok().flatten()?;
    let mut reader = Reader::new(reply.get(header.bytes..header.bytes + header.body_bytes)?);
    let id_bytes = if reader.i32().ok()? == statement::CONNECT { 4 } else { 8 };
    reader.take(id_bytes).ok()?;
    if reader.u8().ok()? == Status::Success as u8 {
        return None;
    }
    let _count = reader.i32().ok()?;
    Some(GridError::new(ErrorCode(reader.i32().ok()?), reader.string().ok()?.to_owned()))
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
