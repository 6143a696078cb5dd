//! Row sets that go on: what a query or a part has left is kept for the next part, a few hundred bytes for each, until the client has all rows,
//! closes it, logs out or is gone. The rows themselves stay where they are.
//!
//! The core that runs a query tells at the end of its result with what the row set goes on (`exec::row_set`). That is taken out of the reply
//! here, and given to the statement that asks for the next part.

use crate::exec::RESUME;
use crate::wire::{FrameHeader, Options, Reader, ReplyHeader, Statement, Status, statement};
use crate::{ErrorCode, GridError};
use std::collections::BTreeMap;

/// How many a connection has open at most.
const OPEN_MAX: usize = 1_024;
/// How many bytes it keeps of them.
const BYTES_MAX: usize = 4 << 20;

/// The body of a reply begins with the statement, its number and the status.
const REPLY_HEAD_BYTES: usize = 13;
/// A result begins with its kind and its length.
const RESULT_HEAD_BYTES: usize = 5;
/// A result of rows that go on is followed by how many there are and by what they go on with.
const RESULTS: usize = 3;

/// All of a connection.
#[derive(Debug, Default)]
pub(super) struct RowSets {
    open: BTreeMap<i64, RowSet>,
    last: i64,
    bytes: usize,
    /// The one whose next part is under way.
    fetched: i64,
}

#[derive(Debug)]
struct RowSet {
    container: i64,
    /// How many rows its client has got.
    given: u64,
    resume: Box<[u8]>,
}

