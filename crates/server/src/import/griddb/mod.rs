//! Containers of a database, from GridDB or another TarnDB, by GridDB's protocol.
//!
//! ```text
//! source: names, columns, indexes ─► containers, several at once: query in parts ─► rows put ─► indexes ─► state
//!                                └─► with --verify: both sides, container by container
//! ```
//!
//! - [`link`]: a connection to a side that is made again.
//! - [`containers`], [`rows`]: what there is, and the rows of one container.
//! - [`outlook`]: what the target has before anything is copied.
//! - [`state`], [`copy`], [`verify`]: which containers are done, the copy, and the comparison.
//!
//! Invariants:
//! - A row with a row key is put by it: put again it is the same. A container without a row key is copied anew from its first row, after what an earlier copy has
//!   left of it is dropped.
//! - A container is stored as done once all its rows are acknowledged and its indexes are made.

mod containers;
mod copy;
mod link;
mod outlook;
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
use std::time::Instant;
use verify::Verifier;

/// Copies, and compares if that is asked for. Gives how many things are left out.
pub(super) fn run(arguments: &ImportArguments) -> Result<usize, ImportError> {
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
    Ok(left_out.len())
}

fn check_options(arguments: &ImportArguments) -> Result<(), ImportError> {
    let ends = &arguments.ends;
    for (is_given, option, of) in [
        (arguments.consistency.is_some(), "--consistency", "CQL"),
        (arguments.replication_factor.is_some(), "--replication-factor", "CQL"),
        (arguments.page_rows.is_some(), "--page-rows", "CQL and Aerospike"),
        (arguments.changes, "--changes", "Aerospike"),
        (arguments.only_missing, "--only-missing", "Aerospike"),
        (ends.from_ca.is_some(), "--from-ca", "CQL and Aerospike"),
        (ends.to_ca.is_some(), "--to-ca", "CQL and Aerospike"),
        (ends.from_certificate.is_some(), "--from-certificate", "CQL and Aerospike"),
        (ends.to_certificate.is_some(), "--to-certificate", "CQL and Aerospike"),
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
    let tasks = outlook::look(&mut Link::new(target, 0), containers, &mut state, arguments.restart)?;
    let before = tasks.iter().filter(|task| task.done.is_some()).count();
    if before > 0 {
        eprintln!("goes on where it was: {before} of {} containers are copied; --restart copies them again", containers.len());
    }
    let meter = Meter::start(Unit::Rows, 0, containers.len() as u64, "containers");
    let jobs = Jobs::new(arguments.jobs, &meter);
    let copying = Copying::new(&jobs, Throttle::new(arguments.max_rows_per_second), &state);
    let start = |number| Copier::new(&copying, (Link::new(source, number), Link::new(target, number)));
    jobs.run(&tasks, start, Copier::copy)?;
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
    differences.end(&arguments.keyspace, "rows")
}
