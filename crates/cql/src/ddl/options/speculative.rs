//! `speculative_retry` and `additional_write_policy`: when Cassandra would ask a further replica. TarnDB keeps the text in the form that
//! Cassandra gives it.

use crate::ddl::DdlError;
use crate::ddl::error::TableOptionError;

/// Both options' default.
pub(super) const DEFAULT: &str = "99p";

/// The name in messages: Cassandra has this one for both options.
const NAME: &str = "speculative_retry";

enum Policy {
    Percentile(f64),
    Fixed(f64),
}

impl Policy {
    fn kind(&self) -> &'static str {
        match self {
            Self::Percentile(_) => "PERCENTILE",
            Self::Fixed(_) => "FIXED",
        }
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // four decimals at most, and none that is not needed
            Self::Percentile(value) => write!(formatter, "{}p", (value * 1e4).round() / 1e4),
            Self::Fixed(value) => write!(formatter, "{}ms", value.trunc()),
        }
    }
}

pub(super) fn speculative_retry(text: &str) -> Result<String, DdlError> {
    let invalid = || DdlError::TableOption(TableOptionError::SpeculativeRetry { name: NAME, value: text.to_owned() });
    let upper = text.to_ascii_uppercase();
    match upper.as_str() {
        "ALWAYS" => return Ok(upper),
        "NEVER" | "NONE" => return Ok("NEVER".to_owned()),
        _ => {}
    }
    for function in ["MIN", "MAX"] {
        let arguments = upper.strip_prefix(function).and_then(|rest| rest.trim().strip_prefix('(')?.strip_suffix(')'));
        let Some((left, right)) = arguments.and_then(|arguments| arguments.split_once(',')) else { continue };
        let (left, right) = (policy(left.trim(), text)?.ok_or_else(invalid)?, policy(right.trim(), text)?.ok_or_else(invalid)?);
        if left.kind() == right.kind() {
            return Err(TableOptionError::SpeculativePair { name: NAME, value: text.to_owned(), kind: left.kind() }.into());
        }
        return Ok(format!("{function}({left},{right})"));
    }
    policy(&upper, text)?.map(|policy| policy.to_string()).ok_or_else(invalid)
}

/// `99.5P`, `99.5PERCENTILE` or `50MS`; `whole` is for the message.
fn policy(upper: &str, whole: &str) -> Result<Option<Policy>, DdlError> {
    if let Some(value) = upper.strip_suffix("MS").and_then(number) {
        return Ok(Some(Policy::Fixed(value)));
    }
    let Some(value) = upper.strip_suffix("PERCENTILE").or_else(|| upper.strip_suffix('P')).and_then(number) else { return Ok(None) };
    if (0.0..=100.0).contains(&value) {
        return Ok(Some(Policy::Percentile(value)));
    }
    Err(DdlError::TableOption(TableOptionError::SpeculativePercentile { name: NAME, value: whole.to_owned() }))
}

/// Digits, perhaps with a decimal point.
fn number(text: &str) -> Option<f64> {
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_plain { text.parse().ok() } else { None }
}
