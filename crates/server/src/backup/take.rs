//! `tarndb backup`: takes one, or verifies one.

use super::client::Nodes;
use super::endpoint::Places;
use super::error::BackupError;
use super::files::{replace, sync_folder};
use super::format::{FORMAT, FileEntry, MANIFEST, Manifest, SCHEMA};
use super::stream::{Progress, Throttle, receive};
use super::verify::verify;
use crate::cli::{BackupArguments, BackupCommand};
use base::{SLOT_COUNT, TableId};
use model::{Schema, schema_blob};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A cut that a moving slot or a slow network has spoilt is tried again.
const CUTS_MAX: u32 = 20;
const AGAIN: Duration = Duration::from_millis(250);

/// Takes a backup, or verifies one.
pub(crate) fn backup(arguments: &BackupArguments) -> Result<ExitCode, BackupError> {
    if let Some(BackupCommand::Verify { folder }) = &arguments.command {
        let manifest = verify(folder)?;
        println!("{} is whole: {}", folder.display(), summary(&manifest));
        return Ok(ExitCode::SUCCESS);
    }
    let Some(folder) = &arguments.to else {
        return Err(BackupError::Unknown { what: "directory to back up to: give --to DIR, or `verify DIR`".to_owned() });
    };
    let nodes = Nodes::new(&arguments.node)?;
    let schema = nodes.schema()?;
    let keyspaces = keyspaces(&schema, &arguments.keyspace)?;
    prepare(folder)?;
    let begun = Instant::now();
    let mut seed = [0; 8];
    io_linux::fill_with_entropy(&mut seed);
    let session = u64::from_le_bytes(seed);
    let taken = take(&nodes, &schema, &keyspaces, folder, session, arguments);
    // Whatever has become of it, nodes keep nothing for it any more.
    nodes.all(&format!("/backup/end?session={session}"));
    let manifest = taken?;
    println!("backed up to {} in {:.1} s: {}", folder.display(), begun.elapsed().as_secs_f64(), summary(&manifest));
    Ok(ExitCode::SUCCESS)
}

fn summary(manifest: &Manifest) -> String {
    let (rows, bytes) = manifest.files.iter().fold((0, 0), |(rows, bytes), file| (rows + file.rows, bytes + file.bytes));
    format!("keyspaces {}, {} files, {rows} rows, {bytes} bytes", manifest.keyspaces.join(", "), manifest.files.len())
}

fn keyspaces(schema: &Schema, wanted: &[String]) -> Result<Vec<String>, BackupError> {
    if wanted.is_empty() {
        return Ok(schema.keyspaces.keys().cloned().collect());
    }
    match wanted.iter().find(|name| !schema.keyspaces.contains_key(*name)) {
        Some(unknown) => Err(BackupError::Unknown { what: format!("keyspace {unknown}") }),
        None => Ok(wanted.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()),
    }
}

/// Makes the directory. What a backup that was interrupted has left there goes.
fn prepare(folder: &Path) -> Result<(), BackupError> {
    let failed = |source| BackupError::File { path: folder.to_owned(), source };
    io_linux::make_files_private();
    std::fs::create_dir_all(folder).map_err(failed)?;
    let names = std::fs::read_dir(folder).map_err(failed)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<std::io::Result<_>>().map_err(failed)?;
    let is_rest = |name: &String| name.ends_with(".rows") || [SCHEMA, "schema.json.new", "manifest.json.new"].contains(&name.as_str());
    if !names.iter().all(is_rest) {
        return Err(BackupError::Occupied { folder: folder.to_owned() });
    }
    names.iter().try_for_each(|name| std::fs::remove_file(folder.join(name))).map_err(failed)
}

