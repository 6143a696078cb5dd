//! Containers of a database, from GridDB or another TarnDB, by GridDB's protocol.
//!
//! ```text
//! source: names, columns, indexes ─► containers, several at once: query in parts ─► rows put ─► indexes ─► state
//!                                └─► with --verify: both sides, container by container
//! ```
//!
//! - [`link`]: a connection to a side that is made again.
//! - [`containers`], [`rows`]: what there is, and the rows of one container.
//! - [`state`], [`copy`], [`verify`]: which containers are done, the copy, and the comparison.
//!
//! Invariants:
//! - A row with a row key is put by it: put again it is the same. A container without a row key is copied anew from its first row, after what an earlier copy has
//!   left of it is dropped.
//! - A container is stored as done once all its rows are acknowledged and its indexes are made.

mod containers;
mod copy;
mod link;
mod rows;
mod state;
mod verify;

use super::differences::Differences;
use super::error::{ImportError, Side};
use super::jobs::Jobs;
use crate::cli::ImportArguments;
use crate::endpoint::{Protocol, ends};
use crate::meter::{Meter, Unit};
use crate::throttle::Throttle;
use copy::{Copier, Copying};
use griddb::client::Description;
use link::{Connector, Link};
use state::State;
use std::process::ExitCode;
use std::time::Instant;
use verify::Verifier;

/// Copies, and compares if that is asked for.
pub(super) fn run(arguments: &ImportArguments) -> Result<ExitCode, ImportError> {
    check_options(arguments)?;
    let (from, to) = ends(Protocol::GridDb, &arguments.ends)?;
    let database = &arguments.keyspace;
    let (source, target) = (Connector::new(from, Side::Source, database), Connector::new(to, Side::Target, database));
    let (containers, mut left_out) = containers::choose(&mut Link::new(&source, 0), database, &arguments.table)?;
    left_out.extend(copy_containers(arguments, (&source, &target), &containers)?);
    left_out.iter().for_each(|what| eprintln!("left out: {what}"));
    if arguments.verify {
        compare(arguments, (&source, &target), &containers)?;
    }
    match left_out.len() {
        0 => Ok(ExitCode::SUCCESS),
        count => Err(ImportError::LeftOut { keyspace: database.clone(), count }),
    }
}

fn check_options(arguments: &ImportArguments) -> Result<(), ImportError> {
    let ends = &arguments.ends;
    for (is_given, option, of) in [
        (arguments.consistency.is_some(), "--consistency", "CQL"),
        (arguments.replication_factor.is_some(), "--replication-factor", "CQL"),
        (arguments.changes, "--changes", "Aerospike"),
        (arguments.only_missing, "--only-missing", "Aerospike"),
        (ends.from_ca.is_some(), "--from-ca", "CQL and Aerospike"),
        (ends.to_ca.is_some(), "--to-ca", "CQL and Aerospike"),
    ] {
        if is_given {
            return Err(ImportError::Option { option, of });
        }
    }
    Ok(())
}

/// Gives what the target does not take.
fn copy_containers(
    arguments: &ImportArguments,
    (source, target): (&Connector, &Connector),
    containers: &[Description],
) -> Result<Vec<String>, ImportError> {
    let begun = Instant::now();
    let mut state = State::open(Link::new(target, 0), &arguments.ends.from)?;
    if arguments.restart {
        containers.iter().try_for_each(|container| state.begin_again(&container.name))?;
    }
    let left: Vec<&Description> = containers.iter().filter(|container| !state.is_done(&container.name)).collect();
    let before = containers.len() - left.len();
    if before > 0 {
        eprintln!("goes on where it was: {before} of {} containers are copied; --restart copies them again", containers.len());
    }
    let meter = Meter::start(Unit::Rows, before as u64, containers.len() as u64, "containers");
    let jobs = Jobs::new(arguments.jobs, &meter);
    let copying = Copying::new(&jobs, Throttle::new(arguments.max_rows_per_second), &state);
    let start = |number| Copier::new(&copying, (Link::new(source, number), Link::new(target, number)));
    jobs.run(&left, start, |copier, container| copier.copy(container))?;
    let (rows, seconds, name) = (meter.amount(), begun.elapsed().as_secs_f64(), &arguments.keyspace);
    let count = containers.len();
    meter.say(&format!("{name}: {rows} rows copied of {count} containers in {seconds:.1} s, {:.0} a second", rows as f64 / seconds));
    Ok(copying.left_out())
}

fn compare(arguments: &ImportArguments, (source, target): (&Connector, &Connector), containers: &[Description]) -> Result<(), ImportError> {
    let meter = Meter::start(Unit::Rows, 0, containers.len() as u64, "containers compared");
    let jobs = Jobs::new(arguments.jobs, &meter);
    let (throttle, differences) = (Throttle::new(arguments.max_rows_per_second), Differences::new(&meter));
    let start = |number| Verifier::new((Link::new(source, number), Link::new(target, number)), (&jobs, &throttle, &differences));
    jobs.run(containers, start, |verifier, container| verifier.compare(&arguments.keyspace, container))?;
    match differences.count() {
        0 => {
            meter.say(&format!("{}: {} rows are the same on both sides", arguments.keyspace, meter.amount()));
            Ok(())
        }
        rows => Err(ImportError::NotTheSame { keyspace: arguments.keyspace.clone(), rows }),
    }
}
