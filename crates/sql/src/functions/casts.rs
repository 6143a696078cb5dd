//! CAST of GridDB's SQL, and what else minds types: what a type does not hold is an error.
//!
//! How a value becomes a text comes as a number with it: 1 of a truth, 3, 6 or 9 digits of a second of a time, 0 of all else.

use super::declaring::{FLAGS, wrong};
use crate::form::Form;
use crate::time::{self, Moment};
use rusqlite::functions::Context;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};
use std::fmt::Write;
use std::sync::Arc;

/// Types of whole numbers.
const WHOLE: [(&str, i64, i64); 4] = [
    ("BYTE", i8::MIN as i64, i8::MAX as i64),
    ("SHORT", i16::MIN as i64, i16::MAX as i64),
    ("INTEGER", i32::MIN as i64, i32::MAX as i64),
    ("LONG", i64::MIN, i64::MAX),
];
/// Beyond them a real number is no LONG.
const LONG_REALS: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;

/// Adds them.
pub(super) fn register(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    let shown = Arc::clone(form);
    connection
        .create_scalar_function("cast_string", 2, FLAGS, move |context| as_string(context.get_raw(0), context.get(1)?, shown.zone_ms()))?;
    connection.create_scalar_function("cast_integer", 2, FLAGS, |context| as_integer(context.get_raw(0), &context.get::<String>(1)?))?;
    connection.create_scalar_function("cast_real", 2, FLAGS, |context| as_real(context.get_raw(0), &context.get::<String>(1)?))?;
    connection.create_scalar_function("cast_bool", 1, FLAGS, |context| as_bool(context.get_raw(0)))?;
    connection.create_scalar_function("cast_blob", 1, FLAGS, |context| as_blob(context.get_raw(0)))?;
    let shown = Arc::clone(form);
    connection.create_scalar_function("cast_timestamp", 2, FLAGS, move |context| as_timestamp(context, &shown))?;
    connection.create_scalar_function("nonzero", 1, FLAGS, |context| match context.get_raw(0) {
        ValueRef::Integer(0) => Err(wrong("division by zero")),
        ValueRef::Real(0.0) => Err(wrong("division by zero")),
        value => owned(value),
    })?;
    connection.create_scalar_function("nonzero_whole", 1, FLAGS, |context| match context.get_raw(0) {
        ValueRef::Integer(0) => Err(wrong("division by zero")),
        ValueRef::Real(value) if value.trunc() == 0.0 => Err(wrong("division by zero")),
        value => owned(value),
    })?;
    connection.create_scalar_function("type_name", 2, FLAGS, |context| {
        let known: String = context.get(1)?;
        Ok(match context.get_raw(0) {
            ValueRef::Null => "NULL".to_owned(),
            _ if !known.is_empty() => known,
            ValueRef::Integer(_) => "LONG".to_owned(),
            ValueRef::Real(_) => "DOUBLE".to_owned(),
            ValueRef::Text(_) => "STRING".to_owned(),
            ValueRef::Blob(_) => "BLOB".to_owned(),
        })
    })
}

pub(super) fn owned(value: ValueRef<'_>) -> Result<Value> {
    value.try_into().map_err(|_| wrong("a text that is not UTF-8"))
}

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| wrong("a text that is not UTF-8"))
}

fn not_cast<T>(value: &str, to: &str) -> Result<T> {
    let shown: String = value.chars().take(64).collect();
    Err(wrong(&format!("'{shown}' is not cast to {to}")))
}

/// A text of a value, in its form.
fn as_string(value: ValueRef<'_>, form: i64, zone_ms: i64) -> Result<Value> {
    let digits = usize::try_from(form).unwrap_or(0);
    let of_time = |moment: Moment| moment.format_in(zone_ms, digits);
    Ok(Value::Text(match value {
        ValueRef::Null => return Ok(Value::Null),
        ValueRef::Integer(value) if digits >= 3 => of_time(Moment::of_ms(value)),
        ValueRef::Integer(value) if digits == 1 => (if value == 0 { "false" } else { "true" }).to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => real_text(value),
        ValueRef::Text(bytes) => {
            let text = text_of(bytes)?;
            // A time as the statement has it; any other text stays.
            let is_moment = |moment: &Moment| digits >= 3 && moment.format() == text;
            Moment::parse(text).filter(is_moment).map_or_else(|| text.to_owned(), of_time)
        }
        ValueRef::Blob(bytes) => bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02X}");
            text
        }),
    }))
}

