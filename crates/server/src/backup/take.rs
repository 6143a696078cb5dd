//! `tarndb backup`: takes one, verifies one, or ends one.

use super::chain::{Chain, LINKS_MAX};
use super::client::Nodes;
use super::earlier::Earlier;
use super::encryption::Place;
use super::endpoint::Places;
use super::error::BackupError;
use super::format::{Attempt, FileEntry, Manifest, ROLES, RolesEntry, SCHEMA};
use super::interrupt;
use super::location::Location;
use super::occupancy::Leftovers;
use super::rate_limit::throttle;
use super::resume::{Begin, begin};
use super::roles::encode_roles;
use super::stream::{Progress, Shared, receive, write_gone};
use super::target::Target;
use super::verify::verify;
use crate::cli::{BackupArguments, BackupCommand};
use crate::meter::{Meter, Unit};
use crate::operate::OperateError;
use crate::throttle::Throttle;
use base::{SLOT_COUNT, TableId};
use model::{Keyspace, Schema, schema_blob};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A cut that a moving slot or a slow network has spoilt is tried again.
const CUTS_MAX: u32 = 20;
const AGAIN: Duration = Duration::from_millis(250);
/// Nodes see within a second that the tool of a backup before was killed, and within ten if it had not read anything yet.
const START_PATIENCE: Duration = Duration::from_secs(3);
const UNREAD_PATIENCE: Duration = Duration::from_secs(13);

/// Takes a backup, verifies or ends one.
pub(crate) fn backup(arguments: &BackupArguments) -> Result<ExitCode, BackupError> {
    match &arguments.command {
        Some(BackupCommand::Verify { place, key, s3 }) => {
            let chain = verify(place, s3, key)?;
            let others = chain.links[1..].iter().map(|link| format!("\n  it goes on from {}: {}", link.place(), summary(&link.manifest)));
            println!("{place} is whole: {}{}", summary(&chain.newest().manifest), others.collect::<String>());
            Ok(ExitCode::SUCCESS)
        }
        Some(BackupCommand::End { node }) => {
            let nodes = Nodes::new(node)?;
            for (node, answer) in nodes.0.iter().zip(nodes.all("/backup/end", &[])) {
                println!("{}: {}", node.url(), String::from_utf8_lossy(&answer?).trim_end());
            }
            Ok(ExitCode::SUCCESS)
        }
        None => take(arguments),
    }
}

/// Takes a backup, or goes on with one that was interrupted.
fn take(arguments: &BackupArguments) -> Result<ExitCode, BackupError> {
    let place = arguments.to.as_ref().expect("the command line asks for it");
    let throttle = throttle(arguments.rate_limit)?;
    let nodes = Nodes::new(&arguments.node)?;
    // As at the cut: a node that cannot give roles says so before anything is scanned.
    let schema = nodes.schemas(arguments.roles)?.swap_remove(0);
    let keyspaces = keyspaces(&schema, &arguments.keyspace)?;
    let before = arguments.incremental_from.as_ref().map(|previous| before(previous, arguments, &schema)).transpose()?;
    let leftovers = match (arguments.resume, arguments.restart) {
        (true, _) => Leftovers::Resume,
        (false, true) => Leftovers::Remove,
        (false, false) => Leftovers::Refuse,
    };
    interrupt::watch(leftovers);
    let target = Target::prepare(place, &arguments.s3, leftovers)?;
    let begun = Instant::now();
    let begin = begin(&target, arguments, &schema, before);
    let begin = begin.and_then(|begin| Ok((begin.base.as_ref().map(Earlier::read).transpose()?, begin)));
    let kept = |fault| BackupError::Kept { fault: Box::new(fault), place: place.clone() };
    let (earlier, begin) = match begin {
        Ok(begin) => begin,
        Err(error @ (BackupError::Ended { .. } | BackupError::S3(_))) if leftovers == Leftovers::Resume => return Err(kept(error)),
        // What was there before stays as it is, and says itself whether it can go on.
        Err(error) if leftovers == Leftovers::Resume => return Err(error),
        Err(error) => return Err(target.abandon(error)),
    };
    let mut seed = [0; 8];
    io_linux::fill_with_entropy(&mut seed);
    let session = u64::from_le_bytes(seed);
    let take = Take { nodes: &nodes, keyspaces: &keyspaces, target: &target, session, has_roles: arguments.roles, begin };
    let taken = take.run(throttle, arguments.buffer.0, earlier);
    // Whatever has become of it, nodes keep nothing for it any more.
    let whole = u8::from(taken.is_ok());
    nodes.all(&format!("/backup/end?session={session}&whole={whole}"), &[]);
    match taken {
        Ok(manifest) => {
            println!("backed up to {place} in {:.1} s: {}", begun.elapsed().as_secs_f64(), summary(&manifest));
            if !arguments.roles {
                println!("roles and permissions are not in it: give --roles, or keep the statements that make them");
            }
            Ok(ExitCode::SUCCESS)
        }
        // It is another one's now, or of no use any more.
        Err(error @ (BackupError::InUse { .. } | BackupError::NotResumable { .. })) if leftovers == Leftovers::Resume => Err(error),
        Err(error) if leftovers == Leftovers::Resume => Err(kept(error)),
        Err(error) => Err(target.abandon(error)),
    }
}

