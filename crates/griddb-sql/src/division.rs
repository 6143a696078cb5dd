//! How statements say that tables are partitioned.

use crate::container::Container;
use crate::failures::wrong;
use griddb::partitioning::{Expiration, HashDivision, IntervalUnit, Intervals, Partitioning};
use griddb::{ErrorCode, GridError};
use sql::syntax::{Literal, RangeClause, TableDefinition};
use sql::time::Moment;

/// What says where rows should be, which they find by themselves here.
const HINTS: [&str; 3] = ["data_affinity", "interval_worker_group", "interval_worker_group_position"];

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> GridError {
    GridError::new(ErrorCode::SQL_DDL_INVALID_PARAMETER, message)
}

/// How a table that is to be made is partitioned, if it is.
pub(crate) fn declared(table: &TableDefinition) -> Result<Option<Partitioning>, GridError> {
    let expiration = expiration(&table.properties)?;
    let Some(by) = &table.partitioned_by else {
        return match expiration {
            None => Ok(None),
            Some(_) => Err(invalid("only tables partitioned by intervals expire")),
        };
    };
    let intervals = by.range.as_ref().map(intervals).transpose()?;
    let hash = by.hash.as_ref().map(|(column, count)| {
        // What does not fit is too many.
        HashDivision { column: column.clone(), count: u32::try_from(*count).unwrap_or(u32::MAX) }
    });
    if let Some(HashDivision { count, .. }) = &hash
        && !(1..=griddb::partitioning::HASH_COUNT_MAX).contains(count)
    {
        return Err(invalid(format!("a hash has 1 to {} data partitions", griddb::partitioning::HASH_COUNT_MAX)));
    }
    Ok(Some(Partitioning::new(intervals, hash, expiration)))
}

fn intervals(range: &RangeClause) -> Result<Intervals, GridError> {
    let unknown = |unit: &String| invalid(format!("intervals of time are of DAY or HOUR, not of {unit}"));
    let unit = range.unit.as_ref().map(|unit| IntervalUnit::of_name(unit).ok_or_else(|| unknown(unit))).transpose()?;
    let every = i64::try_from(range.every).ok().filter(|every| *every > 0);
    let every = every.ok_or_else(|| invalid(format!("an interval cannot be {} wide", range.every)))?;
    Ok(Intervals { column: range.column.clone(), every, unit })
}

fn expiration(properties: &[(String, Literal)]) -> Result<Option<Expiration>, GridError> {
    let (mut time, mut unit) = (None, None);
    for (key, value) in properties {
        match (&**key, value) {
            ("expiration_type", Literal::Text(kind)) if kind.eq_ignore_ascii_case("PARTITION") => {}
            ("expiration_type", _) => return Err(wrong("the only expiration_type is 'PARTITION'".to_owned())),
            ("expiration_time", Literal::Integer(value)) => {
                let valid = u32::try_from(*value).ok().filter(|value| (1..=i32::MAX as u32).contains(value));
                time = Some(valid.ok_or_else(|| wrong(format!("an expiration_time is 1 to {}, not {value}", i32::MAX)))?);
            }
            ("expiration_time_unit", Literal::Text(name)) => unit = Some(name),
            ("expiration_time" | "expiration_time_unit", _) => return Err(wrong(format!("the value of {key} is of another type"))),
            ("expiration_division_count", _) => {
                return Err(wrong("an expiration_division_count is for rows that expire one by one, which there are none of".to_owned()));
            }
            (key, _) if HINTS.contains(&key) => {}
            (key, _) => return Err(wrong(format!("WITH has no {key}"))),
        }
    }
    match (time, unit) {
        (Some(time), unit) => {
            let unit = unit.map_or("DAY", String::as_str);
            let unknown = || wrong(format!("an expiration_time_unit is DAY, HOUR, MINUTE, SECOND or MILLISECOND, not {unit}"));
            Expiration::new(time, unit).map(Some).ok_or_else(unknown)
        }
        (None, None) if properties.iter().all(|(key, _)| key != "expiration_type") => Ok(None),
        (None, _) => Err(wrong("an expiration needs its expiration_time".to_owned())),
    }
}

/// The interval that a value is in.
pub(crate) fn interval_of(container: &Container, value: &Literal) -> Result<i64, GridError> {
    let undivided = || {
        let message = format!("the table {} is not partitioned by intervals", container.name);
        GridError::new(ErrorCode::SQL_DDL_INVALID_PARTITIONING_TABLE_TYPE, message)
    };
    let partitioning = container.partitioning.as_ref().ok_or_else(undivided)?;
    let name = &partitioning.intervals().ok_or_else(undivided)?.column;
    let is_time = container.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name) && column.element.is_time());
    let number = match value {
        Literal::Integer(value) if !is_time => *value,
        Literal::Text(text) if is_time => Moment::parse(text).ok_or_else(|| invalid(format!("{text} is no time")))?.ms,
        Literal::Integer(_) => return Err(invalid(format!("the column {name} has times: '2017-01-10T13:00:00Z'"))),
        Literal::Text(_) => return Err(invalid(format!("the column {name} has whole numbers"))),
    };
    Ok(partitioning.interval_of(number))
}
