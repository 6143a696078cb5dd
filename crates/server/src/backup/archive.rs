//! A backup that is there, opened to be read.

use super::encryption::{BackupCipher, Place};
use super::error::BackupError;
use super::format::{CHUNK_BYTES_MAX, FileEntry, HEAD_BYTES, MANIFEST, Manifest, SCHEMA, checksum_of, rows_file_number};
use super::location::Location;
use super::source::Source;
use crate::cli::BackupKeyArguments;
use crate::s3::S3Arguments;
use model::{Schema, schema_blob};
use std::io::{BufReader, Read};
use std::sync::Arc;

/// A whole backup.
pub(crate) struct Archive {
    source: Source,
    pub(crate) manifest: Manifest,
    /// Of the manifest.
    pub(crate) digest: String,
    cipher: Option<Arc<BackupCipher>>,
}

impl Archive {
    /// Opens the backup at a place.
    pub(crate) fn open(place: &Location, s3: &S3Arguments, key: &BackupKeyArguments) -> Result<Self, BackupError> {
        Self::of(Source::open(place, s3)?, key)
    }

    fn of(source: Source, key: &BackupKeyArguments) -> Result<Self, BackupError> {
        let (manifest, digest) = Manifest::read(&source)?;
        let cipher = key.open(manifest.encryption.as_ref())?.map(Arc::new);
        Ok(Self { source, manifest, digest, cipher })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Location {
        self.source.place()
    }

    /// The chunks of one of its files.
    pub(crate) fn chunks(&self, entry: &FileEntry) -> Result<Chunks, BackupError> {
        Chunks::open(&self.source, entry, self.cipher.clone())
    }

    /// The schema at the cut.
    pub(crate) fn schema(&self) -> Result<Schema, BackupError> {
        let damaged = |why| BackupError::Damaged { file: SCHEMA.to_owned(), at: 0, why };
        let stored = self.source.read(SCHEMA)?.ok_or_else(|| damaged("it is not there"))?;
        if base::checksum(&stored) != self.manifest.schema_crc32 {
            return Err(damaged("its checksum is wrong"));
        }
        let blob = match &self.cipher {
            Some(cipher) => cipher.open(Place::SCHEMA, &self.manifest.sealed(), stored),
            None => Some(stored),
        };
        let blob = blob.ok_or_else(|| damaged("it is not what was encrypted, or the manifest was changed"))?;
        schema_blob::decode(&blob).map_err(|_| damaged("it is no schema of this release"))
    }
}

/// The chunks of a file, in order.
pub(crate) struct Chunks {
    name: String,
    number: u32,
    cipher: Option<Arc<BackupCipher>>,
    file: BufReader<Box<dyn Read + Send>>,
    left: u64,
    at: u64,
    chunk: u64,
}

impl Chunks {
    fn open(source: &Source, entry: &FileEntry, cipher: Option<Arc<BackupCipher>>) -> Result<Self, BackupError> {
        let damaged = |file: &str, at, why| BackupError::Damaged { file: file.to_owned(), at, why };
        let number = rows_file_number(&entry.name).ok_or_else(|| damaged(MANIFEST, 0, "it lists what is no file of rows"))?;
        let (file, bytes) = source.open_file(&entry.name)?.ok_or_else(|| damaged(&entry.name, 0, "it is not there"))?;
        if bytes != entry.bytes {
            return Err(damaged(&entry.name, bytes.min(entry.bytes), "it has another length"));
        }
        let (name, file) = (entry.name.clone(), BufReader::with_capacity(1 << 20, file));
        Ok(Self { name, number, cipher, file, left: bytes, at: 0, chunk: 0 })
    }

    fn read(&mut self, bytes: usize) -> Result<Vec<u8>, BackupError> {
        if self.left < bytes as u64 {
            return Err(self.damaged("it ends in the middle of a chunk"));
        }
        let mut read = vec![0; bytes];
        self.file.read_exact(&mut read).map_err(|source| BackupError::File { path: self.name.clone().into(), source })?;
        self.left -= bytes as u64;
        Ok(read)
    }

    fn damaged(&self, why: &'static str) -> BackupError {
        BackupError::Damaged { file: self.name.clone(), at: self.at, why }
    }

    /// The next chunk's rows.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, BackupError> {
        if self.left == 0 {
            return Ok(None);
        }
        let head = self.read(HEAD_BYTES)?;
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (stored, raw, checksum) = (number(0), number(4), number(8));
        if stored > CHUNK_BYTES_MAX || raw > CHUNK_BYTES_MAX {
            return Err(self.damaged("a chunk's length is not possible"));
        }
        let bytes = self.read(stored as usize)?;
        if checksum_of(&head[..8], &bytes) != checksum {
            return Err(self.damaged("its checksum is wrong"));
        }
        let opened = match &self.cipher {
            Some(cipher) => cipher.open(Place::chunk(self.number, self.chunk), &raw.to_le_bytes(), bytes),
            None => Some(bytes),
        };
        let compressed = opened.ok_or_else(|| self.damaged("it is not what was encrypted"))?;
        let rows = lz4_flex::block::decompress(&compressed, raw as usize).map_err(|_| self.damaged("it cannot be decompressed"))?;
        self.at += HEAD_BYTES as u64 + u64::from(stored);
        self.chunk += 1;
        Ok(Some(rows))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::format::chunk;
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn no_changed_bit_of_a_chunk_passes() {
        let folder = Folder::made("chunk");
        let bytes = chunk(b"rows rows rows rows rows", Place::chunk(0, 0), None);
        let entry = FileEntry { name: "000.rows".to_owned(), bytes: bytes.len() as u64, chunks: 1, rows: 1 };
        for bit in 0..=bytes.len() * 8 {
            let mut changed = bytes.clone();
            if let Some(byte) = changed.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
            std::fs::write(folder.join("000.rows"), &changed).unwrap();
            let read = Chunks::open(&Source::Folder(folder.to_path_buf()), &entry, None).unwrap().next();
            assert_eq!(read.is_ok(), bit == bytes.len() * 8, "bit {bit}");
        }
    }

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
            format: Manifest::format_of(true, false),
            version: String::new(),
            taken_s: 1,
            keyspaces: vec!["k".to_owned()],
            schema_crc32: 0,
            encryption: Some(wrapped),
            previous: None,
            files: vec![entry.clone()],
        };
        let schema = cipher.seal(Place::SCHEMA, &manifest.sealed(), schema_blob::encode(&Schema::empty()));
        manifest.schema_crc32 = base::checksum(&schema);
        std::fs::write(folder.join(SCHEMA), schema).unwrap();
        let open = |manifest: &Manifest| {
            std::fs::write(folder.join(MANIFEST), manifest.to_bytes()).unwrap();
            Archive::of(Source::Folder(folder.to_path_buf()), &key).unwrap()
        };
        let first = |chunks: [&[u8]; 2]| {
            std::fs::write(folder.join("000.rows"), chunks.concat()).unwrap();
            open(&manifest).chunks(&entry).unwrap().next()
        };
        assert_eq!(first([&one, &two]).unwrap().unwrap(), b"rows one");
        assert!(first([&two, &one]).is_err(), "each has a good checksum");
        assert!(open(&manifest).schema().is_ok());
        let shorter = Manifest { files: Vec::new(), ..manifest.clone() };
        assert!(open(&shorter).schema().unwrap_err().to_string().contains("the manifest was changed"));
    }
}
