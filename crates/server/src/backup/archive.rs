//! A backup that is there, opened to be read.
//!
//! It has a layer for each attempt at it, the newest first: an image of a row in a newer layer replaces those in older ones.

use super::chunks::{Chunks, LayerEnd};
use super::client::Roles;
use super::encryption::{BackupCipher, Place};
use super::error::BackupError;
use super::format::{Attempt, FileEntry, Manifest, ROLES, SCHEMA};
use super::location::Location;
use super::source::Source;
use crate::cli::BackupKeyArguments;
use crate::s3::S3Arguments;
use model::{Schema, schema_blob};
use std::sync::Arc;

/// A whole backup.
pub(crate) struct Archive {
    source: Arc<Source>,
    pub(crate) manifest: Manifest,
    /// Of the manifest.
    pub(crate) digest: String,
    /// The last attempt, and those before it.
    pub(crate) layers: Vec<Layer>,
}

/// The files of an attempt at a backup.
pub(crate) struct Layer {
    source: Arc<Source>,
    pub(crate) files: Vec<FileEntry>,
    cipher: Option<Arc<BackupCipher>>,
    pub(crate) end: LayerEnd,
}

impl Layer {
    /// Opens attempts, as those that were interrupted.
    pub(crate) fn open(source: &Arc<Source>, attempts: &[Attempt], key: &BackupKeyArguments) -> Result<Vec<Self>, BackupError> {
        let ciphers = if attempts.is_empty() { Vec::new() } else { key.open(attempts.iter().map(|attempt| attempt.encryption.as_ref()))? };
        let layer = |(attempt, cipher): (&Attempt, Option<BackupCipher>)| Self {
            source: Arc::clone(source),
            files: attempt.files.clone(),
            cipher: cipher.map(Arc::new),
            end: LayerEnd::Interrupted,
        };
        Ok(attempts.iter().zip(ciphers).map(layer).collect())
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Location {
        self.source.place()
    }

    /// The chunks of one of its files.
    pub(crate) fn chunks(&self, entry: &FileEntry) -> Result<Chunks, BackupError> {
        Chunks::open(&self.source, entry, self.cipher.clone(), self.end)
    }
}

impl Archive {
    /// Opens the backup at a place.
    pub(crate) fn open(place: &Location, s3: &S3Arguments, key: &BackupKeyArguments) -> Result<Self, BackupError> {
        Self::of(Source::open(place, s3)?, key)
    }

    fn of(source: Source, key: &BackupKeyArguments) -> Result<Self, BackupError> {
        let ((manifest, digest), source) = (Manifest::read(&source)?, Arc::new(source));
        let last = Attempt { encryption: manifest.encryption.clone(), files: manifest.files.clone() };
        let attempts: Vec<Attempt> = std::iter::once(last).chain(manifest.interrupted.iter().cloned()).collect();
        let mut layers = Layer::open(&source, &attempts, key)?;
        layers[0].end = LayerEnd::Cut;
        Ok(Self { source, manifest, digest, layers })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Location {
        self.source.place()
    }

    /// The schema at the cut.
    pub(crate) fn schema(&self) -> Result<Schema, BackupError> {
        self.document(SCHEMA, self.manifest.schema_crc32, Place::SCHEMA)
    }

    /// The roles at the cut, if it has any.
    pub(crate) fn roles(&self) -> Result<Option<Roles>, BackupError> {
        let Some(entry) = &self.manifest.roles else { return Ok(None) };
        self.document(ROLES, entry.crc32, Place::ROLES).map(|schema| Some(schema.roles))
    }

    fn document(&self, name: &str, crc32: u32, place: Place) -> Result<Schema, BackupError> {
        let damaged = |why| BackupError::Damaged { file: name.to_owned(), at: 0, why };
        let stored = self.source.read(name)?.ok_or_else(|| damaged("it is not there"))?;
        if base::checksum(&stored) != crc32 {
            return Err(damaged("its checksum is wrong"));
        }
        let blob = match &self.layers[0].cipher {
            Some(cipher) => cipher.open(place, &self.manifest.sealed(), stored),
            None => Some(stored),
        };
        let blob = blob.ok_or_else(|| damaged("it is not what was encrypted, or the manifest was changed"))?;
        schema_blob::decode(&blob).map_err(|_| damaged("it is no schema of this release"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::format::{MANIFEST, chunk};
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn what_is_encrypted_opens_at_its_place_only_and_beside_its_manifest() {
        let folder = Folder::made("sealed");
        io_linux::make_files_private();
        std::fs::write(folder.join("key"), "ab".repeat(32)).unwrap();
        let key = BackupKeyArguments { encryption_key_file: Some(folder.join("key")), ..BackupKeyArguments::default() };
        let (cipher, wrapped) = key.draw().unwrap().unwrap();
        let [one, two] = [b"rows one", b"rows two"].map(|rows| chunk(rows, Place::chunk(0, u64::from(rows[5] == b't')), Some(&cipher)));
        let entry = FileEntry { name: "000.rows".to_owned(), bytes: (one.len() + two.len()) as u64, chunks: 2, rows: 2 };
        let mut manifest = Manifest {
            format: 0,
            version: String::new(),
            taken_s: 1,
            keyspaces: vec!["k".to_owned()],
            schema_crc32: 0,
            encryption: Some(wrapped),
            previous: None,
            roles: None,
            interrupted: Vec::new(),
            files: vec![entry.clone()],
        }
        .with_format();
        let schema = cipher.seal(Place::SCHEMA, &manifest.sealed(), schema_blob::encode(&Schema::empty()));
        manifest.schema_crc32 = base::checksum(&schema);
        std::fs::write(folder.join(SCHEMA), schema).unwrap();
        let open = |manifest: &Manifest| {
            std::fs::write(folder.join(MANIFEST), manifest.to_bytes()).unwrap();
            Archive::of(Source::Folder(folder.to_path_buf()), &key).unwrap()
        };
        let first = |chunks: [&[u8]; 2]| {
            std::fs::write(folder.join("000.rows"), chunks.concat()).unwrap();
            open(&manifest).layers[0].chunks(&entry).unwrap().next()
        };
        assert_eq!(first([&one, &two]).unwrap().unwrap(), b"rows one");
        assert!(first([&two, &one]).is_err(), "each has a good checksum");
        assert!(open(&manifest).schema().is_ok());
        let shorter = Manifest { files: Vec::new(), ..manifest.clone() };
        assert!(open(&shorter).schema().unwrap_err().to_string().contains("the manifest was changed"));
    }
}
