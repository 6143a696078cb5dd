//! Numbers of any size as bytes that sort like them.
//!
//! A varint is a header and its shortest two's complement form of n bytes. Negative: `7F` - (n - 1) down to `40`, for n > 64 `3F` and
//! the inverted u32 n. Others: `80` + (n - 1) up to `BF`, for n > 64 `C0` and the u32 n.
//!
//! A decimal 0.d₁d₂… × 10^e is `02` for zero, else `03` (positive) or `01` (negative), e as five bytes above 2³⁹, each two digits as a
//! byte 1 + 10d₁ + d₂ (an odd last one with a zero), then `00`; of a negative one all after its first byte is inverted.

use super::reader::{ComparableError, Reader};
use crate::value::decimal::Decimal;
use num_bigint::{BigInt, Sign};

/// The longest varint whose length is in the header's first byte.
const SHORT_BYTES_MAX: usize = 64;
const EXPONENT_BIAS: i64 = 1 << 39;
/// Up to how many digits a whole number is read back without an exponent.
const PLAIN_DIGITS_MAX: i64 = 64;
/// How many zeros are put at the end of a number whose scale would not fit otherwise; no value has as many digits.
const ZEROS_MAX: i64 = 20_000;

/// Appends the encoding of a two's complement integer in its shortest form.
pub(super) fn put_varint(minimal: &[u8], out: &mut Vec<u8>) {
    let negative = minimal.first().is_some_and(|byte| *byte >= 0x80);
    let length = minimal.len();
    if length <= SHORT_BYTES_MAX {
        let step = length.saturating_sub(1) as u8;
        out.push(if negative { 0x7F - step } else { 0x80 + step });
    } else {
        let wide = u32::try_from(length).expect("a value is smaller than a frame");
        out.push(if negative { 0x3F } else { 0xC0 });
        out.extend_from_slice(&(if negative { !wide } else { wide }).to_be_bytes());
    }
    out.extend_from_slice(minimal);
}

/// The inverse of [`put_varint`].
pub(super) fn take_varint(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), ComparableError> {
    let length = match reader.byte()? {
        0x3F => (!u32::from_be_bytes(reader.array()?)) as usize,
        0xC0 => u32::from_be_bytes(reader.array()?) as usize,
        header @ 0x40..0x80 => usize::from(0x7F - header) + 1,
        header @ 0x80..0xC0 => usize::from(header - 0x80) + 1,
        marker => return Err(ComparableError::Marker { marker }),
    };
    reader.copy(length, out)
}

/// Appends the encoding of a decimal.
pub(super) fn put_decimal(value: &Decimal, out: &mut Vec<u8>) {
    let digits = value.digits();
    if digits.is_empty() {
        out.push(0x02);
        return;
    }
    out.push(if value.negative { 0x01 } else { 0x03 });
    let start = out.len();
    let biased = (value.exponent + EXPONENT_BIAS) as u64;
    out.extend_from_slice(&biased.to_be_bytes()[3..]);
    for pair in digits.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        out.push(1 + 10 * pair[0] + low);
    }
    out.push(0);
    if value.negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The inverse of [`put_decimal`], up to the scale: whole numbers get the scale 0 if that is not too long, others the smallest.
pub(super) fn take_decimal(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), ComparableError> {
    let negative = match reader.byte()? {
        0x01 => true,
        0x02 => {
            out.extend_from_slice(&[0; 5]);
            return Ok(());
        }
        0x03 => false,
        marker => return Err(ComparableError::Marker { marker }),
    };
    let invert = if negative { 0xFF } else { 0 };
    let [a, b, c, d, e] = reader.array::<5>()?.map(|byte| byte ^ invert);
    let exponent = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]) as i64 - EXPONENT_BIAS;
    let mut digits = Vec::new();
    loop {
        match reader.byte()? ^ invert {
            0 => break,
            pair @ 1..=100 => digits.extend_from_slice(&[(pair - 1) / 10, (pair - 1) % 10]),
            _ => return Err(ComparableError::Number),
        }
    }
    if digits.last() == Some(&0) {
        digits.pop();
    }
    let mut scale = digits.len() as i64 - exponent;
    let zeros = match scale {
        0.. => 0,
        _ if exponent <= PLAIN_DIGITS_MAX => -scale,
        _ => (i64::from(i32::MIN) - scale).max(0),
    };
    if zeros > ZEROS_MAX {
        return Err(ComparableError::Number);
    }
    digits.resize(digits.len() + zeros as usize, 0);
    scale += zeros;
    let scale = i32::try_from(scale).map_err(|_| ComparableError::Number)?;
    let sign = if negative { Sign::Minus } else { Sign::Plus };
    let unscaled = BigInt::from_radix_be(sign, &digits, 10).ok_or(ComparableError::Number)?;
    out.extend_from_slice(&scale.to_be_bytes());
    out.extend_from_slice(&unscaled.to_signed_bytes_be());
    Ok(())
}
