//! Waiting until processes are quiet, unless the run is to end first.

use super::process::wait_until_quiet;
use super::{LOOK_EVERY, SystemError};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};

/// Waits until processes have written next to nothing for some seconds; how long it took until these began, `None` if they did not in time.
///
/// # Errors
/// When the run is to end. The thread that waits is left to itself then: it only reads `/proc`, and ends with the process.
pub(super) fn quiet_unless_stopped(pids: Vec<u32>, timeout_s: f64, stop: &AtomicBool) -> Result<Option<f64>, SystemError> {
    let (sender, quiet) = channel();
    // Nobody hears it once this has returned.
    std::thread::spawn(move || sender.send(wait_until_quiet(&pids, timeout_s)));
    loop {
        match quiet.recv_timeout(LOOK_EVERY) {
            Ok(seconds) => return Ok(seconds),
            Err(RecvTimeoutError::Timeout) if !stop.load(Relaxed) => {}
            Err(_) => return Err(SystemError::Interrupted),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_quiet_once_the_run_is_to_end() {
        let stop = AtomicBool::new(true);
        assert!(matches!(quiet_unless_stopped(vec![std::process::id()], 3600.0, &stop), Err(SystemError::Interrupted)));
        stop.store(false, Relaxed);
        assert_eq!(quiet_unless_stopped(vec![std::process::id()], -1.0, &stop).unwrap(), None, "no time was given");
    }
}
