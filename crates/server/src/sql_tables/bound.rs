//! A comparison of SQLite's, in the values of CQL.
//!
//! SQLite compares what a cell is to it: texts by their bytes, numbers as numbers. A comparison is told to the node if CQL compares the same way, or if it can be said by
//! another value so that no row is lost.

use super::cell::{DAY_ZERO, DAYS, MILLISECONDS, written};
use cql::value::parse::parse;
use model::DataType;
use sql::{Operator, Value};

/// What is left of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// No value fulfils it.
    Never,
    /// It cannot be told.
    Untold,
    /// Values that fulfil it fulfil this.
    Told(Operator, Vec<u8>),
}

/// Whether comparisons with a type's values can be told.
pub(super) fn compares(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int
            | DataType::BigInt
            | DataType::SmallInt
            | DataType::TinyInt
            | DataType::Varint
            | DataType::Boolean
            | DataType::Text
            | DataType::Ascii
            | DataType::Blob
            | DataType::Uuid
            | DataType::TimeUuid
            | DataType::Timestamp
            | DataType::Date
            | DataType::Time
    )
}

/// What a comparison of a column with a value tells.
pub(super) fn bound(data_type: &DataType, operator: Operator, value: &Value) -> Bound {
    match (data_type, value) {
        (DataType::Int, Value::Integer(value)) => {
            integer(operator, *value, i32::MIN.into(), i32::MAX.into(), |value| (value as i32).to_be_bytes().to_vec())
        }
        (DataType::SmallInt, Value::Integer(value)) => {
            integer(operator, *value, i16::MIN.into(), i16::MAX.into(), |value| (value as i16).to_be_bytes().to_vec())
        }
        (DataType::TinyInt, Value::Integer(value)) => integer(operator, *value, i8::MIN.into(), i8::MAX.into(), |value| vec![value as u8]),
        (DataType::BigInt, Value::Integer(value)) => Bound::Told(operator, value.to_be_bytes().to_vec()),
        (DataType::Varint, Value::Integer(value)) => Bound::Told(operator, shortest(*value)),
        (DataType::Boolean, Value::Integer(value)) if operator == Operator::Equal => match value {
            0 | 1 => Bound::Told(operator, vec![*value as u8]),
            _ => Bound::Never,
        },
        (DataType::Blob, Value::Blob(bytes)) => Bound::Told(operator, bytes.clone()),
        (DataType::Text, Value::Text(text)) => Bound::Told(operator, text.as_bytes().to_vec()),
        (DataType::Ascii, Value::Text(text)) if text.is_ascii() => Bound::Told(operator, text.as_bytes().to_vec()),
        (DataType::Uuid | DataType::TimeUuid, Value::Text(text)) if operator == Operator::Equal => exact(data_type, text),
        (DataType::Timestamp, Value::Text(text)) => {
            time(data_type, operator, text, (*MILLISECONDS.start(), *MILLISECONDS.end()), |time_ms| time_ms.to_be_bytes().to_vec())
        }
        (DataType::Date, Value::Text(text)) => {
            let days = |days: i64| u32::try_from(days + DAY_ZERO).unwrap_or(0).to_be_bytes().to_vec();
            time(data_type, operator, text, (*DAYS.start(), *DAYS.end()), days)
        }
        (DataType::Time, Value::Text(text)) => {
            time(data_type, operator, text, (0, 86_399_999_999_999), |nanoseconds| nanoseconds.to_be_bytes().to_vec())
        }
        _ => Bound::Untold,
    }
}

/// Of a type that has the integers from `least` to `most`.
fn integer(operator: Operator, value: i64, least: i64, most: i64, bytes: impl Fn(i64) -> Vec<u8>) -> Bound {
    let is_below = match operator {
        Operator::Equal if !(least..=most).contains(&value) => return Bound::Never,
        Operator::Equal => return Bound::Told(operator, bytes(value)),
        Operator::Less | Operator::LessEqual => true,
        Operator::Greater | Operator::GreaterEqual => false,
    };
    match (value < least, value > most) {
        (false, false) => Bound::Told(operator, bytes(value)),
        (is_small, _) if is_small == is_below => Bound::Never,
        _ => Bound::Untold,
    }
}

/// Two's complement, without bytes that repeat the sign.
fn shortest(value: i64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xFF } else { 0 };
    let repeats = |at: usize| bytes[at] == sign && (bytes[at + 1] ^ sign) & 0x80 == 0;
    let first = (0..7).find(|at| !repeats(*at)).unwrap_or(7);
    bytes[first..].to_vec()
}

