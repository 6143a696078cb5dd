//! What this machine lets a process do: tried, for `tarndb doctor`.

use crate::disk_ring::DiskRing;
use std::fs::OpenOptions;
use std::io::Error;
use std::mem::zeroed;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How a clock is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockState {
    /// Whether something keeps it by others'.
    pub is_synchronized: bool,
    /// How wrong it may be, in microseconds, as whoever keeps it says.
    pub error_us: u64,
}

/// Why there is no io_uring for this process; none if there is.
#[must_use]
pub fn io_uring_refusal() -> Option<Error> {
    DiskRing::open(8).err()
}

/// Whether the filesystem of a directory has direct I/O: a file without a name is opened for it, which leaves nothing.
///
/// # Errors
/// When no file can be made there at all.
pub fn has_direct_io(directory: &Path) -> std::io::Result<bool> {
    let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE | flags).open(directory);
    open(0)?;
    match open(libc::O_DIRECT) {
        Ok(_) => Ok(true),
        Err(refusal) if refusal.raw_os_error() == Some(libc::EINVAL) => Ok(false),
        Err(refusal) => Err(refusal),
    }
}

/// How the machine's clock is kept; none if the kernel does not say.
#[must_use]
pub fn clock_state() -> Option<ClockState> {
    // SAFETY: all fields are numbers, and with no modes the kernel only writes.
    let mut timex: libc::timex = unsafe { zeroed() };
    // SAFETY: the structure is valid for writing.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    let is_synchronized = state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0;
    (state >= 0).then(|| ClockState { is_synchronized, error_us: u64::try_from(timex.maxerror).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_has_nothing() {
        assert!(has_direct_io(Path::new("/no/such/directory")).is_err());
    }

    #[test]
    fn what_is_tried_leaves_nothing_behind() {
        let directory = std::env::temp_dir().join(format!("tarndb-probe-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("a directory");
        assert!(has_direct_io(&directory).is_ok());
        assert_eq!(std::fs::read_dir(&directory).expect("the directory").count(), 0);
        std::fs::remove_dir(&directory).expect("it is empty");
    }
}
