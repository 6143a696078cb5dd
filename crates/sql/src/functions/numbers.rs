//! Functions of numbers.

use super::declaring::{FLAGS, wrong};
use rusqlite::functions::Context;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

type OfOne = fn(f64) -> f64;
type OfTwo = fn(f64, f64) -> f64;

/// Adds them.
pub(super) fn register(connection: &Connection) -> Result<()> {
    const OF_ONE: [(&str, OfOne); 13] = [
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
    for arguments in [1, 2] {
        connection.create_scalar_function("trunc", arguments, FLAGS, |context| truncated(context))?;
    }
    connection.create_scalar_function("hex_to_dec", 1, FLAGS, |context| {
        let Some(text) = context.get::<Option<String>>(0)? else { return Ok(None) };
        let is_digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        // Sixteen digits may be negative.
        let value = u64::from_str_radix(&text, 16).ok().filter(|_| is_digits).map(|value| value as i64);
        value.map(Some).ok_or_else(|| wrong(&format!("'{text}' is no number of hexadecimal digits")))
    })
}

/// How many digits the second argument says; none of a null.
fn digits_at(context: &Context<'_>) -> Result<Option<i32>> {
    if context.len() < 2 {
        return Ok(Some(0));
    }
    let Some(digits) = context.get::<Option<i64>>(1)? else { return Ok(None) };
    let fits = || wrong("digits are from -308 to 309");
    i32::try_from(digits).ok().filter(|digits| (-308..=309).contains(digits)).map(Some).ok_or_else(fits)
}

/// TRUNC: without what is beyond so many digits behind the point, or before it if they are negative.
fn truncated(context: &Context<'_>) -> Result<Value> {
    let Some(digits) = digits_at(context)? else { return Ok(Value::Null) };
    Ok(match context.get_raw(0) {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) if digits >= 0 => Value::Integer(value),
        ValueRef::Integer(value) => {
            let step = 10_i64.checked_pow(digits.unsigned_abs());
            Value::Integer(step.map_or(0, |step| value - value % step))
        }
        ValueRef::Real(value) => {
            let (scaled, scale) = (value * 10_f64.powi(digits), 10_f64.powi(digits));
            // One of so many digits has none behind them.
            let cut = if scaled.is_finite() && scaled.abs() < 1e15 { nearest(scaled).trunc() / scale } else { value };
            if scale == 0.0 { Value::Real(0.0) } else { real(cut) }
        }
        ValueRef::Text(_) | ValueRef::Blob(_) => return Err(wrong("TRUNC is of a number")),
    })
}

/// The whole number that a product is but for its last bit, or itself.
fn nearest(value: f64) -> f64 {
    let whole = value.round();
    if (whole - value).abs() <= value.abs() * f64::EPSILON { whole } else { value }
}

fn real(value: f64) -> Value {
    if value.is_nan() { Value::Null } else { Value::Real(value) }
}
