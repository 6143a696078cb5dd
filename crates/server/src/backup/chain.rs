//! A backup with those that it goes on from: the newest first, a full one last. Each is a layer, or several: one for each attempt at it.
//!
//! An image of a row in a newer layer replaces those in older ones. So a restore goes from the newest layer to the oldest, and passes over rows whose
//! keys it has met in a newer one: it never writes what is not of the last cut.

use super::archive::{Archive, Layer};
use super::chunks::Chunks;
use super::error::BackupError;
use super::format::{FileEntry, MANIFEST, Previous};
use super::location::Location;
use crate::cli::BackupKeyArguments;
use crate::s3::S3Arguments;
use engine::EncodedRow;
use ring::digest::{Context, SHA256};
use std::collections::HashSet;

/// More than anybody takes from one full backup to the next.
pub(super) const LINKS_MAX: usize = 1000;

/// What stands for a key.
pub(super) type Digest = [u8; 16];

/// A backup and all that it needs.
pub(crate) struct Chain {
    /// What attempts at a backup have stored that is not whole yet, the newest first; they go on from the links.
    unfinished: Vec<Layer>,
    /// The newest first.
    pub(crate) links: Vec<Archive>,
}

impl Chain {
    /// Opens the backup at a place, and those before it.
    pub(crate) fn open(place: &Location, s3: &S3Arguments, key: &BackupKeyArguments) -> Result<Self, BackupError> {
        let mut links = vec![Archive::open(place, s3, key)?];
        while let Some(last) = links.last()
            && let Some(previous) = &last.manifest.previous
        {
            if links.len() >= LINKS_MAX {
                return Err(BackupError::ChainTooLong { place: place.clone(), links: LINKS_MAX - 1 });
            }
            let found = find(&last.place(), previous, s3, key)?;
            links.push(found);
        }
        Ok(Self { unfinished: Vec::new(), links })
    }

    /// What an unfinished backup has stored, over the chain that it goes on from.
    pub(super) fn unfinished(unfinished: Vec<Layer>, previous: Option<Self>) -> Self {
        Self { unfinished, links: previous.map(|previous| previous.links).unwrap_or_default() }
    }

    /// The backup itself.
    pub(crate) fn newest(&self) -> &Archive {
        &self.links[0]
    }

    /// All layers, the newest first.
    pub(crate) fn layers(&self) -> Vec<&Layer> {
        self.unfinished.iter().chain(self.links.iter().flat_map(|link| &link.layers)).collect()
    }

    /// All files of rows, in the order of a restore: the number of the layer, and the file.
    pub(crate) fn files(&self) -> Vec<(usize, FileEntry)> {
        let files = |(number, layer): (usize, &Layer)| layer.files.iter().map(move |file| (number, file.clone())).collect::<Vec<_>>();
        self.layers().into_iter().enumerate().flat_map(files).collect()
    }

    /// A fault in a layer: what is damaged of an unfinished backup is no reason to look for a copy of it.
    pub(super) fn blame(&self, layer: usize, error: BackupError) -> BackupError {
        match (self.unfinished.get(layer), error) {
            (Some(layer), BackupError::Damaged { file, at, why }) => {
                BackupError::NotResumable { place: layer.place(), why: format!("{file} is damaged at byte {at}: {why}") }
            }
            (_, error) => error,
        }
    }

    /// The chunks of a file of a layer.
    pub(crate) fn chunks(&self, layer: usize, entry: &FileEntry) -> Result<Chunks, BackupError> {
        self.layers()[layer].chunks(entry)
    }
}

/// The backup before one: beside it, as they were made or moved together, or where it was.
fn find(place: &Location, previous: &Previous, s3: &S3Arguments, key: &BackupKeyArguments) -> Result<Archive, BackupError> {
    let (mut why, mut fault) = (Vec::new(), None);
    let made: Option<Location> = previous.place.parse().ok();
    if made.is_none() {
        why.push("it is no place for a backup".to_owned());
    }
    let beside = made.as_ref().and_then(|made| place.beside(made).filter(|beside| !beside.is_same(made)));
    for found in beside.into_iter().chain(made) {
        match Archive::open(&found, s3, key) {
            Ok(archive) if archive.digest == previous.manifest_sha256 => return Ok(archive),
            Ok(_) => why.push(format!("{found} holds another backup")),
            Err(BackupError::NotWhole { .. }) => why.push(format!("{found} has no {MANIFEST}")),
            // What is damaged may be another one's: the backup may be at the other place.
            Err(error) => fault = fault.or(Some(error.in_link(&found, place))),
        }
    }
    let missing = || BackupError::Link { place: place.clone(), previous: previous.place.clone(), why: why.join(", ") };
    Err(fault.unwrap_or_else(missing))
}

