//! Functions of times.

use super::declaring::{FLAGS, wrong};
use crate::form::Form;
use crate::tables::Times;
use crate::time::{self, Moment, Parts};
use rusqlite::functions::Context;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

const MICROSECOND_NS: u32 = 1_000;

/// Adds them.
pub(super) fn register(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    register_givers(connection, form)?;
    register_changers(connection, form)?;
    register_parts(connection)
}

/// Functions that give times of something else.
fn register_givers(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    // The same for the whole statement.
    let shown = Arc::clone(form);
    connection.create_scalar_function("now", 0, FLAGS, move |_| shown.shown(Some(Moment::of_ms(now_ms))))?;
    let shown = Arc::clone(form);
    connection.create_scalar_function("to_timestamp_ms", 1, FLAGS, move |context| {
        shown.shown(context.get::<Option<i64>>(0)?.map(Moment::of_ms))
    })?;
    // How many nanoseconds are told apart.
    let mut readers = vec![("timestamp", 1_000_000), ("timestamp_ms", 1_000_000)];
    if form.times() != Times::Texts {
        readers.extend([("timestamp_us", MICROSECOND_NS), ("timestamp_ns", 1)]);
    }
    for (name, step_ns) in readers {
        let shown = Arc::clone(form);
        connection.create_scalar_function(name, 1, FLAGS, move |context| {
            shown.shown(time_at(context, 0)?.map(|moment| Moment { ns: moment.ns - moment.ns % step_ns, ..moment }))
        })?;
    }
    Ok(())
}

/// Functions that give other times.
fn register_changers(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    for name in ["timestamp_add", "timestampadd"] {
        let shown = Arc::clone(form);
        connection.create_scalar_function(name, 3, FLAGS, move |context| {
            let (unit, Some(moment), Some(count)) = (unit_at(context)?, time_at(context, 1)?, context.get::<Option<i64>>(2)?) else {
                return Ok(Value::Null);
            };
            shown.shown(Some(add(unit, moment, count).ok_or_else(|| wrong("a time that cannot be"))?))
        })?;
    }
    let shown = Arc::clone(form);
    connection.create_scalar_function("timestamp_trunc", 2, FLAGS, move |context| {
        let (unit, Some(moment)) = (unit_at(context)?, time_at(context, 1)?) else { return Ok(Value::Null) };
        shown.shown(Some(truncate(unit, moment).ok_or_else(|| wrong("times are not cut to such a unit"))?))
    })
}

/// Functions that are told times, and give something else.
fn register_parts(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("to_epoch_ms", 1, FLAGS, |context| Ok(time_at(context, 0)?.map(|moment| moment.ms)))?;
    for name in ["timestamp_diff", "timestampdiff"] {
        connection.create_scalar_function(name, 3, FLAGS, |context| {
            let (unit, Some(later), Some(earlier)) = (unit_at(context)?, time_at(context, 1)?, time_at(context, 2)?) else {
                return Ok(None);
            };
            difference(unit, later, earlier).map(Some)
        })?;
    }
    connection.create_scalar_function("extract", 2, FLAGS, |context| {
        let (unit, Some(moment)) = (unit_at(context)?, time_at(context, 1)?) else { return Ok(None) };
        Ok(Some(extract(unit, moment)))
    })?;
    connection.create_scalar_function("strftime", 2, FLAGS, |context| {
        let (Some(format), Some(moment)) = (context.get::<Option<String>>(0)?, time_at(context, 1)?) else { return Ok(None) };
        format_time(&format, moment).map(Some).ok_or_else(|| wrong("a format that is not known"))
    })
}

/// A time that is given as one, or as a text.
fn time_at(context: &Context<'_>, argument: usize) -> Result<Option<Moment>> {
    match context.get_raw(argument) {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(time_ms) => Ok(Some(Moment::of_ms(time_ms))),
        ValueRef::Text(_) => {
            let text = context.get::<String>(argument)?;
            Moment::parse(&text).map(Some).ok_or_else(|| wrong(&format!("`{text}` is no time")))
        }
        ValueRef::Real(_) | ValueRef::Blob(_) => Err(wrong("a time is expected")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    DayOfWeek,
    DayOfYear,
}

const UNITS: [(&str, Unit); 11] = [
    ("YEAR", Unit::Year),
    ("MONTH", Unit::Month),
    ("DAY", Unit::Day),
    ("HOUR", Unit::Hour),
    ("MINUTE", Unit::Minute),
    ("SECOND", Unit::Second),
    ("MILLISECOND", Unit::Millisecond),
    ("MICROSECOND", Unit::Microsecond),
    ("NANOSECOND", Unit::Nanosecond),
    ("DAY_OF_WEEK", Unit::DayOfWeek),
    ("DAY_OF_YEAR", Unit::DayOfYear),
];

fn unit_at(context: &Context<'_>) -> Result<Unit> {
    let name = context.get::<String>(0)?;
    let known = UNITS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)).map(|(_, unit)| *unit);
    known.ok_or_else(|| wrong(&format!("{name} is no unit of time")))
}

