//! Values in an expression.

use crate::geometry::Geometry;
use crate::instant::{Instant, Precision};
use crate::schema::{ColumnDefinition, ElementType};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Long(i64),
    Double(f64),
    Text(Cow<'a, str>),
    /// Milliseconds since 1970.
    Time(i64),
    /// A time that is told more finely.
    PreciseTime(Instant, Precision),
    /// A cell with an array of that type.
    Array(ElementType, Cow<'a, [u8]>),
    /// Functions ask about it, nothing compares with it.
    Geometry(Arc<Geometry>),
    /// Nothing compares with it.
    Blob,
}

impl<'a> Value<'a> {
    /// The value of a column's cell.
    pub(super) fn of_cell(column: &ColumnDefinition, cell: Option<Cow<'a, [u8]>>) -> Self {
        match cell {
            None => Self::Null,
            Some(cell) if column.is_array => Self::Array(column.element, cell),
            Some(cell) => Self::of_element(column.element, cell),
        }
    }

    /// The value of a cell that is no array.
    pub(super) fn of_element(element: ElementType, cell: Cow<'a, [u8]>) -> Self {
        let signed = || {
            let is_negative = cell.first().is_some_and(|byte| byte & 0x80 != 0);
            cell.iter().fold(if is_negative { -1 } else { 0 }, |value, byte| value << 8 | i64::from(*byte))
        };
        match element {
            ElementType::Bool => Self::Bool(cell.first().is_some_and(|byte| *byte != 0)),
            ElementType::Byte | ElementType::Short | ElementType::Integer | ElementType::Long => Self::Long(signed()),
            ElementType::Timestamp => Self::Time(signed()),
            ElementType::MicroTimestamp => Self::PreciseTime(Instant::of_micro_cell(&cell), Precision::Micro),
            ElementType::NanoTimestamp => Self::PreciseTime(Instant::of_nano_cell(&cell), Precision::Nano),
            ElementType::Float => Self::Double(cell.first_chunk().map_or(0.0, |bytes| f64::from(f32::from_be_bytes(*bytes)))),
            ElementType::Double => Self::Double(cell.first_chunk().map_or(0.0, |bytes| f64::from_be_bytes(*bytes))),
            ElementType::String => match cell {
                Cow::Borrowed(bytes) => Self::Text(String::from_utf8_lossy(bytes)),
                Cow::Owned(bytes) => Self::Text(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())),
            },
            // What clients have put is one.
            ElementType::Geometry => {
                let geometry = std::str::from_utf8(&cell).ok().and_then(|text| Geometry::parse(text).ok());
                geometry.map_or(Self::Null, |geometry| Self::Geometry(Arc::new(geometry)))
            }
            ElementType::Blob => Self::Blob,
        }
    }

    /// A time, without what the precision does not tell.
    pub(super) fn of_time(time: Instant, precision: Precision) -> Self {
        match precision {
            Precision::Milli => Self::Time(time.ms()),
            _ => Self::PreciseTime(time.cut(precision), precision),
        }
    }

    /// The time that it is, and how finely it is told.
    pub(super) fn time(&self) -> Option<(Instant, Precision)> {
        match self {
            Self::Time(time_ms) => Some((Instant::of_ms(*time_ms), Precision::Milli)),
            Self::PreciseTime(time, precision) => Some((*time, *precision)),
            _ => None,
        }
    }

    /// The cell of the last time that is not later and that a column of `element` can hold, and whether it is the same; none if there is no such.
    pub(super) fn time_cell(&self, element: ElementType) -> Option<(Vec<u8>, bool)> {
        let (time, _) = self.time()?;
        let precision = element.precision()?;
        let told = time.cut(precision);
        let mut cell = Vec::new();
        match (precision, self) {
            (Precision::Milli, Self::Time(time_ms)) => return Some((time_ms.to_be_bytes().to_vec(), true)),
            (Precision::Milli, _) => cell.extend_from_slice(&told.ms().to_be_bytes()),
            (Precision::Micro, _) => cell.extend_from_slice(&told.us.to_be_bytes()),
            (Precision::Nano, _) if time.us < 0 => return None,
            (Precision::Nano, _) => told.put_nano_cell(&mut cell),
        }
        Some((cell, told == time))
    }

    /// A copy that outlives the row.
    pub(super) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Array(element, cell) => Value::Array(element, Cow::Owned(cell.into_owned())),
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Long(value) => Value::Long(value),
            Self::Double(value) => Value::Double(value),
            Self::Time(value) => Value::Time(value),
            Self::PreciseTime(time, precision) => Value::PreciseTime(time, precision),
            Self::Geometry(geometry) => Value::Geometry(geometry),
            Self::Blob => Value::Blob,
        }
    }

    /// Bytes it takes beyond its own size.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Array(_, cell) => cell.len(),
            Self::Geometry(geometry) => geometry.heap_bytes(),
            _ => 0,
        }
    }

    /// Compares two values of kinds that compare; NaN equals NaN and is above all numbers.
    pub(super) fn compare(&self, other: &Value<'_>) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Bool(one), Value::Bool(other)) => one.cmp(other),
            (Self::Long(one), Value::Long(other)) | (Self::Time(one), Value::Time(other)) => one.cmp(other),
            (Self::Long(one), Value::Double(other)) => compare_long(*one, *other),
            (Self::Double(one), Value::Long(other)) => compare_long(*other, *one).reverse(),
            (Self::Double(one), Value::Double(other)) => one.partial_cmp(other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan())),
            (Self::PreciseTime(one, _), Value::PreciseTime(other, _)) => one.cmp(other),
            (Self::PreciseTime(one, _), Value::Time(other)) => one.cmp_ms(*other),
            (Self::Time(one), Value::PreciseTime(other, _)) => other.cmp_ms(*one).reverse(),
            (Self::Text(one), Value::Text(other)) => one.as_ref().cmp(other.as_ref()),
            _ => return None,
        })
    }

    /// The order of rows: null after everything else, NaN after all numbers; what else does not compare is equal.
    pub(super) fn order(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Self::Null, Value::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            _ => self.compare(other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan())),
        }
    }

    fn is_nan(&self) -> bool {
        matches!(self, Self::Double(number) if number.is_nan())
    }
}

/// Whether a type is of numbers.
pub(super) fn is_number(element: ElementType) -> bool {
    use ElementType::{Byte, Double, Float, Integer, Long, Short};
    matches!(element, Byte | Short | Integer | Long | Float | Double)
}

/// An integer and a number, without loss.
fn compare_long(one: i64, other: f64) -> Ordering {
    const EDGE: f64 = 9_223_372_036_854_775_808.0;
    if other.is_nan() || other >= EDGE {
        return Ordering::Less;
    }
    if other < -EDGE {
        return Ordering::Greater;
    }
    let whole = other.trunc();
    one.cmp(&(whole as i64)).then_with(|| whole.partial_cmp(&other).unwrap_or(Ordering::Equal))
}
