//! Bins' values as functions have them, and back.

use crate::geo::{self, Shape};
use crate::value::ParticleType;
use crate::value::msgpack::{DEPTH_MAX, Entry, Head, List, Malformed, Map, MapOrder, Reader, flags, write};
use script::Value;

const NO_VALUE: &str = "the bytes are no value";

/// The value of a bin of this type.
///
/// # Errors
/// Bytes that are none.
pub(super) fn unpack(kind: u8, bytes: &[u8]) -> Result<Value, &'static str> {
    let kind = ParticleType::from_wire(kind).ok_or(NO_VALUE)?;
    let number = || bytes.try_into().map_err(|_| NO_VALUE);
    Ok(match kind {
        ParticleType::Null => Value::Nil,
        ParticleType::Integer => Value::Integer(i64::from_be_bytes(number()?)),
        ParticleType::Double => Value::Float(f64::from_be_bytes(number()?)),
        ParticleType::Bool => Value::Boolean(bytes != [0]),
        ParticleType::String => Value::Bytes(bytes.to_vec()),
        ParticleType::GeoJson => Value::Blob { kind: kind as u8, bytes: geo::text(bytes).ok_or(NO_VALUE)?.to_vec() },
        ParticleType::List | ParticleType::Map => {
            let mut reader = Reader::new(bytes);
            let value = element(&mut reader, 0).map_err(|Malformed| NO_VALUE)?;
            let is_right = matches!((kind, &value), (ParticleType::List, Value::List { .. }) | (ParticleType::Map, Value::Map { .. }));
            if !is_right || !reader.is_empty() {
                return Err(NO_VALUE);
            }
            value
        }
        kind => Value::Blob { kind: kind as u8, bytes: bytes.to_vec() },
    })
}

/// The next value of a list or map.
fn element(reader: &mut Reader<'_>, depth: usize) -> Result<Value, Malformed> {
    if depth > DEPTH_MAX {
        return Err(Malformed);
    }
    Ok(match reader.head()? {
        Head::Nil => Value::Nil,
        Head::Bool(value) => Value::Boolean(value),
        Head::Integer(number) => Value::Integer(number),
        // As the server's own 64 bits have it.
        Head::Unsigned(number) => Value::Integer(number as i64),
        Head::Double(number) => Value::Float(number),
        Head::Raw(raw) => match raw.split_first() {
            None => Value::Bytes(Vec::new()),
            Some((kind, text)) if *kind == ParticleType::String as u8 => Value::Bytes(text.to_vec()),
            Some((kind, bytes)) => Value::Blob { kind: *kind, bytes: bytes.to_vec() },
        },
        Head::List(mut count) => {
            let order = reader.list_flags(&mut count)? & flags::ORDERED;
            let items = (0..count).map(|_| element(reader, depth + 1)).collect::<Result<_, _>>()?;
            Value::List { order, items }
        }
        Head::Map(mut count) => {
            let order = MapOrder::from_flags(reader.map_flags(&mut count)?).ok_or(Malformed)?.flags();
            let mut entries = Vec::with_capacity(count);
            for _ in 0..count {
                entries.push((element(reader, depth + 1)?, element(reader, depth + 1)?));
            }
            Value::Map { order, entries }
        }
        Head::Extension(..) => return Err(Malformed),
    })
}

/// A value with its type, as a bin has it.
///
/// # Errors
/// What no bin can have.
pub(super) fn pack(value: &Value) -> Result<(u8, Vec<u8>), &'static str> {
    let (kind, bytes) = match value {
        Value::Nil => (ParticleType::Null, Vec::new()),
        Value::Boolean(value) => (ParticleType::Bool, vec![u8::from(*value)]),
        Value::Integer(number) => (ParticleType::Integer, number.to_be_bytes().to_vec()),
        Value::Float(number) => (ParticleType::Double, number.to_be_bytes().to_vec()),
        Value::Bytes(text) => (ParticleType::String, text.clone()),
        Value::Blob { kind, bytes } => match blob_kind(*kind)? {
            ParticleType::GeoJson if Shape::parse(bytes).is_none() => return Err("the text is no GeoJSON of a type that is served"),
            kind => (kind, bytes.clone()),
        },
        Value::List { .. } => (ParticleType::List, packed(value)?),
        Value::Map { .. } => (ParticleType::Map, packed(value)?),
        Value::Number(_) | Value::Table(_) => return Err(NO_BIN),
    };
    Ok((kind as u8, bytes))
}

const NO_BIN: &str = "a table is no value of a bin: use list() or map()";

