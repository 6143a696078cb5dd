//! The form of a line: one JSON object.

use super::{Event, Failure, Source};
use std::fmt::Write;

/// So much of a request's words is written.
const OPERATION_BYTES_MAX: usize = 4 << 10;

/// Appends the line of an event that ended so, with the failure's message or without.
pub(super) fn append(out: &mut String, source: &Source, event: &Event, failure: Option<(&Failure, bool)>) {
    let category = failure.map_or(event.category, |(failure, _)| failure.category());
    begin(out, source.wall_us, category.name(), event.kind);
    text(out, "role", source.role());
    // Writing to a string cannot fail.
    let _ = write!(out, ",\"client\":\"{}\",\"protocol\":\"{}\"", source.address, source.protocol);
    [("keyspace", &event.keyspace), ("object", &event.object)].into_iter().for_each(|(name, value)| {
        if let Some(value) = value {
            text(out, name, value);
        }
    });
    if let Some(operation) = event.operation.text() {
        text(out, "operation", operation);
    }
    match failure {
        None => out.push_str(",\"result\":\"ok\""),
        Some((Failure::Unknown, _)) => out.push_str(",\"result\":\"unknown\""),
        Some((Failure::Unauthorized(why) | Failure::Other(why), quotes)) => {
            out.push_str(",\"result\":\"error\"");
            if quotes {
                text(out, "error", why);
            }
        }
    }
    out.push_str("}\n");
}

/// Appends the line that says how many lines are missing before it.
pub fn append_dropped(out: &mut String, wall_us: i64, lines: u64) {
    begin(out, wall_us, super::Category::Error.name(), "LINES_DROPPED");
    let _ = writeln!(out, ",\"lines\":{lines}}}");
}

fn begin(out: &mut String, wall_us: i64, category: &str, kind: &str) {
    out.push_str("{\"time\":\"");
    time(out, wall_us);
    let _ = write!(out, "\",\"category\":\"{category}\",\"type\":\"{kind}\"");
}

fn text(out: &mut String, name: &str, value: &str) {
    let mut end = value.len().min(OPERATION_BYTES_MAX);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let _ = write!(out, ",\"{name}\":\"");
    for character in value[..end].chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\u{0}'..='\u{1f}' | '\u{7f}' | '\u{2028}' | '\u{2029}' => drop(write!(out, "\\u{:04x}", character as u32)),
            other => out.push(other),
        }
    }
    out.push_str(if end < value.len() { "…\"" } else { "\"" });
}

/// UTC, as ISO 8601 has it, to microseconds.
fn time(out: &mut String, wall_us: i64) {
    let (seconds, micros) = (wall_us.div_euclid(1_000_000), wall_us.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{micros:06}Z", second / 3600, second / 60 % 60, second % 60);
}

/// Year, month and day of a number of days since 1970. Years are counted from March, so that leap days come last.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097;
    const DAYS_TO_1970: i64 = 719_468;
    let shifted = days + DAYS_TO_1970;
    let (era, of_era) = (shifted.div_euclid(DAYS_PER_ERA), shifted.rem_euclid(DAYS_PER_ERA));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / (DAYS_PER_ERA - 1)) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Category, Operation};

    fn line(operation: Operation, failure: Option<&Failure>, quotes: bool) -> String {
        let source =
            Source { protocol: "cql", address: ([127, 0, 0, 1], 4711).into(), role: Some("ann".into()), wall_us: 1_709_251_199_000_001 };
        let event = Event { category: Category::Dml, kind: "INSERT", keyspace: Some("ks".into()), object: Some("t".into()), operation };
        let mut out = String::new();
        append(&mut out, &source, &event, failure.map(|failure| (failure, quotes)));
        out
    }

    #[test]
    fn a_line_is_an_object_with_what_happened() {
        assert_eq!(
            line(Operation::Text("INSERT \"a\\\"\n\u{1}é".into()), None, true),
            "{\"time\":\"2024-02-29T23:59:59.000001Z\",\"category\":\"DML\",\"type\":\"INSERT\",\"role\":\"ann\",\"client\":\"127.0.0.1:4711\",\
             \"protocol\":\"cql\",\"keyspace\":\"ks\",\"object\":\"t\",\"operation\":\"INSERT \\\"a\\\\\\\"\\n\\u0001é\",\"result\":\"ok\"}\n"
        );
        let refused = line(Operation::None, Some(&Failure::Unauthorized("no".to_owned())), true);
        assert!(refused.contains("\"category\":\"AUTH\"") && refused.ends_with("\"result\":\"error\",\"error\":\"no\"}\n"), "{refused}");
        let masked = line(Operation::Masked("CREATE ROLE".into()), Some(&Failure::Other("near 'secret'".to_owned())), false);
        assert!(masked.contains("\"category\":\"ERROR\"") && !masked.contains("secret"), "{masked}");
    }

    #[test]
    fn words_are_cut_between_characters() {
        let long = line(Operation::Text("é".repeat(OPERATION_BYTES_MAX).into()), None, true);
        assert!(long.contains("é…\"") && long.len() < OPERATION_BYTES_MAX + 300, "{}", long.len());
    }

    #[test]
    fn days_are_dates() {
        assert_eq!([date(0), date(-1), date(11_016), date(20_783)], [(1970, 1, 1), (1969, 12, 31), (2000, 2, 29), (2026, 11, 26)]);
    }
}
