//! What a core knows of logged batches that may have been left unfinished.

use crate::cluster::PATIENCE_US;
use base::{Slot, TableId};
use cql::exec::LoggedBatch;
use engine::Sequence;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const LOOK_EVERY_US: u64 = 2_000_000;
/// The interval while batches of the former process are left that have not been run so often.
const LOOK_AT_START_EVERY_US: u64 = 20_000;
pub(super) const RUNS_AT_START: u32 = 25;
/// The age at which an entry counts as abandoned: longer than its coordinator waits for a part.
const ABANDONED_AFTER_US: u64 = 2 * PATIENCE_US;
/// How many entries are remembered, at most.
const KNOWN_MAX: usize = 1 << 16;

/// What a core knows of logged batches.
#[derive(Default)]
pub(crate) struct BatchLogs {
    pub(super) look_at_us: u64,
    /// The last scan has seen the writes up to this one, of this version of the cluster.
    pub(super) seen: (Sequence, u64),
    /// The last scan was incomplete.
    pub(super) look_again: bool,
    /// Slots that are still to be scanned, and scans that are in flight.
    pub(super) queue: VecDeque<(TableId, Slot)>,
    pub(super) looking: usize,
    pub(super) known: BTreeMap<LoggedBatch, Known>,
    pub(super) look: u64,
    /// The entries that this scan finds are orphans.
    pub(super) finds_orphans: bool,
}

pub(super) struct Known {
    since_us: u64,
    /// The last scan that has found it.
    look: u64,
    /// Its coordinator has surely died.
    is_orphan: bool,
    /// How often this member has run it again.
    runs: u32,
}

impl Known {
    /// Whether it is run again soon.
    fn is_urgent(&self) -> bool {
        self.is_orphan && self.runs < RUNS_AT_START
    }
}

impl BatchLogs {
    pub(super) fn begin_look(&mut self, now_us: u64, seen: (Sequence, u64), is_alone: bool) {
        self.finds_orphans = is_alone && self.look == 0;
        let is_urgent = self.finds_orphans || self.known.values().any(Known::is_urgent);
        self.look_at_us = now_us + if is_urgent { LOOK_AT_START_EVERY_US } else { LOOK_EVERY_US };
        self.seen = seen;
        self.look_again = false;
        self.look += 1;
    }

    /// Batches that their coordinators left unfinished and that are not finished yet.
    pub(crate) fn unfinished(&self) -> u64 {
        self.known.values().filter(|known| known.is_orphan || known.runs > 0).count() as u64
    }

    /// Batches that are run again now.
    pub(super) fn due(&self, now_us: u64) -> BTreeSet<LoggedBatch> {
        let is_due = |known: &Known| known.is_urgent() || known.since_us + ABANDONED_AFTER_US <= now_us;
        self.known.iter().filter(|(_, known)| is_due(known)).map(|(batch, _)| *batch).collect()
    }

    pub(super) fn note(&mut self, batch: LoggedBatch, now_us: u64) {
        let look = self.look;
        if let Some(known) = self.known.get_mut(&batch) {
            known.look = look;
        } else if self.known.len() < KNOWN_MAX {
            self.known.insert(batch, Known { since_us: now_us, look, is_orphan: self.finds_orphans, runs: 0 });
        }
    }

    /// A batch runs again. Returns how often it has so far.
    pub(super) fn ran(&mut self, batch: &LoggedBatch, now_us: u64) -> u32 {
        let Some(known) = self.known.get_mut(batch) else { return 0 };
        (known.since_us, known.runs) = (now_us, known.runs + 1);
        known.runs
    }

    /// Forgets batches that the complete scan has not found: they are finished.
    pub(super) fn forget_ended(&mut self) {
        let look = self.look;
        if !self.look_again {
            self.known.retain(|_, known| known.look == look);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_finished_is_tried_less_often_until_it_can() {
        let batch = LoggedBatch { started_us: 1, nonce: 2, timestamp_us: 3 };
        let mut logs = BatchLogs::default();
        for run in 0..RUNS_AT_START {
            let now_us = u64::from(run) * LOOK_AT_START_EVERY_US;
            logs.begin_look(now_us, (Sequence(0), 0), true);
            logs.note(batch, now_us);
            assert_eq!(logs.look_at_us, now_us + LOOK_AT_START_EVERY_US);
            assert_eq!(logs.due(now_us), BTreeSet::from([batch]), "run {run}");
            logs.ran(&batch, now_us);
        }
        let last_us = u64::from(RUNS_AT_START - 1) * LOOK_AT_START_EVERY_US;
        logs.begin_look(last_us, (Sequence(0), 0), true);
        logs.note(batch, last_us);
        assert_eq!(logs.look_at_us, last_us + LOOK_EVERY_US);
        assert_eq!(logs.due(last_us + ABANDONED_AFTER_US - 1), BTreeSet::new());
        assert_eq!(logs.due(last_us + ABANDONED_AFTER_US), BTreeSet::from([batch]));
        assert_eq!(logs.unfinished(), 1);
        logs.begin_look(last_us, (Sequence(0), 0), true);
        logs.forget_ended();
        assert_eq!(logs.unfinished(), 0);
    }

    #[test]
    fn a_batch_under_way_is_not_taken_for_an_unfinished_one() {
        let batch = LoggedBatch { started_us: 1, nonce: 2, timestamp_us: 3 };
        let mut logs = BatchLogs::default();
        logs.begin_look(0, (Sequence(0), 0), false);
        logs.note(batch, 0);
        assert_eq!((logs.due(ABANDONED_AFTER_US - 1), logs.unfinished()), (BTreeSet::new(), 0));
        assert_eq!(logs.due(ABANDONED_AFTER_US), BTreeSet::from([batch]));
        assert_eq!(logs.ran(&batch, ABANDONED_AFTER_US), 1);
        assert_eq!(logs.unfinished(), 1);
    }
}
