//! The order of values: Cassandra's for each type, which is the order of clustering rows, of sets and of map keys.
//!
//! Empty sorts before everything else. Bytes that are not a value of the type are ordered as bytes: total, but of no meaning.

use super::{decimal, layout};
use model::DataType;
use std::cmp::Ordering;

/// Compares two values of `ty`.
#[must_use]
pub fn compare(ty: &DataType, one: &[u8], two: &[u8]) -> Ordering {
    match ty {
        // Date and time are unsigned or never negative; of an address the bytes count.
        DataType::Text
        | DataType::Ascii
        | DataType::Blob
        | DataType::Custom(_)
        | DataType::Duration
        | DataType::Inet
        | DataType::Date
        | DataType::Time => one.cmp(two),
        _ if one.is_empty() || two.is_empty() => one.len().cmp(&two.len()),
        DataType::Int => fixed(one, two, i32::from_be_bytes),
        DataType::BigInt | DataType::Counter | DataType::Timestamp => fixed(one, two, i64::from_be_bytes),
        DataType::SmallInt => fixed(one, two, i16::from_be_bytes),
        DataType::TinyInt => fixed(one, two, i8::from_be_bytes),
        DataType::Boolean => fixed(one, two, |[byte]| byte != 0),
        DataType::Float => fixed(one, two, |bytes| float_rank(f32::from_be_bytes(bytes))),
        DataType::Double => fixed(one, two, |bytes| double_rank(f64::from_be_bytes(bytes))),
        DataType::Uuid => fixed(one, two, uuid_rank),
        DataType::TimeUuid => fixed(one, two, timeuuid_rank),
        DataType::Varint => decimal::compare_integers(one, two),
        DataType::Decimal => decimals(one, two),
        DataType::List(element, _) | DataType::Set(element, _) => sequences(layout::elements(one), layout::elements(two), |_| element),
        DataType::Map(key, value, _) => {
            let kinds = [key, value];
            sequences(layout::map_parts(one), layout::map_parts(two), |position| kinds[position % 2])
        }
        DataType::Tuple(types) => tuples(one, two, types.iter()),
        DataType::Udt(user, _) => tuples(one, two, user.fields.iter().map(|(_, ty)| ty)),
        DataType::Vector(element, dimension) => {
            let parts = |bytes| layout::vector_elements(element, *dimension, bytes);
            sequences(parts(one), parts(two), |_| element)
        }
    }
}

#[inline]
fn fixed<const N: usize, T: Ord>(one: &[u8], two: &[u8], rank: impl Fn([u8; N]) -> T) -> Ordering {
    match (<[u8; N]>::try_from(one), <[u8; N]>::try_from(two)) {
        (Ok(one), Ok(two)) => rank(one).cmp(&rank(two)),
        _ => one.cmp(two),
    }
}

/// Floats as integers in Java's order: -0.0 before 0.0, one NaN, after infinity.
#[inline]
pub(super) fn float_rank(value: f32) -> u32 {
    let bits = if value.is_nan() { 0x7FC0_0000 } else { value.to_bits() };
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// As [`float_rank`].
#[inline]
pub(super) fn double_rank(value: f64) -> u64 {
    let bits = if value.is_nan() { 0x7FF8_0000_0000_0000 } else { value.to_bits() };
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The first half of a version 1 UUID with its parts from the highest to the lowest: version, time high, middle, low.
#[inline]
fn time_first(half: u64) -> u64 {
    (half << 48) | ((half << 16) & 0x0000_FFFF_0000_0000) | (half >> 32)
}

/// UUIDs as integers: by version, then version 1 by time, others by their bytes.
#[inline]
pub(super) fn uuid_rank(bytes: [u8; 16]) -> u128 {
    let whole = u128::from_be_bytes(bytes);
    let (high, low) = ((whole >> 64) as u64, whole as u64);
    let version = (high >> 12) & 0xF;
    let high = if version == 1 { time_first(high) } else { (version << 60) | ((high >> 4) & !0xFFF) | (high & 0xFFF) };
    (u128::from(high) << 64) | u128::from(low)
}

/// The inverse of [`uuid_rank`].
#[inline]
pub(super) fn uuid_from_rank(rank: u128) -> [u8; 16] {
    let (high, low) = ((rank >> 64) as u64, rank as u64);
    let version = high >> 60;
    let high = if version == 1 { time_last(high) } else { ((high & !0xFFF) << 4) | (version << 12) | (high & 0xFFF) };
    ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
}

#[inline]
fn time_last(half: u64) -> u64 {
    (half << 32) | ((half >> 16) & 0xFFFF_0000) | (half >> 48)
}

/// Version 1 UUIDs as integers: by time, then by the rest as signed bytes, as Cassandra has it.
#[inline]
pub(super) fn timeuuid_rank(bytes: [u8; 16]) -> u128 {
    let whole = u128::from_be_bytes(bytes);
    (u128::from(time_first((whole >> 64) as u64)) << 64) | u128::from(whole as u64 ^ 0x8080_8080_8080_8080)
}

/// The inverse of [`timeuuid_rank`].
#[inline]
pub(crate) fn timeuuid_from_rank(rank: u128) -> [u8; 16] {
    let high = time_last((rank >> 64) as u64);
    ((u128::from(high) << 64) | u128::from(rank as u64 ^ 0x8080_8080_8080_8080)).to_be_bytes()
}

fn decimals(one: &[u8], two: &[u8]) -> Ordering {
    if let (Some((scale, first)), Some((other, second))) = (one.split_first_chunk::<4>(), two.split_first_chunk::<4>())
        && scale == other
        && !first.is_empty()
        && !second.is_empty()
    {
        return decimal::compare_integers(first, second);
    }
    decimal::compare(&decimal::Decimal::from_wire(one), &decimal::Decimal::from_wire(two))
}

fn sequences<'a, 't>(
    mut one: impl Iterator<Item = &'a [u8]>,
    mut two: impl Iterator<Item = &'a [u8]>,
    ty: impl Fn(usize) -> &'t DataType,
) -> Ordering {
    for position in 0.. {
        match (one.next(), two.next()) {
            (None, None) => break,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(first), Some(second)) => match compare(ty(position), first, second) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
        }
    }
    Ordering::Equal
}

/// Null sorts first, and what is missing is null.
fn tuples<'t>(one: &[u8], two: &[u8], types: impl Iterator<Item = &'t DataType>) -> Ordering {
    let (mut one, mut two) = (layout::fields(one), layout::fields(two));
    for ty in types {
        match (one.next().flatten(), two.next().flatten()) {
            (None, None) => {}
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(first), Some(second)) => match compare(ty, first, second) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
        }
    }
    Ordering::Equal
}
