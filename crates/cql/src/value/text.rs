//! Value to text: CQL literals for error messages, DESCRIBE and tools, and the texts that `CAST(… AS text)` and JSON are made of.
//!
//! What is written here for a value of a native type reads back as the same value ([`super::parse`]). Numbers look as Java prints them,
//! because that is what Cassandra's clients see: `1.0E7`, `1E+3`. Deviations from Cassandra: a duration of zero is `0s` (there: no
//! text at all), and years before 1 have a sign (there a timestamp loses it).

use super::calendar::{DAY_MILLISECONDS, Date};
use super::{layout, validate};
use model::DataType;
use num_bigint::BigInt;
use std::fmt::Write as _;
use std::net::Ipv6Addr;

/// Appends the CQL literal for a value.
pub fn write_literal(ty: &DataType, wire: &[u8], out: &mut String) {
    match ty {
        DataType::Text | DataType::Ascii => {
            out.push('\'');
            out.push_str(&String::from_utf8_lossy(wire).replace('\'', "''"));
            out.push('\'');
        }
        DataType::Blob | DataType::Custom(_) => write_plain(ty, wire, out),
        DataType::List(element, _) => sequence('[', layout::elements(wire).map(|part| (&**element, part)), ']', out),
        DataType::Set(element, _) => sequence('{', layout::elements(wire).map(|part| (&**element, part)), '}', out),
        DataType::Vector(element, dimension) => {
            sequence('[', layout::vector_elements(element, *dimension, wire).map(|part| (&**element, part)), ']', out);
        }
        DataType::Map(key, value, _) => {
            out.push('{');
            for (position, (k, v)) in layout::entries(wire).enumerate() {
                separate(position, out);
                write_literal(key, k, out);
                out.push_str(": ");
                write_literal(value, v, out);
            }
            out.push('}');
        }
        DataType::Tuple(types) => {
            out.push('(');
            for (position, (ty, field)) in types.iter().zip(layout::fields(wire)).enumerate() {
                separate(position, out);
                nullable(ty, field, out);
            }
            out.push(')');
        }
        DataType::Udt(user, _) => {
            out.push('{');
            for (position, ((name, ty), field)) in user.fields.iter().zip(layout::fields(wire)).enumerate() {
                separate(position, out);
                write_identifier(name, out);
                out.push_str(": ");
                nullable(ty, field, out);
            }
            out.push('}');
        }
        _ if wire.is_empty() => out.push_str("null"),
        DataType::Date | DataType::Time | DataType::Timestamp | DataType::Inet => {
            out.push('\'');
            write_plain(ty, wire, out);
            out.push('\'');
        }
        _ => write_plain(ty, wire, out),
    }
}

/// The CQL literal for a value.
#[must_use]
pub fn to_literal(ty: &DataType, wire: Option<&[u8]>) -> String {
    let mut out = String::new();
    nullable(ty, wire, &mut out);
    out
}

/// Appends a name as CQL writes it, in quotes if it must be.
pub fn write_identifier(name: &str, out: &mut String) {
    if is_plain_identifier(name) {
        out.push_str(name);
    } else {
        out.push('"');
        out.push_str(&name.replace('"', "\"\""));
        out.push('"');
    }
}

/// Whether a name reads as itself without quotes, keywords aside.
pub(super) fn is_plain_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

fn nullable(ty: &DataType, wire: Option<&[u8]>, out: &mut String) {
    match wire {
        Some(wire) => write_literal(ty, wire, out),
        None => out.push_str("null"),
    }
}

fn separate(position: usize, out: &mut String) {
    if position > 0 {
        out.push_str(", ");
    }
}

fn sequence<'a>(open: char, parts: impl Iterator<Item = (&'a DataType, &'a [u8])>, close: char, out: &mut String) {
    out.push(open);
    for (position, (ty, part)) in parts.enumerate() {
        separate(position, out);
        write_literal(ty, part, out);
    }
    out.push(close);
}

