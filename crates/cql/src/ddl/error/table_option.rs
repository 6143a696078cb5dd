//! Why an option of a table is refused.

use super::kind::DdlErrorKind;
use crate::ddl::compaction_value::CompactionValueError;

/// Why an option of a table is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum TableOptionError {
    #[error("{name} must be greater than or equal to {minimum} (got {value})")]
    OptionTooSmall { name: &'static str, minimum: i32, value: i32 },
    #[error("{name} must be less than or equal to {maximum} (got {value})")]
    OptionTooLarge { name: &'static str, maximum: i32, value: i32 },
    #[error("max_index_interval must be greater than or equal to min_index_interval ({minimum}) (got {maximum})")]
    IndexIntervals { minimum: i32, maximum: i32 },
    #[error("bloom_filter_fp_chance must be larger than 6.71E-5 and less than or equal to 1.0 (got {0})")]
    BloomFilterChance(String),
    #[error("crc_check_chance must be larger than or equal to 0 and smaller than or equal to 1.0 (got {0})")]
    CrcCheckChance(String),
    #[error("Cannot set default_time_to_live on a table with counters")]
    CounterTimeToLive,
    #[error("Invalid value {value} for option '{name}'")]
    SpeculativeRetry { name: &'static str, value: String },
    #[error("Invalid value {value} for PERCENTILE option '{name}': must be between (0.0 and 100.0)")]
    SpeculativePercentile { name: &'static str, value: String },
    #[error("Invalid value {value} for option '{name}': MIN()/MAX() arguments should be of different types, but both are of type {kind}")]
    SpeculativePair { name: &'static str, value: String, kind: &'static str },
    #[error("Invalid value {0} for option 'read_repair': only 'BLOCKING' and 'NONE' are allowed")]
    ReadRepair(String),
    #[error("Memtable configuration \"{0}\" not found.")]
    Memtable(String),
    #[error("Invalid value '{0}' for caching sub-option 'keys': only 'ALL' and 'NONE' are allowed")]
    CachingKeys(String),
    #[error("Invalid value '{0}' for caching sub-option 'rows_per_partition': only 'ALL', 'NONE', and integer values are allowed")]
    CachingRows(String),
    #[error("Invalid caching sub-options [{0}]: only 'keys' and 'rows_per_partition' are allowed")]
    CachingOption(String),
    #[error("Missing sub-option 'class' for the 'compaction' option")]
    NoCompactionClass,
    #[error("Unable to find compaction strategy class '{0}'")]
    CompactionClass(String),
    #[error("Properties specified [{options}] are not understood by {class}")]
    CompactionOption { options: String, class: &'static str },
    #[error(transparent)]
    CompactionValue(CompactionValueError),
    #[error("Invalid value {value} for '{name}' compaction sub-option - must be an integer")]
    CompactionThreshold { name: &'static str, value: String },
    #[error("Min compaction threshold cannot be less than 2 (got {0})")]
    CompactionMinimum(i32),
    #[error("Min compaction threshold (got {minimum}) cannot be greater than max compaction threshold (got {maximum})")]
    CompactionThresholds { minimum: i32, maximum: i32 },
    #[error("Missing sub-option 'class' for the 'compression' option.")]
    NoCompressionClass,
    #[error("The 'class' option must not be empty. To disable compression use 'enabled' : false")]
    EmptyCompressionClass,
    #[error("Could not create Compression for type {0}")]
    CompressionClass(String),
    #[error("Unknown compression options {0}")]
    CompressionOption(String),
    #[error("If the 'enabled' option is set to false no other options must be specified")]
    CompressionDisabled,
    #[error("Invalid value for {0}")]
    CompressionNumber(&'static str),
    #[error("ZstdCompressor.create() threw an error: java.lang.IllegalArgumentException compression_level={0} is invalid")]
    ZstdLevel(i32),
    #[error("ZstdCompressor.create() threw an error: java.lang.NumberFormatException For input string: \"{0}\"")]
    ZstdLevelNumber(String),
    #[error("chunk_length_in_kb must be a power of 2")]
    ChunkLength,
}

impl TableOptionError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        match self {
            Self::CounterTimeToLive => DdlErrorKind::Invalid,
            _ => DdlErrorKind::Config,
        }
    }
}
