//! How long operations of a core's files took: counted by whoever carries them out.

/// The upper ends of the buckets, in microseconds; the last bucket has none.
pub const DISK_BOUNDS_US: [u64; 16] =
    [20, 50, 100, 200, 400, 800, 1_500, 3_000, 6_000, 12_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];

/// Operations of one kind by how long they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskHistogram {
    /// By bucket, as [`DISK_BOUNDS_US`] has them, and those that took longer.
    pub buckets: [u64; DISK_BOUNDS_US.len() + 1],
    /// All together.
    pub sum_us: u64,
}

impl DiskHistogram {
    /// Counts an operation.
    pub fn add(&mut self, us: u64) {
        self.buckets[DISK_BOUNDS_US.partition_point(|bound| *bound < us)] += 1;
        self.sum_us += us;
    }

    /// Counts what another one has counted, too.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.iter_mut().zip(other.buckets).for_each(|(all, one)| *all += one);
        self.sum_us += other.sum_us;
    }
}

/// Operations by kind, from when they were asked for to when they were seen to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskLatencies {
    /// Reads.
    pub reads: DiskHistogram,
    /// Writes.
    pub writes: DiskHistogram,
    /// Syncs of files, which are over when all their devices are.
    pub syncs: DiskHistogram,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_in_the_bucket_of_how_long_they_took() {
        let mut histogram = DiskHistogram::default();
        [0, 20, 21, 5_000_001].into_iter().for_each(|us| histogram.add(us));
        assert_eq!((histogram.buckets[0], histogram.buckets[1], histogram.buckets[16]), (2, 1, 1));
        let mut all = histogram;
        all.merge(&histogram);
        assert_eq!((all.buckets[0], all.sum_us), (4, 2 * 5_000_042));
        assert!(DISK_BOUNDS_US.is_sorted());
    }
}
