//! Text to value: what a literal or a JSON string says for a type. The formats and messages are Cassandra's.
//!
//! Deviations, all refusals: names of time zones other than UTC, UT and GMT, a timestamp of `'now'`, shortened IPv4 addresses and host
//! names, and numbers of more than [`DIGITS_MAX`] digits. A timestamp without a zone is in UTC.

mod duration;
mod error;
mod number;
mod temporal;

pub use error::{Excerpt, Form, ParseError, Unit};
pub use number::DIGITS_MAX;
pub(super) use number::decimal;

use model::DataType;

/// Appends the value of the scalar type `ty` that `text` says.
///
/// No text at all is the empty value of the types that have one. Collections, tuples, user types, vectors and custom types have no text
/// form of this kind and are refused.
///
/// # Errors
/// When `text` does not say a value of `ty`.
pub fn parse(ty: &DataType, text: &str, out: &mut Vec<u8>) -> Result<(), ParseError> {
    if text.is_empty() && *ty != DataType::Blob && super::validate(ty, &[]).is_ok() {
        return Ok(());
    }
    let unreadable = |form| ParseError::unreadable(form, text);
    match ty {
        DataType::Text => out.extend_from_slice(text.as_bytes()),
        DataType::Ascii if text.is_ascii() => out.extend_from_slice(text.as_bytes()),
        DataType::Ascii => return Err(ParseError::NotAscii),
        DataType::Int => out.extend_from_slice(&text.parse::<i32>().map_err(|_| unreadable(Form::Int))?.to_be_bytes()),
        DataType::BigInt | DataType::Counter => {
            out.extend_from_slice(&text.parse::<i64>().map_err(|_| unreadable(Form::Long))?.to_be_bytes());
        }
        DataType::SmallInt => out.extend_from_slice(&text.parse::<i16>().map_err(|_| unreadable(Form::Short))?.to_be_bytes()),
        DataType::TinyInt => out.extend_from_slice(&text.parse::<i8>().map_err(|_| unreadable(Form::Byte))?.to_be_bytes()),
        DataType::Varint => number::varint(text, out).ok_or_else(|| unreadable(Form::Varint))?,
        DataType::Decimal => decimal(text, out).ok_or_else(|| unreadable(Form::Decimal))?,
        DataType::Float => {
            let value = if number::is_float(text) { text.parse().ok() } else { number::special(text).map(|value| value as f32) };
            out.extend_from_slice(&value.ok_or_else(|| unreadable(Form::Float))?.to_be_bytes());
        }
        DataType::Double => {
            let value = if number::is_float(text) { text.parse().ok() } else { number::special(text) };
            out.extend_from_slice(&value.ok_or_else(|| unreadable(Form::Double))?.to_be_bytes());
        }
        DataType::Boolean if text.eq_ignore_ascii_case("true") => out.push(1),
        DataType::Boolean if text.eq_ignore_ascii_case("false") => out.push(0),
        DataType::Boolean => return Err(unreadable(Form::Boolean)),
        DataType::Blob => {
            let digits = text.strip_prefix("0x").ok_or_else(|| unreadable(Form::BlobPrefix))?;
            hex(digits, out)?;
        }
        DataType::Uuid => out.extend_from_slice(&uuid(text)?),
        DataType::TimeUuid => {
            let bytes = uuid(text)?;
            if bytes[6] >> 4 != 1 {
                return Err(ParseError::TimeUuidVersion);
            }
            out.extend_from_slice(&bytes);
        }
        DataType::Inet => match text.parse::<std::net::IpAddr>().map_err(|_| unreadable(Form::Inet))?.to_canonical() {
            std::net::IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
            std::net::IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
        },
        DataType::Date => out.extend_from_slice(&temporal::date(text)?.to_be_bytes()),
        DataType::Time => out.extend_from_slice(&temporal::time(text)?.to_be_bytes()),
        DataType::Timestamp => out.extend_from_slice(&temporal::timestamp(text)?.to_be_bytes()),
        DataType::Duration => duration::duration(text, out)?,
        DataType::List(..)
        | DataType::Set(..)
        | DataType::Map(..)
        | DataType::Tuple(_)
        | DataType::Udt(..)
        | DataType::Vector(..)
        | DataType::Custom(_) => return Err(ParseError::NoTextForm { ty: ty.clone() }),
    }
    Ok(())
}

/// Appends the bytes that hexadecimal digits say.
///
/// # Errors
/// When there is an odd number of them or one is none.
pub fn hex(digits: &str, out: &mut Vec<u8>) -> Result<(), ParseError> {
    let start = out.len();
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    out.reserve(pairs.len());
    let complete = rest.is_empty()
        && pairs.iter().all(|pair| match (digit(pair[0]), digit(pair[1])) {
            (Some(high), Some(low)) => {
                out.push((high << 4) | low);
                true
            }
            _ => false,
        });
    if complete {
        Ok(())
    } else {
        out.truncate(start);
        Err(ParseError::unreadable(Form::Hex, digits))
    }
}

fn digit(character: u8) -> Option<u8> {
    char::from(character).to_digit(16).map(|digit| digit as u8)
}

fn uuid(text: &str) -> Result<[u8; 16], ParseError> {
    let unreadable = || ParseError::unreadable(Form::Uuid, text);
    let bytes = text.as_bytes();
    if bytes.len() != 36 || [8, 13, 18, 23].iter().any(|at| bytes[*at] != b'-') {
        return Err(unreadable());
    }
    let mut digits = bytes.iter().filter(|byte| **byte != b'-').map(|byte| digit(*byte));
    let mut out = [0; 16];
    for byte in &mut out {
        let (Some(Some(high)), Some(Some(low))) = (digits.next(), digits.next()) else {
            return Err(unreadable());
        };
        *byte = (high << 4) | low;
    }
    if digits.next().is_some() { Err(unreadable()) } else { Ok(out) }
}
