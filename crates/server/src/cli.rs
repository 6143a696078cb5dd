//! The command line. Flags of `start` are the keys of the configuration file with `-` for `_`: see [`Settings`].

use crate::settings::Settings;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// A NoSQL database that the drivers people already use connect to.
#[derive(Debug, Parser)]
#[command(name = "tarndb", version, about, max_term_width = 120)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a node. Without flags: a single node on loopback with its data in ./tarndb-data.
    Start(Box<StartArguments>),
    /// Show and check devices or a data directory while no server runs. Writes nothing. Ends with 0: clean, 1: damage, 2: cannot be read.
    Inspect(InspectArguments),
    /// Run published benchmarks against this or another database and draw the result.
    #[command(subcommand)]
    Bench(bench::cli::BenchCommand),
}

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// Devices, or files of shards.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Everything that this data directory names; its schema tells which tables are gone, which makes the live estimates better.
    #[arg(long, value_name = "DIR", conflicts_with = "paths")]
    pub(crate) data_dir: Option<PathBuf>,
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
    fn an_unknown_flag_names_the_nearest() {
        let error = Cli::try_parse_from(["tarndb", "start", "--memory-limt", "1GiB"]).unwrap_err();
        assert!(error.to_string().contains("--memory-limit"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}
