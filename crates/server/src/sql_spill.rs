//! What statements of SQL put on disk when it is too much for memory: files without a name in a directory of the data directory.
//!
//! ```text
//! sql (SQLite, threads of SQL) ─► SpillDirectory: how much there may be ─► Spilled: XTS by a key of the file's own ─► sql-spill/N, whose name is gone once it is open
//! ```
//!
//! Invariants:
//! - Nothing in such a file can be read without its key, which is drawn with the file, is in memory alone, and goes with the file: it is encrypted whether or not the data directory is.
//! - A file has no name while it is written, so the operating system frees it when its statement or the process ends, however that is. A name that a process has left between making a file
//!   and taking its name away goes at the next start.
//! - All files together are at most as large as the setting says, and leave [`FREE_BYTES_LEAST`] of their file system to data.

use crate::size::Size;
use engine::xts::{CELL_BYTES, KEY_BYTES, Xts};
use io_linux::free_bytes;
use ring::rand::{SecureRandom, SystemRandom};
use sql::spill::{SpillError, SpillFile, SpillStore, spill_to};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// In the data directory.
pub(crate) const DIRECTORY: &str = "sql-spill";
/// What files leave free for others.
const FREE_BYTES_LEAST: u64 = 256 << 20;
/// How much is written between two looks at what is free.
const LOOK_EVERY_BYTES: u64 = 32 << 20;
/// Bytes of a gap that are filled at once.
const GAP_BYTES: u64 = 64 << 10;
const CELL: u64 = CELL_BYTES as u64;

/// Has statements of SQL spill to the data directory, if they may; takes away what a former process has left there.
pub(crate) fn prepare(data_dir: &Path, limit: Size) {
    let path = data_dir.join(DIRECTORY);
    let made = clear(&path).and_then(|()| if limit.0 == 0 { Ok(()) } else { DirBuilder::new().recursive(true).mode(0o700).create(&path) });
    match made {
        Ok(()) if limit.0 == 0 => {}
        Ok(()) => {
            spill_to(Box::new(SpillDirectory {
                path,
                space: Arc::new(Space { limit: limit.0, used: AtomicU64::new(0) }),
                last: AtomicU64::new(0),
            }));
        }
        Err(error) => {
            tracing::error!(path = %path.display(), %error, "statements of SQL have memory alone: nothing can be put on disk for them");
        }
    }
}

/// Removes the files of a directory; links and directories, which are nobody's here, stay.
fn clear(path: &Path) -> std::io::Result<()> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Where files are made.
struct SpillDirectory {
    path: PathBuf,
    space: Arc<Space>,
    /// The number of the last one.
    last: AtomicU64,
}

/// What all files take.
struct Space {
    limit: u64,
    used: AtomicU64,
}

impl Space {
    fn take(&self, bytes: u64) -> Result<(), SpillError> {
        let limit_bytes = self.limit;
        let taken =
            self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| used.checked_add(bytes).filter(|used| *used <= limit_bytes));
        taken.map(drop).map_err(|_| SpillError::Limit { limit_bytes })
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
    }
}

impl SpillStore for SpillDirectory {
    fn create(&self) -> Result<Box<dyn SpillFile>, SpillError> {
        let path = self.path.join(self.last.fetch_add(1, Ordering::Relaxed).to_string());
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        let mut key = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut key).map_err(|_| Error::other("the operating system gives no random numbers for its key"))?;
        let (directory, space) = (self.path.clone(), Arc::clone(&self.space));
        let cipher = Xts::new(&key);
        Ok(Box::new(Spilled { file, cipher, directory, space, length: 0, stored: 0, until_look: 0, buffer: Vec::new() }))
    }
}

/// A file.
struct Spilled {
    file: File,
    cipher: Xts,
    directory: PathBuf,
    space: Arc<Space>,
    /// Bytes that were written.
    length: u64,
    /// The same in whole cells, as they are on disk.
    stored: u64,
    /// How much may be written before what is free is looked at.
    until_look: u64,
    buffer: Vec<u8>,
}

