//! Numbers of any size, and which texts are floating-point numbers.

use num_bigint::BigInt;

/// How many digits a varint or decimal may be written with: as many as surely fit in the bytes that one may have
/// ([`NUMBER_BYTES_MAX`](crate::value::NUMBER_BYTES_MAX)).
pub const DIGITS_MAX: usize = 19_700;

/// Appends the two's complement form of a decimal integer with an optional sign.
pub(super) fn varint(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    out.extend_from_slice(&BigInt::parse_bytes(text.as_bytes(), 10)?.to_signed_bytes_be());
    Some(())
}

/// Appends the wire form of a decimal: sign, digits, point, digits, exponent.
pub(in crate::value) fn decimal(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() > DIGITS_MAX || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = i32::try_from((fraction.len() as i64).checked_sub(exponent)?).ok()?;
    let mut digits = String::with_capacity(whole.len() + fraction.len());
    digits.push_str(whole);
    digits.push_str(fraction);
    let start = out.len();
    out.extend_from_slice(&scale.to_be_bytes());
    let unscaled = varint(&digits, out);
    if unscaled.is_none() {
        out.truncate(start);
    }
    unscaled
}

/// Whether `text` is a finite floating-point number in the way CQL and JSON write it.
pub(super) fn is_float(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
}

/// The floating-point values that are no numbers.
pub(super) fn special(text: &str) -> Option<f64> {
    let (negative, name) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if name.eq_ignore_ascii_case("nan") {
        Some(f64::from_bits(0x7FF8_0000_0000_0000))
    } else if name.eq_ignore_ascii_case("infinity") {
        Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
    } else {
        None
    }
}
