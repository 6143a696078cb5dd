//! A namespace, or sets of it, from Aerospike or another TarnDB, by Aerospike's protocol.
//!
//! ```text
//! source: map of partitions ─► groups of partitions, several at once: scan ─► batches of writes ─► answers ─► state
//!                          └─► with --changes: scans of what has changed since ─► with --verify: both sides, partition by partition
//! ```
//!
//! - [`connector`], [`nodes`]: who is asked, and which node has which partition.
//! - [`reader`], [`record`]: scans, and records as they give them.
//! - [`writer`], [`state`], [`copy`]: records as batches, and which groups of partitions are done.
//! - [`digest`], [`verify`]: the comparison.
//! - [`outlook`], [`piece`]: what is there before anything is copied, and the parts in which it is.
//!
//! Invariants:
//! - A record is written whole, by its digest: written again it is the same, but for its generation, which counts writes here.
//! - A group of partitions is stored as done once the target has taken all its records. So an import that is killed goes on, and repeats some; and what is refused is told
//!   each time.
//! - The protocol has no timestamps of clients: what the source has wins over what the target has, unless only missing records are written.

mod connector;
mod copy;
mod digest;
mod nodes;
mod outlook;
mod piece;
mod reader;
mod record;
mod state;
mod verify;
mod writer;

use super::differences::Differences;
use super::error::{ImportError, Side};
use super::jobs::Jobs;
use crate::cli::ImportArguments;
use crate::endpoint::{Protocol, ends};
use crate::meter::{Meter, Unit};
use crate::throttle::Throttle;
use connector::Connector;
use copy::{Copier, Copying};
use piece::{Piece, pieces};
use std::time::Instant;
use verify::Verifier;

/// Partitions that are copied, and stored as done, together: a thousand groups, of which a small set takes a second.
const GROUP: u16 = 4;

/// Copies, and compares if that is asked for. Gives how many things are left out.
pub(super) fn run(arguments: &ImportArguments) -> Result<usize, ImportError> {
    for (is_given, option) in
        [(arguments.consistency.is_some(), "--consistency"), (arguments.replication_factor.is_some(), "--replication-factor")]
    {
        if is_given {
            return Err(ImportError::Option { option, of: "CQL" });
        }
    }
    let (from, to) = ends(Protocol::Aerospike, &arguments.ends)?;
    let (source, target) = (Connector::new(from, Side::Source), Connector::new(to, Side::Target));
    let mut left_out = outlook::look(arguments, &source, &target)?;
    left_out += copy_records(arguments, &source, &target)?;
    if arguments.verify {
        compare(arguments, &source, &target)?;
    }
    Ok(left_out)
}

/// The sets that are copied, each once; the empty name is all that the namespace has.
fn sets(arguments: &ImportArguments) -> Vec<&str> {
    let mut sets: Vec<&str> = arguments.table.iter().map(String::as_str).collect();
    sets.sort_unstable();
    sets.dedup();
    if sets.is_empty() { vec![""] } else { sets }
}

/// Gives how many records the target does not take.
fn copy_records(arguments: &ImportArguments, source: &Connector, target: &Connector) -> Result<usize, ImportError> {
    let (begun, sets) = (Instant::now(), sets(arguments));
    let all = pieces(&sets, GROUP);
    let mut state = state::State::open(target, arguments)?;
    if arguments.restart {
        state.forget(&sets)?;
    }
    let left: Vec<Piece<'_>> = all.iter().filter(|piece| !state.is_done(piece)).cloned().collect();
    let before = (all.len() - left.len()) as u64;
    if before > 0 {
        eprintln!("goes on where it was: {before} of {} groups of partitions are copied; --restart copies them again", all.len());
    }
    let of_changes = if arguments.changes { all.len() } else { 0 };
    let meter = Meter::start(Unit::Rows, before, (all.len() + of_changes) as u64, "groups of partitions");
    let jobs = Jobs::new(arguments.jobs, &meter);
    let copying =
        Copying { arguments, jobs: &jobs, throttle: Throttle::new(arguments.max_rows_per_second), refused: Differences::new(&meter) };
    jobs.patiently(|| state.begin(&sets))?;
    jobs.run(&left, |number| Copier::new(&copying, (source, target), number), Copier::copy)?;
    if arguments.changes {
        let since = state.begin_changes(&sets);
        jobs.run(&all, |number| Copier::new(&copying, (source, target), number), |copier, piece| copier.copy_changes(piece, since))?;
        // What was refused is to be told the next time, too.
        if copying.refused.count() == 0 {
            jobs.patiently(|| state.end_changes(&sets))?;
        }
    }
    let (records, seconds) = (meter.amount(), begun.elapsed().as_secs_f64());
    let name = &arguments.keyspace;
    meter.say(&format!("{name}: {records} records copied in {seconds:.1} s, {:.0} a second", records as f64 / seconds));
    Ok(copying.refused.count() as usize)
}

fn compare(arguments: &ImportArguments, source: &Connector, target: &Connector) -> Result<(), ImportError> {
    let pieces = pieces(&sets(arguments), 1);
    let meter = Meter::start(Unit::Rows, 0, pieces.len() as u64, "partitions compared");
    let jobs = Jobs::new(arguments.jobs, &meter);
    let (throttle, differences) = (Throttle::new(arguments.max_rows_per_second), Differences::new(&meter));
    let start = |_| Verifier::new(&arguments.keyspace, (source, target), (&jobs, &throttle, &differences));
    jobs.run(&pieces, start, Verifier::compare)?;
    differences.end(&arguments.keyspace, "records")
}
