//! Counters of the kernel whose increments wake a thread that watches them.

use crate::errno::Errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A counter whose every increment is an edge to a watcher.
pub(crate) fn open_event_counter() -> Result<OwnedFd, Errno> {
    // SAFETY: no pointers are passed.
    let counter = Errno::check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
    // SAFETY: the descriptor is new and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(counter) })
}

/// Makes an edge.
pub(crate) fn raise_event(counter: &OwnedFd) {
    let one = 1u64;
    // SAFETY: writes the eight bytes of a live integer.
    let written = unsafe { libc::write(counter.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    // The counter is watched edge-triggered and never read, and has room for 2^64.
    assert_eq!(written, 8, "an event counter takes every increment");
}
