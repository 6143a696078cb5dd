//! `tarndb import`: copies what another database has into this one, while clients work there.
//!
//! - [`cql`]: a keyspace of Cassandra, ScyllaDB or TarnDB.
//! - [`aerospike`]: a namespace of Aerospike or TarnDB.
//! - [`griddb`]: containers of GridDB or TarnDB.
//! - [`jobs`], [`clock`], [`differences`], [`error`]: what these have in common.
//!
//! Each reads by the source's protocol, writes by the same one of TarnDB, keeps in the target what is done, and goes on from there.

mod aerospike;
mod clock;
mod cql;
mod differences;
mod error;
mod griddb;
mod jobs;

pub(crate) use error::ImportError;

use crate::cli::ImportArguments;
use crate::endpoint::Protocol;
use std::process::ExitCode;

/// Copies, and compares if that is asked for.
pub(crate) fn run(arguments: &ImportArguments) -> Result<ExitCode, ImportError> {
    let left_out = match Protocol::of(&arguments.ends.from)? {
        Protocol::Cql => cql::run(arguments),
        Protocol::Aerospike => aerospike::run(arguments),
        Protocol::GridDb => griddb::run(arguments),
    }?;
    match left_out {
        0 => Ok(ExitCode::SUCCESS),
        count => Err(ImportError::LeftOut { keyspace: arguments.keyspace.clone(), count }),
    }
}
