//! Functions that SQLite has not: of times, of numbers, and aggregations.

use crate::tables::Times;
use crate::time::{self, Parts};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};
use std::time::{SystemTime, UNIX_EPOCH};

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC);

/// Adds them.
pub(crate) fn register(connection: &Connection, times: Times) -> Result<()> {
    register_times(connection, times)?;
    register_parts_of_times(connection)?;
    register_numbers(connection)?;
    register_steps(connection)?;
    connection.create_scalar_function("char_length", 1, FLAGS, |context| {
        Ok(context.get::<Option<String>>(0)?.map(|text| text.chars().count() as i64))
    })?;
    for (name, is_sample, is_root) in [
        ("variance", true, false),
        ("var_samp", true, false),
        ("var_pop", false, false),
        ("stddev", true, true),
        ("stddev_samp", true, true),
        ("stddev_pop", false, true),
    ] {
        connection.create_aggregate_function(name, 1, FLAGS, Variance { is_sample, is_root })?;
    }
    Ok(())
}

/// Steps of time that a statement may go through.
const STEPS_MAX: i64 = 1_000_000;

/// What statements of GROUP BY RANGE need: the last step, if there are not too many of them, and what is at a step between two others.
fn register_steps(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("bounded_steps", 3, FLAGS, |context| {
        let [Some(first), Some(last), Some(step)] = [context.get::<Option<i64>>(0)?, context.get(1)?, context.get(2)?] else {
            return Ok(None);
        };
        if last.saturating_sub(first) / step.max(1) >= STEPS_MAX {
            return Err(wrong("GROUP BY RANGE fills at most 1,000,000 steps: choose longer ones, or a shorter range"));
        }
        Ok(Some(last))
    })?;
    connection.create_scalar_function("between_steps", 7, FLAGS, |context| {
        let real = |value: ValueRef<'_>| match value {
            ValueRef::Integer(value) => Some(value as f64),
            ValueRef::Real(value) => Some(value),
            _ => None,
        };
        let [own, before, after] = [2, 4, 6].map(|at| context.get_raw(at));
        if context.get_raw(1) != ValueRef::Null {
            return own.try_into().map_err(|_| wrong("a text that is not UTF-8"));
        }
        let (Some(from), Some(to)) = (real(before), real(after)) else {
            return before.try_into().map_err(|_| wrong("a text that is not UTF-8"));
        };
        let [at, from_at, to_at] = [context.get::<i64>(0)? as f64, context.get::<i64>(3)? as f64, context.get::<i64>(5)? as f64];
        let value = from + (to - from) * (at - from_at) / (to_at - from_at);
        let is_whole = matches!((before, after), (ValueRef::Integer(_), ValueRef::Integer(_)));
        Ok(if is_whole { Value::Integer(value as i64) } else { Value::Real(value) })
    })
}

/// Functions that give times.
fn register_times(connection: &Connection, times: Times) -> Result<()> {
    let shown = move |time_ms: Option<i64>| match (time_ms, times) {
        (None, _) => Value::Null,
        (Some(time_ms), Times::Milliseconds) => Value::Integer(time_ms),
        (Some(time_ms), Times::Texts) => Value::Text(time::format(time_ms)),
    };
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    // The same for the whole statement.
    connection.create_scalar_function("now", 0, FLAGS, move |_| Ok(shown(Some(now_ms))))?;
    for name in ["timestamp", "timestamp_ms"] {
        connection.create_scalar_function(name, 1, FLAGS, move |context| Ok(shown(time_at(context, 0)?)))?;
    }
    connection.create_scalar_function("to_timestamp_ms", 1, FLAGS, move |context| Ok(shown(context.get::<Option<i64>>(0)?)))?;
    for name in ["timestamp_add", "timestampadd"] {
        connection.create_scalar_function(name, 3, FLAGS, move |context| {
            let (unit, Some(time_ms), Some(count)) = (unit_at(context)?, time_at(context, 1)?, context.get::<Option<i64>>(2)?) else {
                return Ok(Value::Null);
            };
            add(unit, time_ms, count).map(|time_ms| shown(Some(time_ms))).ok_or_else(|| wrong("a time that cannot be"))
        })?;
    }
    connection.create_scalar_function("timestamp_trunc", 2, FLAGS, move |context| {
        let (unit, Some(time_ms)) = (unit_at(context)?, time_at(context, 1)?) else { return Ok(Value::Null) };
        truncate(unit, time_ms).map(|time_ms| shown(Some(time_ms))).ok_or_else(|| wrong("times are not cut to such a unit"))
    })
}

