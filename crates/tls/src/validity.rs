//! Until when a certificate is valid: RFC 5280, 4.1.2.5.

use crate::der::{SEQUENCE, take};

const VERSION: u8 = 0xA0;
const INTEGER: u8 = 0x02;
/// `YYMMDDHHMMSSZ`: of the years 1950 to 2049.
const UTC_TIME: u8 = 0x17;
/// `YYYYMMDDHHMMSSZ`
const GENERALIZED_TIME: u8 = 0x18;

/// The last second in which a certificate (DER) is valid, since 1970; none of one that is not understood.
pub(crate) fn not_after_s(certificate: &[u8]) -> Option<u64> {
    let (certificate, _) = take(certificate, SEQUENCE)?;
    let (fields, _) = take(certificate, SEQUENCE)?;
    let fields = take(fields, VERSION).map_or(fields, |(_, rest)| rest);
    let (_, fields) = take(fields, INTEGER)?;
    let (_, algorithm_taken) = take(fields, SEQUENCE)?;
    let (_, issuer_taken) = take(algorithm_taken, SEQUENCE)?;
    let (validity, _) = take(issuer_taken, SEQUENCE)?;
    let (_, not_after) = time(validity)?;
    time(not_after).and_then(|(digits, _)| seconds(&digits))
}

/// A time with the whole year, as digits, and what follows it.
fn time(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (text, rest, is_short) = match bytes.first()? {
        &UTC_TIME => take(bytes, UTC_TIME).map(|(text, rest)| (text, rest, true))?,
        _ => take(bytes, GENERALIZED_TIME).map(|(text, rest)| (text, rest, false))?,
    };
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('Z').filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
    let century = if !is_short {
        ""
    } else if digits < "50" {
        "20"
    } else {
        "19"
    };
    Some((format!("{century}{digits}"), rest)).filter(|(digits, _)| digits.len() == 14)
}

/// Seconds since 1970 of `YYYYMMDDHHMMSS`; 0 of what was before.
fn seconds(digits: &str) -> Option<u64> {
    let number = |from: usize, to: usize| digits[from..to].parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(8, 10)?, number(10, 12)?, number(12, 14)?);
    // Years that begin in March end with the day that some lack.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_through_leap_years() {
        let table = [
            ("19700101000000", 0),
            ("20000229235959", 951_868_799),
            ("20000301000000", 951_868_800),
            ("20261231235959", 1_798_761_599),
            ("20500101000000", 2_524_608_000),
            ("99991231235959", 253_402_300_799),
            ("19491231235959", 0),
        ];
        for (digits, expected) in table {
            assert_eq!(seconds(digits), Some(expected), "{digits}");
        }
    }

    #[test]
    fn both_forms_of_times_are_read_and_nothing_else() {
        let read = |tag: u8, text: &str| time(&[&[tag, text.len() as u8], text.as_bytes()].concat()).map(|(digits, _)| digits);
        assert_eq!(read(UTC_TIME, "491231235959Z").as_deref(), Some("20491231235959"));
        assert_eq!(read(UTC_TIME, "500101000000Z").as_deref(), Some("19500101000000"));
        assert_eq!(read(GENERALIZED_TIME, "20500101000000Z").as_deref(), Some("20500101000000"));
        for wrong in ["", "Z", "2050Z", "491231235959", "4912312359x9Z", "4912312359é9Z"] {
            assert_eq!(read(UTC_TIME, wrong), None, "{wrong}");
        }
        assert_eq!(read(INTEGER, "491231235959Z"), None);
    }
}
