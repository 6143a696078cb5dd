//! The options of tables: read from a statement, checked, kept in the schema, and read from there for DESCRIBE and the system tables.
//!
//! TarnDB acts on `cdc` (ScyllaDB's, a map), `comment`, `compression`, `default_time_to_live` and `gc_grace_seconds`; the others are kept so that tools that set them
//! find them again. Only what differs from its default goes into the schema.

mod caching;
mod compaction;
mod compression;
mod speculative;

use super::DdlError;
use super::number::java_double;
use super::property::Properties;
use crate::cdc::CdcOptions;
use crate::ddl::error::{CdcError, TableOptionError};
use base::Compression;
use model::{CDC_OPTION, KeptOption, TableOptions};
use std::collections::BTreeMap;

/// Cassandra's bound for times to live: 20 years.
const TIME_TO_LIVE_MAX_S: i32 = 20 * 365 * 24 * 60 * 60;
/// The smallest chance that a bloom filter can have.
const BLOOM_FILTER_CHANCE_MIN: f64 = 6.71e-5;

/// Every option of a table, with its value or default, as Cassandra's `system_schema.tables` has them.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // named after the options
pub struct TableParameters {
    pub additional_write_policy: String,
    pub allow_auto_snapshot: bool,
    pub bloom_filter_fp_chance: f64,
    pub caching: BTreeMap<String, String>,
    pub cdc: bool,
    /// `cdc` as ScyllaDB has it; none of a table for which it was never given.
    pub change_log: Option<CdcOptions>,
    pub comment: String,
    pub compaction: BTreeMap<String, String>,
    pub compression: BTreeMap<String, String>,
    pub crc_check_chance: f64,
    pub default_time_to_live: i32,
    pub gc_grace_seconds: i32,
    pub incremental_backups: bool,
    pub max_index_interval: i32,
    pub memtable_flush_period_in_ms: i32,
    pub min_index_interval: i32,
    pub read_repair: String,
    pub speculative_retry: String,
}

impl Default for TableParameters {
    fn default() -> Self {
        Self {
            additional_write_policy: speculative::DEFAULT.to_owned(),
            allow_auto_snapshot: true,
            bloom_filter_fp_chance: 0.01,
            caching: caching::default(),
            cdc: false,
            change_log: None,
            comment: String::new(),
            compaction: compaction::default(),
            compression: compression::default(),
            crc_check_chance: 1.0,
            default_time_to_live: 0,
            gc_grace_seconds: 864_000,
            incremental_backups: true,
            max_index_interval: 2048,
            memtable_flush_period_in_ms: 0,
            min_index_interval: 128,
            read_repair: "BLOCKING".to_owned(),
            speculative_retry: speculative::DEFAULT.to_owned(),
        }
    }
}

/// What the rows at rest of a table with these options are compressed with.
#[must_use]
pub fn page_compression(options: &TableOptions) -> Compression {
    match options.kept.get("compression") {
        Some(KeptOption::Map(entries)) => compression::of(entries),
        _ => Compression::default(),
    }
}

/// What the entries of the table's indexes are compressed with: nothing, so that those of a value are read in place, unless the table asks for the small
/// pages of Zstandard.
#[must_use]
pub fn entry_compression(options: &TableOptions) -> Compression {
    match page_compression(options) {
        Compression::None | Compression::Lz4 => Compression::None,
        zstd @ Compression::Zstd { .. } => zstd,
    }
}

/// Whether a statement creates a table or alters one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    Create,
    Alter,
}

impl TableParameters {
    /// The options that a table has.
    #[must_use]
    pub fn of(options: &TableOptions) -> Self {
        let mut parameters = Self {
            comment: options.comment.clone(),
            default_time_to_live: options.default_time_to_live.try_into().unwrap_or(i32::MAX),
            gc_grace_seconds: options.gc_grace_seconds.try_into().unwrap_or(i32::MAX),
            change_log: CdcOptions::of(options),
            ..Self::default()
        };
        for (name, value) in &options.kept {
            match value {
                KeptOption::Map(entries) => {
                    if let Some((_, place)) = parameters.maps().into_iter().find(|(known, _)| known == name) {
                        place.clone_from(entries);
                    }
                }
                KeptOption::Scalar(text) => parameters.set_scalar(name, text),
            }
        }
        parameters
    }

