//! Days and dates of the proleptic Gregorian calendar, which CQL uses for all years (year 0 is 1 BC).

/// Milliseconds of a day.
pub(super) const DAY_MILLISECONDS: i64 = 86_400_000;

/// Days of an era: 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;

/// A date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: u8,
    pub(super) day: u8,
}

impl Date {
    /// The date `days` after 1970-01-01.
    pub(super) fn from_days(days: i64) -> Self {
        // Count from 0000-03-01, so that the leap day is the last one of a year.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(ERA_DAYS), shifted.rem_euclid(ERA_DAYS));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * from_march + 2) / 5 + 1) as u8;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 } as u8;
        Self { year: era * 400 + year_of_era + i64::from(month <= 2), month, day }
    }

    /// Days after 1970-01-01. A day that the month does not have counts into the next one.
    pub(super) fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let from_march = (i64::from(self.month) + 9) % 12;
        let day_of_year = (153 * from_march + 2) / 5 + i64::from(self.day) - 1;
        era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    /// Whether the month has this day.
    pub(super) fn exists(self) -> bool {
        Self::from_days(self.days()) == self
    }

    /// The date `months` later; a day that the month does not have becomes the month's last.
    pub(super) fn plus_months(self, months: i64) -> Self {
        let total = self.year * 12 + i64::from(self.month) - 1 + months;
        let first = Self { year: total.div_euclid(12), month: (total.rem_euclid(12) + 1) as u8, day: 1 };
        let next = Self { year: (total + 1).div_euclid(12), month: ((total + 1).rem_euclid(12) + 1) as u8, day: 1 };
        let last_day = (next.days() - first.days()) as u8;
        Self { day: self.day.min(last_day), ..first }
    }
}

/// ISO 8601: years of other than four digits have a sign.
impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.year {
            0..=9999 => write!(f, "{:04}", self.year)?,
            10_000.. => write!(f, "+{}", self.year)?,
            _ => write!(f, "-{:04}", -self.year)?,
        }
        write!(f, "-{:02}-{:02}", self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_agree_for_four_thousand_years_and_at_the_ends() {
        let mut expected = Date { year: -1000, month: 1, day: 1 };
        for days in expected.days()..=(Date { year: 3000, month: 1, day: 1 }).days() {
            let date = Date::from_days(days);
            assert_eq!(date, expected);
            assert_eq!(date.days(), days);
            let leap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);
            let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][usize::from(date.month) - 1];
            expected = match (date.month, date.day) {
                (12, 31) => Date { year: date.year + 1, month: 1, day: 1 },
                (month, day) if day == length => Date { month: month + 1, day: 1, ..date },
                (_, day) => Date { day: day + 1, ..date },
            };
        }
        for days in [i64::from(i32::MIN), i64::from(i32::MAX), i64::MIN / DAY_MILLISECONDS, i64::MAX / DAY_MILLISECONDS] {
            assert_eq!(Date::from_days(days).days(), days);
        }
        assert_eq!(Date::from_days(i64::from(i32::MIN)).to_string(), "-5877641-06-23");
    }

    #[test]
    fn adding_months_keeps_to_the_end_of_the_month() {
        let date = Date { year: 2020, month: 1, day: 31 };
        assert_eq!(date.plus_months(1).to_string(), "2020-02-29");
        assert_eq!(date.plus_months(-2).to_string(), "2019-11-30");
        assert_eq!(date.plus_months(12).to_string(), "2021-01-31");
    }
}
