//! Statements of time series that are answered by one row or value.

use super::head::{Head, Uuid};
use super::query::{Way, answer, write_value};
use super::request::{READ, Request};
use super::rows;
use crate::GridError;
use crate::failure::Failure;
use crate::tql::{Aggregation, Answer, Select, TimeOperator};
use crate::wire::{Reader, statement};
use model::operation::RowStore;

/// Instead of a column's position: none.
const NO_COLUMN: i32 = -1;

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
        let way = Way { part: None, cut: None, end: &[], ranges: &[] };
        match answer(self.head.container, self.select()?, way, rows::REPLY_BYTES_MAX, store)?.answer {
            Answer::Rows(found) => {
                out.push(u8::from(found.rows() > 0));
                found.write(out);
            }
            Answer::Aggregate(value) => {
                out.push(u8::from(value.is_some()));
                write_value(value, out);
            }
            // Its statements ask for none.
            Answer::Partials(_) => out.push(0),
        }
        Ok(())
    }
}
