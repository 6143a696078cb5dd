//! The settings of guardrails: two thresholds each, a switch, or sets of values. There are many, so they are a table instead of fields.

use crate::size::Size;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use cql::guardrails::{Feature, GuardrailSetting, Guardrails, Limit, THRESHOLD_NONE, Values};
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

/// How a threshold that is none is written.
const NONE: &str = "-1";
/// What a threshold of a number may be at most, as in Cassandra.
const COUNT_MAX: u64 = i32::MAX as u64;

/// Those that are given, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuardrailSettings([Option<u64>; GuardrailSetting::COUNT]);

impl Default for GuardrailSettings {
    fn default() -> Self {
        Self([None; GuardrailSetting::COUNT])
    }
}

/// Why a value is none of a guardrail's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GuardrailValueError {
    #[error("it is true or false")]
    Switch,
    #[error("it is a number from 1 to {COUNT_MAX}, or -1 for none")]
    Count,
    #[error("it is a size of at least 1 byte, such as 64KiB, or -1 for none")]
    Size,
    #[error("it is a time of at least 1us, such as 1d or 2h 30m, or -1 for none")]
    Time,
    #[error("there is no {0}: it is some of {1}, between commas")]
    Member(String, String),
}

/// The setting of a name, if it is a guardrail's.
pub(crate) fn setting_of(name: &str) -> Option<GuardrailSetting> {
    GuardrailSetting::all().find(|setting| setting.name() == name)
}

fn is_size(setting: GuardrailSetting) -> bool {
    let (GuardrailSetting::Warn(limit) | GuardrailSetting::Fail(limit)) = setting else { return false };
    matches!(limit, Limit::CollectionSize | Limit::ColumnValueSize | Limit::PartitionSize)
}

fn is_time(setting: GuardrailSetting) -> bool {
    let (GuardrailSetting::Warn(limit) | GuardrailSetting::Fail(limit)) = setting else { return false };
    matches!(limit, Limit::MinimumTimestamp | Limit::MaximumTimestamp)
}

/// What the members of a setting's set are of, if it has one.
fn values_of(setting: GuardrailSetting) -> Option<Values> {
    match setting {
        GuardrailSetting::Warned(values) | GuardrailSetting::Disallowed(values) => Some(values),
        GuardrailSetting::IgnoredProperties => Some(Values::TableProperties),
        GuardrailSetting::Warn(_) | GuardrailSetting::Fail(_) | GuardrailSetting::Enabled(_) => None,
    }
}

/// Reads the value of a setting.
pub(crate) fn parse(setting: GuardrailSetting, text: &str) -> Result<u64, GuardrailValueError> {
    let text = text.trim();
    if matches!(setting, GuardrailSetting::Enabled(_)) {
        return text.parse::<bool>().map(u64::from).map_err(|_| GuardrailValueError::Switch);
    }
    if let Some(values) = values_of(setting) {
        return values.parse(text).map_err(|unknown| GuardrailValueError::Member(unknown, values.members().join(", ")));
    }
    if text == NONE {
        return Ok(THRESHOLD_NONE);
    }
    if is_time(setting) {
        let time = humantime::parse_duration(text).map_err(|_| GuardrailValueError::Time)?;
        let us = u64::try_from(time.as_micros()).unwrap_or(THRESHOLD_NONE);
        return if us == 0 || us == THRESHOLD_NONE { Err(GuardrailValueError::Time) } else { Ok(us) };
    }
    if is_size(setting) {
        let size = text.parse::<Size>().map_err(|_| GuardrailValueError::Size)?.0;
        return if size == 0 || size == THRESHOLD_NONE { Err(GuardrailValueError::Size) } else { Ok(size) };
    }
    let count = text.parse::<u64>().map_err(|_| GuardrailValueError::Count)?;
    if (1..=COUNT_MAX).contains(&count) { Ok(count) } else { Err(GuardrailValueError::Count) }
}

