//! What a service manager is told, by systemd's protocol: that the node serves clients, and then, where it keeps a watchdog, that all cores live.
//!
//! Without `NOTIFY_SOCKET` nobody is told anything.

use ::node::Board;
use sd_notify::NotifyState;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The node serves clients from now on.
pub(crate) fn ready(board: Arc<Board>) {
    tell(&[NotifyState::Ready, NotifyState::Status("serving clients")]);
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    let watch = move || {
        // Half of the patience may pass without a report: there is still time for the next look.
        let mut pulse = Pulse::new(patience / 2);
        loop {
            match pulse.silent_core(&board.reports(), Instant::now()) {
                None => tell(&[NotifyState::Watchdog]),
                Some(core) => tracing::error!(
                    core,
                    patience_s = patience.as_secs(),
                    "a core does not report: the watchdog is not told that this node lives"
                ),
            }
            thread::sleep(patience / 4);
        }
    };
    if let Err(error) = thread::Builder::new().name("tarndb-watchdog".to_owned()).spawn(watch) {
        tracing::error!(%error, "no thread for the service manager's watchdog: it will end this node");
    }
}

/// The node does this before it serves clients, and will tell more within `patience`.
pub(crate) fn starting(what: &str, patience: Duration) {
    let patience_us = u32::try_from(patience.as_micros()).unwrap_or(u32::MAX);
    tell(&[NotifyState::Status(what), NotifyState::ExtendTimeoutUsec(patience_us)]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager at NOTIFY_SOCKET cannot be told");
    }
}

/// When each core was last heard of.
struct Pulse {
    patience: Duration,
    cores: Vec<(u64, Instant)>,
}

impl Pulse {
    fn new(patience: Duration) -> Self {
        Self { patience, cores: Vec::new() }
    }

    /// The first core whose count of reports has not moved for too long.
    fn silent_core(&mut self, reports: &[u64], now: Instant) -> Option<usize> {
        self.cores.resize(reports.len(), (0, now));
        for (known, count) in self.cores.iter_mut().zip(reports) {
            if known.0 != *count {
                *known = (*count, now);
            }
        }
        self.cores.iter().position(|(_, heard)| now.duration_since(*heard) > self.patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_silent_when_its_reports_stop_and_lives_again_when_they_go_on() {
        let (start, patience) = (Instant::now(), Duration::from_secs(10));
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut pulse = Pulse::new(patience);
        assert_eq!(pulse.silent_core(&[1, 1], at(0)), None);
        assert_eq!(pulse.silent_core(&[9, 1], at(10)), None, "not longer than is allowed");
        assert_eq!(pulse.silent_core(&[10, 1], at(11)), Some(1));
        assert_eq!(pulse.silent_core(&[10, 2], at(12)), None);
        assert_eq!(pulse.silent_core(&[10, 3], at(22)), Some(0));
    }
}
