//! Clustering keys as bytes that sort like their values: the engine compares rows with memcmp and knows no types.
//!
//! One component is one value in an encoding that ends itself and can be read back. Its first byte says what follows:
//!
//! | byte | meaning |
//! |---|---|
//! | `20` | empty value (zero bytes on the wire), nothing follows |
//! | `40` | a value |
//! | `60` | bytes that are not a value of the type, as a blob; only so that every input has an encoding |
//!
//! | type | after `40` |
//! |---|---|
//! | integers, timestamp, counter | big-endian, sign bit flipped |
//! | date, time | big-endian as on the wire |
//! | boolean | `00` or `01` |
//! | float, double | IEEE bits, all flipped if negative, else the sign bit; every NaN is one |
//! | uuid | version, then (version 1) time from high to low or the other bits, then the second half |
//! | timeuuid | version and time from high to low, then the second half with the sign bit of each byte flipped |
//! | text, ascii, blob, inet, duration, custom | the bytes with `00` as `00 FF`, then `00 00` |
//! | varint, decimal | see `number` |
//! | list, set | a component for each element, then `01` |
//! | map | a component for each key and each value in turn, then `01` |
//! | tuple, user type | a component for each field, `10` for null, without the nulls at the end, then `01` |
//! | vector | a component for each element |
//!
//! A descending column inverts every byte of its component. So no component starts with `00`–`0F` or `FF`, none is a prefix of
//! another, and the rows that start with `prefix` are those from `prefix` up to `prefix FF`.
//!
//! Values that [`super::compare`] calls equal have one encoding. Reading it back gives that value in its normal form: a varint without
//! superfluous sign bytes, a decimal without zeros at its end (1.0 and 1.00 both come back as 1), a boolean as 0 or 1, the canonical
//! NaN, and a tuple or user type with all of its fields, those that were missing as null (or without the nulls at its end, if the type has
//! more than [`PADDED_FIELDS_MAX`]).

mod number;
mod reader;

pub use reader::ComparableError;

use super::{build, decimal, layout, order, vint};
use model::DataType;
use reader::{Reader, find};

const EMPTY: u8 = 0x20;
const VALUE: u8 = 0x40;
const RAW: u8 = 0x60;
const END: u8 = 0x01;
const NULL: u8 = 0x10;

/// Up to how many fields a tuple or user type is read back with all of them.
///
/// Some drivers want all components of a tuple (the Rust driver's tuples end at sixteen); all know that fields may be missing at the end of
/// a user type. Filling up larger types would let a few bytes of key become kilobytes of reply.
const PADDED_FIELDS_MAX: usize = 16;

