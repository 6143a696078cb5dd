//! Functions of time: timeuuids and their parts, conversions between date, timestamp and timeuuid, sums with durations, `floor`.

use super::{FunctionError, Operator};
use crate::value::calendar::{DAY_MILLISECONDS, Date};
use crate::value::{text, validate};
use model::DataType;

/// From the beginning of UUID time, 1582-10-15, to 1970-01-01.
const UUID_EPOCH_MILLISECONDS: i64 = 12_219_292_800_000;
/// UUID time counts 100 ns.
const TICKS_PER_MILLISECOND: i64 = 10_000;

/// The version 1 UUID of a time in ticks of 100 ns since 1582-10-15, of which 60 bits count.
pub(super) fn timeuuid(ticks: u64, clock_and_node: u64) -> [u8; 16] {
    let (low, middle, high) = (ticks & 0xFFFF_FFFF, (ticks >> 32) & 0xFFFF, (ticks >> 48) & 0x0FFF);
    let first = (low << 32) | (middle << 16) | 0x1000 | high;
    ((u128::from(first) << 64) | u128::from(clock_and_node)).to_be_bytes()
}

/// The timeuuid of a time in tenths of microseconds since 1970. `nonce` tells it from others of the same time.
pub(crate) fn timeuuid_at(tenths: i64, nonce: u64) -> [u8; 16] {
    // The variant of RFC 9562, and the multicast bit of a node that is no network card.
    timeuuid(ticks(0).wrapping_add(tenths as u64), (nonce & !(0b11 << 62)) | (1 << 63) | (1 << 40))
}

/// The ticks of a millisecond since 1970.
pub(super) fn ticks(milliseconds: i64) -> u64 {
    milliseconds.wrapping_add(UUID_EPOCH_MILLISECONDS).wrapping_mul(TICKS_PER_MILLISECOND) as u64
}

/// The smallest possible timeuuid of a millisecond in Cassandra's order, which compares the second half as signed bytes.
pub(super) fn min_timeuuid(milliseconds: i64) -> [u8; 16] {
    timeuuid(ticks(milliseconds), 0x8080_8080_8080_8080)
}

/// The largest possible timeuuid of a millisecond.
pub(super) fn max_timeuuid(milliseconds: i64) -> [u8; 16] {
    timeuuid(ticks(milliseconds).wrapping_add(9_999), 0x7F7F_7F7F_7F7F_7F7F)
}

/// The milliseconds since 1970 that a date, timestamp or timeuuid says.
pub(super) fn milliseconds(ty: &DataType, wire: &[u8]) -> Result<i64, FunctionError> {
    let not_a_value = FunctionError::NotAValue;
    Ok(match ty {
        DataType::Date => (i64::from(u32::from_be_bytes(wire.try_into().map_err(|_| not_a_value)?)) - (1 << 31)) * DAY_MILLISECONDS,
        DataType::TimeUuid => {
            let first = (u128::from_be_bytes(wire.try_into().map_err(|_| not_a_value)?) >> 64) as u64;
            let ticks = ((first & 0x0FFF) << 48) | ((first & 0xFFFF_0000) << 16) | (first >> 32);
            ticks as i64 / TICKS_PER_MILLISECOND - UUID_EPOCH_MILLISECONDS
        }
        _ => i64::from_be_bytes(wire.try_into().map_err(|_| not_a_value)?),
    })
}

/// The day of a millisecond, as a date counts days. Cassandra cuts towards zero, so that the last day of 1969 is 1970-01-01; here it is
/// 1969-12-31. Days beyond the last date wrap around.
pub(super) fn date(milliseconds: i64) -> u32 {
    milliseconds.div_euclid(DAY_MILLISECONDS).wrapping_add(1 << 31) as u32
}

