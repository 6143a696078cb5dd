//! Rows at regular times, from the rows around these times.

use super::collect::{Collector, OwnedRow};
use super::select::{Interpolation, Sampling};
use super::value::Value;
use crate::container::Container;
use crate::key::encode_key;
use crate::row::StoredRow;
use crate::schema::ElementType;
use crate::{ErrorCode, GridError};
use model::row::{RowWriter, Stamp};
use std::ops::ControlFlow;

/// How many rows a sampling makes up for times without one.
const MADE_UP_MAX: u32 = 1_000_000;

/// A sampling under way: the next time, and the row before it.
pub(super) struct Sampler {
    sampling: Sampling,
    interval_ms: i64,
    next_ms: i64,
    last: Option<(i64, OwnedRow)>,
    /// How many rows may still be made up, those under an OFFSET too.
    left: u32,
}

/// The time of a row of a time series.
pub(super) fn time_of_row(row: &StoredRow<'_>) -> i64 {
    row.cell(0).and_then(|cell| cell.first_chunk().map(|bytes| i64::from_be_bytes(*bytes))).unwrap_or(0)
}

impl Sampler {
    pub(super) fn new(sampling: Sampling) -> Result<Self, GridError> {
        let (interval_ms, next_ms) = (sampling.interval_ms()?, sampling.start_ms);
        Ok(Self { sampling, interval_ms, next_ms, last: None, left: MADE_UP_MAX })
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
        let container = collector.container;
        if self.sampling.interpolation == Interpolation::Empty {
            return self.emit(until_ms, collector, |next_ms| empty_row(container, next_ms));
        }
        // A line needs both ends.
        let has_ends = after.is_some() || self.sampling.columns.is_empty();
        let Some((last_ms, last)) = self.last.take().filter(|_| has_ends) else { return Ok(self.skip(until_ms)) };
        let columns = self.sampling.columns.clone();
        let interpolate = |next_ms| interpolate(next_ms, (last_ms, &last.view(container)), after, &columns);
        let flow = self.emit(until_ms, collector, interpolate)?;
        self.last = Some((last_ms, last));
        Ok(flow)
    }

    /// Adds a row for each time before `until_ms`.
    fn emit(
        &mut self,
        until_ms: i64,
        collector: &mut Collector<'_>,
        row: impl Fn(i64) -> Result<OwnedRow, GridError>,
    ) -> Result<ControlFlow<()>, GridError> {
        while self.next_ms < until_ms {
            self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
            let row = row(self.next_ms)?;
            if collector.push(&row.view(collector.container))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.advance(1);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Leaves out times before `until_ms`, without a step for each.
    fn skip(&mut self, until_ms: i64) -> ControlFlow<()> {
        let intervals = (i128::from(until_ms) - i128::from(self.next_ms) + i128::from(self.interval_ms) - 1) / i128::from(self.interval_ms);
        self.advance(i64::try_from(intervals).unwrap_or(i64::MAX));
        ControlFlow::Continue(())
    }
}

fn too_many() -> GridError {
    GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, format!("a sampling makes up at most {MADE_UP_MAX} rows: take longer intervals"))
}

fn key_of(time_ms: i64) -> Result<Vec<u8>, GridError> {
    let mut clustering = Vec::new();
    encode_key(ElementType::Timestamp, &time_ms.to_be_bytes(), &mut clustering)?;
    Ok(clustering)
}

/// The row at a time after `last`: as that one, but with `columns` on the line to `after`.
fn interpolate(
    next_ms: i64,
    (last_ms, last): (i64, &StoredRow<'_>),
    after: Option<&StoredRow<'_>>,
    columns: &[usize],
) -> Result<OwnedRow, GridError> {
    let line = |after: &StoredRow<'_>| {
        let part = (next_ms - last_ms) as f64 / (time_of_row(after) - last_ms) as f64;
        let cell = |position: &usize| (*position, on_line(last, after, *position, part));
        columns.iter().filter(|position| **position > 0).map(cell).collect()
    };
    let changed: Vec<_> = after.map_or_else(Vec::new, line);
    Ok(OwnedRow::copy(last, key_of(next_ms)?, &changed))
}

/// A row of zeros, without characters and elements.
fn empty_row(container: &Container, time_ms: i64) -> Result<OwnedRow, GridError> {
    let (stamp, mut bytes) = (Stamp::at(0), Vec::new());
    let mut writer = RowWriter::new(&mut bytes, stamp, true, None);
    for (position, column) in container.in_order_of_ids() {
        writer.value(container.column_id(position), stamp, column.zero_cell());
    }
    writer.finish();
    Ok(OwnedRow { clustering: key_of(time_ms)?, bytes })
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
