//! A client's request in the form in which it is forwarded: the frame, and the texts of prepared statements, which the other member may not have.
//!
//! | bytes | request |
//! |---|---|
//! | 2 + n | the connection's keyspace; length 65,535 for none |
//! | 2 | how many texts; the highest bit: the client sees masks in place of masked columns |
//! | … | each: keyspace as above, 4 + n the text |
//! | … | a plain frame of the client's protocol version |
//!
//! Integers are big-endian, as CQL's.

use super::reply_header::ReplyHeader;
use cql::plan::Prepared;
use cql::wire::{Direction, FRAME_HEADER_BYTES, Frame, FrameFlags, FrameHeader, Reader, Request, WireError, begin_frame, end_frame};
use std::sync::Arc;

const NO_KEYSPACE: u16 = u16::MAX;
/// With the number of texts. No schema has masks before all members know this bit.
const MASKED: u16 = 1 << 15;

/// A forwarded request.
pub(crate) struct Travelled<'a> {
    pub(crate) keyspace: Option<&'a str>,
    /// Whether the client sees masks in place of masked columns.
    pub(crate) is_masked: bool,
    /// Keyspaces and texts of prepared statements that it names.
    pub(crate) texts: Vec<(Option<&'a str>, &'a str)>,
    pub(crate) header: FrameHeader,
    pub(crate) request: Request<'a>,
    /// All of it, as it travels.
    pub(crate) bytes: &'a [u8],
}

/// Writes a request; `None` if its protocol version cannot say it, which no decoded request is.
pub(crate) fn pack(header: ReplyHeader, keyspace: Option<&str>, request: &Request<'_>, prepared: &[&Arc<Prepared>]) -> Option<Box<[u8]>> {
    let mut out = Vec::new();
    write_keyspace(&mut out, keyspace);
    let masked = if prepared.iter().any(|prepared| prepared.is_masked) { MASKED } else { 0 };
    out.extend_from_slice(&(prepared.len() as u16 | masked).to_be_bytes());
    for prepared in prepared {
        write_keyspace(&mut out, prepared.keyspace.as_deref());
        out.extend_from_slice(&(prepared.text.len() as u32).to_be_bytes());
        out.extend_from_slice(prepared.text.as_bytes());
    }
    let mark = begin_frame(&mut out, header.version, Direction::Request, FrameFlags::NONE, header.stream, request.opcode());
    request.write(&mut out, header.version).ok()?;
    end_frame(&mut out, mark).ok()?;
    Some(out.into_boxed_slice())
}

/// Reads what [`pack`] has written.
///
/// # Errors
/// Malformed bytes.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Option<Travelled<'_>>, WireError> {
    let mut reader = Reader::new(bytes);
    let keyspace = read_keyspace(&mut reader)?;
    let count = reader.short()?;
    let (is_masked, count) = (count & MASKED != 0, count & !MASKED);
    let mut texts = Vec::new();
    for _ in 0..count {
        let keyspace = read_keyspace(&mut reader)?;
        texts.push((keyspace, reader.long_string()?));
    }
    let frame = reader.rest();
    let Some(header) = FrameHeader::parse(frame)? else { return Ok(None) };
    let (_, body) = frame.split_at(FRAME_HEADER_BYTES);
    if body.len() != header.body_bytes as usize {
        return Ok(None);
    }
    let (_, request) = Request::decode(&Frame { header, body })?;
    Ok(Some(Travelled { keyspace, is_masked, texts, header, request, bytes }))
}

fn write_keyspace(out: &mut Vec<u8>, keyspace: Option<&str>) {
    let length = keyspace.map_or(NO_KEYSPACE, |keyspace| keyspace.len() as u16);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(keyspace.unwrap_or_default().as_bytes());
}

fn read_keyspace<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a str>, WireError> {
    let mut ahead = *reader;
    if ahead.short()? == NO_KEYSPACE {
        *reader = ahead;
        return Ok(None);
    }
    reader.string().map(Some)
}
