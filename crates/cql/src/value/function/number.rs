//! Numbers of all CQL types, and the arithmetic between them with Cassandra's result types.

use super::error::{FunctionError, NumberError};
use super::exact::{Exact, TooLong, check_length, low_bits};
use super::operator::Operator;
use crate::value::text;
use model::DataType;
use num_bigint::{BigInt, Sign};

/// A number in the widest form of its kind.
#[derive(Clone, Debug)]
pub(in crate::value) enum Number {
    Integer(i64),
    Float(f32),
    Double(f64),
    Varint(BigInt),
    Decimal(Exact),
}

impl From<TooLong> for NumberError {
    fn from(_: TooLong) -> Self {
        Self::TooLong
    }
}

/// Whether values of `ty` are numbers.
pub(super) fn is_numeric(ty: &DataType) -> bool {
    rank(ty).is_some()
}

/// Integers by size, then floats, then the exact types.
fn rank(ty: &DataType) -> Option<u8> {
    Some(match ty {
        DataType::TinyInt => 0,
        DataType::SmallInt => 1,
        DataType::Int => 2,
        DataType::BigInt | DataType::Counter => 3,
        DataType::Varint => 4,
        DataType::Float => 5,
        DataType::Double => 6,
        DataType::Decimal => 7,
        _ => return None,
    })
}

/// The type of an operation on numbers of these types; `None` if one is not a number.
///
/// Integers give the larger type (counters count as bigint); a float with a bigint gives a double; a float or double with a varint, and
/// anything with a decimal, gives a decimal.
pub(super) fn result_type(left: &DataType, right: &DataType) -> Option<DataType> {
    let (small, large) = match (rank(left)?, rank(right)?) {
        (left, right) if left <= right => (left, right),
        (left, right) => (right, left),
    };
    Some(match (small, large) {
        (_, 7) | (4, 5 | 6) => DataType::Decimal,
        (_, 6) | (3, 5) => DataType::Double,
        (_, 5) => DataType::Float,
        (_, 4) => DataType::Varint,
        (_, 3) => DataType::BigInt,
        (_, 2) => DataType::Int,
        (_, 1) => DataType::SmallInt,
        _ => DataType::TinyInt,
    })
}

impl Number {
    /// Reads a value of a numeric type; `None` for other types and for bytes that are no value.
    pub(in crate::value) fn read(ty: &DataType, wire: &[u8]) -> Option<Self> {
        Some(match ty {
            DataType::TinyInt => Self::Integer(i64::from(i8::from_be_bytes(wire.try_into().ok()?))),
            DataType::SmallInt => Self::Integer(i64::from(i16::from_be_bytes(wire.try_into().ok()?))),
            DataType::Int => Self::Integer(i64::from(i32::from_be_bytes(wire.try_into().ok()?))),
            DataType::BigInt | DataType::Counter => Self::Integer(i64::from_be_bytes(wire.try_into().ok()?)),
            DataType::Float => Self::Float(f32::from_be_bytes(wire.try_into().ok()?)),
            DataType::Double => Self::Double(f64::from_be_bytes(wire.try_into().ok()?)),
            DataType::Varint => Self::Varint(BigInt::from_signed_bytes_be(wire)),
            DataType::Decimal => Self::Decimal(Exact::from_wire(wire)?),
            _ => return None,
        })
    }

    /// Appends the number as a value of `ty`, converted as Java's narrowing and widening conversions do.
    pub(in crate::value) fn write(&self, ty: &DataType, out: &mut Vec<u8>) -> Result<(), NumberError> {
        match ty {
            DataType::TinyInt => out.extend_from_slice(&(self.to_integer(Width::Int) as i8).to_be_bytes()),
            DataType::SmallInt => out.extend_from_slice(&(self.to_integer(Width::Int) as i16).to_be_bytes()),
            DataType::Int => out.extend_from_slice(&(self.to_integer(Width::Int) as i32).to_be_bytes()),
            DataType::BigInt | DataType::Counter => out.extend_from_slice(&self.to_integer(Width::Long).to_be_bytes()),
            DataType::Float => out.extend_from_slice(&canonical_float(self.to_float()).to_be_bytes()),
            DataType::Double => out.extend_from_slice(&canonical_double(self.to_double()).to_be_bytes()),
            DataType::Varint => {
                let integer = self.to_varint()?;
                check_length(&integer)?;
                out.extend_from_slice(&integer.to_signed_bytes_be());
            }
            _ => self.to_decimal()?.write(out),
        }
        Ok(())
    }

