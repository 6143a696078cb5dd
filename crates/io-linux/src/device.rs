//! A data device as the start-up and the offline tools see it: claimed for this process, read and written with blocking calls.
//!
//! A block device is claimed with `O_EXCL`, which the kernel refuses while it is mounted or another process has claimed it; a file is
//! locked. Cores open the device again for themselves while the claim is held.

use crate::files::{device_bytes, open_direct};
use base::{AlignedBuffer, BLOCK_BYTES};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

/// Why a device could not be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// Somebody has it.
    #[error("{} is in use: it is mounted, another process has it, or it was given twice", path.display())]
    InUse {
        /// The device.
        path: PathBuf,
    },
    /// It is neither a file nor a block device.
    #[error("{} is neither a file nor a block device", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The device.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What a device is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To look at it.
    Read,
    /// To write, too. Nobody else may have it open for either.
    Write,
}

/// A file or block device that is claimed while this value lives.
#[derive(Debug)]
pub struct Device {
    file: File,
    path: PathBuf,
    is_block: bool,
    bytes: u64,
}

impl Device {
    /// Opens and claims what is there.
    ///
    /// # Errors
    /// When it is in use, of another kind, or the operating system refuses.
    pub fn open(path: &Path, access: Access) -> Result<Self, DeviceError> {
        let io = |source| DeviceError::Io { path: path.to_owned(), source };
        let kind = std::fs::metadata(path).map_err(io)?.file_type();
        let is_block = kind.is_block_device();
        if !is_block && !kind.is_file() {
            return Err(DeviceError::Kind { path: path.to_owned() });
        }
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::Write);
        let file = match open_direct(&mut options, path, if is_block { libc::O_EXCL } else { 0 }) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => return Err(DeviceError::InUse { path: path.to_owned() }),
            other => other.map_err(io)?,
        };
        Self::claim(file, path, is_block, access)
    }

    /// Makes a new file of `bytes` bytes with its space reserved, and claims it.
    ///
    /// # Errors
    /// When the file exists, the space is not there, or the operating system refuses. What was made is removed then.
    pub fn create(path: &Path, bytes: u64) -> Result<Self, DeviceError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = open_direct(&mut options, path, 0).map_err(|source| DeviceError::Io { path: path.to_owned(), source })?;
        let made = reserve(&file, path, bytes).and_then(|()| Self::claim(file, path, false, Access::Write));
        if made.is_err() {
            let _ = std::fs::remove_file(path);
        }
        made
    }

    fn claim(file: File, path: &Path, is_block: bool, access: Access) -> Result<Self, DeviceError> {
        let io = |source| DeviceError::Io { path: path.to_owned(), source };
        let locked = match access {
            // A block device is claimed by having been opened.
            _ if is_block => Ok(()),
            Access::Read => file.try_lock_shared(),
            Access::Write => file.try_lock(),
        };
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DeviceError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let bytes = if is_block { device_bytes(&file).map_err(|errno| io(errno.into()))? } else { file.metadata().map_err(io)?.len() };
        Ok(Self { file, path: path.to_owned(), is_block, bytes })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a block device.
    #[must_use]
    pub fn is_block(&self) -> bool {
        self.is_block
    }

    /// How long it is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes an empty file as long as it shall be, with its space reserved.
    ///
    /// # Errors
    /// When the space is not there.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), DeviceError> {
        reserve(&self.file, &self.path, bytes)?;
        self.bytes = bytes;
        Ok(())
    }

    /// Fills the first `length` bytes of `buffer` from `offset`. Both are whole blocks.
    ///
    /// # Errors
    /// When the device fails.
    pub fn read(&self, offset: u64, buffer: &mut AlignedBuffer, length: usize) -> std::io::Result<()> {
        debug_assert!(offset.is_multiple_of(BLOCK_BYTES as u64) && length.is_multiple_of(BLOCK_BYTES));
        self.file.read_exact_at(&mut buffer[..length], offset)
    }

    /// Writes a whole buffer at `offset`, and waits until the device has it.
    ///
    /// # Errors
    /// When the device fails.
    pub fn write(&self, offset: u64, buffer: &AlignedBuffer) -> Result<(), DeviceError> {
        self.write_without_sync(offset, buffer, buffer.len())?;
        self.sync()
    }

    /// Writes the first `length` bytes of a buffer at `offset`. Both are whole blocks. The device has them for certain after [`Device::sync`].
    ///
    /// # Errors
    /// When the device fails.
    pub fn write_without_sync(&self, offset: u64, buffer: &AlignedBuffer, length: usize) -> Result<(), DeviceError> {
        debug_assert!(offset.is_multiple_of(BLOCK_BYTES as u64) && length.is_multiple_of(BLOCK_BYTES));
        self.file.write_all_at(&buffer[..length], offset).map_err(|source| self.failed(source))
    }

    /// Waits until the device has what was written.
    ///
    /// # Errors
    /// When the device fails.
    pub fn sync(&self) -> Result<(), DeviceError> {
        self.file.sync_data().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> DeviceError {
        DeviceError::Io { path: self.path.clone(), source }
    }
}

/// Makes a file `bytes` long, with its space reserved where the filesystem can.
fn reserve(file: &File, path: &Path, bytes: u64) -> Result<(), DeviceError> {
    let io = |source| DeviceError::Io { path: path.to_owned(), source };
    // A filesystem may fill itself up entirely before it says that it cannot reserve so much.
    if crate::host::free_bytes_of(file).is_ok_and(|free| free < bytes) {
        return Err(io(ErrorKind::StorageFull.into()));
    }
    let length = i64::try_from(bytes).map_err(|_| io(ErrorKind::FileTooLarge.into()))?;
    // SAFETY: no pointers are passed.
    let result = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EOPNOTSUPP) {
            return Err(io(error));
        }
        tracing::warn!(path = %path.display(), "the filesystem cannot reserve space: a full disk will show at a write instead of before it");
        file.set_len(bytes).map_err(io)?;
    }
    file.sync_all().map_err(io)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(io)
}