/// Appends the text of a value of a native type without quotes; that of other types is their literal. The empty value has no text.
pub fn write_plain(ty: &DataType, wire: &[u8], out: &mut String) {
    if plain(ty, wire, out).is_none() && !wire.is_empty() {
        // Not a value of the type: its bytes, so that the message still says something.
        write_hex(wire, out);
    }
}

fn plain(ty: &DataType, wire: &[u8], out: &mut String) -> Option<()> {
    let written = match ty {
        DataType::Text | DataType::Ascii => {
            out.push_str(&String::from_utf8_lossy(wire));
            Ok(())
        }
        DataType::Blob | DataType::Custom(_) => {
            write_hex(wire, out);
            Ok(())
        }
        DataType::Int => write!(out, "{}", i32::from_be_bytes(wire.try_into().ok()?)),
        DataType::BigInt | DataType::Counter => write!(out, "{}", i64::from_be_bytes(wire.try_into().ok()?)),
        DataType::SmallInt => write!(out, "{}", i16::from_be_bytes(wire.try_into().ok()?)),
        DataType::TinyInt => write!(out, "{}", i8::from_be_bytes(wire.try_into().ok()?)),
        DataType::Boolean => {
            out.push_str(if <[u8; 1]>::try_from(wire).ok()?[0] == 0 { "false" } else { "true" });
            Ok(())
        }
        DataType::Float => write_float(f32::from_be_bytes(wire.try_into().ok()?), out),
        DataType::Double => write_double(f64::from_be_bytes(wire.try_into().ok()?), out),
        DataType::Varint if wire.is_empty() => return None,
        DataType::Varint => write!(out, "{}", BigInt::from_signed_bytes_be(wire)),
        DataType::Decimal => write_decimal(wire.split_first_chunk::<4>()?, out),
        DataType::Uuid | DataType::TimeUuid => {
            let whole = u128::from_be_bytes(wire.try_into().ok()?);
            let (low, tail) = ((whole >> 64) as u64, whole as u64);
            let node = tail & 0xFFFF_FFFF_FFFF;
            write!(out, "{:08x}-{:04x}-{:04x}-{:04x}-{node:012x}", low >> 32, (low >> 16) & 0xFFFF, low & 0xFFFF, tail >> 48)
        }
        DataType::Inet => write_address(wire, out)?,
        DataType::Date => {
            let days = i64::from(u32::from_be_bytes(wire.try_into().ok()?)) - (1 << 31);
            write!(out, "{}", Date::from_days(days))
        }
        DataType::Time => write_clock(i64::from_be_bytes(wire.try_into().ok()?), out),
        DataType::Timestamp => write_timestamp(i64::from_be_bytes(wire.try_into().ok()?), 'T', out),
        DataType::Duration => write_duration(validate::duration(wire).ok()?, out),
        DataType::List(..) | DataType::Set(..) | DataType::Map(..) | DataType::Tuple(_) | DataType::Udt(..) | DataType::Vector(..) => {
            write_literal(ty, wire, out);
            Ok(())
        }
    };
    written.ok()
}

/// Appends `0x` and the bytes' digits.
pub(super) fn write_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 + 2 * bytes.len());
    out.push_str("0x");
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

fn write_float(value: f32, out: &mut String) -> std::fmt::Result {
    if !value.is_finite() || value == 0.0 {
        return write_double(f64::from(value), out);
    }
    let shortest = format!("{value:e}");
    let two = format!("{value:.1e}");
    let digits = if two.parse() == Ok(value) { &two } else { &shortest };
    java(digits, f64::from(value.abs()), out)
}

