//! Values as SQL compares them.

use std::cmp::Ordering;

/// A value that lies elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// None.
    Null,
    /// An integer, a truth or a time.
    Integer(i64),
    /// A number; never NaN, which SQLite has as null.
    Real(f64),
    /// A text or bytes: both compare byte by byte.
    Bytes(&'a [u8]),
}

/// A value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OwnedValue {
    /// None.
    #[default]
    Null,
    /// An integer, a truth or a time.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text or bytes.
    Bytes(Vec<u8>),
}

/// 2⁶³: the first number that is beyond all integers.
const BEYOND_INTEGERS: f64 = 9_223_372_036_854_775_808.0;

impl Value<'_> {
    /// A real number; null in place of NaN.
    #[inline]
    #[must_use]
    pub fn real(value: f64) -> Self {
        if value.is_nan() { Self::Null } else { Self::Real(value) }
    }

    /// How it compares with another: null, then numbers, then bytes.
    #[inline]
    #[must_use]
    pub fn order(self, other: Value<'_>) -> Ordering {
        match (self, other) {
            (Self::Integer(one), Value::Integer(other)) => one.cmp(&other),
            (Self::Real(one), Value::Real(other)) => one.partial_cmp(&other).unwrap_or(Ordering::Equal),
            (Self::Integer(one), Value::Real(other)) => integer_and_real(one, other),
            (Self::Real(one), Value::Integer(other)) => integer_and_real(other, one).reverse(),
            (Self::Bytes(one), Value::Bytes(other)) => one.cmp(other),
            (one, other) => one.class().cmp(&other.class()),
        }
    }

    fn class(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Integer(_) | Self::Real(_) => 1,
            Self::Bytes(_) => 2,
        }
    }

    /// What a copy takes besides itself.
    #[inline]
    pub(super) fn bytes(self) -> usize {
        if let Self::Bytes(bytes) = self { bytes.len() } else { 0 }
    }

    /// A copy.
    #[must_use]
    pub fn to_owned(self) -> OwnedValue {
        match self {
            Self::Null => OwnedValue::Null,
            Self::Integer(value) => OwnedValue::Integer(value),
            Self::Real(value) => OwnedValue::Real(value),
            Self::Bytes(bytes) => OwnedValue::Bytes(bytes.to_vec()),
        }
    }
}

/// Exact, where the integer would lose digits as a real number.
fn integer_and_real(integer: i64, real: f64) -> Ordering {
    if real >= BEYOND_INTEGERS {
        return Ordering::Less;
    }
    if real < -BEYOND_INTEGERS {
        return Ordering::Greater;
    }
    let whole = real as i64;
    integer.cmp(&whole).then_with(|| (whole as f64).partial_cmp(&real).unwrap_or(Ordering::Equal))
}

impl OwnedValue {
    /// What it takes besides itself, used or not.
    pub(super) fn room(&self) -> usize {
        if let Self::Bytes(bytes) = self { bytes.capacity() } else { 0 }
    }

    /// The value, borrowed.
    #[inline]
    #[must_use]
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(value) => Value::Integer(*value),
            Self::Real(value) => Value::Real(*value),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}
