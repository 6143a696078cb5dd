//! FETCH_ROW_SET: the next part of a row set.

use super::head::{Head, Uuid};
use super::query::{Query, Way, answer};
use super::request::{READ, Request};
use super::row_set::{Resume, cut};
use super::rows;
use crate::failure::Failure;
use crate::tql::{Answer, Position};
use crate::wire::{Reader, put_i32, put_i64};
use crate::{ErrorCode, GridError};
use model::operation::RowStore;

/// FETCH_ROW_SET, with what its connection has kept.
pub(super) struct Fetch<'a> {
    query: Query<'a>,
    resume: Resume<'a>,
}

impl<'a> Fetch<'a> {
    pub(super) fn read(request: &Request<'a>, id: i64, mut reader: Reader<'a>) -> Result<Self, GridError> {
        let head = Head::read(request, id, &mut reader, Uuid::Own, READ)?;
        if head.locks_rows {
            return Err(GridError::new(ErrorCode::TQ_FOR_UPDATE_INVALID, "rows for update come all at once"));
        }
        // Which row set, and where in it: the connection has looked at that.
        let (_id, _position, size) = (reader.i64()?, reader.i64()?, reader.i64()?);
        let resume = Resume::read(reader)?;
        resume.check(head.container)?;
        let mut query = Reader::new(resume.query);
        let number = query.i32()?;
        Ok(Self { query: Query::read_asked(number, head, size, &mut query)?, resume })
    }

    pub(super) fn head(&self) -> &Head<'a> {
        &self.query.head
    }

    /// Appends whether the row set is over, where its variable parts begin, and the rows; then, for the connection, what it goes on with.
    pub(super) fn run(&self, store: &dyn RowStore, out: &mut Vec<u8>) -> Result<(), Failure> {
        let (resume, container) = (&self.resume, self.query.head.container);
        let mut select = self.query.select(resume.now_ms)?;
        let mut place = Reader::new(resume.position);
        let position = if resume.position.is_empty() { None } else { Some(Position::read(&mut place, select.order().len())?) };
        let offset = if position.is_some() { 0 } else { select.offset() };
        select.resume(offset, resume.is_limited.then_some(resume.left));
        let (is_divisible, before) = (select.is_divisible(), position.clone());
        let mut cut = cut(&select, position, self.query.size, rows::REPLY_BYTES_MAX);
        cut.rows_max = cut.rows_max.min(resume.left);
        cut.left = is_divisible.then_some(resume.left);
        let ranges = self.query.index_ranges(&select);
        let found = answer(container, select, Way { part: None, cut: Some(cut), end: resume.end, ranges: &ranges }, 0, store)?;
        let Answer::Rows(rows) = found.answer else { return Err(GridError::malformed("a row set of no rows").into()) };
        resume.check_rest(rows.rows(), &found.rest, is_divisible)?;
        let left = resume.left - rows.rows();
        out.push(u8::from(left == 0));
        put_i64(out, 0);
        rows.write_with_count(out);
        if left > 0 {
            let next = Resume { left, ..*resume }.write(found.rest.position.as_ref().or(before.as_ref()));
            out.extend_from_slice(&next);
            put_i32(out, next.len() as i32);
        }
        Ok(())
    }
}
