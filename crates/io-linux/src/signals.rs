//! SIGTERM and SIGINT as events of core 0.
//!
//! Both are blocked in every thread before the cores start, so that only the descriptor sees them.

use crate::errno::Errno;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A descriptor from which pending signals are read.
#[derive(Debug)]
pub(crate) struct SignalSource {
    descriptor: OwnedFd,
}

impl SignalSource {
    /// Blocks both signals in this thread and all threads that it starts from now on.
    pub(crate) fn open() -> Result<Self, Errno> {
        // SAFETY: all-zero is a valid sigset_t, and the calls below only change it.
        let mut set: libc::sigset_t = unsafe { zeroed() };
        // SAFETY: the set is valid; the numbers are of existing signals.
        unsafe {
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigaddset(&raw mut set, libc::SIGINT);
        }
        // SAFETY: the set is valid and the old mask is not asked for.
        let result = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if result != 0 {
            return Err(Errno(result));
        }
        // SAFETY: the set is valid.
        let descriptor = Errno::check(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) })?;
        // SAFETY: the descriptor is new and owned by nobody else.
        Ok(Self { descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) } })
    }

    /// The number of the next pending signal.
    pub(crate) fn next(&self) -> Option<i32> {
        // SAFETY: all-zero is a valid signalfd_siginfo.
        let mut info: libc::signalfd_siginfo = unsafe { zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the record is valid for writing `size` bytes.
        let got = unsafe { libc::read(self.descriptor.as_raw_fd(), (&raw mut info).cast(), size) };
        (got == size as isize).then_some(info.ssi_signo as i32)
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

/// Ends the process at once, without destructors: for a second signal and for failures after which nothing may be written any more.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process; runs nothing of it.
    unsafe { libc::_exit(code) }
}
