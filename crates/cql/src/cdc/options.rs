//! The option `cdc` of a table, with ScyllaDB's entries and messages.

use model::{CDC_OPTION, KeptOption, TableOptions};
use std::collections::BTreeMap;

/// How long rows of a log live where nobody says it.
const DEFAULT_TTL_S: u32 = 86_400;

/// Whether and how changes of a table are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CdcOptions {
    /// Whether they are.
    pub enabled: bool,
    /// Whether the row as it was comes before each change.
    pub preimage: Preimage,
    /// Whether the row as it is comes after each change.
    pub postimage: bool,
    /// What is told of a change itself.
    pub delta: Delta,
    /// For how many seconds; 0 is for ever.
    pub ttl_s: u32,
}

/// What is told of a row as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preimage {
    /// Nothing.
    None,
    /// The columns that the write changes.
    Changed,
    /// All columns.
    Full,
}

/// What is told of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Which row it is about.
    Keys,
    /// The values, too.
    Full,
}

/// Why entries are not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CdcOptionError {
    /// A value that the entry cannot have.
    #[error("Invalid value for CDC option \"{option}\": {value}")]
    Value {
        /// The entry.
        option: &'static str,
        /// What it is set to.
        value: String,
    },
    /// More seconds than an int has.
    #[error("Invalid CDC option: ttl too large")]
    TtlTooLarge,
    /// Less than none.
    #[error("Invalid CDC option: ttl must be >= 0")]
    TtlNegative,
    /// No such entry.
    #[error("Invalid CDC option: {0}")]
    Unknown(String),
}

impl Default for CdcOptions {
    fn default() -> Self {
        Self { enabled: false, preimage: Preimage::None, postimage: false, delta: Delta::Full, ttl_s: DEFAULT_TTL_S }
    }
}

impl CdcOptions {
    /// Reads the entries of a statement. What they do not name has its default; `enabled` stays as it was in a statement that alters a table.
    ///
    /// # Errors
    /// [`CdcOptionError`]
    pub fn read(entries: &BTreeMap<String, String>, was_enabled: bool) -> Result<Self, CdcOptionError> {
        let mut options = Self { enabled: was_enabled, ..Self::default() };
        for (name, given) in entries {
            let (name, value) = (name.to_ascii_lowercase(), given.to_ascii_lowercase());
            match name.as_str() {
                "enabled" => options.enabled = flag("enabled", given)?,
                "postimage" => options.postimage = flag("postimage", given)?,
                "preimage" if value == "full" => options.preimage = Preimage::Full,
                "preimage" => options.preimage = if flag("preimage", given)? { Preimage::Changed } else { Preimage::None },
                "delta" => {
                    options.delta = match value.as_str() {
                        "full" => Delta::Full,
                        "keys" => Delta::Keys,
                        _ => return Err(CdcOptionError::Value { option: "delta", value: given.clone() }),
                    }
                }
                "ttl" => options.ttl_s = seconds(given)?,
                _ => return Err(CdcOptionError::Unknown(name)),
            }
        }
        Ok(options)
    }

    /// Those of a table; none of one that never had any.
    #[must_use]
    pub fn of(options: &TableOptions) -> Option<Self> {
        match options.kept.get(CDC_OPTION) {
            Some(KeptOption::Map(entries)) => Self::read(entries, false).ok(),
            _ => None,
        }
    }

    /// As [`CdcOptions::read`] reads them.
    #[must_use]
    pub fn entries(&self) -> BTreeMap<String, String> {
        let preimage = match self.preimage {
            Preimage::None => "false",
            Preimage::Changed => "true",
            Preimage::Full => "full",
        };
        let delta = match self.delta {
            Delta::Keys => "keys",
            Delta::Full => "full",
        };
        let entries = [
            ("delta", delta.to_owned()),
            ("enabled", self.enabled.to_string()),
            ("postimage", self.postimage.to_string()),
            ("preimage", preimage.to_owned()),
            ("ttl", self.ttl_s.to_string()),
        ];
        entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// As ScyllaDB keeps them in the column `extensions` of `system_schema.tables`, where its drivers look: little-endian counts and lengths of 32 bits.
    #[must_use]
    pub fn extension(&self) -> Vec<u8> {
        let entries = self.entries();
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let mut bytes = length(entries.len()).to_vec();
        for text in entries.iter().flat_map(|(name, value)| [name, value]) {
            bytes.extend_from_slice(&length(text.len()));
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }
}

fn flag(option: &'static str, given: &str) -> Result<bool, CdcOptionError> {
    match given.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(CdcOptionError::Value { option, value: given.to_owned() }),
    }
}

fn seconds(given: &str) -> Result<u32, CdcOptionError> {
    let number: i128 = given.trim().parse().map_err(|_| CdcOptionError::Value { option: "ttl", value: given.to_owned() })?;
    match i32::try_from(number) {
        Ok(seconds) => u32::try_from(seconds).map_err(|_| CdcOptionError::TtlNegative),
        Err(_) => Err(if number < 0 { CdcOptionError::TtlNegative } else { CdcOptionError::TtlTooLarge }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(given: &[(&str, &str)]) -> BTreeMap<String, String> {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn options_are_read_as_they_are_written() {
        for (preimage, delta, ttl_s) in
            [(Preimage::None, Delta::Keys, 0), (Preimage::Changed, Delta::Full, 1), (Preimage::Full, Delta::Full, 7)]
        {
            let options = CdcOptions { enabled: true, preimage, postimage: true, delta, ttl_s };
            assert_eq!(CdcOptions::read(&options.entries(), false), Ok(options));
        }
        let read = |given: &[(&str, &str)], was| CdcOptions::read(&entries(given), was);
        assert_eq!(read(&[("Enabled", "TRUE")], false), Ok(CdcOptions { enabled: true, ..CdcOptions::default() }));
        assert_eq!(read(&[("ttl", "5")], true), Ok(CdcOptions { enabled: true, ttl_s: 5, ..CdcOptions::default() }));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let refused = |name: &str, value: &str| CdcOptions::read(&entries(&[(name, value)]), false).expect_err("it is refused").to_string();
        assert_eq!(refused("enabled", "perhaps"), "Invalid value for CDC option \"enabled\": perhaps");
        assert_eq!(refused("delta", "off"), "Invalid value for CDC option \"delta\": off");
        assert_eq!(refused("ttl", "-1"), "Invalid CDC option: ttl must be >= 0");
        assert_eq!(refused("ttl", "2147483648"), "Invalid CDC option: ttl too large");
        assert_eq!(refused("ttl", "x"), "Invalid value for CDC option \"ttl\": x");
        assert_eq!(refused("until", "x"), "Invalid CDC option: until");
    }

    #[test]
    fn the_extension_is_what_scylladb_drivers_parse() {
        let bytes = CdcOptions { enabled: true, ..CdcOptions::default() }.extension();
        assert_eq!(&bytes[..13], b"\x05\0\0\0\x05\0\0\0delta");
        assert!(bytes.ends_with(b"\x03\0\0\0ttl\x05\0\0\x0086400"));
    }
}
