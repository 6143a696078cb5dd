//! Aggregations that need all values of a group at once: they have a bound that all queries of the process share.

use super::casts::owned;
use super::declaring::{FLAGS, wrong};
use crate::kept::Reservation;
use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result, ffi};
use std::collections::HashSet;

/// Adds them.
pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_aggregate_function("median", 1, FLAGS, Quantile { fraction_at: None, value_at: 0 })?;
    for arguments in [2, 3] {
        let quantile = Quantile { fraction_at: Some(0), value_at: 1 };
        connection.create_aggregate_function("percentile_cont", arguments, FLAGS, quantile)?;
    }
    connection.create_aggregate_function("distinct_concat", 2, FLAGS, DistinctConcat)
}

fn no_memory() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOMEM), None)
}

/// MEDIAN and PERCENTILE_CONT: the value that a fraction of all is below.
struct Quantile {
    /// Where the fraction is; without, it is a half.
    fraction_at: Option<usize>,
    value_at: usize,
}

struct Numbers {
    values: Vec<f64>,
    /// The same, as long as all are whole.
    whole: Option<Vec<i64>>,
    fraction: f64,
    reservation: Reservation,
}

impl Aggregate<Numbers, Value> for Quantile {
    fn init(&self, _: &mut Context<'_>) -> Result<Numbers> {
        Ok(Numbers { values: Vec::new(), whole: Some(Vec::new()), fraction: 0.5, reservation: Reservation::default() })
    }

    fn step(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if let Some(at) = self.fraction_at {
            let fraction = context.get::<f64>(at).ok().filter(|fraction| (0.0..=1.0).contains(fraction));
            numbers.fraction = fraction.ok_or_else(|| wrong("PERCENTILE_CONT is of a number from 0 to 1"))?;
        }
        let value = match context.get_raw(self.value_at) {
            ValueRef::Null => return Ok(()),
            ValueRef::Integer(value) => {
                if let Some(whole) = &mut numbers.whole {
                    whole.push(value);
                }
                value as f64
            }
            ValueRef::Real(value) => {
                numbers.whole = None;
                value
            }
            ValueRef::Text(_) | ValueRef::Blob(_) => return Err(wrong("MEDIAN and PERCENTILE_CONT are of numbers")),
        };
        if !numbers.reservation.take(2 * size_of::<f64>()) {
            return Err(no_memory());
        }
        // A third argument says that the largest come first.
        if context.len() > 2 {
            numbers.fraction = 1.0 - numbers.fraction;
        }
        numbers.values.push(value);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, numbers: Option<Numbers>) -> Result<Value> {
        let Some(Numbers { mut values, whole, fraction, .. }) = numbers.filter(|numbers| !numbers.values.is_empty()) else {
            return Ok(Value::Null);
        };
        if let (None, Some(mut whole)) = (self.fraction_at, whole) {
            whole.sort_unstable();
            let half = whole.len() / 2;
            let [before, after] = [whole[(whole.len() - 1) / 2], whole[half]].map(i128::from);
            return Ok(Value::Integer(((before + after) / 2) as i64));
        }
        values.sort_unstable_by(f64::total_cmp);
        let place = fraction * (values.len() - 1) as f64;
        let (before, after) = (values[place.floor() as usize], values[place.ceil() as usize]);
        Ok(Value::Real(before + (after - before) * place.fract()))
    }
}

/// `GROUP_CONCAT(DISTINCT x, separator)`: each text once, in the order in which it first comes.
struct DistinctConcat;

#[derive(Default)]
struct Texts {
    known: HashSet<String>,
    all: String,
    reservation: Reservation,
}

impl Aggregate<Texts, Option<String>> for DistinctConcat {
    fn init(&self, _: &mut Context<'_>) -> Result<Texts> {
        Ok(Texts::default())
    }

    fn step(&self, context: &mut Context<'_>, texts: &mut Texts) -> Result<()> {
        let text = match owned(context.get_raw(0))? {
            Value::Null => return Ok(()),
            Value::Text(text) => text,
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => format!("{value:?}"),
            Value::Blob(bytes) => String::from_utf8(bytes).map_err(|_| wrong("bytes that are no text"))?,
        };
        if texts.known.contains(&text) {
            return Ok(());
        }
        let separator = context.get::<Option<String>>(1)?.unwrap_or_default();
        if !texts.reservation.take(3 * text.len() + separator.len() + 64) {
            return Err(no_memory());
        }
        if !texts.known.is_empty() {
            texts.all.push_str(&separator);
        }
        texts.all.push_str(&text);
        texts.known.insert(text);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, texts: Option<Texts>) -> Result<Option<String>> {
        Ok(texts.filter(|texts| !texts.known.is_empty()).map(|texts| texts.all))
    }
}
