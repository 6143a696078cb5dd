//! SIGTERM and SIGINT as events of core 0.
//!
//! A handler, not a blocked signal: it works whichever thread the kernel picks, also one that was started before, and child processes
//! inherit nothing.

use crate::errno::Errno;
use crate::event_counter::open_event_counter;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// Where the handler writes to; it has no other way to know.
static COUNTER: AtomicI32 = AtomicI32::new(-1);
/// The number of the last signal.
static LAST: AtomicI32 = AtomicI32::new(0);

/// A counter of signals.
#[derive(Debug)]
pub(crate) struct SignalSource {
    counter: OwnedFd,
}

impl SignalSource {
    /// Handles both signals from now on. The last source opened gets them.
    pub(crate) fn open() -> Result<Self, Errno> {
        let counter = open_event_counter()?;
        // The handler keeps its own descriptor for the life of the process, so that it never writes to a closed or reused one.
        let for_handler = counter.try_clone().map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))?;
        COUNTER.store(for_handler.into_raw_fd(), Ordering::Relaxed);
        for signal in [libc::SIGTERM, libc::SIGINT] {
            // SAFETY: all-zero is a valid sigaction.
            let mut action: libc::sigaction = unsafe { zeroed() };
            action.sa_sigaction = note_signal as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            // SAFETY: the action is valid, and its handler calls only what a handler may call.
            Errno::check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
        }
        Ok(Self { counter })
    }

    /// How many signals came since the last call, and the number of the last.
    pub(crate) fn take(&self) -> (u64, i32) {
        let mut count = 0u64;
        // SAFETY: reads the eight bytes of a live integer.
        let got = unsafe { libc::read(self.counter.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
        (if got == 8 { count } else { 0 }, LAST.load(Ordering::Relaxed))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.counter.as_raw_fd()
    }
}

/// The handler: may be called at any point of any thread, so it only stores and writes, and leaves errno as it was.
extern "C" fn note_signal(signal: libc::c_int) {
    LAST.store(signal, Ordering::Relaxed);
    let one = 1u64;
    // SAFETY: errno is this thread's; write reads the eight bytes of a live integer.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(COUNTER.load(Ordering::Relaxed), (&raw const one).cast(), size_of::<u64>());
        *libc::__errno_location() = errno;
    }
}

/// Ends the process at once, without destructors: for a second signal and for failures after which nothing may be written any more.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process; runs nothing of it.
    unsafe { libc::_exit(code) }
}