/// The one value whose text this is.
fn exact(data_type: &DataType, text: &str) -> Bound {
    let mut bytes = Vec::new();
    let is_read = parse(data_type, text, &mut bytes).is_ok() && written(data_type, &bytes) == text;
    if is_read { Bound::Told(Operator::Equal, bytes) } else { Bound::Never }
}

/// Of a type whose values, from the first to the last one that has a text, have texts that compare as they do.
fn time(data_type: &DataType, operator: Operator, text: &str, ends: (i64, i64), bytes: impl Fn(i64) -> Vec<u8>) -> Bound {
    let text_of = |value: i64| written(data_type, &bytes(value));
    let from = |is_behind: &dyn Fn(&str) -> bool| first(ends, |value| is_behind(&text_of(value)));
    let told = |operator, value| Bound::Told(operator, bytes(value));
    match operator {
        Operator::Equal => {
            from(&|of| of >= text).filter(|value| text_of(*value) == text).map_or(Bound::Never, |value| told(operator, value))
        }
        Operator::GreaterEqual => from(&|of| of >= text).map_or(Bound::Never, |value| told(operator, value)),
        Operator::Greater => from(&|of| of > text).map_or(Bound::Never, |value| told(Operator::GreaterEqual, value)),
        Operator::Less => from(&|of| of >= text).map_or(Bound::Untold, |value| told(operator, value)),
        Operator::LessEqual => from(&|of| of > text).map_or(Bound::Untold, |value| told(Operator::Less, value)),
    }
}

