//! A transaction of one container, at the node: rows that are written are locked until its end.

use crate::cells::{Cells, put_key, put_rows};
use crate::client::{Answer, Client, Refusal};
use crate::container::{Container, no_options};
use crate::rows::{RowFormat, Rows};
use griddb::GridError;
use griddb::wire::{Status, put_i16, put_i32, put_i64, put_string, statement};

const BEGIN: u8 = 1;
const CONTINUE: u8 = 2;
/// The option that locks what is read.
const FOR_UPDATE: i16 = 2;

/// An open transaction: aborted when it is dropped.
pub(crate) struct Transaction<'c> {
    client: &'c mut Client,
    container: &'c Container,
    format: RowFormat,
    session: i64,
    has_begun: bool,
    is_over: bool,
}

impl<'c> Transaction<'c> {
    pub(crate) fn new(client: &'c mut Client, container: &'c Container) -> Self {
        let session = client.next_session();
        let format = RowFormat::new(&container.columns, container.kind);
        Self { client, container, format, session, has_begun: false, is_over: false }
    }

    /// One that was left open.
    pub(crate) fn again(client: &'c mut Client, container: &'c Container, session: i64) -> Self {
        let format = RowFormat::new(&container.columns, container.kind);
        Self { client, container, format, session, has_begun: true, is_over: false }
    }

    /// Leaves it open, if it has begun: says by which number it goes on.
    pub(crate) fn leave_open(mut self) -> Option<i64> {
        self.is_over = true;
        self.has_begun.then_some(self.session)
    }

    pub(crate) fn format(&self) -> &RowFormat {
        &self.format
    }

    fn ask(&mut self, number: i32, for_update: bool, write: impl FnOnce(&mut Vec<u8>)) -> Result<Answer, Refusal> {
        let mode = if self.has_begun { CONTINUE } else { BEGIN };
        let (container, session, uuid) = (self.container, self.session, self.client.uuid());
        let answer = self.client.ask(number, 0, |out| {
            put_i64(out, container.id);
            put_i64(out, session);
            out.extend_from_slice(&uuid);
            put_i32(out, container.version);
            out.extend_from_slice(&[0, mode]);
            if for_update {
                put_i32(out, 3);
                put_i16(out, FOR_UPDATE);
                out.push(1);
            } else {
                no_options(out);
            }
            write(out);
        });
        // What failed as a whole has begun nothing, and what cannot be known is aborted nevertheless.
        self.has_begun |= answer.is_ok();
        answer
    }

    /// Puts a row; says whether there was one of its key.
    pub(crate) fn put(&mut self, row: &Cells) -> Result<bool, Refusal> {
        let columns = &self.container.columns;
        let answer = self.ask(statement::PUT_ROW, false, |out| put_rows(columns, std::slice::from_ref(row), out))?;
        Ok(answer.reader().bool()?)
    }

    /// Puts rows.
    pub(crate) fn put_all(&mut self, rows: &[Cells]) -> Result<(), Refusal> {
        let columns = &self.container.columns;
        self.ask(statement::PUT_MULTIPLE_ROWS, false, |out| {
            put_i64(out, rows.len() as i64);
            put_rows(columns, rows, out);
        })?;
        Ok(())
    }

    /// Locks the row of a key and reads it.
    pub(crate) fn get(&mut self, key: &[Option<Vec<u8>>]) -> Result<Option<Rows>, Refusal> {
        let columns = &self.container.columns[..self.container.key_len];
        let answer = self.ask(statement::GET_ROW, true, |out| put_key(columns, key, out))?;
        if !answer.reader().bool()? {
            return Ok(None);
        }
        let (bytes, start) = answer.into_bytes();
        let mut row = Rows::of_one(bytes, start + 1, &self.format)?;
        row.advance(&self.format, true)?;
        Ok(Some(row))
    }

    /// Removes the row of a key.
    pub(crate) fn delete(&mut self, key: &[Option<Vec<u8>>]) -> Result<(), Refusal> {
        let columns = &self.container.columns[..self.container.key_len];
        self.ask(statement::DELETE_ROW, false, |out| put_key(columns, key, out))?;
        Ok(())
    }

    /// Locks the rows that a query of TQL finds, and reads them.
    pub(crate) fn query(&mut self, text: &str) -> Result<Rows, Refusal> {
        let answer = self.ask(statement::QUERY_TQL, true, |out| {
            put_i64(out, i64::MAX);
            put_i64(out, 0);
            // Not in parts.
            out.extend_from_slice(&[0, 0, 0, 0, 0]);
            put_string(out, text);
        })?;
        let mut reader = answer.reader();
        let missing = || GridError::malformed("a result without rows");
        if reader.count()? == 0 || reader.u8()? != 0 {
            return Err(missing().into());
        }
        let length = reader.bytes()?.len();
        let at = answer.bytes().len() - reader.rest().len() - length;
        let (bytes, start) = answer.into_bytes();
        Ok(Rows::new(bytes, start + at, &self.format)?)
    }

    /// Replaces a locked row.
    pub(crate) fn update_locked(&mut self, number: i64, row: &Cells) -> Result<(), Refusal> {
        let columns = &self.container.columns;
        self.ask(statement::UPDATE_ROW_BY_ID, false, |out| {
            put_i64(out, number);
            put_rows(columns, std::slice::from_ref(row), out);
        })?;
        Ok(())
    }

    /// Removes a locked row.
    pub(crate) fn delete_locked(&mut self, number: i64) -> Result<(), Refusal> {
        self.ask(statement::DELETE_ROW_BY_ID, false, |out| put_i64(out, number))?;
        Ok(())
    }

    /// Commits. If it is not known whether it has, the statement is not to be done again.
    pub(crate) fn commit(mut self) -> Result<(), Refusal> {
        self.is_over = true;
        if !self.has_begun {
            return Ok(());
        }
        self.end(statement::COMMIT_TRANSACTION).map_err(done_or_not)
    }

    fn end(&mut self, number: i32) -> Result<(), Refusal> {
        let (container, session, uuid) = (self.container.id, self.session, self.client.uuid());
        self.client.ask(number, 0, |out| {
            put_i64(out, container);
            put_i64(out, session);
            out.extend_from_slice(&uuid);
            no_options(out);
        })?;
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_over && self.has_begun && !self.client.is_broken() {
            // If that fails it ends with its time, or with the connection.
            let _ = self.end(statement::ABORT_TRANSACTION);
        }
    }
}

/// A failure of what may have been done: drivers do not ask for it again, unless it surely was not.
pub(crate) fn done_or_not(refusal: Refusal) -> Refusal {
    if refusal.is_undone { refusal } else { done_in_part(refusal) }
}

/// A failure after a part was done: drivers do not ask for all of it again.
pub(crate) fn done_in_part(refusal: Refusal) -> Refusal {
    Refusal { status: Status::StatementError, ..refusal }
}
