//! Aggregate functions: `count`, `min`, `max`, `sum`, `avg`.
//!
//! An [`Aggregate`] is a partial result: rows are added to it, partial results of shards merge, and the end of it is a value. Sums have
//! the type of their argument and wrap around; averages of integers cut towards zero and never overflow; floats are summed with
//! compensation (Kahan), as in Cassandra.
//!
//! Deviation: Cassandra's average of decimals rounds at every row to the digits that came first (avg of 1 and 2 is 1); here it is sum by
//! count with the digits of a division (1.5), and so the same whatever the order and however the rows are spread over shards.

use super::function::{Exact, FunctionError, Number, NumberError};
use super::order;
use model::DataType;
use num_bigint::BigInt;

/// Which function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    /// `count(*)`
    CountRows,
    /// `count(x)`
    Count,
    /// `min(x)`
    Min,
    /// `max(x)`
    Max,
    /// `sum(x)`
    Sum,
    /// `avg(x)`
    Average,
}

/// A partial result.
#[derive(Clone, Debug)]
pub struct Aggregate {
    kind: AggregateKind,
    ty: DataType,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Count(i64),
    Extreme(Option<Vec<u8>>),
    Integer { sum: i128, count: i64 },
    Float(FloatSum),
    Varint { sum: BigInt, count: i64 },
    Decimal { sum: Exact, count: i64 },
}

impl Aggregate {
    /// Nothing yet, of values of type `ty`.
    pub(super) fn new(kind: AggregateKind, ty: &DataType) -> Self {
        let state = match (kind, ty) {
            (AggregateKind::CountRows | AggregateKind::Count, _) => State::Count(0),
            (AggregateKind::Min | AggregateKind::Max, _) => State::Extreme(None),
            (_, DataType::Float | DataType::Double) => State::Float(FloatSum::default()),
            (_, DataType::Varint) => State::Varint { sum: BigInt::ZERO, count: 0 },
            (_, DataType::Decimal) => State::Decimal { sum: Exact::from_integer(BigInt::ZERO), count: 0 },
            _ => State::Integer { sum: 0, count: 0 },
        };
        Self { kind, ty: ty.clone(), state }
    }

    /// Adds a row's value. Null counts only for `count(*)`; empty numbers are null to `sum` and `avg`.
    ///
    /// # Errors
    /// When a sum of decimals or varints has more digits than a value may have.
    pub fn add(&mut self, value: Option<&[u8]>) -> Result<(), FunctionError> {
        let Some(bytes) = value else {
            if self.kind == AggregateKind::CountRows {
                self.count_one();
            }
            return Ok(());
        };
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Extreme(best) => {
                let better = best.as_ref().is_none_or(|best| wins(self.kind, &self.ty, bytes, best));
                if better {
                    let best = best.get_or_insert_default();
                    best.clear();
                    best.extend_from_slice(bytes);
                }
            }
            _ if bytes.is_empty() => {}
            sum => sum.add(&self.ty, bytes)?,
        }
        Ok(())
    }

    /// Adds what another shard or page has found with the same function.
    ///
    /// # Errors
    /// As [`Aggregate::add`].
    pub fn merge(&mut self, other: &Self) -> Result<(), FunctionError> {
        match (&mut self.state, &other.state) {
            (State::Count(count), State::Count(more)) => *count += more,
            (State::Extreme(best), State::Extreme(Some(candidate))) => {
                if best.as_ref().is_none_or(|best| wins(self.kind, &self.ty, candidate, best)) {
                    *best = Some(candidate.clone());
                }
            }
            (State::Extreme(_), State::Extreme(None)) => {}
            (State::Integer { sum, count }, State::Integer { sum: more, count: number }) => {
                *sum = sum.wrapping_add(*more);
                *count += number;
            }
            (State::Float(sum), State::Float(more)) => sum.merge(more),
            (State::Varint { sum, count }, State::Varint { sum: more, count: number }) => {
                *sum += more;
                *count += number;
            }
            (State::Decimal { sum, count }, State::Decimal { sum: more, count: number }) => {
                *sum = sum.add(more).map_err(NumberError::from)?;
                *count += number;
            }
            _ => return Err(FunctionError::NotAValue),
        }
        Ok(())
    }

    /// Appends the result; false is null, which only `min` and `max` of nothing are.
    ///
    /// # Errors
    /// As [`Aggregate::add`].
    pub fn finish(&self, out: &mut Vec<u8>) -> Result<bool, FunctionError> {
        let average = self.kind == AggregateKind::Average;
        let number = match &self.state {
            State::Count(count) => {
                out.extend_from_slice(&count.to_be_bytes());
                return Ok(true);
            }
            State::Extreme(best) => {
                out.extend_from_slice(best.as_deref().unwrap_or_default());
                return Ok(best.is_some());
            }
            State::Integer { sum, count } if average => Number::Integer((sum / i128::from(*count).max(1)) as i64),
            State::Integer { sum, .. } => Number::Integer(*sum as i64),
            State::Float(sum) => Number::Double(if average { sum.average() } else { sum.total() }),
            State::Varint { sum, count } if average => Number::Varint(sum / (*count).max(1)),
            State::Varint { sum, .. } => Number::Varint(sum.clone()),
            State::Decimal { sum, count } if average => {
                let count = Exact::from_integer(BigInt::from((*count).max(1)));
                Number::Decimal(sum.divide(&count).map_err(NumberError::from)?)
            }
            State::Decimal { sum, .. } => Number::Decimal(sum.clone()),
        };
        number.write(&self.ty, out)?;
        Ok(true)
    }

    fn count_one(&mut self) {
        if let State::Count(count) = &mut self.state {
            *count += 1;
        }
    }
}

