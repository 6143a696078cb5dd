//! Functions that SQLite has not: of times, of numbers, and aggregations.

mod declaring;
mod times;

use crate::form::Form;
use declaring::{FLAGS, wrong};
use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};
use std::sync::Arc;

/// Adds them.
pub(crate) fn register(connection: &Connection, form: &Arc<Form>) -> Result<()> {
    times::register(connection, form)?;
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
