//! Functions of a condition.

use super::geometry_function::GeometryFunction;
use super::refusals::{out_of_range, wrong_type};
use super::time::{self, TimeUnit, check_time};
use super::value::Value;
use crate::instant::{Instant, Precision};
use crate::{ErrorCode, GridError};
use std::borrow::Cow;
use std::ops::RangeInclusive;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    CharLength,
    Lower,
    Upper,
    Substring,
    Concat,
    Round,
    Ceiling,
    Floor,
    ArrayLength,
    Element,
    Timestamp(Precision),
    ToTimestampMs,
    ToEpochMs,
    TimestampAdd(TimeUnit),
    TimestampDiff(TimeUnit),
    Geometry(GeometryFunction),
}

impl Function {
    /// The function of a name, with how many arguments it takes. The first argument of some is a unit.
    pub(super) fn of_name(name: &str, unit: Option<TimeUnit>) -> Option<(Self, RangeInclusive<usize>)> {
        Some(match (name, unit) {
            ("CHAR_LENGTH", None) => (Self::CharLength, 1..=1),
            ("LOWER", None) => (Self::Lower, 1..=1),
            ("UPPER", None) => (Self::Upper, 1..=1),
            ("SUBSTRING", None) => (Self::Substring, 2..=3),
            ("CONCAT", None) => (Self::Concat, 2..=64),
            ("ROUND", None) => (Self::Round, 1..=1),
            ("CEILING", None) => (Self::Ceiling, 1..=1),
            ("FLOOR", None) => (Self::Floor, 1..=1),
            ("ARRAY_LENGTH", None) => (Self::ArrayLength, 1..=1),
            ("ELEMENT", None) => (Self::Element, 2..=2),
            ("TIMESTAMP" | "TIMESTAMP_MS", None) => (Self::Timestamp(Precision::Milli), 1..=1),
            ("TIMESTAMP_US", None) => (Self::Timestamp(Precision::Micro), 1..=1),
            ("TIMESTAMP_NS", None) => (Self::Timestamp(Precision::Nano), 1..=1),
            ("TO_TIMESTAMP_MS", None) => (Self::ToTimestampMs, 1..=1),
            ("TO_EPOCH_MS", None) => (Self::ToEpochMs, 1..=1),
            ("TIMESTAMPADD" | "TIMESTAMP_ADD", Some(unit)) => (Self::TimestampAdd(unit), 2..=2),
            ("TIMESTAMPDIFF" | "TIMESTAMP_DIFF", Some(unit)) => (Self::TimestampDiff(unit), 2..=2),
            (_, None) => return GeometryFunction::of_name(name).map(|(function, counts)| (Self::Geometry(function), counts)),
            _ => return None,
        })
    }

    /// Whether the first argument of a function is a unit of time.
    pub(super) fn takes_unit(name: &str) -> bool {
        matches!(name, "TIMESTAMPADD" | "TIMESTAMP_ADD" | "TIMESTAMPDIFF" | "TIMESTAMP_DIFF")
    }

