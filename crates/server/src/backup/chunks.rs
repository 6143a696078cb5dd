//! A file of rows, read a chunk at a time: each is checked, opened, decompressed.

use super::encryption::{BackupCipher, Place};
use super::error::BackupError;
use super::format::{CHUNK_BYTES_MAX, FileEntry, HEAD_BYTES, MANIFEST, checksum_of, rows_file_number};
use super::interrupt;
use super::source::Source;
use engine::ReceivedRows;
use std::io::{BufReader, Read};
use std::sync::Arc;

/// How an attempt has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LayerEnd {
    /// At a cut.
    Cut,
    /// Anywhere: its files may be longer than what counts of them.
    Interrupted,
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
    /// So many bytes of a file as its entry has.
    pub(super) fn open(source: &Source, entry: &FileEntry, cipher: Option<Arc<BackupCipher>>, end: LayerEnd) -> Result<Self, BackupError> {
        let chunks = Self::whole(source, &entry.name, cipher)?;
        let bytes = chunks.left;
        if bytes < entry.bytes || (bytes > entry.bytes && end == LayerEnd::Cut) {
            let (file, at) = (entry.name.clone(), bytes.min(entry.bytes));
            return Err(BackupError::Damaged { file, at, why: "it has another length" });
        }
        Ok(Self { left: entry.bytes, ..chunks })
    }

    /// A file to its end.
    fn whole(source: &Source, name: &str, cipher: Option<Arc<BackupCipher>>) -> Result<Self, BackupError> {
        let damaged = |file: &str, why| BackupError::Damaged { file: file.to_owned(), at: 0, why };
        let number = rows_file_number(name).ok_or_else(|| damaged(MANIFEST, "it lists what is no file of rows"))?;
        let (file, left) = source.open_file(name)?.ok_or_else(|| damaged(name, "it is not there"))?;
        let (name, file) = (name.to_owned(), BufReader::with_capacity(1 << 20, file));
        Ok(Self { name, number, cipher, file, left, at: 0, chunk: 0 })
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

/// What of an interrupted file is whole: its chunks up to the first that is not, and what is wrong with that one.
pub(crate) fn whole_part(
    source: &Source,
    name: &str,
    cipher: Option<Arc<BackupCipher>>,
) -> Result<(FileEntry, Option<&'static str>), BackupError> {
    let mut entry = FileEntry { name: name.to_owned(), ..FileEntry::default() };
    let mut chunks = Chunks::whole(source, name, cipher)?;
    loop {
        interrupt::check()?;
        let rows = match chunks.next() {
            Ok(Some(rows)) => rows,
            Ok(None) => return Ok((entry, None)),
            Err(BackupError::Damaged { why, .. }) => return Ok((entry, Some(why))),
            Err(error) => return Err(error),
        };
        let Some(count) = count_rows(&rows) else { return Ok((entry, Some("a row is malformed"))) };
        entry = FileEntry { name: entry.name, bytes: chunks.at, chunks: entry.chunks + 1, rows: entry.rows + count };
    }
}

/// The rows of a chunk; `None` if one is malformed.
pub(crate) fn count_rows(chunk: &[u8]) -> Option<u64> {
    let mut count = 0;
    for row in ReceivedRows::new(chunk) {
        row.ok().filter(|row| model::row::is_well_formed(row.row))?;
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::earlier::void;
    use super::super::format::chunk;
    use super::*;
    use crate::testing::Folder;
    use base::{TableId, Token};
    use engine::Key;

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
            let read = Chunks::open(&Source::Folder(folder.to_path_buf()), &entry, None, LayerEnd::Cut).unwrap().next();
            assert_eq!(read.is_ok(), bit == bytes.len() * 8, "bit {bit}");
        }
    }

    #[test]
    fn of_an_interrupted_file_whole_chunks_count() {
        let folder = Folder::made("whole-part");
        let source = Source::Folder(folder.to_path_buf());
        let chunks: Vec<Vec<u8>> = [3, 1, 2]
            .iter()
            .enumerate()
            .map(|(number, count)| {
                let key = |key: u8| void(&Key { table: TableId(1), token: Token(0), partition: &[key], clustering: b"" }).bytes().to_vec();
                let rows: Vec<u8> = (0..*count).flat_map(key).collect();
                chunk(&rows, Place::chunk(0, number as u64), None)
            })
            .collect();
        let bytes = chunks.concat();
        let ends: Vec<usize> = chunks
            .iter()
            .scan(0, |at, chunk| {
                *at += chunk.len();
                Some(*at)
            })
            .collect();
        for length in 0..=bytes.len() {
            std::fs::write(folder.join("000.rows"), &bytes[..length]).unwrap();
            let (entry, fault) = whole_part(&source, "000.rows", None).unwrap();
            let whole = ends.iter().filter(|end| **end <= length).count();
            let wanted = (if whole == 0 { 0 } else { ends[whole - 1] as u64 }, whole as u64);
            assert_eq!((entry.bytes, entry.chunks), wanted, "{length} bytes");
            assert_eq!(fault.is_none(), entry.bytes == length as u64, "{length} bytes");
            // What counts of it is read, whatever follows.
            let mut read = Chunks::open(&source, &entry, None, LayerEnd::Interrupted).unwrap();
            assert_eq!(std::iter::from_fn(|| read.next().unwrap()).count(), whole);
        }
        let mut changed = bytes.clone();
        changed[ends[0] + HEAD_BYTES] ^= 1;
        std::fs::write(folder.join("000.rows"), changed).unwrap();
        let (entry, fault) = whole_part(&source, "000.rows", None).unwrap();
        assert_eq!((entry.bytes, entry.chunks, entry.rows), (ends[0] as u64, 1, 3));
        assert_eq!(fault, Some("its checksum is wrong"));
    }
}
