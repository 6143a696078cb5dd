//! SIGTERM, SIGINT and SIGHUP (the terminal goes away) as events of core 0.
//!
//! The first asks the node to drain, one that comes later to end at once. What comes within [`SAME_ORDER_US`] of the first is the same order:
//! `timeout` sends its signal to the process and then to its group, and a terminal that goes away is told of by kernel and shell.
//!
//! A handler, not a blocked signal: it works whichever thread the kernel picks, also one that was started before, and child processes
//! inherit nothing.

use crate::clock;
use crate::errno::Errno;
use crate::event_counter::open_event_counter;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// Where the handler writes to; it has no other way to know.
static COUNTER: AtomicI32 = AtomicI32::new(-1);
/// The number of the last signal.
static LAST: AtomicI32 = AtomicI32::new(0);
/// When the first came, on the monotonic clock in microseconds; 0: none has.
static FIRST_US: AtomicU64 = AtomicU64::new(0);
/// Whether one came that is not the same order as the first.
static ANOTHER_ORDER: AtomicBool = AtomicBool::new(false);

/// Signals that come so soon after the first are the same order.
const SAME_ORDER_US: u64 = 1_000_000;

/// What has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The number of the last signal.
    pub(crate) number: i32,
    /// Whether one came after the time in which it is the same order as the first.
    pub(crate) is_another_order: bool,
}

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
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            // Who started this process with `nohup` wants it to outlive the terminal.
            if signal == libc::SIGHUP && is_ignored(signal)? {
                continue;
            }
            // SAFETY: all-zero is a valid sigaction.
            let mut action: libc::sigaction = unsafe { zeroed() };
            action.sa_sigaction = note_signal as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            // SAFETY: the action is valid, and its handler calls only what a handler may call.
            Errno::check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
        }
        Ok(Self { counter })
    }

    /// What has come; `None` if nothing did since the last call.
    pub(crate) fn take(&self) -> Option<Seen> {
        let mut count = 0u64;
        // SAFETY: reads the eight bytes of a live integer.
        let got = unsafe { libc::read(self.counter.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
        let seen = Seen { number: LAST.load(Ordering::Relaxed), is_another_order: ANOTHER_ORDER.load(Ordering::Relaxed) };
        (got == 8).then_some(seen)
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.counter.as_raw_fd()
    }
}

fn is_ignored(signal: libc::c_int) -> Result<bool, Errno> {
    // SAFETY: all-zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { zeroed() };
    // SAFETY: the action is valid for writing.
    Errno::check(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) })?;
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

/// The handler: may be called at any point of any thread, so it only stores and writes, and leaves errno as it was.
extern "C" fn note_signal(signal: libc::c_int) {
    LAST.store(signal, Ordering::Relaxed);
    // Reading a clock is one of the things that a handler may do (signal-safety(7)).
    let now_us = clock::read().monotonic_us.max(1);
    match FIRST_US.compare_exchange(0, now_us, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first_us) if now_us.saturating_sub(first_us) >= SAME_ORDER_US => ANOTHER_ORDER.store(true, Ordering::Relaxed),
        _ => {}
    }
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
