//! Values of CQL as SQLite has them. `docs/reference/sql.md` lists them.
//!
//! | CQL | SQLite |
//! |---|---|
//! | integers, `counter`, `boolean` | integer |
//! | `varint` | integer, or real beyond 64 bits |
//! | `float`, `double`, `decimal` | real |
//! | `text`, `ascii` | text |
//! | `timestamp`, `date`, `time` | text that compares as they do; null outside of the years 0 to 9999 |
//! | `uuid`, `timeuuid`, `inet`, `duration` | text as CQL writes it |
//! | `blob` | blob |
//! | collections, tuples, user types, vectors | JSON |

use cql::value::json::write_json;
use cql::value::text::write_plain;
use model::DataType;
use sql::ValueRef;
use std::ops::RangeInclusive;

/// Days of the years 0 to 9999, from 1970-01-01.
pub(super) const DAYS: RangeInclusive<i64> = -719_528..=2_932_896;
/// Milliseconds of the same years.
pub(super) const MILLISECONDS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;
/// What stands for 1970-01-01 in a `date`.
pub(super) const DAY_ZERO: i64 = 1 << 31;

/// A value that SQLite has, too; none of one that is a text to it and has to be written.
pub(super) fn plain<'c>(data_type: &DataType, cell: &'c [u8]) -> Option<ValueRef<'c>> {
    Some(match data_type {
        DataType::Text | DataType::Ascii => std::str::from_utf8(cell).map_or(ValueRef::Blob(cell), ValueRef::Text),
        DataType::Blob | DataType::Custom(_) => ValueRef::Blob(cell),
        DataType::Int => integer(cell.try_into().ok().map(i32::from_be_bytes)),
        DataType::BigInt | DataType::Counter => integer(cell.try_into().ok().map(i64::from_be_bytes)),
        DataType::SmallInt => integer(cell.try_into().ok().map(i16::from_be_bytes)),
        DataType::TinyInt => integer(cell.try_into().ok().map(i8::from_be_bytes)),
        DataType::Boolean => integer(cell.first().map(|byte| i8::from(*byte != 0))),
        DataType::Float => real(cell.try_into().ok().map(|bytes| f64::from(f32::from_be_bytes(bytes)))),
        DataType::Double => real(cell.try_into().ok().map(f64::from_be_bytes)),
        DataType::Decimal => real(written(data_type, cell).parse().ok()),
        DataType::Varint => varint(cell),
        _ => return None,
    })
}

fn integer<T: Into<i64>>(value: Option<T>) -> ValueRef<'static> {
    value.map_or(ValueRef::Null, |value| ValueRef::Integer(value.into()))
}

fn real(value: Option<f64>) -> ValueRef<'static> {
    value.map_or(ValueRef::Null, ValueRef::Real)
}

fn varint(cell: &[u8]) -> ValueRef<'static> {
    match cell {
        [] => ValueRef::Null,
        [first, rest @ ..] if rest.len() < 8 => {
            let start = i64::from(first.cast_signed());
            ValueRef::Integer(rest.iter().fold(start, |value, byte| value << 8 | i64::from(*byte)))
        }
        // Longer than it has to be, or beyond 64 bits.
        _ => {
            let digits = written(&DataType::Varint, cell);
            digits.parse().map_or_else(|_| real(digits.parse().ok()), ValueRef::Integer)
        }
    }
}

/// The text that a value is to SQLite; none of one that is null there.
pub(super) fn text(data_type: &DataType, cell: &[u8]) -> Option<String> {
    match data_type {
        DataType::Timestamp => {
            let time_ms = i64::from_be_bytes(cell.try_into().ok()?);
            MILLISECONDS.contains(&time_ms).then(|| written(data_type, cell))
        }
        DataType::Date => {
            let days = i64::from(u32::from_be_bytes(cell.try_into().ok()?)) - DAY_ZERO;
            DAYS.contains(&days).then(|| written(data_type, cell))
        }
        DataType::List(..) | DataType::Set(..) | DataType::Map(..) | DataType::Tuple(_) | DataType::Udt(..) | DataType::Vector(..) => {
            let mut out = String::new();
            write_json(data_type, Some(cell), &mut out);
            Some(out)
        }
        _ => Some(written(data_type, cell)).filter(|text| !text.is_empty()),
    }
}

