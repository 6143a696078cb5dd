//! Queries: ranges of time of a time series, and single rows by their time.

use super::head::{self, Uuid};
use super::operation::Request;
use super::{Failure, REPLY_BYTES_MAX, rows};
use crate::container::Container;
use crate::row::RowSet;
use crate::wire::{Options, Reader, put_i32, put_i64, statement};
use crate::{ElementType, ErrorCode, GridError, encode_key};
use model::operation::{Context, Direction, FIRST_ROW_BYTE, RowStore, Visit};
use std::sync::Arc;

/// The statements that are queries by themselves.
pub(super) const STATEMENTS: [i32; 1] = [statement::QUERY_TIME_SERIES_RANGE];

/// An end of a range of time that is none.
const UNBOUNDED: i64 = i64::MAX;
/// The kind of a result: rows.
const ROW_SET: u8 = 0;

/// A query of one container.
pub(super) struct Query<'a> {
    pub(super) container: &'a Arc<Container>,
    limit: u64,
    what: What,
}

enum What {
    Range { from: Vec<u8>, to: Option<Vec<u8>>, direction: Direction },
}

impl<'a> Query<'a> {
    pub(super) fn read(number: i32, request: &Request<'a>, mut reader: Reader<'a>) -> Result<Self, GridError> {
        Self::read_one(number, request, &mut reader, Uuid::Own)
    }

    /// EXECUTE_MULTIPLE_QUERIES.
    pub(super) fn read_many(request: &Request<'a>, mut reader: Reader<'a>) -> Result<Vec<Self>, GridError> {
        head::skip_uuid(&mut reader)?;
        Options::read(&mut reader)?;
        let count = reader.count()?;
        let mut queries = Vec::new();
        for _ in 0..count {
            let number = reader.i32()?;
            let _statement = reader.i64()?;
            queries.push(Self::read_one(number, request, &mut reader, Uuid::Shared)?);
        }
        Ok(queries)
    }

    fn read_one(number: i32, request: &Request<'a>, reader: &mut Reader<'a>, uuid: Uuid) -> Result<Self, GridError> {
        let container = head::container(request, reader, uuid)?;
        let limit = u64::try_from(reader.i64()?).map_err(|_| GridError::malformed("a negative limit"))?;
        let _fetch_size = reader.i64()?;
        skip_partial_execution(reader)?;
        let what = match number {
            statement::QUERY_TIME_SERIES_RANGE => read_range(container, reader)?,
            _ => return Err(GridError::unsupported(format!("statement {number} is no query that is supported"))),
        };
        Ok(Self { container, limit, what })
    }

    pub(super) fn run(&self, _: &Context, store: &dyn RowStore, out: &mut Vec<u8>) -> Result<(), Failure> {
        let What::Range { from, to, direction } = &self.what;
        let mut found = RowSet::new(self.container, true, REPLY_BYTES_MAX.saturating_sub(out.len()));
        if self.limit > 0 {
            rows::scan(self.container, (from, to.as_deref()), *direction, store, |row| {
                found.push(row)?;
                Ok(if found.rows() == self.limit { Visit::Stop } else { Visit::Continue })
            })?;
        }
        write_result(ROW_SET, out, |out| found.write_with_count(out));
        Ok(())
    }

    pub(super) fn run_many(queries: &[Self], context: &Context, store: &dyn RowStore, out: &mut Vec<u8>) -> Result<(), Failure> {
        put_i32(out, queries.len() as i32);
        for query in queries {
            let start = out.len();
            put_i64(out, 0);
            query.run(context, store, out)?;
            let length = (out.len() - start - 8) as u64;
            out[start..start + 8].copy_from_slice(&length.to_le_bytes());
        }
        Ok(())
    }
}

/// Appends that there is one result, and this.
fn write_result(kind: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    put_i32(out, 1);
    out.push(kind);
    let start = out.len();
    put_i32(out, 0);
    write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// What the client knows of a query that goes on: the whole result is given at once.
fn skip_partial_execution(reader: &mut Reader<'_>) -> Result<(), GridError> {
    let _is_enabled = reader.bool()?;
    for _ in 0..reader.count()? {
        let _kind = reader.u8()?;
        reader.bytes()?;
    }
    Ok(())
}

fn read_range(container: &Container, reader: &mut Reader<'_>) -> Result<What, GridError> {
    check_time_series(container)?;
    let (from, to) = (reader.i64()?, reader.i64()?);
    let direction = match reader.u8()? {
        0 => Direction::Forward,
        1 => Direction::Reverse,
        _ => return Err(GridError::malformed("an order that is not known")),
    };
    let from = if from == UNBOUNDED { vec![FIRST_ROW_BYTE] } else { time_key(from)? };
    let to = if to == UNBOUNDED { None } else { Some(rows::after(time_key(to)?)) };
    Ok(What::Range { from, to, direction })
}

fn check_time_series(container: &Container) -> Result<(), GridError> {
    if container.is_time_series() {
        return Ok(());
    }
    let message = format!("the container {} is no time series", container.definition.name);
    Err(GridError::new(ErrorCode::TXN_CONTAINER_TYPE_INVALID, message))
}

/// The row key of a time in milliseconds.
fn time_key(time_ms: i64) -> Result<Vec<u8>, GridError> {
    let mut key = Vec::new();
    encode_key(ElementType::Timestamp, &time_ms.to_be_bytes(), &mut key)?;
    Ok(key)
}

/// GET_TIME_SERIES_ROW_RELATED: the row at a time, or the nearest before or after it.
pub(super) struct Related<'a> {
    pub(super) container: &'a Arc<Container>,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    direction: Direction,
}

impl<'a> Related<'a> {
    pub(super) fn read(request: &Request<'a>, mut reader: Reader<'a>) -> Result<Self, GridError> {
        let container = head::container(request, &mut reader, Uuid::Own)?;
        check_time_series(container)?;
        let key = time_key(reader.i64()?)?;
        let (from, to, direction) = match reader.u8()? {
            0 => (vec![FIRST_ROW_BYTE], Some(rows::after(key)), Direction::Reverse),
            1 => (vec![FIRST_ROW_BYTE], Some(key), Direction::Reverse),
            2 => (key, None, Direction::Forward),
            3 => (rows::after(key), None, Direction::Forward),
            _ => return Err(GridError::malformed("an operator on times that is not known")),
        };
        Ok(Self { container, from, to, direction })
    }

    pub(super) fn run(&self, store: &dyn RowStore, out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut found = RowSet::new(self.container, false, REPLY_BYTES_MAX);
        rows::scan(self.container, (&self.from, self.to.as_deref()), self.direction, store, |row| {
            found.push(row)?;
            Ok(Visit::Stop)
        })?;
        out.push(u8::from(found.rows() > 0));
        found.write(out);
        Ok(())
    }
}