/// A value as people read it.
pub(crate) fn shown(setting: GuardrailSetting, value: u64) -> String {
    match setting {
        GuardrailSetting::Enabled(_) => (value != 0).to_string(),
        _ if value == THRESHOLD_NONE => NONE.to_owned(),
        _ if is_size(setting) => Size(value).to_string(),
        _ if is_time(setting) => humantime::format_duration(Duration::from_micros(value)).to_string(),
        _ => values_of(setting).map_or_else(|| value.to_string(), |values| values.shown(value)),
    }
}

impl GuardrailSettings {
    /// These, and where they say nothing, `other`.
    pub(crate) fn or(self, other: &Self) -> Self {
        Self(std::array::from_fn(|number| self.0[number].or(other.0[number])))
    }

    /// With defaults for what is not given.
    pub(crate) fn guardrails(&self) -> Guardrails {
        let defaults = Guardrails::default();
        Guardrails::of(|setting| self.0[setting.number()].unwrap_or(defaults.get(setting)))
    }
}

/// What flags, variables and help call a setting.
struct Flag {
    setting: GuardrailSetting,
    flag: String,
    variable: String,
    help: String,
}

static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let flag = |setting: GuardrailSetting| Flag {
        setting,
        flag: setting.name().replace('_', "-"),
        variable: format!("TARNDB_{}", setting.name().to_uppercase()),
        help: help(setting),
    };
    GuardrailSetting::all().map(flag).collect()
});

fn help(setting: GuardrailSetting) -> String {
    match setting {
        GuardrailSetting::Warn(Limit::PartitionSize) => {
            format!("{} is logged, as a warning; -1 for none [default: -1]", exceeding(Limit::PartitionSize))
        }
        GuardrailSetting::Fail(Limit::PartitionSize) => {
            format!("{} is logged, as an error; -1 for none [default: -1]", exceeding(Limit::PartitionSize))
        }
        GuardrailSetting::Warn(limit) => format!("{} is answered with a warning; -1 for none [default: -1]", exceeding(limit)),
        GuardrailSetting::Fail(limit) => format!("{} is refused; -1 for none [default: -1]", exceeding(limit)),
        GuardrailSetting::Enabled(feature) => format!("Whether clients may use {} [default: true]", used(feature)),
        GuardrailSetting::Warned(values) => {
            format!("A statement that {} of these is answered with a warning [default: none]", using(values))
        }
        GuardrailSetting::Disallowed(values) => format!("A statement that {} of these is refused [default: none]", using(values)),
        GuardrailSetting::IgnoredProperties => {
            "Properties that CREATE and ALTER of tables and views leave out, with a warning [default: none]".to_owned()
        }
    }
}

fn exceeding(limit: Limit) -> &'static str {
    match limit {
        Limit::Keyspaces => "A CREATE KEYSPACE that makes more keyspaces than this",
        Limit::Tables => "A CREATE TABLE that makes more tables and views than this",
        Limit::ColumnsPerTable => "A CREATE or ALTER TABLE that gives a table more columns than this",
        Limit::SecondaryIndexesPerTable => "A CREATE INDEX that gives a table more indexes than this",
        Limit::MaterializedViewsPerTable => "A CREATE MATERIALIZED VIEW that gives a table more views than this",
        Limit::FieldsPerUdt => "A CREATE or ALTER TYPE that gives a type more fields than this",
        Limit::VectorDimensions => "A column or field of vectors with more dimensions than this",
        Limit::PageSize => "A SELECT with pages of more rows than this",
        Limit::PartitionKeysInSelect => "A SELECT that names more partitions by IN than this",
        Limit::InSelectCartesianProduct => "A SELECT whose INs combine to more keys than this",
        Limit::CollectionSize => "A statement that writes more bytes than this to a collection",
        Limit::ItemsPerCollection => "A statement that writes more elements than this to a collection",
        Limit::PartitionSize => "A partition with more bytes of rows than this",
        Limit::MinimumReplicationFactor => "A CREATE or ALTER KEYSPACE with fewer replicas than this",
        Limit::MaximumReplicationFactor => "A CREATE or ALTER KEYSPACE with more replicas than this",
        Limit::MinimumTimestamp => "A USING TIMESTAMP further in the past than this",
        Limit::MaximumTimestamp => "A USING TIMESTAMP further in the future than this",
        Limit::ColumnValueSize => "A statement that writes a value, or an element of a collection, of more bytes than this",
    }
}

