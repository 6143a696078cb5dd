//! Times of the Gregorian calendar in UTC.

use crate::instant::{Instant, Precision};
use crate::{ErrorCode, GridError};

const DAY_US: i64 = 86_400_000_000;

/// A unit of time, numbered as in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the protocol")]
pub enum TimeUnit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl TimeUnit {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Year, "YEAR"),
        (Self::Month, "MONTH"),
        (Self::Day, "DAY"),
        (Self::Hour, "HOUR"),
        (Self::Minute, "MINUTE"),
        (Self::Second, "SECOND"),
        (Self::Millisecond, "MILLISECOND"),
        (Self::Microsecond, "MICROSECOND"),
        (Self::Nanosecond, "NANOSECOND"),
    ];

    /// The unit of a number.
    ///
    /// # Errors
    /// There is none, or none that is served.
    pub fn of_wire(number: u8) -> Result<Self, GridError> {
        let unit = Self::ALL.get(usize::from(number)).map(|(unit, _)| *unit);
        unit.ok_or(GridError::malformed("a unit of time that is not known"))
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(unit, _)| *unit)
    }

    /// Nanoseconds; none for units of the calendar.
    fn length_ns(self) -> Option<i64> {
        match self {
            Self::Year | Self::Month => None,
            Self::Day => Some(DAY_US * 1_000),
            Self::Hour => Some(3_600_000_000_000),
            Self::Minute => Some(60_000_000_000),
            Self::Second => Some(1_000_000_000),
            Self::Millisecond => Some(1_000_000),
            Self::Microsecond => Some(1_000),
            Self::Nanosecond => Some(1),
        }
    }

    /// Milliseconds; none for units of the calendar, and for shorter ones.
    pub(super) fn length_ms(self) -> Option<i64> {
        self.length_ns().map(|length_ns| length_ns / 1_000_000).filter(|length_ms| *length_ms > 0)
    }
}

/// Refuses a time that no container holds.
pub(super) fn check_time(time: Option<Instant>) -> Result<Instant, GridError> {
    let invalid = || GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE, "a time is not between the years 1970 and 9999");
    time.filter(|time| time.is_valid()).ok_or_else(invalid)
}

/// A time so many units later; none if it does not fit. The day of a month is at most the month's last.
pub(super) fn add(unit: TimeUnit, time: Instant, count: i64) -> Option<Instant> {
    if let Some(length_ns) = unit.length_ns() {
        return Instant::of_total_ns(time.total_ns() + i128::from(length_ns) * i128::from(count));
    }
    let months = if unit == TimeUnit::Year { count.checked_mul(12)? } else { count };
    let (year, month, day) = date_of(time.us.div_euclid(DAY_US));
    let month = year.checked_mul(12)?.checked_add(month - 1)?.checked_add(months)?;
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    if !(0..=9_999).contains(&year) {
        return None;
    }
    let us = days_of(year, month, day.min(days_in(year, month))) * DAY_US + time.us.rem_euclid(DAY_US);
    Some(Instant { us, ..time })
}

/// Whole units from the second time to the first.
pub(super) fn difference(unit: TimeUnit, later: Instant, earlier: Instant) -> i64 {
    if let Some(length_ns) = unit.length_ns() {
        let units = (later.total_ns() - earlier.total_ns()) / i128::from(length_ns);
        return i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX });
    }
    if later < earlier {
        return -difference(unit, earlier, later);
    }
    let months_of = |time: Instant| {
        let (year, month, day) = date_of(time.us.div_euclid(DAY_US));
        (year * 12 + month, (day, time.us.rem_euclid(DAY_US), time.ns))
    };
    let ((later, later_rest), (earlier, earlier_rest)) = (months_of(later), months_of(earlier));
    let months = later - earlier - i64::from(later_rest < earlier_rest);
    if unit == TimeUnit::Year { months / 12 } else { months }
}

/// Reads `YYYY-MM-DDThh:mm:ss[.SSS](Z|±hh:mm|±hhmm)`, with six digits of a second or nine as well where the precision is that of them.
pub(super) fn parse_timestamp(text: &str, precision: Precision) -> Option<Instant> {
    let (date, rest) = text.split_once('T')?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let (clock, offset_us) = split_zone(rest)?;
    let (clock, of_second_ns) = match clock.split_once('.') {
        Some((clock, digits)) => (clock, nanoseconds(digits, precision)?),
        None => (clock, 0),
    };
    let mut parts = clock.splitn(3, ':');
    let (hour, minute, second) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let is_valid = (1..=12).contains(&month) && hour < 24 && minute < 60 && second < 60;
    if !is_valid || day < 1 || day > days_in(year, month) {
        return None;
    }
    let day_us = ((hour * 60 + minute) * 60 + second) * 1_000_000 + of_second_ns / 1_000;
    Some(Instant { us: days_of(year, month, day) * DAY_US + day_us - offset_us, ns: (of_second_ns % 1_000) as u16 })
}

/// The digits after a second's point.
fn nanoseconds(digits: &str, precision: Precision) -> Option<i64> {
    match digits.len() {
        3 => Some(number(digits, 3)? * 1_000_000),
        6 if precision >= Precision::Micro => Some(number(digits, 6)? * 1_000),
        9 if precision >= Precision::Nano => number(digits, 9),
        _ => None,
    }
}

fn split_zone(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let at = text.rfind(['+', '-'])?;
    let (clock, zone) = text.split_at(at);
    let digits = zone[1..].replace(':', "");
    let (hours, minutes) = (number(digits.get(..2)?, 2)?, number(digits.get(2..)?, 2)?);
    let offset_us = (hours * 60 + minutes) * 60_000_000;
    (hours < 24 && minutes < 60).then_some((clock, if zone.starts_with('-') { -offset_us } else { offset_us }))
}

fn number(digits: &str, count: usize) -> Option<i64> {
    (digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970 of a date. A year begins in March here, so that a leap day ends it.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// Year, month and day of a number of days since 1970.
pub(super) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}
