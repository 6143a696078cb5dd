//! A backup with those that it goes on from: the newest first, a full one last.
//!
//! An image of a row in a newer link replaces those in older ones. So a restore goes from the newest link to the oldest, and passes over rows whose
//! keys it has met in a newer one: it never writes what is not of the last cut.

use super::archive::Archive;
use super::error::BackupError;
use super::format::{FileEntry, Previous};
use super::location::Location;
use crate::cli::BackupKeyArguments;
use crate::s3::S3Arguments;
use engine::EncodedRow;
use ring::digest::{Context, SHA256};
use std::collections::HashSet;

/// More than anybody takes from one full backup to the next.
const LINKS_MAX: usize = 1000;

/// What stands for a key.
pub(super) type Digest = [u8; 16];

/// A backup and all that it needs.
pub(crate) struct Chain {
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
                return Err(BackupError::ChainTooLong { place: place.clone(), links: LINKS_MAX });
            }
            let found = find(&last.place(), previous, s3, key)?;
            links.push(found);
        }
        Ok(Self { links })
    }

    /// The backup itself.
    pub(crate) fn newest(&self) -> &Archive {
        &self.links[0]
    }

    /// All files of rows, in the order of a restore: the number of the link, and the file.
    pub(crate) fn files(&self) -> Vec<(usize, FileEntry)> {
        let files =
            |(number, link): (usize, &Archive)| link.manifest.files.iter().map(move |file| (number, file.clone())).collect::<Vec<_>>();
        self.links.iter().enumerate().flat_map(files).collect()
    }
}

/// The backup before one: beside it, as they were made or moved together, or where it was.
fn find(place: &Location, previous: &Previous, s3: &S3Arguments, key: &BackupKeyArguments) -> Result<Archive, BackupError> {
    let mut why = "it is no place for a backup".to_owned();
    let made: Option<Location> = previous.place.parse().ok();
    for found in made.iter().filter_map(|made| place.beside(made)).chain(made.clone()) {
        match Archive::open(&found, s3, key) {
            Ok(archive) if archive.digest == previous.manifest_sha256 => return Ok(archive),
            Ok(_) => why = format!("{found} holds another backup"),
            Err(error @ BackupError::NotWhole { .. }) => why = error.to_string(),
            Err(error) => return Err(error.in_link(&found, place)),
        }
    }
    Err(BackupError::Link { place: place.clone(), previous: previous.place.clone(), why })
}

/// Keys that a restore has met in newer links.
#[derive(Default)]
pub(super) struct Met {
    newer: HashSet<Digest>,
    /// Those of this link: of two images in it the later one counts.
    here: HashSet<Digest>,
    link: usize,
}

impl Met {
    /// Whether the row is not replaced by a newer link.
    pub(super) fn takes(&mut self, link: usize, is_oldest: bool, row: &EncodedRow<'_>) -> bool {
        if link != self.link {
            self.newer.extend(std::mem::take(&mut self.here));
            self.link = link;
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
