//! Figures as a person reads them: thousands separators, three significant digits, units.

/// `1234567` as `1,234,567`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Whole with separators from 1,000 on, else three significant digits.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let magnitude = value.abs();
    let decimals = match magnitude {
        m if m >= 99.95 || m == 0.0 => 0,
        m if m >= 9.995 => 1,
        m if m >= 0.9995 => 2,
        // Digits after the point until the third significant one.
        m => usize::try_from((2.0 - m.log10().floor()).clamp(0.0, 9.0) as i64).unwrap_or(9),
    };
    if decimals > 0 {
        return format!("{value:.decimals$}");
    }
    let sign = if value < 0.0 && magnitude.round() > 0.0 { "−" } else { "" };
    format!("{sign}{}", count(magnitude.round() as u64))
}

/// From the lowest to the highest, the unit once: `190–230 µs`.
pub(super) fn range(show: impl Fn(f64) -> String, lowest: f64, highest: f64) -> String {
    let (low, high) = (show(lowest), show(highest));
    if low == high {
        return high;
    }
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((figure, unit)), Some((_, same))) if unit == same => format!("{figure}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// How many times: `14.2 ×`.
pub(super) fn times(value: f64) -> String {
    format!("{} ×", number(value))
}

/// How many times, with the digits that a publication gives: `14 ×`, `5.83 ×`.
pub(super) fn times_given(value: f64) -> String {
    if value.abs() >= 1_000.0 || !value.is_finite() {
        return times(value);
    }
    let rounded = format!("{value:.2}");
    format!("{} ×", rounded.trim_end_matches('0').trim_end_matches('.'))
}

/// Microseconds in the unit that suits them.
pub(crate) fn latency(us: f64) -> String {
    match us {
        us if !us.is_finite() => "–".to_owned(),
        us if us < 999.5 => format!("{} µs", number(us)),
        us if us < 999_500.0 => format!("{} ms", number(us / 1e3)),
        us => format!("{} s", number(us / 1e6)),
    }
}

/// Seconds as `12.3 ms`, `42 s`, `12 min 5 s`, `3 h 20 min`; what is shorter than half a millisecond is none.
pub(crate) fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 0.0005 => "0 s".to_owned(),
        _ if seconds < 0.9995 => format!("{} ms", number(seconds * 1e3)),
        _ if seconds < 99.95 && seconds.fract() == 0.0 => format!("{whole} s"),
        _ if seconds < 99.95 => format!("{} s", number(seconds)),
        ..3600 if whole.is_multiple_of(60) => format!("{} min", whole / 60),
        ..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ if whole % 3600 < 60 => format!("{} h", count(whole / 3600)),
        _ => format!("{} h {} min", count(whole / 3600), whole % 3600 / 60),
    }
}

/// A figure whose name tells its unit by its ending, as in events: `noticed_s` as `noticed 1.80 s`. `lowest` is a share, `errors` are
/// counted.
pub(super) fn named(name: &str, value: f64) -> String {
    let (name, figure) = match (name, name.strip_suffix("_s"), name.strip_suffix("_us")) {
        ("errors", ..) => (name, count(value as u64)),
        ("lowest", ..) => (name, format!("{} %", number(value * 100.0))),
        (_, Some(name), _) => (name, duration(value)),
        (_, _, Some(name)) => (name, latency(value)),
        _ => (name, number(value)),
    };
    format!("{} {figure}", name.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_separators_digits_and_units() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(62_800_000), "62,800,000");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(0.012_34), "0.0123");
        assert_eq!(number(5.834), "5.83");
        assert_eq!(number(14.16), "14.2");
        assert_eq!(number(182_345.6), "182,346");
        assert_eq!(number(-1_234.0), "−1,234");
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(times(14.0), "14.0 ×");
        assert_eq!(range(latency, 190.0, 230.0), "190–230 µs");
        assert_eq!(range(latency, 190.0, 1_230.0), "190 µs–1.23 ms");
        assert_eq!(range(number, 11_900.0, 12_800.0), "11,900–12,800");
        assert_eq!(range(times, 14.0, 14.01), "14.0 ×");
        assert_eq!(times_given(14.0), "14 ×");
        assert_eq!(times_given(5.83), "5.83 ×");
        assert_eq!(times_given(100.0), "100 ×");
        assert_eq!(times_given(12_345.0), "12,345 ×");
        assert_eq!(latency(312.4), "312 µs");
        assert_eq!(latency(1_240.0), "1.24 ms");
        assert_eq!(latency(2_350_000.0), "2.35 s");
        assert_eq!(duration(0.000_000_781), "0 s");
        assert_eq!(duration(-0.1), "0 s");
        assert_eq!(duration(0.012_34), "12.3 ms");
        assert_eq!(duration(0.9996), "1.00 s");
        assert_eq!(duration(7.25), "7.25 s");
        assert_eq!(duration(725.0), "12 min 5 s");
        assert_eq!(named("recovered_after_s", 12.0), "recovered after 12 s");
        assert_eq!(named("longest_us", 1_240.0), "longest 1.24 ms");
        assert_eq!(named("errors", 59.0), "errors 59");
        assert_eq!(named("lowest", 0.25), "lowest 25.0 %");
        assert_eq!(duration(43_200.0), "12 h");
    }
}