/// The type of bytes that a function has given one.
fn blob_kind(kind: u8) -> Result<ParticleType, &'static str> {
    let kind = ParticleType::from_wire(kind).ok_or("the bytes have a type that is none")?;
    match kind {
        ParticleType::Null | ParticleType::Integer | ParticleType::Double | ParticleType::Bool | ParticleType::Map | ParticleType::List => {
            Err("the bytes have a type that is not one of bytes")
        }
        kind => Ok(kind),
    }
}

fn packed(value: &Value) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::new();
    append(value, &mut out)?;
    Ok(out)
}

fn append(value: &Value, out: &mut Vec<u8>) -> Result<(), &'static str> {
    match value {
        Value::Nil => out.push(write::NIL),
        Value::Boolean(value) => write::bool(out, *value),
        Value::Integer(number) => write::integer(out, *number),
        Value::Float(number) => write::double(out, *number),
        Value::Bytes(text) => write::typed(out, ParticleType::String, text),
        Value::Blob { kind, bytes } => write::typed(out, blob_kind(*kind)?, bytes),
        Value::List { order: 0, items } => {
            write::list(out, items.len(), 0);
            items.iter().try_for_each(|item| append(item, out))?;
        }
        Value::List { items, .. } => {
            let mut list = List { ordered: true, items: Vec::with_capacity(items.len()) };
            for item in items {
                list.items.push(packed(item)?.into());
            }
            list.sort();
            out.extend_from_slice(&list.to_bytes());
        }
        Value::Map { order, entries } => {
            let order = MapOrder::from_flags(*order).ok_or(NO_VALUE)?;
            let mut map = Map { order, entries: Vec::with_capacity(entries.len()) };
            for (key, value) in entries {
                map.entries.push(Entry { key: packed(key)?.into(), value: packed(value)?.into() });
            }
            // Functions have pairs in no order: so the same map is the same bytes.
            map.sort();
            map.entries.dedup_by(|one, other| one.key == other.key);
            out.extend_from_slice(&map.to_bytes());
        }
        Value::Number(_) | Value::Table(_) => return Err(NO_BIN),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(kind: ParticleType, bytes: &[u8]) {
        let value = unpack(kind as u8, bytes).expect("it is a value");
        assert_eq!(pack(&value), Ok((kind as u8, bytes.to_vec())), "{value:?}");
    }

    #[test]
    fn values_come_back_as_they_were() {
        round(ParticleType::Integer, &(-7_i64).to_be_bytes());
        round(ParticleType::Double, &1.5_f64.to_be_bytes());
        round(ParticleType::Bool, &[1]);
        round(ParticleType::String, b"text");
        round(ParticleType::Blob, b"\x00\xFF");
        round(ParticleType::JavaBlob, b"\x01");
        round(ParticleType::HyperLogLog, b"\x01\x02");
        round(ParticleType::GeoJson, br#"{"type": "Point", "coordinates": [1, 2]}"#);
        // [nil, true, -1, "a", b"b", [], {}], and an ordered list and map.
        round(ParticleType::List, &[0x97, 0xC0, 0xC3, 0xFF, 0xA2, 3, b'a', 0xA2, 4, b'b', 0x90, 0x80]);
        round(ParticleType::List, &[0x93, 0xC7, 0, 1, 1, 2]);
        round(ParticleType::Map, &[0x83, 0xC7, 0, 1, 0xC0, 1, 2, 3, 0x91, 4]);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let deep = [vec![0x91; DEPTH_MAX + 2], vec![0x90]].concat();
        let cases: [(u8, &[u8]); 9] =
            [(1, b"short"), (2, b""), (5, b"x"), (20, b""), (20, &[0x80]), (19, &[0x90]), (20, &[0x91]), (20, &[0x90, 0x90]), (20, &deep)];
        for (kind, bytes) in cases {
            assert!(unpack(kind, bytes).is_err(), "{kind} {bytes:?}");
        }
        for value in [
            Value::Table(Vec::new()),
            Value::Blob { kind: 1, bytes: Vec::new() },
            Value::Blob { kind: 99, bytes: Vec::new() },
            Value::Blob { kind: 23, bytes: b"{}".to_vec() },
        ] {
            assert!(pack(&value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn what_a_function_has_put_into_no_order_is_ordered_again() {
        let list = Value::List { order: flags::ORDERED, items: vec![Value::Integer(2), Value::Integer(1)] };
        assert_eq!(pack(&list), Ok((ParticleType::List as u8, vec![0x93, 0xC7, 0, 1, 1, 2])));
        let map = Value::Map { order: 0, entries: vec![(Value::Integer(2), Value::Nil), (Value::Integer(1), Value::Nil)] };
        assert_eq!(pack(&map), Ok((ParticleType::Map as u8, vec![0x82, 1, 0xC0, 2, 0xC0])));
    }
}