fn write_double(value: f64, out: &mut String) -> std::fmt::Result {
    if value.is_nan() {
        return out.write_str("NaN");
    }
    if value.is_infinite() {
        return out.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    if value == 0.0 {
        return out.write_str(if value.is_sign_negative() { "-0.0" } else { "0.0" });
    }
    // Java prints two digits at least, and of all such that read back the nearest.
    let shortest = format!("{value:e}");
    let two = format!("{value:.1e}");
    let digits = if two.parse() == Ok(value) { &two } else { &shortest };
    java(digits, value.abs(), out)
}

/// Writes `d.ddde±x` as Java does: plainly from 10⁻³ up to 10⁷, else with an exponent.
fn java(scientific: &str, magnitude: f64, out: &mut String) -> std::fmt::Result {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    if !(1e-3..1e7).contains(&magnitude) {
        return write!(out, "{sign}{first}.{rest}E{exponent}");
    }
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = format!("{first}{}", rest.trim_end_matches('0'));
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let whole = exponent + 1;
            let (before, after) = digits.split_at(whole.min(digits.len()));
            let zeros = whole - before.len();
            write!(out, "{sign}{before}{}.{}", "0".repeat(zeros), if after.is_empty() { "0" } else { after })
        }
        Err(_) => write!(out, "{sign}0.{}{digits}", "0".repeat((-exponent - 1) as usize)),
    }
}

/// As Java's `BigDecimal.toString`: with an exponent only for a negative scale or more than six zeros after the point.
fn write_decimal((scale, unscaled): (&[u8; 4], &[u8]), out: &mut String) -> std::fmt::Result {
    let scale = i64::from(i32::from_be_bytes(*scale));
    let text = BigInt::from_signed_bytes_be(unscaled).to_string();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let adjusted = digits.len() as i64 - 1 - scale;
    if scale == 0 {
        return write!(out, "{sign}{digits}");
    }
    if scale > 0 && adjusted >= -6 {
        // At most six zeros beyond the digits.
        let scale = scale as usize;
        return match digits.len().checked_sub(scale) {
            Some(whole) if whole > 0 => write!(out, "{sign}{}.{}", &digits[..whole], &digits[whole..]),
            _ => write!(out, "{sign}0.{}{digits}", "0".repeat(scale - digits.len())),
        };
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    write!(out, "{sign}{first}{point}{rest}")?;
    if adjusted == 0 { Ok(()) } else { write!(out, "E{adjusted:+}") }
}

fn write_address(wire: &[u8], out: &mut String) -> Option<std::fmt::Result> {
    if let Ok([a, b, c, d]) = <[u8; 4]>::try_from(wire) {
        return Some(write!(out, "{a}.{b}.{c}.{d}"));
    }
    let address = Ipv6Addr::from(<[u8; 16]>::try_from(wire).ok()?);
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(write!(out, "{mapped}"));
    }
    for (position, group) in address.segments().into_iter().enumerate() {
        if position > 0 {
            out.push(':');
        }
        if write!(out, "{group:x}").is_err() {
            return None;
        }
    }
    Some(Ok(()))
}

fn write_clock(nanoseconds: i64, out: &mut String) -> std::fmt::Result {
    let (seconds, fraction) = (nanoseconds.div_euclid(1_000_000_000), nanoseconds.rem_euclid(1_000_000_000));
    write!(out, "{:02}:{:02}:{:02}.{fraction:09}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Appends a UTC timestamp with milliseconds and `separator` between date and time.
pub(super) fn write_timestamp(milliseconds: i64, separator: char, out: &mut String) -> std::fmt::Result {
    let date = Date::from_days(milliseconds.div_euclid(DAY_MILLISECONDS));
    let rest = milliseconds.rem_euclid(DAY_MILLISECONDS);
    let (seconds, fraction) = (rest / 1000, rest % 1000);
    write!(out, "{date}{separator}{:02}:{:02}:{:02}.{fraction:03}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn write_duration((months, days, nanoseconds): (i32, i32, i64), out: &mut String) -> std::fmt::Result {
    if (months, days, nanoseconds) == (0, 0, 0) {
        return out.write_str("0s");
    }
    if months < 0 || days < 0 || nanoseconds < 0 {
        out.push('-');
    }
    let mut parts = |mut rest: u64, units: &[(u64, &str)]| {
        for (size, unit) in units {
            if rest >= *size {
                write!(out, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    };
    parts(u64::from(months.unsigned_abs()), &[(12, "y"), (1, "mo")])?;
    parts(u64::from(days.unsigned_abs()), &[(1, "d")])?;
    let clock = [(3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    parts(nanoseconds.unsigned_abs(), &clock)
}
