//! Whether a descriptor can be written to at once.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Whether a write of a page would not wait: of a pipe or socket that there is room, of a file always. One that is closed on the other side is writable: the write fails.
#[must_use]
pub fn is_writable(descriptor: BorrowedFd<'_>) -> bool {
    let mut waits = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one live entry.
    let ready = unsafe { libc::poll(&raw mut waits, 1, 0) };
    ready == 1
}
