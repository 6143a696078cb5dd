//! The binary `tarndb`: reads the command line, dispatches to a command, and turns its outcome into an exit code.

mod at_rest;
mod audit_file;
mod audit_settings;
mod audit_syslog;
mod audit_writer;
mod backup;
mod cli;
mod client_tls;
mod config;
mod console;
mod data_dir;
mod devices;
mod doctor;
mod endpoint;
mod environment;
mod exit;
mod feed;
mod file_copy;
mod first_superuser;
mod follow;
mod guardrail_settings;
mod http;
mod identity;
mod import;
mod inspect;
mod layout;
mod limits;
mod listeners;
mod live_settings;
mod log_writer;
mod logging;
mod login_file;
mod memory_shares;
mod meter;
mod metrics;
mod node;
mod node_tls;
mod operate;
mod operator_logins;
mod own_connection;
mod patience;
mod private_files;
mod relayout;
mod s3;
mod secret_files;
mod service_manager;
mod settings;
mod settings_file;
mod shown_settings;
mod size;
mod small_files;
mod sql_shell;
mod sql_spill;
mod sql_tables;
mod start;
mod status;
mod status_table;
#[cfg(test)]
mod testing;
mod throttle;
mod tls_files;
mod tls_stream;
mod top;

use clap::{CommandFactory, FromArgMatches};
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
    let arguments: Vec<String> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let parsed = Cli::command().try_get_matches().and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (Cli { command }, matches) = parsed.unwrap_or_else(|error| environment::name_variable(error, &arguments).exit());
    if let Err(unknown) = environment::check(
        std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())),
    ) {
        return end(&Failure::from(unknown));
    }
    let outcome = match command {
        Command::Start(arguments) => start::run(*arguments, &environment::settings_from_variables(&matches)).map(|()| ExitCode::SUCCESS),
        Command::Status(arguments) => operate::status(&arguments).map_err(Failure::from),
        Command::Top(arguments) => top::run(&arguments).map_err(Failure::from),
        Command::Doctor(arguments) => Ok(doctor::run(&arguments)),
        Command::Set(arguments) => operate::set(&arguments).map_err(Failure::from),
        Command::Drain(arguments) => operate::drain(&arguments).map_err(Failure::from),
        Command::Remove(arguments) => operate::remove(&arguments).map_err(Failure::from),
        Command::Backup(arguments) => backup::backup(&arguments).map_err(Failure::from),
        Command::Restore(arguments) => backup::restore(&arguments).map_err(Failure::from),
        Command::Follow(arguments) => follow::run(&arguments).map_err(Failure::from),
        Command::Import(arguments) => import::run(&arguments).map_err(Failure::from),
        Command::Sql(arguments) => sql_shell::run(&arguments).map_err(Failure::from),
        Command::Inspect(arguments) => inspect::run(&arguments).map_err(Failure::from),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tarndb", &mut out);
            let _ = std::io::stdout().write_all(&out);
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { directory } => clap_mangen::generate_to(Cli::command(), &directory)
            .map(|()| ExitCode::SUCCESS)
            .map_err(|source| Failure::Manual { directory, source }),
        Command::Licences => {
            // Whoever reads it may have seen enough.
            let _ = std::io::stdout().write_all(NOTICES.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
        Command::Bench(command) => bench::cli::run(command, concat!("tarndb ", env!("TARNDB_BUILD"))).map_err(Failure::from),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => end(&failure),
    }
}

/// Says why, and with which code the process ends.
fn end(failure: &Failure) -> ExitCode {
    eprintln!("tarndb: {failure}");
    failure.exit_code()
}
