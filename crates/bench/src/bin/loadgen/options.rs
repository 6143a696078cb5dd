//! The command line.

use bench::rows::{KEY_BYTES, KEY_COUNT_MAX};
use clap::{Parser, ValueEnum};
use cql::wire::ProtocolVersion;
use std::net::SocketAddr;

/// Loads a CQL server with point reads and upserts and prints one line of JSON.
#[derive(Debug, Parser)]
#[command(name = "loadgen", max_term_width = 120)]
pub(crate) struct Options {
    /// Where the server is.
    #[arg(long, default_value = "127.0.0.1:9042")]
    pub(crate) address: SocketAddr,
    /// What to do. `load` makes keyspace and table and writes each row once.
    #[arg(long, value_enum)]
    pub(crate) workload: Workload,
    /// The table, with its keyspace.
    #[arg(long, default_value = "tarndb_bench.kv")]
    pub(crate) table: String,
    /// Replication of the keyspace that `load` makes.
    #[arg(long, default_value = "{'class': 'SimpleStrategy', 'replication_factor': 1}")]
    pub(crate) replication: String,
    /// Rows there are.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..KEY_COUNT_MAX))]
    pub(crate) keys: u64,
    /// Blobs in a row.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) columns: u16,
    /// Bytes in each blob.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(KEY_BYTES as i64..=16 << 20))]
    pub(crate) column_bytes: u32,
    /// Connections.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) connections: u16,
    /// Requests in flight on each connection.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=32_768))]
    pub(crate) depth: u16,
    /// When a connection sends again.
    #[arg(long, value_enum, default_value = "batch")]
    pub(crate) refill: Refill,
    /// Requests of the run; `load` has one a row.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) requests: u64,
    /// The run ends after this many seconds in any case.
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds_max: u64,
    /// Tell replies and latencies of each interval of so many milliseconds, too.
    #[arg(long, value_parser = clap::value_parser!(u64).range(10..))]
    pub(crate) interval_ms: Option<u64>,
    /// Compare every row that is read with what was written, not only the first of each connection.
    #[arg(long)]
    pub(crate) verify: bool,
    /// Protocol version.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(3..=5))]
    pub(crate) protocol: u8,
    /// Seed of the keys' order.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// What the requests are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Upserts, each key once, in order.
    Load,
    /// Reads of uniformly random keys.
    Reads,
    /// Upserts of uniformly random keys.
    Writes,
    /// Half of each.
    Mixed,
}

impl Workload {
    /// Its name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Mixed => "mixed",
        }
    }
}

/// When a connection sends its next requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Refill {
    /// When all replies are there: as redis-benchmark does.
    Batch,
    /// As many as replies have come: as drivers do.
    Each,
}

impl Options {
    /// The protocol version as a type.
    pub(crate) fn version(&self) -> ProtocolVersion {
        ProtocolVersion::from_number(self.protocol).expect("the range of the option is that of the versions")
    }

    /// The keyspace of the table.
    pub(crate) fn keyspace(&self) -> &str {
        self.table.split_once('.').map_or(self.table.as_str(), |(keyspace, _)| keyspace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
