//! Ranges of a table, page by page from the source to the target.

use super::super::error::ImportError;
use super::super::jobs::Jobs;
use super::connection::{Connection, Open};
use super::plan::Plan;
use super::ranges::{Piece, Range};
use super::row;
use super::state::State;
use crate::endpoint::Endpoint;
use crate::feed::FeedError;
use crate::throttle::Throttle;
use cql::value::{partition_key, token};
use cql::wire::{Consistency, Rows, Value, ValuesBuffer};
use std::time::{Duration, Instant};

/// How far apart the state of a range is stored.
const STORE: Duration = Duration::from_secs(2);

/// What all jobs share.
pub(super) struct Copying<'a> {
    pub(super) keyspace: &'a str,
    pub(super) plans: &'a [Plan],
    /// How much later than the source's lists of each table are: see [`super::row::write`].
    pub(super) later_us: &'a [i64],
    pub(super) jobs: &'a Jobs<'a>,
    pub(super) throttle: Throttle,
    pub(super) consistency: Consistency,
    pub(super) page_rows: u32,
}

/// One job.
pub(super) struct Copier<'a> {
    copy: &'a Copying<'a>,
    source: Connection<'a>,
    target: Connection<'a>,
    state: State<'a>,
}

/// A page that is stored.
struct Page {
    rows: usize,
    /// Where the next one begins.
    next: Option<Vec<u8>>,
    last_token: Option<i64>,
}

/// The values that a SELECT of a range takes.
pub(super) fn borders(range: Range) -> ValuesBuffer {
    let mut values = ValuesBuffer::new();
    values.push(Value::Bytes(&range.after.to_be_bytes()));
    values.push(Value::Bytes(&range.last.to_be_bytes()));
    values
}

impl<'a> Copier<'a> {
    pub(super) fn new(copy: &'a Copying<'a>, (from, to): (&'a Endpoint, &'a Endpoint), number: usize) -> Self {
        let state = State::new(to.source(), copy.keyspace);
        Self { copy, source: Connection::new(from, number), target: Connection::new(to, number), state }
    }

    /// Copies what is left of a range, and stores how far it is.
    pub(super) fn range(&mut self, piece: &Piece) -> Result<(), ImportError> {
        let plan = &self.copy.plans[piece.plan];
        self.copy_range(plan, piece).map_err(|error| error.of(&plan.keyspace, &plan.table))
    }

    fn copy_range(&mut self, plan: &Plan, piece: &Piece) -> Result<(), ImportError> {
        let Copying { jobs, throttle, .. } = self.copy;
        let (mut next, mut stored, mut done_to): (Option<Vec<u8>>, _, _) = (None, Instant::now(), piece.range.after);
        loop {
            let mut later_us = self.copy.later_us[piece.plan] - 1;
            let page = jobs.patiently(|| {
                later_us += 1;
                self.page(plan, piece.range, next.as_deref(), later_us)
            })?;
            jobs.meter.add(page.rows);
            throttle.pass(page.rows);
            next = page.next;
            // The partition of the last row may go on in the next page; those before it are whole.
            let whole_to = if next.is_none() { piece.range.last } else { page.last_token.map_or(done_to, |token| token.saturating_sub(1)) };
            if whole_to > done_to && (next.is_none() || stored.elapsed() >= STORE) {
                jobs.patiently(|| self.state.store(plan, piece.after, whole_to))?;
                (done_to, stored) = (whole_to, Instant::now());
            }
            if next.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads a page, and stores it.
    fn page(&mut self, plan: &Plan, range: Range, state: Option<&[u8]>, later_us: i64) -> Result<Page, ImportError> {
        let Self { copy, source, target, .. } = self;
        let (values, page) = (borders(range), (copy.page_rows, state));
        source.with(std::slice::from_ref(&plan.select), ImportError::at_source, |source| {
            let stored = source.page(&values, copy.consistency, page, |rows| {
                target.with(&plan.writes, ImportError::at_target, |target| store(plan, rows, later_us, target))
            });
            stored.map_err(ImportError::at_source)
        })?
    }
}

/// Writes all rows of a page, and waits for the answers.
fn store(plan: &Plan, rows: &Rows<'_>, later_us: i64, target: &mut Open) -> Result<Page, ImportError> {
    if rows.metadata.column_count as usize != plan.width {
        return Err(ImportError::Source(FeedError::Strange("its rows have another number of columns than it was asked for")));
    }
    let (mut cells, mut values) = (rows.cells(), ValuesBuffer::new());
    let (mut row, mut before) = (Vec::<Option<&[u8]>>::with_capacity(plan.width), Vec::new());
    for _ in 0..rows.len() {
        row.clear();
        row.extend(cells.by_ref().take(plan.width));
        // Each row has the static columns of its partition.
        let partition = &row[..plan.partition.len()];
        let with_static = plan.has_static && partition != before;
        if with_static {
            before = partition.to_vec();
        }
        row::write(plan, &row, later_us, with_static, &mut values, |statement, values| target.write(statement, values))
            .map_err(ImportError::at_target)?;
    }
    target.finish().map_err(ImportError::at_target)?;
    let next = rows.metadata.paging_state.map(<[u8]>::to_vec);
    Ok(Page { rows: rows.len(), next, last_token: token_of(&row[..plan.partition.len().min(row.len())]) })
}

fn token_of(partition: &[Option<&[u8]>]) -> Option<i64> {
    let mut key = Vec::new();
    partition_key(partition.iter().map(|component| component.unwrap_or_default()), &mut key).ok()?;
    (!partition.is_empty()).then(|| token(&key).0)
}