fn using(values: Values) -> &'static str {
    match values {
        Values::ReadConsistencyLevels => "reads at one",
        Values::WriteConsistencyLevels => "writes at one, or has one as its serial level,",
        Values::TableProperties => "gives a table or view one",
    }
}

fn used(feature: Feature) -> &'static str {
    match feature {
        Feature::AllowFiltering => "ALLOW FILTERING",
        Feature::AlterTable => "ALTER TABLE to add, drop and rename columns",
        Feature::CompactTables => "COMPACT STORAGE for new tables",
        Feature::DropKeyspace => "DROP KEYSPACE",
        Feature::DropTruncateTable => "DROP TABLE and TRUNCATE",
        Feature::GroupBy => "GROUP BY",
        Feature::ReadBeforeWriteListOperations => "operations on lists that read first: by index, and removal",
        Feature::SecondaryIndexes => "CREATE INDEX",
        Feature::SimpleStrategy => "SimpleStrategy",
        Feature::UncompressedTables => "tables whose compression is off",
        Feature::UserTimestamps => "USING TIMESTAMP",
    }
}

fn argument(flag: &'static Flag) -> Arg {
    let setting = flag.setting;
    let value_name = match setting {
        GuardrailSetting::Enabled(_) => "BOOL",
        _ if is_size(setting) => "SIZE",
        _ if is_time(setting) => "TIME",
        _ if values_of(setting).is_some() => "LIST",
        _ => "N",
    };
    Arg::new(setting.name())
        .long(&*flag.flag)
        .env(&*flag.variable)
        .help(&*flag.help)
        .value_name(value_name)
        .action(ArgAction::Set)
        .allow_negative_numbers(true)
        .value_parser(move |text: &str| parse(setting, text))
}

impl Args for GuardrailSettings {
    fn augment_args(command: Command) -> Command {
        command.args(FLAGS.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GuardrailSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut settings = Self::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for setting in GuardrailSetting::all() {
            if let Some(value) = matches.get_one::<u64>(setting.name()) {
                self.0[setting.number()] = Some(*value);
            }
        }
        Ok(())
    }
}

/// From the whole table of a file: other keys are passed over.
impl<'de> Deserialize<'de> for GuardrailSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Table)
    }
}

struct Table;

