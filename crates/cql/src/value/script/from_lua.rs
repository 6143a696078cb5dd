//! What Lua returns into the bytes of a type.

use crate::value::calendar::{DAY_MILLISECONDS, Date};
use crate::value::{build, parse, validate, vint};
use model::DataType;
use num_bigint::BigInt;
use script::{Number, Value};

/// A result that is no value of the function's type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResultError {
    #[error("the result is a {found}, which {wanted} cannot be made of")]
    Kind { found: &'static str, wanted: String },
    #[error("{value} is not a value of type {wanted}")]
    Value { value: String, wanted: String },
    #[error("the table is not a sequence from 1 on: it has the key {key}")]
    Sequence { key: String },
    #[error("the table has {found} fields, and {wanted} has {fields}")]
    Fields { found: usize, wanted: String, fields: usize },
    #[error("the table has a field {field}, which {wanted} does not have")]
    Field { field: String, wanted: String },
    #[error("null cannot be a part of a collection")]
    Null,
}

/// Appends a value's bytes.
pub(super) fn from_lua(data_type: &DataType, value: &Value, out: &mut Vec<u8>) -> Result<(), ResultError> {
    match data_type {
        DataType::List(..) | DataType::Set(..) | DataType::Map(..) | DataType::Tuple(_) | DataType::Udt(..) | DataType::Vector(..) => {
            composed(data_type, value, out)
        }
        native => {
            let start = out.len();
            native_value(native, value, out)?;
            validate(native, &out[start..]).map_err(|_| bad(native, value))
        }
    }
}

fn kind(wanted: &DataType, found: &Value) -> ResultError {
    ResultError::Kind { found: found.type_name(), wanted: wanted.to_string() }
}

fn bad(wanted: &DataType, value: &Value) -> ResultError {
    ResultError::Value { value: shown(value), wanted: wanted.to_string() }
}

/// The beginning of a value for a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Number(number) => number.to_string().chars().take(64).collect(),
        Value::Bytes(bytes) => format!("'{}'", String::from_utf8_lossy(bytes).chars().take(64).collect::<String>()),
        other => other.type_name().to_owned(),
    }
}

fn native_value(data_type: &DataType, value: &Value, out: &mut Vec<u8>) -> Result<(), ResultError> {
    match (data_type, value) {
        (DataType::Text | DataType::Ascii | DataType::Blob | DataType::Custom(_), value) => match value {
            Value::Bytes(bytes) => out.extend_from_slice(bytes),
            Value::Integer(_) | Value::Float(_) | Value::Number(_) => out.extend_from_slice(shown(value).as_bytes()),
            _ => return Err(kind(data_type, value)),
        },
        (DataType::Boolean, Value::Boolean(value)) => out.push(u8::from(*value)),
        (DataType::TinyInt, _) => out.extend_from_slice(&small::<i8>(data_type, value)?.to_be_bytes()),
        (DataType::SmallInt, _) => out.extend_from_slice(&small::<i16>(data_type, value)?.to_be_bytes()),
        (DataType::Int, _) => out.extend_from_slice(&small::<i32>(data_type, value)?.to_be_bytes()),
        (DataType::BigInt | DataType::Counter, _) => out.extend_from_slice(&small::<i64>(data_type, value)?.to_be_bytes()),
        (DataType::Float, _) => out.extend_from_slice(&(float(data_type, value)? as f32).to_be_bytes()),
        (DataType::Double, _) => out.extend_from_slice(&float(data_type, value)?.to_be_bytes()),
        (DataType::Varint, _) => out.extend_from_slice(&integer(data_type, value)?.to_signed_bytes_be()),
        (DataType::Decimal, _) => {
            let number = number(data_type, value)?;
            out.extend_from_slice(&number.scale.to_be_bytes());
            out.extend_from_slice(&number.unscaled.to_signed_bytes_be());
        }
        // Dates, times and the like as CQL writes them.
        (_, Value::Bytes(bytes)) => {
            let text = std::str::from_utf8(bytes).map_err(|_| bad(data_type, value))?;
            parse::parse(data_type, text, out).map_err(|_| bad(data_type, value))?;
        }
        (DataType::Date, Value::Table(fields)) => {
            let days = u32::try_from(days(data_type, fields)? + (1 << 31)).map_err(|_| bad(data_type, value))?;
            out.extend_from_slice(&days.to_be_bytes());
        }
        (DataType::Date, _) => out.extend_from_slice(&small::<u32>(data_type, value)?.to_be_bytes()),
        (DataType::Timestamp, Value::Table(fields)) => {
            let part = |name, default| field(data_type, fields, name, Some(default));
            // Noon, as where Lua makes times of such tables.
            let minutes = i128::from(part("hour", 12)?) * 60 + i128::from(part("min", 0)?);
            let of_day = (minutes * 60 + i128::from(part("sec", 0)?)) * 1000 + i128::from(part("msec", 0)?);
            let whole = i128::from(days(data_type, fields)?) * i128::from(DAY_MILLISECONDS) + of_day;
            out.extend_from_slice(&i64::try_from(whole).map_err(|_| bad(data_type, value))?.to_be_bytes());
        }
        (DataType::Timestamp | DataType::Time, _) => out.extend_from_slice(&small::<i64>(data_type, value)?.to_be_bytes()),
        (DataType::Duration, Value::Table(fields)) => {
            for name in ["months", "days", "nanoseconds"] {
                vint::put_signed(field(data_type, fields, name, Some(0))?, out);
            }
        }
        _ => return Err(kind(data_type, value)),
    }
    Ok(())
}

