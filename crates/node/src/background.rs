//! When requests of background clients are served: readers of change feeds, which read as fast as they are answered, and whoever else says so at STARTUP.
//!
//! What they take of the core is a debt, and a third of the time that the core sleeps pays for it. Where other clients work and the debt is large, a [`Rest`] follows each request
//! until the core has slept three times as long as the request took, as after a slice of a backup or of a migration. So background clients, however many, get at most a quarter
//! of what others leave of the core that they are connected to. A feed that keeps up looks at all streams now and then, for about as much, and hardly waits. Where there are no
//! other clients nobody does.
//!
//! Invariant: a background client that waits is served in the end: a request that takes longer than a slice may, for it waits for the device or for another core, and a rest,
//! do not last for ever.

use crate::cluster::{Budget, Rest, Slice};
use io::ConnectionId;

/// By how much requests in the background may lengthen others: a slice takes a sixteenth of it.
const LATENCY_US: u64 = 4_000;
/// A request that takes longer does not work but waits: the next one does not wait for it.
const REQUEST_US_MAX: u64 = 1_000;

/// So much they may take at once: about what one look of a feed at all streams takes.
const DEBT_US_MAX: u64 = 10_000;
/// So many times as long as they have worked pays for it if the core sleeps.
const SLEEP_TIMES: u64 = 3;

/// The background clients of a core.
#[derive(Debug, Default)]
pub(crate) struct Background {
    rest: Rest,
    /// What they have taken and sleep has not paid for, and how long the core had slept then.
    debt_us: u64,
    slept_us: u64,
    /// The request that is being served.
    running: Option<Running>,
    /// Whether one waits for its turn.
    waits: bool,
}

#[derive(Debug)]
struct Running {
    connection: ConnectionId,
    begun_us: u64,
    slice: Slice,
    overdue_us: u64,
}

impl Background {
    /// Another client has sent work to this core.
    #[inline]
    pub(crate) fn client_came(&mut self) {
        self.rest.client_came();
    }

    /// Until when no request may begin, if there is such a time. The core has slept for `slept_us` in all.
    fn due_us(&self, slept_us: u64, now_us: u64) -> Option<u64> {
        match &self.running {
            Some(running) if self.rest.has_clients() => Some(running.overdue_us).filter(|overdue_us| now_us < *overdue_us),
            _ => self.rest.due_us(slept_us, now_us),
        }
    }

    /// Whether a connection that waits has to wait on.
    pub(crate) fn has_to_wait(&mut self, slept_us: u64, now_us: u64) -> bool {
        let waits = self.due_us(slept_us, now_us).is_some();
        self.waits |= waits;
        waits
    }

    /// Takes a request, if it may begin now. Else its connection waits, and is to ask again.
    pub(crate) fn begins(&mut self, connection: ConnectionId, slept_us: u64, now_us: u64) -> bool {
        if self.due_us(slept_us, now_us).is_none()
            && let Some(overtaken) = self.running.take()
        {
            let has_clients = self.rest.has_clients();
            self.charge(&overtaken, slept_us, now_us);
            if has_clients {
                self.rest.client_came();
            }
        }
        if self.due_us(slept_us, now_us).is_some() {
            self.waits = true;
            return false;
        }
        let slice = Slice::begin(Budget::new(LATENCY_US), now_us);
        self.running = Some(Running { connection, begun_us: now_us, slice, overdue_us: now_us + REQUEST_US_MAX });
        true
    }

    /// All that a connection has asked for is answered, or the connection is gone.
    pub(crate) fn ended(&mut self, connection: ConnectionId, slept_us: u64, now_us: u64) {
        if let Some(running) = self.running.take_if(|running| running.connection == connection) {
            self.charge(&running, slept_us, now_us);
        }
    }

    fn charge(&mut self, Running { begun_us, slice, .. }: &Running, slept_us: u64, now_us: u64) {
        let paid_us = (slept_us - self.slept_us) / SLEEP_TIMES;
        let worked_us = now_us.saturating_sub(*begun_us).min(REQUEST_US_MAX);
        // What was taken while nobody else was there is soon forgotten.
        self.debt_us = (self.debt_us.saturating_sub(paid_us) + worked_us).min(2 * DEBT_US_MAX);
        self.slept_us = slept_us;
        if self.debt_us > DEBT_US_MAX {
            self.rest.worked(slice, slept_us, now_us);
        }
    }