impl Spilled {
    /// Takes room up to an end, in whole cells.
    fn grow(&mut self, end: u64) -> Result<(), SpillError> {
        let more = end.saturating_sub(self.stored);
        if more > self.until_look {
            let free_bytes = free_bytes(&self.directory)?;
            if free_bytes < FREE_BYTES_LEAST + LOOK_EVERY_BYTES.max(more) {
                return Err(SpillError::NoRoom { free_bytes });
            }
            self.until_look = LOOK_EVERY_BYTES.max(more);
        }
        self.space.take(more)?;
        self.until_look -= more;
        Ok(())
    }

    /// Writes cells of plain bytes from the buffer.
    fn put(&mut self, start: u64) -> Result<(), SpillError> {
        let end = start + self.buffer.len() as u64;
        self.grow(end)?;
        self.cipher.encrypt(start as usize, &mut self.buffer);
        if let Err(error) = self.file.write_all_at(&self.buffer, start) {
            self.space.give_back(end.saturating_sub(self.stored));
            return Err(error.into());
        }
        self.stored = self.stored.max(end);
        Ok(())
    }

    /// Fills the buffer with the plain bytes of cells that are stored, zeros where none are.
    fn get(&mut self, start: u64, length: usize) -> Result<(), SpillError> {
        self.buffer.clear();
        self.buffer.resize(length, 0);
        let there = self.stored.saturating_sub(start).min(length as u64) as usize;
        self.file.read_exact_at(&mut self.buffer[..there], start)?;
        self.cipher.decrypt(start as usize, &mut self.buffer[..there]);
        Ok(())
    }

    /// Writes zeros up to a cell that is beyond the end: what is not written would be noise.
    fn fill_gap(&mut self, start: u64) -> Result<(), SpillError> {
        while self.stored < start {
            self.buffer.clear();
            self.buffer.resize((start - self.stored).min(GAP_BYTES) as usize, 0);
            self.put(self.stored)?;
        }
        Ok(())
    }
}