/// The first number for which something holds that holds for all after it.
fn first((mut from, to): (i64, i64), holds: impl Fn(i64) -> bool) -> Option<i64> {
    if !holds(to) {
        return None;
    }
    let mut to = to;
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    Some(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_tables::cell::{plain, text};
    use cql::value::compare;
    use sql::ValueRef;
    use std::cmp::Ordering;

    const OPERATORS: [Operator; 5] = [Operator::Equal, Operator::Less, Operator::LessEqual, Operator::Greater, Operator::GreaterEqual];

    fn fulfils(operator: Operator, order: Ordering) -> bool {
        match operator {
            Operator::Equal => order.is_eq(),
            Operator::Less => order.is_lt(),
            Operator::LessEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterEqual => order.is_ge(),
        }
    }

    /// What SQLite says of a cell and a value of the same kind; none of a null, with which nothing compares.
    fn order(data_type: &DataType, cell: &[u8], value: &Value) -> Option<Ordering> {
        match (plain(data_type, cell), value) {
            (Some(ValueRef::Integer(one)), Value::Integer(other)) => Some(one.cmp(other)),
            (Some(ValueRef::Real(one)), Value::Integer(other)) => one.partial_cmp(&(*other as f64)),
            (Some(ValueRef::Text(one)), Value::Text(other)) => Some(one.cmp(other)),
            (Some(ValueRef::Blob(one)), Value::Blob(other)) => Some(one.cmp(other)),
            (None, Value::Text(other)) => text(data_type, cell).map(|one| one.cmp(other)),
            _ => None,
        }
    }

    /// No cell that fulfils a comparison is lost by what is told of it; and what has to be told is.
    fn check(data_type: &DataType, cells: &[Vec<u8>], values: &[Value]) {
        for (value, operator) in values.iter().flat_map(|value| OPERATORS.map(|operator| (value, operator))) {
            let bound = bound(data_type, operator, value);
            for cell in cells {
                let is_told = match &bound {
                    Bound::Never => false,
                    Bound::Untold => true,
                    Bound::Told(operator, bytes) => fulfils(*operator, compare(data_type, cell, bytes)),
                };
                let is_wanted = order(data_type, cell, value).is_some_and(|order| fulfils(operator, order));
                assert!(is_told || !is_wanted, "{data_type:?}: {cell:?} {operator:?} {value:?} was lost by {bound:?}");
            }
        }
    }

    fn integers() -> Vec<i64> {
        let edges = [0, 1, i64::from(i8::MAX), i64::from(i16::MAX), i64::from(i32::MAX), i64::MAX];
        let near =
            |edge: i64| [edge, edge.saturating_add(1), edge.saturating_sub(1), edge.wrapping_neg(), edge.wrapping_neg().saturating_sub(1)];
        edges.into_iter().flat_map(near).collect()
    }

    #[test]
    fn no_number_is_lost() {
        let values: Vec<Value> = integers().into_iter().map(Value::Integer).collect();
        let cells = |bytes: &dyn Fn(i64) -> Option<Vec<u8>>| integers().into_iter().filter_map(bytes).collect::<Vec<_>>();
        check(&DataType::TinyInt, &cells(&|value| Some(i8::try_from(value).ok()?.to_be_bytes().to_vec())), &values);
        check(&DataType::SmallInt, &cells(&|value| Some(i16::try_from(value).ok()?.to_be_bytes().to_vec())), &values);
        check(&DataType::Int, &cells(&|value| Some(i32::try_from(value).ok()?.to_be_bytes().to_vec())), &values);
        check(&DataType::BigInt, &cells(&|value| Some(value.to_be_bytes().to_vec())), &values);
        let mut long = cells(&|value| Some(shortest(value)));
        long.extend([vec![1, 0, 0, 0, 0, 0, 0, 0, 0], vec![0xFE, 0, 0, 0, 0, 0, 0, 0, 0]]);
        check(&DataType::Varint, &long, &values);
        check(&DataType::Boolean, &[vec![0], vec![1]], &values);
        for value in integers() {
            assert_eq!(plain(&DataType::Varint, &shortest(value)), Some(ValueRef::Integer(value)));
        }
        assert_eq!(bound(&DataType::Int, Operator::Equal, &Value::Integer(1 << 40)), Bound::Never);
        assert_eq!(bound(&DataType::Int, Operator::Less, &Value::Integer(1 << 40)), Bound::Untold);
        assert_eq!(bound(&DataType::TinyInt, Operator::Greater, &Value::Integer(-5)), Bound::Told(Operator::Greater, vec![251]));
    }

    #[test]
    fn no_text_is_lost() {
        let texts = [
            "",
            "a",
            "B",
            "größe",
            "10",
            "9",
            "2024-02-29",
            "2024-02-29T00:00:00.000Z",
            "2024-02-29T12:00",
            "~",
            "0000",
            "9999-12-31T23:59:59.999Z",
        ];
        let mut values: Vec<Value> = texts.iter().map(|text| Value::Text((*text).to_owned())).collect();
        let cells: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        check(&DataType::Text, &cells, &values);
        let bytes = [&[][..], &[0], &[0, 0], &[127], &[128], &[255, 0]].map(<[u8]>::to_vec);
        check(&DataType::Blob, &bytes, &bytes.clone().map(Value::Blob));
        check(&DataType::Ascii, &cells.iter().filter(|cell| cell.is_ascii()).cloned().collect::<Vec<_>>(), &values);
        let times = [
            i64::MIN,
            *MILLISECONDS.start() - 1,
            *MILLISECONDS.start(),
            -1,
            0,
            1_709_164_800_000,
            1_709_208_000_000,
            *MILLISECONDS.end(),
            i64::MAX,
        ];
        check(&DataType::Timestamp, &times.map(|time| time.to_be_bytes().to_vec()), &values);
        let days = [0, 1, (DAYS.start() + DAY_ZERO) as u32, 1 << 31, (1 << 31) + 19_782, (DAYS.end() + DAY_ZERO) as u32 + 1, u32::MAX];
        check(&DataType::Date, &days.map(|days| days.to_be_bytes().to_vec()), &values);
        values.extend(["00:00:00.000000000", "12:00", "23:59:59.999999999"].map(|text| Value::Text(text.to_owned())));
        check(&DataType::Time, &[0, 43_200_000_000_000, 86_399_999_999_999_i64].map(|time| time.to_be_bytes().to_vec()), &values);
        let equal = |data_type: &DataType, text: &str| bound(data_type, Operator::Equal, &Value::Text(text.to_owned()));
        let told = Bound::Told(Operator::Equal, 1_709_164_800_000_i64.to_be_bytes().to_vec());
        assert_eq!(equal(&DataType::Timestamp, "2024-02-29T00:00:00.000Z"), told);
        assert_eq!(equal(&DataType::Timestamp, "2024-02-29"), Bound::Never, "no text of a time is this");
        assert_eq!(
            equal(&DataType::Uuid, "00000000-0000-0000-0000-000000000001"),
            Bound::Told(Operator::Equal, 1_u128.to_be_bytes().to_vec())
        );
        assert_eq!(equal(&DataType::Uuid, "00000000-0000-0000-0000-00000000000A"), Bound::Never, "texts have small digits");
        assert_eq!(equal(&DataType::Uuid, "x"), Bound::Never);
        assert_eq!(equal(&DataType::Inet, "127.0.0.1"), Bound::Untold, "two addresses may have one text");
    }
}