    /// A smaller integer keeps the low bits; a float saturates at the int or long that Java goes through.
    fn to_integer(&self, width: Width) -> i64 {
        match (self, width) {
            (Self::Integer(value), _) => *value,
            (Self::Float(value), Width::Int) => i64::from(*value as i32),
            (Self::Double(value), Width::Int) => i64::from(*value as i32),
            (Self::Float(value), Width::Long) => *value as i64,
            (Self::Double(value), Width::Long) => *value as i64,
            (Self::Varint(value), _) => low_bits(value),
            (Self::Decimal(value), _) => value.low_bits(),
        }
    }

    fn to_float(&self) -> f32 {
        match self {
            Self::Integer(value) => *value as f32,
            Self::Float(value) => *value,
            Self::Double(value) => *value as f32,
            Self::Varint(value) => value.to_string().parse().unwrap_or(f32::NAN),
            Self::Decimal(value) => value.to_float(),
        }
    }

    pub(in crate::value) fn to_double(&self) -> f64 {
        match self {
            Self::Integer(value) => *value as f64,
            Self::Float(value) => f64::from(*value),
            Self::Double(value) => *value,
            Self::Varint(value) => value.to_string().parse().unwrap_or(f64::NAN),
            Self::Decimal(value) => value.to_double(),
        }
    }

    pub(super) fn to_varint(&self) -> Result<BigInt, NumberError> {
        Ok(match self {
            Self::Varint(value) => value.clone(),
            Self::Decimal(value) => value.truncated()?,
            other => BigInt::from(other.to_integer(Width::Long)),
        })
    }

    /// Floats through their text, so that 0.1 becomes 0.1.
    pub(super) fn to_decimal(&self) -> Result<Exact, NumberError> {
        let (ty, bytes) = match self {
            Self::Integer(value) => return Ok(Exact::from_integer(BigInt::from(*value))),
            Self::Varint(value) => return Ok(Exact::from_integer(value.clone())),
            Self::Decimal(value) => return Ok(value.clone()),
            Self::Float(value) => (DataType::Float, value.to_be_bytes().to_vec()),
            Self::Double(value) => (DataType::Double, value.to_be_bytes().to_vec()),
        };
        let mut written = String::new();
        text::write_plain(&ty, &bytes, &mut written);
        Exact::from_text(&written).ok_or(if written == "NaN" { NumberError::NotANumber } else { NumberError::Infinite })
    }

    /// The operation in the type of its result.
    pub(super) fn operate(operator: Operator, left: &Self, right: &Self, ty: &DataType) -> Result<Self, NumberError> {
        Ok(match ty {
            DataType::Float => Self::Float(floating(operator, f64::from(left.to_float()), f64::from(right.to_float())) as f32),
            DataType::Double => Self::Double(floating(operator, left.to_double(), right.to_double())),
            DataType::Varint => Self::Varint(integral(operator, &left.to_varint()?, &right.to_varint()?)?),
            DataType::Decimal => Self::Decimal(exact(operator, &left.widened()?, &right.widened()?)?),
            _ => Self::Integer(machine(operator, left.to_integer(Width::Long), right.to_integer(Width::Long))?),
        })
    }

    /// The operand of a decimal operation: a float goes through the double of the same value, and an integer has one digit after the point, as a double's
    /// text has.
    fn widened(&self) -> Result<Exact, NumberError> {
        match self {
            Self::Integer(value) => Ok(Exact { unscaled: BigInt::from(*value) * 10, scale: 1 }),
            Self::Float(value) => Self::Double(f64::from(*value)).to_decimal(),
            other => other.to_decimal(),
        }
    }