/// Functions that are told times, and give something else.
fn register_parts_of_times(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("to_epoch_ms", 1, FLAGS, |context| time_at(context, 0))?;
    for name in ["timestamp_diff", "timestampdiff"] {
        connection.create_scalar_function(name, 3, FLAGS, |context| {
            let (unit, Some(later), Some(earlier)) = (unit_at(context)?, time_at(context, 1)?, time_at(context, 2)?) else {
                return Ok(None);
            };
            difference(unit, later, earlier).map(Some).ok_or_else(|| wrong("such a unit has no difference"))
        })?;
    }
    connection.create_scalar_function("extract", 2, FLAGS, |context| {
        let (unit, Some(time_ms)) = (unit_at(context)?, time_at(context, 1)?) else { return Ok(None) };
        Ok(Some(extract(unit, time_ms)))
    })?;
    connection.create_scalar_function("strftime", 2, FLAGS, |context| {
        let (Some(format), Some(time_ms)) = (context.get::<Option<String>>(0)?, time_at(context, 1)?) else { return Ok(None) };
        format_time(&format, time_ms).map(Some).ok_or_else(|| wrong("a format that is not known"))
    })
}

fn wrong(message: &str) -> Error {
    Error::UserFunctionError(message.into())
}

/// A time that is given as one, or as a text.
fn time_at(context: &Context<'_>, argument: usize) -> Result<Option<i64>> {
    match context.get_raw(argument) {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(time_ms) => Ok(Some(time_ms)),
        ValueRef::Text(_) => {
            let text = context.get::<String>(argument)?;
            time::parse(&text).map(Some).ok_or_else(|| wrong(&format!("`{text}` is no time")))
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
    DayOfWeek,
    DayOfYear,
}

const UNITS: [(&str, Unit); 9] = [
    ("YEAR", Unit::Year),
    ("MONTH", Unit::Month),
    ("DAY", Unit::Day),
    ("HOUR", Unit::Hour),
    ("MINUTE", Unit::Minute),
    ("SECOND", Unit::Second),
    ("MILLISECOND", Unit::Millisecond),
    ("DAY_OF_WEEK", Unit::DayOfWeek),
    ("DAY_OF_YEAR", Unit::DayOfYear),
];

fn unit_at(context: &Context<'_>) -> Result<Unit> {
    let name = context.get::<String>(0)?;
    let known = UNITS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)).map(|(_, unit)| *unit);
    known.ok_or_else(|| wrong(&format!("{name} is no unit of time")))
}

/// How long a unit is that has always the same length.
fn length_ms(unit: Unit) -> Option<i64> {
    Some(match unit {
        Unit::Day => 86_400_000,
        Unit::Hour => 3_600_000,
        Unit::Minute => 60_000,
        Unit::Second => 1_000,
        Unit::Millisecond => 1,
        Unit::Year | Unit::Month | Unit::DayOfWeek | Unit::DayOfYear => return None,
    })
}

fn add(unit: Unit, time_ms: i64, count: i64) -> Option<i64> {
    if let Some(length_ms) = length_ms(unit) {
        return time_ms.checked_add(count.checked_mul(length_ms)?);
    }
    let months = match unit {
        Unit::Year => count.checked_mul(12)?,
        Unit::Month => count,
        _ => return None,
    };
    let Parts { year, month, day, ms } = time::parts(time_ms);
    let first = time::parts(time::of_parts(Parts { year, month: month.checked_add(months)?, day: 1, ms })?);
    // The last day of a shorter month.
    time::of_parts(Parts { day: day.min(time::days_of_month(first.year, first.month)), ..first })
}

fn difference(unit: Unit, later: i64, earlier: i64) -> Option<i64> {
    if let Some(length_ms) = length_ms(unit) {
        return Some(later.checked_sub(earlier)? / length_ms);
    }
    let months = |time_ms: i64| {
        let parts = time::parts(time_ms);
        parts.year * 12 + parts.month
    };
    match unit {
        Unit::Year => Some(time::parts(later).year - time::parts(earlier).year),
        Unit::Month => Some(months(later) - months(earlier)),
        _ => None,
    }
}

