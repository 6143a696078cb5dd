//! What happened when: the run cut into intervals of equal length, each with its replies and their latencies.
//!
//! An interval without replies stands in the list like any other: it is what such a list is looked at for.

use crate::report::Latency;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::{Duration, Instant};

/// An interval.
#[derive(Debug, Serialize)]
pub(crate) struct Interval {
    replies: u64,
    latency_us: Latency,
}

/// The latencies of a run: all together, and by interval if that is wanted.
pub(crate) struct Timeline {
    all_ns: Histogram<u64>,
    current_ns: Histogram<u64>,
    length: Option<Duration>,
    current_ends: Instant,
    intervals: Vec<Interval>,
}

impl Timeline {
    /// Nothing yet; intervals of `length` start at `started`.
    pub(crate) fn new(started: Instant, length: Option<Duration>) -> Self {
        let empty: Histogram<u64> = Histogram::new_with_bounds(100, 600_000_000_000, 3).expect("the bounds are in order");
        let current_ends = started + length.unwrap_or_default();
        Self { all_ns: empty.clone(), current_ns: empty, length, current_ends, intervals: Vec::new() }
    }

    /// A reply came now, so long after its request.
    pub(crate) fn record(&mut self, latency: Duration) {
        self.current_ns.saturating_record(latency.as_nanos() as u64);
    }

    /// Ends the intervals that are over.
    pub(crate) fn advance(&mut self, now: Instant) {
        let Some(length) = self.length else { return };
        while now >= self.current_ends {
            self.intervals.push(Interval { replies: self.current_ns.len(), latency_us: Latency::of(&self.current_ns) });
            self.end_interval();
            self.current_ends += length;
        }
    }

    fn end_interval(&mut self) {
        self.all_ns.add(&self.current_ns).expect("both have the same bounds");
        self.current_ns.reset();
    }

    /// The latencies of the whole run, and the whole intervals.
    pub(crate) fn finish(mut self) -> (Histogram<u64>, Vec<Interval>) {
        self.end_interval();
        (self.all_ns, self.intervals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_has_intervals_too() {
        let started = Instant::now();
        let second = Duration::from_secs(1);
        let mut timeline = Timeline::new(started, Some(second));
        timeline.record(Duration::from_millis(1));
        timeline.advance(started + 3 * second);
        timeline.record(Duration::from_millis(2));
        timeline.record(Duration::from_millis(2));
        timeline.advance(started + 4 * second);
        timeline.record(Duration::from_millis(3));
        let (all, intervals) = timeline.finish();
        assert_eq!(intervals.iter().map(|interval| interval.replies).collect::<Vec<_>>(), [1, 0, 0, 2]);
        assert_eq!(all.len(), 4, "what came after the last whole interval counts for the run");
    }
}
