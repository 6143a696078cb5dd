//! Functions of times.

use super::calendar::{Unit, add, difference, extract, truncate, unit_at, week};
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
    register_makers(connection, form)?;
    register_changers(connection, form)?;
    register_parts(connection, form)?;
    register_formats(connection, form)
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
        let cut = move |moment: Moment| Moment { ns: moment.ns - moment.ns % step_ns, ..moment };
        let shown = Arc::clone(form);
        connection.create_scalar_function(name, 1, FLAGS, move |context| shown.shown(time_at(context, 0, &shown)?.map(cut)))?;
        let shown = Arc::clone(form);
        connection.create_scalar_function(name, 2, FLAGS, move |context| {
            let Some(zone_ms) = zone_at(context, 1, &shown)? else { return Ok(Value::Null) };
            shown.shown(time_in(context, zone_ms)?.map(cut))
        })?;
    }
    Ok(())
}

/// Functions that make times of years, months, days, hours, minutes and seconds.
fn register_makers(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    for (name, arguments) in [("make_timestamp", 6), ("make_timestamp", 7), ("make_timestamp", 3), ("make_timestamp", 4)] {
        let shown = Arc::clone(form);
        connection.create_scalar_function(name, arguments, FLAGS, move |context| shown.shown(made(context, &shown)?))?;
    }
    for arguments in [3, 4] {
        let shown = Arc::clone(form);
        connection
            .create_scalar_function("make_timestamp_by_date", arguments, FLAGS, move |context| shown.shown(made(context, &shown)?))?;
    }
    Ok(())
}

/// What MAKE_TIMESTAMP makes; none of a null.
fn made(context: &Context<'_>, form: &Form) -> Result<Option<Moment>> {
    let fields = if context.len() >= 6 { 6 } else { 3 };
    if (0..context.len()).any(|at| context.get_raw(at) == ValueRef::Null) {
        return Ok(None);
    }
    let whole = |at: usize| if at < fields { context.get::<i64>(at) } else { Ok(0) };
    let no_time = || wrong("these are no year, month, day, hour, minute and second of a time");
    let (year, month, day, hour, minute) = (whole(0)?, whole(1)?, whole(2)?, whole(3)?, whole(4)?);
    let second: f64 = if fields == 6 { context.get(5)? } else { 0.0 };
    let is_clock = (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..60.0).contains(&second);
    let is_date = (1..=9_999).contains(&year) && (1..=12).contains(&month) && (1..=time::days_of_month(year, month)).contains(&day);
    if !is_clock || !is_date {
        return Err(no_time());
    }
    // What is less than a millisecond is rounded, and makes no other second.
    let of_second_ms = (second.floor() as i64) * 1_000 + ((second.fract() * 1_000.0 + 0.5) as i64).min(999);
    let ms = (hour * 60 + minute) * 60_000 + of_second_ms;
    let local = Moment::of_ms(time::of_parts(Parts { year, month, day, ms }).ok_or_else(no_time)?);
    let zone_ms = zone_at(context, fields, form)?.unwrap_or(0);
    local.checked_add_ms(-zone_ms).map(Some).ok_or_else(no_time)
}

/// Functions that give other times.
fn register_changers(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    for (name, arguments) in [("timestamp_add", 3), ("timestampadd", 3), ("timestamp_add", 4), ("timestampadd", 4)] {
        let shown = Arc::clone(form);
        connection.create_scalar_function(name, arguments, FLAGS, move |context| {
            let unit = unit_at(context)?;
            let (Some(moment), Some(count)) = (time_at(context, 1, &shown)?, context.get::<Option<i64>>(2)?) else {
                return Ok(Value::Null);
            };
            let Some(zone_ms) = zone_at(context, 3, &shown)? else { return Ok(Value::Null) };
            let added = in_zone(moment, zone_ms, |local| add(unit, local, count));
            shown.shown(Some(added.ok_or_else(|| wrong("a time that cannot be"))?))
        })?;
    }
    for arguments in [2, 3] {
        let shown = Arc::clone(form);
        connection.create_scalar_function("timestamp_trunc", arguments, FLAGS, move |context| {
            let (unit, Some(moment)) = (unit_at(context)?, time_at(context, 1, &shown)?) else { return Ok(Value::Null) };
            let Some(zone_ms) = zone_at(context, 2, &shown)? else { return Ok(Value::Null) };
            let cut = in_zone(moment, zone_ms, |local| truncate(unit, local));
            shown.shown(Some(cut.ok_or_else(|| wrong("times are not cut to such a unit"))?))
        })?;
    }
    Ok(())
}

