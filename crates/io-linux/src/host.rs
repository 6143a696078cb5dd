//! What the machine (or the container) has: memory and disk space.

use crate::control_groups;
use std::fs::{self, File};
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The type of file systems in memory that grow without a bound.
const RAMFS_MAGIC: libc::c_long = 0x8584_58f6;

/// Memory that a process may use, in bytes, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The machine has so much.
    OfMachine(u64),
    /// The limit of a control group of this process, which is below what the machine has.
    OfControlGroup(u64),
}

impl Memory {
    /// How much.
    #[must_use]
    pub fn bytes(self) -> u64 {
        let (Self::OfMachine(bytes) | Self::OfControlGroup(bytes)) = self;
        bytes
    }
}

/// The memory this process may use: the smallest of the machine's and the limits of its control groups.
#[must_use]
pub fn memory() -> Memory {
    // SAFETY: sysconf takes no pointers.
    let (pages, page_bytes) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let machine = u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page_bytes).unwrap_or(0));
    match control_groups::memory_bytes_max() {
        Some(group) if group < machine => Memory::OfControlGroup(group),
        _ => Memory::OfMachine(machine),
    }
}

/// How much memory this process may use, in bytes: see [`memory`].
#[must_use]
pub fn memory_bytes() -> u64 {
    memory().bytes()
}

/// What the kernel calls its start: what processes have left in its memory is there until it has another one. 0 if it does not say.
#[must_use]
pub fn boot_id() -> u128 {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&text.trim().replace('-', ""), 16).unwrap_or(0)
}

/// The bytes a new file may take on the filesystem that holds `path`.
///
/// # Errors
/// When the operating system cannot tell, for instance because the path does not exist.
pub fn free_bytes(path: &Path) -> std::io::Result<u64> {
    free_bytes_of(&File::open(path)?)
}

/// The bytes that files may still take on the filesystem of an open file.
pub(crate) fn free_bytes_of(file: &File) -> std::io::Result<u64> {
    // SAFETY: all-zero is a valid statvfs.
    let mut status: libc::statvfs = unsafe { zeroed() };
    // SAFETY: the descriptor is open and the status valid for writing.
    if unsafe { libc::fstatvfs(file.as_raw_fd(), &raw mut status) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}

/// Whether the files of a directory are in memory, and gone after the next boot.
///
/// # Errors
/// As [`free_bytes`].
pub fn is_in_memory(path: &Path) -> std::io::Result<bool> {
    let directory = File::open(path)?;
    // SAFETY: all-zero is a valid statfs.
    let mut status: libc::statfs = unsafe { zeroed() };
    // SAFETY: the descriptor is open and the status valid for writing.
    if unsafe { libc::fstatfs(directory.as_raw_fd(), &raw mut status) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(status.f_type == libc::TMPFS_MAGIC || status.f_type == RAMFS_MAGIC)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_memory_and_the_root_has_a_filesystem() {
        assert!(memory().bytes() > 1 << 20);
        assert!(boot_id() != 0 && boot_id() == boot_id());
        free_bytes(Path::new("/")).unwrap();
        assert!(free_bytes(Path::new("/does/not/exist")).is_err());
        assert!(!is_in_memory(Path::new("/proc")).unwrap() && is_in_memory(Path::new("/does/not/exist")).is_err());
    }
}
