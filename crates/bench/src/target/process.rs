//! What a target takes: of processes of this machine, from `/proc`; and waiting for their device to become quiet.

use super::command::{LOOK_EVERY, unless_stopped};
use super::system::SystemError;
use io_linux::{ProcessFigures, network_namespace, process_figures};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Reads several; what none of them has is absent. The traffic of a network namespace counts once, however many of them are in it.
#[must_use]
pub fn sum_of_processes(pids: &[u32]) -> ProcessFigures {
    let mut namespaces = Vec::new();
    let samples = pids.iter().map(|pid| {
        let namespace = network_namespace(*pid);
        let mut sample = process_figures(*pid);
        if namespace.is_none() || namespaces.contains(&namespace) {
            (sample.network_received, sample.network_sent) = (None, None);
        }
        namespaces.push(namespace);
        sample
    });
    samples.fold(ProcessFigures::default(), ProcessFigures::plus)
}

/// Writes a second that are no background work worth waiting for.
const QUIET_BYTES: u64 = 1 << 20;
/// So many quiet seconds in a row are settled.
const QUIET_SECONDS: u32 = 5;

/// Waits until processes have written next to nothing for some seconds; how long it took until these began, `None` if they did not in time.
///
/// # Errors
/// When the run is to end.
pub(super) fn wait_until_quiet(pids: &[u32], timeout_s: f64, stop: &AtomicBool) -> Result<Option<f64>, SystemError> {
    let started = Instant::now();
    let mut quiet = 0;
    let mut before = sum_of_processes(pids).device_written;
    while quiet < QUIET_SECONDS {
        if started.elapsed().as_secs_f64() > timeout_s {
            return Ok(None);
        }
        let second = Instant::now();
        while second.elapsed() < Duration::from_secs(1) {
            unless_stopped(stop)?;
            sleep(LOOK_EVERY);
        }
        let now = sum_of_processes(pids).device_written;
        let written = now.zip(before).map_or(0, |(now, before)| now.saturating_sub(before));
        quiet = if written < QUIET_BYTES { quiet + 1 } else { 0 };
        before = now;
    }
    Ok(Some((started.elapsed().as_secs_f64() - f64::from(QUIET_SECONDS)).max(0.0)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_processes_is_summed_and_a_network_namespace_counts_once() {
        let me = std::process::id();
        let before = process_figures(me);
        let sum = sum_of_processes(&[me, u32::MAX, me]);
        assert!(sum.memory_peak.unwrap() > before.memory_peak.unwrap(), "twice as much");
        // Others may send meanwhile: twice as much would be far more than that.
        let after = process_figures(me);
        assert!((before.network_sent..=after.network_sent).contains(&sum.network_sent), "{before:?} {sum:?} {after:?}");
        assert_eq!(process_figures(u32::MAX), ProcessFigures::default());
        assert_eq!(sum_of_processes(&[]), ProcessFigures::default());
    }

    #[test]
    fn nobody_waits_for_quiet_once_the_run_is_to_end() {
        let stop = AtomicBool::new(true);
        assert!(matches!(wait_until_quiet(&[std::process::id()], 3600.0, &stop), Err(SystemError::Interrupted)));
        let stop = AtomicBool::new(false);
        assert_eq!(wait_until_quiet(&[std::process::id()], -1.0, &stop).unwrap(), None, "no time was given");
    }
}