impl RowSets {
    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        (self.open, self.bytes) = (BTreeMap::new(), 0);
    }

    /// CLOSE_ROW_SET. One that is not open is closed already.
    pub(super) fn close(&mut self, mut arguments: Reader<'_>) -> Result<(), GridError> {
        let _container = arguments.i64()?;
        Options::read(&mut arguments)?;
        self.forget(arguments.i64()?);
        Ok(())
    }

    fn forget(&mut self, id: i64) {
        self.bytes -= self.open.remove(&id).map_or(0, |known| known.bytes());
    }

    /// The body of FETCH_ROW_SET with what the row set goes on with.
    ///
    /// # Errors
    /// There is no such row set, or it is elsewhere.
    pub(super) fn fetch(&mut self, statement: &Statement<'_>, body: &[u8]) -> Result<Vec<u8>, GridError> {
        let mut reader = statement.arguments;
        let container = reader.i64()?;
        let (_session, _uuid, _version, _modes) = (reader.i64()?, reader.uuid()?, reader.i32()?, reader.take(2)?);
        Options::read(&mut reader)?;
        let (id, position, _size) = (reader.i64()?, reader.i64()?, reader.i64()?);
        let known = self.open.get(&id).filter(|known| known.container == container);
        let invalid = |message| GridError::new(ErrorCode::DS_DS_RESULT_ID_INVALID, message);
        let known = known.ok_or_else(|| invalid(format!("there is no row set {id} of the container {container}: query again")))?;
        if u64::try_from(position) != Ok(known.given) {
            let message = format!("the row set {id} goes on with row {}, not with row {position}: query again", known.given);
            return Err(invalid(message));
        }
        self.fetched = id;
        Ok([&body[..body.len() - reader.rest().len()], &known.resume].concat())
    }

    /// Takes what row sets go on with out of a reply, which begins at `start`, and keeps it. If there is no room the reply becomes a refusal.
    pub(super) fn follow(&mut self, start: usize, is_ipv6: bool, out: &mut Vec<u8>) {
        let Ok(Some(header)) = FrameHeader::read(&out[start..], is_ipv6, usize::MAX) else { return };
        let body = start + header.bytes;
        let mut reader = Reader::new(&out[body..]);
        let (Ok(number), Ok(id), Ok(status)) = (reader.i32(), reader.i64(), reader.u8()) else { return };
        if status != Status::Success as u8 {
            return;
        }
        let results = body + REPLY_HEAD_BYTES;
        let before = (self.last, out.len());
        let outcome = match number {
            statement::QUERY_TQL
            | statement::QUERY_COLLECTION_GEOMETRY_RELATED
            | statement::QUERY_COLLECTION_GEOMETRY_WITH_EXCLUSION
            | statement::QUERY_TIME_SERIES_RANGE
            | statement::QUERY_TIME_SERIES_SAMPLING => self.take_result(results, out).map(|_| ()),
            statement::EXECUTE_MULTIPLE_QUERIES => self.take_results(results, out),
            statement::FETCH_ROW_SET => self.take_part(results, out),
            _ => return,
        };
        if let Err(error) = outcome {
            (before.0 + 1..=self.last).for_each(|id| self.forget(id));
            out.truncate(start);
            let reply = ReplyHeader { statement: number, id, is_ipv6, is_repeatable: false };
            reply.write_error(Status::StatementError, &error, out);
        } else if out.len() < before.1 {
            let length = (out.len() - body) as u32;
            out[body - 4..body].copy_from_slice(&length.to_le_bytes());
        }
    }

    /// Takes it out of the results of each of several queries: each has its size before them.
    fn take_results(&mut self, at: usize, out: &mut Vec<u8>) -> Result<(), GridError> {
        let count = Reader::new(&out[at..]).count()?;
        let mut at = at + 4;
        for _ in 0..count {
            let size = usize::try_from(Reader::new(&out[at..]).i64()?).map_err(|_| GridError::malformed("a negative size"))?;
            let size = size - self.take_result(at + 8, out)?;
            out[at..at + 8].copy_from_slice(&(size as u64).to_le_bytes());
            at += 8 + size;
        }
        Ok(())
    }

    /// Takes it out of a query's results; gives how many bytes it had.
    fn take_result(&mut self, at: usize, out: &mut Vec<u8>) -> Result<usize, GridError> {
        let mut reader = Reader::new(&out[at..]);
        if reader.count()? != RESULTS {
            return Ok(0);
        }
        let (_kind, rows) = (reader.u8()?, reader.bytes()?);
        let (_kind, counts) = (reader.u8()?, reader.bytes()?);
        let (kind, resume) = (reader.u8()?, reader.bytes()?);
        if kind != RESUME {
            return Ok(0);
        }
        let given = Reader::new(rows).i64()? as u64;
        let id = self.last + 1;
        let (counts_len, taken) = (counts.len(), RESULT_HEAD_BYTES + resume.len());
        let end = out.len() - reader.rest().len();
        let known = RowSet { container: Reader::new(resume).i64()?, given, resume: resume.into() };
        self.keep(id, known)?;
        self.last = id;
        let number = end - taken - counts_len + size_of::<u64>();
        out[number..number + 8].copy_from_slice(&id.to_le_bytes());
        out.drain(end - taken..end);
        out[at..at + 4].copy_from_slice(&(RESULTS as u32 - 1).to_le_bytes());
        Ok(taken)
    }

    /// Takes it from the end of a part, after which it has its length.
    fn take_part(&mut self, at: usize, out: &mut Vec<u8>) -> Result<(), GridError> {
        let mut reader = Reader::new(&out[at..]);
        let (is_over, _base, rows) = (reader.bool()?, reader.i64()?, reader.i64()? as u64);
        let id = self.fetched;
        let given = self.open.get(&id).map_or(0, |known| known.given) + rows;
        self.forget(id);
        if is_over {
            return Ok(());
        }
        let rest = reader.rest();
        let short = || GridError::malformed("a part without what it goes on with");
        let (rest, length) = rest.split_last_chunk::<4>().ok_or_else(short)?;
        let length = u32::from_le_bytes(*length) as usize;
        let resume = rest.len().checked_sub(length).map(|at| &rest[at..]).ok_or_else(short)?;
        let known = RowSet { container: Reader::new(resume).i64()?, given, resume: resume.into() };
        self.keep(id, known)?;
        out.truncate(out.len() - 4 - length);
        Ok(())
    }

    fn keep(&mut self, id: i64, known: RowSet) -> Result<(), GridError> {
        let bytes = self.bytes + known.bytes();
        if self.open.len() >= OPEN_MAX || bytes > BYTES_MAX {
            let message = format!(
                "a connection has at most {OPEN_MAX} row sets open that have more rows, and keeps {BYTES_MAX} bytes of them: close some, or read them to their ends"
            );
            return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message));
        }
        self.bytes = bytes;
        self.open.insert(id, known);
        Ok(())
    }
}

impl RowSet {
    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of::<i64>() + self.resume.len()
    }
}

#[cfg(test)]
mod tests;
