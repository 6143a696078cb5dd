//! Decimal arithmetic with CQL's rules for scale and rounding, bounded in the digits it makes.
//!
//! A client can name 10^2000000000 in ten bytes; operations that would have to write such a number out fail instead. No result has more
//! digits than a value may have ([`NUMBER_BYTES_MAX`]).

use crate::value::NUMBER_BYTES_MAX;
use crate::value::parse;
use num_bigint::{BigInt, Sign};

/// The digits that a division or a transcendental function gives.
pub(super) const SIGNIFICANT_DIGITS: i64 = 32;
/// The smallest and largest scale that a division asks for.
const DIVISION_SCALE: std::ops::RangeInclusive<i64> = 32..=1000;
/// By how many digits operands may be shifted against each other.
const SHIFT_DIGITS_MAX: i64 = 20_000;

/// Sums, differences and products are rounded to so many digits, as Cassandra's.
const DIGITS_MAX: i64 = 10_000;
/// Numbers of so few bits have fewer digits than that.
const DIGITS_MAX_BITS: u64 = 33_000;

/// A number with more digits than any value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::value) struct TooLong;

/// unscaled × 10^-scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::value) struct Exact {
    pub(super) unscaled: BigInt,
    pub(super) scale: i32,
}

impl Exact {
    pub(super) fn from_wire(wire: &[u8]) -> Option<Self> {
        let (scale, unscaled) = wire.split_first_chunk::<4>()?;
        Some(Self { unscaled: BigInt::from_signed_bytes_be(unscaled), scale: i32::from_be_bytes(*scale) })
    }

    pub(in crate::value) fn from_integer(unscaled: BigInt) -> Self {
        Self { unscaled, scale: 0 }
    }