    /// Those that wait ask now: forgets that they do.
    pub(crate) fn ask_again(&mut self) {
        self.waits = false;
    }

    /// When one that waits is to ask again.
    pub(crate) fn ask_again_us(&self, slept_us: u64, now_us: u64) -> Option<u64> {
        self.waits.then(|| self.due_us(slept_us, now_us).unwrap_or(now_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(index: u32) -> ConnectionId {
        ConnectionId { index, generation: 0 }
    }

    #[test]
    fn without_other_clients_nobody_waits() {
        let mut background = Background::default();
        for round in 0..100 {
            assert!(background.begins(connection(0), 0, round) && background.begins(connection(1), 0, round));
            background.ended(connection(1), 0, round + 1);
        }
        assert_eq!(background.ask_again_us(0, 100), None);
    }

    /// Takes what may be taken at once.
    fn indebted(now_us: u64) -> Background {
        let mut background = Background::default();
        for request in 0..=DEBT_US_MAX / 100 {
            background.client_came();
            assert!(background.begins(connection(0), 0, now_us), "{request} requests are no debt to speak of");
            background.ended(connection(0), 0, now_us + 100);
        }
        background
    }

    #[test]
    fn the_core_sleeps_three_times_as_long_as_a_request_took() {
        let mut background = indebted(1_000);
        background.client_came();
        assert!(!background.begins(connection(0), 0, 1_100));
        assert_eq!(background.ask_again_us(0, 1_100), Some(1_400));
        background.ask_again();
        assert!(!background.begins(connection(1), 200, 1_900), "nor another one, and a busy core does not sleep");
        assert!(background.begins(connection(1), 300, 2_000));
        background.ended(connection(1), 300, 2_100);
        background.client_came();
        assert!(!background.begins(connection(1), 300, 2_100), "the rest has paid for one request");
    }

    #[test]
    fn sleep_pays_for_what_was_taken_before() {
        let mut background = indebted(1_000);
        let slept_us = SLEEP_TIMES * DEBT_US_MAX;
        for request in 0..DEBT_US_MAX / 100 {
            background.client_came();
            assert!(background.begins(connection(0), slept_us, 100_000), "{request}");
            background.ended(connection(0), slept_us, 100_100);
        }
    }

    #[test]
    fn one_runs_at_a_time_unless_it_waits_itself() {
        let mut background = Background::default();
        assert!(background.begins(connection(0), 0, 1_000));
        background.client_came();
        assert!(!background.begins(connection(1), 0, 1_999));
        assert_eq!(background.ask_again_us(0, 1_999), Some(2_000));
        assert!(background.begins(connection(1), 0, 2_000), "the first one waits for something");
        background.ended(connection(0), 0, 2_100);
        assert!(!background.begins(connection(2), 0, 2_100), "the second one runs");
        background.ended(connection(1), 0, 2_200);
        assert!(background.begins(connection(2), 0, 2_200));
    }

    #[test]
    fn requests_that_others_overtake_are_paid_for() {
        let (mut background, mut now_us, mut served) = (Background::default(), 0, 0);
        while now_us < 100 * REQUEST_US_MAX {
            background.client_came();
            // Each takes longer than the next one waits for it.
            served += u64::from(background.begins(connection(served as u32), 0, now_us));
            now_us += REQUEST_US_MAX;
        }
        assert!((DEBT_US_MAX / REQUEST_US_MAX..25).contains(&served), "on a core that never sleeps, beside others: {served}");
    }

    #[test]
    fn a_busy_core_lets_one_through_in_the_end() {
        let (mut background, mut served) = (indebted(0), 0);
        for now_us in 1_000..101_000 {
            background.client_came();
            if background.begins(connection(0), 0, now_us) {
                background.ended(connection(0), 0, now_us + 50);
                served += 1;
            }
        }
        assert!((90..=110).contains(&served), "a twentieth of a core that never sleeps, 50 us each: {served}");
    }
}
