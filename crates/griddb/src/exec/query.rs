//! Queries of one container: TQL, and the selections of time series that come without a text.

use super::explain::{Explanation, write_figures};
use super::geometries::Geometries;
use super::head::{self, Head, Uuid};
use super::lookup;
use super::part::{self, Part, Progress};
use super::request::{READ, Request};
use super::row_set;
use super::rows::{self, RowLock};
use crate::GridError;
use crate::client::FIGURES;
use crate::container::Container;
use crate::failure::Failure;
use crate::row::StoredRow;
use crate::tql::{self, Answer, Cut, Execution, IndexRange, Interpolation, Rest, Sampling, Select, TimeUnit};
use crate::wire::{Options, Reader, put_i32, put_i64, statement};
use base::TableId;
use model::operation::{Context, Direction, FIRST_ROW_BYTE, RowStore, Visit};
use std::ops::{Bound, ControlFlow};

/// An end of a range of time that is none.
const UNBOUNDED: i64 = i64::MAX;

/// What a result is.
#[repr(u8)]
enum ResultKind {
    Rows = 0,
    Aggregation = 1,
    Explanation = 2,
    /// Not one of its own: how many rows there are, and the number of the row set that has those after these.
    RowSet = 3,
    /// Not one of its own: where the next part begins.
    State = 4,
    /// Not one of its own: what this server's own SQL has asked for in place of rows, encoded [`model::aggregate::Partials`].
    Partials = 5,
    /// Not one of its own: what this server's own SQL has asked to be told of how rows were found, of a query in parts.
    Figures = FIGURES,
    /// For the connection, not its client: what the row set goes on with.
    Resume = RESUME,
}

/// The number of the result that a connection keeps for itself.
pub(crate) const RESUME: u8 = 255;

/// A query of one container.
pub(super) struct Query<'a> {
    pub(super) head: Head<'a>,
    limit: u64,
    /// How many rows a part has, if the client has said so; 0 if there are to be no parts.
    pub(super) size: u64,
    part: Option<Part>,
    what: What<'a>,
    /// Which statement it is, and what of it says what is asked for.
    pub(super) number: i32,
    pub(super) arguments: &'a [u8],
}

enum What<'a> {
    /// Its text has a meaning only when it is run, as there is `NOW()`.
    Tql(&'a str),
    Geometries(Geometries),
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
    pub(super) const STATEMENTS: [i32; 5] = [
        statement::QUERY_TQL,
        statement::QUERY_COLLECTION_GEOMETRY_RELATED,
        statement::QUERY_COLLECTION_GEOMETRY_WITH_EXCLUSION,
        statement::QUERY_TIME_SERIES_RANGE,
        statement::QUERY_TIME_SERIES_SAMPLING,
    ];

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
        let size = reader.i64()?;
        let part = Part::read(reader)?;
        Ok(Self { limit, part, ..Self::read_asked(number, head, size, reader)? })
    }

    /// Reads what is asked for by the statement of this number, whose rows come by `size`.
    pub(super) fn read_asked(number: i32, head: Head<'a>, size: i64, reader: &mut Reader<'a>) -> Result<Self, GridError> {
        let size = u64::try_from(size).map_err(|_| GridError::malformed("a negative number of rows to fetch"))?;
        let arguments = reader.rest();
        let what = match number {
            statement::QUERY_TQL => What::Tql(reader.string()?),
            statement::QUERY_COLLECTION_GEOMETRY_RELATED => What::Geometries(Geometries::read(reader, false)?),
            statement::QUERY_COLLECTION_GEOMETRY_WITH_EXCLUSION => What::Geometries(Geometries::read(reader, true)?),
            statement::QUERY_TIME_SERIES_RANGE => read_range(reader)?,
            statement::QUERY_TIME_SERIES_SAMPLING => read_sampling(reader)?,
            _ => return Err(GridError::unsupported(format!("statement {number} is no query that is supported"))),
        };
        let arguments = &arguments[..arguments.len() - reader.rest().len()];
        Ok(Self { head, limit: i64::MAX as u64, size, part: None, what, number, arguments })
    }

    pub(super) fn select(&self, now_ms: i64) -> Result<Select, GridError> {
        let container = self.head.container;
        let mut select = match &self.what {
            What::Tql(text) => tql::parse(text, container, now_ms)?,
            What::Geometries(geometries) => geometries.select(container)?,
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
        if let Some(spec) = self.head.aggregates {
            // Groups of all rows at once would have no bound.
            if self.part.is_none() {
                return Err(GridError::malformed("aggregates of a query that is not executed in parts"));
            }
            select.fold(tql::read_spec(spec, container)?)?;
        }
        Ok(select)
    }

    /// The entries of indexes that may tell where its rows are. A transaction's own rows have none yet.
    pub(super) fn index_ranges(&self, select: &Select) -> Vec<IndexRange> {
        if self.head.transaction.is_none() { select.index_ranges(self.head.container) } else { Vec::new() }
    }

    /// Gives the answer, or the part of it that was asked for, and has its rows locked if `lock` is given.
    pub(super) fn run(&self, context: &Context, store: &dyn RowStore, lock: Option<RowLock<'_>>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let now_ms = context.now.wall_us.div_euclid(1_000);
        let mut select = self.select(now_ms)?;
        if lock.is_some() {
            select.lock_rows()?;
        }
        let ranges = self.index_ranges(&select);
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
        let begun = row_set::Begun::new(&select, now_ms);
        let cut = if part.is_none() { row_set::first_cut(&select, self.size, bytes_max) } else { None };
        let way = Way { part, cut, end: &[], ranges: &ranges };
        let Found { answer: found, rest, state, entries, looked_at, is_bounded } =
            answer(self.head.container, select, way, bytes_max, store)?;
        if let Some(mut explanation) = explanation {
            explanation.add_answer(&found, rest.rows, self.head.container, entries);
            write_explanation(&explanation, out);
            return Ok(());
        }
        // A row set in parts has as many results as its connection knows.
        let tells_figures = self.head.tells_figures && part.is_some();
        let figures = i32::from(tells_figures);
        match found {
            Answer::Rows(mut found) => {
                let resume = row_set::resume_after(self.head.container, (self.number, self.arguments), &begun, found.rows(), &rest);
                if let Some(lock) = lock {
                    found.number(lock)?;
                }
                put_i32(out, 1 + i32::from(state.is_some()) + 2 * i32::from(resume.is_some()) + figures);
                write_result(ResultKind::Rows, out, |out| found.write_with_count(out));
                if let Some(resume) = resume {
                    write_row_set(found.rows() + rest.rows, &resume, out);
                }
            }
            Answer::Aggregate(value) => {
                put_i32(out, 1 + figures);
                write_result(ResultKind::Aggregation, out, |out| {
                    put_i64(out, i64::from(value.is_some()));
                    write_value(value, out);
                });
            }
            Answer::Partials(partials) => {
                put_i32(out, 1 + i32::from(state.is_some()) + figures);
                write_result(ResultKind::Partials, out, |out| out.extend_from_slice(&partials));
            }
        }
        if let Some(state) = state {
            write_result(ResultKind::State, out, |out| out.extend_from_slice(&state));
        }
        if tells_figures {
            write_result(ResultKind::Figures, out, |out| write_figures(self.head.container, entries, is_bounded, looked_at, out));
        }
        Ok(())
    }
}

