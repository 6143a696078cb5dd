//! `tarndb set`: settings that change while a node runs. What is set so lasts until the process ends.

use crate::config::SLOW_QUERY_THRESHOLDS_MS;
use crate::guardrail_settings;
use crate::logging::LogFilter;
use crate::settings::Settings;
use crate::size::Size;
use ::node::LiveSettings;
use base::nearest;
use cql::guardrails::GuardrailSetting;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

/// The settings that can be set, besides those of guardrails.
const LIVE: [&str; 5] = [
    "batch_size_fail_threshold",
    "batch_size_warn_threshold",
    "log",
    "slow_query_threshold_ms",
    "unlogged_batch_across_partitions_warn_threshold",
];

/// Where settings change.
pub(crate) struct SettingsControl {
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) log: LogFilter,
}

/// Why a setting is not set.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetRefusal {
    /// There is no such.
    #[error("there is no setting {name}{}", suggestion.as_ref().map_or(String::new(), |known| format!("; did you mean {known}?")))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The one that is most like it.
        suggestion: Option<String>,
    },
    /// It is read at the start.
    #[error("{name} is read when the node starts: change its configuration file and restart it. These change at once: {}, and those of guardrails", LIVE.join(", "))]
    AtStart {
        /// Which.
        name: String,
    },
    /// Not a value of it.
    #[error("{name} cannot be {value:?}: {why}")]
    Value {
        /// Which.
        name: String,
        /// What was given.
        value: String,
        /// What is wrong.
        why: String,
    },
}

impl SettingsControl {
    /// Sets one, and says so.
    pub(crate) fn set(&self, name: &str, value: &str) -> Result<String, SetRefusal> {
        let name = name.replace('-', "_");
        let shown = match &*name {
            "batch_size_warn_threshold" => {
                let bytes: Size = parsed(&name, value)?;
                self.settings.set_batch_warn_bytes(bytes.0);
                bytes.to_string()
            }
            "batch_size_fail_threshold" => {
                let bytes: Size = parsed(&name, value)?;
                self.settings.set_batch_fail_bytes(bytes.0);
                bytes.to_string()
            }
            "unlogged_batch_across_partitions_warn_threshold" => {
                let partitions: u32 = parsed(&name, value)?;
                self.settings.set_unlogged_partitions(partitions);
                partitions.to_string()
            }
            "slow_query_threshold_ms" => {
                let ms: u32 = parsed(&name, value)?;
                if !SLOW_QUERY_THRESHOLDS_MS.contains(&ms.into()) {
                    return Err(refused(&name, value, &format!("it is {} at most", SLOW_QUERY_THRESHOLDS_MS.end())));
                }
                self.settings.set_slow_query_threshold_ms(ms);
                ms.to_string()
            }
            "log" => {
                self.log.set(value).map_err(|error| refused(&name, value, &error))?;
                value.to_owned()
            }
            _ => match guardrail_settings::setting_of(&name) {
                Some(setting) => self.set_guardrail(setting, value)?,
                None => return Err(not_live(name)),
            },
        };
        self.settings.show(&name, &shown);
        tracing::info!(setting = name, value = shown, "an operator has changed a setting");
        Ok(format!("{name} is {shown} on this node until it restarts; its configuration file keeps what is to last"))
    }
}

impl SettingsControl {
    fn set_guardrail(&self, setting: GuardrailSetting, value: &str) -> Result<String, SetRefusal> {
        let number = guardrail_settings::parse(setting, value).map_err(|error| refused(setting.name(), value, &error))?;
        self.settings.guardrails().change(|guardrails| {
            guardrails.set(setting, number);
            let Some([first, second]) = guardrails.contradictory() else { return Ok(()) };
            Err(refused(setting.name(), value, &format!("{} must not be greater than {}", first.name(), second.name())))
        })?;
        Ok(guardrail_settings::shown(setting, number))
    }
}

fn parsed<T: FromStr>(name: &str, value: &str) -> Result<T, SetRefusal>
where
    T::Err: Display,
{
    value.trim().parse().map_err(|error| refused(name, value, &error))
}

fn refused(name: &str, value: &str, error: &impl Display) -> SetRefusal {
    SetRefusal::Value { name: name.to_owned(), value: value.to_owned(), why: error.to_string() }
}

fn not_live(name: String) -> SetRefusal {
    let keys = Settings::keys();
    if keys.contains(&name) {
        return SetRefusal::AtStart { name };
    }
    let suggestion = nearest(&name, keys.iter().map(String::as_str)).map(str::to_owned);
    SetRefusal::Unknown { name, suggestion }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use cql::exec::BatchLimits;

    fn control() -> SettingsControl {
        let shown = LIVE.map(|name| (name.to_owned(), String::new())).to_vec();
        SettingsControl { settings: Arc::new(LiveSettings::new(&BatchLimits::default(), shown)), log: LogFilter::nowhere() }
    }

    #[test]
    fn what_is_set_counts_and_is_shown() {
        let control = control();
        for (name, value) in [
            ("batch_size_warn_threshold", "1KiB"),
            ("batch-size-fail-threshold", "2MiB"),
            ("unlogged_batch_across_partitions_warn_threshold", "3"),
            ("slow_query_threshold_ms", "7"),
        ] {
            let said = control.set(name, value).unwrap();
            assert!(said.contains("until it restarts"), "{said}");
        }
        let limits = BatchLimits { warn_bytes: 1 << 10, fail_bytes: 2 << 20, unlogged_partitions: 3 };
        assert_eq!((control.settings.batch_limits(), control.settings.slow_query_threshold_ms()), (limits, 7));
        assert!(control.set("slow_query_threshold_ms", "3600001").is_err());
        let shown = control.settings.shown();
        assert!(shown.contains(&("batch_size_fail_threshold".to_owned(), "2 MiB".to_owned())), "{shown:?}");
    }

    #[test]
    fn all_that_can_be_set_are_settings() {
        let keys = Settings::keys();
        assert!(LIVE.iter().all(|name| keys.iter().any(|key| key == name)));
        for name in LIVE {
            let refusal = control().set(name, "=?").unwrap_err();
            assert!(matches!(refusal, SetRefusal::Value { .. }), "{name}: {refusal}");
        }
    }

    #[test]
    fn guardrails_are_set_and_keep_their_order() {
        let control = control();
        let said = control.set("page_size_fail_threshold", "100").unwrap();
        assert!(said.contains("page_size_fail_threshold is 100 on this node"), "{said}");
        let refusal = control.set("page-size-warn-threshold", "101").unwrap_err().to_string();
        assert!(refusal.contains("page_size_warn_threshold must not be greater than page_size_fail_threshold"), "{refusal}");
        assert!(control.settings.guardrails().guard_rows());
        control.set("page_size_fail_threshold", "-1").unwrap();
        assert!(!control.settings.guardrails().guard_rows());
        assert!(control.set("group_by_enabled", "perhaps").unwrap_err().to_string().contains("it is true or false"));
    }

    #[test]
    fn others_say_why_not() {
        let refused = |name: &str, value: &str| control().set(name, value).unwrap_err().to_string();
        assert!(refused("cql_port", "9043").starts_with("cql_port is read when the node starts"));
        assert_eq!(
            refused("batch_size_wran_threshold", "1"),
            "there is no setting batch_size_wran_threshold; did you mean batch_size_warn_threshold?"
        );
        assert!(refused("batch_size_warn_threshold", "much").starts_with("batch_size_warn_threshold cannot be \"much\": "));
    }
}
