//! What a target takes: of processes of this machine, from `/proc`; and waiting for their device to become quiet.

use io_linux::{ProcessFigures, network_namespace, process_figures};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Readings of a process, or of several.
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
    /// Bytes that came into its network namespace: all traffic there, loopback included.
    pub network_received: Option<u64>,
    /// Bytes that were sent from there.
    pub network_sent: Option<u64>,
}

impl ProcessSample {
    /// Both together; what neither has is absent.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn both<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            }
        }
        Self {
            cpu_s: both(self.cpu_s, other.cpu_s),
            memory: both(self.memory, other.memory),
            memory_peak: both(self.memory_peak, other.memory_peak),
            device_read: both(self.device_read, other.device_read),
            device_written: both(self.device_written, other.device_written),
            network_received: both(self.network_received, other.network_received),
            network_sent: both(self.network_sent, other.network_sent),
        }
    }
}

/// Reads what there is to read of a process.
#[must_use]
pub fn process_sample(pid: u32) -> ProcessSample {
    let ProcessFigures {
        cpu_s,
        memory_bytes,
        memory_peak_bytes,
        device_read_bytes,
        device_written_bytes,
        network_received_bytes,
        network_sent_bytes,
    } = process_figures(pid);
    ProcessSample {
        cpu_s,
        memory: memory_bytes,
        memory_peak: memory_peak_bytes,
        device_read: device_read_bytes,
        device_written: device_written_bytes,
        network_received: network_received_bytes,
        network_sent: network_sent_bytes,
    }
}

/// Reads several; what none of them has is absent. The traffic of a network namespace counts once, however many of them are in it.
#[must_use]
pub fn sum_of_processes(pids: &[u32]) -> ProcessSample {
    let mut namespaces = Vec::new();
    let samples = pids.iter().map(|pid| {
        let namespace = network_namespace(*pid);
        let mut sample = process_sample(*pid);
        if namespace.is_none() || namespaces.contains(&namespace) {
            (sample.network_received, sample.network_sent) = (None, None);
        }
        namespaces.push(namespace);
        sample
    });
    samples.fold(ProcessSample::default(), ProcessSample::plus)
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
    fn memory_of_processes_is_summed_and_a_network_namespace_counts_once() {
        let me = std::process::id();
        let before = process_sample(me);
        let sum = sum_of_processes(&[me, u32::MAX, me]);
        assert!(sum.memory_peak.unwrap() > before.memory_peak.unwrap(), "twice as much");
        // Others may send meanwhile: twice as much would be far more than that.
        let after = process_sample(me);
        assert!((before.network_sent..=after.network_sent).contains(&sum.network_sent), "{before:?} {sum:?} {after:?}");
        assert_eq!(process_sample(u32::MAX), ProcessSample::default());
        assert_eq!(sum_of_processes(&[]), ProcessSample::default());
    }
}