/// Functions that are told times, and give something else.
fn register_parts(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    let shown = Arc::clone(form);
    connection.create_scalar_function("to_epoch_ms", 1, FLAGS, move |context| Ok(time_at(context, 0, &shown)?.map(|moment| moment.ms)))?;
    for (name, arguments) in [("timestamp_diff", 3), ("timestampdiff", 3), ("timestamp_diff", 4), ("timestampdiff", 4)] {
        let shown = Arc::clone(form);
        connection.create_scalar_function(name, arguments, FLAGS, move |context| {
            let unit = unit_at(context)?;
            let (Some(later), Some(earlier)) = (time_at(context, 1, &shown)?, time_at(context, 2, &shown)?) else { return Ok(None) };
            let Some(zone_ms) = zone_at(context, 3, &shown)? else { return Ok(None) };
            difference(unit, local(later, zone_ms), local(earlier, zone_ms)).map(Some)
        })?;
    }
    for arguments in [2, 3] {
        let shown = Arc::clone(form);
        connection.create_scalar_function("extract", arguments, FLAGS, move |context| {
            let (unit, Some(moment)) = (unit_at(context)?, time_at(context, 1, &shown)?) else { return Ok(None) };
            Ok(zone_at(context, 2, &shown)?.map(|zone_ms| extract(unit, local(moment, zone_ms))))
        })?;
    }
    Ok(())
}

/// STRFTIME, and the same of times of so many digits.
fn register_formats(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    for (name, digits) in [("strftime", 0), ("strftime_3", 3), ("strftime_6", 6), ("strftime_9", 9)] {
        for arguments in [2, 3] {
            let shown = Arc::clone(form);
            connection.create_scalar_function(name, arguments, FLAGS, move |context| {
                let (Some(format), Some(moment)) = (context.get::<Option<String>>(0)?, time_at(context, 1, &shown)?) else {
                    return Ok(None);
                };
                let Some(zone_ms) = zone_at(context, 2, &shown)? else { return Ok(None) };
                let digits = match digits {
                    0 if shown.is_precise() => 9,
                    0 => 3,
                    digits => digits,
                };
                let formatted = format_time(&format, moment, zone_ms, digits);
                formatted.map(Some).ok_or_else(|| wrong(&format!("'{format}' is no format of a time")))
            })?;
        }
    }
    Ok(())
}

/// A time that is given as one, or as a text.
fn time_at(context: &Context<'_>, argument: usize, form: &Form) -> Result<Option<Moment>> {
    match context.get_raw(argument) {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(time_ms) => Ok(Some(Moment::of_ms(time_ms))),
        ValueRef::Text(_) => {
            let text = context.get::<String>(argument)?;
            Moment::parse_in(&text, form.zone_ms()).map(Some).ok_or_else(|| no_time(&text))
        }
        ValueRef::Real(_) | ValueRef::Blob(_) => Err(wrong("a time is expected")),
    }
}

fn no_time(text: &str) -> rusqlite::Error {
    wrong(&format!("`{text}` is no time"))
}

/// A text as a time of a time zone: it says no other one.
fn time_in(context: &Context<'_>, zone_ms: i64) -> Result<Option<Moment>> {
    let Some(text) = context.get::<Option<String>>(0)? else { return Ok(None) };
    let (local, own_ms) = Moment::parse_local(&text).ok_or_else(|| no_time(&text))?;
    if own_ms.is_some_and(|own_ms| own_ms != zone_ms) {
        return Err(wrong(&format!("`{text}` is of another time zone than {}", time::format_zone(zone_ms))));
    }
    local.checked_add_ms(-zone_ms).map(Some).ok_or_else(|| no_time(&text))
}

/// The time zone that an argument tells, or the connection's without it; none of a null.
fn zone_at(context: &Context<'_>, argument: usize, form: &Form) -> Result<Option<i64>> {
    if argument >= context.len() {
        return Ok(Some(form.zone_ms()));
    }
    let Some(text) = context.get::<Option<String>>(argument)? else { return Ok(None) };
    time::zone_ms(&text).map(Some).ok_or_else(|| wrong(&format!("`{text}` is no time zone: Z, +HH:MM or +HHMM")))
}

/// What calendar and clock of a time zone say.
fn local(moment: Moment, zone_ms: i64) -> Moment {
    Moment { ms: moment.ms.saturating_add(zone_ms), ..moment }
}

/// Changes a time as calendar and clock of a time zone say it.
fn in_zone(moment: Moment, zone_ms: i64, change: impl FnOnce(Moment) -> Option<Moment>) -> Option<Moment> {
    change(moment.checked_add_ms(zone_ms)?)?.checked_add_ms(-zone_ms)
}

fn format_time(format: &str, moment: Moment, zone_ms: i64, digits: usize) -> Option<String> {
    let shown = local(moment, zone_ms);
    let of = |unit| extract(unit, shown);
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
            'W' => format!("{:02}", week(shown)),
            'c' => moment.format_in(zone_ms, digits),
            'z' => time::format_zone(zone_ms),
            's' => moment.ms.div_euclid(1_000).to_string(),
            '%' => "%".to_owned(),
            _ => return None,
        });
    }
    Some(out)
}
