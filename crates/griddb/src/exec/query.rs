//! Queries of one container: TQL, and the selections of time series that come without a text.

use super::explain::Explanation;
use super::head::{self, Head, Uuid};
use super::lookup;
use super::part::{Part, Progress};
use super::request::{READ, Request};
use super::rows::{self, RowLock};
use crate::GridError;
use crate::container::Container;
use crate::failure::Failure;
use crate::row::StoredRow;
use crate::tql::{self, Aggregation, Answer, Execution, IndexRange, Interpolation, Sampling, Select, TimeOperator, TimeUnit};
use crate::wire::{Options, Reader, put_i32, put_i64, statement};
use base::TableId;
use model::operation::{Context, Direction, FIRST_ROW_BYTE, RowStore, Visit};
use std::ops::{Bound, ControlFlow};

/// An end of a range of time that is none.
const UNBOUNDED: i64 = i64::MAX;
/// Instead of a column's position: none.
const NO_COLUMN: i32 = -1;

/// What a result is.
#[repr(u8)]
enum ResultKind {
    Rows = 0,
    Aggregation = 1,
    Explanation = 2,
    /// Not one of its own: where the next part begins.
    State = 4,
}

/// A query of one container.
pub(super) struct Query<'a> {
    pub(super) head: Head<'a>,
    limit: u64,
    part: Option<Part>,
    what: What<'a>,
}

enum What<'a> {
    /// Its text has a meaning only when it is run, as there is `NOW()`.
    Tql(&'a str),
    Range {
        start_ms: Option<i64>,
        end_ms: Option<i64>,
        is_descending: bool,
    },
    Sampling {
        start_ms: i64,
        end_ms: i64,
        interval: i32,
        unit: u8,
        columns: Vec<usize>,
        interpolation: u8,
    },
}

impl<'a> Query<'a> {
    pub(super) const STATEMENTS: [i32; 3] =
        [statement::QUERY_TQL, statement::QUERY_TIME_SERIES_RANGE, statement::QUERY_TIME_SERIES_SAMPLING];

    /// Reads a query by its statement's number.
    pub(super) fn read(number: i32, request: &Request<'a>, id: i64, mut reader: Reader<'a>) -> Result<Self, GridError> {
        Self::read_one(number, request, id, &mut reader, Uuid::Own)
    }

    /// EXECUTE_MULTIPLE_QUERIES.
    pub(super) fn read_many(request: &Request<'a>, mut reader: Reader<'a>) -> Result<Vec<Self>, GridError> {
        let uuid = head::uuid(&mut reader)?;
        Options::read(&mut reader)?;
        let count = reader.count()?;
        let mut queries = Vec::new();
        for _ in 0..count {
            let number = reader.i32()?;
            let id = reader.i64()?;
            queries.push(Self::read_one(number, request, id, &mut reader, uuid)?);
        }
        Ok(queries)
    }

    fn read_one(number: i32, request: &Request<'a>, id: i64, reader: &mut Reader<'a>, uuid: Uuid) -> Result<Self, GridError> {
        let head = Head::read(request, id, reader, uuid, READ)?;
        let limit = u64::try_from(reader.i64()?).map_err(|_| GridError::malformed("a negative limit"))?;
        let _fetch_size = reader.i64()?;
        let part = Part::read(reader)?;
        let what = match number {
            statement::QUERY_TQL => What::Tql(reader.string()?),
            statement::QUERY_TIME_SERIES_RANGE => read_range(reader)?,
            statement::QUERY_TIME_SERIES_SAMPLING => read_sampling(reader)?,
            _ => return Err(GridError::unsupported(format!("statement {number} is no query that is supported"))),
        };
        Ok(Self { head, limit, part, what })
    }

    fn select(&self, now_ms: i64) -> Result<Select, GridError> {
        let container = self.head.container;
        let mut select = match &self.what {
            What::Tql(text) => tql::parse(text, container, now_ms)?,
            What::Range { start_ms, end_ms, is_descending } => Select::time_range(container, *start_ms, *end_ms, *is_descending, None)?,
            What::Sampling { start_ms, end_ms, interval, unit, columns, interpolation } => {
                let (unit, interpolation) = (TimeUnit::of_wire(*unit)?, Interpolation::of_wire(*interpolation)?);
                let (start_ms, end_ms, interval, columns) = (*start_ms, *end_ms, i64::from(*interval), columns.clone());
                Select::time_sampling(container, Sampling { start_ms, end_ms, interval, unit, columns, interpolation })?
            }
        };
        if self.limit < i64::MAX as u64 && select.for_rows() {
            select.limit_to(self.limit);
        }
        select.look_at(self.head.columns);
        Ok(select)
    }

