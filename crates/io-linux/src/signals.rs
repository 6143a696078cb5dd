//! SIGTERM, SIGINT and SIGHUP (the terminal goes away): as events of core 0, or noted for a tool.
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
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// Where the handler writes to; it has no other way to know.
static COUNTER: AtomicI32 = AtomicI32::new(-1);
/// The number of the last signal.
static LAST: AtomicI32 = AtomicI32::new(0);
/// When the first came, on the monotonic clock in microseconds; 0: none has.
static FIRST_US: AtomicU64 = AtomicU64::new(0);
/// Whether one came that is not the same order as the first.
static ANOTHER_ORDER: AtomicBool = AtomicBool::new(false);
/// What a tool says when it is asked to end; empty before it watches.
static WORDS: OnceLock<&'static str> = OnceLock::new();
/// Whether a tool was asked to end.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Signals that come so soon after the first are the same order.
const SAME_ORDER_US: u64 = 1_000_000;

const SIGNALS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

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
        for signal in SIGNALS {
            // Who started this process with `nohup` wants it to outlive the terminal.
            if signal == libc::SIGHUP && is_ignored(signal)? {
                continue;
            }
            handle(signal, note_signal)?;
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

/// Sets a handler, which may call only what a handler may call (signal-safety(7)).
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> Result<(), Errno> {
    // SAFETY: all-zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is valid, and both handlers of this file call only what they may.
    Errno::check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
    Ok(())
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
    if is_another_order() {
        ANOTHER_ORDER.store(true, Ordering::Relaxed);
    }
    write_from_handler(COUNTER.load(Ordering::Relaxed), &1u64.to_ne_bytes());
}

/// Whether a signal that comes now is another order than the first one.
fn is_another_order() -> bool {
    // Reading a clock is one of the things that a handler may do (signal-safety(7)).
    let now_us = clock::read().monotonic_us.max(1);
    let first = FIRST_US.compare_exchange(0, now_us, Ordering::Relaxed, Ordering::Relaxed);
    first.is_err_and(|first_us| now_us.saturating_sub(first_us) >= SAME_ORDER_US)
}

/// Leaves errno as it was; what is not written is lost.
fn write_from_handler(descriptor: RawFd, bytes: &[u8]) {
    // SAFETY: errno is this thread's; write reads bytes that are there.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(descriptor, bytes.as_ptr().cast(), bytes.len());
        *libc::__errno_location() = errno;
    }
}

/// For tools: from now on the first signal is noted, and answered with a line of words; one that is another order ends the process. Signals that this
/// process is to ignore stay so: SIGHUP under `nohup`, SIGINT of what a script starts in the background.
pub fn note_interruptions(words: &'static str) -> std::io::Result<()> {
    WORDS.get_or_init(|| words);
    let all = SIGNALS.into_iter().try_for_each(|signal| if is_ignored(signal)? { Ok(()) } else { handle(signal, note_interruption) });
    all.map_err(|Errno(number)| std::io::Error::from_raw_os_error(number))
}

/// Whether a signal has come since.
pub fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Acquire)
}

/// The handler of tools: as bounded as the other one.
extern "C" fn note_interruption(signal: libc::c_int) {
    if is_another_order() {
        // As shells say it.
        exit_now(128 + signal);
    }
    if !IS_INTERRUPTED.swap(true, Ordering::AcqRel) {
        write_from_handler(libc::STDERR_FILENO, WORDS.get().map_or(&[][..], |words| words.as_bytes()));
    }
}

/// Ends the process at once, without destructors: for a second signal and for failures after which nothing may be written any more.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process; runs nothing of it.
    unsafe { libc::_exit(code) }
}