/// Appends a timestamp or date plus or minus a duration.
pub(super) fn shift(operator: Operator, ty: &DataType, wire: &[u8], duration: &[u8], out: &mut Vec<u8>) -> Result<(), FunctionError> {
    let (months, days, nanoseconds) = validate::duration(duration).map_err(|_| FunctionError::NotAValue)?;
    let is_date = *ty == DataType::Date;
    let precision = if is_date { DAY_MILLISECONDS * 1_000_000 } else { 1_000_000 };
    // A date takes whole days only, in the days' field.
    if (is_date && nanoseconds != 0) || nanoseconds % precision != 0 {
        let mut shown = String::new();
        text::write_plain(&DataType::Duration, duration, &mut shown);
        return Err(if is_date {
            FunctionError::DayPrecision { operator, duration: shown.into() }
        } else {
            FunctionError::MillisecondPrecision { operator, duration: shown.into() }
        });
    }
    let sign = if operator == Operator::Subtract { -1 } else { 1 };
    let start = milliseconds(ty, wire)?;
    let moved = plus(start, sign * i64::from(months), sign * i64::from(days), sign * (nanoseconds / 1_000_000));
    if is_date {
        out.extend_from_slice(&date(moved).to_be_bytes());
    } else {
        out.extend_from_slice(&moved.to_be_bytes());
    }
    Ok(())
}

/// Months first, keeping to the end of the month, then days and milliseconds. Wraps around at the ends of time.
fn plus(milliseconds: i64, months: i64, days: i64, rest: i64) -> i64 {
    let date = Date::from_days(milliseconds.div_euclid(DAY_MILLISECONDS));
    let moved = if months == 0 { date } else { date.plus_months(months) };
    let total = moved.days().wrapping_add(days).wrapping_mul(DAY_MILLISECONDS);
    total.wrapping_add(milliseconds.rem_euclid(DAY_MILLISECONDS)).wrapping_add(rest)
}

/// Appends the beginning of the window that a time lies in: the last start + k × duration that is not after it.
///
/// Deviation: with months in the duration, Cassandra can answer a time after the given one; this never does.
pub(super) fn floor(ty: &DataType, wire: &[u8], duration: &[u8], start: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), FunctionError> {
    let (months, days, nanoseconds) = validate::duration(duration).map_err(|_| FunctionError::NotAValue)?;
    if months < 0 || days < 0 || nanoseconds < 0 {
        return Err(FunctionError::NegativeFloor);
    }
    let shown = || {
        let mut text = String::new();
        text::write_plain(&DataType::Duration, duration, &mut text);
        text.into_boxed_str()
    };
    if *ty == DataType::Time {
        if months != 0 || days != 0 {
            return Err(FunctionError::FloorOfTime);
        }
        let time = i64::from_be_bytes(wire.try_into().map_err(|_| FunctionError::NotAValue)?);
        let floor = if nanoseconds == 0 { time } else { time - time % nanoseconds };
        out.extend_from_slice(&floor.to_be_bytes());
        return Ok(());
    }
    let is_date = *ty == DataType::Date;
    if is_date && nanoseconds != 0 {
        return Err(FunctionError::FloorOfDate { duration: shown() });
    }
    if nanoseconds % 1_000_000 != 0 {
        return Err(FunctionError::FloorPrecision { duration: shown() });
    }
    let time = milliseconds(ty, wire)?;
    let start_type = if is_date { DataType::Date } else { DataType::Timestamp };
    let start = start.map_or(Ok(0), |start| milliseconds(&start_type, start))?;
    if start > time {
        return Err(FunctionError::FloorBeforeStart);
    }
    let floor = window(time, start, i64::from(months), i64::from(days), nanoseconds / 1_000_000);
    if is_date {
        out.extend_from_slice(&date(floor).to_be_bytes());
    } else {
        out.extend_from_slice(&floor.to_be_bytes());
    }
    Ok(())
}

fn window(time: i64, start: i64, months: i64, days: i64, milliseconds: i64) -> i64 {
    let at_least = (i128::from(months) * 28 + i128::from(days)) * i128::from(DAY_MILLISECONDS) + i128::from(milliseconds);
    if at_least == 0 {
        return time;
    }
    let distance = i128::from(time) - i128::from(start);
    if months == 0 {
        return (i128::from(time) - distance % at_least) as i64;
    }
    // The k-th window begins no earlier than k × at_least, so the last one is not beyond this.
    let (mut low, mut high) = (0_i64, (distance / at_least) as i64 + 1);
    let begin = |k: i64| plus(start, k * months, k * days, k * milliseconds);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if begin(middle) <= time {
            low = middle;
        } else {
            high = middle;
        }
    }
    begin(low)
}