/// How many nanoseconds a unit has that has always the same length.
fn length_ns(unit: Unit) -> Option<i64> {
    Some(match unit {
        Unit::Day => 86_400_000_000_000,
        Unit::Hour => 3_600_000_000_000,
        Unit::Minute => 60_000_000_000,
        Unit::Second => 1_000_000_000,
        Unit::Millisecond => 1_000_000,
        Unit::Microsecond => 1_000,
        Unit::Nanosecond => 1,
        Unit::Year | Unit::Month | Unit::DayOfWeek | Unit::DayOfYear => return None,
    })
}

fn add(unit: Unit, moment: Moment, count: i64) -> Option<Moment> {
    if let Some(length_ns) = length_ns(unit) {
        return Moment::of_total_ns(moment.total_ns() + i128::from(length_ns) * i128::from(count));
    }
    let months = match unit {
        Unit::Year => count.checked_mul(12)?,
        Unit::Month => count,
        _ => return None,
    };
    let Parts { year, month, day, ms } = time::parts(moment.ms);
    let first = time::parts(time::of_parts(Parts { year, month: month.checked_add(months)?, day: 1, ms })?);
    // The last day of a shorter month.
    let ms = time::of_parts(Parts { day: day.min(time::days_of_month(first.year, first.month)), ..first })?;
    Some(Moment { ms, ..moment })
}

fn difference(unit: Unit, later: Moment, earlier: Moment) -> Result<i64> {
    if let Some(length_ns) = length_ns(unit) {
        let too_many = || wrong("the times are too far from each other for so small a unit");
        return i64::try_from((later.total_ns() - earlier.total_ns()) / i128::from(length_ns)).map_err(|_| too_many());
    }
    let months = |moment: Moment| {
        let parts = time::parts(moment.ms);
        parts.year * 12 + parts.month
    };
    match unit {
        Unit::Year => Ok(time::parts(later.ms).year - time::parts(earlier.ms).year),
        Unit::Month => Ok(months(later) - months(earlier)),
        _ => Err(wrong("such a unit has no difference")),
    }
}

fn truncate(unit: Unit, moment: Moment) -> Option<Moment> {
    if let Some(length_ns) = length_ns(unit) {
        let total_ns = moment.total_ns();
        return Moment::of_total_ns(total_ns - total_ns.rem_euclid(i128::from(length_ns)));
    }
    let parts = time::parts(moment.ms);
    let ms = match unit {
        Unit::Year => time::of_parts(Parts { month: 1, day: 1, ms: 0, ..parts }),
        Unit::Month => time::of_parts(Parts { day: 1, ms: 0, ..parts }),
        _ => None,
    };
    ms.map(Moment::of_ms)
}

fn extract(unit: Unit, moment: Moment) -> i64 {
    let Parts { year, month, day, ms } = time::parts(moment.ms);
    let days = |time_ms: i64| time_ms.div_euclid(86_400_000);
    let of_second_ns = ms % 1_000 * 1_000_000 + i64::from(moment.ns);
    match unit {
        Unit::Year => year,
        Unit::Month => month,
        Unit::Day => day,
        Unit::Hour => ms / 3_600_000,
        Unit::Minute => ms / 60_000 % 60,
        Unit::Second => ms / 1_000 % 60,
        Unit::Millisecond => ms % 1_000,
        Unit::Microsecond => of_second_ns / 1_000,
        Unit::Nanosecond => of_second_ns,
        // 1970 began on a Thursday; Sunday is 0.
        Unit::DayOfWeek => (days(moment.ms) + 4).rem_euclid(7),
        Unit::DayOfYear => {
            let first = time::of_parts(Parts { year, month: 1, day: 1, ms: 0 }).unwrap_or(moment.ms);
            days(moment.ms) - days(first) + 1
        }
    }
}

fn format_time(format: &str, moment: Moment) -> Option<String> {
    let of = |unit| extract(unit, moment);
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        out.push_str(&match chars.next()? {
            'Y' => format!("{:04}", of(Unit::Year)),
            'm' => format!("{:02}", of(Unit::Month)),
            'd' => format!("{:02}", of(Unit::Day)),
            'H' => format!("{:02}", of(Unit::Hour)),
            'M' => format!("{:02}", of(Unit::Minute)),
            'S' => format!("{:02}", of(Unit::Second)),
            'f' => format!("{:02}.{:03}", of(Unit::Second), of(Unit::Millisecond)),
            digits @ ('3' | '6' | '9') if chars.next() == Some('f') => match digits {
                '3' => format!("{:03}", of(Unit::Millisecond)),
                '6' => format!("{:06}", of(Unit::Microsecond)),
                _ => format!("{:09}", of(Unit::Nanosecond)),
            },
            'j' => format!("{:03}", of(Unit::DayOfYear)),
            'w' => of(Unit::DayOfWeek).to_string(),
            's' => moment.ms.div_euclid(1_000).to_string(),
            '%' => "%".to_owned(),
            _ => return None,
        });
    }
    Some(out)
}