fn truncate(unit: Unit, time_ms: i64) -> Option<i64> {
    if let Some(length_ms) = length_ms(unit) {
        return time_ms.checked_sub(time_ms.rem_euclid(length_ms));
    }
    let parts = time::parts(time_ms);
    match unit {
        Unit::Year => time::of_parts(Parts { month: 1, day: 1, ms: 0, ..parts }),
        Unit::Month => time::of_parts(Parts { day: 1, ms: 0, ..parts }),
        _ => None,
    }
}

fn extract(unit: Unit, time_ms: i64) -> i64 {
    let Parts { year, month, day, ms } = time::parts(time_ms);
    let days = |time_ms: i64| time_ms.div_euclid(86_400_000);
    match unit {
        Unit::Year => year,
        Unit::Month => month,
        Unit::Day => day,
        Unit::Hour => ms / 3_600_000,
        Unit::Minute => ms / 60_000 % 60,
        Unit::Second => ms / 1_000 % 60,
        Unit::Millisecond => ms % 1_000,
        // 1970 began on a Thursday; Sunday is 0.
        Unit::DayOfWeek => (days(time_ms) + 4).rem_euclid(7),
        Unit::DayOfYear => {
            let first = time::of_parts(Parts { year, month: 1, day: 1, ms: 0 }).unwrap_or(time_ms);
            days(time_ms) - days(first) + 1
        }
    }
}

fn format_time(format: &str, time_ms: i64) -> Option<String> {
    let of = |unit| extract(unit, time_ms);
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
            'j' => format!("{:03}", of(Unit::DayOfYear)),
            'w' => of(Unit::DayOfWeek).to_string(),
            's' => time_ms.div_euclid(1_000).to_string(),
            '%' => "%".to_owned(),
            _ => return None,
        });
    }
    Some(out)
}

type OfOne = fn(f64) -> f64;
type OfTwo = fn(f64, f64) -> f64;

fn register_numbers(connection: &Connection) -> Result<()> {
    const OF_ONE: [(&str, OfOne); 14] = [
        ("sqrt", f64::sqrt),
        ("exp", f64::exp),
        ("ln", f64::ln),
        ("log10", f64::log10),
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("asin", f64::asin),
        ("acos", f64::acos),
        ("atan", f64::atan),
        ("ceil", f64::ceil),
        ("ceiling", f64::ceil),
        ("floor", f64::floor),
        ("trunc", f64::trunc),
    ];
    for (name, function) in OF_ONE {
        connection.create_scalar_function(name, 1, FLAGS, move |context| {
            Ok(context.get::<Option<f64>>(0)?.map(function).filter(|value| !value.is_nan()))
        })?;
    }
    const OF_TWO: [(&str, OfTwo); 4] =
        [("power", f64::powf), ("pow", f64::powf), ("atan2", f64::atan2), ("log", |base, value| value.log(base))];
    for (name, function) in OF_TWO {
        connection.create_scalar_function(name, 2, FLAGS, move |context| {
            let (Some(one), Some(other)) = (context.get::<Option<f64>>(0)?, context.get::<Option<f64>>(1)?) else { return Ok(None) };
            Ok(Some(function(one, other)).filter(|value| !value.is_nan()))
        })?;
    }
    Ok(())
}

/// Of a sample or of all, and its root if it is a deviation: by Welford's method, in one pass.
struct Variance {
    is_sample: bool,
    is_root: bool,
}

#[derive(Default)]
struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Aggregate<Moments, Option<f64>> for Variance {
    fn init(&self, _: &mut Context<'_>) -> Result<Moments> {
        Ok(Moments::default())
    }

    fn step(&self, context: &mut Context<'_>, moments: &mut Moments) -> Result<()> {
        let Some(value) = context.get::<Option<f64>>(0)? else { return Ok(()) };
        moments.count += 1;
        let before = value - moments.mean;
        moments.mean += before / moments.count as f64;
        moments.squares += before * (value - moments.mean);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, moments: Option<Moments>) -> Result<Option<f64>> {
        let Some(Moments { count, squares, .. }) = moments else { return Ok(None) };
        let among = if self.is_sample { count.saturating_sub(1) } else { count };
        let variance = (among > 0).then(|| squares / among as f64);
        Ok(variance.map(|variance| if self.is_root { variance.sqrt() } else { variance }))
    }
}
