//! A backup's files.
//!
//! | file | what |
//! |---|---|
//! | `NNN.rows` | what one core sent: chunks, one after the other |
//! | `schema.json` | the schema at the cut, without roles |
//! | `roles.json` | the roles at the cut, if they were asked for |
//! | `manifest.json` | what belongs to it; written last, so a directory with one is a whole backup |
//! | `resume.json` | until then: what `--resume` needs to know, [`super::resume`] |
//!
//! | bytes | chunk |
//! |---|---|
//! | 4 | bytes stored |
//! | 4 | bytes before compression |
//! | 4 | checksum of the two numbers and of what is stored |
//! | … | rows as [`engine::ReceivedRows`] reads them, compressed by LZ4; then encrypted, where the backup is, with the second number as associated data |
//!
//! Integers are little-endian. Of two images of a row in a file the later one is the row; a row is in one file of an attempt only. A backup that goes on from another one has the
//! rows that are not as they were there, and void rows for keys that are gone; so has an attempt that goes on from one that was interrupted. The manifest and `resume.json` end with
//! `crc32 xxxxxxxx`, the checksum of every byte before it. Checksums are CRC-32.

use super::encryption::{BackupCipher, Place, WrappedKey};
use super::error::BackupError;
use super::source::Source;
use crate::at_rest::to_hex;
use ring::digest::{SHA256, digest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The newest that is known here: of those that went on, or have roles.
const FORMAT: u32 = 4;
const FORMAT_INCREMENTAL: u32 = 3;
const FORMAT_ENCRYPTED: u32 = 2;
const FORMAT_PLAIN: u32 = 1;
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const SCHEMA: &str = "schema.json";
pub(crate) const ROLES: &str = "roles.json";
pub(crate) const RESUME: &str = "resume.json";
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
    /// What it has of roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) roles: Option<RolesEntry>,
    /// What attempts before the last one have stored, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) interrupted: Vec<Attempt>,
    /// Of the last attempt.
    pub(crate) files: Vec<FileEntry>,
}

/// What an attempt at a backup had stored when it was interrupted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attempt {
    /// What it is encrypted with: each attempt has a key of its own, so no nonce is used twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encryption: Option<WrappedKey>,
    /// Of each file so many bytes count; what follows is no whole chunk.
    pub(crate) files: Vec<FileEntry>,
}

/// What the manifest has of `roles.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RolesEntry {
    pub(crate) count: usize,
    pub(crate) crc32: u32,
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

/// JSON that ends with its checksum.
pub(crate) fn with_checksum(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(value).expect("numbers and texts are always JSON");
    text.push('\n');
    let checksum = base::checksum(text.as_bytes());
    text += &format!("crc32 {checksum:08x}\n");
    text.into_bytes()
}

/// Reads that; or what is wrong with it.
pub(crate) fn checked<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, &'static str> {
    let (text, line) = bytes.split_at_checked(bytes.len().wrapping_sub(15)).ok_or("it is too short")?;
    if line != format!("crc32 {:08x}\n", base::checksum(text)).as_bytes() {
        return Err("its checksum is wrong");
    }
    serde_json::from_slice(text).map_err(|_| "it is not of this format")
}

impl Manifest {
    /// With the least format that has all of it.
    pub(crate) fn with_format(self) -> Self {
        let format = match (self.interrupted.is_empty() && self.roles.is_none(), &self.previous, &self.encryption) {
            (false, ..) => FORMAT,
            (true, Some(_), _) => FORMAT_INCREMENTAL,
            (true, None, Some(_)) => FORMAT_ENCRYPTED,
            (true, None, None) => FORMAT_PLAIN,
        };
        Self { format, ..self }
    }

    /// The files of all attempts.
    pub(crate) fn all_files(&self) -> impl Iterator<Item = &FileEntry> {
        self.interrupted.iter().flat_map(|attempt| &attempt.files).chain(&self.files)
    }

    /// What the schema of an encrypted backup is sealed with: keyspaces and files cannot be changed or left out without the key.
    pub(crate) fn sealed(&self) -> Vec<u8> {
        let Self { taken_s, keyspaces, previous, interrupted, files, .. } = self;
        let roles = self.roles.as_ref().map(|roles| roles.count);
        let sealed = match previous {
            _ if !interrupted.is_empty() || roles.is_some() => {
                serde_json::to_vec(&(taken_s, keyspaces, files, previous, interrupted, roles))
            }
            None => serde_json::to_vec(&(taken_s, keyspaces, files)),
            Some(previous) => serde_json::to_vec(&(taken_s, keyspaces, files, previous)),
        };
        sealed.expect("numbers and texts are always JSON")
    }

    /// With its checksum.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        with_checksum(self)
    }

    /// Reads and checks a backup's manifest; with its SHA-256.
    pub(crate) fn read(source: &Source) -> Result<(Self, String), BackupError> {
        let bytes = source.read(MANIFEST)?.ok_or_else(|| BackupError::NotWhole { place: source.place() })?;
        let damaged = |why| BackupError::Damaged { file: MANIFEST.to_owned(), at: 0, why };
        let manifest: Self = checked(&bytes).map_err(damaged)?;
        if manifest.format > FORMAT {
            return Err(BackupError::Newer { found: manifest.format, known: FORMAT });
        }
        Ok((manifest, to_hex(digest(&SHA256, &bytes).as_ref())))
    }
}