fn take(
    nodes: &Nodes,
    schema: &Schema,
    keyspaces: &[String],
    folder: &Path,
    session: u64,
    arguments: &BackupArguments,
) -> Result<Manifest, BackupError> {
    let buffer = u64::from(arguments.buffer_mib) << 20;
    let started = nodes.places(&format!("/backup/start?session={session}&keyspaces={}&buffer={buffer}", keyspaces.join(",")))?;
    check_slots(&started, keyspaces)?;
    let progress = Progress::default();
    let throttle = Throttle::new(arguments.rate_mib.map(|mib| u64::from(mib) << 20));
    let streams: usize = started.iter().map(|node| usize::from(node.cores)).sum();
    let files = std::thread::scope(|scope| {
        let mut receivers = Vec::new();
        for (node, places) in nodes.0.iter().zip(&started) {
            for core in 0..places.cores {
                let name = format!("{:03}.rows", receivers.len());
                let (progress, throttle) = (&progress, &throttle);
                receivers.push(scope.spawn(move || {
                    let target = format!("/backup/rows?session={session}&core={core}");
                    let received = receive(node, &target, (folder, name), progress, throttle);
                    received.map_err(|error| progress.change(|state| drop(state.fault.get_or_insert(error)))).ok()
                }));
            }
        }
        progress.wait_scanned(streams);
        let cut = cut(nodes, session, &progress);
        progress.change(|state| match cut {
            Ok(number) => state.cut = number,
            Err(error) => drop(state.fault.get_or_insert(error)),
        });
        receivers.into_iter().filter_map(|receiver| receiver.join().expect("receiving does not panic")).collect::<Vec<FileEntry>>()
    });
    if let Some(fault) = progress.lock().fault.take() {
        return Err(fault);
    }
    let at_cut = nodes.schema()?;
    if tables(schema, keyspaces) != tables(&at_cut, keyspaces) {
        return Err(BackupError::Ended { why: "tables were created, dropped or truncated while it ran".to_owned() });
    }
    finish(&at_cut, keyspaces, folder, files)
}

/// Each slot of each keyspace has to have one primary among the nodes.
fn check_slots(started: &[Places], keyspaces: &[String]) -> Result<(), BackupError> {
    for keyspace in keyspaces {
        let slots: Vec<u16> = started.iter().filter_map(|node| node.slots.get(keyspace)).flatten().copied().collect();
        let found = slots.iter().collect::<BTreeSet<_>>().len();
        if found != SLOT_COUNT as usize || slots.len() != found {
            return Err(BackupError::Slots { found, wanted: SLOT_COUNT as usize });
        }
    }
    Ok(())
}

/// Cuts until a cut holds on all nodes. Gives its number; none if a stream has failed meanwhile.
fn cut(nodes: &Nodes, session: u64, progress: &Progress) -> Result<Option<u32>, BackupError> {
    let mut last = None;
    for number in 1..=CUTS_MAX {
        if progress.lock().fault.is_some() {
            return Ok(None);
        }
        let cut = nodes.all(&format!("/backup/cut?session={session}&number={number}"));
        let released = nodes.all(&format!("/backup/release?session={session}&number={number}"));
        match cut.into_iter().chain(released).find_map(Result::err) {
            None => return Ok(Some(number)),
            Some(error) => last = Some(error),
        }
        std::thread::sleep(AGAIN);
    }
    let why = last.map_or_else(String::new, |error| error.to_string());
    Err(BackupError::Ended { why: format!("no cut has held, {CUTS_MAX} times: slots move, or nodes answer slowly ({why})") })
}

fn tables(schema: &Schema, keyspaces: &[String]) -> BTreeSet<TableId> {
    keyspaces
        .iter()
        .filter_map(|name| schema.keyspaces.get(name))
        .flat_map(|keyspace| keyspace.tables.values())
        .map(|table| table.id)
        .collect()
}

fn finish(schema: &Schema, keyspaces: &[String], folder: &Path, files: Vec<FileEntry>) -> Result<Manifest, BackupError> {
    let kept = schema.keyspaces.iter().filter(|(name, _)| keyspaces.contains(name));
    let kept = kept.map(|(name, keyspace)| (name.clone(), Arc::clone(keyspace))).collect();
    let blob = schema_blob::encode(&Schema { keyspaces: kept, ..schema.clone() });
    replace(folder, SCHEMA, &blob)?;
    let manifest = Manifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        taken_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        keyspaces: keyspaces.to_vec(),
        schema_crc32: base::checksum(&blob),
        files,
    };
    sync_folder(folder).map_err(|source| BackupError::File { path: folder.to_owned(), source })?;
    replace(folder, MANIFEST, &manifest.to_bytes())?;
    Ok(manifest)
}
