//! Guardrails about which of some values are used: levels of consistency, properties of tables.

use crate::wire::Consistency;

/// A guardrail that names values which clients are warned of, or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Levels at which SELECT reads.
    ReadConsistencyLevels,
    /// Levels at which statements write, the serial one among them.
    WriteConsistencyLevels,
    /// What CREATE and ALTER TABLE or MATERIALIZED VIEW give after WITH.
    TableProperties,
}

/// Some of the values that a guardrail may name: one bit each, by their order in [`Values::members`].
pub type ValueSet = u64;

/// The properties of tables in the order in which messages have them.
const PROPERTIES: [&str; 20] = [
    "additional_write_policy",
    "allow_auto_snapshot",
    "bloom_filter_fp_chance",
    "caching",
    "cdc",
    "comment",
    "compaction",
    "compression",
    "crc_check_chance",
    "default_time_to_live",
    "extensions",
    "gc_grace_seconds",
    "id",
    "incremental_backups",
    "max_index_interval",
    "memtable",
    "memtable_flush_period_in_ms",
    "min_index_interval",
    "read_repair",
    "speculative_retry",
];

/// The settings of a guardrail: what is warned of, and what is refused.
macro_rules! names {
    ($name:literal) => {
        [$name, concat!($name, "_warned"), concat!($name, "_disallowed")]
    };
}

impl Values {
    /// All.
    pub const ALL: [Self; 3] = [Self::ReadConsistencyLevels, Self::WriteConsistencyLevels, Self::TableProperties];

    fn names(self) -> [&'static str; 3] {
        match self {
            Self::ReadConsistencyLevels => names!("read_consistency_levels"),
            Self::WriteConsistencyLevels => names!("write_consistency_levels"),
            Self::TableProperties => names!("table_properties"),
        }
    }

    /// As messages call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// The setting with what clients are warned of.
    #[must_use]
    pub fn warned_setting(self) -> &'static str {
        self.names()[1]
    }

    /// The setting with what they are refused.
    #[must_use]
    pub fn disallowed_setting(self) -> &'static str {
        self.names()[2]
    }

    /// What the values are, as messages say it.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::ReadConsistencyLevels => "read consistency levels",
            Self::WriteConsistencyLevels => "write consistency levels",
            Self::TableProperties => "Table Properties",
        }
    }

    /// Whether it is about statements on rows, not on the schema.
    pub(super) fn is_of_rows(self) -> bool {
        self != Self::TableProperties
    }

    /// The values that there are.
    #[must_use]
    pub fn members(self) -> Vec<String> {
        match self {
            Self::ReadConsistencyLevels | Self::WriteConsistencyLevels => Consistency::ALL.iter().map(ToString::to_string).collect(),
            Self::TableProperties => PROPERTIES.map(str::to_owned).to_vec(),
        }
    }

    /// Reads values that stand between commas, in brackets or not.
    ///
    /// # Errors
    /// The first that there is not.
    pub fn parse(self, text: &str) -> Result<ValueSet, String> {
        let members = self.members();
        let text = text.trim();
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        inner.split(',').map(str::trim).filter(|value| !value.is_empty()).try_fold(0, |set, value| {
            let position = members.iter().position(|member| member.eq_ignore_ascii_case(value)).ok_or_else(|| value.to_owned())?;
            Ok(set | 1 << position)
        })
    }

    /// Values as messages and settings show them.
    #[must_use]
    pub fn shown(self, set: ValueSet) -> String {
        let members = self.members();
        let shown: Vec<_> = (0..members.len()).filter(|position| set >> position & 1 == 1).map(|position| &*members[position]).collect();
        format!("[{}]", shown.join(", "))
    }
}

/// The set of some levels.
pub(super) fn levels(levels: impl IntoIterator<Item = Consistency>) -> ValueSet {
    levels.into_iter().fold(0, |set, level| set | 1 << level.code())
}

/// The set of what a statement gives.
pub(super) fn properties<'n>(names: impl IntoIterator<Item = &'n str>) -> ValueSet {
    names.into_iter().filter_map(property).fold(0, |set, bit| set | bit)
}

/// A property alone.
pub(super) fn property(name: &str) -> Option<ValueSet> {
    PROPERTIES.iter().position(|property| *property == name).map(|position| 1 << position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_shown() {
        let levels = Values::ReadConsistencyLevels;
        let set = levels.parse("local_quorum, ALL").expect("levels");
        assert_eq!(set, self::levels([Consistency::All, Consistency::LocalQuorum]));
        assert_eq!((levels.shown(set), levels.parse(&levels.shown(set))), ("[ALL, LOCAL_QUORUM]".to_owned(), Ok(set)));
        assert_eq!((levels.parse(""), levels.parse("[]"), levels.shown(0)), (Ok(0), Ok(0), "[]".to_owned()));
        assert_eq!(levels.parse("ALL, most"), Err("most".to_owned()));
        let table = Values::TableProperties;
        assert_eq!(table.parse("comment,ID"), Ok(properties(["id", "comment", "clustering"])));
    }

    #[test]
    fn properties_are_in_order_and_fit_a_set() {
        assert!(PROPERTIES.is_sorted() && PROPERTIES.len() <= 64);
        for values in Values::ALL {
            let all = values.members().join(", ");
            assert_eq!(values.shown(values.parse(&all).expect("all")), format!("[{all}]"));
        }
    }
}
