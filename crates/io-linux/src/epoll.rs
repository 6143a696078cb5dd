//! The one wait of a core: readiness of its sockets, its io_uring, its timer and its wake-up.
//!
//! A finite timeout is not given to the wait itself but to a timer that stays armed over many waits: arming a timer for every sleep
//! would reprogram the hardware's each time, which costs a virtual machine more than a request does.

use crate::errno::Errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// How many events one wait may return: the batch after which replies are sent at the latest.
const EVENTS_MAX: usize = 128;

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    Poll,
    /// Until an event, or until the timer fires.
    Sleep,
}

/// An epoll instance and the buffer of its events.
pub(crate) struct Epoll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Epoll {
    pub(crate) fn new() -> Result<Self, Errno> {
        // SAFETY: no pointers are passed.
        let epoll = Errno::check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the descriptor is new and owned by nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        Ok(Self { epoll, events: Vec::with_capacity(EVENTS_MAX) })
    }

    /// Watches a descriptor; events carry `token`. Closing the descriptor ends it.
    pub(crate) fn add(&self, descriptor: RawFd, interest: libc::c_int, token: u64) -> Result<(), Errno> {
        let mut event = libc::epoll_event { events: interest as u32, u64: token };
        // SAFETY: `event` is valid for the call.
        Errno::check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &raw mut event) })?;
        Ok(())
    }

    /// Stops watching a descriptor that stays open.
    pub(crate) fn remove(&self, descriptor: RawFd) -> Result<(), Errno> {
        // SAFETY: removal takes no event.
        Errno::check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_DEL, descriptor, std::ptr::null_mut()) })?;
        Ok(())
    }

    /// Waits; returns the number of events, to be had by [`Epoll::event`].
    pub(crate) fn wait(&mut self, wait: Wait) -> Result<usize, Errno> {
        let timeout = match wait {
            Wait::Poll => 0,
            Wait::Sleep => -1,
        };
        self.events.clear();
        // SAFETY: the buffer has room for EVENTS_MAX events.
        let result = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), self.events.as_mut_ptr(), EVENTS_MAX as libc::c_int, timeout) };
        let count = match Errno::check(result) {
            Ok(count) => count as usize,
            Err(Errno(libc::EINTR)) => 0,
            Err(errno) => return Err(errno),
        };
        // SAFETY: the kernel wrote the first `count` events.
        unsafe { self.events.set_len(count) };
        Ok(count)
    }

    /// The readiness bits and the token of an event of the last wait.
    pub(crate) fn event(&self, index: usize) -> (u32, u64) {
        let event = self.events[index];
        (event.events, event.u64)
    }
}

/// A timer that makes an [`Epoll`] return at a monotonic time.
///
/// Edge-triggered, so that its expirations need not be read: arming it again makes the next edge.
pub(crate) struct Timer {
    timer: OwnedFd,
    armed_us: Option<u64>,
}

impl Timer {
    pub(crate) fn new() -> Result<Self, Errno> {
        // SAFETY: no pointers are passed.
        let timer = Errno::check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) })?;
        // SAFETY: the descriptor is new and owned by nobody else.
        Ok(Self { timer: unsafe { OwnedFd::from_raw_fd(timer) }, armed_us: None })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.timer.as_raw_fd()
    }

    /// Makes sure that the wait returns at `deadline_us` at the latest; it may return earlier.
    pub(crate) fn arm(&mut self, deadline_us: u64) -> Result<(), Errno> {
        if self.armed_us.is_some_and(|armed| armed <= deadline_us) {
            return Ok(());
        }
        let time = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec {
                tv_sec: i64::try_from(deadline_us / 1_000_000).unwrap_or(i64::MAX),
                // One nanosecond more than nothing: a zero time would disarm.
                tv_nsec: ((deadline_us % 1_000_000) * 1_000) as i64 | 1,
            },
        };
        // SAFETY: `time` is valid for the call and the old value is not asked for.
        Errno::check(unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &raw const time, std::ptr::null_mut())
        })?;
        self.armed_us = Some(deadline_us);
        Ok(())
    }

    /// The timer fired.
    pub(crate) fn fired(&mut self) {
        self.armed_us = None;
    }
}
