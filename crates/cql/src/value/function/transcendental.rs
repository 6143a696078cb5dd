//! e^x, natural and decimal logarithm of decimals to 32 significant digits.
//!
//! Fixed-point series on integers with guard digits: the argument is first reduced to near zero (exp) or near one (log), so that a few dozen
//! terms do. The number of digits is bounded, whatever the argument.

use super::exact::{Exact, SIGNIFICANT_DIGITS, TooLong, half_up, shifted};
use num_bigint::{BigInt, Sign};

/// Digits after the point in intermediate results: the result's, those that a large argument loses, and a guard.
const WORK_DIGITS: i64 = 64;
/// How many more for logarithms of numbers near one, which begin with as many zeros.
const NEAR_ONE_DIGITS_MAX: i64 = 1000;

/// Numbers × 10^digits.
struct FixedPoint {
    digits: i64,
    one: BigInt,
}

impl FixedPoint {
    fn new(digits: i64) -> Result<Self, TooLong> {
        Ok(Self { digits, one: shifted(&BigInt::from(1), digits)? })
    }

    fn multiply(&self, a: &BigInt, b: &BigInt) -> BigInt {
        a * b / &self.one
    }

    fn divide(&self, a: &BigInt, b: &BigInt) -> BigInt {
        a * &self.one / b
    }

    fn fixed(&self, x: &Exact) -> Result<BigInt, TooLong> {
        let shift = self.digits - i64::from(x.scale);
        if shift >= 0 {
            return shifted(&x.unscaled, shift);
        }
        if -shift > x.precision() {
            return Ok(BigInt::ZERO);
        }
        Ok(half_up(&x.unscaled, &shifted(&BigInt::from(1), -shift)?))
    }

    /// `fixed` × 10^exponent, rounded to the digits of a result.
    fn result(&self, fixed: BigInt, exponent: i64) -> Result<Exact, TooLong> {
        let scale = i32::try_from(self.digits - exponent).map_err(|_| TooLong)?;
        Exact { unscaled: fixed, scale }.with_precision(SIGNIFICANT_DIGITS)
    }

    /// 2 artanh(x) for a small x: ln ((1 + x) / (1 - x)).
    fn twice_artanh(&self, x: BigInt) -> BigInt {
        let square = self.multiply(&x, &x);
        let mut term = x;
        let mut sum = BigInt::ZERO;
        let mut divisor = 1_u32;
        while term.sign() != Sign::NoSign {
            sum += &term / divisor;
            term = self.multiply(&term, &square);
            divisor += 2;
        }
        sum * 2
    }

    /// ln 10 = 3 ln 2 + ln 1.25 = 6 artanh(1/3) + 2 artanh(1/9).
    fn log_ten(&self) -> BigInt {
        self.twice_artanh(&self.one / 3) * 3 + self.twice_artanh(&self.one / 9)
    }

    /// The natural logarithm of a number from 1 to 10.
    fn log(&self, mantissa: &BigInt) -> BigInt {
        // Square roots bring it near one: ln m = 2^k ln m^(1/2^k).
        let mut root = mantissa.clone();
        let mut doublings = 0_u32;
        while (&root - &self.one) * 100 > self.one {
            root = (root * &self.one).sqrt();
            doublings += 1;
        }
        self.twice_artanh(self.divide(&(&root - &self.one), &(&root + &self.one))) << doublings
    }
}

/// e^x.
pub(super) fn exp(x: &Exact) -> Result<Exact, TooLong> {
    if x.is_zero() {
        return Ok(Exact::from_integer(BigInt::from(1)));
    }
    // The exponent of e^(10^10) is beyond every decimal's.
    if x.precision() - i64::from(x.scale) > 10 {
        return Err(TooLong);
    }
    let point = FixedPoint::new(WORK_DIGITS)?;
    // x = k ln 10 + r, so that e^x = 10^k e^r.
    let fixed = point.fixed(x)?;
    let ten = point.log_ten();
    let exponent = half_up(&fixed, &ten);
    let rest = fixed - &exponent * ten;
    let exponent = i64::try_from(exponent).map_err(|_| TooLong)?;
    // e^r = (e^(r / 256))^256
    let small = rest / 256;
    let mut term = point.one.clone();
    let mut sum = point.one.clone();
    let mut n = 1_u32;
    while term.sign() != Sign::NoSign {
        term = point.multiply(&term, &small) / n;
        sum += &term;
        n += 1;
    }
    for _ in 0..8 {
        sum = point.multiply(&sum, &sum);
    }
    point.result(sum, exponent)
}

/// The natural logarithm; `None` for numbers that have none.
pub(super) fn log(x: &Exact) -> Result<Option<Exact>, TooLong> {
    let Some((point, mantissa, exponent)) = split(x)? else { return Ok(None) };
    let sum = point.log(&mantissa) + point.log_ten() * exponent;
    point.result(sum, 0).map(Some)
}

/// The decimal logarithm; `None` for numbers that have none.
pub(super) fn log10(x: &Exact) -> Result<Option<Exact>, TooLong> {
    let Some((point, mantissa, exponent)) = split(x)? else { return Ok(None) };
    if mantissa == point.one {
        return Ok(Some(Exact::from_integer(BigInt::from(exponent))));
    }
    let fraction = point.divide(&point.log(&mantissa), &point.log_ten());
    let sum = fraction + &point.one * exponent;
    point.result(sum, 0).map(Some)
}

/// x as m × 10^exponent with m from 1 up to 10, in as many digits as its logarithm needs.
fn split(x: &Exact) -> Result<Option<(FixedPoint, BigInt, i64)>, TooLong> {
    if x.unscaled.sign() != Sign::Plus {
        return Ok(None);
    }
    let last = x.precision() - 1;
    let exponent = last - i64::from(x.scale);
    let near_one = match exponent {
        0 | -1 => x.subtract(&Exact::from_integer(BigInt::from(1))).map_or(0, |distance| i64::from(distance.scale) - distance.precision()),
        _ => 0,
    };
    let point = FixedPoint::new(WORK_DIGITS + near_one.clamp(0, NEAR_ONE_DIGITS_MAX))?;
    let mantissa = point.fixed(&Exact { unscaled: x.unscaled.clone(), scale: i32::try_from(last).map_err(|_| TooLong)? })?;
    Ok(Some((point, mantissa, exponent)))
}
