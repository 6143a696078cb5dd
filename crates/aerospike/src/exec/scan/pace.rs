//! How fast a client wants records.

/// So often in a second records come.
const STEPS_PER_SECOND: u32 = 10;

/// To wait until then is to let other requests of the core be served: it is past.
pub(super) const NEXT_TURN_US: u64 = 0;

/// What has been given, and since when.
pub(super) struct Pace {
    per_second: u32,
    started_us: Option<u64>,
    now_us: u64,
    given: u64,
}

impl Pace {
    /// `per_second` is not 0.
    pub(super) fn new(per_second: u32) -> Self {
        Self { per_second, started_us: None, now_us: 0, given: 0 }
    }

    /// How many records may come at once.
    pub(super) fn records_max(&self) -> u32 {
        self.per_second.div_ceil(STEPS_PER_SECOND)
    }

    /// Records were given at this time.
    pub(super) fn given(&mut self, records: u32, now_us: u64) {
        self.started_us.get_or_insert(now_us);
        self.now_us = self.now_us.max(now_us);
        self.given += u64::from(records);
    }

    /// When the next may come; none when that is now.
    pub(super) fn waits_until_us(&self) -> Option<u64> {
        let due_us = self.started_us? + self.given.saturating_mul(1_000_000) / u64::from(self.per_second.max(1));
        (due_us > self.now_us).then_some(due_us)
    }
}
