//! The command line.

use bench::rows::KEY_COUNT_MAX;
use clap::{Parser, ValueEnum};
use cql::wire::ProtocolVersion;

/// CQL frames through one core in process, without sockets.
#[derive(Debug, Parser)]
#[command(name = "microbench", max_term_width = 120)]
pub(crate) struct Options {
    /// Rows there are.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..KEY_COUNT_MAX))]
    pub(crate) rows: u64,
    /// What a row looks like; all shapes unless given.
    #[arg(long, value_enum)]
    pub(crate) shape: Vec<Shape>,
    /// The first blob has an index, and rows are read by it; writes that change it are measured too.
    #[arg(long)]
    pub(crate) index: bool,
    /// Changes of the table are logged.
    #[arg(long)]
    pub(crate) cdc: bool,
    /// Clients log in, as a role with permissions on the table's keyspace.
    #[arg(long)]
    pub(crate) login: bool,
    /// What reaches the disk and the stable memory is encrypted.
    #[arg(long)]
    pub(crate) encrypted: bool,
    /// Frames in each delivery.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16])]
    pub(crate) batches: Vec<u16>,
    /// Connections that deliver between two turns of the core.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) connections: u16,
    /// Measured rounds; one more comes first and does not count.
    #[arg(long, default_value_t = 7)]
    pub(crate) rounds: usize,
    /// Requests in a round.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) requests: u64,
    /// The log may be this many times as long as the rows: below 2, defragmentation has to work hard.
    #[arg(long, default_value_t = 3.0)]
    pub(crate) capacity_times: f64,
    /// Protocol version.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(3..=5))]
    pub(crate) protocol: u8,
    /// Runs exactly `--requests` requests of this kind in `serve_measured` and ends: for callgrind's `--toggle-collect`.
    #[arg(long, value_enum)]
    pub(crate) callgrind: Option<Workload>,
    /// Prints JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a row looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// One blob of 200 bytes.
    #[value(name = "1x200")]
    One,
    /// Five blobs of 40 bytes.
    #[value(name = "5x40")]
    Five,
    /// YCSB's ten fields of 100 bytes.
    #[value(name = "10x100")]
    Ycsb,
}

impl Shape {
    pub(crate) const ALL: [Self; 3] = [Self::One, Self::Five, Self::Ycsb];

    /// Blobs in a row, and bytes in each.
    pub(crate) fn columns(self) -> (usize, usize) {
        match self {
            Self::One => (1, 200),
            Self::Five => (5, 40),
            Self::Ycsb => (10, 100),
        }
    }
}

/// What the requests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// SELECT of all blobs of one row.
    Reads,
    /// INSERT of all blobs of a row that exists.
    Writes,
    /// The same, with another first blob: with `--index` its entry changes.
    Changes,
}

impl Workload {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Changes => "changes",
        }
    }
}

impl Options {
    /// The protocol version as a type.
    pub(crate) fn version(&self) -> ProtocolVersion {
        ProtocolVersion::from_number(self.protocol).expect("the range of the option is that of the versions")
    }

    /// The shapes asked for.
    pub(crate) fn shapes(&self) -> &[Shape] {
        if self.shape.is_empty() { &Shape::ALL } else { &self.shape }
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