/// The backup that this one goes on from.
fn before(place: &Location, arguments: &BackupArguments, schema: &Schema) -> Result<Chain, BackupError> {
    let chain = Chain::open(place, &arguments.s3, &arguments.key)?;
    if chain.links.len() >= LINKS_MAX {
        let place = arguments.to.as_ref().unwrap_or(place).clone();
        return Err(BackupError::ChainTooLong { place, links: LINKS_MAX - 1 });
    }
    let (then, now): (BTreeSet<u128>, BTreeSet<u128>) =
        (chain.newest().schema()?.tables().map(|table| table.uuid).collect(), schema.tables().map(|table| table.uuid).collect());
    if !then.is_empty() && then.is_disjoint(&now) {
        return Err(BackupError::OtherDatabase { place: place.clone() });
    }
    Ok(chain)
}

fn summary(manifest: &Manifest) -> String {
    let (rows, bytes) = manifest.all_files().fold((0, 0), |(rows, bytes), file| (rows + file.rows, bytes + file.bytes));
    let encrypted = if manifest.encryption.is_some() { ", encrypted" } else { "" };
    let stored = |attempt: &Attempt| attempt.files.iter().map(|file| file.bytes).sum::<u64>();
    let roles = manifest.roles.as_ref().map_or(String::new(), |roles| format!(", {} roles", roles.count));
    let resumed = match manifest.interrupted.iter().map(stored).sum::<u64>() {
        0 => String::new(),
        bytes => format!(", {bytes} of them before it was interrupted"),
    };
    format!(
        "keyspaces {}, {} files, {rows} rows, {bytes} bytes{resumed}{roles}{encrypted}",
        manifest.keyspaces.join(", "),
        manifest.all_files().count()
    )
}

fn keyspaces(schema: &Schema, wanted: &[String]) -> Result<Vec<String>, BackupError> {
    if schema.keyspaces.is_empty() {
        return Err(BackupError::Unknown { what: "keyspace yet".to_owned() });
    }
    if wanted.is_empty() {
        return Ok(schema.keyspaces.keys().cloned().collect());
    }
    match wanted.iter().find(|name| !schema.keyspaces.contains_key(*name)) {
        Some(unknown) => Err(BackupError::Unknown { what: format!("keyspace {unknown}") }),
        None => Ok(wanted.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()),
    }
}

/// A backup under way.
struct Take<'a> {
    nodes: &'a Nodes,
    keyspaces: &'a [String],
    target: &'a Target,
    session: u64,
    has_roles: bool,
    begin: Begin,
}

