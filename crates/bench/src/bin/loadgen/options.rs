//! The command line.

use clap::{Parser, ValueEnum};
use load::cql::CqlSettings;
use load::tables::Tables;
use load::workload::{Clients, End, KeyChoice, Keys, Mix, OperationKind, Pace, Rows, Values};
use load::{Limits, Plan};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Rows there may be.
const KEY_COUNT_MAX: u64 = 1_000_000_000_000;
/// Without a reply for this long, a run has failed.
const SILENCE_S: f64 = 20.0;

/// Loads a CQL server with point reads and upserts and prints one line of JSON.
#[derive(Debug, Parser)]
#[command(name = "loadgen", max_term_width = 120)]
pub(crate) struct Options {
    /// Where the server is.
    #[arg(long, default_value = "127.0.0.1:9042")]
    pub(crate) address: SocketAddr,
    /// Speak TLS, and trust servers whose certificates the authorities in this file, PEM, have signed for the address.
    #[arg(long)]
    pub(crate) tls_ca: Option<PathBuf>,
    /// What to do. `load` makes keyspace and table and writes each row once.
    #[arg(long, value_enum)]
    pub(crate) workload: Workload,
    /// The table, with its keyspace.
    #[arg(long, default_value = "tarndb_bench.kv")]
    pub(crate) table: String,
    /// Rows there are.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..KEY_COUNT_MAX))]
    pub(crate) keys: u64,
    /// Blobs in a row.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) columns: u16,
    /// Bytes in each blob.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=16 << 20))]
    pub(crate) column_bytes: u32,
    /// Connections.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) connections: u16,
    /// Requests in flight on each connection.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16_384))]
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
    /// Tell replies and latencies of each second, too.
    #[arg(long)]
    pub(crate) intervals: bool,
    /// Compare every row that is read with what was written, as far as that is known, not only its length.
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
    /// The server and the table.
    pub(crate) fn target(&self) -> CqlSettings {
        let (keyspace, table) = self.table.split_once('.').unwrap_or(("tarndb_bench", &self.table));
        CqlSettings {
            addresses: vec![self.address.to_string()],
            protocol_version: self.protocol,
            tls_ca: self.tls_ca.clone(),
            keyspace: keyspace.to_owned(),
            table: table.to_owned(),
            ..CqlSettings::default()
        }
    }

    /// The rows.
    pub(crate) fn rows(&self) -> Rows {
        Rows {
            count: self.keys,
            fields: u32::from(self.columns),
            field_bytes: self.column_bytes,
            field_bytes_min: None,
            values: Values::Random,
            keys: Keys::YcsbHashed,
            tables: Tables::ONE,
        }
    }

    /// The load.
    pub(crate) fn plan(&self) -> Plan {
        let kinds: &[OperationKind] = match self.workload {
            Workload::Load => &[OperationKind::Insert],
            Workload::Reads => &[OperationKind::Read],
            Workload::Writes => &[OperationKind::Update],
            Workload::Mixed => &[OperationKind::Read, OperationKind::Update],
        };
        let operations = if self.workload == Workload::Load { self.keys } else { self.requests };
        Plan {
            mix: Mix {
                operations: kinds.iter().map(|kind| (*kind, 1.0)).collect(),
                keys: KeyChoice::Uniform,
                scan_rows_max: 1,
                update_all_fields: true,
                verify: self.verify,
            },
            clients: Clients { threads: 1, connections: u32::from(self.connections), in_flight: u32::from(self.depth) },
            pace: if self.refill == Refill::Batch { Pace::Batches } else { Pace::Closed },
            end: End { operations: Some(operations), seconds: Some(self.seconds_max as f64) },
            seed: self.seed,
            limits: Limits { silence_s: SILENCE_S, ..Limits::default() },
        }
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