/// A number: one of Lua's, one of ours, or a text that says one.
fn number(data_type: &DataType, value: &Value) -> Result<Number, ResultError> {
    match value {
        Value::Integer(value) => Some(Number::integer(*value)),
        Value::Float(value) => Number::from_float(*value),
        Value::Number(number) => Some(number.clone()),
        Value::Bytes(text) => std::str::from_utf8(text).ok().and_then(Number::parse),
        _ => return Err(kind(data_type, value)),
    }
    .ok_or_else(|| bad(data_type, value))
}

fn integer(data_type: &DataType, value: &Value) -> Result<BigInt, ResultError> {
    number(data_type, value)?.to_integer().ok_or_else(|| bad(data_type, value))
}

fn small<T: TryFrom<i64> + TryFrom<BigInt>>(data_type: &DataType, value: &Value) -> Result<T, ResultError> {
    if let Value::Integer(value) = value {
        return T::try_from(*value).map_err(|_| bad(data_type, &Value::Integer(*value)));
    }
    T::try_from(integer(data_type, value)?).map_err(|_| bad(data_type, value))
}

fn float(data_type: &DataType, value: &Value) -> Result<f64, ResultError> {
    match value {
        Value::Float(value) => Ok(*value),
        Value::Integer(value) => Ok(*value as f64),
        value => number(data_type, value)?.to_string().parse().map_err(|_| bad(data_type, value)),
    }
}

/// The whole number in a field of a table.
fn field(data_type: &DataType, fields: &[(Value, Value)], name: &str, default: Option<i64>) -> Result<i64, ResultError> {
    let found = fields.iter().find(|(key, _)| matches!(key, Value::Bytes(key) if key == name.as_bytes()));
    match (found, default) {
        (Some((_, value)), _) => small(data_type, value),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(ResultError::Value { value: format!("a table without {name}"), wanted: data_type.to_string() }),
    }
}

/// `year`, `month` and `day` as days after 1970-01-01.
fn days(data_type: &DataType, fields: &[(Value, Value)]) -> Result<i64, ResultError> {
    let part = |name| field(data_type, fields, name, None);
    let (year, month, day) = (part("year")?, part("month")?, part("day")?);
    let wrong = || ResultError::Value { value: format!("{year}-{month}-{day}"), wanted: data_type.to_string() };
    if !(-6_000_000..=6_000_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return Err(wrong());
    }
    let date = Date { year, month: month as u8, day: day as u8 };
    if date.exists() { Ok(date.days()) } else { Err(wrong()) }
}

