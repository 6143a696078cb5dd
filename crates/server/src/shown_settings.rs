//! The settings as `system_views.settings` shows them: by name, each with the value that the node runs with. Of secrets only the files.

use crate::at_rest::KeySource;
use crate::audit_settings::NOT_AUDITED;
use crate::config::Config;
use crate::guardrail_settings;
use crate::size::Size;
use cql::guardrails::GuardrailSetting;
use serde_json::Value;
use std::path::Path;

impl Config {
    /// All settings, by name, of a node with so many cores and so much space for data. What is not set is empty.
    pub(crate) fn shown(&self, cores: u16, capacity: Size) -> Vec<(String, String)> {
        let config = Self { cores: Some(cores), capacity: Some(capacity), ..self.clone() };
        let fields = match serde_json::to_value(config) {
            Ok(Value::Object(fields)) => fields,
            other => unreachable!("a configuration is an object: {other:?}"),
        };
        let mut shown: Vec<(String, String)> = fields.into_iter().map(|(name, value)| (name, text(value))).collect();
        let file = |path: Option<&Path>| path.map(|path| path.display().to_string()).unwrap_or_default();
        let (node, client) = (self.node_tls.as_ref(), self.client_tls.as_ref());
        let tls = client.map_or("", |files| if files.is_required { "required" } else { "optional" });
        shown.extend(
            [
                ("replaces", self.replaces.map(|node| node.0.to_string()).unwrap_or_default()),
                ("node_certificate", file(node.map(|files| &*files.certificate))),
                ("node_key", file(node.map(|files| &*files.key))),
                ("node_ca", file(node.map(|files| &*files.authority))),
                ("tls_certificate", file(client.map(|files| &*files.certificate))),
                ("tls_key", file(client.map(|files| &*files.key))),
                ("tls_client_ca", file(client.and_then(|files| files.authority.as_deref()))),
                ("tls", tls.to_owned()),
                ("encryption_key_file", file(self.master_key.as_ref().and_then(KeySource::file))),
                // It may have a secret of its own.
                ("encryption_key_command", if matches!(self.master_key, Some(KeySource::Command(_))) { "set" } else { "" }.to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        shown.extend(match &self.audit {
            Some(audit) => audit.shown.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Vec<_>>(),
            None => NOT_AUDITED.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        });
        shown.extend(
            GuardrailSetting::all()
                .map(|setting| (setting.name().to_owned(), guardrail_settings::shown(setting, self.guardrails.get(setting)))),
        );
        shown.sort_unstable();
        shown
    }
}

fn text(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(values) => values.into_iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Host};
    use crate::settings::Settings;
    use crate::size::Size;
    use clap::{Args, Command};
    use io_linux::Memory;

    fn shown(settings: Settings) -> Vec<(String, String)> {
        Config::new(settings, Host { memory: Memory::OfMachine(8 << 30) }).expect("a configuration").shown(3, Size(5 << 30))
    }

    #[test]
    fn every_setting_is_shown_once() {
        let audited = Settings { audit_log: Some("audit.log".to_owned()), ..Settings::default() };
        let names = |settings| shown(settings).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(audited), names(Settings::default()));
        let shown: Vec<String> = shown(Settings::default()).into_iter().map(|(name, _)| name).collect();
        let command = Settings::augment_args(Command::new("settings"));
        let mut settings: Vec<String> = command.get_arguments().map(|argument| argument.get_id().to_string()).collect();
        // Logging begins before there is a configuration.
        settings.retain(|name| name != "log" && name != "log_format");
        settings.sort_unstable();
        assert_eq!(shown, settings);
    }

    #[test]
    fn values_are_those_that_count() {
        let devices = Some(vec!["/dev/a=1GiB".parse().expect("a device"), "/dev/b".parse().expect("a device")]);
        let shown = shown(Settings { devices, ..Settings::default() });
        let value = |name: &str| shown.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(value("cql_port"), Some("9042"));
        assert_eq!(value("durability"), Some("memory"));
        assert_eq!(value("devices"), Some("/dev/a=1 GiB,/dev/b"));
        assert_eq!((value("cores"), value("capacity"), value("join")), (Some("3"), Some("5 GiB"), Some("")));
        assert!(value("memory_limit").is_some_and(|size| size.ends_with("iB")));
    }
}
