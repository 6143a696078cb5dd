//! When requests are due in an open loop: all threads together at one fixed rate, each its own of every so many.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The times at which one thread's requests are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    start_ns: u64,
    rate: f64,
    next: u64,
    step: u64,
}

impl Schedule {
    /// Thread `thread` of `threads`, which together send `rate` requests a second from `start_ns` on.
    pub(crate) fn new(start_ns: u64, rate: f64, thread: u64, threads: u64) -> Self {
        Self { start_ns, rate, next: thread, step: threads }
    }

    /// When its next request is due. From the count of all before, so that roundings do not add up.
    pub(crate) fn due_ns(&self) -> u64 {
        self.start_ns + (self.next as f64 * 1e9 / self.rate) as u64
    }

    /// The next request was sent.
    pub(crate) fn advance(&mut self) {
        self.next += self.step;
    }

    /// How many are due before `end_ns` that were not sent.
    pub(crate) fn left_before(&self, end_ns: u64) -> u64 {
        let due = (end_ns.saturating_sub(self.start_ns) as f64 * self.rate / 1e9).ceil() as u64;
        due.saturating_sub(self.next).div_ceil(self.step)
    }
}

/// Wakes a poll up to the microsecond, which its own timeout, in whole milliseconds, cannot.
#[derive(Debug)]
pub(crate) struct Timer {
    fd: OwnedFd,
}

impl Timer {
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self { fd })
    }

    /// Wakes the poll once, in `ns` from now.
    pub(crate) fn set(&self, ns: u64) -> io::Result<()> {
        // Zero would switch it off.
        let ns = ns.max(1);
        let value = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_rate_evenly_and_nothing_drifts() {
        let mut threads = [Schedule::new(5, 1_000.0, 0, 2), Schedule::new(5, 1_000.0, 1, 2)];
        let mut due: Vec<u64> = threads
            .iter_mut()
            .flat_map(|schedule| {
                (0..50_000).map(|_| {
                    let due = schedule.due_ns();
                    schedule.advance();
                    due
                })
            })
            .collect();
        due.sort_unstable();
        assert!(due.iter().enumerate().all(|(request, due)| due - 5 == request as u64 * 1_000_000));
    }

    #[test]
    fn what_is_left_is_counted() {
        let mut schedule = Schedule::new(0, 100.0, 1, 2);
        assert_eq!(schedule.left_before(1_000_000_000), 50);
        (0..50).for_each(|_| schedule.advance());
        assert_eq!(schedule.left_before(1_000_000_000), 0);
    }
}