/// A real number as a text: the shortest that reads as it.
fn real_text(value: f64) -> String {
    match value {
        value if value.is_infinite() => (if value > 0.0 { "Infinity" } else { "-Infinity" }).to_owned(),
        value if value != 0.0 && !(1e-5..1e17).contains(&value.abs()) => {
            let text = format!("{value:e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let point = if digits.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            format!("{digits}{point}e{sign}{exponent}")
        }
        value => format!("{value:?}"),
    }
}

/// The number that a text is, whatever its capitals.
fn number(text: &str) -> Option<f64> {
    let trimmed = text.trim();
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let is_word = ["inf", "infinity"].iter().any(|word| unsigned.eq_ignore_ascii_case(word)) || trimmed.eq_ignore_ascii_case("nan");
    let is_digits = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".+-eE".contains(&byte));
    if is_word || is_digits { trimmed.parse().ok() } else { None }
}

fn as_integer(value: ValueRef<'_>, to: &str) -> Result<Option<i64>> {
    let (_, least, most) = WHOLE.iter().find(|(name, ..)| *name == to).unwrap_or(&WHOLE[3]);
    let of_real = |value: f64| {
        let whole = value.trunc();
        if LONG_REALS.contains(&whole) { Ok(whole as i64) } else { not_cast(&real_text(value), to) }
    };
    let whole = match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Integer(value) => value,
        ValueRef::Real(value) => of_real(value)?,
        ValueRef::Text(bytes) => {
            let text = text_of(bytes)?;
            match text.trim().parse::<i64>() {
                Ok(whole) => whole,
                Err(_) => match number(text) {
                    Some(real) => of_real(real)?,
                    None => return not_cast(text, to),
                },
            }
        }
        ValueRef::Blob(_) => return not_cast("a BLOB", to),
    };
    if (*least..=*most).contains(&whole) { Ok(Some(whole)) } else { not_cast(&whole.to_string(), to) }
}

fn as_real(value: ValueRef<'_>, to: &str) -> Result<Option<f64>> {
    let real = match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Integer(value) => value as f64,
        ValueRef::Real(value) => value,
        ValueRef::Text(bytes) => {
            let text = text_of(bytes)?;
            match number(text) {
                Some(real) => real,
                None => return not_cast(text, to),
            }
        }
        ValueRef::Blob(_) => return not_cast("a BLOB", to),
    };
    if to != "FLOAT" || !real.is_finite() {
        return Ok(Some(real));
    }
    let single = real as f32;
    if single.is_finite() { Ok(Some(f64::from(single))) } else { not_cast(&real_text(real), to) }
}

fn as_bool(value: ValueRef<'_>) -> Result<Option<bool>> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(value) => Ok(Some(value != 0)),
        ValueRef::Text(bytes) if bytes.eq_ignore_ascii_case(b"true") => Ok(Some(true)),
        ValueRef::Text(bytes) if bytes.eq_ignore_ascii_case(b"false") => Ok(Some(false)),
        ValueRef::Text(bytes) => not_cast(text_of(bytes)?, "BOOL"),
        ValueRef::Real(value) => not_cast(&real_text(value), "BOOL"),
        ValueRef::Blob(_) => not_cast("a BLOB", "BOOL"),
    }
}

fn as_blob(value: ValueRef<'_>) -> Result<Option<Vec<u8>>> {
    let text = match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Blob(bytes) => return Ok(Some(bytes.to_vec())),
        ValueRef::Text(bytes) => text_of(bytes)?,
        ValueRef::Integer(value) => return not_cast(&value.to_string(), "BLOB"),
        ValueRef::Real(value) => return not_cast(&real_text(value), "BLOB"),
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let of_pair = |pair: &[u8]| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?);
    match text.as_bytes().chunks(2).map(of_pair).collect::<Option<Vec<u8>>>() {
        Some(bytes) => Ok(Some(bytes)),
        None => not_cast(text, "BLOB: it has digits of bytes, two for each"),
    }
}

/// A time, cut to so many digits of a second; a text has no more than that.
fn as_timestamp(context: &Context<'_>, form: &Form) -> Result<Value> {
    let digits: usize = context.get::<i64>(1)?.try_into().unwrap_or(3);
    let moment = match context.get_raw(0) {
        ValueRef::Null => return Ok(Value::Null),
        // Its type was not known: a time of milliseconds.
        ValueRef::Integer(time_ms) => Moment::of_ms(time_ms),
        ValueRef::Text(bytes) => {
            let text = text_of(bytes)?;
            let is_own = |moment: &Moment| form.is_precise() && moment.format() == text;
            match Moment::parse_in(text, form.zone_ms()) {
                Some(moment) if is_own(&moment) || time::fraction_digits(text) <= digits => moment,
                _ => return not_cast(text, if digits == 3 { "TIMESTAMP" } else { "such a TIMESTAMP" }),
            }
        }
        ValueRef::Real(value) => return not_cast(&real_text(value), "TIMESTAMP"),
        ValueRef::Blob(_) => return not_cast("a BLOB", "TIMESTAMP"),
    };
    let step_ns = [1_000_000, 1_000, 1][(digits / 3).clamp(1, 3) - 1];
    form.shown(Some(Moment { ns: moment.ns - moment.ns % step_ns, ..moment }))
}