impl<'de> Visitor<'de> for Table {
    type Value = GuardrailSettings;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table of settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GuardrailSettings, A::Error> {
        let mut settings = GuardrailSettings::default();
        while let Some(key) = map.next_key::<String>()? {
            match setting_of(&key) {
                Some(setting) => settings.0[setting.number()] = Some(map.next_value_seed(ValueOf(setting))?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(settings)
    }
}

/// Reads the value of a setting: an error here is told with its line.
struct ValueOf(GuardrailSetting);

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number, true or false, a text, or a list of texts")]
        enum Form {
            Switch(bool),
            Number(i64),
            Text(String),
            List(Vec<String>),
        }
        let text = match Form::deserialize(deserializer)? {
            Form::Switch(switch) => switch.to_string(),
            Form::Number(number) => number.to_string(),
            Form::Text(text) => text,
            Form::List(texts) => texts.join(","),
        };
        parse(self.0, &text).map_err(|error| D::Error::custom(format!("{} cannot be {text}: {error}", self.0.name())))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_shown() {
        let (warn, size) = (GuardrailSetting::Warn(Limit::PageSize), GuardrailSetting::Fail(Limit::CollectionSize));
        let switch = GuardrailSetting::Enabled(Feature::GroupBy);
        let time = GuardrailSetting::Warn(Limit::MaximumTimestamp);
        let levels = GuardrailSetting::Disallowed(Values::ReadConsistencyLevels);
        for (setting, text, value, said) in [
            (warn, "5000", 5_000, "5000"),
            (warn, "-1", THRESHOLD_NONE, "-1"),
            (size, "64KiB", 64 << 10, "64 KiB"),
            (size, "10", 10, "10 B"),
            (size, "-1", THRESHOLD_NONE, "-1"),
            (switch, "false", 0, "false"),
            (switch, " true", 1, "true"),
            (time, "1d", 86_400_000_000, "1day"),
            (time, "250us", 250, "250us"),
            (time, "-1", THRESHOLD_NONE, "-1"),
            (levels, "all, ONE", 1 << 5 | 1 << 1, "[ONE, ALL]"),
            (levels, "", 0, "[]"),
        ] {
            assert_eq!(parse(setting, text), Ok(value), "{text}");
            assert_eq!(shown(setting, value), said);
        }
        for (setting, text) in [(warn, "0"), (warn, "-2"), (warn, "2147483648"), (warn, "1KiB"), (warn, "")] {
            assert_eq!(parse(setting, text), Err(GuardrailValueError::Count), "{text}");
        }
        assert_eq!((parse(size, "0"), parse(size, "much")), (Err(GuardrailValueError::Size), Err(GuardrailValueError::Size)));
        assert_eq!(parse(switch, "1"), Err(GuardrailValueError::Switch));
        for text in ["0s", "1", "soon", "600000000y"] {
            assert_eq!(parse(time, text), Err(GuardrailValueError::Time), "{text}");
        }
        let error = parse(levels, "ONE, MOST").unwrap_err().to_string();
        assert!(error.starts_with("there is no MOST: it is some of ANY, ONE, TWO, "), "{error}");
        let error = parse(GuardrailSetting::IgnoredProperties, "comments").unwrap_err().to_string();
        assert!(error.starts_with("there is no comments: it is some of additional_write_policy, "), "{error}");
    }

    #[test]
    fn flags_are_read() {
        let command = GuardrailSettings::augment_args(Command::new("tarndb"));
        let from = |arguments: &[&str]| command.clone().try_get_matches_from([&["tarndb"], arguments].concat());
        let matches = from(&["--tables-warn-threshold", "-1", "--tables-fail-threshold=3", "--group-by-enabled", "false"]).expect("flags");
        let guardrails = GuardrailSettings::from_arg_matches(&matches).expect("settings").guardrails();
        assert_eq!(guardrails.get(GuardrailSetting::Warn(Limit::Tables)), THRESHOLD_NONE);
        assert_eq!(guardrails.get(GuardrailSetting::Fail(Limit::Tables)), 3);
        assert_eq!(guardrails.get(GuardrailSetting::Enabled(Feature::GroupBy)), 0);
        let error = from(&["--tables-fail-threshold", "many"]).unwrap_err().to_string();
        assert!(error.contains("'--tables-fail-threshold <N>': it is a number from 1"), "{error}");
    }

    #[test]
    fn those_that_come_first_count() {
        let from = |text: &str| toml::from_str::<GuardrailSettings>(text).expect("settings");
        let first = from("cql_port = 1\npage_size_warn_threshold = 7\ngroup_by_enabled = false");
        let settings = first.or(&from("page_size_warn_threshold = 9\ntables_fail_threshold = \"20\""));
        let guardrails = settings.guardrails();
        let value = |setting| guardrails.get(setting);
        assert_eq!(value(GuardrailSetting::Warn(Limit::PageSize)), 7);
        assert_eq!(value(GuardrailSetting::Fail(Limit::Tables)), 20);
        assert_eq!(value(GuardrailSetting::Enabled(Feature::GroupBy)), 0);
        assert_eq!(value(GuardrailSetting::Warn(Limit::Tables)), THRESHOLD_NONE);
        let listed = from("table_properties_ignored = [\"comment\", \"caching\"]\nminimum_timestamp_fail_threshold = \"1h\"").guardrails();
        assert_eq!(Values::TableProperties.shown(listed.get(GuardrailSetting::IgnoredProperties)), "[caching, comment]");
        assert_eq!(listed.get(GuardrailSetting::Fail(Limit::MinimumTimestamp)), 3_600_000_000);
        let wrong = toml::from_str::<GuardrailSettings>("page_size_warn_threshold = 0").unwrap_err().to_string();
        assert!(wrong.contains("page_size_warn_threshold cannot be 0: it is a number from 1"), "{wrong}");
    }
}
