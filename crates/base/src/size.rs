//! Sizes as people write them: `512MiB`, `4GiB`, `1.5G`, `1048576`.

/// Why a size could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseSizeError {
    /// The text that was given.
    pub text: String,
}

impl std::fmt::Display for ParseSizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is not a size: write a number of bytes or a number with KiB, MiB, GiB or TiB", self.text)
    }
}

impl std::error::Error for ParseSizeError {}

/// Reads a size in bytes. Units are binary (`K`, `KB` and `KiB` all mean 1,024) and case does not matter.
///
/// # Errors
/// When the text is not a non-negative number with one of these units, or the result exceeds `u64`.
pub fn parse_size(text: &str) -> Result<u64, ParseSizeError> {
    let error = || ParseSizeError { text: text.to_owned() };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(error()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift).ok_or_else(error);
    }
    let value = number.parse::<f64>().map_err(|_| error())? * (1u64 << shift) as f64;
    if value.is_finite() && value >= 0.0 && value < u64::MAX as f64 { Ok(value as u64) } else { Err(error()) }
}

/// Writes a size for people: `1.5 GiB`, `12 MiB`, `300 B`.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift {
            let value = bytes as f64 / (1u64 << shift) as f64;
            return if value.fract() < 0.05 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") };
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(parse_size("1048576"), Ok(1 << 20));
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_size(" 1.5g "), Ok(3 << 29));
        assert_eq!(parse_size("64 mb"), Ok(64 << 20));
        for bad in ["", "GiB", "-1", "1 parsec", "99999999999TiB", "1.2.3K"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert_eq!(format_size(3 << 29), "1.5 GiB");
        assert_eq!(format_size(300), "300 B");
    }
}
