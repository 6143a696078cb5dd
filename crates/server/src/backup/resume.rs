//! How a backup goes on that was interrupted: what its attempts have stored is compared with as a backup before is, and the new attempt stores what is not as it was there.
//!
//! `resume.json` is there from before the first row until the manifest is. It says what was asked for, what earlier attempts have stored, and which attempt is under way:
//!
//! ```text
//! take the place ─► same command? ─► seal the attempt that was under way: its whole chunks ─► resume.json: sealed, and the next attempt ─► scan, cut, manifest
//! ```
//!
//! Each step may be done twice: until `resume.json` names an attempt as sealed, sealing finds the same again; from then on files of its numbers are not written any more. Nothing
//! that is wrong in it makes a wrong backup: what counts is compared with the rows that nodes send.

use super::archive::Layer;
use super::chain::Chain;
use super::chunks::whole_part;
use super::encryption::{BackupCipher, WrappedKey};
use super::error::BackupError;
use super::format::{Attempt, FileEntry, Previous, RESUME, checked, rows_file, with_checksum};
use super::target::Target;
use crate::cli::{BackupArguments, BackupKeyArguments};
use model::Schema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

const FORMAT: u32 = 1;
/// A restore reads each, as links of a chain.
const ATTEMPTS_MAX: usize = 100;

/// What a later attempt needs to know: `resume.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Resume {
    format: u32,
    /// Those that were asked for; all if there are none.
    keyspaces: Vec<String>,
    /// The tables of the database, by their ids: it is known by them.
    tables: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<Previous>,
    roles: bool,
    /// Attempts that are sealed, the newest first.
    interrupted: Vec<Attempt>,
    under_way: UnderWay,
}

/// The attempt under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct UnderWay {
    /// Its files have this number and later ones.
    first_file: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encryption: Option<WrappedKey>,
}

/// What an attempt begins with.
pub(crate) struct Begin {
    pub(crate) cipher: Option<BackupCipher>,
    /// What the manifest has of the cipher's key.
    pub(crate) key: Option<WrappedKey>,
    pub(crate) first_file: u32,
    pub(crate) previous: Option<Previous>,
    pub(crate) interrupted: Vec<Attempt>,
    /// What rows are compared with.
    pub(crate) base: Option<Chain>,
}

/// Begins an attempt at a place that is taken: the first one, or one that goes on.
pub(crate) fn begin(target: &Target, arguments: &BackupArguments, schema: &Schema, before: Option<Chain>) -> Result<Begin, BackupError> {
    let previous = before.as_ref().map(|chain| {
        let newest = chain.newest();
        Previous { place: newest.place().absolute(), manifest_sha256: newest.digest.clone() }
    });
    let asked = Resume {
        format: FORMAT,
        keyspaces: arguments.keyspace.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect(),
        tables: schema.tables().map(|table| format!("{:032x}", table.uuid)).collect(),
        previous,
        roles: arguments.roles,
        interrupted: Vec::new(),
        under_way: UnderWay { first_file: 0, encryption: None },
    };
    let (interrupted, first_file) = match found(target)? {
        Some(found) => {
            found.check(&asked).map_err(|what| BackupError::OtherCommand { place: target.place(), what })?;
            found.seal(target, &arguments.key)?
        }
        None => (Vec::new(), 0),
    };
    let (cipher, key) = arguments.key.draw()?.unzip();
    let resume = Resume { interrupted, under_way: UnderWay { first_file, encryption: key.clone() }, ..asked };
    target.put(RESUME, &with_checksum(&resume))?;
    let Resume { previous, interrupted, .. } = resume;
    let layers = Layer::open(&target.source(), &interrupted, &arguments.key)?;
    let base = (!layers.is_empty() || before.is_some()).then(|| Chain::unfinished(layers, before));
    Ok(Begin { cipher, key, first_file, previous, interrupted, base })
}

/// What an interrupted backup has left to go on by; `None` if it has stored no rows.
fn found(target: &Target) -> Result<Option<Resume>, BackupError> {
    let not_resumable = |why: String| BackupError::NotResumable { place: target.place(), why };
    match target.source().read(RESUME)? {
        Some(bytes) => {
            let found: Resume = checked(&bytes).map_err(|why| not_resumable(format!("{RESUME} is damaged: {why}")))?;
            if found.format > FORMAT {
                return Err(not_resumable(format!("{RESUME} is of format {}, this program knows {FORMAT}", found.format)));
            }
            Ok(Some(found))
        }
        None if target.rows_files()?.is_empty() => Ok(None),
        None => Err(not_resumable(format!("there is no {RESUME}"))),
    }
}