    /// Gives the answer, or the part of it that was asked for, and has its rows locked if `lock` is given.
    pub(super) fn run(&self, context: &Context, store: &dyn RowStore, lock: Option<RowLock<'_>>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut select = self.select(context.now.wall_us.div_euclid(1_000))?;
        if lock.is_some() {
            select.lock_rows()?;
        }
        // A transaction's own rows have no entries yet.
        let ranges = if self.head.transaction.is_none() { select.index_ranges(self.head.container) } else { Vec::new() };
        let mut explanation = Explanation::begin(&select, self.head.container, ranges.iter().map(|range| range.entries));
        if let Some(explanation) = explanation.take_if(|explanation| !explanation.needs_answer()) {
            write_explanation(&explanation, out);
            return Ok(());
        }
        let part = self.part.as_ref().filter(|_| select.is_divisible());
        if let Some(part) = part {
            part.resume(&mut select);
        }
        let bytes_max = rows::REPLY_BYTES_MAX.saturating_sub(out.len());
        let Found { answer: found, state, entries } = answer(self.head.container, select, (part, &ranges), bytes_max, store)?;
        if let Some(mut explanation) = explanation {
            explanation.add_answer(&found, self.head.container, entries);
            write_explanation(&explanation, out);
            return Ok(());
        }
        put_i32(out, 1 + i32::from(state.is_some()));
        match found {
            Answer::Rows(mut found) => {
                if let Some(lock) = lock {
                    found.number(lock)?;
                }
                write_result(ResultKind::Rows, out, |out| found.write_with_count(out));
            }
            Answer::Aggregate(value) => write_result(ResultKind::Aggregation, out, |out| {
                put_i64(out, i64::from(value.is_some()));
                write_value(value, out);
            }),
        }
        if let Some(state) = state {
            write_result(ResultKind::State, out, |out| out.extend_from_slice(&state));
        }
        Ok(())
    }
}

/// A statement of a time series whose reply is one row or value, or that there is none.
pub(super) struct One<'a> {
    pub(super) head: Head<'a>,
    what: OneWhat,
}

enum OneWhat {
    Nearest { time_ms: i64, operator: u8 },
    Interpolated { time_ms: i64, column: i32 },
    Aggregate { start_ms: i64, end_ms: i64, column: i32, aggregation: u8 },
}

impl<'a> One<'a> {
    pub(super) const STATEMENTS: [i32; 3] =
        [statement::GET_TIME_SERIES_ROW_RELATED, statement::INTERPOLATE_TIME_SERIES_ROW, statement::AGGREGATE_TIME_SERIES];

    pub(super) fn read(number: i32, request: &Request<'a>, id: i64, mut reader: Reader<'a>) -> Result<Self, GridError> {
        let head = Head::read(request, id, &mut reader, Uuid::Own, READ)?;
        let what = match number {
            statement::GET_TIME_SERIES_ROW_RELATED => OneWhat::Nearest { time_ms: reader.i64()?, operator: reader.u8()? },
            statement::INTERPOLATE_TIME_SERIES_ROW => OneWhat::Interpolated { time_ms: reader.i64()?, column: reader.i32()? },
            _ => OneWhat::Aggregate { start_ms: reader.i64()?, end_ms: reader.i64()?, column: reader.i32()?, aggregation: reader.u8()? },
        };
        Ok(Self { head, what })
    }

    fn select(&self) -> Result<Select, GridError> {
        let container = self.head.container;
        let position = |column: i32| usize::try_from(column).map_err(|_| GridError::malformed("a negative number of a column"));
        match self.what {
            OneWhat::Nearest { time_ms, operator } => Select::time_nearest(container, TimeOperator::of_wire(operator)?, time_ms),
            OneWhat::Interpolated { time_ms, column } => Select::time_interpolated(container, time_ms, position(column)?),
            OneWhat::Aggregate { start_ms, end_ms, column, aggregation } => {
                let column = if column == NO_COLUMN { None } else { Some(position(column)?) };
                Select::time_aggregate(container, start_ms, end_ms, column, Aggregation::of_wire(aggregation)?)
            }
        }
    }