    /// The number with the other sign.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(value.wrapping_neg()),
            Self::Float(value) => Self::Float(-value),
            Self::Double(value) => Self::Double(-value),
            Self::Varint(value) => Self::Varint(-value),
            Self::Decimal(value) => Self::Decimal(Exact { unscaled: -value.unscaled, scale: value.scale }),
        }
    }

    /// Without the sign.
    pub(super) fn absolute(self) -> Self {
        match self {
            Self::Float(value) => Self::Float(value.abs()),
            Self::Double(value) => Self::Double(value.abs()),
            negative if negative.is_negative() => negative.negated(),
            other => other,
        }
    }

    fn is_negative(&self) -> bool {
        match self {
            Self::Integer(value) => *value < 0,
            Self::Float(value) => *value < 0.0,
            Self::Double(value) => *value < 0.0,
            Self::Varint(value) => value.sign() == Sign::Minus,
            Self::Decimal(value) => value.unscaled.sign() == Sign::Minus,
        }
    }

    /// The nearest whole number: floats as Java's `Math.round` (halves up, saturating), decimals with halves away from zero.
    pub(super) fn rounded(self) -> Result<Self, NumberError> {
        Ok(match self {
            Self::Float(value) => Self::Float(round_half_up(f64::from(value)) as i32 as f32),
            Self::Double(value) => Self::Double(round_half_up(value) as i64 as f64),
            Self::Decimal(value) => Self::Decimal(value.rounded()?),
            integer => integer,
        })
    }
}

#[derive(Clone, Copy)]
enum Width {
    Int,
    Long,
}

/// The largest whole number not above value + ½, without the error of that addition.
fn round_half_up(value: f64) -> f64 {
    let floor = value.floor();
    if value - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// The one NaN that is stored.
fn canonical_float(value: f32) -> f32 {
    if value.is_nan() { f32::from_bits(0x7FC0_0000) } else { value }
}

fn canonical_double(value: f64) -> f64 {
    if value.is_nan() { f64::from_bits(0x7FF8_0000_0000_0000) } else { value }
}

/// Floats compute in double and round once: for one operation that is the same as computing in float.
fn floating(operator: Operator, left: f64, right: f64) -> f64 {
    match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Modulo => left % right,
    }
}

/// Wraps around; [`Number::write`] cuts to the type's size.
fn machine(operator: Operator, left: i64, right: i64) -> Result<i64, NumberError> {
    if matches!(operator, Operator::Divide | Operator::Modulo) && right == 0 {
        return Err(NumberError::DivisionByZero);
    }
    Ok(match operator {
        Operator::Add => left.wrapping_add(right),
        Operator::Subtract => left.wrapping_sub(right),
        Operator::Multiply => left.wrapping_mul(right),
        Operator::Divide => left.wrapping_div(right),
        Operator::Modulo => left.wrapping_rem(right),
    })
}

fn integral(operator: Operator, left: &BigInt, right: &BigInt) -> Result<BigInt, NumberError> {
    if matches!(operator, Operator::Divide | Operator::Modulo) && right.sign() == Sign::NoSign {
        return Err(NumberError::BigDivisionByZero);
    }
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Modulo => left % right,
    };
    check_length(&result)?;
    Ok(result)
}

fn exact(operator: Operator, left: &Exact, right: &Exact) -> Result<Exact, NumberError> {
    match operator {
        Operator::Divide if right.is_zero() => return Err(NumberError::BigDivisionByZero),
        Operator::Modulo if right.is_zero() && left.is_zero() => return Err(NumberError::DecimalModuloUndefined),
        Operator::Modulo if right.is_zero() => return Err(NumberError::DecimalModuloZero),
        _ => {}
    }
    Ok(match operator {
        Operator::Add => left.add(right)?,
        Operator::Subtract => left.subtract(right)?,
        Operator::Multiply => left.multiply(right)?,
        Operator::Divide => left.divide(right)?,
        Operator::Modulo => left.remainder(right)?,
    })
}

/// Reads an argument that resolution has found numeric.
pub(super) fn argument(ty: &DataType, wire: &[u8]) -> Result<Number, FunctionError> {
    Number::read(ty, wire).ok_or(FunctionError::NotAValue)
}
