//! How composed values are laid out in bytes, for all that walk through them.
//!
//! | type | bytes |
//! |---|---|
//! | list, set | i32 count, then for each element i32 length and bytes |
//! | map | i32 count of entries, then for each key and value i32 length and bytes |
//! | tuple, user type | for each field i32 length (negative: null) and bytes; fields missing at the end are null |
//! | vector | the elements without lengths if their type has a fixed size here ([`fixed_length`]), else a vint length before each |
//!
//! The iterators end early at bytes that do not follow this; [`super::validate()`] says what is wrong with them.

use super::vint;
use model::DataType;

/// Takes an i32 off the front.
#[inline]
pub(super) fn take_i32(input: &mut &[u8]) -> Option<i32> {
    let (head, rest) = input.split_first_chunk::<4>()?;
    *input = rest;
    Some(i32::from_be_bytes(*head))
}

/// Takes `length` bytes off the front.
#[inline]
pub(super) fn take<'a>(input: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = input.split_at_checked(length)?;
    *input = rest;
    Some(head)
}

/// Takes an i32 length and as many bytes; the inner `None` is a negative length, null.
#[inline]
pub(super) fn take_value<'a>(input: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    match usize::try_from(take_i32(input)?) {
        Ok(length) => take(input, length).map(Some),
        Err(_) => Some(None),
    }
}

/// The size of every value of `ty` within a vector, if a vector packs its elements without lengths.
///
/// Cassandra packs fewer types than have a fixed size: smallint, tinyint, date, time and counter do get a length.
#[must_use]
pub fn fixed_length(ty: &DataType) -> Option<usize> {
    match ty {
        DataType::Boolean => Some(1),
        DataType::Int | DataType::Float => Some(4),
        DataType::BigInt | DataType::Timestamp | DataType::Double => Some(8),
        DataType::Uuid | DataType::TimeUuid => Some(16),
        // Vectors of vectors can be longer than any bytes are; they have a fixed size even so.
        DataType::Vector(element, dimension) => Some(fixed_length(element)?.saturating_mul(*dimension as usize)),
        _ => None,
    }
}

/// The elements of a list or set, or the keys and values of a map in turn.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
    left: u64,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let element = take_value(&mut self.rest).flatten();
        if element.is_none() {
            self.left = 0;
        }
        element
    }
}

impl Elements<'_> {
    /// How many elements the count promises, cut to what the bytes can hold.
    #[must_use]
    pub fn count_at_most(&self) -> usize {
        usize::try_from(self.left).map_or(usize::MAX, |left| left.min(self.rest.len() / 4))
    }
}

/// The elements of a list or set.
#[must_use]
pub fn elements(mut bytes: &[u8]) -> Elements<'_> {
    let left = take_i32(&mut bytes).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    Elements { rest: bytes, left }
}

/// The elements of a list in which some may be null, as the values of IN.
pub fn nullable_elements(mut bytes: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut left = take_i32(&mut bytes).unwrap_or(0);
    std::iter::from_fn(move || {
        left = left.checked_sub(1).filter(|left| *left >= 0)?;
        take_value(&mut bytes)
    })
}

/// The entries of a map.
pub fn entries(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
    let mut flat = map_parts(bytes);
    std::iter::from_fn(move || Some((flat.next()?, flat.next()?)))
}

/// The keys and values of a map in turn.
pub(super) fn map_parts(bytes: &[u8]) -> Elements<'_> {
    let mut parts = elements(bytes);
    parts.left *= 2;
    parts
}

/// The number of elements or entries that a list, set or map has.
#[must_use]
pub fn count(mut bytes: &[u8]) -> i32 {
    take_i32(&mut bytes).unwrap_or(0).max(0)
}

/// The fields of a tuple or user type: ends where the bytes end; what is missing is null.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        if self.rest.is_empty() {
            return None;
        }
        let field = take_value(&mut self.rest);
        if field.is_none() {
            self.rest = &[];
        }
        field
    }
}

/// The fields of a tuple or user type.
#[must_use]
pub fn fields(bytes: &[u8]) -> Fields<'_> {
    Fields { rest: bytes }
}

/// The elements of a vector.
#[derive(Clone, Debug)]
pub struct VectorElements<'a> {
    rest: &'a [u8],
    left: u32,
    fixed: Option<usize>,
}

impl<'a> Iterator for VectorElements<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let length = match self.fixed {
            Some(length) => length,
            None => usize::try_from(vint::take_unsigned(&mut self.rest)?).ok()?,
        };
        take(&mut self.rest, length)
    }
}

impl<'a> VectorElements<'a> {
    /// What follows the elements that were taken.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// The elements of a `vector<element, dimension>`.
#[must_use]
pub fn vector_elements<'a>(element: &DataType, dimension: u32, bytes: &'a [u8]) -> VectorElements<'a> {
    VectorElements { rest: bytes, left: dimension, fixed: fixed_length(element) }
}
