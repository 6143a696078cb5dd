//! How many records a backup's scan reads at once where clients read, too.
//!
//! What clients read waits behind a scan's reads in the device's queue, and a core is busy with records that come. So a **batch** of reads is as large as takes the device a quarter
//! of the budget of latency, and what it took counts as work of the core: a [`Rest`](crate::cluster::Rest) follows. A device that is fast gets large batches, one that is busy small ones.
//!
//! Invariant: a batch has some records. So a scan ends.

use crate::cluster::Budget;

/// Records of a batch at least.
const RECORDS_MIN: usize = 4;

/// And at most. Those that come together are taken in one turn of the core.
const RECORDS_MAX: usize = 128;
const RECORDS_MAX_BESIDE_CLIENTS: usize = 32;

/// A batch counts for so much at most: a process that was not run for a while has not waited for the device.
const BATCH_US_MAX: u64 = 20_000;

/// The batches of one scan.
#[derive(Debug)]
pub(crate) struct ReadPace {
    records: usize,
    /// When the present batch was asked for.
    asked_us: Option<u64>,
}

impl Default for ReadPace {
    fn default() -> Self {
        Self { records: RECORDS_MIN, asked_us: None }
    }
}

impl ReadPace {
    /// How many records may be read at once.
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    /// The scan waits for the device.
    pub(crate) fn asked(&mut self, now_us: u64) {
        self.asked_us = Some(now_us);
    }

    /// It has what it waited for. Returns how long that took.
    pub(crate) fn came(&mut self, has_clients: bool, budget: Budget, now_us: u64) -> u64 {
        let Some(asked_us) = self.asked_us.take() else { return 0 };
        let took_us = now_us.saturating_sub(asked_us);
        if !has_clients || took_us < budget.queue_us() / 2 {
            self.records *= 2;
        } else if took_us > budget.queue_us() {
            self.records /= 2;
        }
        let records_max = if has_clients { RECORDS_MAX_BESIDE_CLIENTS } else { RECORDS_MAX };
        self.records = self.records.clamp(RECORDS_MIN, records_max);
        took_us.min(BATCH_US_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size that batches come to on a device that takes `record_us` for a record and `base_us` for a batch.
    fn records(base_us: u64, record_us: u64, has_clients: bool) -> usize {
        let (mut pace, mut now_us) = (ReadPace::default(), 1_000);
        for _ in 0..100 {
            pace.asked(now_us);
            let took_us = base_us + record_us * pace.records() as u64;
            now_us += took_us;
            assert_eq!(pace.came(has_clients, Budget::new(4_000), now_us), took_us.min(BATCH_US_MAX));
        }
        pace.records()
    }

    #[test]
    fn a_batch_takes_a_quarter_of_the_budget() {
        assert_eq!(records(80, 40, true), 16);
        assert_eq!(records(80, 1, true), RECORDS_MAX_BESIDE_CLIENTS, "a fast device");
        assert_eq!(records(50_000, 500, true), RECORDS_MIN, "a busy one");
        assert_eq!(records(50_000, 500, false), RECORDS_MAX, "nobody waits for it");
    }

    #[test]
    fn the_first_client_makes_batches_small() {
        let mut pace = ReadPace { records: RECORDS_MAX, asked_us: Some(0) };
        pace.came(true, Budget::new(4_000), 700);
        assert_eq!(pace.records(), RECORDS_MAX_BESIDE_CLIENTS);
    }

    #[test]
    fn what_nobody_has_asked_for_takes_no_time() {
        assert_eq!(ReadPace::default().came(true, Budget::new(4_000), 9), 0);
    }
}
