//! Decimals as sign, exponent and digits: the form in which 1.0 and 1.00 are the same.
//!
//! A decimal's bytes are an i32 scale and a two's complement integer; its value is integer × 10^-scale. Exponents stay numbers here:
//! nothing expands a power of ten that a client names, so 1E+2000000000 costs no more than 1.

use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;

/// Decimal digits on the stack, as many as an `i128` has.
const SHORT_DIGITS: usize = 39;

/// A decimal as 0.d₁d₂…dₙ × 10^exponent, neither first nor last digit zero; no digits at all is zero.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    pub(super) negative: bool,
    pub(super) exponent: i64,
    digits: Digits,
}

#[derive(Clone, Debug)]
enum Digits {
    Short { bytes: [u8; SHORT_DIGITS], start: u8, end: u8 },
    Long(Vec<u8>),
}

impl Decimal {
    /// Reads a decimal; fewer than four bytes read as zero.
    pub(super) fn from_wire(wire: &[u8]) -> Self {
        let Some((scale, unscaled)) = wire.split_first_chunk::<4>() else {
            return Self::zero();
        };
        let scale = i64::from(i32::from_be_bytes(*scale));
        match small_integer(unscaled) {
            Some(value) => Self::from_small(value, scale),
            None => Self::from_large(&BigInt::from_signed_bytes_be(unscaled), scale),
        }
    }

    fn zero() -> Self {
        Self { negative: false, exponent: 0, digits: Digits::Long(Vec::new()) }
    }

    fn from_small(value: i128, scale: i64) -> Self {
        let mut rest = value.unsigned_abs();
        if rest == 0 {
            return Self::zero();
        }
        let mut trailing = 0;
        while rest.is_multiple_of(10) {
            rest /= 10;
            trailing += 1;
        }
        let mut bytes = [0; SHORT_DIGITS];
        let mut start = SHORT_DIGITS;
        while rest > 0 {
            start -= 1;
            bytes[start] = (rest % 10) as u8;
            rest /= 10;
        }
        let exponent = (SHORT_DIGITS - start) as i64 + trailing - scale;
        Self { negative: value < 0, exponent, digits: Digits::Short { bytes, start: start as u8, end: SHORT_DIGITS as u8 } }
    }

    fn from_large(value: &BigInt, scale: i64) -> Self {
        let (sign, mut digits) = value.to_radix_be(10);
        if sign == Sign::NoSign {
            return Self::zero();
        }
        let exponent = digits.len() as i64 - scale;
        let kept = digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
        digits.truncate(kept);
        Self { negative: sign == Sign::Minus, exponent, digits: Digits::Long(digits) }
    }

    /// Its digits, each 0 to 9.
    pub(super) fn digits(&self) -> &[u8] {
        match &self.digits {
            Digits::Short { bytes, start, end } => &bytes[usize::from(*start)..usize::from(*end)],
            Digits::Long(digits) => digits,
        }
    }

    /// The sign as a number.
    fn signum(&self) -> i8 {
        match (self.digits().is_empty(), self.negative) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => -1,
        }
    }
}

/// Numeric order.
pub(super) fn compare(one: &Decimal, two: &Decimal) -> Ordering {
    let sign = one.signum();
    if sign != two.signum() || sign == 0 {
        return sign.cmp(&two.signum());
    }
    let magnitude = one.exponent.cmp(&two.exponent).then_with(|| one.digits().cmp(two.digits()));
    if sign < 0 { magnitude.reverse() } else { magnitude }
}

/// A two's complement integer of up to 16 bytes; no bytes are zero.
#[inline]
pub(super) fn small_integer(bytes: &[u8]) -> Option<i128> {
    if bytes.len() > 16 {
        return None;
    }
    let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
    let mut wide = [if negative { 0xFF } else { 0 }; 16];
    wide[16 - bytes.len()..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

/// The shortest two's complement form: without leading bytes that only repeat the sign.
#[inline]
pub(super) fn minimal(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [first, second, ..] = rest {
        let repeats = (*first == 0 && *second < 0x80) || (*first == 0xFF && *second >= 0x80);
        if !repeats {
            break;
        }
        rest = &rest[1..];
    }
    rest
}

/// The order of two's complement integers of any length, at least one byte each.
pub(super) fn compare_integers(one: &[u8], two: &[u8]) -> Ordering {
    let (one, two) = (minimal(one), minimal(two));
    let negative = |bytes: &[u8]| bytes.first().is_some_and(|byte| *byte >= 0x80);
    match (negative(one), negative(two)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => one.len().cmp(&two.len()).then_with(|| one.cmp(two)),
        (true, true) => two.len().cmp(&one.len()).then_with(|| one.cmp(two)),
    }
}
