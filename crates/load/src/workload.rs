//! A load as a person describes it: rows, keys, operations and their pace. Read from the files of studies; unknown keys are errors.

use crate::tables::Tables;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rows of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// How many are loaded.
    pub count: u64,
    /// Columns beside the key, `field0` and so on.
    #[serde(default = "one")]
    pub fields: u32,
    /// Bytes of each field's value.
    pub field_bytes: u32,
    /// Values have uniformly random lengths from this to `field_bytes`; absent: all have `field_bytes`.
    #[serde(default)]
    pub field_bytes_min: Option<u32>,
    /// What values are made of.
    #[serde(default)]
    pub values: Values,
    /// How a key is spelled.
    #[serde(default)]
    pub keys: Keys,
    /// How many tables they are spread over.
    #[serde(default, skip_serializing_if = "Tables::is_one")]
    pub tables: Tables,
}

fn one() -> u32 {
    1
}

/// What values are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Bytes that do not compress, drawn from row, field and version, so that a reader can verify them.
    #[default]
    Random,
    /// Printable text as YCSB fills fields with.
    Text,
    /// Values that compress to about half.
    Compressible,
}

/// How a key is spelled from its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// `user` and the FNV hash of the number in decimal: YCSB's `insertorder=hashed`. A text.
    #[default]
    YcsbHashed,
    /// `user` and the number: YCSB's `insertorder=ordered`. A text.
    YcsbOrdered,
    /// Ten bytes, as cassandra-stress spells its keys. A blob.
    Stress,
    /// The number itself, a bigint.
    Number,
}

/// Which row an operation is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum KeyChoice {
    /// One after the other, round and round.
    Sequential,
    /// Each as likely as any other.
    Uniform,
    /// YCSB's ZipfianGenerator: low numbers are popular.
    Zipfian {
        /// Skew.
        #[serde(default = "ycsb_zipfian")]
        constant: f64,
    },
    /// YCSB's ScrambledZipfianGenerator: the popular ones lie scattered.
    ScrambledZipfian {
        /// Skew; YCSB knows only 0.99.
        #[serde(default = "ycsb_zipfian")]
        constant: f64,
    },
    /// YCSB's SkewedLatestGenerator: what was inserted last is popular.
    Latest,
    /// cassandra-stress's GAUSSIAN(first..last): mean in the middle unless told, clamped to the range.
    Gaussian {
        /// Standard deviations between the middle and the ends, three in cassandra-stress.
        #[serde(default = "stress_deviations")]
        deviations: f64,
    },
    /// YCSB's HotspotIntegerGenerator: some rows at the front get most operations, each of them as likely as any other.
    Hotspot {
        /// Share of the rows that is hot.
        #[serde(default = "ycsb_hot_rows")]
        rows: f64,
        /// Share of the operations that go there.
        #[serde(default = "ycsb_hot_operations")]
        operations: f64,
    },
    /// YCSB's ExponentialGenerator: what was inserted last is popular, exponentially so.
    Exponential {
        /// So many of 100 operations go to the last `rows` of the rows.
        #[serde(default = "ycsb_exponential_percentile")]
        percentile: f64,
        /// Share of the rows.
        #[serde(default = "ycsb_exponential_rows")]
        rows: f64,
    },
}

fn ycsb_zipfian() -> f64 {
    0.99
}

fn stress_deviations() -> f64 {
    3.0
}

fn ycsb_hot_rows() -> f64 {
    0.2
}

fn ycsb_hot_operations() -> f64 {
    0.8
}

fn ycsb_exponential_percentile() -> f64 {
    95.0
}

fn ycsb_exponential_rows() -> f64 {
    0.857_142_857_1
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// All fields of one row.
    Read,
    /// New values for fields of a row that exists.
    Update,
    /// A row that did not exist.
    Insert,
    /// Rows from a key on.
    Scan,
    /// A read, then an update of the same row; its latency is both together.
    ReadModifyWrite,
}

impl OperationKind {
    /// All of them, in order.
    pub const ALL: [Self; Self::COUNT] = [Self::Read, Self::Update, Self::Insert, Self::Scan, Self::ReadModifyWrite];
    /// How many there are.
    pub const COUNT: usize = 5;

    /// Its name in reports and histogram logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "read-modify-write",
        }
    }
}

/// Operations of a phase and how they are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Weight of each kind; they need not add up to one.
    pub operations: BTreeMap<OperationKind, f64>,
    /// Which rows.
    pub keys: KeyChoice,
    /// Rows a scan asks for: uniform from 1 to this.
    #[serde(default = "ycsb_scan_rows")]
    pub scan_rows_max: u32,
    /// Whether an update writes all fields, or one as YCSB does.
    #[serde(default)]
    pub update_all_fields: bool,
    /// Whether what is read is compared with what was written.
    #[serde(default)]
    pub verify: bool,
}

fn ycsb_scan_rows() -> u32 {
    100
}

/// Who asks: threads of the load generator, their connections, and requests in flight on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// Threads of the load generator.
    #[serde(default = "one")]
    pub threads: u32,
    /// Connections of all threads together.
    pub connections: u32,
    /// Requests in flight on each connection: connections × in_flight stands for the papers' "client threads".
    #[serde(default = "one")]
    pub in_flight: u32,
}

/// When the next request is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// As soon as a reply has come (closed loop).
    #[default]
    Closed,
    /// When replies to all that a connection has in flight have come, as redis-benchmark's pipelines do (closed loop).
    Batches,
    /// So many a second whatever comes back (open loop); latency counts from when a request should have been sent.
    Open(f64),
}

/// When a load is over: whichever comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// After so many operations.
    pub operations: Option<u64>,
    /// After so long.
    pub seconds: Option<f64>,
}
