//! Whether bytes are a value of a type: the gate for every value that a client binds.
//!
//! Follows the native protocol's section "Data Type Serialization Formats" and what Cassandra 5.0 accepts, with its messages. Zero
//! bytes are a legal value ("empty") of all types but date, time, smallint, tinyint, duration, collections and vectors. TarnDB is
//! stricter in five places, where Cassandra accepts bytes that no client can mean: UTF-8 is exact (no lone surrogates, nothing above
//! U+10FFFF), a time lies within its day, nothing follows the three vints of a duration, a collection's count is not negative, and a
//! varint or decimal has at most [`NUMBER_BYTES_MAX`] bytes: to compare or print a number takes time that grows with its square, and a
//! client must not be able to stop a core with one value.

use super::error::{Container, FieldName, ValueError};
use super::limits::{NUMBER_BYTES_MAX, TYPE_DEPTH_MAX};
use super::{build, layout, order, vint};
use model::DataType;
use std::borrow::Cow;

/// Nanoseconds of a day.
pub(super) const DAY_NANOSECONDS: i64 = 86_400_000_000_000;

/// Checks that `bytes` are a value of `ty`.
///
/// # Errors
/// What is wrong with them, in Cassandra's words.
#[inline]
pub fn validate(ty: &DataType, bytes: &[u8]) -> Result<(), ValueError> {
    match ty {
        DataType::Blob | DataType::Custom(_) => Ok(()),
        DataType::Text => text(bytes),
        DataType::Int => length(bytes, 4, Empty::Allowed, "Expected 4 or 0 byte int"),
        DataType::BigInt | DataType::Counter => length(bytes, 8, Empty::Allowed, "Expected 8 or 0 byte long"),
        _ => validate_rest(ty, bytes, 0),
    }
}

/// Brings a value into the form in which equal values are equal bytes as far as collections go: sets and maps, at any depth, sorted
/// and without duplicates (of equal map keys the last one wins, as in Cassandra).
///
/// # Errors
/// The same as [`validate()`].
pub fn normalize<'a>(ty: &DataType, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, ValueError> {
    validate(ty, bytes)?;
    Ok(sorted(ty, bytes))
}

fn sorted<'a>(ty: &DataType, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if in_order(ty, bytes) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    match ty {
        DataType::List(element, _) => {
            let parts: Vec<_> = layout::elements(bytes).map(|part| sorted(element, part)).collect();
            build::list(parts.iter().map(AsRef::as_ref), &mut out);
        }
        DataType::Set(element, _) => {
            let parts: Vec<_> = layout::elements(bytes).map(|part| sorted(element, part)).collect();
            build::set(element, parts.iter().map(AsRef::as_ref).collect(), &mut out);
        }
        DataType::Map(key, value, _) => {
            let parts: Vec<_> = layout::entries(bytes).map(|(k, v)| (sorted(key, k), sorted(value, v))).collect();
            build::map(key, parts.iter().map(|(k, v)| (k.as_ref(), v.as_ref())).collect(), &mut out);
        }
        DataType::Tuple(types) => {
            for (field, ty) in layout::fields(bytes).zip(types.iter()) {
                build::field(field.map(|field| sorted(ty, field)).as_deref(), &mut out);
            }
        }
        DataType::Udt(user, _) => {
            for (field, (_, ty)) in layout::fields(bytes).zip(&user.fields) {
                build::field(field.map(|field| sorted(ty, field)).as_deref(), &mut out);
            }
        }
        DataType::Vector(element, dimension) => {
            for part in layout::vector_elements(element, *dimension, bytes) {
                build::vector_element(element, &sorted(element, part), &mut out);
            }
        }
        _ => return Cow::Borrowed(bytes),
    }
    Cow::Owned(out)
}

