//! Times since 1970, in UTC: as texts, and in parts. Most are milliseconds; a [`Moment`] has nanoseconds, too.

use std::ops::RangeInclusive;

const DAY_MS: i64 = 86_400_000;

/// The years 0 to 9999.
const COMPARABLE_MS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Nanoseconds of a millisecond.
const MS_NS: i128 = 1_000_000;

/// A time, to the nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Milliseconds.
    pub ms: i64,
    /// Nanoseconds beyond them: 0 to 999,999.
    pub ns: u32,
}

impl Moment {
    /// A time of whole milliseconds.
    #[must_use]
    pub fn of_ms(ms: i64) -> Self {
        Self { ms, ns: 0 }
    }

    /// The time of so many nanoseconds; none if it does not fit.
    #[must_use]
    pub fn of_total_ns(total_ns: i128) -> Option<Self> {
        Some(Self { ms: i64::try_from(total_ns.div_euclid(MS_NS)).ok()?, ns: total_ns.rem_euclid(MS_NS) as u32 })
    }

    /// Nanoseconds.
    #[must_use]
    pub fn total_ns(self) -> i128 {
        i128::from(self.ms) * MS_NS + i128::from(self.ns)
    }

    /// Reads a time as [`parse`] does, with as many digits of a second as nanoseconds have.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_in(text, 0)
    }

    /// The same of a text that may have no time zone, and is of this one then.
    pub(crate) fn parse_in(text: &str, zone_ms: i64) -> Option<Self> {
        let (local, own_ms) = Self::parse_local(text)?;
        local.checked_add_ms(-own_ms.unwrap_or(zone_ms))
    }

    /// What calendar and clock of a text say, and its time zone if it has one. A clock alone is of the first day.
    pub(crate) fn parse_local(text: &str) -> Option<(Self, Option<i64>)> {
        let text = text.trim();
        if text.as_bytes().get(2) == Some(&b':') {
            let (clock, zone_ms) = zone(text)?;
            let (ms, ns) = clock_ms(clock)?;
            return Some((Self { ms, ns }, zone_ms));
        }
        let (date, rest) = text.split_at_checked(10)?;
        let mut fields = date.split('-');
        let (year, month, day) = (number(fields.next()?, 4)?, number(fields.next()?, 2)?, number(fields.next()?, 2)?);
        if fields.next().is_some() || !(1..=12).contains(&month) || !(1..=days_of_month(year, month)).contains(&day) {
            return None;
        }
        let (clock, zone_ms) = match rest.strip_prefix(['T', 't', ' ']) {
            None if rest.is_empty() => ("00:00", None),
            None if rest.eq_ignore_ascii_case("z") => ("00:00", Some(0)),
            None => return None,
            Some(clock) => zone(clock)?,
        };
        let (ms, ns) = clock_ms(clock)?;
        Some((Self { ms: of_parts(Parts { year, month, day, ms })?, ns }, zone_ms))
    }

    /// So many milliseconds later.
    pub(crate) fn checked_add_ms(self, ms: i64) -> Option<Self> {
        Some(Self { ms: self.ms.checked_add(ms)?, ..self })
    }

    /// The time as a text of a time zone, with so many digits of a second.
    pub(crate) fn format_in(self, zone_ms: i64, digits: usize) -> String {
        let text = Self { ms: self.ms.saturating_add(zone_ms), ..self }.format();
        // Of `….123456789Z`.
        let end = text.len() - 1 - (9 - digits.min(9));
        format!("{}{}", &text[..end], format_zone(zone_ms))
    }

    /// Whether its text compares as it does.
    pub(crate) fn has_comparable_text(self) -> bool {
        COMPARABLE_MS.contains(&self.ms)
    }

    /// The time as a text with nine digits of a second: such texts compare as the times do, from the year 0 to 9999.
    #[must_use]
    pub fn format(self) -> String {
        let text = format(self.ms);
        format!("{}{:06}Z", text.trim_end_matches('Z'), self.ns)
    }
}

/// A time in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The year.
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// From 1.
    pub day: i64,
    /// Of the day.
    pub ms: i64,
}

/// The parts of a time.
#[must_use]
pub fn parts(time_ms: i64) -> Parts {
    let (days, ms) = (time_ms.div_euclid(DAY_MS), time_ms.rem_euclid(DAY_MS));
    // From March on, so that the day that is not always there is the last of a year; in eras of 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    Parts { year: year_of_era + era * 400 + i64::from(month <= 2), month, day, ms }
}

/// The time of these parts; months beyond 1 to 12 are of other years.
#[must_use]
pub fn of_parts(Parts { year, month, day, ms }: Parts) -> Option<i64> {
    let month0 = month.checked_sub(1)?;
    let (year, month) = (year.checked_add(month0.div_euclid(12))?, month0.rem_euclid(12) + 1);
    if !(-100_000..=100_000).contains(&year) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    (era * 146_097 + of_era - 719_468).checked_mul(DAY_MS)?.checked_add(ms)
}

