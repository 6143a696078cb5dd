//! What the options of a compaction strategy may be, in Cassandra's words. They have no effect here, but a statement that Cassandra refuses
//! must not be taken.

use super::number::java_double;
use std::collections::BTreeMap;

/// A value that an option of compaction does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum CompactionValueError {
    #[error("{value} is not a parsable int (base10) for {option}")]
    NotANumber { option: &'static str, value: String },
    #[error("{value} is not a parsable float for {option}")]
    NotAFloat { option: &'static str, value: String },
    #[error("'{option}' should be either 'true' or 'false', not '{value}'")]
    NotABoolean { option: &'static str, value: String },
    #[error("enabled should either be 'true' or 'false', not {0}")]
    Enabled(String),
    #[error("{option} is not 'true' or 'false' ({value})")]
    Expiration { option: &'static str, value: String },
    #[error("{option} must be greater than 0, but was {value}")]
    NotAbove { option: &'static str, value: String },
    #[error("{option} must be larger than 0, but was {value}")]
    NotLarger { option: &'static str, value: i64 },
    #[error("{option} must be non negative: {value}")]
    Negative { option: &'static str, value: i64 },
    #[error("{option} must not be negative, but was {value}")]
    NegativeFrequency { option: &'static str, value: i64 },
    #[error("{value} must be greater than 1 for {option}")]
    Window { option: &'static str, value: i64 },
    #[error("bucket_high value ({high}) is less than or equal to the bucket_low value ({low})")]
    Buckets { low: String, high: String },
    #[error("{value} is not valid for {option}")]
    Unit { option: &'static str, value: String },
    #[error("Scaling parameter {0} must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+")]
    ScalingParameter(String),
    #[error("Fan factor cannot be lower than 2 in {0}")]
    FanFactor(String),
}

type Checked = Result<(), CompactionValueError>;
use CompactionValueError as E;

/// The options of a strategy as they were given.
pub(super) struct Values<'a>(pub(super) &'a BTreeMap<String, String>);

impl Values<'_> {
    /// Options of every strategy.
    pub(super) fn check_common(&self) -> Checked {
        if let Some(value) = self.text("enabled").filter(|value| !is_boolean(value)) {
            return Err(E::Enabled(value.to_owned()));
        }
        let option = "tombstone_threshold";
        let threshold = self.double(option).map_err(|value| E::NotANumber { option, value: value.to_owned() })?;
        if let Some(threshold) = threshold.filter(|threshold| *threshold < 0.0) {
            return Err(E::NotAbove { option, value: format!("{threshold:.6}") });
        }
        if let Some(seconds) = self.integer("tombstone_compaction_interval")?.filter(|seconds| *seconds < 0) {
            return Err(E::NotAbove { option: "tombstone_compaction_interval", value: seconds.to_string() });
        }
        let option = "unchecked_tombstone_compaction";
        match self.text(option).filter(|value| !is_boolean(value)) {
            Some(value) => Err(E::NotABoolean { option, value: value.to_owned() }),
            None => Ok(()),
        }
    }

    pub(super) fn check_size_tiered(&self) -> Checked {
        if let Some(value) = self.integer("min_sstable_size")?.filter(|size| *size < 0) {
            return Err(E::Negative { option: "min_sstable_size", value });
        }
        let (low, high) = (self.bucket("bucket_low", 0.5)?, self.bucket("bucket_high", 1.5)?);
        if high <= low { Err(E::Buckets { low: java_double(low), high: java_double(high) }) } else { Ok(()) }
    }

    pub(super) fn check_leveled(&self) -> Checked {
        for option in ["sstable_size_in_mb", "fanout_size"] {
            if let Some(value) = self.integer(option)?.filter(|size| *size < 1) {
                return Err(E::NotLarger { option, value });
            }
        }
        self.check_size_tiered()
    }

    pub(super) fn check_time_window(&self) -> Checked {
        self.unit("timestamp_resolution", &["SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS"])?;
        self.unit("compaction_window_unit", &["MINUTES", "HOURS", "DAYS"])?;
        if let Some(value) = self.integer("compaction_window_size")?.filter(|size| *size < 1) {
            return Err(E::Window { option: "compaction_window_size", value });
        }
        self.check_expiration()?;
        self.check_size_tiered()
    }

    pub(super) fn check_unified(&self) -> Checked {
        for parameter in self.text("scaling_parameters").into_iter().flat_map(|list| list.split(',')) {
            check_scaling_parameter(parameter.trim())?;
        }
        self.check_expiration()
    }

    fn check_expiration(&self) -> Checked {
        let option = "expired_sstable_check_frequency_seconds";
        if let Some(value) = self.integer(option)?.filter(|seconds| *seconds < 0) {
            return Err(E::NegativeFrequency { option, value });
        }
        let option = "unsafe_aggressive_sstable_expiration";
        match self.text(option).filter(|value| !is_boolean(value)) {
            Some(value) => Err(E::Expiration { option, value: value.to_owned() }),
            None => Ok(()),
        }
    }

    fn text(&self, option: &str) -> Option<&str> {
        self.0.get(option).map(String::as_str)
    }

    fn integer(&self, option: &'static str) -> Result<Option<i64>, CompactionValueError> {
        let parse = |value: &str| value.parse().map_err(|_| E::NotANumber { option, value: value.to_owned() });
        self.text(option).map(parse).transpose()
    }

    fn double(&self, option: &'static str) -> Result<Option<f64>, &str> {
        self.text(option).map(|value| value.parse().map_err(|_| value)).transpose()
    }

    fn bucket(&self, option: &'static str, default: f64) -> Result<f64, CompactionValueError> {
        let bound = self.double(option).map_err(|value| E::NotAFloat { option, value: value.to_owned() })?;
        Ok(bound.unwrap_or(default))
    }

    fn unit(&self, option: &'static str, units: &[&str]) -> Checked {
        match self.text(option).filter(|value| !units.contains(value)) {
            Some(value) => Err(E::Unit { option, value: value.to_owned() }),
            None => Ok(()),
        }
    }
}

fn is_boolean(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
}

/// `N`, `L` or `T` and a fan factor, or an integer.
fn check_scaling_parameter(parameter: &str) -> Checked {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let mismatch = || E::ScalingParameter(parameter.to_owned());
    if let Some(factor) = parameter.strip_prefix(['L', 'T']) {
        let factor: u32 = factor.parse().ok().filter(|_| is_number(factor)).ok_or_else(mismatch)?;
        return if factor < 2 { Err(E::FanFactor(parameter.to_owned())) } else { Ok(()) };
    }
    let digits = parameter.strip_prefix(['+', '-']).unwrap_or(parameter);
    if parameter == "N" || is_number(digits) { Ok(()) } else { Err(mismatch()) }
}
