//! Rows at regular times, from the rows around these times.

use super::collect::{Collector, OwnedRow};
use super::select::{Interpolation, Sampling};
use super::value::Value;
use crate::GridError;
use crate::container::Container;
use crate::key::encode_key;
use crate::row::StoredRow;
use crate::schema::ElementType;
use std::ops::ControlFlow;

/// A sampling under way: the next time, and the row before it.
pub(super) struct Sampler {
    sampling: Sampling,
    interval_ms: i64,
    next_ms: i64,
    last: Option<(i64, OwnedRow)>,
}

/// The time of a row of a time series.
pub(super) fn time_of_row(row: &StoredRow<'_>) -> i64 {
    row.cell(0).and_then(|cell| cell.first_chunk().map(|bytes| i64::from_be_bytes(*bytes))).unwrap_or(0)
}

impl Sampler {
    pub(super) fn new(sampling: Sampling) -> Result<Self, GridError> {
        let (interval_ms, next_ms) = (sampling.interval_ms()?, sampling.start_ms);
        Ok(Self { sampling, interval_ms, next_ms, last: None })
    }

    /// Adds what is between the last row and this one; breaks when all times are past.
    pub(super) fn push(&mut self, row: &StoredRow<'_>, collector: &mut Collector<'_>) -> Result<ControlFlow<()>, GridError> {
        let time_ms = time_of_row(row);
        if self.between(time_ms, Some(row), collector)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if self.next_ms == time_ms && time_ms <= self.sampling.end_ms {
            self.advance(1);
            if collector.push(row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.last = Some((time_ms, OwnedRow::copy(row, row.clustering.to_vec(), &[])));
        Ok(if self.next_ms > self.sampling.end_ms { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Adds what is after the last row.
    pub(super) fn finish(&mut self, collector: &mut Collector<'_>) -> Result<(), GridError> {
        if self.next_ms > self.sampling.end_ms {
            return Ok(());
        }
        let past_ms = self.sampling.end_ms.saturating_add(1);
        self.between(past_ms, None, collector).map(|_| ())
    }

    fn advance(&mut self, intervals: i64) {
        self.next_ms = self.next_ms.saturating_add(self.interval_ms.saturating_mul(intervals));
    }

    /// Adds rows for times before `until_ms`.
    fn between(
        &mut self,
        until_ms: i64,
        after: Option<&StoredRow<'_>>,
        collector: &mut Collector<'_>,
    ) -> Result<ControlFlow<()>, GridError> {
        let until_ms = until_ms.min(self.sampling.end_ms.saturating_add(1));
        if self.next_ms >= until_ms {
            return Ok(ControlFlow::Continue(()));
        }
        let is_line = !self.sampling.columns.is_empty();
        let Some((last_ms, last)) = self.last.take() else { return Ok(self.skip(until_ms)) };
        if after.is_none() && is_line && self.sampling.interpolation == Interpolation::LinearOrPrevious {
            return Ok(self.skip(until_ms));
        }
        while self.next_ms < until_ms {
            let row = self.interpolate(last_ms, &last.view(collector.container), after)?;
            if collector.push(&row.view(collector.container))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if self.next_ms == i64::MAX {
                break;
            }
            self.advance(1);
        }
        self.last = Some((last_ms, last));
        Ok(ControlFlow::Continue(()))
    }

    /// Leaves out times before `until_ms`, without a step for each.
    fn skip(&mut self, until_ms: i64) -> ControlFlow<()> {
        let intervals = (i128::from(until_ms) - i128::from(self.next_ms) + i128::from(self.interval_ms) - 1) / i128::from(self.interval_ms);
        self.advance(i64::try_from(intervals).unwrap_or(i64::MAX));
        ControlFlow::Continue(())
    }

    fn interpolate(&self, last_ms: i64, last: &StoredRow<'_>, after: Option<&StoredRow<'_>>) -> Result<OwnedRow, GridError> {
        let mut clustering = Vec::new();
        encode_key(ElementType::Timestamp, &self.next_ms.to_be_bytes(), &mut clustering)?;
        let columns = &last.container.definition.columns;
        let changed: Vec<_> = match (self.sampling.interpolation, after) {
            (Interpolation::Empty, _) => (1..columns.len()).map(|position| (position, empty(last.container, position))).collect(),
            (_, None) => Vec::new(),
            (_, Some(after)) => {
                let part = (self.next_ms - last_ms) as f64 / (time_of_row(after) - last_ms) as f64;
                let line = |position: &usize| (*position, on_line(last, after, *position, part));
                self.sampling.columns.iter().filter(|position| **position > 0).map(line).collect()
            }
        };
        Ok(OwnedRow::copy(last, clustering, &changed))
    }
}

/// The value of a column without one: zero, no characters, no elements; null if it may be.
fn empty(container: &Container, position: usize) -> Option<Vec<u8>> {
    let column = container.definition.columns.get(position).filter(|column| column.is_not_null)?;
    Some(if column.is_array { vec![0; 4] } else { vec![0; column.element.fixed_bytes().unwrap_or(0)] })
}

/// The cell on the line between two rows; null if one of them is.
fn on_line(last: &StoredRow<'_>, after: &StoredRow<'_>, position: usize, part: f64) -> Option<Vec<u8>> {
    let column = last.container.definition.columns.get(position)?;
    let number = |row: &StoredRow<'_>| match Value::of_cell(column, row.cell(position)) {
        Value::Long(value) => Some(value as f64),
        Value::Double(value) => Some(value),
        _ => None,
    };
    let (from, to) = (number(last)?, number(after)?);
    let value = from + (to - from) * part;
    Some(match column.element {
        ElementType::Byte => (value as i8).to_be_bytes().to_vec(),
        ElementType::Short => (value as i16).to_be_bytes().to_vec(),
        ElementType::Integer => (value as i32).to_be_bytes().to_vec(),
        ElementType::Long => (value as i64).to_be_bytes().to_vec(),
        ElementType::Float => (value as f32).to_be_bytes().to_vec(),
        _ => value.to_be_bytes().to_vec(),
    })
}
