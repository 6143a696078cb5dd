//! A statement under way: rows in the order of their keys, then the answer.

use super::aggregate::{Aggregate, AggregateResult};
use super::collect::Collector;
use super::cut::{Cut, Rest};
use super::evaluate::is_true;
use super::expression::Node;
use super::folded::Folded;
use super::sampling::{Sampler, time_of_row};
use super::select::{Select, What};
use super::value::Value;
use crate::GridError;
use crate::container::Container;
use crate::row::{RowSet, StoredRow};
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// What a statement gives.
pub enum Answer {
    /// Rows.
    Rows(RowSet),
    /// One value; none if there was nothing to aggregate.
    Aggregate(Option<AggregateResult>),
    /// What SQL has asked for: [`model::aggregate::Partials`], encoded.
    Partials(Vec<u8>),
}

enum Work {
    Rows,
    Aggregate(Aggregate, Option<usize>),
    Extreme { column: usize, wanted: Ordering, best: Value<'static> },
    Sampling(Box<Sampler>),
    Folded(Box<Folded>),
}

/// A statement that takes rows.
pub struct Execution<'c> {
    filter: Option<Node>,
    work: Work,
    collector: Collector<'c>,
    is_descending: bool,
}

impl<'c> Execution<'c> {
    /// Begins a statement, which keeps at most so many bytes of rows or groups.
    ///
    /// # Errors
    /// The statement cannot be done.
    pub fn new(select: Select, container: &'c Container, memory_max: usize) -> Result<Self, GridError> {
        let (mut limit, mut order) = (select.limit, select.order);
        let work = match select.what {
            What::Rows => select.folded.map_or(Work::Rows, |spec| Work::Folded(Box::new(Folded::new(spec, memory_max)))),
            What::Nearest(..) => {
                let rows = u64::from(select.offset == 0);
                limit = Some(limit.map_or(rows, |limit| limit.min(rows)));
                order.clear();
                Work::Rows
            }
            What::Aggregate(aggregation, column) => Work::Aggregate(Aggregate::new(aggregation), column),
            What::Extreme { column, is_largest } => {
                let wanted = if is_largest { Ordering::Greater } else { Ordering::Less };
                Work::Extreme { column, wanted, best: Value::Null }
            }
            What::Sampling(sampling) => Work::Sampling(Box::new(Sampler::new(sampling)?)),
        };
        let collector =
            Collector::new(container, order, limit, select.offset, memory_max).keeping_keys(select.locks_rows).looking_at(select.columns);
        Ok(Self { filter: select.filter, work, collector, is_descending: select.is_descending })
    }

    /// Takes only some of the rows of its answer.
    #[must_use]
    pub fn cutting(self, cut: Cut) -> Self {
        let is_descending = self.is_descending;
        Self { collector: self.collector.cutting(cut, is_descending), ..self }
    }

    /// Takes the next row of the range; breaks when the answer needs no other one.
    ///
    /// # Errors
    /// The condition has no value for the row, or the answer is too large.
    pub fn push(&mut self, row: &StoredRow<'_>) -> Result<ControlFlow<()>, GridError> {
        if let Some(filter) = &self.filter
            && !is_true(filter, row)?
        {
            return Ok(ControlFlow::Continue(()));
        }
        let value = |column: usize| Value::of_cell(&row.container.definition.columns[column], row.cell(column));
        match &mut self.work {
            Work::Rows => self.collector.push(row),
            Work::Aggregate(aggregate, column) => {
                let time_ms = if row.container.is_time_series() { time_of_row(row) } else { 0 };
                aggregate.push(&column.map_or(Value::Bool(true), value), time_ms);
                Ok(ControlFlow::Continue(()))
            }
            Work::Extreme { column, wanted, best } => {
                let value = value(*column);
                if value == Value::Null {
                    return Ok(ControlFlow::Continue(()));
                }
                let order = if *best == Value::Null { Some(*wanted) } else { value.compare(best) };
                if order == Some(*wanted) {
                    self.collector.clear();
                    *best = value.into_owned();
                }
                if order == Some(*wanted) || order == Some(Ordering::Equal) {
                    // A better row may follow whatever the limit is.
                    let _ = self.collector.push(row)?;
                }
                Ok(ControlFlow::Continue(()))
            }
            Work::Sampling(sampler) => sampler.push(row, &mut self.collector),
            Work::Folded(folded) => {
                folded.push(row);
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    /// Bytes that the answer has so far.
    #[must_use]
    pub fn answer_bytes(&self) -> usize {
        if let Work::Folded(folded) = &self.work {
            return folded.bytes();
        }
        self.collector.bytes()
    }

    /// Bytes of the rows that its aggregates have looked at.
    #[must_use]
    pub fn read_bytes(&self) -> usize {
        if let Work::Folded(folded) = &self.work { folded.read_bytes() } else { 0 }
    }

    /// What is left of OFFSET and LIMIT.
    #[must_use]
    pub fn left(&self) -> (u64, Option<u64>) {
        self.collector.left()
    }

    /// The answer, once there are no more rows or `push` breaks, and what a cut has left.
    ///
    /// # Errors
    /// The answer is too large.
    pub fn finish(mut self) -> Result<(Answer, Rest), GridError> {
        match self.work {
            Work::Aggregate(aggregate, _) => return Ok((Answer::Aggregate(aggregate.finish()), Rest::default())),
            Work::Folded(mut folded) => return Ok((Answer::Partials(folded.finish()), Rest::default())),
            Work::Sampling(mut sampler) => sampler.finish(&mut self.collector)?,
            _ => {}
        }
        self.collector.finish().map(|(rows, rest)| (Answer::Rows(rows), rest))
    }
}
