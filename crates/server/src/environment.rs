//! Environment variables: each `TARNDB_*` is a setting of this program, or an error that names the nearest one.
//!
//! Others use the prefix, too, and are left alone: this project's tests and scripts ([`RESERVED`]), and Kubernetes, which tells each
//! container of a service named `tarndb` by `TARNDB_SERVICE_HOST`, `TARNDB_PORT=tcp://...` and more.

use crate::cli::Cli;
use base::nearest;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};

/// What variables of this program begin with.
const PREFIX: &str = "TARNDB_";

/// Beginnings of names that this project's tests and scripts use; the program does not read them. `docs/reference/config.md` lists them.
const RESERVED: [&str; 13] = [
    "TARNDB_TEST_",
    "TARNDB_SEED",
    "TARNDB_SUITE",
    "TARNDB_BENCH_",
    "TARNDB_CRASH_",
    "TARNDB_FUZZ_",
    "TARNDB_CLUSTER_SECONDS",
    "TARNDB_OLDER_BINARY",
    "TARNDB_CQLSH",
    "TARNDB_BUILD",
    "TARNDB_INSTALL",
    "TARNDB_TRACE",
    "TARNDB_WRITE_GOLDEN",
];

/// A variable that is no setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown environment variable `{name}`{}",
    nearest.as_ref().map_or(String::new(), |nearest| format!("; did you mean `{nearest}`?"))
)]
pub(crate) struct UnknownVariable {
    /// Its name.
    name: String,
    /// The variable that is most like it.
    nearest: Option<String>,
}

/// Refuses variables that are no settings. `variables` are names and values.
pub(crate) fn check(variables: impl Iterator<Item = (String, String)>) -> Result<(), UnknownVariable> {
    let mut known = Vec::new();
    collect(&Cli::command(), &mut known);
    for (name, value) in variables {
        let is_others = || RESERVED.iter().any(|prefix| name.starts_with(prefix)) || is_of_a_service(&name, &value);
        if name.starts_with(PREFIX) && !known.contains(&name) && !is_others() {
            let nearest = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
            return Err(UnknownVariable { name, nearest });
        }
    }
    Ok(())
}

/// The variables of a command and of those below it.
fn collect(command: &clap::Command, known: &mut Vec<String>) {
    known.extend(command.get_arguments().filter_map(|argument| argument.get_env()?.to_str().map(str::to_owned)));
    command.get_subcommands().for_each(|below| collect(below, known));
}

/// Whether a variable is one by which Kubernetes, or a linked container, tells of a service: its host, its ports, or its address.
fn is_of_a_service(name: &str, value: &str) -> bool {
    let has_port_of = |protocol: &str| name.split_once("_PORT_").is_some_and(|(_, rest)| rest.contains(protocol));
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || ["_TCP", "_UDP", "_SCTP"].into_iter().any(has_port_of)
        || (name.ends_with("_PORT") && value.contains("://"))
}

/// Calls a variable's bad value one: clap names the flag that was not given.
pub(crate) fn name_variable(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return error };
    let flag = shown.split(' ').next().unwrap_or("").to_owned();
    let is_given = arguments.iter().any(|argument| *argument == flag || argument.starts_with(&format!("{flag}=")));
    let mut known = Vec::new();
    collect(&Cli::command(), &mut known);
    let variable = PREFIX.to_owned() + &flag.trim_start_matches('-').replace('-', "_").to_uppercase();
    if !is_given && known.contains(&variable) && std::env::var_os(&variable).is_some() {
        error.insert(ContextKind::InvalidArg, ContextValue::String(format!("environment variable {variable}")));
    }
    error
}

/// Which settings of `tarndb start` come from variables.
pub(crate) fn settings_from_variables(matches: &ArgMatches) -> Vec<String> {
    let Some(("start", start)) = matches.subcommand() else { return Vec::new() };
    let is_variable = |id: &String| start.value_source(id) == Some(ValueSource::EnvVariable);
    start.ids().map(|id| id.as_str().to_owned()).filter(is_variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, value: &str) -> Option<String> {
        check([(name.to_owned(), value.to_owned())].into_iter()).err().map(|error| error.to_string())
    }

    #[test]
    fn an_unknown_variable_names_the_nearest() {
        let error = refused("TARNDB_MEMORY_LIMT", "1GiB");
        assert_eq!(error.as_deref(), Some("unknown environment variable `TARNDB_MEMORY_LIMT`; did you mean `TARNDB_MEMORY_LIMIT`?"));
        let error = refused("TARNDB_CLUSTERNAME", "x");
        assert_eq!(error.as_deref(), Some("unknown environment variable `TARNDB_CLUSTERNAME`; did you mean `TARNDB_CLUSTER_NAME`?"));
        assert!(refused("TARNDB_PORT", "9042").is_some(), "a port, not the address of a service");
    }

    #[test]
    fn settings_and_what_others_use_are_left_alone() {
        let names = ["TARNDB_CORES", "TARNDB_CONFIG", "TARNDB_HTTP", "TARNDB_PEERS", "TARNDB_TEST_BINARY", "TARNDB_SEEDS", "PATH", "TARND"];
        for name in names {
            assert_eq!(refused(name, "x"), None);
        }
        for (name, value) in [
            ("TARNDB_SERVICE_HOST", "10.0.0.1"),
            ("TARNDB_SERVICE_PORT_CQL", "9042"),
            ("TARNDB_PORT", "tcp://10.0.0.1:9042"),
            ("TARNDB_PORT_9042_TCP_ADDR", "10.0.0.1"),
            ("TARNDB_SEED_NODES_SERVICE_HOST", "10.0.0.1"),
        ] {
            assert_eq!(refused(name, value), None, "{name}");
        }
    }
}
