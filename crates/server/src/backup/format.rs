//! A backup's files.
//!
//! | file | what |
//! |---|---|
//! | `NNN.rows` | what one core sent: chunks, one after the other |
//! | `schema.json` | the schema at the cut, without roles |
//! | `manifest.json` | what belongs to it; written last, so a directory with one is a whole backup |
//!
//! | bytes | chunk |
//! |---|---|
//! | 4 | bytes stored |
//! | 4 | bytes before compression |
//! | 4 | checksum of the two numbers and of what is stored |
//! | … | rows as [`engine::ReceivedRows`] reads them, compressed by LZ4; then encrypted, where the backup is, with the second number as associated data |
//!
//! Integers are little-endian. Of two images of a row in a file the later one is the row; a row is in one file only. A backup that goes on from another one has the rows that
//! are not as they were there, and void rows for keys that are gone. The manifest ends with
//! `crc32 xxxxxxxx`, the checksum of every byte before it. Checksums are CRC-32.

use super::encryption::{BackupCipher, Place, WrappedKey};
use super::error::BackupError;
use super::source::Source;
use crate::at_rest::to_hex;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// The newest that is known here: of those that go on from another one. A full one has format 2 if it is encrypted, else 1.
const FORMAT: u32 = 3;
const FORMAT_ENCRYPTED: u32 = 2;
const FORMAT_PLAIN: u32 = 1;
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const SCHEMA: &str = "schema.json";
pub(crate) const HEAD_BYTES: usize = 12;
/// More than the largest group of rows.
pub(crate) const CHUNK_BYTES_MAX: u32 = 64 << 20;

/// What belongs to a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    /// Of the program that wrote it.
    pub(crate) version: String,
    /// Seconds since 1970.
    pub(crate) taken_s: u64,
    pub(crate) keyspaces: Vec<String>,
    /// The checksum of `schema.json`.
    pub(crate) schema_crc32: u32,
    /// What it is encrypted with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encryption: Option<WrappedKey>,
    /// The backup that this one goes on from, if it has not everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<Previous>,
    pub(crate) files: Vec<FileEntry>,
}

/// A backup that another one goes on from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Previous {
    /// Where it was.
    pub(crate) place: String,
    /// By which it is known.
    pub(crate) manifest_sha256: String,
}

/// A file of rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) chunks: u64,
    pub(crate) rows: u64,
}

/// The name of a file of rows.
pub(crate) fn rows_file(number: u32) -> String {
    format!("{number:03}.rows")
}

/// The number of a file of rows, by its name.
pub(crate) fn rows_file_number(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".rows")?.parse().ok()?;
    (rows_file(number) == name).then_some(number)
}

/// A chunk's bytes in a file.
pub(crate) fn chunk(rows: &[u8], place: Place, cipher: Option<&BackupCipher>) -> Vec<u8> {
    let (compressed, raw) = (lz4_flex::block::compress(rows), (rows.len() as u32).to_le_bytes());
    let stored = match cipher {
        Some(cipher) => cipher.seal(place, &raw, compressed),
        None => compressed,
    };
    let mut bytes = Vec::with_capacity(HEAD_BYTES + stored.len());
    bytes.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&raw);
    let checksum = checksum_of(&bytes, &stored);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&stored);
    bytes
}

pub(crate) fn checksum_of(numbers: &[u8], stored: &[u8]) -> u32 {
    let mut checksum = base::Checksum::new();
    checksum.update(numbers);
    checksum.update(stored);
    checksum.value()
}

impl Manifest {
    /// The format that a backup has, encrypted or not.
    pub(crate) fn format_of(is_encrypted: bool, is_incremental: bool) -> u32 {
        match (is_incremental, is_encrypted) {
            (true, _) => FORMAT,
            (false, true) => FORMAT_ENCRYPTED,
            (false, false) => FORMAT_PLAIN,
        }
    }

    /// What the schema of an encrypted backup is sealed with: keyspaces and files cannot be changed or left out without the key.
    pub(crate) fn sealed(&self) -> Vec<u8> {
        let sealed = match &self.previous {
            None => serde_json::to_vec(&(self.taken_s, &self.keyspaces, &self.files)),
            Some(previous) => serde_json::to_vec(&(self.taken_s, &self.keyspaces, &self.files, previous)),
        };
        sealed.expect("numbers and texts are always JSON")
    }

    /// With its checksum.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_string_pretty(self).expect("numbers and texts are always JSON");
        text.push('\n');
        let checksum = base::checksum(text.as_bytes());
        text += &format!("crc32 {checksum:08x}\n");
        text.into_bytes()
    }

    /// Reads and checks a backup's manifest; with its SHA-256.
    pub(crate) fn read(source: &Source) -> Result<(Self, String), BackupError> {
        let bytes = source.read(MANIFEST)?.ok_or_else(|| BackupError::NotWhole { place: source.place() })?;
        let damaged = |why| BackupError::Damaged { file: MANIFEST.to_owned(), at: 0, why };
        let line = bytes.len().checked_sub(15).ok_or_else(|| damaged("it is too short"))?;
        let (text, line) = bytes.split_at(line);
        if line != format!("crc32 {:08x}\n", base::checksum(text)).as_bytes() {
            return Err(damaged("its checksum is wrong"));
        }
        let manifest: Self = serde_json::from_slice(text).map_err(|_| damaged("it is not of this format"))?;
        if manifest.format > FORMAT {
            return Err(BackupError::Newer { found: manifest.format, known: FORMAT });
        }
        Ok((manifest, to_hex(digest(&SHA256, &bytes).as_ref())))
    }
}
