//! Numbers that Lua has none of: decimals, and integers of more than 64 bits. In Lua they add, subtract, multiply, compare and print exactly.

use crate::limits::NUMBER_BITS_MAX;
use num_bigint::BigInt;
use std::cmp::Ordering;
use std::fmt;

/// `unscaled` × 10^-`scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// All digits.
    pub unscaled: BigInt,
    /// How many of them are behind the point; negative: zeros that follow.
    pub scale: i32,
}

/// Powers of ten beyond this are not computed.
const SHIFT_MAX: u32 = (NUMBER_BITS_MAX / 4) as u32;

impl Number {
    /// An integer.
    #[must_use]
    pub fn integer(value: impl Into<BigInt>) -> Self {
        Self { unscaled: value.into(), scale: 0 }
    }

    /// Reads `-12.5e3`; none if that is no number, or a power of ten beyond what can be computed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() as u64 > NUMBER_BITS_MAX / 3 {
            return None;
        }
        let (digits, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].strip_prefix('+').unwrap_or(&text[at + 1..]).parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (unsigned.is_empty() && fraction.is_empty()) || !is_digits(unsigned) || !is_digits(fraction) {
            return None;
        }
        let unscaled = format!("{unsigned}{fraction}").parse::<BigInt>().ok()?;
        let unscaled = if whole.starts_with('-') { -unscaled } else { unscaled };
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        Some(Self { unscaled, scale })
    }

    /// The float's shortest text as a number; none of infinities and NaN.
    #[must_use]
    pub fn from_float(value: f64) -> Option<Self> {
        Self::parse(&format!("{value:e}"))
    }

    /// The integer that it is, if it is one and not too long.
    #[must_use]
    pub fn to_integer(&self) -> Option<BigInt> {
        if self.scale <= 0 {
            return self.with_scale(0).map(|number| number.unscaled);
        }
        let divisor = power(self.scale.unsigned_abs())?;
        let whole = &self.unscaled / &divisor;
        (&whole * &divisor == self.unscaled).then_some(whole)
    }

    /// How many bits its digits have.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.unscaled.bits()
    }

    fn with_scale(&self, scale: i32) -> Option<Self> {
        let more = u32::try_from(i64::from(scale) - i64::from(self.scale)).ok()?;
        Some(Self { unscaled: &self.unscaled * power(more)?, scale })
    }

    fn aligned(&self, other: &Self) -> Option<(Self, Self)> {
        let scale = self.scale.max(other.scale);
        Some((self.with_scale(scale)?, other.with_scale(scale)?))
    }

    pub(crate) fn add(&self, other: &Self) -> Option<Self> {
        let (one, two) = self.aligned(other)?;
        Self { unscaled: one.unscaled + two.unscaled, scale: one.scale }.bounded()
    }

    pub(crate) fn subtract(&self, other: &Self) -> Option<Self> {
        let (one, two) = self.aligned(other)?;
        Self { unscaled: one.unscaled - two.unscaled, scale: one.scale }.bounded()
    }

    pub(crate) fn multiply(&self, other: &Self) -> Option<Self> {
        if self.bits() + other.bits() > NUMBER_BITS_MAX {
            return None;
        }
        Some(Self { unscaled: &self.unscaled * &other.unscaled, scale: self.scale.checked_add(other.scale)? })
    }

    pub(crate) fn negate(&self) -> Self {
        Self { unscaled: -self.unscaled.clone(), scale: self.scale }
    }

    /// None if they are too far apart for one scale.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        let (one, two) = self.aligned(other)?;
        Some(one.unscaled.cmp(&two.unscaled))
    }

    fn bounded(self) -> Option<Self> {
        (self.bits() <= NUMBER_BITS_MAX).then_some(self)
    }
}

fn power(exponent: u32) -> Option<BigInt> {
    (exponent <= SHIFT_MAX).then(|| BigInt::from(10).pow(exponent))
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.unscaled.magnitude().to_string();
        let sign = if self.unscaled.sign() == num_bigint::Sign::Minus { "-" } else { "" };
        match usize::try_from(self.scale) {
            Ok(0) => write!(out, "{sign}{digits}"),
            Ok(scale) if scale <= SHIFT_MAX as usize => {
                let padded = format!("{digits:0>width$}", width = scale + 1);
                let (whole, fraction) = padded.split_at(padded.len() - scale);
                write!(out, "{sign}{whole}.{fraction}")
            }
            _ => write!(out, "{sign}{digits}E{}", -i64::from(self.scale)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back() {
        for text in ["0", "1", "-1.50", "0.001", "123456789012345678901234567890.5", "-0.5"] {
            assert_eq!(Number::parse(text).expect(text).to_string(), text);
        }
        for text in ["", "-", ".", "1x", "1e", "0x10", "1.2.3", "--1"] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
        assert_eq!(Number::parse("1e3").and_then(|number| number.to_integer()), Some(1000.into()));
        assert_eq!(Number::parse("1.5").and_then(|number| number.to_integer()), None);
        assert_eq!(Number::parse("1e2000000000").and_then(|number| number.to_integer()), None);
        assert_eq!(Number::from_float(0.1).map(|number| number.to_string()), Some("0.1".to_owned()));
        assert_eq!(Number::from_float(f64::NAN), None);
    }

    #[test]
    fn arithmetic_is_exact() {
        let number = |text| Number::parse(text).expect("a number");
        assert_eq!(number("0.1").add(&number("0.20")), Some(number("0.30")));
        assert_eq!(number("1").subtract(&number("0.001")), Some(number("0.999")));
        assert_eq!(number("1.5").multiply(&number("-2")), Some(number("-3.0")));
        assert_eq!(number("1.0").compare(&number("1")), Some(Ordering::Equal));
        assert_eq!(number("1e2000000000").add(&number("1")), None);
    }
}