/// The last day of a month.
#[must_use]
pub fn days_of_month(year: i64, month: i64) -> i64 {
    let first = |month| of_parts(Parts { year, month, day: 1, ms: 0 });
    first(month + 1).zip(first(month)).map_or(31, |(next, this)| (next - this) / DAY_MS)
}

/// The time that a text tells: `2024-02-29`, with `T` or a space and `12:34`, `:56`, `.789`, and with `Z` or an offset as `+09:00`. What is less than
/// a millisecond is left out.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    Moment::parse(text).map(|moment| moment.ms)
}

/// How many digits a text has behind the point of its second.
pub(crate) fn fraction_digits(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, fraction)| fraction.bytes().take_while(u8::is_ascii_digit).count())
}

/// The clock of a text, and its time zone if it has one.
fn zone(text: &str) -> Option<(&str, Option<i64>)> {
    let at = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let (clock, zone) = text.split_at(at);
    if zone.is_empty() { Some((clock, None)) } else { Some((clock, Some(zone_ms(zone)?))) }
}

/// How much later clocks of a time zone are than those of UTC: `Z`, `+09:00` or `+0900`.
pub(crate) fn zone_ms(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (is_negative, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (false, digits),
        ("-", digits) => (true, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':').or_else(|| digits.split_at_checked(2))?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let offset_ms = (hours * 60 + minutes) * 60_000;
    (hours < 24 && minutes < 60).then_some(if is_negative { -offset_ms } else { offset_ms })
}

/// A time zone as a text.
pub(crate) fn format_zone(zone_ms: i64) -> String {
    let minutes = zone_ms.abs() / 60_000;
    match zone_ms {
        0 => "Z".to_owned(),
        _ => format!("{}{:02}:{:02}", if zone_ms < 0 { '-' } else { '+' }, minutes / 60, minutes % 60),
    }
}

/// Milliseconds of a clock, and nanoseconds beyond them.
fn clock_ms(text: &str) -> Option<(i64, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut fields = whole.split(':');
    let (hour, minute) = (number(fields.next()?, 2)?, number(fields.next()?, 2)?);
    let second = fields.next().map_or(Some(0), |second| number(second, 2))?;
    if fields.next().is_some() || hour > 23 || minute > 59 || second > 59 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let of_second_ns = format!("{fraction:0<9}").get(..9)?.parse::<i64>().ok()?;
    Some((((hour * 60 + minute) * 60 + second) * 1_000 + of_second_ns / 1_000_000, (of_second_ns % 1_000_000) as u32))
}

fn number(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// A time as a text.
#[must_use]
pub fn format(time_ms: i64) -> String {
    let Parts { year, month, day, ms } = parts(time_ms);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back() {
        for time in [0, -1, 951_782_400_000, 1_709_164_800_123, -62_135_596_800_000, 253_402_300_799_999, 4_107_542_400_000] {
            assert_eq!(of_parts(parts(time)), Some(time));
            assert_eq!(parse(&format(time)), Some(time), "{}", format(time));
        }
        assert_eq!(format(1_709_210_096_789), "2024-02-29T12:34:56.789Z");
    }

    #[test]
    fn moments_come_back_and_their_texts_compare_as_they_do() {
        let mut last = String::new();
        for (ms, ns) in [(0, 0), (0, 1), (0, 999_999), (1, 0), (1_709_210_096_789, 12_345), (253_402_300_799_999, 999_999)] {
            let moment = Moment { ms, ns };
            let text = moment.format();
            assert_eq!(Moment::parse(&text), Some(moment), "{text}");
            assert_eq!(Moment::of_total_ns(moment.total_ns()), Some(moment));
            assert!(text > last, "{text}");
            last = text;
        }
        assert_eq!(last, "9999-12-31T23:59:59.999999999Z");
        let (first_ms, last_ms) = (*COMPARABLE_MS.start(), *COMPARABLE_MS.end());
        assert_eq!([first_ms, last_ms].map(format), ["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]);
        assert!([first_ms - 1, last_ms + 1].iter().all(|ms| !Moment::of_ms(*ms).has_comparable_text()));
        assert_eq!(Moment::parse("2024-02-29T21:34:56.7890123456+09:00"), Some(Moment { ms: 1_709_210_096_789, ns: 12_345 }));
    }

    #[test]
    fn texts_are_times_or_not() {
        assert_eq!(parse("2024-02-29"), parse("2024-02-29T00:00Z"));
        assert_eq!(parse("2024-02-29 12:34:56.7"), Some(1_709_210_096_700));
        assert_eq!(parse("2024-02-29T21:34:56.700+09:00"), Some(1_709_210_096_700));
        assert_eq!(parse("2024-02-29T12:34:56.700999-0000"), Some(1_709_210_096_700));
        for wrong in [
            "",
            "2024",
            "2023-02-29",
            "2024-13-01",
            "2024-01-00",
            "2024-01-01T",
            "2024-01-01T24:00",
            "2024-01-01T1:00",
            "2024-01-01X",
            "größe-01-01",
            "2024-01-01T10:00+9",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