    fn maps(&mut self) -> [(&'static str, &mut BTreeMap<String, String>); 3] {
        [("caching", &mut self.caching), ("compaction", &mut self.compaction), ("compression", &mut self.compression)]
    }

    /// The scalars that are only kept, as text.
    fn scalars(&self) -> [(&'static str, String); 11] {
        [
            ("additional_write_policy", self.additional_write_policy.clone()),
            ("allow_auto_snapshot", self.allow_auto_snapshot.to_string()),
            ("bloom_filter_fp_chance", java_double(self.bloom_filter_fp_chance)),
            ("cdc", self.cdc.to_string()),
            ("crc_check_chance", java_double(self.crc_check_chance)),
            ("incremental_backups", self.incremental_backups.to_string()),
            ("max_index_interval", self.max_index_interval.to_string()),
            ("memtable_flush_period_in_ms", self.memtable_flush_period_in_ms.to_string()),
            ("min_index_interval", self.min_index_interval.to_string()),
            ("read_repair", self.read_repair.clone()),
            ("speculative_retry", self.speculative_retry.clone()),
        ]
    }

    /// The inverse of [`TableParameters::scalars`]; what does not read keeps its value.
    fn set_scalar(&mut self, name: &str, text: &str) {
        fn read<T: std::str::FromStr>(place: &mut T, text: &str) {
            if let Ok(value) = text.parse() {
                *place = value;
            }
        }
        match name {
            "additional_write_policy" => read(&mut self.additional_write_policy, text),
            "allow_auto_snapshot" => read(&mut self.allow_auto_snapshot, text),
            "bloom_filter_fp_chance" => read(&mut self.bloom_filter_fp_chance, text),
            "cdc" => read(&mut self.cdc, text),
            "crc_check_chance" => read(&mut self.crc_check_chance, text),
            "incremental_backups" => read(&mut self.incremental_backups, text),
            "max_index_interval" => read(&mut self.max_index_interval, text),
            "memtable_flush_period_in_ms" => read(&mut self.memtable_flush_period_in_ms, text),
            "min_index_interval" => read(&mut self.min_index_interval, text),
            "read_repair" => read(&mut self.read_repair, text),
            "speculative_retry" => read(&mut self.speculative_retry, text),
            _ => {}
        }
    }

    /// As the schema has them.
    ///
    /// # Panics
    /// When times are negative: check first.
    pub(super) fn to_options(&self) -> TableOptions {
        let mut default = Self::default();
        let mut own = self.clone();
        let mut kept = BTreeMap::new();
        for ((name, value), (_, default)) in own.maps().into_iter().zip(default.maps()) {
            if value != default {
                kept.insert(name.to_owned(), KeptOption::Map(value.clone()));
            }
        }
        for ((name, value), (_, default)) in self.scalars().into_iter().zip(default.scalars()) {
            if value != default {
                kept.insert(name.to_owned(), KeptOption::Scalar(value));
            }
        }
        if let Some(options) = &self.change_log {
            kept.insert(CDC_OPTION.to_owned(), KeptOption::Map(options.entries()));
        }
        let seconds = |value: i32| u32::try_from(value).expect("times are checked not to be negative");
        TableOptions {
            comment: self.comment.clone(),
            default_time_to_live: seconds(self.default_time_to_live),
            gc_grace_seconds: seconds(self.gc_grace_seconds),
            kept,
        }
    }

    /// Takes every option of `properties` that tables have.
    pub(super) fn declare(&mut self, properties: &mut Properties<'_>, occasion: Occasion) -> Result<(), DdlError> {
        if let Some(entries) = properties.map("caching")? {
            self.caching = caching::caching(entries)?;
        }
        if let Some(entries) = properties.map("compaction")? {
            let former_chance = compaction::bloom_filter_chance(&self.compaction);
            self.compaction = compaction::compaction(entries)?;
            // A table that is created with a strategy takes that strategy's chance; one that is altered keeps what it has.
            if occasion == Occasion::Create && self.bloom_filter_fp_chance == former_chance {
                self.bloom_filter_fp_chance = compaction::bloom_filter_chance(&self.compaction);
            }
        }
        if let Some(entries) = properties.map("compression")? {
            self.compression = compression::compression(entries)?;
        }
        self.declare_cdc(properties)?;
        for (name, place) in
            [("additional_write_policy", &mut self.additional_write_policy), ("speculative_retry", &mut self.speculative_retry)]
        {
            if let Some(text) = properties.text(name)? {
                *place = speculative::speculative_retry(&text)?;
            }
        }
        for (name, place) in
            [("allow_auto_snapshot", &mut self.allow_auto_snapshot), ("incremental_backups", &mut self.incremental_backups)]
        {
            if let Some(value) = properties.boolean(name)? {
                *place = value;
            }
        }
        for (name, place) in
            [("bloom_filter_fp_chance", &mut self.bloom_filter_fp_chance), ("crc_check_chance", &mut self.crc_check_chance)]
        {
            if let Some(value) = properties.double(name)? {
                *place = value;
            }
        }
        for (name, place) in [
            ("default_time_to_live", &mut self.default_time_to_live),
            ("gc_grace_seconds", &mut self.gc_grace_seconds),
            ("max_index_interval", &mut self.max_index_interval),
            ("memtable_flush_period_in_ms", &mut self.memtable_flush_period_in_ms),
            ("min_index_interval", &mut self.min_index_interval),
        ] {
            if let Some(value) = properties.integer(name)? {
                *place = value;
            }
        }
        if let Some(text) = properties.text("comment")? {
            self.comment = text;
        }
        if let Some(text) = properties.text("read_repair")? {
            let upper = text.to_ascii_uppercase();
            match upper.as_str() {
                "BLOCKING" | "NONE" => self.read_repair = upper,
                _ => return Err(TableOptionError::ReadRepair(text).into()),
            }
        }
        if let Some(text) = properties.text("memtable")?.filter(|text| text != "default") {
            return Err(TableOptionError::Memtable(text).into());
        }
        // Cassandra takes these for a driver's sake and forgets them.
        properties.map("extensions")?;
        Ok(())
    }

    /// Takes `cdc`: a map as ScyllaDB has it, or Cassandra's flag, which ends what a map has begun.
    fn declare_cdc(&mut self, properties: &mut Properties<'_>) -> Result<(), DdlError> {
        if properties.is_map(CDC_OPTION) {
            let entries = properties.map(CDC_OPTION)?.unwrap_or_default();
            self.cdc = false;
            let was_enabled = self.change_log.is_some_and(|former| former.enabled);
            self.change_log = Some(CdcOptions::read(&entries, was_enabled).map_err(CdcError::Option)?);
        } else if let Some(value) = properties.boolean(CDC_OPTION)? {
            self.cdc = value && self.change_log.is_none();
            if let Some(former) = &mut self.change_log {
                former.enabled = value;
            }
        }
        Ok(())
    }

    /// Checks values against each other and their bounds.
    pub(super) fn check(&self) -> Result<(), DdlError> {
        let chance = self.bloom_filter_fp_chance;
        if !(chance > BLOOM_FILTER_CHANCE_MIN && chance <= 1.0) {
            return Err(TableOptionError::BloomFilterChance(java_double(chance)).into());
        }
        if !(0.0..=1.0).contains(&self.crc_check_chance) {
            return Err(TableOptionError::CrcCheckChance(java_double(self.crc_check_chance)).into());
        }
        let at_least = |name, value: i32, minimum| {
            if value < minimum { Err(DdlError::TableOption(TableOptionError::OptionTooSmall { name, minimum, value })) } else { Ok(()) }
        };
        at_least("default_time_to_live", self.default_time_to_live, 0)?;
        if self.default_time_to_live > TIME_TO_LIVE_MAX_S {
            let (name, maximum, value) = ("default_time_to_live", TIME_TO_LIVE_MAX_S, self.default_time_to_live);
            return Err(TableOptionError::OptionTooLarge { name, maximum, value }.into());
        }
        at_least("gc_grace_seconds", self.gc_grace_seconds, 0)?;
        at_least("min_index_interval", self.min_index_interval, 1)?;
        if self.max_index_interval < self.min_index_interval {
            return Err(TableOptionError::IndexIntervals { minimum: self.min_index_interval, maximum: self.max_index_interval }.into());
        }
        at_least("memtable_flush_period_in_ms", self.memtable_flush_period_in_ms, 0)
    }
}
