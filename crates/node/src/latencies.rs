//! Requests by how long they took.

/// The upper ends of the buckets of latencies, in microseconds; the last bucket has none.
pub const LATENCY_BOUNDS_US: [u64; 18] =
    [25, 50, 100, 200, 400, 800, 1_500, 3_000, 6_000, 12_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000, 10_000_000];

/// Requests by how long they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// By bucket, as [`LATENCY_BOUNDS_US`] has them, and those that took longer.
    pub buckets: [u64; LATENCY_BOUNDS_US.len() + 1],
    /// All together.
    pub sum_us: u64,
}

impl Latencies {
    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Adds those of another core.
    pub fn merge(&mut self, other: &Self) {
        self.sum_us += other.sum_us;
        self.buckets.iter_mut().zip(other.buckets).for_each(|(all, one)| *all += one);
    }

    /// How long so large a part of them took at most, within a bucket evenly spread; 0 if there were none.
    #[must_use]
    pub fn percentile_us(&self, part: f64) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        let mut left = part * count as f64;
        let mut lower = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            let upper = LATENCY_BOUNDS_US.get(bucket).copied().unwrap_or(lower);
            if *count > 0 && left <= *count as f64 {
                return lower as f64 + (upper - lower) as f64 * left / *count as f64;
            }
            left -= *count as f64;
            lower = upper;
        }
        lower as f64
    }

    pub(crate) fn add(&mut self, us: u64, requests: u64) {
        self.buckets[LATENCY_BOUNDS_US.partition_point(|bound| *bound < us)] += requests;
        self.sum_us += us * requests;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_in_the_bucket_that_has_them() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentile_us(0.5), 0.0);
        latencies.add(300, 98);
        latencies.add(5_000, 1);
        latencies.add(90_000_000, 1);
        for (part, us) in [(0.49, 300), (0.979, 400), (0.99, 6_000), (1.0, 10_000_000)] {
            assert_eq!(latencies.percentile_us(part).round() as u64, us, "{part}");
        }
    }
}
