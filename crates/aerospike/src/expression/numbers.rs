//! Comparisons and arithmetic on values that are known.

use super::code;
use super::value::Value;
use std::cmp::Ordering;

/// What a command gives; none for a division by zero and what else has no result.
pub(super) fn apply<'a>(command: i64, values: &[Value<'a>]) -> Option<Value<'a>> {
    match (command, values) {
        (code::EQ..=code::LE, [one, other]) => {
            let ordering = one.compare(other)?;
            Some(Value::Bool(match command {
                code::EQ => ordering == Ordering::Equal,
                code::NE => ordering != Ordering::Equal,
                code::GT => ordering == Ordering::Greater,
                code::GE => ordering != Ordering::Less,
                code::LT => ordering == Ordering::Less,
                _ => ordering != Ordering::Greater,
            }))
        }
        (code::NOT, [Value::Bool(value)]) => Some(Value::Bool(!value)),
        (code::EXCLUSIVE, values) => {
            let truths = values.iter().map(|value| if let Value::Bool(value) = value { Some(*value) } else { None });
            let truths = truths.collect::<Option<Vec<_>>>()?;
            Some(Value::Bool(truths.iter().filter(|value| **value).count() == 1))
        }
        (code::TO_FLOAT, [Value::Integer(number)]) => Some(Value::Float(*number as f64)),
        (code::TO_INT, [Value::Float(number)]) => {
            let range = i64::MIN as f64..i64::MAX as f64;
            range.contains(number).then_some(Value::Integer(*number as i64))
        }
        (code::INT_LSCAN | code::INT_RSCAN, [Value::Integer(number), Value::Bool(wanted)]) => {
            let matching = if *wanted { *number } else { !*number } as u64;
            let place = if command == code::INT_LSCAN { matching.leading_zeros() } else { 63 - matching.trailing_zeros().min(63) };
            Some(Value::Integer(if matching == 0 { -1 } else { place.into() }))
        }
        (_, [Value::Integer(first), ..]) => {
            let rest = values[1..].iter().map(|value| if let Value::Integer(number) = value { Some(*number) } else { None });
            integers(command, *first, &rest.collect::<Option<Vec<_>>>()?).map(Value::Integer)
        }
        (_, [Value::Float(first), ..]) => {
            let rest = values[1..].iter().map(|value| if let Value::Float(number) = value { Some(*number) } else { None });
            floats(command, *first, &rest.collect::<Option<Vec<_>>>()?).map(Value::Float)
        }
        _ => None,
    }
}

/// Sums and products wrap around.
fn integers(command: i64, first: i64, rest: &[i64]) -> Option<i64> {
    let fold = |step: fn(i64, i64) -> i64| Some(rest.iter().fold(first, |sum, number| step(sum, *number)));
    match (command, rest) {
        (code::ADD, _) => fold(i64::wrapping_add),
        (code::SUB, []) => Some(first.wrapping_neg()),
        (code::SUB, _) => fold(i64::wrapping_sub),
        (code::MUL, _) => fold(i64::wrapping_mul),
        (code::DIV, []) => (first != 0).then(|| 1 / first),
        (code::DIV, _) if rest.contains(&0) => None,
        (code::DIV, _) => fold(i64::wrapping_div),
        (code::MOD, [0]) => None,
        (code::MOD, [divisor]) => Some(first.wrapping_rem(*divisor)),
        (code::ABS, []) => Some(first.wrapping_abs()),
        (code::MIN, _) => fold(i64::min),
        (code::MAX, _) => fold(i64::max),
        (code::INT_AND, _) => fold(|one, other| one & other),
        (code::INT_OR, _) => fold(|one, other| one | other),
        (code::INT_XOR, _) => fold(|one, other| one ^ other),
        (code::INT_NOT, []) => Some(!first),
        (code::INT_COUNT, []) => Some(first.count_ones().into()),
        (code::INT_LSHIFT, [shift]) => bits(*shift).map(|shift| first.checked_shl(shift).unwrap_or(0)),
        (code::INT_RSHIFT, [shift]) => bits(*shift).map(|shift| (first as u64).checked_shr(shift).unwrap_or(0) as i64),
        (code::INT_ARSHIFT, [shift]) => bits(*shift).map(|shift| first >> shift.min(63)),
        _ => None,
    }
}

/// By how many bits a number is shifted.
fn bits(shift: i64) -> Option<u32> {
    (shift >= 0).then(|| shift.min(64) as u32)
}

fn floats(command: i64, first: f64, rest: &[f64]) -> Option<f64> {
    let fold = |step: fn(f64, f64) -> f64| Some(rest.iter().fold(first, |sum, number| step(sum, *number)));
    match (command, rest) {
        (code::ADD, _) => fold(|one, other| one + other),
        (code::SUB, []) => Some(-first),
        (code::SUB, _) => fold(|one, other| one - other),
        (code::MUL, _) => fold(|one, other| one * other),
        (code::DIV, []) => Some(1.0 / first),
        (code::DIV, _) => fold(|one, other| one / other),
        (code::POW, [exponent]) => Some(first.powf(*exponent)),
        (code::LOG, [base]) => Some(first.ln() / base.ln()),
        (code::ABS, []) => Some(first.abs()),
        (code::FLOOR, []) => Some(first.floor()),
        (code::CEIL, []) => Some(first.ceil()),
        (code::MIN, _) => fold(f64::min),
        (code::MAX, _) => fold(f64::max),
        _ => None,
    }
}
