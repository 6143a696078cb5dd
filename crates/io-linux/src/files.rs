//! A shard's files, opened for direct I/O.

use crate::errno::Errno;
use crate::host::free_bytes_of;
use base::{BLOCK_BYTES, SECTOR_BYTES};
use io::DiskError;
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Data files leave so much of a file system free.
const FREE_BYTES_KEPT: u64 = 64 << 20;

/// Why a shard's file could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the data file {}: {source}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
}

/// An open file or block device.
#[derive(Debug)]
pub(crate) struct DataFile {
    file: File,
    kind: Kind,
    /// How many bytes have their space reserved.
    pub(crate) length: u64,
    /// Offsets and lengths of reads are multiples of it.
    pub(crate) read_unit: usize,
}

/// What a path named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Grows by reserving space.
    Regular,
    /// Has the length it has.
    Device,
}

impl DataFile {
    /// Opens or creates `path`.
    pub(crate) fn open_or_create(path: &Path) -> Result<Self, FileError> {
        Self::open(path, true)
    }

    /// Opens a file or device that is there.
    pub(crate) fn open_existing(path: &Path) -> Result<Self, FileError> {
        Self::open(path, false)
    }

    fn open(path: &Path, create: bool) -> Result<Self, FileError> {
        let error = |source| FileError { path: path.to_owned(), source };
        let file = open_direct(OpenOptions::new().read(true).write(true).create(create).truncate(false), path, 0).map_err(error)?;
        let metadata = file.metadata().map_err(error)?;
        let read_unit = read_unit_of(&file);
        if metadata.file_type().is_block_device() {
            let length = device_bytes(&file).map_err(|errno| error(errno.into()))?;
            return Ok(Self { file, kind: Kind::Device, length, read_unit });
        }
        Ok(Self { file, kind: Kind::Regular, length: metadata.len(), read_unit })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// The outcome of extending that needs no work: it is as long already, a device, or larger than what is free.
    ///
    /// The last is asked here because a filesystem may fill itself up entirely before it says that it cannot reserve so much, and because small files (the cluster's
    /// metadata, the schema) need room too: data files must not take the last of it.
    pub(crate) fn extend_at_once(&self, length: u64) -> Option<Result<(), DiskError>> {
        if length <= self.length {
            return Some(Ok(()));
        }
        if self.kind == Kind::Device {
            return Some(Err(DiskError::Full));
        }
        let free = free_bytes_of(&self.file).ok()?;
        (length - self.length > free.saturating_sub(FREE_BYTES_KEPT)).then_some(Err(DiskError::Full))
    }

    /// Makes the file longer on a filesystem that cannot reserve space.
    pub(crate) fn grow_without_reserving(&mut self, length: u64) -> Result<(), Errno> {
        self.file.set_len(length).map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))?;
        self.length = self.length.max(length);
        Ok(())
    }
}

/// Opens for direct I/O. A filesystem without it is used through its cache, with a warning.
pub(crate) fn open_direct(options: &mut OpenOptions, path: &Path, flags: libc::c_int) -> std::io::Result<File> {
    match options.custom_flags(flags | libc::O_DIRECT).open(path) {
        Err(refusal) if refusal.raw_os_error() == Some(libc::EINVAL) => {
            tracing::warn!(path = %path.display(), "the filesystem has no direct I/O: reads and writes go through its cache");
            options.custom_flags(flags).open(path)
        }
        other => other,
    }
}

/// In which units direct I/O may read; whole blocks where the kernel does not say.
fn read_unit_of(file: &File) -> usize {
    let asked = StatxFlags::DIOALIGN;
    let units = statx(file, c"", AtFlags::EMPTY_PATH, asked).ok().filter(|found| found.stx_mask & asked.bits() != 0);
    let unit = units.map_or(0, |found| found.stx_dio_offset_align as usize);
    if unit == 0 { BLOCK_BYTES } else { unit.next_power_of_two().clamp(SECTOR_BYTES, BLOCK_BYTES) }
}

/// How long an open block device is.
pub(crate) fn device_bytes(file: &File) -> Result<u64, Errno> {
    let mut bytes = 0u64;
    // SAFETY: BLKGETSIZE64 writes one u64.
    Errno::check(unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) })?;
    Ok(bytes)
}

/// `_IOR(0x12, 114, size_t)`, see `linux/fs.h`.
const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
