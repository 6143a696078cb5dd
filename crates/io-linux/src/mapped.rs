//! Stable memory: a shared mapping of a preallocated file.
//!
//! What is copied into the mapping is in the page cache at once, so it survives the death of the process by any cause; the kernel writes
//! it to the device when it likes, so it does not survive the loss of power.
//!
//! Invariant: every page of the file has a real block, because a page without one could not be written back on a full disk, which the
//! kernel would tell us with SIGBUS.

use io::StableMemory;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

const ZEROES_BYTES: usize = 1024 * 1024;

/// Why stable memory could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum MappedMemoryError {
    /// The file was made for another configuration; its content may be needed for recovery.
    #[error(
        "{} is {found} bytes long and {wanted} are wanted: start once with the configuration it was made with",
        path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// How long it is.
        found: u64,
        /// How long it should be.
        wanted: u64,
    },
    /// The operating system refused.
    #[error("cannot map {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A file's bytes, mapped and shared with the page cache.
#[derive(Debug)]
pub struct MappedMemory {
    start: NonNull<u8>,
    length: usize,
    found_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone; another process that maps the same file is kept out by the data directory's lock.
unsafe impl Send for MappedMemory {}

impl MappedMemory {
    /// Maps `path`, creating it with `length` zero bytes or extending a shorter file (an interrupted creation) with zero bytes.
    ///
    /// # Errors
    /// When the file is longer than `length`, or the operating system refuses (a full disk).
    ///
    /// # Panics
    /// When `length` is 0.
    pub fn open(path: &Path, length: usize) -> Result<Self, MappedMemoryError> {
        assert!(length > 0, "an empty mapping is not possible");
        let io = |source| MappedMemoryError::Io { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        let (found, wanted) = (file.metadata().map_err(io)?.len(), length as u64);
        if found > wanted {
            return Err(MappedMemoryError::Length { path: path.to_owned(), found, wanted });
        }
        fill_with_zeroes(&file, found, wanted).map_err(io)?;
        Self::map(&file, length, found as usize).map_err(io)
    }

    /// How long the file was before; what comes after is zero.
    #[must_use]
    pub fn found_bytes(&self) -> usize {
        self.found_bytes
    }

    fn map(file: &File, length: usize, found_bytes: usize) -> std::io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the file is at least as long.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED | libc::MAP_POPULATE, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let start: NonNull<u8> = NonNull::new(start.cast()).expect("a mapping is never at address zero");
        // Page faults now rather than in a request. An old kernel without this advice faults later: slower, not wrong.
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_POPULATE_WRITE) };
        Ok(Self { start, length, found_bytes })
    }

    fn check(&self, offset: usize, length: usize) {
        let end = offset.checked_add(length);
        assert!(end.is_some_and(|end| end <= self.length), "{length} bytes at {offset} leave a stable memory of {} bytes", self.length);
    }
}

fn fill_with_zeroes(file: &File, from: u64, to: u64) -> std::io::Result<()> {
    if from == to {
        return Ok(());
    }
    let zeroes = vec![0u8; ZEROES_BYTES];
    let mut offset = from;
    while offset < to {
        let count = (to - offset).min(ZEROES_BYTES as u64) as usize;
        file.write_all_at(&zeroes[..count], offset)?;
        offset += count as u64;
    }
    file.sync_all()
}

impl StableMemory for MappedMemory {
    fn len(&self) -> usize {
        self.length
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        // SAFETY: the range lies within the mapping, which no reference points into.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(offset), bytes.len()) }
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr().add(offset), bytes.as_mut_ptr(), bytes.len()) }
    }
}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` and nothing points into it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
