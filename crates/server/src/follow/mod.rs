//! `tarndb follow`: keeps tables of one database as those of another, from the logs of their changes.
//!
//! ```text
//! source: logs ─► feed::Reader ─► statements with the source's times ─► target: the table, then the position
//! ```
//!
//! - [`followed`], [`tables`]: what the source says of a table, and how the target gets it.
//! - [`statement`], [`translation`], [`range`]: a change as statements.
//! - [`target`]: runs statements, and keeps the position.
//! - [`copy`]: rows that are there before.
//!
//! Invariants:
//! - A statement has the time of its change. So changes can be applied again, and in any order: the last one of each column wins, as at the source.
//! - The position is stored in the target after what is before it. So a process that is killed goes on, and repeats some.

mod copy;
mod error;
mod followed;
mod range;
mod statement;
mod tables;
mod target;
mod translation;

pub(crate) use error::FollowError;
pub(crate) use target::POSITIONS;

use crate::cli::FollowArguments;
use crate::endpoint::{Endpoint, Protocol, ends};
use crate::feed::{Reader, Since, Source, Step};
use crate::patience::patiently;
use followed::Followed;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use target::Target;

/// From one look to the next: after changes, and where there are none.
const POLL: Duration = Duration::from_millis(20);
const POLL_MAX: Duration = Duration::from_secs(1);
/// How far apart positions are stored while changes come, and where none do.
const STORE: Duration = Duration::from_millis(500);
const STORE_IDLE: Duration = Duration::from_secs(5);

/// Follows until a table cannot be followed any more, or, if that is asked for, all changes are applied.
pub(crate) fn run(arguments: &FollowArguments) -> Result<ExitCode, FollowError> {
    let (from, to) = ends(Protocol::Cql, &arguments.ends)?;
    let names = arguments.table.iter().map(|name| {
        let parts = name.split_once('.').filter(|(keyspace, table)| !keyspace.is_empty() && !table.is_empty());
        parts.map(|(keyspace, table)| (keyspace.to_owned(), table.to_owned())).ok_or_else(|| FollowError::Table { name: name.clone() })
    });
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let shared = Arc::new((arguments.clone(), from, to));
    let (sender, ended) = std::sync::mpsc::channel();
    for (keyspace, table) in names.clone() {
        let (sender, shared) = (sender.clone(), Arc::clone(&shared));
        let run = move || {
            let (arguments, from, to) = &*shared;
            let followed = follow(arguments, from, to, &keyspace, &table);
            // Nobody waits any more when another one has failed.
            let _ = sender.send(followed.map_err(|error| FollowError::Of { keyspace, table, error: Box::new(error) }));
        };
        std::thread::Builder::new().name("tarndb-follow".to_owned()).spawn(run).map_err(FollowError::Thread)?;
    }
    // The first that cannot be followed ends the process and so the others, which go on where they were with the next one.
    ended.iter().take(names.len()).collect::<Result<(), _>>()?;
    Ok(ExitCode::SUCCESS)
}

fn say(keyspace: &str, table: &str, text: &str) {
    eprintln!("{keyspace}.{table}: {text}");
}

/// One table.
fn follow(arguments: &FollowArguments, from: &Endpoint, to: &Endpoint, keyspace: &str, table: &str) -> Result<(), FollowError> {
    let note = |text: &str| say(keyspace, table, text);
    let mut source = from.source();
    let followed = patiently(note, || tables::read(&mut source, keyspace, table))?;
    let mut target = Target::new(to.source(), keyspace, table, &arguments.name);
    let stored = patiently(note, || {
        tables::make(&mut source, &mut target, &followed)?;
        // One that leaves changes out has no position before which all is applied.
        if arguments.until.is_some() { Ok(None) } else { target.position() }
    })?;
    let since = match stored {
        Some((position, is_copied)) => {
            note(if is_copied { "goes on where it was" } else { "copies its rows again: the copy was not complete" });
            let since: Since = position.parse().map_err(FollowError::Feed)?;
            if !is_copied {
                patiently(note, || copy::copy(&mut source, &mut target, &followed, since.behind_us(), note))?;
            }
            since
        }
        None if arguments.copy => {
            let mark = patiently(note, || -> Result<_, FollowError> {
                let mut reader = Reader::new(from.background_source(), followed.log.clone(), Since::Now)?;
                while !matches!(reader.step(u64::MAX)?, Step::CaughtUp) {}
                Ok(reader.mark())
            })?;
            let since = Since::Mark(mark.clone());
            patiently(note, || target.store(&mark.to_string(), false, None))?;
            patiently(note, || copy::copy(&mut source, &mut target, &followed, since.behind_us(), note))?;
            patiently(note, || target.store(&mark.to_string(), true, None))?;
            since
        }
        None => arguments.since.parse().map_err(FollowError::Feed)?,
    };
    let reader = patiently(note, || Reader::new(from.background_source(), followed.log.clone(), since.clone()).map_err(FollowError::from))?;
    apply(arguments, &followed, source, reader, target)
}

/// Applies changes as they come.
fn apply(
    arguments: &FollowArguments,
    followed: &Followed,
    mut source: Source<'_>,
    mut reader: Reader<'_>,
    mut target: Target<'_>,
) -> Result<(), FollowError> {
    let note = |text: &str| say(&followed.log.keyspace, &followed.log.table, text);
    let mut followed = followed.clone();
    let (mut applied, mut pause) = (0u64, POLL);
    let mut stored = Instant::now();
    let mut said = Instant::now();
    let mut caught_up_us = None;
    let interval = Duration::from_secs(arguments.interval);
    loop {
        let step = patiently(note, || reader.step(u64::MAX).map_err(FollowError::from))?;
        let is_caught_up = matches!(step, Step::CaughtUp);
        match step {
            Step::Changes(mut changes) => {
                changes.retain(|change| arguments.until.is_none_or(|until_us| change.time.time_us() < until_us));
                patiently(note, || target.apply(&followed, &changes, reader.now_us()))?;
                applied += changes.len() as u64;
                pause = POLL;
            }
            Step::CaughtUp => {
                caught_up_us = reader.told_until_us();
                followed = patiently(note, || tables::read(&mut source, &followed.log.keyspace, &followed.log.table))?;
                reader.set_log(followed.log.clone())?;
            }
            Step::Looking => {}
        }
        let ends = match arguments.until {
            Some(until_us) => reader.told_until_us().is_some() && reader.complete_until_us() >= until_us,
            None => arguments.once && is_caught_up,
        };
        let lag_us = caught_up_us.map(|until_us| reader.now_us() - until_us);
        let is_due = ends || stored.elapsed() >= if pause <= POLL * 4 { STORE } else { STORE_IDLE };
        if arguments.until.is_none() && is_due {
            patiently(note, || target.store(&reader.mark().to_string(), true, lag_us))?;
            stored = Instant::now();
        }
        if ends || said.elapsed() >= interval {
            let lag = lag_us.map_or("catching up".to_owned(), |lag_us| format!("{:.1} s behind", lag_us as f64 / 1e6));
            note(&format!("{applied} changes applied, {lag}"));
            said = Instant::now();
        }
        if ends {
            return Ok(());
        }
        if is_caught_up {
            std::thread::sleep(pause);
            pause = (pause * 2).min(POLL_MAX);
        }
    }
}
