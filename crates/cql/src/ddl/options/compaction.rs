//! `compaction = {'class': …}`: TarnDB does not compact; it keeps the strategies of Cassandra so that schemas written for it are taken
//! and come back.

use crate::ddl::DdlError;
use crate::ddl::compaction_value::{CompactionValueError, Values};
use crate::ddl::error::TableOptionError;
use std::collections::BTreeMap;

const PACKAGE: &str = "org.apache.cassandra.db.compaction.";
const CLASS: &str = "class";
const THRESHOLD_MIN: &str = "min_threshold";
const THRESHOLD_MAX: &str = "max_threshold";

/// Options of every strategy.
const COMMON: &[&str] = &[
    "enabled",
    "log_all",
    "only_purge_repaired_tombstones",
    "provide_overlapping_tombstones",
    "tombstone_compaction_interval",
    "tombstone_threshold",
    "unchecked_tombstone_compaction",
];

/// A strategy: its name, whether it has thresholds, its own options and what they may be.
struct Strategy {
    name: &'static str,
    has_thresholds: bool,
    options: &'static [&'static str],
    check: fn(&Values<'_>) -> Result<(), CompactionValueError>,
}

const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "SizeTieredCompactionStrategy",
        has_thresholds: true,
        options: &["bucket_high", "bucket_low", "min_sstable_size"],
        check: |values| values.check_size_tiered(),
    },
    Strategy {
        name: "LeveledCompactionStrategy",
        has_thresholds: true,
        options: &["fanout_size", "single_sstable_uplevel", "sstable_size_in_mb"],
        check: |values| values.check_leveled(),
    },
    Strategy {
        name: "TimeWindowCompactionStrategy",
        has_thresholds: true,
        options: &[
            "bucket_high",
            "bucket_low",
            "compaction_window_size",
            "compaction_window_unit",
            "expired_sstable_check_frequency_seconds",
            "min_sstable_size",
            "timestamp_resolution",
            "unsafe_aggressive_sstable_expiration",
        ],
        check: |values| values.check_time_window(),
    },
    Strategy {
        name: "UnifiedCompactionStrategy",
        has_thresholds: false,
        options: &[
            "base_shard_count",
            "expired_sstable_check_frequency_seconds",
            "flush_size_override",
            "max_sstables_to_compact",
            "min_sstable_size",
            "overlap_inclusion_method",
            "scaling_parameters",
            "sstable_growth",
            "target_sstable_size",
            "unsafe_aggressive_sstable_expiration",
        ],
        check: |values| values.check_unified(),
    },
];

pub(super) fn default() -> BTreeMap<String, String> {
    with_thresholds(BTreeMap::from([(CLASS.to_owned(), format!("{PACKAGE}SizeTieredCompactionStrategy"))]))
}

fn with_thresholds(mut entries: BTreeMap<String, String>) -> BTreeMap<String, String> {
    entries.entry(THRESHOLD_MIN.to_owned()).or_insert_with(|| "4".to_owned());
    entries.entry(THRESHOLD_MAX.to_owned()).or_insert_with(|| "32".to_owned());
    entries
}

/// The chance of a bloom filter that a table with this compaction has unless it says otherwise.
pub(super) fn bloom_filter_chance(entries: &BTreeMap<String, String>) -> f64 {
    if entries.get(CLASS).is_some_and(|class| class.ends_with(".LeveledCompactionStrategy")) { 0.1 } else { 0.01 }
}

pub(super) fn compaction(mut entries: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, DdlError> {
    let class = entries.get(CLASS).ok_or(TableOptionError::NoCompactionClass)?;
    let class = if class.contains('.') { class.clone() } else { format!("{PACKAGE}{class}") };
    let known = class.strip_prefix(PACKAGE).and_then(|name| STRATEGIES.iter().find(|strategy| strategy.name == name));
    let strategy = known.ok_or_else(|| TableOptionError::CompactionClass(class.clone()))?;
    entries.insert(CLASS.to_owned(), class);
    let values = Values(&entries);
    values.check_common().and_then(|()| (strategy.check)(&values)).map_err(TableOptionError::CompactionValue)?;
    let is_known = |name: &str| {
        name == CLASS
            || COMMON.contains(&name)
            || strategy.options.contains(&name)
            || strategy.has_thresholds && [THRESHOLD_MIN, THRESHOLD_MAX].contains(&name)
    };
    let unknown: Vec<&str> = entries.keys().map(String::as_str).filter(|name| !is_known(name)).collect();
    if !unknown.is_empty() {
        return Err(TableOptionError::CompactionOption { options: unknown.join(", "), class: strategy.name }.into());
    }
    if !strategy.has_thresholds {
        return Ok(entries);
    }
    let entries = with_thresholds(entries);
    let (minimum, maximum) = (threshold(&entries, THRESHOLD_MIN)?, threshold(&entries, THRESHOLD_MAX)?);
    if minimum < 2 {
        return Err(TableOptionError::CompactionMinimum(minimum).into());
    }
    if minimum > maximum {
        return Err(TableOptionError::CompactionThresholds { minimum, maximum }.into());
    }
    Ok(entries)
}

fn threshold(entries: &BTreeMap<String, String>, name: &'static str) -> Result<i32, DdlError> {
    let value = entries.get(name).map_or("", String::as_str);
    value.parse().map_err(|_| DdlError::TableOption(TableOptionError::CompactionThreshold { name, value: value.to_owned() }))
}