impl Resume {
    /// Whether the same backup is asked for; if not, what differs.
    fn check(&self, asked: &Self) -> Result<(), String> {
        let names =
            |names: &[String]| if names.is_empty() { "all keyspaces".to_owned() } else { format!("keyspaces {}", names.join(", ")) };
        let place = |previous: &Option<Previous>| previous.as_ref().map_or("nothing".to_owned(), |previous| previous.place.clone());
        let sum = |previous: &Option<Previous>| previous.as_ref().map(|previous| previous.manifest_sha256.clone());
        if self.keyspaces != asked.keyspaces {
            return Err(format!("it is of {}, and {} are asked for", names(&self.keyspaces), names(&asked.keyspaces)));
        }
        if sum(&self.previous) != sum(&asked.previous) {
            let (then, now) = (place(&self.previous), place(&asked.previous));
            return Err(format!("it is incremental from {then}, and from {now} is asked for, or that is another backup now"));
        }
        if self.roles != asked.roles {
            return Err(format!("it is {} roles", if self.roles { "with" } else { "without" }));
        }
        if !self.tables.is_empty() && self.tables.is_disjoint(&asked.tables) {
            return Err("it has none of the tables of this database: it is of another one, or all were made anew".to_owned());
        }
        Ok(())
    }

    /// Seals the attempt that was under way. Gives all that are sealed, and the number of the next file.
    fn seal(self, target: &Target, key: &BackupKeyArguments) -> Result<(Vec<Attempt>, u32), BackupError> {
        let UnderWay { first_file, encryption } = self.under_way;
        let cipher = key.open([encryption.as_ref()])?.pop().flatten().map(Arc::new);
        target.complete_uploads(first_file)?;
        let (source, mut files, mut next) = (target.source(), Vec::<FileEntry>::new(), first_file);
        for number in target.rows_files()?.split_off(&first_file) {
            let (entry, fault) = whole_part(&source, &rows_file(number), cipher.clone())?;
            if let Some(why) = fault {
                eprintln!("from byte {} on {} is stored again: {why}", entry.bytes, entry.name);
            }
            if entry.chunks == 0 {
                target.remove(&entry.name)?;
                continue;
            }
            next = number + 1;
            files.push(entry);
        }
        target.sync(&files)?;
        let mut interrupted = self.interrupted;
        if !files.is_empty() {
            interrupted.insert(0, Attempt { encryption, files });
        }
        if interrupted.len() > ATTEMPTS_MAX {
            let why = format!("it was interrupted more than {ATTEMPTS_MAX} times");
            return Err(BackupError::NotResumable { place: target.place(), why });
        }
        let files = interrupted.iter().flat_map(|attempt| &attempt.files);
        let (count, bytes) = files.fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.bytes));
        println!("going on with the backup that was interrupted after {bytes} bytes in {count} files");
        Ok((interrupted, next))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::chain::Met;
    use super::super::chunks::LayerEnd;
    use super::super::earlier::tests::row;
    use super::super::earlier::{Earlier, void};
    use super::super::encryption::Place;
    use super::super::format::chunk;
    use super::super::location::Location;
    use super::super::occupancy::Leftovers;
    use super::super::restore::newest;
    use super::super::source::Source;
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::testing::Folder;
    use clap::Parser;
    use std::collections::BTreeMap;

    fn resume(first_file: u32) -> Resume {
        Resume {
            format: FORMAT,
            keyspaces: Vec::new(),
            tables: ["a", "b"].map(str::to_owned).into(),
            previous: None,
            roles: false,
            interrupted: Vec::new(),
            under_way: UnderWay { first_file, encryption: None },
        }
    }

    #[test]
    fn another_command_is_refused_and_tables_may_come_and_go() {
        let (then, previous) = (resume(0), |sum: &str| Some(Previous { place: "p".to_owned(), manifest_sha256: sum.to_owned() }));
        assert_eq!(then.check(&resume(7)), Ok(()));
        assert_eq!(then.check(&Resume { tables: ["b", "c"].map(str::to_owned).into(), ..resume(0) }), Ok(()));
        assert_eq!(Resume { tables: BTreeSet::new(), ..resume(0) }.check(&then), Ok(()), "there was none yet");
        for (other, wanted) in [
            (Resume { tables: ["c"].map(str::to_owned).into(), ..resume(0) }, "none of the tables of this database"),
            (Resume { keyspaces: vec!["k".to_owned()], ..resume(0) }, "it is of all keyspaces, and keyspaces k are asked for"),
            (Resume { roles: true, ..resume(0) }, "it is without roles"),
            (Resume { previous: previous("x"), ..resume(0) }, "it is incremental from nothing, and from p is asked for"),
        ] {
            let refused = then.check(&other).unwrap_err();
            assert!(refused.contains(wanted), "{refused}");
        }
        let incremental = |sum: &str| Resume { previous: previous(sum), ..resume(0) };
        assert_eq!(incremental("x").check(&incremental("x")), Ok(()));
        assert!(incremental("x").check(&incremental("y")).is_err(), "another backup has its place");
    }

    #[test]
    fn an_attempt_is_sealed_twice_as_once_and_what_is_not_whole_goes() {
        let folder = Folder::made("resume-seal");
        let Command::Backup(arguments) = Cli::parse_from(["tarndb", "backup", "--to", "x"]).command else { panic!("it is a backup") };
        let target = Target::prepare(&Location::Folder(folder.to_path_buf()), &arguments.s3, Leftovers::Resume).unwrap();
        assert!(found(&target).unwrap().is_none());
        let rows = [chunk(b"", Place::chunk(3, 0), None), chunk(b"", Place::chunk(3, 1), None)].concat();
        // 001.rows is of an earlier attempt; of 004.rows no chunk is whole.
        for (name, bytes) in [("001.rows", &rows[..]), ("003.rows", &rows[..rows.len() - 1]), ("004.rows", &rows[..5])] {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        assert!(found(&target).unwrap_err().to_string().contains("there is no resume.json"));
        target.put(RESUME, &with_checksum(&resume(2))).unwrap();
        for _ in 0..2 {
            let (attempts, next) = found(&target).unwrap().unwrap().seal(&target, &arguments.key).unwrap();
            assert_eq!((attempts.len(), next), (1, 4));
            let files: Vec<_> = attempts[0].files.iter().map(|file| (file.name.as_str(), file.bytes, file.chunks)).collect();
            assert_eq!(files, [("003.rows", rows.len() as u64 / 2, 1)]);
            assert_eq!(target.rows_files().unwrap().into_iter().collect::<Vec<_>>(), [1, 3]);
        }
        std::fs::write(folder.join(RESUME), with_checksum(&Resume { format: FORMAT + 1, ..resume(0) })).unwrap();
        assert!(found(&target).unwrap_err().to_string().contains("is of format 2"));
    }

    #[test]
    fn what_was_void_in_an_attempt_is_void_in_the_next() {
        let folder = Folder::made("resume-void");
        let Command::Backup(arguments) = Cli::parse_from(["tarndb", "backup", "--to", "x"]).command else { panic!("it is a backup") };
        let there = row(b"a", b"1");
        let gone = engine::ReceivedRows::new(&there).flatten().map(|row| void(&row.key).bytes().to_vec()).next().unwrap();
        let bytes = chunk(&[&there[..], &gone].concat(), Place::chunk(0, 0), None);
        std::fs::write(folder.join("000.rows"), &bytes).unwrap();
        let files = vec![FileEntry { name: "000.rows".to_owned(), bytes: bytes.len() as u64, chunks: 1, rows: 2 }];
        let source = Arc::new(Source::Folder(folder.to_path_buf()));
        for (end, wanted) in [(LayerEnd::Interrupted, &gone[..]), (LayerEnd::Cut, b"")] {
            let mut layers = Layer::open(&source, &[Attempt { encryption: None, files: files.clone() }], &arguments.key).unwrap();
            layers[0].end = end;
            let chain = Chain::unfinished(layers, None);
            let mut found = Vec::new();
            let take = |row: &[u8]| {
                found.extend_from_slice(row);
                Ok(())
            };
            let earlier = Earlier::read(&chain).unwrap();
            earlier.each_gone(&chain, 1, &BTreeSet::from([base::TableId(1)]), take).unwrap();
            assert_eq!(found, wanted, "{end:?}");
        }
    }

    /// Numbers from a seed (splitmix64).
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)) % bound
        }
    }

    /// Attempts that end anywhere, with changes before, in and between them, give the rows of the last one's cut.
    #[test]
    fn rows_of_the_last_cut_come_back_whatever_was_interrupted() {
        const KEYS: u64 = 6;
        let Command::Backup(arguments) = Cli::parse_from(["tarndb", "backup", "--to", "x"]).command else { panic!("it is a backup") };
        for seed in 0..300 {
            let (folder, mut random) = (Folder::made("resume-model"), Random(seed));
            let source = Arc::new(Source::Folder(folder.to_path_buf()));
            let mut rows = BTreeMap::<u64, u64>::new();
            let mut attempts = Vec::<Attempt>::new();
            let attempts_max = 1 + random.below(4) as u32;
            for number in 0..attempts_max {
                // Keys go without a trace between attempts, as purged ones do.
                for _ in 0..random.below(6) {
                    let key = random.below(KEYS);
                    if random.below(2) == 0 {
                        rows.remove(&key)
                    } else {
                        rows.insert(key, random.below(3))
                    };
                }
                let layers = Layer::open(&source, &attempts, &arguments.key).unwrap();
                let chain = Chain::unfinished(layers, None);
                let earlier = Earlier::read(&chain).unwrap();
                let mut images = Vec::<Vec<u8>>::new();
                let take = |key: u64, value: u64, cut: u32, images: &mut Vec<Vec<u8>>| {
                    let mut kept = Vec::new();
                    earlier.keep_changed(&row(&[key as u8], &[value as u8]), cut, &mut kept).unwrap();
                    if !kept.is_empty() {
                        images.push(kept);
                    }
                };
                // Before the cut: a scan, and changes meanwhile, each after its key was scanned or before.
                for scanned in 0..KEYS {
                    if random.below(3) == 0 {
                        let (key, value) = (random.below(KEYS), random.below(3));
                        rows.insert(key, value);
                        take(key, value, 0, &mut images);
                    }
                    if let Some(value) = rows.get(&scanned) {
                        take(scanned, *value, 0, &mut images);
                    }
                }
                let (at_cut, until) = (rows.clone(), images.len());
                for _ in 0..random.below(4) {
                    let (key, value) = (random.below(KEYS), random.below(3));
                    rows.insert(key, value);
                    take(key, value, 1, &mut images);
                }
                let is_last = number + 1 == attempts_max;
                if is_last || random.below(2) == 0 {
                    images.truncate(until);
                    let gone = |row: &[u8]| {
                        images.push(row.to_vec());
                        Ok(())
                    };
                    earlier.each_gone(&chain, 1, &BTreeSet::from([base::TableId(1)]), gone).unwrap();
                }
                if !is_last {
                    images.truncate(random.below(images.len() as u64 + 1) as usize);
                }
                let (name, count) = (rows_file(number), images.len() as u64);
                let bytes = if images.is_empty() { Vec::new() } else { chunk(&images.concat(), Place::chunk(number, 0), None) };
                std::fs::write(folder.join(&name), &bytes).unwrap();
                let entry = FileEntry { name, bytes: bytes.len() as u64, chunks: u64::from(count > 0), rows: count };
                if is_last || count > 0 {
                    attempts.insert(0, Attempt { encryption: None, files: vec![entry] });
                }
                if is_last {
                    let mut layers = Layer::open(&source, &attempts, &arguments.key).unwrap();
                    layers[0].end = LayerEnd::Cut;
                    assert_eq!(restored(&Chain::unfinished(layers, None)), at_cut, "seed {seed}");
                }
            }
        }
    }

    /// The rows that a restore writes, by their keys.
    fn restored(chain: &Chain) -> BTreeMap<u64, u64> {
        let (mut found, mut met, oldest) = (BTreeMap::new(), Met::default(), chain.layers().len() - 1);
        for (layer, entry) in chain.files() {
            let mut chunks = chain.chunks(layer, &entry).unwrap();
            while let Some(rows) = chunks.next().unwrap() {
                let rows = newest(&rows, layer, layer == oldest, &mut met);
                for row in engine::ReceivedRows::new(&rows).flatten() {
                    found.insert(u64::from(row.key.partition[0]), u64::from(row.row[0]));
                }
            }
        }
        found
    }
}