    /// The number that a decimal text says.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut wire = Vec::new();
        parse::decimal(text, &mut wire)?;
        Self::from_wire(&wire)
    }

    pub(in crate::value) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.scale.to_be_bytes());
        out.extend_from_slice(&self.unscaled.to_signed_bytes_be());
    }

    pub(super) fn is_zero(&self) -> bool {
        self.unscaled.sign() == Sign::NoSign
    }

    /// How many digits the unscaled number has; zero has one.
    pub(super) fn precision(&self) -> i64 {
        match u128::try_from(self.unscaled.magnitude().clone()) {
            Ok(small) => i64::from(small.checked_ilog10().unwrap_or(0)) + 1,
            Err(_) => self.unscaled.magnitude().to_string().len() as i64,
        }
    }

    fn checked(unscaled: BigInt, scale: i64) -> Result<Self, TooLong> {
        check_length(&unscaled)?;
        Ok(Self { unscaled, scale: i32::try_from(scale).map_err(|_| TooLong)? })
    }

    /// Rounded half up to [`DIGITS_MAX`] digits.
    fn limited(self) -> Result<Self, TooLong> {
        if self.unscaled.bits() <= DIGITS_MAX_BITS {
            return Ok(self);
        }
        let surplus = self.precision() - DIGITS_MAX;
        if surplus <= 0 {
            return Ok(self);
        }
        // All nines become a one with one zero more than there is room for.
        Self::checked(half_up(&self.unscaled, &power_of_ten(surplus)?), i64::from(self.scale) - surplus)?.limited()
    }

    /// Both unscaled numbers at the larger of the two scales.
    fn aligned(&self, other: &Self) -> Result<(BigInt, BigInt, i32), TooLong> {
        let scale = self.scale.max(other.scale);
        let lift = |number: &Self| shifted(&number.unscaled, i64::from(scale) - i64::from(number.scale));
        Ok((lift(self)?, lift(other)?, scale))
    }

    pub(in crate::value) fn add(&self, other: &Self) -> Result<Self, TooLong> {
        let (one, two, scale) = self.aligned(other)?;
        Self::checked(one + two, i64::from(scale))?.limited()
    }

    pub(super) fn subtract(&self, other: &Self) -> Result<Self, TooLong> {
        let (one, two, scale) = self.aligned(other)?;
        Self::checked(one - two, i64::from(scale))?.limited()
    }

    pub(super) fn multiply(&self, other: &Self) -> Result<Self, TooLong> {
        Self::checked(&self.unscaled * &other.unscaled, i64::from(self.scale) + i64::from(other.scale))?.limited()
    }

    /// The quotient with at least 32 significant digits and 32 to 1,000 digits after the point, rounded half up, without zeros at the
    /// end. The divisor must not be zero.
    pub(in crate::value) fn divide(&self, divisor: &Self) -> Result<Self, TooLong> {
        let first_digit = (self.precision() - i64::from(self.scale)) - (divisor.precision() - i64::from(divisor.scale));
        let scale = (SIGNIFICANT_DIGITS - first_digit).max(i64::from(self.scale)).max(i64::from(divisor.scale));
        let scale = scale.clamp(*DIVISION_SCALE.start(), *DIVISION_SCALE.end());
        let shift = scale - i64::from(self.scale) + i64::from(divisor.scale);
        let quotient = if shift >= 0 {
            half_up(&shifted(&self.unscaled, shift)?, &divisor.unscaled)
        } else {
            half_up(&self.unscaled, &shifted(&divisor.unscaled, -shift)?)
        };
        if quotient.sign() == Sign::NoSign {
            return Ok(Self::from_integer(quotient));
        }
        Self::checked(quotient, scale)?.stripped(i64::from(i32::MIN))
    }

    /// The remainder of the division that cuts the quotient to an integer. The divisor must not be zero.
    pub(super) fn remainder(&self, divisor: &Self) -> Result<Self, TooLong> {
        let (one, two, scale) = self.aligned(divisor)?;
        let rest = &one % &two;
        // Java's scale: the dividend's, unless the integral quotient, cut down to its preferred scale, asks for more.
        let preferred = i64::from(self.scale) - i64::from(divisor.scale);
        let quotient = Self::from_integer(one / two);
        let quotient_scale = if preferred >= 0 || quotient.is_zero() { preferred } else { i64::from(quotient.stripped(preferred)?.scale) };
        let wanted = (quotient_scale + i64::from(divisor.scale)).max(i64::from(self.scale));
        let surplus = i64::from(scale) - wanted;
        if surplus <= 0 {
            return Self::checked(rest, i64::from(scale));
        }
        // The digits that go are zeros.
        Self::checked(rest / power_of_ten(surplus)?, wanted)
    }

    /// Without zeros at the end, as far as the scale stays at `scale_min` or above. Not for zero, which ends nowhere.
    fn stripped(self, scale_min: i64) -> Result<Self, TooLong> {
        let digits = self.unscaled.magnitude().to_string();
        let zeros = (digits.len() - digits.trim_end_matches('0').len()) as i64;
        let drop = zeros.min(i64::from(self.scale) - scale_min).max(0);
        Self::checked(&self.unscaled / power_of_ten(drop)?, i64::from(self.scale) - drop)
    }

    /// The nearest integer, halves away from zero, with the scale 0.
    pub(super) fn rounded(&self) -> Result<Self, TooLong> {
        let scale = i64::from(self.scale);
        if scale <= 0 {
            return Self::checked(shifted(&self.unscaled, -scale)?, 0);
        }
        if scale > self.precision() {
            return Ok(Self::from_integer(BigInt::ZERO));
        }
        Self::checked(half_up(&self.unscaled, &power_of_ten(scale)?), 0)
    }

    /// The integer part.
    pub(super) fn truncated(&self) -> Result<BigInt, TooLong> {
        let scale = i64::from(self.scale);
        if scale <= 0 {
            let integer = shifted(&self.unscaled, -scale)?;
            check_length(&integer)?;
            return Ok(integer);
        }
        if scale >= self.precision() {
            return Ok(BigInt::ZERO);
        }
        Ok(&self.unscaled / power_of_ten(scale)?)
    }

    /// The lowest 64 bits of the integer part: what a cast to a smaller integer keeps.
    pub(super) fn low_bits(&self) -> i64 {
        // 10^64 is a multiple of 2^64.
        if self.scale <= -64 {
            return 0;
        }
        self.truncated().map_or(0, |integer| low_bits(&integer))
    }

    /// Rounded half up to a number of digits.
    pub(super) fn with_precision(self, digits: i64) -> Result<Self, TooLong> {
        let surplus = self.precision() - digits;
        if surplus <= 0 {
            return Ok(self);
        }
        let scale = i64::from(self.scale) - surplus;
        let rounded = Self::checked(half_up(&self.unscaled, &power_of_ten(surplus)?), scale)?;
        // 99.9 becomes 100: one digit too many, and a zero.
        if rounded.precision() > digits { Self::checked(rounded.unscaled / 10, scale - 1) } else { Ok(rounded) }
    }

    /// The nearest double.
    pub(in crate::value) fn to_double(&self) -> f64 {
        // The exponent stays text: nothing is written out.
        format!("{}e{}", self.unscaled, -i64::from(self.scale)).parse().unwrap_or(f64::NAN)
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f32 {
        format!("{}e{}", self.unscaled, -i64::from(self.scale)).parse().unwrap_or(f32::NAN)
    }
}

/// Fails when an integer is longer than a value may be.
pub(super) fn check_length(integer: &BigInt) -> Result<(), TooLong> {
    if integer.bits() < NUMBER_BYTES_MAX as u64 * 8 { Ok(()) } else { Err(TooLong) }
}

/// The lowest 64 bits of the two's complement form.
pub(super) fn low_bits(integer: &BigInt) -> i64 {
    let magnitude = integer.iter_u64_digits().next().unwrap_or(0);
    (if integer.sign() == Sign::Minus { magnitude.wrapping_neg() } else { magnitude }) as i64
}

fn power_of_ten(exponent: i64) -> Result<BigInt, TooLong> {
    match u32::try_from(exponent) {
        Ok(exponent) if i64::from(exponent) <= SHIFT_DIGITS_MAX => Ok(BigInt::from(10).pow(exponent)),
        _ => Err(TooLong),
    }
}

/// × 10^digits.
pub(super) fn shifted(number: &BigInt, digits: i64) -> Result<BigInt, TooLong> {
    if digits == 0 || number.sign() == Sign::NoSign {
        return Ok(number.clone());
    }
    Ok(number * power_of_ten(digits)?)
}

/// The quotient rounded to the nearest integer, halves away from zero.
pub(super) fn half_up(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    let quotient = dividend / divisor;
    let rest = dividend - &quotient * divisor;
    if rest.magnitude() * 2_u32 < *divisor.magnitude() {
        quotient
    } else if (dividend.sign() == Sign::Minus) == (divisor.sign() == Sign::Minus) {
        quotient + 1
    } else {
        quotient - 1
    }
}
