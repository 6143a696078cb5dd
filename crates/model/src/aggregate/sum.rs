//! Sums, as SQLite computes them.

use super::OwnedValue;
use super::Value;

/// A sum so far, of numbers that are all integers or all real.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) integer: i64,
    pub(super) is_real: bool,
    pub(super) real: f64,
    /// What the real sum has lost by rounding.
    pub(super) lost: f64,
}

impl Sum {
    /// Adds a number; false if it cannot.
    #[inline]
    pub(super) fn add(&mut self, value: Value<'_>) -> bool {
        match value {
            Value::Null => return true,
            Value::Integer(value) => {
                let Some(sum) = self.integer.checked_add(value) else { return false };
                self.integer = sum;
            }
            Value::Real(value) => {
                self.is_real = true;
                self.compensated(value);
            }
            Value::Bytes(_) => return false,
        }
        self.count += 1;
        true
    }

    /// Adds another sum; false if it cannot.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let Some(sum) = self.integer.checked_add(other.integer) else { return false };
        self.integer = sum;
        self.is_real |= other.is_real;
        if other.is_real {
            self.compensated(other.real);
            self.lost += other.lost;
        }
        self.count += other.count;
        true
    }

    /// Kahan's sum as Babuška and Neumaier have changed it.
    #[inline]
    fn compensated(&mut self, value: f64) {
        let sum = self.real + value;
        self.lost += if self.real.abs() > value.abs() { (self.real - sum) + value } else { (value - sum) + self.real };
        self.real = sum;
    }

    fn total(&self) -> f64 {
        match (self.is_real, self.lost.is_finite()) {
            (false, _) => self.integer as f64,
            (true, true) => self.real + self.lost,
            // Something was infinite.
            (true, false) => self.real,
        }
    }

    pub(super) fn sum(&self) -> OwnedValue {
        match (self.count, self.is_real) {
            (0, _) => OwnedValue::Null,
            (_, false) => OwnedValue::Integer(self.integer),
            (_, true) => Value::real(self.total()).to_owned(),
        }
    }

    pub(super) fn average(&self) -> OwnedValue {
        if self.count == 0 { OwnedValue::Null } else { Value::real(self.total() / self.count as f64).to_owned() }
    }
}