fn composed(data_type: &DataType, value: &Value, out: &mut Vec<u8>) -> Result<(), ResultError> {
    let Value::Table(entries) = value else { return Err(kind(data_type, value)) };
    match data_type {
        DataType::List(element, _) => {
            let parts = parts(element, &sequence(entries)?)?;
            build::list(parts.iter().map(Vec::as_slice), out);
        }
        DataType::Vector(element, dimension) => {
            let values = sequence(entries)?;
            if values.len() != *dimension as usize {
                return Err(fields(values.len(), data_type, *dimension as usize));
            }
            parts(element, &values)?.iter().for_each(|part| build::vector_element(element, part, out));
        }
        DataType::Set(element, _) => {
            let keys: Vec<&Value> = entries.iter().map(|(key, _)| key).collect();
            let parts = parts(element, &keys)?;
            build::set(element, parts.iter().map(Vec::as_slice).collect(), out);
        }
        DataType::Map(key, value, _) => {
            let keys = parts(key, &entries.iter().map(|(key, _)| key).collect::<Vec<_>>())?;
            let values = parts(value, &entries.iter().map(|(_, value)| value).collect::<Vec<_>>())?;
            build::map(key, keys.iter().zip(&values).map(|(key, value)| (key.as_slice(), value.as_slice())).collect(), out);
        }
        DataType::Tuple(types) => tuple(data_type, types, entries, out)?,
        DataType::Udt(user, _) => {
            let is_known = |key: &Value| user.fields.iter().any(|(name, _)| matches!(key, Value::Bytes(key) if key == name.as_bytes()));
            if let Some((key, _)) = entries.iter().find(|(key, _)| !is_known(key)) {
                return Err(ResultError::Field { field: shown(key), wanted: data_type.to_string() });
            }
            for (name, data_type) in &user.fields {
                let given = entries.iter().find(|(key, _)| matches!(key, Value::Bytes(key) if key == name.as_bytes()));
                build::field(given.map(|(_, value)| part(data_type, value)).transpose()?.as_deref(), out);
            }
        }
        _ => return Err(kind(data_type, value)),
    }
    Ok(())
}

fn fields(found: usize, wanted: &DataType, fields: usize) -> ResultError {
    ResultError::Fields { found, wanted: wanted.to_string(), fields }
}

/// A tuple: fields by their numbers, those that are missing null.
fn tuple(data_type: &DataType, types: &[DataType], entries: &[(Value, Value)], out: &mut Vec<u8>) -> Result<(), ResultError> {
    let mut values: Vec<Option<&Value>> = vec![None; types.len()];
    for (key, value) in entries {
        let index = position(key).ok_or_else(|| ResultError::Sequence { key: shown(key) })?;
        *values.get_mut(index).ok_or_else(|| fields(index + 1, data_type, types.len()))? = Some(value);
    }
    for (value, data_type) in values.into_iter().zip(types) {
        build::field(value.map(|value| part(data_type, value)).transpose()?.as_deref(), out);
    }
    Ok(())
}

/// The index of the key 1, 2, ….
fn position(key: &Value) -> Option<usize> {
    let Value::Integer(number) = key else { return None };
    usize::try_from(number.checked_sub(1)?).ok()
}

/// The values of a table whose keys are 1, 2, … without a hole.
fn sequence(entries: &[(Value, Value)]) -> Result<Vec<&Value>, ResultError> {
    let mut values: Vec<Option<&Value>> = vec![None; entries.len()];
    for (key, value) in entries {
        let slot = position(key).and_then(|index| values.get_mut(index));
        *slot.ok_or_else(|| ResultError::Sequence { key: shown(key) })? = Some(value);
    }
    values.into_iter().map(|value| value.ok_or(ResultError::Null)).collect()
}

fn part(data_type: &DataType, value: &Value) -> Result<Vec<u8>, ResultError> {
    let mut out = Vec::new();
    from_lua(data_type, value, &mut out)?;
    Ok(out)
}

fn parts(data_type: &DataType, values: &[&Value]) -> Result<Vec<Vec<u8>>, ResultError> {
    values.iter().map(|value| part(data_type, value)).collect()
}
