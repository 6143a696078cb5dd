//! Both clocks, read through the vdso: once for each batch of events, and the monotonic one again whenever something arrives within it.

use io::Now;

/// Reads both clocks.
pub(crate) fn read() -> Now {
    let (monotonic_s, monotonic_ns) = read_clock(libc::CLOCK_MONOTONIC);
    let (wall_s, wall_ns) = read_clock(libc::CLOCK_REALTIME);
    Now { monotonic_us: (monotonic_s as u64) * 1_000_000 + (monotonic_ns as u64) / 1_000, wall_us: wall_s * 1_000_000 + wall_ns / 1_000 }
}

/// The time after `before`: reads the monotonic clock only, and lets the wall clock follow.
///
/// A process may be stopped at any point of its batch. Whoever judges by the time whether it may still answer a request needs one that is not
/// older than the request.
pub(crate) fn read_again(before: Now) -> Now {
    let (seconds, ns) = read_clock(libc::CLOCK_MONOTONIC);
    let monotonic_us = ((seconds as u64) * 1_000_000 + (ns as u64) / 1_000).max(before.monotonic_us);
    Now { monotonic_us, wall_us: before.wall_us + (monotonic_us - before.monotonic_us) as i64 }
}

fn read_clock(clock: libc::clockid_t) -> (i64, i64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(result, 0, "both clocks exist on every Linux");
    (time.tv_sec, time.tv_nsec)
}

#[cfg(test)]
mod tests {
    #[test]
    fn monotonic_time_never_goes_back_and_wall_time_is_after_2020() {
        let first = super::read();
        let second = super::read();
        assert!(second.monotonic_us >= first.monotonic_us);
        assert!(first.wall_us > 1_577_836_800_000_000);
        let third = super::read_again(second);
        assert_eq!(third.wall_us - second.wall_us, (third.monotonic_us - second.monotonic_us) as i64);
    }
}