impl Take<'_> {
    fn run(&self, throttle: Throttle, buffer_bytes: u64, earlier: Option<Earlier>) -> Result<Manifest, BackupError> {
        let (session, first_file) = (self.session, self.begin.first_file);
        let started = self.start(buffer_bytes)?;
        self.check_slots(&started)?;
        let streams: usize = started.iter().map(|node| usize::from(node.cores)).sum();
        let meter = Meter::start(Unit::Bytes, 0, streams as u64, "cores scanned");
        let cipher = self.begin.cipher.as_ref();
        let shared = Shared { progress: Progress::default(), throttle, meter, cipher, earlier };
        let (schema, files) = std::thread::scope(|scope| {
            let mut receivers = Vec::new();
            for (node, places) in self.nodes.0.iter().zip(&started) {
                for core in 0..places.cores {
                    let (number, shared) = (first_file + receivers.len() as u32, &shared);
                    receivers.push(scope.spawn(move || {
                        let target = format!("/backup/rows?session={session}&core={core}");
                        let received = receive(node, &target, self.target, number, shared);
                        received.map_err(|error| shared.progress.fail(error)).ok()
                    }));
                }
            }
            shared.progress.wait_scanned(streams);
            let schema = self.cut(&shared.progress);
            let files = receivers.into_iter().filter_map(|receiver| receiver.join().expect("receiving does not panic"));
            (schema, files.collect::<Vec<FileEntry>>())
        });
        let Shared { progress, meter, earlier, .. } = shared;
        drop(meter);
        let (fault, cut) = {
            let mut state = progress.lock();
            (state.fault.take(), state.cut)
        };
        match (fault, schema, cut) {
            (None, Some(schema), Some(cut)) => {
                let gone = earlier.zip(self.begin.base.as_ref());
                let gone = gone
                    .map(|(earlier, chain)| self.write_gone(earlier, chain, cut, &schema, first_file + files.len() as u32))
                    .transpose()?;
                self.finish(schema, files.into_iter().chain(gone).collect())
            }
            (fault, ..) => Err(fault.expect("without a schema there is a fault")),
        }
    }

    /// Begins on all nodes. A backup whose tool was killed a moment ago may still be ending.
    fn start(&self, buffer_bytes: u64) -> Result<Vec<Places>, BackupError> {
        let target = format!("/backup/start?session={}&buffer={buffer_bytes}", self.session);
        let begun = Instant::now();
        loop {
            let started = self.nodes.places(&target, self.keyspaces.iter());
            let patience = match &started {
                Err(BackupError::Node(OperateError::Refused { .. })) => START_PATIENCE,
                Err(BackupError::Node(OperateError::Unavailable { .. })) => UNREAD_PATIENCE,
                _ => return started,
            };
            if begun.elapsed() >= patience {
                return started;
            }
            // Those that have begun.
            self.nodes.all(&format!("/backup/end?session={}", self.session), &[]);
            std::thread::sleep(AGAIN);
            interrupt::check()?;
        }
    }

    /// Each slot of each keyspace has to have one primary among the nodes.
    fn check_slots(&self, started: &[Places]) -> Result<(), BackupError> {
        for keyspace in self.keyspaces {
            let slots: Vec<u16> = started.iter().filter_map(|node| node.slots.get(keyspace)).flatten().copied().collect();
            let found = slots.iter().collect::<BTreeSet<_>>().len();
            if found != SLOT_COUNT as usize || slots.len() != found {
                return Err(BackupError::Slots { keyspace: keyspace.clone(), found, wanted: SLOT_COUNT as usize });
            }
        }
        Ok(())
    }

    /// Cuts until a cut holds on all nodes and no table has changed meanwhile. Gives the schema at the cut; none if there is a fault.
    fn cut(&self, progress: &Progress) -> Option<Schema> {
        let mut last = String::new();
        for number in 1..=CUTS_MAX {
            if progress.lock().fault.is_some() {
                return None;
            }
            match self.try_cut(number) {
                Ok(Some(schema)) => {
                    progress.change(|state| state.cut = Some(number));
                    return Some(schema);
                }
                Ok(None) => last = "tables change".to_owned(),
                Err(error) => last = error.to_string(),
            }
            std::thread::sleep(AGAIN);
        }
        let why = format!("no cut has held, {CUTS_MAX} times: slots move, nodes answer slowly, or a keyspace is gone ({last})");
        progress.fail(BackupError::Ended { why });
        None
    }

    fn try_cut(&self, number: u32) -> Result<Option<Schema>, BackupError> {
        let session = self.session;
        let before = self.nodes.schemas(self.has_roles)?;
        let cut = self.nodes.all(&format!("/backup/cut?session={session}&number={number}"), &[]);
        let released = self.nodes.all(&format!("/backup/release?session={session}&number={number}"), &[]);
        cut.into_iter().chain(released).try_for_each(|answer| answer.map(drop))?;
        let after = self.nodes.schemas(self.has_roles)?;
        let first = self.kept(&before[0]);
        let is_same = before.iter().chain(&after).all(|schema| self.kept(schema) == first && schema.roles == before[0].roles);
        Ok(is_same.then(|| Schema { keyspaces: first, ..before[0].clone() }))
    }

    fn kept(&self, schema: &Schema) -> BTreeMap<String, Arc<Keyspace>> {
        let kept = schema.keyspaces.iter().filter(|(name, _)| self.keyspaces.contains(name));
        kept.map(|(name, keyspace)| (name.clone(), Arc::clone(keyspace))).collect()
    }

    /// The file after those of the streams: what is not there any more.
    fn write_gone(&self, earlier: Earlier, chain: &Chain, cut: u32, schema: &Schema, number: u32) -> Result<FileEntry, BackupError> {
        let tables: BTreeSet<TableId> = schema.tables().map(|table| table.id).collect();
        write_gone(self.target, number, self.begin.cipher.as_ref(), |take| earlier.each_gone(chain, cut, &tables, take))
    }

    fn finish(&self, schema: Schema, files: Vec<FileEntry>) -> Result<Manifest, BackupError> {
        interrupt::check()?;
        let mut manifest = Manifest {
            format: 0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            taken_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            keyspaces: self.keyspaces.to_vec(),
            schema_crc32: 0,
            encryption: self.begin.key.clone(),
            previous: self.begin.previous.clone(),
            roles: self.has_roles.then_some(RolesEntry { count: schema.roles.len(), crc32: 0 }),
            interrupted: self.begin.interrupted.clone(),
            files,
        }
        .with_format();
        let sealed = manifest.sealed();
        let put = |name: &str, place: Place, blob: Vec<u8>| {
            let stored = match &self.begin.cipher {
                Some(cipher) => cipher.seal(place, &sealed, blob),
                None => blob,
            };
            self.target.put(name, &stored).map(|()| base::checksum(&stored))
        };
        if let Some(entry) = &mut manifest.roles {
            entry.crc32 = put(ROLES, Place::ROLES, encode_roles(&schema.roles))?;
        }
        let without_roles = Schema { roles: BTreeMap::new(), ..schema };
        manifest.schema_crc32 = put(SCHEMA, Place::SCHEMA, schema_blob::encode(&without_roles))?;
        self.target.finish(&manifest)?;
        Ok(manifest)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::chain::tests::link;
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::testing::Folder;
    use clap::Parser;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    #[test]
    fn a_node_that_knows_no_roles_refuses_before_anything_is_made() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let node = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, mut line) = (stream.unwrap(), String::new());
                BufReader::new(&stream).read_line(&mut line).unwrap();
                let (status, body) = match line.contains("/backup/schema") {
                    true => ("200 OK", schema_blob::encode(&Schema::empty())),
                    false => ("404 Not Found", Vec::new()),
                };
                stream.write_all(&[format!("HTTP/1.1 {status}\r\n\r\n").as_bytes(), &body].concat()).unwrap();
            }
        });
        let folder = Folder::new("no-roles");
        let take = |words: &[&str]| {
            let line = ["tarndb", "backup", "--http", &node, "--to", folder.to_str().unwrap()];
            let line = line.iter().chain(words);
            let Command::Backup(arguments) = Cli::parse_from(line).command else { panic!("it is a backup") };
            backup(&arguments).unwrap_err()
        };
        assert!(matches!(take(&[]), BackupError::Unknown { .. }), "there is no keyspace");
        assert!(matches!(take(&["--roles"]), BackupError::Node(_)));
    }

    #[test]
    fn no_link_is_taken_that_cannot_be_opened() {
        let folder = Folder::made("long-chain");
        let Command::Backup(arguments) = Cli::parse_from(["tarndb", "backup", "--to", "next"]).command else { panic!("it is a backup") };
        let take = |number: usize| before(&Location::Folder(folder.join(number.to_string())), &arguments, &Schema::empty());
        let mut last = None;
        for number in 1..=LINKS_MAX {
            last = Some(link(&folder.join(number.to_string()), b"", last));
        }
        assert!(take(LINKS_MAX - 1).is_ok());
        let refused = take(LINKS_MAX).err().unwrap().to_string();
        assert_eq!(refused, "next goes on from more than 999 backups: take a full one");
    }
}
