//! The binary `tarndb`: reads the command line, dispatches to a command, and turns its outcome into an exit code.

mod cli;
mod config;
mod data_dir;
mod devices;
mod exit;
mod http;
mod identity;
mod inspect;
mod layout;
mod logging;
mod metrics;
mod node;
mod node_tls;
mod operate;
mod settings;
mod settings_file;
mod small_files;
mod start;
mod status;

use clap::Parser;
use cli::{Cli, Command};
use exit::Failure;
use std::io::Write;
use std::process::ExitCode;

/// What `scripts/notices.py` collects.
const NOTICES: &str = include_str!("../../../THIRD-PARTY-NOTICES");

#[global_allocator]
static ALLOCATOR: io_linux::Allocator = io_linux::Allocator;

fn main() -> ExitCode {
    exit::end_with_bug_code_on_panic();
    let Cli { command } = Cli::parse();
    let outcome = match command {
        Command::Start(arguments) => start::run(*arguments).map(|()| ExitCode::SUCCESS),
        Command::Status(arguments) => operate::status(&arguments).map_err(Failure::from),
        Command::Drain(arguments) => operate::drain(&arguments).map_err(Failure::from),
        Command::Remove(arguments) => operate::remove(&arguments).map_err(Failure::from),
        Command::Inspect(arguments) => inspect::run(&arguments).map_err(Failure::from),
        Command::Licences => {
            // Whoever reads it may have seen enough.
            let _ = std::io::stdout().write_all(NOTICES.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
        Command::Bench(command) => bench::cli::run(command, concat!("tarndb ", env!("TARNDB_BUILD"))).map_err(Failure::from),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("tarndb: {failure}");
            failure.exit_code()
        }
    }
}
