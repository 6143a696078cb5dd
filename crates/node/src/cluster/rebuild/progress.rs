//! How the rebuild of a replica gets on, for operators.

use serde::{Deserialize, Serialize};

/// Rates are of at least so long.
const SAMPLE_US: u64 = 500_000;

/// From so many slots on, what they had is what those that follow have, on average.
const SLOTS_KNOWN: u64 = 16;

/// What a rebuild waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// Nothing: it goes on.
    #[default]
    No,
    /// The budget: clients are served first.
    Clients,
    /// The budget: the replica, or the network, is slow to acknowledge what it has been sent.
    Replica,
    /// Rows have to be read from the device.
    Device,
    /// The replica cannot keep up with the writes. It is tried again later.
    Slow,
    /// The replica has no room, on its device or in its index. It is tried again later.
    Full,
    /// The replica has not asked for it: it is away, or makes room first.
    Unasked,
}

impl Held {
    /// Those that are measured.
    pub const MEASURED: [Self; 3] = [Self::Clients, Self::Replica, Self::Device];

    /// As metrics call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Clients => "clients",
            Self::Replica => "replica",
            Self::Device => "device",
            Self::Slow => "slow",
            Self::Full => "full",
            Self::Unasked => "unasked",
        }
    }
}

/// What a core has to send to a member that is to have slots of its.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebuildReport {
    /// The member.
    pub node: u32,
    /// Slots that it does not have yet.
    pub slots: u32,
    /// About how many bytes have to be sent for them; not known where the member only lacks what has changed.
    pub left_bytes: u64,
    /// How many bytes it has acknowledged since this process knows it.
    pub sent_bytes: u64,
    /// The rate of that during the last second or so.
    pub bytes_per_s: u64,
    /// What it waited for most in that time.
    pub held: Held,
    /// How long it has waited in all, in microseconds: for clients, for the replica and for the device.
    pub held_us: [u64; 3],
}

/// Times by what was waited for, those of [`Held::No`] first.
type Times = [u64; 4];

/// Of one replica's core.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    held: Held,
    since_us: u64,
    held_us: Times,
    /// Slots of which everything was sent, and how many bytes that was.
    slots: u64,
    slot_bytes: u64,
    sampled_us: u64,
    sampled_bytes: u64,
    sampled_held: Times,
    /// Of late.
    bytes_per_s: u64,
    held_most: Held,
}

impl Progress {
    /// From now on it waits for this.
    pub(crate) fn is_held(&mut self, held: Held, now_us: u64) {
        if let Some(spent_us) = self.held_us.get_mut(self.held as usize).filter(|_| self.since_us > 0) {
            *spent_us += now_us.saturating_sub(self.since_us);
        }
        (self.held, self.since_us) = (held, now_us);
    }

    /// Bytes of a slot were sent.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.slot_bytes += bytes as u64;
    }

    /// All of a slot was sent.
    pub(crate) fn slot_ended(&mut self) {
        self.slots += 1;
    }

    /// What a slot has, on average, if that is known.
    pub(crate) fn bytes_a_slot(&self) -> Option<u64> {
        (self.slots >= SLOTS_KNOWN).then(|| self.slot_bytes / self.slots)
    }

    /// Looks at what has become of it since the last time; `done` bytes have been acknowledged by now.
    pub(crate) fn sample(&mut self, done: u64, now_us: u64) {
        self.is_held(self.held, now_us);
        let passed_us = now_us.saturating_sub(self.sampled_us);
        if passed_us < SAMPLE_US {
            return;
        }
        self.bytes_per_s = done.saturating_sub(self.sampled_bytes) * 1_000_000 / passed_us;
        let all = [Held::No, Held::Clients, Held::Replica, Held::Device];
        let spent = |held: &Held| self.held_us[*held as usize] - self.sampled_held[*held as usize];
        // Of equals the first.
        self.held_most = all.into_iter().rev().max_by_key(spent).unwrap_or_default();
        (self.sampled_us, self.sampled_bytes, self.sampled_held) = (now_us, done, self.held_us);
    }

    /// Adds what it is by now.
    pub(crate) fn add_to(&self, done: u64, report: &mut RebuildReport) {
        report.sent_bytes += done;
        report.bytes_per_s += self.bytes_per_s;
        report.held = report.held.max(self.held_most);
        for (sum, held) in report.held_us.iter_mut().zip(Held::MEASURED) {
            *sum += self.held_us[held as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_reasons_are_of_late() {
        let mut progress = Progress::default();
        progress.sample(0, 1_000_000);
        progress.is_held(Held::Clients, 1_100_000);
        progress.is_held(Held::No, 1_700_000);
        progress.sample(5_000, 2_000_000);
        let mut report = RebuildReport::default();
        progress.add_to(5_000, &mut report);
        assert_eq!((report.bytes_per_s, report.held, report.held_us), (5_000, Held::Clients, [600_000, 0, 0]));
        progress.sample(7_000, 4_000_000);
        let mut report = RebuildReport::default();
        progress.add_to(7_000, &mut report);
        assert_eq!((report.bytes_per_s, report.sent_bytes, report.held), (1_000, 7_000, Held::No));
    }

    #[test]
    fn what_slots_have_is_known_after_some_of_them() {
        let mut progress = Progress::default();
        for _ in 0..SLOTS_KNOWN {
            assert_eq!(progress.bytes_a_slot(), None);
            progress.sent(100);
            progress.slot_ended();
        }
        assert_eq!(progress.bytes_a_slot(), Some(100));
    }
}