    /// The value for these arguments: null if one of them is, but for CONCAT.
    pub(super) fn apply<'a>(self, arguments: &[Value<'a>]) -> Result<Value<'a>, GridError> {
        if self == Self::Concat {
            return concat(arguments);
        }
        if arguments.contains(&Value::Null) {
            return Ok(Value::Null);
        }
        match self {
            Self::CharLength | Self::Lower | Self::Upper | Self::Substring | Self::Concat => self.apply_text(arguments),
            Self::Round | Self::Ceiling | Self::Floor => self.apply_number(arguments),
            Self::ArrayLength | Self::Element => self.apply_array(arguments),
            Self::Geometry(function) => function.apply(arguments),
            _ => self.apply_time(arguments),
        }
    }

    fn apply_text<'a>(self, arguments: &[Value<'a>]) -> Result<Value<'a>, GridError> {
        let Some(Value::Text(text)) = arguments.first() else { return Err(wrong_type("a function of texts needs a STRING")) };
        Ok(match self {
            Self::CharLength => Value::Long(text.chars().count() as i64),
            Self::Lower => Value::Text(Cow::Owned(text.to_ascii_lowercase())),
            Self::Upper => Value::Text(Cow::Owned(text.to_ascii_uppercase())),
            _ => {
                let count = |value: &Value<'_>, least: i64| match value {
                    Value::Long(value) if *value >= least => Ok(usize::try_from(*value).unwrap_or(usize::MAX)),
                    Value::Long(_) => Err(out_of_range("SUBSTRING starts at 1 or later and has no negative length")),
                    _ => Err(wrong_type("SUBSTRING takes integers")),
                };
                let start = arguments.get(1).map_or(Ok(1), |value| count(value, 1))?;
                let length = arguments.get(2).map_or(Ok(usize::MAX), |value| count(value, 0))?;
                Value::Text(Cow::Owned(text.chars().skip(start - 1).take(length).collect()))
            }
        })
    }

    fn apply_number<'a>(self, arguments: &[Value<'a>]) -> Result<Value<'a>, GridError> {
        match arguments.first() {
            Some(Value::Long(value)) => Ok(Value::Long(*value)),
            Some(Value::Double(value)) => Ok(Value::Double(match self {
                Self::Round => value.round(),
                Self::Ceiling => value.ceil(),
                _ => value.floor(),
            })),
            _ => Err(wrong_type("ROUND, CEILING and FLOOR need a number")),
        }
    }

    fn apply_array<'a>(self, arguments: &[Value<'a>]) -> Result<Value<'a>, GridError> {
        let Some(Value::Array(element, cell)) = arguments.last() else { return Err(wrong_type("the function needs an array")) };
        let count = cell.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        if self == Self::ArrayLength {
            return Ok(Value::Long(i64::from(count)));
        }
        let outside =
            || GridError::new(ErrorCode::TQ_CONSTRAINT_ARRAY_OUT_OF_RANGE, "the array has no such element: check ARRAY_LENGTH first");
        let Some(Value::Long(wanted)) = arguments.first() else { return Err(wrong_type("ELEMENT needs an integer")) };
        let wanted = u32::try_from(*wanted).ok().filter(|wanted| *wanted < count).ok_or_else(outside)?;
        let mut rest = cell.get(4..).unwrap_or_default();
        for position in 0..=wanted {
            let (length, after) = rest.split_first_chunk::<4>().ok_or_else(outside)?;
            let (value, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or_else(outside)?;
            if position == wanted {
                return Ok(Value::of_element(*element, Cow::Borrowed(value)).into_owned());
            }
            rest = after;
        }
        Err(outside())
    }

    fn apply_time<'a>(self, arguments: &[Value<'a>]) -> Result<Value<'a>, GridError> {
        let wrong = || wrong_type("a function of times has arguments of other types");
        let time_at = |position: usize| arguments.get(position).and_then(Value::time).ok_or_else(wrong);
        Ok(match (self, arguments) {
            (Self::Timestamp(precision), [Value::Text(text)]) => {
                let time = time::parse_timestamp(text, precision);
                Value::of_time(time.ok_or_else(|| out_of_range(example(precision)))?, precision)
            }
            (Self::ToTimestampMs, [Value::Long(time_ms)]) => Value::Time(check_time(Some(Instant::of_ms(*time_ms)))?.ms()),
            (Self::ToEpochMs, [_]) => Value::Long(time_at(0)?.0.ms()),
            (Self::TimestampAdd(unit), [_, Value::Long(count)]) => {
                let (time, precision) = time_at(0)?;
                Value::of_time(check_time(time::add(unit, time, *count))?, precision)
            }
            (Self::TimestampDiff(unit), [_, _]) => Value::Long(time::difference(unit, time_at(0)?.0, time_at(1)?.0)),
            _ => return Err(wrong()),
        })
    }
}

/// What a function that reads a time says if it is told something else.
fn example(precision: Precision) -> &'static str {
    match precision {
        Precision::Milli => "TIMESTAMP needs a time like 2024-01-31T12:00:00.000Z",
        Precision::Micro => "TIMESTAMP_US needs a time like 2024-01-31T12:00:00.000000Z",
        Precision::Nano => "TIMESTAMP_NS needs a time like 2024-01-31T12:00:00.000000000Z",
    }
}

/// Texts one after the other; nulls are left out.
pub(super) fn concat<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, GridError> {
    let mut text = String::new();
    for argument in arguments {
        match argument {
            Value::Text(part) => text.push_str(part),
            Value::Null => {}
            _ => return Err(wrong_type("CONCAT needs STRINGs")),
        }
    }
    Ok(Value::Text(Cow::Owned(text)))
}
