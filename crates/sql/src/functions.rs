//! Functions that SQLite has not: of times, of numbers, and aggregations.

mod calendar;
mod casts;
mod declaring;
mod gathered;
mod numbers;
mod texts;
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
    casts::register(connection, form)?;
    numbers::register(connection)?;
    texts::register(connection)?;
    gathered::register(connection)?;
    register_steps(connection)?;
    for (name, of, is_root) in [
        ("variance", Of::Sample, false),
        ("variance0", Of::SampleOrOne, false),
        ("var_samp", Of::Sample, false),
        ("var_pop", Of::All, false),
        ("stddev", Of::Sample, true),
        ("stddev0", Of::SampleOrOne, true),
        ("stddev_samp", Of::Sample, true),
        ("stddev_pop", Of::All, true),
    ] {
        connection.create_aggregate_function(name, 1, FLAGS, Variance { of, is_root })?;
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

/// What values are of a variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// A sample: of one value there is none.
    Sample,
    /// A sample: of one value it is 0.
    SampleOrOne,
    /// All.
    All,
}

/// Of a sample or of all, and its root if it is a deviation: by Welford's method, in one pass.
struct Variance {
    of: Of,
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
        let among = match self.of {
            Of::All => count,
            Of::SampleOrOne if count == 1 => 1,
            Of::Sample | Of::SampleOrOne => count.saturating_sub(1),
        };
        let variance = (among > 0).then(|| squares / among as f64);
        Ok(variance.map(|variance| if self.is_root { variance.sqrt() } else { variance }))
    }
}
