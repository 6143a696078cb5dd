//! Types of Arrow's columns: what SQL tells of a column, widened by the values that it has in the first batch.

use super::flatbuffer::{Field, FlatBuffer, Pointer};
use sql::time::Moment;
use sql::{ColumnType, ValueRef};

/// A type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Float,
    Double,
    /// Milliseconds, in UTC.
    Timestamp,
    /// Takes all values, as JSON has them.
    Text,
    Blob,
}

impl Kind {
    /// What SQL tells of a column.
    pub(super) fn of(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Bool => Self::Bool,
            ColumnType::Byte => Self::Int8,
            ColumnType::Short => Self::Int16,
            ColumnType::Integer => Self::Int32,
            ColumnType::Long => Self::Int64,
            ColumnType::Float => Self::Float,
            ColumnType::Double => Self::Double,
            ColumnType::Blob => Self::Blob,
            // Either is a text to these statements.
            ColumnType::Timestamp | ColumnType::TimestampText => Self::Timestamp,
            ColumnType::Text | ColumnType::MicroTimestamp | ColumnType::NanoTimestamp | ColumnType::Opaque => Self::Text,
        }
    }

    /// The type that a value has by itself.
    fn of_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Null => None,
            ValueRef::Integer(_) => Some(Self::Int64),
            ValueRef::Real(_) => Some(Self::Double),
            ValueRef::Text(_) | ValueRef::Time(_) => Some(Self::Text),
            ValueRef::Blob(_) => Some(Self::Blob),
        }
    }

    /// Whether a column of this type can hold a value as it is.
    pub(super) fn holds(self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (Self::Text, _) | (_, ValueRef::Null) | (Self::Double, ValueRef::Real(_)) | (Self::Blob, ValueRef::Blob(_)) => true,
            (Self::Bool, ValueRef::Integer(value)) => matches!(value, 0 | 1),
            (Self::Int8, ValueRef::Integer(value)) => i8::try_from(value).is_ok(),
            (Self::Int16, ValueRef::Integer(value)) => i16::try_from(value).is_ok(),
            (Self::Int32, ValueRef::Integer(value)) => i32::try_from(value).is_ok(),
            (Self::Int64, ValueRef::Integer(_)) => true,
            (Self::Float, ValueRef::Real(value)) => value.is_nan() || f64::from(value as f32) == value,
            (Self::Float, ValueRef::Integer(value)) => value.unsigned_abs() <= 1 << 24,
            (Self::Timestamp, ValueRef::Text(text)) => time_ms(text).is_some(),
            (Self::Double, ValueRef::Integer(value)) => value.unsigned_abs() <= 1 << 53,
            _ => false,
        }
    }

    /// The type that a column has once it also has this value; none while all were null.
    pub(super) fn widened(now: Option<Self>, value: ValueRef<'_>) -> Option<Self> {
        let Some(kind) = now else { return Self::of_value(value) };
        if kind.holds(value) {
            return now;
        }
        let is_number = |kind| !matches!(kind, Self::Timestamp | Self::Text | Self::Blob);
        let is_integral = is_number(kind) && !matches!(kind, Self::Float | Self::Double);
        Some(match value {
            ValueRef::Integer(_) if is_integral => Self::Int64,
            ValueRef::Integer(_) | ValueRef::Real(_) if is_number(kind) => Self::Double,
            _ => Self::Text,
        })
    }

    /// Its name to who reads a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Timestamp => "timestamp",
            Self::Text => "utf8",
            Self::Blob => "binary",
        }
    }

    /// Its number among the types of a field in `Schema.fbs`.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => 2,
            Self::Float | Self::Double => 3,
            Self::Blob => 4,
            Self::Text => 5,
            Self::Bool => 6,
            Self::Timestamp => 10,
        }
    }

    /// Bytes of a value; none where values are bits, or of different lengths.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            Self::Int8 => Some(1),
            Self::Int16 => Some(2),
            Self::Int32 | Self::Float => Some(4),
            Self::Int64 | Self::Double | Self::Timestamp => Some(8),
            Self::Bool | Self::Text | Self::Blob => None,
        }
    }

    /// Writes what the number stands for.
    pub(super) fn write(self, from: Pointer, to: &mut FlatBuffer) {
        const SIGNED: Field = Field::Byte(1);
        match self {
            Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => {
                let bits = self.width().map_or(0, |bytes| 8 * bytes as i32);
                to.table(from, [Field::Int(bits), SIGNED]);
            }
            Self::Float => {
                to.table(from, [Field::Short(1)]);
            }
            Self::Double => {
                to.table(from, [Field::Short(2)]);
            }
            Self::Timestamp => {
                let [_, zone] = to.table(from, [Field::Short(1), Field::Offset]);
                to.string(zone, "UTC");
            }
            Self::Bool | Self::Text | Self::Blob => {
                to.table(from, []);
            }
        }
    }
}

/// The milliseconds since 1970 of a time's text that has no more digits.
pub(super) fn time_ms(text: &str) -> Option<i64> {
    Moment::parse(text).filter(|moment| moment.ns == 0 && text.len() > "2024-02-29".len()).map(|moment| moment.ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_holds_what_widened_it() {
        let values = [
            ValueRef::Null,
            ValueRef::Integer(1),
            ValueRef::Integer(2),
            ValueRef::Integer(-129),
            ValueRef::Integer(i64::MAX),
            ValueRef::Real(0.5),
            ValueRef::Real(0.1),
            ValueRef::Real(f64::NAN),
            ValueRef::Text("a"),
            ValueRef::Blob(&[1]),
        ];
        for kind in [None, Some(Kind::Bool), Some(Kind::Int8), Some(Kind::Int64), Some(Kind::Float), Some(Kind::Double), Some(Kind::Blob)] {
            for value in values {
                let wide = Kind::widened(kind, value);
                assert!(wide.is_none_or(|wide| wide.holds(value)) || value == ValueRef::Integer(i64::MAX), "{kind:?} {value:?} {wide:?}");
                assert!(value != ValueRef::Null || wide == kind);
            }
        }
        assert_eq!(Kind::widened(Some(Kind::Int8), ValueRef::Integer(128)), Some(Kind::Int64));
        assert_eq!(Kind::widened(Some(Kind::Float), ValueRef::Real(0.1)), Some(Kind::Double));
        assert_eq!(Kind::widened(Some(Kind::Int32), ValueRef::Real(0.5)), Some(Kind::Double));
        assert_eq!(Kind::widened(Some(Kind::Blob), ValueRef::Integer(1)), Some(Kind::Text));
        assert_eq!(Kind::widened(Some(Kind::Text), ValueRef::Blob(&[])), Some(Kind::Text));
        assert_eq!(Kind::widened(Some(Kind::Timestamp), ValueRef::Text("1969-12-31T23:59:59.999Z")), Some(Kind::Timestamp));
        for other in [ValueRef::Text("1970-01-01T00:00:00.0000001Z"), ValueRef::Text("x"), ValueRef::Integer(0)] {
            assert_eq!(Kind::widened(Some(Kind::Timestamp), other), Some(Kind::Text));
        }
    }
}