/// How rows are looked for.
pub(super) struct Way<'w> {
    /// The part of a query that is executed in parts.
    pub(super) part: Option<&'w Part>,
    /// Which of the rows that are found are wanted; all without.
    pub(super) cut: Option<Cut>,
    /// The key of the last row of a row set; empty if none is.
    pub(super) end: &'w [u8],
    pub(super) ranges: &'w [IndexRange],
}

/// What was found.
pub(super) struct Found {
    pub(super) answer: Answer,
    /// What a cut has left.
    pub(super) rest: Rest,
    /// Where the next part begins, if there is one.
    state: Option<Vec<u8>>,
    /// Whose entries have told where the rows are; none if they were scanned.
    entries: Option<TableId>,
    /// How many rows were looked at.
    looked_at: u64,
    /// Whether conditions have told a range of row keys.
    is_bounded: bool,
}

/// Looks at the rows that a selection, or a part of it, needs, by an index or in a scan.
pub(super) fn answer(
    container: &Container,
    mut select: Select,
    Way { part, cut, end, ranges }: Way<'_>,
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
    if let Some(position) = cut.as_ref().and_then(|cut| cut.after.as_ref()).filter(|_| select.is_divisible()) {
        part::leave_out(&position.key, direction, &mut from, &mut to);
    }
    if !end.is_empty() {
        part::end_with(end, direction, &mut from, &mut to);
    }
    let (is_empty, is_bounded) = (range.is_empty(), (&range.lower, &range.upper) != (&Bound::Unbounded, &Bound::Unbounded));
    select.forget_told(container);
    let mut execution = Execution::new(select, container, bytes_max)?;
    if let Some(cut) = cut {
        execution = execution.cutting(cut);
    }
    let (mut progress, mut entries, mut looked_at) = (part.map(|_| Progress::new()), None, 0_u64);
    if !is_empty {
        let take = |row: &StoredRow<'_>| {
            looked_at += 1;
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
    let (answer, rest) = execution.finish()?;
    Ok(Found { answer, rest, state, entries, looked_at, is_bounded })
}

/// Appends what is told of a query instead of its answer.
fn write_explanation(explanation: &Explanation, out: &mut Vec<u8>) {
    put_i32(out, 1);
    write_result(ResultKind::Explanation, out, |out| explanation.write(out));
}

/// Appends that a row set of so many rows goes on. Its connection puts in its number.
fn write_row_set(rows: u64, resume: &[u8], out: &mut Vec<u8>) {
    write_result(ResultKind::RowSet, out, |out| {
        put_i64(out, rows as i64);
        put_i64(out, 0);
    });
    write_result(ResultKind::Resume, out, |out| out.extend_from_slice(resume));
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
pub(super) fn write_value(value: Option<tql::AggregateResult>, out: &mut Vec<u8>) {
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
