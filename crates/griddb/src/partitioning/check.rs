//! Which divisions a table can have.

use super::{HASH_COUNT_MAX, HashDivision, Intervals, Partitioning};
use crate::schema::{ColumnDefinition, ElementType};
use crate::{ErrorCode, GridError};

/// The least width of intervals of LONG, for each data partition of them.
const LONG_WIDTH_MIN: i64 = 1_000;

fn wrong_column(message: String) -> GridError {
    GridError::new(ErrorCode::SQL_DDL_INVALID_PARTITION_COLUMN, message)
}

fn wrong(message: impl Into<std::borrow::Cow<'static, str>>) -> GridError {
    GridError::new(ErrorCode::SQL_DDL_INVALID_PARAMETER, message)
}

impl Partitioning {
    /// Refuses what a table of these columns, the first so many of which are its key, cannot have.
    ///
    /// # Errors
    /// Why.
    pub fn check(&self, columns: &[ColumnDefinition], key_len: usize) -> Result<(), GridError> {
        for name in self.columns() {
            let position = columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
            let position = position.ok_or_else(|| wrong_column(format!("the table has no column {name} to partition it by")))?;
            if key_len > 0 && position >= key_len {
                return Err(wrong_column(format!("the column {name} is to be in the primary key, as the table is partitioned by it")));
            }
            if columns[position].is_beyond_sql() {
                return Err(wrong_column(format!("a table cannot be partitioned by arrays and geometries, as {name} has them")));
            }
        }
        if let Some(HashDivision { count, .. }) = &self.hash
            && !(1..=HASH_COUNT_MAX).contains(count)
        {
            return Err(wrong(format!("a hash has 1 to {HASH_COUNT_MAX} data partitions, not {count}")));
        }
        let Some(intervals) = &self.intervals else {
            return if self.expiration.is_some() { Err(wrong("only tables partitioned by intervals expire")) } else { Ok(()) };
        };
        let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case(&intervals.column));
        let column = column.ok_or_else(|| wrong_column(format!("the table has no column {}", intervals.column)))?;
        if !column.is_not_null {
            return Err(wrong_column(format!(
                "the column {} is to be NOT NULL, as the table is partitioned by its intervals",
                column.name
            )));
        }
        check_width(intervals, column, self.count())?;
        match &self.expiration {
            Some(_) if !column.element.is_time() => Err(wrong("only tables partitioned by intervals of a TIMESTAMP expire")),
            Some(expiration) if expiration.time == 0 || expiration.time > i32::MAX as u32 => {
                Err(wrong(format!("rows expire after 1 to {} units of time", i32::MAX)))
            }
            _ => Ok(()),
        }
    }
}

fn check_width(intervals: &Intervals, column: &ColumnDefinition, count: u32) -> Result<(), GridError> {
    let Intervals { every, unit, .. } = intervals;
    let name = &column.name;
    if column.element.is_time() {
        if unit.is_none() {
            return Err(wrong(format!("the intervals of {name} need a unit of time: DAY or HOUR")));
        }
    } else if unit.is_some() {
        return Err(wrong(format!("the column {name} is no TIMESTAMP: its intervals have no unit of time")));
    }
    let (min, max) = match column.element {
        ElementType::Byte => (1, i64::from(i8::MAX)),
        ElementType::Short => (1, i64::from(i16::MAX)),
        ElementType::Integer => (1, i64::from(i32::MAX)),
        ElementType::Long => (LONG_WIDTH_MIN * i64::from(count), i64::MAX),
        element if element.is_time() => (1, i64::MAX),
        element => {
            return Err(wrong(format!(
                "the column {name} is {}, which has no intervals: BYTE, SHORT, INTEGER, LONG and TIMESTAMP have",
                element.name()
            )));
        }
    };
    if !(min..=max).contains(every) || intervals.width().is_none() {
        return Err(wrong(format!("intervals of {name} are {min} to {max} wide, and times within what milliseconds count; not {every}")));
    }
    Ok(())
}