fn wins(kind: AggregateKind, ty: &DataType, candidate: &[u8], best: &[u8]) -> bool {
    let order = order::compare(ty, candidate, best);
    if kind == AggregateKind::Min { order.is_lt() } else { order.is_gt() }
}

impl State {
    /// Adds a number to a sum.
    fn add(&mut self, ty: &DataType, bytes: &[u8]) -> Result<(), FunctionError> {
        match (self, Number::read(ty, bytes)) {
            (Self::Integer { sum, count }, Some(Number::Integer(number))) => {
                *sum = sum.wrapping_add(i128::from(number));
                *count += 1;
            }
            (Self::Float(sum), Some(number)) => sum.add(number.to_double()),
            (Self::Varint { sum, count }, Some(Number::Varint(number))) => {
                *sum += number;
                *count += 1;
            }
            (Self::Decimal { sum, count }, Some(Number::Decimal(number))) => {
                *sum = sum.add(&number).map_err(NumberError::from)?;
                *count += 1;
            }
            _ => return Err(FunctionError::NotAValue),
        }
        Ok(())
    }
}

/// A compensated sum, and the same sum scaled down, which does not overflow when only the average is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct FloatSum {
    simple: f64,
    exact: Compensated,
    scaled: Compensated,
    count: i64,
}

/// 2⁻⁶⁴: no number of rows overflows the sum of their scaled values.
const SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;

#[derive(Clone, Copy, Debug, Default)]
struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    fn add(&mut self, value: f64) {
        let corrected = value - self.lost;
        let sum = self.sum + corrected;
        self.lost = (sum - self.sum) - corrected;
        self.sum = sum;
    }

    fn merge(&mut self, other: &Self) {
        self.add(other.sum);
        self.add(-other.lost);
    }

    fn total(&self) -> f64 {
        self.sum - self.lost
    }
}

impl FloatSum {
    fn add(&mut self, value: f64) {
        self.simple += value;
        self.exact.add(value);
        self.scaled.add(value * SCALE);
        self.count += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.simple += other.simple;
        self.exact.merge(&other.exact);
        self.scaled.merge(&other.scaled);
        self.count += other.count;
    }

    fn total(&self) -> f64 {
        let total = self.exact.total();
        // Infinity minus what it lost is no number; the simple sum says which infinity it is.
        if total.is_nan() { self.simple } else { total }
    }

    fn average(&self) -> f64 {
        let count = self.count.max(1) as f64;
        let total = self.total();
        let scaled = self.scaled.total();
        if total.is_infinite() && scaled.is_finite() { scaled / count / SCALE } else { total / count }
    }
}
