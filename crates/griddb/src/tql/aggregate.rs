//! One value from a column of many rows.

use super::value::{Value, is_number};
use crate::instant::{Instant, Precision};
use crate::schema::{ColumnDefinition, ElementType};
use crate::{ErrorCode, GridError};
use std::cmp::Ordering;

/// An aggregation, numbered as in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the protocol")]
pub enum Aggregation {
    Minimum,
    Maximum,
    Total,
    Average,
    Variance,
    StandardDeviation,
    Count,
    /// By the time that each row lasts: half the way to the rows around it.
    WeightedAverage,
}

impl Aggregation {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Minimum, "MIN"),
        (Self::Maximum, "MAX"),
        (Self::Total, "SUM"),
        (Self::Average, "AVG"),
        (Self::Variance, "VARIANCE"),
        (Self::StandardDeviation, "STDDEV"),
        (Self::Count, "COUNT"),
        (Self::WeightedAverage, "TIME_AVG"),
    ];

    /// The aggregation of a number.
    ///
    /// # Errors
    /// There is none.
    pub fn of_wire(number: u8) -> Result<Self, GridError> {
        let aggregation = Self::ALL.get(usize::from(number)).map(|(aggregation, _)| *aggregation);
        aggregation.ok_or(GridError::malformed("an aggregation that is not known"))
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(aggregation, _)| *aggregation)
    }

    /// Refuses a column that has no such aggregation.
    pub(super) fn check(self, column: Option<&ColumnDefinition>) -> Result<(), GridError> {
        let fits = match (self, column) {
            (Self::Count, _) => true,
            (_, None) => false,
            (_, Some(column)) if column.is_array => false,
            (Self::Minimum | Self::Maximum, Some(column)) => is_number(column.element) || column.element.is_time(),
            (_, Some(column)) => is_number(column.element),
        };
        if fits {
            return Ok(());
        }
        Err(GridError::new(ErrorCode::TQ_COLUMN_CANNOT_AGGREGATE, "the column's type has no such aggregation"))
    }
}

/// What an aggregation gives.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "named as in the protocol")]
pub enum AggregateResult {
    Long(i64),
    Double(f64),
    /// Milliseconds since 1970.
    Timestamp(i64),
    /// A time that is told more finely, as its column tells it.
    PreciseTimestamp(Instant, Precision),
}

impl AggregateResult {
    /// Its type.
    #[must_use]
    pub fn element(self) -> ElementType {
        match self {
            Self::Long(_) => ElementType::Long,
            Self::Double(_) => ElementType::Double,
            Self::Timestamp(_) => ElementType::Timestamp,
            Self::PreciseTimestamp(_, Precision::Nano) => ElementType::NanoTimestamp,
            Self::PreciseTimestamp(..) => ElementType::MicroTimestamp,
        }
    }

    /// Appends the value as on the wire.
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Long(value) | Self::Timestamp(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::PreciseTimestamp(time, Precision::Nano) => out.extend_from_slice(&time.nano_wire()),
            Self::PreciseTimestamp(time, _) => out.extend_from_slice(&time.us.to_le_bytes()),
        }
    }
}

/// An aggregation under way.
#[derive(Debug)]
pub(super) struct Aggregate {
    aggregation: Aggregation,
    count: u64,
    best: Value<'static>,
    long: i64,
    has_doubles: bool,
    sum: f64,
    /// Mean and sum of squared distances from it, by Welford's method.
    mean: f64,
    squares: f64,
    weights: f64,
    /// Time and value of the last row, and half the way to the row before it.
    last: Option<(i64, f64, f64)>,
}

impl Aggregate {
    pub(super) fn new(aggregation: Aggregation) -> Self {
        let (best, last) = (Value::Null, None);
        Self { aggregation, count: 0, best, long: 0, has_doubles: false, sum: 0.0, mean: 0.0, squares: 0.0, weights: 0.0, last }
    }

    /// Adds a row's value; `time_ms` is the row's time.
    pub(super) fn push(&mut self, value: &Value<'_>, time_ms: i64) {
        if *value == Value::Null {
            return;
        }
        self.count += 1;
        let number = match value {
            Value::Long(value) => {
                self.long = self.long.wrapping_add(*value);
                *value as f64
            }
            Value::Double(value) => {
                self.has_doubles = true;
                *value
            }
            _ => 0.0,
        };
        match self.aggregation {
            Aggregation::Minimum => self.keep(value, Ordering::Less),
            Aggregation::Maximum => self.keep(value, Ordering::Greater),
            Aggregation::Count => {}
            Aggregation::Total | Aggregation::Average => self.sum += number,
            Aggregation::Variance | Aggregation::StandardDeviation => {
                let distance = number - self.mean;
                self.mean += distance / self.count as f64;
                self.squares += distance * (number - self.mean);
            }
            Aggregation::WeightedAverage => {
                let half = self.last.map_or(0.0, |(last_ms, ..)| time_ms.saturating_sub(last_ms) as f64 / 2.0);
                self.weigh(half);
                self.last = Some((time_ms, number, half));
            }
        }
    }

    fn keep(&mut self, value: &Value<'_>, wanted: Ordering) {
        if self.best == Value::Null || value.compare(&self.best) == Some(wanted) {
            self.best = value.clone().into_owned();
        }
    }

    /// Adds the last row, which lasts `half` from its time on.
    fn weigh(&mut self, half: f64) {
        if let Some((_, value, before)) = self.last {
            self.sum += value * (before + half);
            self.weights += before + half;
        }
    }

    /// The value; none if there was nothing to aggregate.
    pub(super) fn finish(mut self) -> Option<AggregateResult> {
        if self.aggregation == Aggregation::Count {
            return Some(AggregateResult::Long(self.count as i64));
        }
        if self.count == 0 {
            return None;
        }
        let count = self.count as f64;
        Some(AggregateResult::Double(match self.aggregation {
            Aggregation::Total if !self.has_doubles => return Some(AggregateResult::Long(self.long)),
            Aggregation::Total => self.sum,
            Aggregation::Average => self.sum / count,
            Aggregation::Variance => self.squares / count,
            Aggregation::StandardDeviation => (self.squares / count).sqrt(),
            Aggregation::WeightedAverage => {
                self.weigh(0.0);
                match self.last {
                    Some((_, value, _)) if self.count == 1 => value,
                    _ => self.sum / self.weights,
                }
            }
            _ => {
                return Some(match self.best {
                    Value::Long(value) => AggregateResult::Long(value),
                    Value::Time(value) => AggregateResult::Timestamp(value),
                    Value::PreciseTime(time, precision) => AggregateResult::PreciseTimestamp(time, precision),
                    Value::Double(value) => AggregateResult::Double(value),
                    _ => return None,
                });
            }
        }))
    }
}
