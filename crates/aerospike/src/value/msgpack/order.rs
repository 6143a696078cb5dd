//! The order of all values.
//!
//! By type: nil, bool, integer, string, list, map, bytes, double, GeoJSON, infinity. Then by value: strings and bytes byte by byte; lists
//! element by element, then the shorter first; maps the smaller first, then pair by pair, key before value. A wildcard is equal to
//! everything; inside a list it stands for all that is left of the list.

use std::cmp::Ordering;

use super::reader::{Head, Malformed, Reader, flags};
use crate::value::ParticleType;

/// Compares two values, each the whole of its bytes. Bytes that are no value are above all that are.
pub fn compare(left: &[u8], right: &[u8]) -> Ordering {
    compare_next(&mut Reader::new(left), &mut Reader::new(right)).unwrap_or_else(|Malformed| {
        let well_formed = |bytes| Reader::new(bytes).value().is_ok();
        well_formed(right).cmp(&well_formed(left)).then_with(|| left.cmp(right))
    })
}

/// Compares the next value of either; if they are equal, both are read.
fn compare_next(left: &mut Reader<'_>, right: &mut Reader<'_>) -> Result<Ordering, Malformed> {
    let (before_left, before_right) = (*left, *right);
    let (left_head, right_head) = (left.head()?, right.head()?);
    if is_wildcard(left_head) || is_wildcard(right_head) {
        (*left, *right) = (before_left, before_right);
        left.value()?;
        right.value()?;
        return Ok(Ordering::Equal);
    }
    Ok(match (left_head, right_head) {
        (Head::List(left_count), Head::List(right_count)) => return compare_lists(left, left_count, right, right_count),
        (Head::Map(left_count), Head::Map(right_count)) => return compare_maps(left, left_count, right, right_count),
        (Head::Bool(left), Head::Bool(right)) => left.cmp(&right),
        (Head::Integer(left), Head::Integer(right)) => left.cmp(&right),
        (Head::Unsigned(left), Head::Unsigned(right)) => left.cmp(&right),
        (Head::Integer(_), Head::Unsigned(_)) => Ordering::Less,
        (Head::Unsigned(_), Head::Integer(_)) => Ordering::Greater,
        (Head::Double(left), Head::Double(right)) => compare_doubles(left, right),
        (Head::Raw(left), Head::Raw(right)) => rank(left_head).cmp(&rank(right_head)).then_with(|| left.cmp(right)),
        _ => rank(left_head).cmp(&rank(right_head)),
    })
}

fn compare_lists(
    left: &mut Reader<'_>,
    mut left_count: usize,
    right: &mut Reader<'_>,
    mut right_count: usize,
) -> Result<Ordering, Malformed> {
    left.list_flags(&mut left_count)?;
    right.list_flags(&mut right_count)?;
    for common in 0..left_count.min(right_count) {
        let (mut left_ahead, mut right_ahead) = (*left, *right);
        if is_wildcard(left_ahead.head()?) || is_wildcard(right_ahead.head()?) {
            skip(left, left_count - common)?;
            skip(right, right_count - common)?;
            return Ok(Ordering::Equal);
        }
        let ordering = compare_next(left, right)?;
        if ordering.is_ne() {
            return Ok(ordering);
        }
    }
    Ok(left_count.cmp(&right_count))
}

fn compare_maps(
    left: &mut Reader<'_>,
    mut left_count: usize,
    right: &mut Reader<'_>,
    mut right_count: usize,
) -> Result<Ordering, Malformed> {
    left.map_flags(&mut left_count)?;
    right.map_flags(&mut right_count)?;
    if left_count != right_count {
        return Ok(left_count.cmp(&right_count));
    }
    for _ in 0..2 * left_count {
        let ordering = compare_next(left, right)?;
        if ordering.is_ne() {
            return Ok(ordering);
        }
    }
    Ok(Ordering::Equal)
}

fn skip(reader: &mut Reader<'_>, count: usize) -> Result<(), Malformed> {
    for _ in 0..count {
        reader.value()?;
    }
    Ok(())
}

fn is_wildcard(head: Head<'_>) -> bool {
    matches!(head, Head::Extension(flags::MARKER, [0]))
}

/// Below: smaller. NaN is above all numbers and equal to itself, so that the order is total.
fn compare_doubles(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// The place of a value's type among the types.
fn rank(head: Head<'_>) -> u8 {
    match head {
        Head::Nil => 0,
        Head::Bool(_) => 1,
        Head::Integer(_) | Head::Unsigned(_) => 2,
        Head::Raw(bytes) => match bytes.first() {
            None => 3,
            Some(kind) if *kind == ParticleType::String as u8 => 3,
            Some(kind) if *kind == ParticleType::GeoJson as u8 => 8,
            Some(_) => 6,
        },
        Head::List(_) => 4,
        Head::Map(_) => 5,
        Head::Double(_) => 7,
        Head::Extension(..) => 9,
    }
}
