//! Values in Avro's binary encoding.

use cql::value::layout::{elements, entries, fields, vector_elements};
use cql::value::text::write_plain;
use model::DataType;

/// What CQL's dates have on 1970-01-01.
const DATE_EPOCH: i64 = 1 << 31;

/// Appends a whole number: zigzag, seven bits a byte, the lowest first.
pub(super) fn put_long(number: i64, out: &mut Vec<u8>) {
    let mut left = (number << 1 ^ number >> 63) as u64;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Appends bytes and, before them, how many.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_long(bytes.len() as i64, out);
    out.extend_from_slice(bytes);
}

pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    put_bytes(text.as_bytes(), out);
}

/// Appends a value, of a union of null and its type. Numbers and the like of no bytes, which CQL knows, are null.
pub(super) fn put(data_type: &DataType, wire: Option<&[u8]>, out: &mut Vec<u8>) {
    let has_empty = matches!(data_type, DataType::Ascii | DataType::Text | DataType::Blob | DataType::Custom(_));
    let Some(wire) = wire.filter(|wire| has_empty || !wire.is_empty()) else {
        put_long(0, out);
        return;
    };
    put_long(1, out);
    match data_type {
        DataType::Ascii | DataType::Text | DataType::Blob | DataType::Custom(_) => put_bytes(wire, out),
        DataType::Boolean => out.push(u8::from(wire != [0])),
        DataType::TinyInt
        | DataType::SmallInt
        | DataType::Int
        | DataType::BigInt
        | DataType::Counter
        | DataType::Time
        | DataType::Timestamp => {
            put_long(signed(wire), out);
        }
        DataType::Date => put_long((signed(wire) & 0xffff_ffff) - DATE_EPOCH, out),
        DataType::Float | DataType::Double => out.extend(wire.iter().rev()),
        DataType::Uuid | DataType::TimeUuid | DataType::Inet | DataType::Duration | DataType::Varint | DataType::Decimal => {
            let mut text = String::new();
            write_plain(data_type, wire, &mut text);
            put_text(&text, out);
        }
        DataType::List(element, _) | DataType::Set(element, _) => array(elements(wire), out, |part, out| put(element, Some(part), out)),
        DataType::Vector(element, dimension) => {
            array(vector_elements(element, *dimension, wire), out, |part, out| put(element, Some(part), out));
        }
        DataType::Map(key, value, _) => array(entries(wire), out, |(k, v), out| {
            put(key, Some(k), out);
            put(value, Some(v), out);
        }),
        DataType::Tuple(types) => record(types.iter(), wire, out),
        DataType::Udt(user, _) => record(user.fields.iter().map(|(_, data_type)| data_type), wire, out),
    }
}

/// A block for each element: how many there are is known at the end.
fn array<T>(parts: impl Iterator<Item = T>, out: &mut Vec<u8>, mut put: impl FnMut(T, &mut Vec<u8>)) {
    for part in parts {
        put_long(1, out);
        put(part, out);
    }
    put_long(0, out);
}

/// Fields, of which the last ones may be missing.
fn record<'t>(types: impl Iterator<Item = &'t DataType>, wire: &[u8], out: &mut Vec<u8>) {
    let mut fields = fields(wire);
    for data_type in types {
        put(data_type, fields.next().flatten(), out);
    }
}

/// A number of at most eight bytes, with its sign.
fn signed(wire: &[u8]) -> i64 {
    let sign = if wire.first().is_some_and(|first| first & 0x80 != 0) { -1 } else { 0 };
    wire.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_avro_has_them() {
        for (number, bytes) in [
            (0, &[0_u8][..]),
            (-1, &[1]),
            (1, &[2]),
            (-64, &[0x7f]),
            (64, &[0x80, 1]),
            (i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] {
            let mut out = Vec::new();
            put_long(number, &mut out);
            assert_eq!(out, bytes, "{number}");
        }
        assert_eq!((signed(&[0xff, 0xfe]), signed(&[0x7f]), signed(&[0x80])), (-2, 127, -128));
        let mut out = Vec::new();
        put(&DataType::Date, Some(&[0x7f, 0xff, 0xff, 0xff]), &mut out);
        put(&DataType::Int, Some(&[]), &mut out);
        put(&DataType::Text, Some(&[]), &mut out);
        assert_eq!(out, [2, 1, 0, 2, 0], "the day before 1970, null, and a text of nothing");
    }
}
