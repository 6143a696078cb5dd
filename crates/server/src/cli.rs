//! The command line. Flags of `start` are the keys of the configuration file with `-` for `_`: see [`Settings`].

mod backup;
mod node;

pub(crate) use backup::{BackupArguments, BackupCommand, BackupKeyArguments, RestoreArguments};
pub(crate) use node::NodeArguments;

use crate::devices::DeviceSpec;
use crate::feed::time_us;
use crate::settings::Settings;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// TarnDB is a NoSQL database in one binary: Cassandra, ScyllaDB, Aerospike and GridDB clients connect to it.
#[derive(Debug, Parser)]
#[command(name = "tarndb", version = env!("TARNDB_BUILD"), max_term_width = 120)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a node. Without flags: a single node on loopback with its data in ./tarndb-data.
    Start(Box<StartArguments>),
    /// Show a node that runs and its cluster. Ends with 0: healthy, 1: something is missing, 2: no answer.
    Status(StatusArguments),
    /// Show what a node does, drawn anew every other second: requests, latency, memory, device, cores, tables.
    Top(TopArguments),
    /// Check whether this machine is one for a node, and say what to do. Changes nothing. Ends with 0, or 1: a node would not work here as it should.
    Doctor(DoctorArguments),
    /// Change a setting of a node that runs, until it restarts. Which ones there are and what they are: docs/reference/config.md.
    Set(SetArguments),
    /// Empty a member of a cluster: its slots go to the others, and it can be removed when it holds none.
    Drain(DrainArguments),
    /// Take a member that is empty, or down for good, out of its cluster.
    Remove(RemoveArguments),
    /// Back keyspaces up to a directory or to S3 while clients write: one point in time. `backup verify PLACE` checks one.
    Backup(Box<BackupArguments>),
    /// Restore a backup, whole or by table, into a running database of any size. After an interruption the same command goes on.
    Restore(Box<RestoreArguments>),
    /// Copy a keyspace, or tables of it, from another CQL database into this one, with timestamps and times to live, a namespace from Aerospike, or containers from GridDB. After an interruption the same command goes on.
    Import(ImportArguments),
    /// Keep tables of another database as they are in this one: reads the logs of their changes there, and writes them here. After an interruption the same command goes on.
    Follow(FollowArguments),
    /// Ask a node that runs in SQL: over tables of CQL, containers of GridDB and sets of Aerospike. Reads only. Without STATEMENT, what is typed or comes in, each to its `;`.
    Sql(SqlArguments),
    /// Show and check devices or a data directory while no server runs. Writes nothing. Ends with 0: clean, 1: damage, 2: cannot be read.
    Inspect(InspectArguments),
    /// Run published benchmarks against this or another database and draw the result.
    #[command(subcommand)]
    Bench(bench::cli::BenchCommand),
    /// Print the completions for a shell, to be sourced or installed.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of this command and all below it.
    Man {
        /// Where to, in an existing directory.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Print the licences and copyright notices of everything in this binary that others wrote.
    #[command(visible_alias = "licenses")]
    Licences,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) node: NodeArguments,
    /// All that is known, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TopArguments {
    #[command(flatten)]
    pub(crate) node: NodeArguments,
    /// Seconds from one picture to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) interval: u64,
    /// One picture, of two seconds.
    #[arg(long)]
    pub(crate) once: bool,
    /// A line of JSON for each, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Where the node's data is, or is to be.
    #[arg(long, value_name = "DIR", default_value = "tarndb-data", env = "TARNDB_DATA_DIR")]
    pub(crate) data_dir: PathBuf,
    /// The devices that the node has or is to have, as `tarndb start` takes them.
    #[arg(long, value_delimiter = ',', value_name = "DEVICES", env = "TARNDB_DEVICES")]
    pub(crate) devices: Option<Vec<DeviceSpec>>,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    /// The setting, as the configuration file has it.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Its value from now on.
    #[arg(value_name = "VALUE")]
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) node: NodeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// The member's number, as `tarndb status` shows it.
    #[arg(value_name = "MEMBER")]
    pub(crate) member: u32,
    /// End when it holds nothing any more.
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) node: NodeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The member's number, as `tarndb status` shows it.
    #[arg(value_name = "MEMBER")]
    pub(crate) member: u32,
    /// Even if nobody else has some of its rows: they are lost.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) node: NodeArguments,
}

