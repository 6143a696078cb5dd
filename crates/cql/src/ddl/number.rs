//! Numbers as Java prints them, for messages and DESCRIBE.

/// `value` as Java's `Double.toString` has it: `1.0`, `0.01`, `6.71E-5`.
pub(crate) fn java_double(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        return if value.is_nan() { "NaN".to_owned() } else { format!("{}Infinity", if value < 0.0 { "-" } else { "" }) };
    }
    if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        return format!("{value:?}");
    }
    let scientific = format!("{value:e}");
    match scientific.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
        None => scientific,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_in_java() {
        let cases = [(1.0, "1.0"), (0.01, "0.01"), (6.71e-5, "6.71E-5"), (1e-5, "1.0E-5"), (0.001, "0.001"), (1e7, "1.0E7")];
        for (value, text) in cases {
            assert_eq!(java_double(value), text);
        }
        assert_eq!(java_double(-0.5), "-0.5");
        assert_eq!(java_double(f64::NAN), "NaN");
        assert_eq!(java_double(0.0), "0.0");
    }
}
