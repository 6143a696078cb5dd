//! A keyspace, or tables of it, from another CQL database, while clients write there.
//!
//! ```text
//! source: system_schema ─► keyspace, types, tables of the target ─► ranges of tokens, several at once: page ─► statements ─► answers ─► state
//!                                                            └─► indexes, views ─► with --verify: digests of both sides, range by range
//! ```
//!
//! - [`schema`], [`statements`], [`make`]: what the source has, and how the target gets it.
//! - [`plan`], [`row`]: how rows are read and written, with timestamps and times to live.
//! - [`ranges`], [`state`]: the ring in parts, and how far each is.
//! - [`connection`], [`copy`], [`verify`]: what jobs do, each with a connection to either side.
//!
//! Invariants:
//! - A cell keeps its timestamp. So a page may be written again, and whatever a client writes to the target meanwhile wins if it is newer.
//! - A null is never written: nothing of the target is deleted.
//! - A range is stored as done once the target has answered all its writes. So an import that is killed goes on, and repeats some.

mod connection;
mod copy;
mod make;
mod plan;
mod ranges;
mod row;
mod schema;
mod state;
mod statements;
mod tables;
mod verify;

use super::differences::Differences;
use super::error::ImportError;
use super::jobs::Jobs;
use crate::cli::ImportArguments;
use crate::endpoint::{Endpoint, Protocol, ends};
use crate::meter::{Meter, Unit};
use crate::throttle::Throttle;
use ::cql::wire::Consistency;
use copy::{Copier, Copying};
use load::cql::ConsistencyLevel;
use plan::Plan;
use ranges::Piece;
use schema::Table;
use state::State;
use std::time::Instant;
use verify::{Verifier, Verify};

/// Rows of a page.
const PAGE_ROWS: u32 = 1_000;

/// Copies, and compares if that is asked for. Gives how many things are left out.
pub(super) fn run(arguments: &ImportArguments) -> Result<usize, ImportError> {
    for (is_given, option) in [(arguments.changes, "--changes"), (arguments.only_missing, "--only-missing")] {
        if is_given {
            return Err(ImportError::Option { option, of: "Aerospike" });
        }
    }
    let (from, to) = ends(Protocol::Cql, &arguments.ends)?;
    let (mut source, mut target) = (from.source(), to.source());
    let keyspace = tables::read(&mut source, &arguments.keyspace)?;
    let (tables, mut left_out) = tables::choose(&keyspace, &arguments.table)?;
    let missing = make::keyspace(&mut target, &keyspace, &tables, arguments.replication_factor)?;
    let mut state = State::new(to.source(), &keyspace.name);
    state.make()?;
    // What was copied to a table that is gone is copied again.
    let anew: Vec<&Table> = if arguments.restart { tables.iter().collect() } else { missing.clone() };
    anew.into_iter().try_for_each(|table| state.forget(table))?;
    missing.into_iter().try_for_each(|table| make::table(&mut target, &keyspace.name, table))?;
    let plans = tables.iter().map(|table| tables::plan(&mut source, &keyspace, table)).collect::<Result<Vec<_>, _>>()?;
    let ends = (&from, &to);
    copy_rows(arguments, ends, &plans, &mut state)?;
    left_out.extend(make::after_rows(&mut target, &arguments.keyspace, &tables)?);
    left_out.iter().for_each(|what| eprintln!("left out: {what}"));
    if arguments.verify {
        compare(arguments, ends, &plans)?;
    }
    Ok(left_out.len())
}

/// At which level the source is read.
fn consistency(arguments: &ImportArguments) -> Consistency {
    arguments.consistency.map_or(Consistency::LocalQuorum, ConsistencyLevel::on_the_wire)
}

fn page_rows(arguments: &ImportArguments) -> u32 {
    arguments.page_rows.unwrap_or(PAGE_ROWS)
}

/// What is left of all ranges of all tables.
fn pieces(plans: &[Plan], state: &mut State<'_>) -> Result<Vec<Piece>, ImportError> {
    let mut pieces = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let done = state.done(plan)?;
        let left = ranges::all().into_iter().filter_map(|range| {
            let left = ranges::left(range, done.get(&range.after).copied())?;
            Some(Piece { plan: number, range: left, after: range.after })
        });
        pieces.extend(left);
    }
    Ok(pieces)
}

fn copy_rows(
    arguments: &ImportArguments,
    (from, to): (&Endpoint, &Endpoint),
    plans: &[Plan],
    state: &mut State<'_>,
) -> Result<(), ImportError> {
    let pieces = pieces(plans, state)?;
    let (begun, all) = (Instant::now(), plans.len() as u64 * ranges::RANGES);
    let before = all - pieces.len() as u64;
    if before > 0 {
        eprintln!("goes on where it was: {before} of {all} ranges are copied; --restart copies them again");
    }
    let later_us = plans.iter().map(|plan| state.begin(plan)).collect::<Result<Vec<_>, _>>()?;
    let meter = Meter::start(Unit::Rows, before, all, "ranges");
    let jobs = Jobs::new(arguments.jobs, &meter);
    let copy = Copying {
        keyspace: &arguments.keyspace,
        plans,
        later_us: &later_us,
        jobs: &jobs,
        throttle: Throttle::new(arguments.max_rows_per_second),
        consistency: consistency(arguments),
        page_rows: page_rows(arguments),
    };
    jobs.run(&pieces, |number| Copier::new(&copy, (from, to), number), Copier::range)?;
    let (rows, seconds) = (meter.amount(), begun.elapsed().as_secs_f64());
    let line = format!(
        "{}: {rows} rows copied of {} tables in {seconds:.1} s, {:.0} a second",
        arguments.keyspace,
        plans.len(),
        rows as f64 / seconds
    );
    meter.say(&line);
    Ok(())
}

fn compare(arguments: &ImportArguments, (from, to): (&Endpoint, &Endpoint), plans: &[Plan]) -> Result<(), ImportError> {
    let ranges = ranges::all();
    let pieces: Vec<Piece> =
        (0..plans.len()).flat_map(|plan| ranges.iter().map(move |range| Piece { plan, range: *range, after: range.after })).collect();
    let meter = Meter::start(Unit::Rows, 0, pieces.len() as u64, "ranges compared");
    let jobs = Jobs::new(arguments.jobs, &meter);
    let (consistency, differences) = (consistency(arguments), Differences::new(&meter));
    let throttle = Throttle::new(arguments.max_rows_per_second);
    let verify = Verify { plans, jobs: &jobs, throttle, consistency, page_rows: page_rows(arguments), differences };
    jobs.run(&pieces, |number| Verifier::new(&verify, (from, to), number), Verifier::range)?;
    verify.differences.end(&arguments.keyspace, "rows")
}
