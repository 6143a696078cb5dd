//! The configuration file: one flat TOML table with the keys of [`Settings`].

use crate::settings::Settings;
use base::nearest;
use std::path::{Path, PathBuf};

/// Why a configuration file could not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsFileError {
    /// It could not be read.
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It has a key that does not exist.
    #[error("{}: unknown key `{key}`{}", path.display(), suggestion.as_ref().map_or(String::new(), |key| format!("; did you mean `{key}`?")))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The key that is most like it.
        suggestion: Option<String>,
    },
    /// It is not TOML, or a value has the wrong form.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What and where.
        source: Box<toml::de::Error>,
    },
}

/// Reads the settings of a file.
pub(crate) fn read(path: &Path) -> Result<Settings, SettingsFileError> {
    let text = std::fs::read_to_string(path).map_err(|source| SettingsFileError::Read { path: path.to_owned(), source })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Settings, SettingsFileError> {
    let content = |source| SettingsFileError::Content { path: path.to_owned(), source: Box::new(source) };
    let table: toml::Table = toml::from_str(text).map_err(content)?;
    let keys = Settings::keys();
    if let Some(unknown) = table.keys().find(|key| !keys.contains(key)) {
        let suggestion = nearest(unknown, keys.iter().map(String::as_str)).map(str::to_owned);
        return Err(SettingsFileError::UnknownKey { path: path.to_owned(), key: unknown.clone(), suggestion });
    }
    let settings: Settings = toml::from_str(text).map_err(content)?;
    Ok(Settings { guardrails: toml::from_str(text).map_err(content)?, ..settings })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::guardrail_settings::GuardrailSettings;
    use crate::settings::Durability;
    use crate::size::Size;

    fn parse_text(text: &str) -> Result<Settings, SettingsFileError> {
        parse(Path::new("tarndb.toml"), text)
    }

    #[test]
    fn all_forms_of_values_are_read() {
        let settings = parse_text("memory_limit = \"2GiB\"\ncapacity = 1073741824\ndurability = \"device\"\nlisten = \"::1\"").unwrap();
        assert_eq!(settings.memory_limit, Some(Size(2 << 30)));
        assert_eq!(settings.capacity, Some(Size(1 << 30)));
        assert_eq!(settings.durability, Some(Durability::Device));
        assert_eq!(settings.listen.as_deref(), Some("::1"));
        assert_eq!(settings.cores, None);
    }

    #[test]
    fn guardrails_are_read() {
        let settings = parse_text("cores = 2\ncollection_size_fail_threshold = \"1MiB\"\ngroup_by_enabled = false").unwrap();
        assert_ne!(settings.guardrails, GuardrailSettings::default());
        assert_eq!(settings.cores, Some(2));
        let error = parse_text("cores = 2\npage_size_fail_threshold = \"many\"").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("page_size_fail_threshold cannot be many"), "{error}");
        let error = parse_text("page_size_fail_treshold = 5").unwrap_err().to_string();
        assert!(error.contains("did you mean `page_size_fail_threshold`?"), "{error}");
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let error = parse_text("memory-limit = \"2GiB\"").unwrap_err();
        assert_eq!(error.to_string(), "tarndb.toml: unknown key `memory-limit`; did you mean `memory_limit`?");
        let error = parse_text("[storage]\ncapacity = 1").unwrap_err();
        assert_eq!(error.to_string(), "tarndb.toml: unknown key `storage`");
    }

    #[test]
    fn a_wrong_value_says_where_and_what_is_wanted() {
        let error = parse_text("cql_port = 9042\nmemory_limit = \"lots\"").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("`lots` is not a size"), "{error}");
        let error = parse_text("cql_port = 70000").unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
        let error = parse_text("durability = \"disk\"").unwrap_err().to_string();
        assert!(error.contains("memory") && error.contains("device"), "{error}");
    }
}
