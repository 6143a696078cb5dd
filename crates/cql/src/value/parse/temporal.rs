//! Dates, times of day and timestamps.

use super::{Excerpt, Form, ParseError};
use crate::value::calendar::{DAY_MILLISECONDS, Date};
use crate::value::validate::DAY_NANOSECONDS;

/// Offsets of time zones go this far.
const ZONE_MINUTES_MAX: i64 = 18 * 60;

/// `yyyy-mm-dd` or a number of days, as days with 1970-01-01 at 2³¹.
pub(super) fn date(text: &str) -> Result<u32, ParseError> {
    if is_number(text) {
        return match text.parse::<i64>().ok().and_then(|days| u32::try_from(days).ok()) {
            Some(days) => Ok(days),
            None => Err(ParseError::unreadable(Form::Days, text)),
        };
    }
    let mut rest = text;
    match take_date(&mut rest) {
        Some(date) if rest.is_empty() && date.exists() => {
            let shifted = date.days() + (1 << 31);
            match u32::try_from(shifted) {
                Ok(days) => Ok(days),
                Err(_) if shifted < 0 => Err(ParseError::DateTooEarly { text: Excerpt::new(text) }),
                Err(_) => Err(ParseError::DateTooLate { text: Excerpt::new(text) }),
            }
        }
        _ => Err(ParseError::unreadable(Form::Date, text)),
    }
}

/// `hh:mm:ss[.fffffffff]` or a number of nanoseconds.
pub(super) fn time(text: &str) -> Result<i64, ParseError> {
    if is_number(text) {
        let nanoseconds = text.parse().ok().filter(|nanoseconds| (0..DAY_NANOSECONDS).contains(nanoseconds));
        return nanoseconds.ok_or_else(|| ParseError::unreadable(Form::Nanoseconds, text));
    }
    clock(text.trim()).ok_or_else(|| ParseError::unreadable(Form::Time, text))
}

fn clock(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let (whole, nanos) = match seconds.split_once('.') {
        Some((_, "")) => return None,
        Some((whole, fraction)) => (whole, nanoseconds(fraction)?),
        None => (seconds, 0),
    };
    let (hours, minutes, seconds) = (digits(hours)?, digits(minutes)?, digits(whole)?);
    let valid = hours < 24 && minutes < 60 && seconds < 60;
    valid.then(|| ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos)
}

/// Milliseconds, or a date with an optional time and zone.
pub(super) fn timestamp(text: &str) -> Result<i64, ParseError> {
    if is_number(text) {
        return text.parse().map_err(|_| ParseError::unreadable(Form::Milliseconds, text));
    }
    moment(text).ok_or_else(|| ParseError::unreadable(Form::Timestamp, text))
}

/// `yyyy-mm-dd[( |T)hh:mm[:ss[.fffffffff]]][[ ]zone]`
fn moment(text: &str) -> Option<i64> {
    let mut rest = text;
    let date = take_date(&mut rest)?;
    // A day that the month does not have is taken for its last, as in Cassandra.
    let mut milliseconds = i128::from(date.plus_months(0).days()) * i128::from(DAY_MILLISECONDS);
    if let Some(after) = rest.strip_prefix(['T', ' '])
        && after.starts_with(|c: char| c.is_ascii_digit())
    {
        rest = after;
        milliseconds += i128::from(take_clock(&mut rest)?);
    }
    i64::try_from(milliseconds - i128::from(zone(rest)? * 60_000)).ok()
}

fn take_clock(rest: &mut &str) -> Option<i64> {
    let hours = digits(take_digits(rest))?;
    *rest = rest.strip_prefix(':')?;
    let minutes = digits(take_digits(rest))?;
    let mut seconds = 0;
    let mut nanos = 0;
    if let Some(after) = rest.strip_prefix(':') {
        *rest = after;
        seconds = digits(take_digits(rest))?;
        if let Some(after) = rest.strip_prefix('.') {
            *rest = after;
            nanos = nanoseconds(take_digits(rest))?;
        }
    }
    // The end of a day is the beginning of the next one.
    let valid = (hours < 24 && minutes < 60 && seconds < 60) || (hours, minutes, seconds, nanos) == (24, 0, 0, 0);
    valid.then(|| ((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos / 1_000_000)
}

/// Minutes east of Greenwich: `Z`, `+hh[[:]mm]` or a name of the zero zone after a space.
fn zone(text: &str) -> Option<i64> {
    let name = text.strip_prefix(' ').unwrap_or(text);
    match name {
        "" if text.is_empty() => return Some(0),
        "Z" | "z" => return Some(0),
        "UTC" | "GMT" | "UT" if text.len() > name.len() => return Some(0),
        _ => {}
    }
    let sign = match name.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let offset = &name[1..];
    let (hours, minutes) = match offset.len() {
        2 => (offset, "00"),
        4 if offset.is_ascii() => offset.split_at(2),
        5 => offset.split_once(':').filter(|(hours, _)| hours.len() == 2)?,
        _ => return None,
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    let total = hours * 60 + minutes;
    (minutes < 60 && total <= ZONE_MINUTES_MAX).then_some(sign * total)
}

/// `[+|-]yyyy-mm-dd`: four digits of year, or more with a sign; month and day in range, whether or not the month has the day.
fn take_date(rest: &mut &str) -> Option<Date> {
    let sign = rest.as_bytes().first().copied().filter(|byte| matches!(byte, b'+' | b'-'));
    let mut cursor = rest.get(usize::from(sign.is_some())..)?;
    let year_digits = take_digits(&mut cursor);
    let year = digits(year_digits)?;
    let shape = match sign {
        None => year_digits.len() == 4,
        Some(b'+') => (5..=9).contains(&year_digits.len()),
        Some(_) => (4..=9).contains(&year_digits.len()) && year > 0,
    };
    let month = take_two_digits(&mut cursor)?;
    let day = take_two_digits(&mut cursor)?;
    if !shape || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    *rest = cursor;
    Some(Date { year: if sign == Some(b'-') { -year } else { year }, month, day })
}

/// A dash and two digits.
fn take_two_digits(rest: &mut &str) -> Option<u8> {
    let after = rest.strip_prefix('-')?;
    let value = after.get(..2).and_then(digits)?;
    *rest = &after[2..];
    Some(value as u8)
}

fn take_digits<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits
}

/// The number that up to nine digits say.
fn digits(text: &str) -> Option<i64> {
    let plain = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// A fraction of a second of up to nine digits.
fn nanoseconds(fraction: &str) -> Option<i64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let value = digits(fraction)?;
    Some(value * 10_i64.pow(9 - fraction.len() as u32))
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
