//! OpenMetrics 1.0, for who asks for it: made of Prometheus's text format, line by line.
//!
//! | | text 0.0.4 | OpenMetrics |
//! |---|---|---|
//! | a counter's family | `x_total` | `x`; its values are `x_total` as well |
//! | unit | part of the name | part of the name, and a line `# UNIT` |
//! | bounds of buckets | `le="1"` | `le="1.0"` |
//! | quotes in HELP | as they are | escaped |
//! | end | none | `# EOF` |

use std::fmt::Write;

/// What it is called in headers.
const TYPE: &str = "application/openmetrics-text";
const TEXT: &str = "text/plain";

/// Units that end names.
const UNITS: [&str; 2] = ["seconds", "bytes"];

/// Whether who sends this `Accept` takes it, and not rather text.
pub(super) fn is_wanted(accept: &str) -> bool {
    let weight = |wanted: &str| {
        let weights = accept.split(',').filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let is_it = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
            let q = parts.filter_map(|part| part.strip_prefix("q=")).find_map(|q| q.parse::<f64>().ok());
            is_it.then(|| q.unwrap_or(1.0))
        });
        weights.fold(0.0, f64::max)
    };
    let openmetrics = weight(TYPE);
    openmetrics > 0.0 && openmetrics >= weight(TEXT)
}

/// The same figures as a text of version 0.0.4, whose HELP stands before its TYPE.
pub(super) fn from_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut help = "";
    for line in text.lines() {
        // Writing to a string cannot fail.
        let _ = if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest;
            Ok(())
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            write_family(&mut out, name, kind, help.strip_prefix(name).unwrap_or_default().trim_start())
        } else {
            writeln!(out, "{}", with_canonical_bound(line))
        };
    }
    out + "# EOF\n"
}

fn write_family(out: &mut String, name: &str, kind: &str, help: &str) -> std::fmt::Result {
    let family = if kind == "counter" { name.strip_suffix("_total").unwrap_or(name) } else { name };
    writeln!(out, "# HELP {family} {}\n# TYPE {family} {kind}", help.replace('"', "\\\""))?;
    match UNITS.iter().find(|unit| family.strip_suffix(**unit).is_some_and(|rest| rest.ends_with('_'))) {
        Some(unit) => writeln!(out, "# UNIT {family} {unit}"),
        None => Ok(()),
    }
}

/// Bounds are written as floats.
fn with_canonical_bound(line: &str) -> String {
    let is_bucket = line.split_once('{').is_some_and(|(name, _)| name.ends_with("_bucket"));
    // The last label; other names end like it.
    let last = line.rsplit_once("le=\"").filter(|(before, _)| is_bucket && before.ends_with(['{', ',']));
    let whole = last.and_then(|(before, rest)| {
        let (bound, after) = rest.split_once('"')?;
        bound.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("{before}le=\"{bound}.0\"{after}"))
    });
    whole.unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_floats_and_nothing_else_is() {
        assert_eq!(with_canonical_bound("a_bucket{table=\"1\",le=\"1\"} 2"), "a_bucket{table=\"1\",le=\"1.0\"} 2");
        assert_eq!(with_canonical_bound("a_bucket{le=\"0.5\"} 2"), "a_bucket{le=\"0.5\"} 2");
        for other in ["a_bytes{keyspace=\"k\",table=\"123\"} 4", "a_total{role=\"7\"} 1", "a_bucket{role=\"7\"} 1"] {
            assert_eq!(with_canonical_bound(other), other);
        }
    }

    #[test]
    fn who_asks_for_it_gets_it() {
        assert!(is_wanted("application/openmetrics-text"));
        assert!(is_wanted("application/openmetrics-text; version=1.0.0; charset=utf-8, text/plain;q=0.5"));
        // Prometheus 3.
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
                          text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        assert!(is_wanted(prometheus));
        for other in ["", "*/*", "text/plain", "text/plain, application/openmetrics-text;q=0.9", "application/openmetrics-text;q=0"] {
            assert!(!is_wanted(other), "{other}");
        }
    }

    #[test]
    fn counters_units_bounds_quotes_and_the_end_are_as_they_are_to_be() {
        let text = "# HELP a_bytes_total Of \"x\".\n# TYPE a_bytes_total counter\na_bytes_total{core=\"0\"} 7\n\
                    # HELP b_seconds How long.\n# TYPE b_seconds histogram\nb_seconds_bucket{le=\"0.5\"} 1\nb_seconds_bucket{le=\"10\"} 2\n\
                    b_seconds_bucket{le=\"+Inf\"} 2\nb_seconds_sum 3.000000\nb_seconds_count 2\n# HELP c C.\n# TYPE c gauge\nc 1\n";
        let expected = "# HELP a_bytes Of \\\"x\\\".\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\na_bytes_total{core=\"0\"} 7\n\
                        # HELP b_seconds How long.\n# TYPE b_seconds histogram\n# UNIT b_seconds seconds\nb_seconds_bucket{le=\"0.5\"} 1\n\
                        b_seconds_bucket{le=\"10.0\"} 2\nb_seconds_bucket{le=\"+Inf\"} 2\nb_seconds_sum 3.000000\nb_seconds_count 2\n\
                        # HELP c C.\n# TYPE c gauge\nc 1\n# EOF\n";
        assert_eq!(from_text(text), expected);
    }
}
