//! Times of the Gregorian calendar in UTC, as milliseconds since 1970.

use crate::{ErrorCode, GridError};

const DAY_MS: i64 = 86_400_000;
/// The largest timestamp: the end of the year 9999.
pub(super) const TIMESTAMP_MAX_MS: i64 = 253_402_300_799_999;

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
}

impl TimeUnit {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Year, "YEAR"),
        (Self::Month, "MONTH"),
        (Self::Day, "DAY"),
        (Self::Hour, "HOUR"),
        (Self::Minute, "MINUTE"),
        (Self::Second, "SECOND"),
        (Self::Millisecond, "MILLISECOND"),
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

    /// Milliseconds; none for units of the calendar.
    pub(super) fn length_ms(self) -> Option<i64> {
        match self {
            Self::Year | Self::Month => None,
            Self::Day => Some(DAY_MS),
            Self::Hour => Some(3_600_000),
            Self::Minute => Some(60_000),
            Self::Second => Some(1_000),
            Self::Millisecond => Some(1),
        }
    }
}

/// Refuses a time that no container holds.
pub(super) fn check_time(time_ms: Option<i64>) -> Result<i64, GridError> {
    let invalid = || GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE, "a time is not between the years 1970 and 9999");
    time_ms.filter(|time_ms| (0..=TIMESTAMP_MAX_MS).contains(time_ms)).ok_or_else(invalid)
}

/// A time so many units later; none if it does not fit. The day of a month is at most the month's last.
pub(super) fn add(unit: TimeUnit, time_ms: i64, count: i64) -> Option<i64> {
    if let Some(length_ms) = unit.length_ms() {
        return time_ms.checked_add(count.checked_mul(length_ms)?);
    }
    let months = if unit == TimeUnit::Year { count.checked_mul(12)? } else { count };
    let (year, month, day) = date_of(time_ms.div_euclid(DAY_MS));
    let month = year.checked_mul(12)?.checked_add(month - 1)?.checked_add(months)?;
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    if !(0..=9_999).contains(&year) {
        return None;
    }
    Some(days_of(year, month, day.min(days_in(year, month))) * DAY_MS + time_ms.rem_euclid(DAY_MS))
}

/// Whole units from the second time to the first.
pub(super) fn difference(unit: TimeUnit, later_ms: i64, earlier_ms: i64) -> i64 {
    if let Some(length_ms) = unit.length_ms() {
        return later_ms.saturating_sub(earlier_ms) / length_ms;
    }
    if later_ms < earlier_ms {
        return -difference(unit, earlier_ms, later_ms);
    }
    let months_of = |time_ms: i64| {
        let (year, month, day) = date_of(time_ms.div_euclid(DAY_MS));
        (year * 12 + month, (day, time_ms.rem_euclid(DAY_MS)))
    };
    let ((later, later_rest), (earlier, earlier_rest)) = (months_of(later_ms), months_of(earlier_ms));
    let months = later - earlier - i64::from(later_rest < earlier_rest);
    if unit == TimeUnit::Year { months / 12 } else { months }
}

/// Reads `YYYY-MM-DDThh:mm:ss[.SSS](Z|±hh:mm|±hhmm)`.
pub(super) fn parse_timestamp_ms(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once('T')?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let (clock, offset_ms) = split_zone(rest)?;
    let (clock, milliseconds) = match clock.split_once('.') {
        Some((clock, digits)) => (clock, number(digits, 3)?),
        None => (clock, 0),
    };
    let mut parts = clock.splitn(3, ':');
    let (hour, minute, second) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let is_valid = (1..=12).contains(&month) && hour < 24 && minute < 60 && second < 60;
    if !is_valid || day < 1 || day > days_in(year, month) {
        return None;
    }
    let day_ms = ((hour * 60 + minute) * 60 + second) * 1_000 + milliseconds;
    Some(days_of(year, month, day) * DAY_MS + day_ms - offset_ms)
}

fn split_zone(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let at = text.rfind(['+', '-'])?;
    let (clock, zone) = text.split_at(at);
    let digits = zone[1..].replace(':', "");
    let (hours, minutes) = (number(digits.get(..2)?, 2)?, number(digits.get(2..)?, 2)?);
    let offset_ms = (hours * 60 + minutes) * 60_000;
    (hours < 24 && minutes < 60).then_some((clock, if zone.starts_with('-') { -offset_ms } else { offset_ms }))
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
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}