/// Keys that a restore has met in newer layers.
#[derive(Default)]
pub(super) struct Met {
    newer: HashSet<Digest>,
    /// Those of this layer: of two images in it the later one counts.
    here: HashSet<Digest>,
    layer: usize,
}

impl Met {
    /// Whether the row is not replaced by a newer layer.
    pub(super) fn takes(&mut self, layer: usize, is_oldest: bool, row: &EncodedRow<'_>) -> bool {
        if layer != self.layer {
            self.newer.extend(std::mem::take(&mut self.here));
            self.layer = layer;
        }
        if is_oldest && self.newer.is_empty() {
            return true;
        }
        let digest = key_digest(row);
        let is_newest = !self.newer.contains(&digest);
        if !is_oldest {
            self.here.insert(digest);
        }
        is_newest
    }
}

/// Of a row's table and key.
pub(super) fn key_digest(row: &EncodedRow<'_>) -> Digest {
    let key = &row.key;
    digest(&[&key.table.0.to_le_bytes(), &key.token.0.to_le_bytes(), key.partition, key.clustering])
}

/// The first half of a SHA-256 over parts and their lengths.
pub(super) fn digest(parts: &[&[u8]]) -> Digest {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    context.finish().as_ref().first_chunk().copied().expect("a SHA-256 has 32 bytes")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::super::encryption::Place;
    use super::super::format::{Manifest, SCHEMA, chunk};
    use super::super::source::Source;
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::testing::Folder;
    use clap::Parser;
    use engine::ReceivedRows;
    use model::{Schema, schema_blob};
    use std::path::Path;

    /// Makes a backup that has these rows, and goes on from another one.
    pub(in super::super) fn link(folder: &Path, rows: &[u8], previous: Option<Previous>) -> Previous {
        std::fs::create_dir_all(folder).unwrap();
        let (schema, bytes) = (schema_blob::encode(&Schema::empty()), chunk(rows, Place::chunk(0, 0), None));
        let entry =
            FileEntry { name: "000.rows".to_owned(), bytes: bytes.len() as u64, chunks: 1, rows: ReceivedRows::new(rows).count() as u64 };
        let manifest = Manifest {
            format: 0,
            version: String::new(),
            taken_s: 1,
            keyspaces: Vec::new(),
            schema_crc32: base::checksum(&schema),
            encryption: None,
            previous,
            roles: None,
            interrupted: Vec::new(),
            files: vec![entry],
        }
        .with_format();
        for (name, bytes) in [("000.rows", bytes), (SCHEMA, schema), (MANIFEST, manifest.to_bytes())] {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        let place = Location::Folder(folder.to_owned());
        let (_, manifest_sha256) = Manifest::read(&Source::Folder(folder.to_owned())).unwrap_or_else(|error| panic!("{error}"));
        Previous { place: place.absolute(), manifest_sha256 }
    }

    pub(in super::super) fn open(place: &Location) -> Result<Chain, BackupError> {
        let Command::Backup(arguments) = Cli::parse_from(["tarndb", "backup", "--to", "x"]).command else { panic!("it is a backup") };
        Chain::open(place, &arguments.s3, &BackupKeyArguments::default())
    }

    fn failure(place: &Location) -> String {
        open(place).err().unwrap().to_string()
    }

    #[test]
    fn the_backup_before_is_looked_for_beside_and_where_it_was() {
        let folder = Folder::made("chain");
        let (old, new) = (folder.join("old"), folder.join("new"));
        let full = link(&old.join("full"), b"", None);
        link(&new.join("full"), b"", None);
        std::fs::write(new.join("full").join(MANIFEST), "another's").unwrap();
        link(&new.join("later"), b"", Some(full));
        let later = Location::Folder(new.join("later"));
        assert_eq!(open(&later).unwrap_or_else(|error| panic!("{error}")).links.len(), 2, "what is beside it is damaged, and not meant");
        std::fs::remove_dir_all(&old).unwrap();
        let said = failure(&later);
        assert!(said.contains("which the backup goes on from: manifest.json of the backup is damaged"), "{said}");
        std::fs::remove_dir_all(new.join("full")).unwrap();
        let (was, beside) = (old.join("full"), new.join("full"));
        let (was, beside, later_name) = (was.display(), beside.display(), later.to_string());
        assert_eq!(
            failure(&later),
            format!(
                "{later_name} goes on from the backup that was at {was}, which is not there: {beside} has no manifest.json, {was} has no manifest.json; \
                 put that backup back, or beside this one under the same name"
            )
        );
        std::fs::rename(&new, &old).unwrap();
        let said = failure(&Location::Folder(old.join("later")));
        assert!(said.contains(&format!("which is not there: {was} has no manifest.json; put that")), "each place is named once: {said}");
    }
}