    pub(super) fn run(&self, store: &dyn RowStore, out: &mut Vec<u8>) -> Result<(), Failure> {
        match answer(self.head.container, self.select()?, (None, &[]), rows::REPLY_BYTES_MAX, store)?.answer {
            Answer::Rows(found) => {
                out.push(u8::from(found.rows() > 0));
                found.write(out);
            }
            Answer::Aggregate(value) => {
                out.push(u8::from(value.is_some()));
                write_value(value, out);
            }
        }
        Ok(())
    }
}

/// What was found.
struct Found {
    answer: Answer,
    /// Where the next part begins, if there is one.
    state: Option<Vec<u8>>,
    /// Whose entries have told where the rows are; none if they were scanned.
    entries: Option<TableId>,
}

/// Looks at the rows that a selection, or a part of it, needs, by an index or in a scan.
fn answer(
    container: &Container,
    mut select: Select,
    (part, ranges): (Option<&Part>, &[IndexRange]),
    bytes_max: usize,
    store: &dyn RowStore,
) -> Result<Found, Failure> {
    let range = select.key_range(container);
    let direction = if select.is_descending() { Direction::Reverse } else { Direction::Forward };
    let mut from = match &range.lower {
        Bound::Unbounded => vec![FIRST_ROW_BYTE],
        Bound::Included(key) => key.clone(),
        Bound::Excluded(key) => rows::after(key.clone()),
    };
    let mut to = match &range.upper {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(rows::after(key.clone())),
        Bound::Excluded(key) => Some(key.clone()),
    };
    if let Some(key) = select.row_before() {
        let until = rows::after(key);
        rows::scan(container, (&from.clone(), Some(&until)), Direction::Reverse, store, |row| {
            from = row.clustering.to_vec();
            Ok(Visit::Stop)
        })?;
    }
    if let Some(part) = part {
        part.narrow(direction, &mut from, &mut to);
    }
    let is_empty = range.is_empty();
    select.forget_told(container);
    let mut execution = Execution::new(select, container, bytes_max)?;
    let (mut progress, mut entries) = (part.map(|_| Progress::new()), None);
    if !is_empty {
        let take = |row: &StoredRow<'_>| {
            let is_enough = execution.push(row)? == ControlFlow::Break(());
            let mut is_over = || progress.as_mut().is_some_and(|progress| progress.passed(row.clustering, &execution));
            Ok(if is_enough || is_over() { Visit::Stop } else { Visit::Continue })
        };
        match lookup::keys(container, ranges, (&from, to.as_deref()), direction, store)? {
            Some(located) => {
                entries = Some(located.entries);
                lookup::visit(container, &located.keys, store, take)?;
            }
            None => rows::scan(container, (&from, to.as_deref()), direction, store, take)?,
        }
    }
    let state = progress.and_then(|progress| progress.state(&execution));
    Ok(Found { answer: execution.finish()?, state, entries })
}

/// Appends what is told of a query instead of its answer.
fn write_explanation(explanation: &Explanation, out: &mut Vec<u8>) {
    put_i32(out, 1);
    write_result(ResultKind::Explanation, out, |out| explanation.write(out));
}

/// Appends a result.
fn write_result(kind: ResultKind, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind as u8);
    let start = out.len();
    put_i32(out, 0);
    write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Appends the type of a value and the value.
fn write_value(value: Option<tql::AggregateResult>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        out.push(value.element() as u8);
        value.write(out);
    }
}

fn read_range<'a>(reader: &mut Reader<'_>) -> Result<What<'a>, GridError> {
    let bound = |time_ms: i64| (time_ms != UNBOUNDED).then_some(time_ms);
    let (start_ms, end_ms) = (bound(reader.i64()?), bound(reader.i64()?));
    let is_descending = match reader.u8()? {
        0 => false,
        1 => true,
        _ => return Err(GridError::malformed("an order that is not known")),
    };
    Ok(What::Range { start_ms, end_ms, is_descending })
}

fn read_sampling<'a>(reader: &mut Reader<'_>) -> Result<What<'a>, GridError> {
    let (start_ms, end_ms) = (reader.i64()?, reader.i64()?);
    let count = reader.count()?;
    let column = |_| usize::try_from(reader.i32()?).map_err(|_| GridError::malformed("a negative number of a column"));
    let columns = (0..count).map(column).collect::<Result<_, _>>()?;
    Ok(What::Sampling { start_ms, end_ms, columns, interval: reader.i32()?, unit: reader.u8()?, interpolation: reader.u8()? })
}
