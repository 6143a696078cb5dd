//! Time as a value, read once for each batch of events.

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Microseconds since an arbitrary start; never goes back. For timeouts, pacing and latency.
    pub monotonic_us: u64,
    /// Microseconds since 1970-01-01 UTC; may jump. For write timestamps and expiry only.
    pub wall_us: i64,
}

impl Now {
    /// Whole seconds since 1970-01-01 UTC.
    #[must_use]
    pub fn wall_s(self) -> i64 {
        self.wall_us.div_euclid(1_000_000)
    }
}