/// A value as CQL writes it, without quotes.
pub(super) fn written(data_type: &DataType, cell: &[u8]) -> String {
    let mut out = String::new();
    write_plain(data_type, cell, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use cql::value::parse::parse;
    use model::Frozen;
    use std::sync::Arc;

    fn cell(data_type: &DataType, literal: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert!(parse(data_type, literal, &mut bytes).is_ok(), "{literal}");
        bytes
    }

    #[test]
    fn numbers_are_numbers() {
        let numbers = [
            (DataType::Int, "-7", ValueRef::Integer(-7)),
            (DataType::BigInt, "9223372036854775807", ValueRef::Integer(i64::MAX)),
            (DataType::SmallInt, "-300", ValueRef::Integer(-300)),
            (DataType::TinyInt, "-1", ValueRef::Integer(-1)),
            (DataType::Boolean, "true", ValueRef::Integer(1)),
            (DataType::Float, "1.5", ValueRef::Real(1.5)),
            (DataType::Double, "-1e300", ValueRef::Real(-1e300)),
            (DataType::Decimal, "12.50", ValueRef::Real(12.5)),
            (DataType::Decimal, "1E+400", ValueRef::Real(f64::INFINITY)),
            (DataType::Varint, "-129", ValueRef::Integer(-129)),
            (DataType::Varint, "9223372036854775807", ValueRef::Integer(i64::MAX)),
            (DataType::Varint, "-9223372036854775808", ValueRef::Integer(i64::MIN)),
            (DataType::Varint, "9223372036854775808", ValueRef::Real(9_223_372_036_854_775_808.0)),
        ];
        for (data_type, literal, value) in numbers {
            assert_eq!(plain(&data_type, &cell(&data_type, literal)), Some(value), "{literal}");
        }
        assert_eq!(plain(&DataType::Varint, &[0; 12]), Some(ValueRef::Integer(0)));
        for empty in [DataType::Int, DataType::Varint, DataType::Double, DataType::Boolean] {
            assert_eq!(plain(&empty, &[]), Some(ValueRef::Null));
        }
    }

    #[test]
    fn times_are_texts_that_compare() {
        let mut before = String::new();
        for time_ms in [*MILLISECONDS.start(), -1, 0, 1_764_000_000_123, *MILLISECONDS.end()] {
            let text = text(&DataType::Timestamp, &time_ms.to_be_bytes()).unwrap_or_default();
            assert!(before < text, "{before} {text}");
            before = text;
        }
        assert_eq!(before, "9999-12-31T23:59:59.999Z");
        assert_eq!(text(&DataType::Timestamp, &(MILLISECONDS.end() + 1).to_be_bytes()), None);
        assert_eq!(text(&DataType::Timestamp, &(MILLISECONDS.start() - 1).to_be_bytes()), None);
        let date = |days: i64| text(&DataType::Date, &u32::try_from(days + DAY_ZERO).unwrap_or(0).to_be_bytes());
        assert_eq!((date(*DAYS.start()), date(*DAYS.end())), (Some("0000-01-01".to_owned()), Some("9999-12-31".to_owned())));
        assert_eq!((date(DAYS.start() - 1), date(DAYS.end() + 1)), (None, None));
        assert_eq!(text(&DataType::Time, &0_i64.to_be_bytes()).as_deref(), Some("00:00:00.000000000"));
        assert_eq!(text(&DataType::Uuid, &[]), None);
    }

    #[test]
    fn what_has_parts_is_json() {
        let list = DataType::List(Arc::new(DataType::Int), Frozen::No);
        let two = [&[0, 0, 0, 2, 0, 0, 0, 4][..], &7_i32.to_be_bytes(), &[0, 0, 0, 4], &8_i32.to_be_bytes()].concat();
        let read: serde_json::Value = serde_json::from_str(&text(&list, &two).unwrap_or_default()).unwrap_or_default();
        assert_eq!(read, serde_json::json!([7, 8]));
        assert!(plain(&list, &two).is_none());
    }
}
