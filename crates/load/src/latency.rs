//! Latencies of one kind of operation: a histogram in nanoseconds and what a second of it comes to.

use base64::prelude::{BASE64_STANDARD, Engine};
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

/// Latencies in nanoseconds: 64 ns to an hour with three digits.
pub type Histogram = Hdr<u64>;

const LOWEST_NS: u64 = 64;
const HIGHEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// An empty histogram of the one shape that all have here.
#[must_use]
pub fn histogram() -> Histogram {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("the bounds are those that HdrHistogram allows")
}

/// A histogram as HdrHistogram's compressed second format, in base64: what interval logs hold.
#[must_use]
pub fn encoded(histogram: &Histogram) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("memory takes everything");
    BASE64_STANDARD.encode(bytes)
}

/// The histogram that [`encoded`] was given; `None` when the text is something else.
#[must_use]
pub fn decoded(text: &str) -> Option<Histogram> {
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    let read: Histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
    // Into the one shape, so that it can be added to others.
    let mut histogram = histogram();
    histogram.add(&read).ok()?;
    Some(histogram)
}

/// Latencies of a number of replies, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Replies that were no errors.
    pub replies: u64,
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 95 of 100 are not longer.
    pub p95_us: f64,
    /// 99 of 100.
    pub p99_us: f64,
    /// 999 of 1,000.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl Summary {
    /// Of a histogram.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1_000.0;
        Self {
            replies: histogram.len(),
            mean_us: histogram.mean() / 1_000.0,
            p50_us: at(0.5),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max() as f64 / 1_000.0,
        }
    }
}

/// The latency spectrum: percentile (0 to 100) and microseconds, rising, in steps that halve the distance to 100 five at a time.
#[must_use]
pub fn spectrum(histogram: &Histogram) -> Vec<(f64, f64)> {
    const TICKS_PER_HALF: u32 = 5;
    histogram
        .iter_quantiles(TICKS_PER_HALF)
        .map(|step| (step.quantile_iterated_to() * 100.0, step.value_iterated_to() as f64 / 1_000.0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_in_microseconds() {
        let mut latencies = histogram();
        for microseconds in 1..=1_000 {
            latencies.saturating_record(microseconds * 1_000);
        }
        let summary = Summary::of(&latencies);
        assert_eq!(summary.replies, 1_000);
        for (measured, expected) in [(summary.p50_us, 500.0), (summary.p99_us, 990.0), (summary.max_us, 1_000.0), (summary.mean_us, 500.5)]
        {
            assert!((measured - expected).abs() / expected < 0.002, "{measured} for {expected}");
        }
        assert_eq!(decoded(&encoded(&latencies)).as_ref(), Some(&latencies));
        let spectrum = spectrum(&latencies);
        assert!(spectrum.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
        assert_eq!(spectrum.last().map(|last| last.0), Some(100.0));
    }
}