impl SpillFile for Spilled {
    fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, SpillError> {
        let there = self.length.saturating_sub(offset).min(bytes.len() as u64);
        let start = offset / CELL * CELL;
        self.get(start, ((offset + there).next_multiple_of(CELL) - start) as usize)?;
        let from = (offset - start) as usize;
        bytes[..there as usize].copy_from_slice(&self.buffer[from..from + there as usize]);
        Ok(there as usize)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SpillError> {
        let (start, end) = (offset / CELL * CELL, offset + bytes.len() as u64);
        self.fill_gap(start)?;
        let cells = (end.next_multiple_of(CELL) - start) as usize;
        let from = (offset - start) as usize;
        if from == 0 && end.is_multiple_of(CELL) {
            self.buffer.clear();
            self.buffer.extend_from_slice(bytes);
        } else {
            // The cells at both ends have bytes of others, too.
            self.get(start, cells)?;
            self.buffer[from..from + bytes.len()].copy_from_slice(bytes);
        }
        self.put(start)?;
        self.length = self.length.max(end);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> Result<(), SpillError> {
        if length < self.length {
            let (start, stored) = (length / CELL * CELL, length.next_multiple_of(CELL));
            if start < stored {
                // What is left of the last cell reads as zeros once the file is longer again.
                self.get(start, CELL_BYTES)?;
                self.buffer[(length - start) as usize..].fill(0);
                self.put(start)?;
            }
            self.file.set_len(stored)?;
            self.space.give_back(self.stored - stored);
            (self.length, self.stored) = (length, stored);
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        self.length
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        self.space.give_back(self.stored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use base::Rng;
    use std::io::Read;

    fn store(path: &Path, limit: u64) -> SpillDirectory {
        let space = Arc::new(Space { limit, used: AtomicU64::new(0) });
        SpillDirectory { path: path.to_owned(), space, last: AtomicU64::new(0) }
    }

    #[test]
    fn a_file_is_what_was_written_and_on_disk_it_is_noise() {
        let directory = Folder::made("spill");
        let store = store(&directory, u64::MAX);
        let mut file = store.create().expect("it is made");
        assert_eq!(fs::read_dir(&directory).expect("it is there").count(), 0, "it has no name");
        let (mut model, mut rng) = (Vec::new(), Rng::new(5));
        for _ in 0..3_000 {
            let offset = rng.below(model.len() as u64 + 200) as usize;
            let mut bytes = vec![0; 1 + rng.below(900) as usize];
            match rng.below(10) {
                0 => {
                    let length = rng.below(model.len() as u64 + 1) as usize;
                    model.truncate(length);
                    file.truncate(length as u64).expect("it is cut");
                }
                1..=4 => {
                    let read = file.read_at(offset as u64, &mut bytes).expect("it is read");
                    let there = &model[offset.min(model.len())..(offset + bytes.len()).min(model.len())];
                    assert_eq!(&bytes[..read], there);
                }
                _ => {
                    rng.fill(&mut bytes);
                    file.write_at(offset as u64, &bytes).expect("it is written");
                    model.resize(model.len().max(offset + bytes.len()), 0);
                    model[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
            }
            assert_eq!(file.length(), model.len() as u64);
        }
        let used = store.space.used.load(Ordering::Relaxed);
        assert_eq!(used, (model.len() as u64).next_multiple_of(CELL));
        drop(file);
        assert_eq!(store.space.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_on_disk_tells_nothing() {
        let directory = Folder::made("spill-noise");
        let mut spilled = {
            let key = [7; KEY_BYTES];
            let path = directory.join("seen");
            let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path).expect("it is made");
            let space = Arc::new(Space { limit: u64::MAX, used: AtomicU64::new(0) });
            let directory = directory.to_path_buf();
            Spilled { file, cipher: Xts::new(&key), directory, space, length: 0, stored: 0, until_look: 0, buffer: Vec::new() }
        };
        spilled.write_at(3, &b"a secret of somebody ".repeat(100)).expect("it is written");
        let mut stored = Vec::new();
        File::open(directory.join("seen")).and_then(|mut file| file.read_to_end(&mut stored)).expect("it is read");
        assert!(stored.len() > 2_000 && !stored.windows(6).any(|bytes| bytes == b"secret"));
    }

    #[test]
    fn files_together_have_a_limit() {
        let directory = Folder::made("spill-limit");
        let store = store(&directory, 1_000_000);
        let (mut one, mut other) = (store.create().expect("one"), store.create().expect("another"));
        one.write_at(0, &[1; 600_000]).expect("there is room");
        assert!(matches!(other.write_at(0, &[2; 600_000]), Err(SpillError::Limit { limit_bytes: 1_000_000 })));
        other.write_at(0, &[2; 300_000]).expect("for less there is");
        one.write_at(0, &[3; 600_000]).expect("what is there is written over");
        drop(one);
        other.write_at(300_000, &[2; 600_000]).expect("there is room again");
    }

    #[test]
    fn what_a_former_process_has_left_is_gone() {
        let directory = Folder::made("spill-left");
        let spill = directory.join(DIRECTORY);
        fs::create_dir(&spill).and_then(|()| fs::write(spill.join("17"), b"left")).expect("it is written");
        fs::create_dir(spill.join("somebodys")).expect("it is made");
        clear(&spill).expect("it is cleared");
        let names: Vec<_> = fs::read_dir(&spill).expect("it is there").filter_map(Result::ok).map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["somebodys"]);
        clear(&directory.join("nowhere")).expect("nothing is to be cleared");
        let without = Folder::made("spill-none");
        prepare(&without, Size(0));
        assert!(!without.join(DIRECTORY).exists(), "without a limit nothing is made");
    }
}