/// The two sides of a command that reads from one database and writes to another.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EndsArguments {
    /// The CQL port of a node of the source, which is read; of several, with commas between, the first that answers. `tarndb import` takes Aerospike's with aerospike:// before it, and GridDB's with griddb:// and, after a slash, the cluster's name.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) from: String,
    /// The port of a node of the target, which is written to, likewise: of the same protocol. Without: 127.0.0.1 and the protocol's usual port.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: Option<String>,
    /// A file with ROLE:PASSWORD for the source.
    #[arg(long, value_name = "FILE")]
    pub(crate) from_login_file: Option<PathBuf>,
    /// A file with ROLE:PASSWORD for the target: it needs MODIFY and SELECT, and CREATE where tables are missing.
    #[arg(long, value_name = "FILE")]
    pub(crate) to_login_file: Option<PathBuf>,
    /// Certificates of the authorities that sign those of the source, PEM: it is spoken to by TLS.
    #[arg(long, value_name = "FILE")]
    pub(crate) from_ca: Option<PathBuf>,
    /// The same of the target.
    #[arg(long, value_name = "FILE")]
    pub(crate) to_ca: Option<PathBuf>,
    /// A certificate and its key, both PEM, in one file: for a source that asks its clients for certificates.
    #[arg(long, value_name = "FILE", requires = "from_ca")]
    pub(crate) from_certificate: Option<PathBuf>,
    /// The same for the target.
    #[arg(long, value_name = "FILE", requires = "to_ca")]
    pub(crate) to_certificate: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ImportArguments {
    /// The keyspace, Aerospike's namespace or GridDB's database, at the source and here.
    #[arg(value_name = "KEYSPACE")]
    pub(crate) keyspace: String,
    /// Tables, sets or containers of it; all without.
    #[arg(value_name = "TABLE")]
    pub(crate) table: Vec<String>,
    #[command(flatten)]
    pub(crate) ends: EndsArguments,
    /// Afterwards, read both sides and compare all rows, with their timestamps or times to live. Ends with 1 if any differ.
    #[arg(long)]
    pub(crate) verify: bool,
    /// Aerospike: also copy what the source has changed since the first copy, or the last of changes, was begun.
    #[arg(long, conflicts_with = "restart")]
    pub(crate) changes: bool,
    /// Aerospike: leave records alone that the target has. Not with --changes: what has changed is there already.
    #[arg(long, conflicts_with = "changes")]
    pub(crate) only_missing: bool,
    /// Copy again what an import before has copied.
    #[arg(long)]
    pub(crate) restart: bool,
    /// Ranges of tokens, groups of partitions or containers that are copied at once; each has a connection to either side.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// CQL: rows that the source is asked for at a time, 1000 without: fewer where rows are large. Aerospike: the most records of a batch, at most 256, which is also without.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) page_rows: Option<u32>,
    /// At most so many rows a second, over all jobs.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_rows_per_second: Option<u64>,
    /// CQL: at which consistency level the source is read; LOCAL_QUORUM without.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) consistency: Option<load::cql::ConsistencyLevel>,
    /// CQL: replicas of the keyspace where it is made here; without, as at the source, or as many as there are nodes.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) replication_factor: Option<u32>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct FollowArguments {
    #[command(flatten)]
    pub(crate) ends: EndsArguments,
    /// A table with a CDC log; may be given again. Where the target has no such table, it is made.
    #[arg(long, value_name = "KEYSPACE.TABLE", required = true)]
    pub(crate) table: Vec<String>,
    /// The first time, copy the rows that are there, and follow what is written from then on.
    #[arg(long)]
    pub(crate) copy: bool,
    /// The first time, and without --copy, where to begin: `oldest`, with all that the log has; `now`; a time, as 2026-11-28T14:05:00Z; or a position of the change feed.
    #[arg(long, value_name = "POSITION", default_value = "oldest", conflicts_with = "copy")]
    pub(crate) since: String,
    /// Of this follower: under it the target keeps how far it has come.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) name: String,
    /// End when all is applied that was there.
    #[arg(long)]
    pub(crate) once: bool,
    /// Apply what was written before this time, as 2026-11-28T14:05:00Z, and end then. Begins at --since each time, and keeps no position.
    #[arg(long, value_name = "TIME", value_parser = read_time, conflicts_with_all = ["copy", "once"])]
    pub(crate) until: Option<i64>,
    /// Seconds from one line about the lag to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) interval: u64,
}

