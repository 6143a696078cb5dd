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
//! | … | rows as [`engine::ReceivedRows`] reads them, compressed by LZ4 |
//!
//! Integers are little-endian. Of two images of a row in a file the later one is the row; a row is in one file only. The manifest ends with
//! `crc32 xxxxxxxx`, the checksum of every byte before it. Checksums are CRC-32.

use super::error::BackupError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

pub(crate) const FORMAT: u32 = 1;
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const SCHEMA: &str = "schema.json";
const HEAD_BYTES: usize = 12;
/// More than the largest group of rows.
const CHUNK_BYTES_MAX: u32 = 64 << 20;

/// What belongs to a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    /// Of the program that wrote it.
    pub(crate) version: String,
    /// Seconds since 1970.
    pub(crate) taken_s: u64,
    pub(crate) keyspaces: Vec<String>,
    /// The checksum of `schema.json`.
    pub(crate) schema_crc32: u32,
    pub(crate) files: Vec<FileEntry>,
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
pub(crate) fn rows_file(number: usize) -> String {
    format!("{number:03}.rows")
}

/// A chunk's bytes in a file.
pub(crate) fn chunk(rows: &[u8]) -> Vec<u8> {
    let stored = lz4_flex::block::compress(rows);
    let mut bytes = Vec::with_capacity(HEAD_BYTES + stored.len());
    bytes.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(rows.len() as u32).to_le_bytes());
    let checksum = checksum_of(&bytes, &stored);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&stored);
    bytes
}

fn checksum_of(numbers: &[u8], stored: &[u8]) -> u32 {
    let mut checksum = base::Checksum::new();
    checksum.update(numbers);
    checksum.update(stored);
    checksum.value()
}

/// The chunks of a file, in order.
pub(crate) struct Chunks {
    name: String,
    file: BufReader<File>,
    left: u64,
    at: u64,
}

impl Chunks {
    /// Opens a file of a backup.
    pub(crate) fn open(folder: &Path, entry: &FileEntry) -> Result<Self, BackupError> {
        let path = folder.join(&entry.name);
        let failed = |source| BackupError::File { path: path.clone(), source };
        let file = File::open(&path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        if bytes != entry.bytes {
            return Err(BackupError::Damaged { file: entry.name.clone(), at: bytes.min(entry.bytes), why: "it has another length" });
        }
        Ok(Self { name: entry.name.clone(), file: BufReader::with_capacity(1 << 20, file), left: bytes, at: 0 })
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
        let rows = lz4_flex::block::decompress(&bytes, raw as usize).map_err(|_| self.damaged("it cannot be decompressed"))?;
        self.at += (HEAD_BYTES + bytes.len()) as u64;
        Ok(Some(rows))
    }
}

impl Manifest {
    /// With its checksum.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_string_pretty(self).expect("numbers and texts are always JSON");
        text.push('\n');
        let checksum = base::checksum(text.as_bytes());
        text += &format!("crc32 {checksum:08x}\n");
        text.into_bytes()
    }

    /// Reads and checks a backup's manifest.
    pub(crate) fn read(folder: &Path) -> Result<Self, BackupError> {
        let path = folder.join(MANIFEST);
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(BackupError::NotWhole { folder: folder.to_owned() });
            }
            read => read.map_err(|source| BackupError::File { path, source })?,
        };
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
        Ok(manifest)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn no_changed_bit_of_a_chunk_passes() {
        let folder = std::env::temp_dir().join(format!("tarndb-chunk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let bytes = chunk(b"rows rows rows rows rows");
        let entry = FileEntry { name: "0.rows".to_owned(), bytes: bytes.len() as u64, chunks: 1, rows: 1 };
        for bit in 0..=bytes.len() * 8 {
            let mut changed = bytes.clone();
            if let Some(byte) = changed.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
            std::fs::write(folder.join("0.rows"), &changed).unwrap();
            let read = Chunks::open(&folder, &entry).unwrap().next();
            assert_eq!(read.is_ok(), bit == bytes.len() * 8, "bit {bit}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
