//! What a process of this machine takes, from `/proc`; and waiting for its device to become quiet.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Readings of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessSample {
    /// CPU seconds, user and system, since it started.
    pub cpu_s: Option<f64>,
    /// Bytes resident now.
    pub memory: Option<u64>,
    /// The most bytes that were resident.
    pub memory_peak: Option<u64>,
    /// Bytes that it had a device read.
    pub device_read: Option<u64>,
    /// Bytes that it had a device write.
    pub device_written: Option<u64>,
}

/// The kernel's clock ticks a second, the same on all Linux machines that have `/proc` in the usual build.
const TICKS: f64 = 100.0;

/// Reads what there is to read: nothing of a process that is gone, no device figures of somebody else's process.
#[must_use]
pub fn process_sample(pid: u32) -> ProcessSample {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let (status, io, stat) = (read("status"), read("io"), read("stat"));
    let field = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
    };
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<f64> = stat.rsplit(')').next().unwrap_or("").split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // State, a letter, is not among them: user and system time are the 11th and 12th numbers.
    let cpu_s = fields.get(10).zip(fields.get(11)).map(|(user, system)| (user + system) / TICKS);
    ProcessSample {
        cpu_s,
        memory: field(&status, "VmRSS:").map(|kib| kib << 10),
        memory_peak: field(&status, "VmHWM:").map(|kib| kib << 10),
        device_read: field(&io, "read_bytes:"),
        device_written: field(&io, "write_bytes:"),
    }
}

/// Reads several; what none of them has is absent.
#[must_use]
pub fn sum_of_processes(pids: &[u32]) -> ProcessSample {
    fn both<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        }
    }
    pids.iter().map(|pid| process_sample(*pid)).fold(ProcessSample::default(), |sum, one| ProcessSample {
        cpu_s: both(sum.cpu_s, one.cpu_s),
        memory: both(sum.memory, one.memory),
        memory_peak: both(sum.memory_peak, one.memory_peak),
        device_read: both(sum.device_read, one.device_read),
        device_written: both(sum.device_written, one.device_written),
    })
}

/// Writes a second that are no background work worth waiting for.
const QUIET_BYTES: u64 = 1 << 20;
/// So many quiet seconds in a row are settled.
const QUIET_SECONDS: u32 = 5;

/// Waits until processes have written next to nothing for some seconds; how long it took until these began, `None` if they did not in time.
pub(super) fn wait_until_quiet(pids: &[u32], timeout_s: f64) -> Option<f64> {
    let started = Instant::now();
    let mut quiet = 0;
    let mut before = sum_of_processes(pids).device_written;
    while quiet < QUIET_SECONDS {
        if started.elapsed().as_secs_f64() > timeout_s {
            return None;
        }
        sleep(Duration::from_secs(1));
        let now = sum_of_processes(pids).device_written;
        let written = now.zip(before).map_or(0, |(now, before)| now.saturating_sub(before));
        quiet = if written < QUIET_BYTES { quiet + 1 } else { 0 };
        before = now;
    }
    Some((started.elapsed().as_secs_f64() - f64::from(QUIET_SECONDS)).max(0.0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_time_and_one_that_is_not_there_has_none() {
        let started = Instant::now();
        while process_sample(std::process::id()).cpu_s.unwrap() == 0.0 {
            assert!(started.elapsed() < Duration::from_secs(60), "a loop takes CPU time");
        }
        let sample = process_sample(std::process::id());
        assert!(sample.memory.unwrap() > 0 && sample.memory_peak.unwrap() >= sample.memory.unwrap());
        assert_eq!(process_sample(u32::MAX), ProcessSample::default());
        let sum = sum_of_processes(&[std::process::id(), u32::MAX, std::process::id()]);
        assert!(sum.memory_peak.unwrap() > sample.memory_peak.unwrap(), "twice as much");
        assert_eq!(sum_of_processes(&[]), ProcessSample::default());
    }
}
