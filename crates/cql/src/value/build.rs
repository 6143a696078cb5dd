//! Builders of composed values from the bytes of their parts, in the layouts of [`super::layout`].
//!
//! Sets and maps come out sorted in the order of their elements or keys and without duplicates, which is what Cassandra stores.

use super::{layout, order, vint};
use model::DataType;

/// Appends a length and bytes; `None` is null.
///
/// # Panics
/// When a value is longer than 2 GiB, which no frame can carry.
#[inline]
pub fn field(value: Option<&[u8]>, out: &mut Vec<u8>) {
    let length = value.map_or(-1, |bytes| i32::try_from(bytes.len()).expect("a value is smaller than a frame"));
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value.unwrap_or_default());
}

fn count(parts: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&i32::try_from(parts).expect("a collection is smaller than a frame").to_be_bytes());
}

/// Appends a list of `elements`, or a set whose elements are sorted already.
pub fn list<'a>(elements: impl ExactSizeIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    count(elements.len(), out);
    elements.for_each(|element| field(Some(element), out));
}

/// Appends a set of `elements`.
pub fn set(element: &DataType, mut elements: Vec<&[u8]>, out: &mut Vec<u8>) {
    elements.sort_by(|one, two| order::compare(element, one, two));
    elements.dedup_by(|two, one| order::compare(element, one, two).is_eq());
    list(elements.into_iter(), out);
}

/// Appends a map of `entries`; of entries with equal keys the last one stays.
pub fn map(key: &DataType, mut entries: Vec<(&[u8], &[u8])>, out: &mut Vec<u8>) {
    entries.sort_by(|one, two| order::compare(key, one.0, two.0));
    entries.dedup_by(|later, kept| {
        let same = order::compare(key, kept.0, later.0).is_eq();
        if same {
            kept.1 = later.1;
        }
        same
    });
    sorted_map(entries.into_iter(), out);
}

/// Appends a map whose entries are sorted already.
pub fn sorted_map<'a>(entries: impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])>, out: &mut Vec<u8>) {
    count(entries.len(), out);
    for (key, value) in entries {
        field(Some(key), out);
        field(Some(value), out);
    }
}

/// Appends a tuple or user type of `fields`.
pub fn tuple<'a>(fields: impl Iterator<Item = Option<&'a [u8]>>, out: &mut Vec<u8>) {
    fields.for_each(|value| field(value, out));
}

/// Appends one element of a vector; a vector is nothing but its elements.
pub fn vector_element(element: &DataType, bytes: &[u8], out: &mut Vec<u8>) {
    if layout::fixed_length(element).is_none() {
        vint::put_unsigned(bytes.len() as u64, out);
    }
    out.extend_from_slice(bytes);
}
