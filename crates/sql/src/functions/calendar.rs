//! Units of time, and what they make of a time: of what its calendar and clock say, as if it were of UTC.

use super::declaring::wrong;
use crate::time::{self, Moment, Parts};
use rusqlite::Result;
use rusqlite::functions::Context;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    DayOfWeek,
    DayOfYear,
}

const UNITS: [(&str, Unit); 11] = [
    ("YEAR", Unit::Year),
    ("MONTH", Unit::Month),
    ("DAY", Unit::Day),
    ("HOUR", Unit::Hour),
    ("MINUTE", Unit::Minute),
    ("SECOND", Unit::Second),
    ("MILLISECOND", Unit::Millisecond),
    ("MICROSECOND", Unit::Microsecond),
    ("NANOSECOND", Unit::Nanosecond),
    ("DAY_OF_WEEK", Unit::DayOfWeek),
    ("DAY_OF_YEAR", Unit::DayOfYear),
];

pub(super) fn unit_at(context: &Context<'_>) -> Result<Unit> {
    let name = context.get::<String>(0)?;
    let known = UNITS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)).map(|(_, unit)| *unit);
    known.ok_or_else(|| wrong(&format!("{name} is no unit of time")))
}

/// How many nanoseconds a unit has that has always the same length.
fn length_ns(unit: Unit) -> Option<i64> {
    Some(match unit {
        Unit::Day => 86_400_000_000_000,
        Unit::Hour => 3_600_000_000_000,
        Unit::Minute => 60_000_000_000,
        Unit::Second => 1_000_000_000,
        Unit::Millisecond => 1_000_000,
        Unit::Microsecond => 1_000,
        Unit::Nanosecond => 1,
        Unit::Year | Unit::Month | Unit::DayOfWeek | Unit::DayOfYear => return None,
    })
}

pub(super) fn add(unit: Unit, moment: Moment, count: i64) -> Option<Moment> {
    if let Some(length_ns) = length_ns(unit) {
        return Moment::of_total_ns(moment.total_ns() + i128::from(length_ns) * i128::from(count));
    }
    let months = match unit {
        Unit::Year => count.checked_mul(12)?,
        Unit::Month => count,
        _ => return None,
    };
    let Parts { year, month, day, ms } = time::parts(moment.ms);
    let first = time::parts(time::of_parts(Parts { year, month: month.checked_add(months)?, day: 1, ms })?);
    // The last day of a shorter month.
    let ms = time::of_parts(Parts { day: day.min(time::days_of_month(first.year, first.month)), ..first })?;
    Some(Moment { ms, ..moment })
}

pub(super) fn difference(unit: Unit, later: Moment, earlier: Moment) -> Result<i64> {
    if let Some(length_ns) = length_ns(unit) {
        let too_many = || wrong("the times are too far from each other for so small a unit");
        return i64::try_from((later.total_ns() - earlier.total_ns()) / i128::from(length_ns)).map_err(|_| too_many());
    }
    let months = whole_months(later, earlier);
    match unit {
        Unit::Year => Ok(months / 12),
        Unit::Month => Ok(months),
        _ => Err(wrong("such a unit has no difference")),
    }
}

/// Months that are over between two times: from a day's clock to the same of another month.
fn whole_months(later: Moment, earlier: Moment) -> i64 {
    let (last, first) = (time::parts(later.ms), time::parts(earlier.ms));
    let months = (last.year - first.year) * 12 + last.month - first.month;
    let rest = (last.day, last.ms, later.ns).cmp(&(first.day, first.ms, earlier.ns));
    match months {
        months if months > 0 && rest.is_lt() => months - 1,
        months if months < 0 && rest.is_gt() => months + 1,
        months => months,
    }
}

pub(super) fn truncate(unit: Unit, moment: Moment) -> Option<Moment> {
    if let Some(length_ns) = length_ns(unit) {
        let total_ns = moment.total_ns();
        return Moment::of_total_ns(total_ns - total_ns.rem_euclid(i128::from(length_ns)));
    }
    let parts = time::parts(moment.ms);
    let ms = match unit {
        Unit::Year => time::of_parts(Parts { month: 1, day: 1, ms: 0, ..parts }),
        Unit::Month => time::of_parts(Parts { day: 1, ms: 0, ..parts }),
        _ => None,
    };
    ms.map(Moment::of_ms)
}

pub(super) fn extract(unit: Unit, moment: Moment) -> i64 {
    let Parts { year, month, day, ms } = time::parts(moment.ms);
    let days = |time_ms: i64| time_ms.div_euclid(86_400_000);
    let of_second_ns = ms % 1_000 * 1_000_000 + i64::from(moment.ns);
    match unit {
        Unit::Year => year,
        Unit::Month => month,
        Unit::Day => day,
        Unit::Hour => ms / 3_600_000,
        Unit::Minute => ms / 60_000 % 60,
        Unit::Second => ms / 1_000 % 60,
        Unit::Millisecond => ms % 1_000,
        Unit::Microsecond => of_second_ns / 1_000,
        Unit::Nanosecond => of_second_ns,
        // 1970 began on a Thursday; Sunday is 0.
        Unit::DayOfWeek => (days(moment.ms) + 4).rem_euclid(7),
        Unit::DayOfYear => {
            let first = time::of_parts(Parts { year, month: 1, day: 1, ms: 0 }).unwrap_or(moment.ms);
            days(moment.ms) - days(first) + 1
        }
    }
}

/// The week of the year whose first one begins with its first Monday; 0 before.
pub(super) fn week(moment: Moment) -> i64 {
    let day_of_week = extract(Unit::DayOfWeek, moment);
    // Days since Monday.
    let since = (day_of_week + 6) % 7;
    (extract(Unit::DayOfYear, moment) - 1 - since + 7) / 7
}