/// Microseconds since 1970.
fn read_time(text: &str) -> Result<i64, String> {
    time_us(text).ok_or_else(|| "a time is written as 2026-11-28T14:05:00Z, in UTC".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct SqlArguments {
    /// One statement, which is run; then the command ends.
    #[arg(value_name = "STATEMENT")]
    pub(crate) statement: Option<String>,
    /// The keyspace of tables that are named without one.
    #[arg(long, value_name = "NAME")]
    pub(crate) keyspace: Option<String>,
    /// How rows are printed.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: SqlFormat,
    /// At most so many rows of each statement.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_rows: Option<u64>,
    /// Seconds that a statement may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) node: NodeArguments,
}

/// How `tarndb sql` prints rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SqlFormat {
    /// Columns below each other, as wide as the terminal.
    #[default]
    Table,
    /// Values with commas between (RFC 4180), names first.
    Csv,
    /// A document for each statement.
    Json,
    /// A stream of Arrow for each statement, for a file or another program.
    Arrow,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// Devices, or files of shards.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Everything that this data directory names; its schema tells which tables are gone, which makes the live estimates better.
    #[arg(long, value_name = "DIR", conflicts_with = "paths")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The file with the master key, of a data directory that is encrypted.
    #[arg(long, value_name = "FILE", requires = "data_dir", conflicts_with = "encryption_key_command")]
    pub(crate) encryption_key_file: Option<PathBuf>,
    /// A command for the shell that prints that key instead.
    #[arg(long, value_name = "COMMAND", requires = "data_dir")]
    pub(crate) encryption_key_command: Option<String>,
    /// One line for every segment that was ever used.
    #[arg(long, conflicts_with = "json")]
    pub(crate) segments: bool,
    /// All that is known, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StartArguments {
    /// A TOML file with the settings below (`_` for `-`). Flags go before environment variables, and those before the file.
    #[arg(long, value_name = "FILE", env = "TARNDB_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Start even if data files have lost something: with what is left. In a cluster other members' rows are then copied. For one start, by hand.
    #[arg(long)]
    pub(crate) accept_data_loss: bool,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_begins_with_what_the_program_is() {
        let help = Cli::command().render_help().to_string();
        assert!(help.starts_with("TarnDB is a NoSQL database in one binary"), "{help}");
        assert_eq!(help.lines().nth(2).map(|line| line.starts_with("Usage: ")), Some(true), "{help}");
    }

    #[test]
    fn an_unknown_flag_names_the_nearest() {
        let error = Cli::try_parse_from(["tarndb", "start", "--memory-limt", "1GiB"]).unwrap_err();
        assert!(error.to_string().contains("--memory-limit"), "{error}");
        assert_eq!(error.exit_code(), 2);
        let error = Cli::try_parse_from(["tarndb", "remove", "3", "--forse"]).unwrap_err();
        assert!(error.to_string().contains("--force"), "{error}");
    }
}
