//! Bytes of a value into what Lua gets: the table in `docs/compat/cql.md`.

use crate::value::{layout, text, validate};
use model::DataType;
use num_bigint::BigInt;
use script::{Number, Value};

/// The value that Lua gets. Empty bytes of a type that has no such value are nil.
pub(super) fn into_lua(data_type: &DataType, bytes: &[u8]) -> Value {
    convert(data_type, bytes).unwrap_or(Value::Nil)
}

fn convert(data_type: &DataType, bytes: &[u8]) -> Option<Value> {
    let list = |element: &DataType| Value::sequence(layout::elements(bytes).map(|part| into_lua(element, part)));
    Some(match data_type {
        DataType::Text | DataType::Ascii | DataType::Blob | DataType::Custom(_) => Value::Bytes(bytes.to_vec()),
        DataType::Boolean => Value::Boolean(*bytes.first()? != 0),
        DataType::TinyInt => Value::Integer(i8::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::SmallInt => Value::Integer(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::Int => Value::Integer(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::Date => Value::Integer(u32::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::BigInt | DataType::Counter | DataType::Timestamp | DataType::Time => {
            Value::Integer(i64::from_be_bytes(bytes.try_into().ok()?))
        }
        DataType::Float => Value::Float(f32::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::Double => Value::Float(f64::from_be_bytes(bytes.try_into().ok()?)),
        DataType::Varint => varint(bytes)?,
        DataType::Decimal => {
            let (scale, unscaled) = bytes.split_first_chunk::<4>()?;
            Value::Number(Number { unscaled: BigInt::from_signed_bytes_be(unscaled), scale: i32::from_be_bytes(*scale) })
        }
        DataType::Uuid | DataType::TimeUuid | DataType::Inet => {
            if bytes.is_empty() {
                return None;
            }
            let mut written = String::new();
            text::write_plain(data_type, bytes, &mut written);
            Value::Bytes(written.into_bytes())
        }
        DataType::Duration => {
            let (months, days, nanoseconds) = validate::duration(bytes).ok()?;
            let parts = [("months", i64::from(months)), ("days", i64::from(days)), ("nanoseconds", nanoseconds)];
            Value::Table(parts.into_iter().map(|(name, count)| (word(name), Value::Integer(count))).collect())
        }
        DataType::List(element, _) => list(element),
        DataType::Vector(element, dimension) => {
            Value::sequence(layout::vector_elements(element, *dimension, bytes).map(|part| into_lua(element, part)))
        }
        DataType::Set(element, _) => {
            Value::Table(layout::elements(bytes).map(|part| (into_lua(element, part), Value::Boolean(true))).collect())
        }
        DataType::Map(key, value, _) => {
            Value::Table(layout::entries(bytes).map(|(one, other)| (into_lua(key, one), into_lua(value, other))).collect())
        }
        DataType::Tuple(types) => {
            let fields = types.iter().zip(layout::fields(bytes));
            Value::sequence(fields.map(|(data_type, field)| field.map_or(Value::Nil, |field| into_lua(data_type, field))))
        }
        DataType::Udt(user, _) => {
            let fields = user.fields.iter().zip(layout::fields(bytes));
            Value::Table(fields.filter_map(|((name, data_type), field)| Some((word(name), into_lua(data_type, field?)))).collect())
        }
    })
}

fn word(name: &str) -> Value {
    Value::Bytes(name.as_bytes().to_vec())
}

/// An integer of Lua if it has room for it.
fn varint(bytes: &[u8]) -> Option<Value> {
    if bytes.is_empty() {
        return None;
    }
    let number = BigInt::from_signed_bytes_be(bytes);
    Some(i64::try_from(&number).map_or_else(|_| Value::Number(Number::integer(number)), Value::Integer))
}