fn in_order(ty: &DataType, bytes: &[u8]) -> bool {
    match ty {
        DataType::List(element, _) => layout::elements(bytes).all(|part| in_order(element, part)),
        DataType::Set(element, _) => {
            layout::elements(bytes).all(|part| in_order(element, part))
                && layout::elements(bytes).is_sorted_by(|one, two| order::compare(element, one, two).is_lt())
        }
        DataType::Map(key, value, _) => {
            layout::entries(bytes).all(|(k, v)| in_order(key, k) && in_order(value, v))
                && layout::entries(bytes).is_sorted_by(|one, two| order::compare(key, one.0, two.0).is_lt())
        }
        DataType::Tuple(types) => layout::fields(bytes).zip(types.iter()).all(|(field, ty)| field.is_none_or(|field| in_order(ty, field))),
        DataType::Udt(user, _) => {
            layout::fields(bytes).zip(&user.fields).all(|(field, (_, ty))| field.is_none_or(|field| in_order(ty, field)))
        }
        DataType::Vector(element, dimension) if layout::fixed_length(element).is_none() => {
            layout::vector_elements(element, *dimension, bytes).all(|part| in_order(element, part))
        }
        _ => true,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    Allowed,
    Refused,
}

#[inline]
fn length(bytes: &[u8], exact: usize, empty: Empty, expected: &'static str) -> Result<(), ValueError> {
    if bytes.len() == exact || (bytes.is_empty() && empty == Empty::Allowed) {
        Ok(())
    } else {
        Err(ValueError::Length { expected, actual: bytes.len() })
    }
}

#[inline]
fn text(bytes: &[u8]) -> Result<(), ValueError> {
    // Most text is ASCII, which is quicker to see.
    if bytes.is_ascii() || std::str::from_utf8(bytes).is_ok() { Ok(()) } else { Err(ValueError::Utf8) }
}

fn validate_rest(ty: &DataType, bytes: &[u8], depth: usize) -> Result<(), ValueError> {
    use Empty::{Allowed, Refused};
    match ty {
        DataType::Blob | DataType::Custom(_) => Ok(()),
        DataType::Text => text(bytes),
        DataType::Int => length(bytes, 4, Allowed, "Expected 4 or 0 byte int"),
        DataType::BigInt | DataType::Counter => length(bytes, 8, Allowed, "Expected 8 or 0 byte long"),
        DataType::Ascii => match bytes.iter().find(|byte| !byte.is_ascii()) {
            None => Ok(()),
            Some(byte) => Err(ValueError::Ascii { byte: *byte as i8 }),
        },
        DataType::Boolean => length(bytes, 1, Allowed, "Expected 1 or 0 byte value"),
        DataType::Date => length(bytes, 4, Refused, "Expected 4 byte long for date"),
        DataType::Varint => number(bytes),
        DataType::Decimal if bytes.is_empty() => Ok(()),
        DataType::Decimal if bytes.len() >= 4 => number(&bytes[4..]),
        DataType::Decimal => Err(ValueError::Length { expected: "Expected 0 or at least 4 bytes", actual: bytes.len() }),
        DataType::Double => length(bytes, 8, Allowed, "Expected 8 or 0 byte value for a double"),
        DataType::Float => length(bytes, 4, Allowed, "Expected 4 or 0 byte value for a float"),
        DataType::SmallInt => length(bytes, 2, Refused, "Expected 2 bytes for a smallint"),
        DataType::TinyInt => length(bytes, 1, Refused, "Expected 1 byte for a tinyint"),
        DataType::Timestamp => length(bytes, 8, Allowed, "Expected 8 or 0 byte long for date"),
        DataType::Uuid => length(bytes, 16, Allowed, "UUID should be 16 or 0 bytes"),
        DataType::TimeUuid => {
            length(bytes, 16, Allowed, "UUID should be 16 or 0 bytes")?;
            match bytes.get(6).map(|byte| byte >> 4) {
                None | Some(1) => Ok(()),
                Some(version) => Err(ValueError::TimeUuidVersion { version }),
            }
        }
        DataType::Inet if matches!(bytes.len(), 0 | 4 | 16) => Ok(()),
        DataType::Inet => Err(ValueError::Inet { start: bytes.iter().copied().take(32).collect() }),
        DataType::Time => time(bytes),
        DataType::Duration => duration(bytes).map(|_| ()),
        _ if depth >= TYPE_DEPTH_MAX => Err(ValueError::Depth),
        DataType::List(element, _) => collection(Container::List, &[element], bytes, depth),
        DataType::Set(element, _) => collection(Container::Set, &[element], bytes, depth),
        DataType::Map(key, value, _) => collection(Container::Map, &[key, value], bytes, depth),
        DataType::Tuple(types) => {
            let mut rest = bytes;
            for (position, ty) in types.iter().enumerate() {
                if rest.is_empty() {
                    return Ok(());
                }
                if let Some(field) = take_field(&mut rest, position, || FieldName::Component)? {
                    validate_rest(ty, field, depth + 1)?;
                }
            }
            if rest.is_empty() { Ok(()) } else { Err(ValueError::TupleLong) }
        }
        DataType::Udt(user, _) => {
            let mut rest = bytes;
            for (position, (name, ty)) in user.fields.iter().enumerate() {
                if rest.is_empty() {
                    return Ok(());
                }
                let named = || FieldName::Named(name.as_str().into());
                if let Some(field) = take_field(&mut rest, position, named)? {
                    validate_rest(ty, field, depth + 1).map_err(|cause| ValueError::Field {
                        position,
                        field: named(),
                        cause: Box::new(cause),
                    })?;
                }
            }
            if rest.is_empty() { Ok(()) } else { Err(ValueError::UserTypeLong) }
        }
        DataType::Vector(element, dimension) => vector(ty, element, *dimension, bytes, depth),
    }
}

fn number(integer: &[u8]) -> Result<(), ValueError> {
    if integer.len() <= NUMBER_BYTES_MAX { Ok(()) } else { Err(ValueError::NumberTooLong { actual: integer.len() }) }
}

fn time(bytes: &[u8]) -> Result<(), ValueError> {
    let Ok(eight) = <[u8; 8]>::try_from(bytes) else {
        return Err(ValueError::Length { expected: "Expected 8 byte long for time", actual: bytes.len() });
    };
    match i64::from_be_bytes(eight) {
        0..DAY_NANOSECONDS => Ok(()),
        nanoseconds => Err(ValueError::Time { nanoseconds }),
    }
}

/// Reads the months, days and nanoseconds of a duration.
pub(super) fn duration(bytes: &[u8]) -> Result<(i32, i32, i64), ValueError> {
    if bytes.len() < 3 {
        return Err(ValueError::Length { expected: "Expected at least 3 bytes for a duration", actual: bytes.len() });
    }
    let mut rest = bytes;
    let mut next = || vint::take_signed(&mut rest).ok_or(ValueError::DurationLayout { actual: bytes.len() });
    let (months, days, nanoseconds) = (next()?, next()?, next()?);
    if !rest.is_empty() {
        return Err(ValueError::DurationLayout { actual: bytes.len() });
    }
    let narrow_months = i32::try_from(months).map_err(|_| ValueError::DurationMonths { value: months })?;
    let narrow_days = i32::try_from(days).map_err(|_| ValueError::DurationDays { value: days })?;
    let signs = [months.signum(), days.signum(), nanoseconds.signum()];
    if signs.contains(&1) && signs.contains(&-1) {
        return Err(ValueError::DurationSigns { months, days, nanoseconds });
    }
    Ok((narrow_months, narrow_days, nanoseconds))
}

fn collection(container: Container, parts: &[&DataType], bytes: &[u8], depth: usize) -> Result<(), ValueError> {
    let short = ValueError::CollectionShort { container };
    let mut rest = bytes;
    let Some(count) = layout::take_i32(&mut rest).and_then(|count| u32::try_from(count).ok()) else {
        return Err(short);
    };
    // Each round takes at least four bytes, so a lying count ends the loop with the bytes.
    let mut has_null = false;
    for _ in 0..count {
        for ty in parts {
            match layout::take_value(&mut rest) {
                None => return Err(short),
                Some(None) => has_null = true,
                Some(Some(part)) => validate_rest(ty, part, depth + 1)?,
            }
        }
    }
    match (rest.is_empty(), has_null) {
        (false, _) => Err(ValueError::CollectionLong { container }),
        (true, true) => Err(ValueError::NullElement),
        (true, false) => Ok(()),
    }
}

fn take_field<'a>(rest: &mut &'a [u8], position: usize, field: impl Fn() -> FieldName) -> Result<Option<&'a [u8]>, ValueError> {
    if rest.len() < 4 {
        return Err(ValueError::FieldSizeShort { position, field: field() });
    }
    layout::take_value(rest).ok_or_else(|| ValueError::FieldShort { position, field: field() })
}

fn vector(ty: &DataType, element: &DataType, dimension: u32, bytes: &[u8], depth: usize) -> Result<(), ValueError> {
    if bytes.is_empty() {
        return Err(ValueError::VectorEmpty);
    }
    let mut parts = layout::vector_elements(element, dimension, bytes);
    if let Some(size) = layout::fixed_length(element) {
        let needed = size.saturating_mul(dimension as usize);
        if bytes.len() < needed {
            return Err(ValueError::VectorShort { ty: ty.clone() });
        }
        if bytes.len() > needed {
            return Err(ValueError::VectorLong { ty: ty.clone(), extra: bytes.len() - needed });
        }
        // Any bytes of the right number are a number; only these types look at more.
        if !matches!(element, DataType::TimeUuid | DataType::Vector(..)) {
            return Ok(());
        }
    }
    // Each round takes at least one byte, so the bytes end the loop, however large the dimension is.
    for _ in 0..dimension {
        let part = parts.next().ok_or_else(|| ValueError::VectorShort { ty: ty.clone() })?;
        validate_rest(element, part, depth + 1)?;
    }
    match parts.rest().len() {
        0 => Ok(()),
        extra => Err(ValueError::VectorLong { ty: ty.clone(), extra }),
    }
}