/// Appends the component for `wire`; `reversed` is for columns in descending order.
#[inline]
pub fn encode(ty: &DataType, wire: &[u8], reversed: bool, out: &mut Vec<u8>) {
    let start = out.len();
    encode_ascending(ty, wire, out);
    if reversed {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Takes one component off the front of `input` and appends the value's wire bytes to `out`.
///
/// # Errors
/// When `input` does not start with a component of `ty`; `out` may then hold a part of it.
#[inline]
pub fn decode(ty: &DataType, reversed: bool, input: &mut &[u8], out: &mut Vec<u8>) -> Result<(), ComparableError> {
    let mut reader = Reader { rest: input, mask: if reversed { 0xFF } else { 0 } };
    let marker = reader.byte()?;
    decode_after(marker, ty, &mut reader, out)?;
    *input = reader.rest;
    Ok(())
}

#[inline]
fn encode_ascending(ty: &DataType, wire: &[u8], out: &mut Vec<u8>) {
    if wire.is_empty() {
        out.push(EMPTY);
        return;
    }
    let start = out.len();
    let done = match ty {
        DataType::Text | DataType::Ascii | DataType::Blob | DataType::Inet | DataType::Duration | DataType::Custom(_) => {
            out.push(VALUE);
            escaped(wire, out);
            return;
        }
        DataType::Int => fixed(wire, out, |bytes| (u32::from_be_bytes(bytes) ^ 1 << 31).to_be_bytes()),
        DataType::BigInt | DataType::Counter | DataType::Timestamp => {
            fixed(wire, out, |bytes| (u64::from_be_bytes(bytes) ^ 1 << 63).to_be_bytes())
        }
        DataType::TimeUuid => fixed(wire, out, |bytes| order::timeuuid_rank(bytes).to_be_bytes()),
        DataType::Uuid => fixed(wire, out, |bytes| order::uuid_rank(bytes).to_be_bytes()),
        DataType::Date => fixed(wire, out, |bytes: [u8; 4]| bytes),
        DataType::Time => fixed(wire, out, |bytes: [u8; 8]| bytes),
        DataType::SmallInt => fixed(wire, out, |[high, low]| [high ^ 0x80, low]),
        DataType::TinyInt => fixed(wire, out, |[byte]| [byte ^ 0x80]),
        DataType::Boolean => fixed(wire, out, |[byte]| [u8::from(byte != 0)]),
        DataType::Float => fixed(wire, out, |bytes| order::float_rank(f32::from_be_bytes(bytes)).to_be_bytes()),
        DataType::Double => fixed(wire, out, |bytes| order::double_rank(f64::from_be_bytes(bytes)).to_be_bytes()),
        _ => encode_composed(ty, wire, out),
    };
    if done.is_none() {
        out.truncate(start);
        out.push(RAW);
        escaped(wire, out);
    }
}

/// The types whose encoding has no fixed size and is not just bytes; `None` if `wire` is not a value of `ty`.
#[inline(never)]
fn encode_composed(ty: &DataType, wire: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.push(VALUE);
    match ty {
        DataType::Varint => number::put_varint(decimal::minimal(wire), out),
        DataType::Decimal if wire.len() < 4 => return None,
        DataType::Decimal => number::put_decimal(&decimal::Decimal::from_wire(wire), out),
        DataType::List(element, _) | DataType::Set(element, _) => parts(wire, &[element], out)?,
        DataType::Map(key, value, _) => parts(wire, &[key, value], out)?,
        DataType::Tuple(types) => fields(wire, types.iter(), out)?,
        DataType::Udt(user, _) => fields(wire, user.fields.iter().map(|(_, ty)| ty), out)?,
        DataType::Vector(element, dimension) => {
            let mut elements = layout::vector_elements(element, *dimension, wire);
            for _ in 0..*dimension {
                encode_ascending(element, elements.next()?, out);
            }
            return elements.rest().is_empty().then_some(());
        }
        _ => return None,
    }
    Some(())
}

#[inline]
fn fixed<const N: usize>(wire: &[u8], out: &mut Vec<u8>, rank: impl Fn([u8; N]) -> [u8; N]) -> Option<()> {
    let bytes = rank(<[u8; N]>::try_from(wire).ok()?);
    out.reserve(N + 1);
    out.push(VALUE);
    out.extend_from_slice(&bytes);
    Some(())
}

#[inline]
fn escaped(mut bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 2);
    while let Some((piece, rest)) = find(bytes, 0).and_then(|at| bytes.split_at_checked(at)) {
        out.extend_from_slice(piece);
        out.extend_from_slice(&[0, 0xFF]);
        bytes = rest.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(bytes);
    out.extend_from_slice(&[0, 0]);
}

fn parts(mut wire: &[u8], types: &[&DataType], out: &mut Vec<u8>) -> Option<()> {
    let count = u32::try_from(layout::take_i32(&mut wire)?).ok()?;
    for _ in 0..count {
        for ty in types {
            encode_ascending(ty, layout::take_value(&mut wire)??, out);
        }
    }
    out.push(END);
    wire.is_empty().then_some(())
}

fn fields<'t>(wire: &[u8], types: impl Iterator<Item = &'t DataType>, out: &mut Vec<u8>) -> Option<()> {
    let mut rest = wire;
    let mut end = out.len();
    for ty in types {
        if rest.is_empty() {
            break;
        }
        match layout::take_value(&mut rest)? {
            None => out.push(NULL),
            Some(field) => {
                encode_ascending(ty, field, out);
                end = out.len();
            }
        }
    }
    out.truncate(end);
    out.push(END);
    rest.is_empty().then_some(())
}

#[inline]
fn decode_after(marker: u8, ty: &DataType, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), ComparableError> {
    match marker {
        VALUE => decode_value(ty, reader, out),
        EMPTY => Ok(()),
        RAW => reader.unescape(out),
        marker => Err(ComparableError::Marker { marker }),
    }
}

fn decode_value(ty: &DataType, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), ComparableError> {
    match ty {
        DataType::Text | DataType::Ascii | DataType::Blob | DataType::Inet | DataType::Duration | DataType::Custom(_) => {
            reader.unescape(out)?;
        }
        DataType::Int => out.extend_from_slice(&(u32::from_be_bytes(reader.array()?) ^ 1 << 31).to_be_bytes()),
        DataType::BigInt | DataType::Counter | DataType::Timestamp => {
            out.extend_from_slice(&(u64::from_be_bytes(reader.array()?) ^ 1 << 63).to_be_bytes());
        }
        DataType::TimeUuid => out.extend_from_slice(&order::timeuuid_from_rank(u128::from_be_bytes(reader.array()?))),
        DataType::Uuid => out.extend_from_slice(&order::uuid_from_rank(u128::from_be_bytes(reader.array()?))),
        DataType::Date => out.extend_from_slice(&reader.array::<4>()?),
        DataType::Time => out.extend_from_slice(&reader.array::<8>()?),
        DataType::SmallInt => {
            let [high, low] = reader.array()?;
            out.extend_from_slice(&[high ^ 0x80, low]);
        }
        DataType::TinyInt => out.push(reader.byte()? ^ 0x80),
        DataType::Boolean => out.push(reader.byte()?),
        DataType::Float => {
            let rank = u32::from_be_bytes(reader.array()?);
            out.extend_from_slice(&(if rank >> 31 == 1 { rank ^ 1 << 31 } else { !rank }).to_be_bytes());
        }
        DataType::Double => {
            let rank = u64::from_be_bytes(reader.array()?);
            out.extend_from_slice(&(if rank >> 63 == 1 { rank ^ 1 << 63 } else { !rank }).to_be_bytes());
        }
        DataType::Varint => number::take_varint(reader, out)?,
        DataType::Decimal => number::take_decimal(reader, out)?,
        DataType::List(element, _) | DataType::Set(element, _) => decode_parts(&[element], reader, out)?,
        DataType::Map(key, value, _) => decode_parts(&[key, value], reader, out)?,
        DataType::Tuple(types) => decode_fields(types.iter(), reader, out)?,
        DataType::Udt(user, _) => decode_fields(user.fields.iter().map(|(_, ty)| ty), reader, out)?,
        DataType::Vector(element, dimension) => {
            for _ in 0..*dimension {
                let marker = reader.byte()?;
                let start = out.len();
                decode_after(marker, element, reader, out)?;
                if layout::fixed_length(element).is_none() {
                    let mut length = Vec::with_capacity(9);
                    vint::put_unsigned((out.len() - start) as u64, &mut length);
                    out.splice(start..start, length);
                }
            }
        }
    }
    Ok(())
}

fn decode_parts(types: &[&DataType], reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), ComparableError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut count = 0_i32;
    loop {
        let mut marker = reader.byte()?;
        if marker == END {
            break;
        }
        for (position, ty) in types.iter().enumerate() {
            if position > 0 {
                marker = reader.byte()?;
            }
            decode_part(marker, ty, reader, out)?;
        }
        count = count.checked_add(1).ok_or(ComparableError::Number)?;
    }
    out[start..start + 4].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

fn decode_fields<'t>(
    mut types: impl ExactSizeIterator<Item = &'t DataType>,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
) -> Result<(), ComparableError> {
    let count = types.len();
    let mut position = 0;
    loop {
        let marker = reader.byte()?;
        match marker {
            END => break,
            NULL if types.next().is_some() => build::field(None, out),
            _ => decode_part(marker, types.next().ok_or(ComparableError::Marker { marker })?, reader, out)?,
        }
        position += 1;
    }
    // No field at all would be the empty value, which is another one.
    let padded = if count <= PADDED_FIELDS_MAX { count } else { 1 };
    for _ in position..padded {
        build::field(None, out);
    }
    Ok(())
}

/// Appends an i32 length and the value that follows `marker`.
fn decode_part(marker: u8, ty: &DataType, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), ComparableError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    decode_after(marker, ty, reader, out)?;
    let length = i32::try_from(out.len() - start - 4).map_err(|_| ComparableError::Number)?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
