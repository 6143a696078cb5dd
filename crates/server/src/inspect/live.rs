//! How much of each segment is live, without an index: a sample of keys is followed to their last places.
//!
//! Every key has a hash; keys whose hash is a multiple of the rate are followed. When too many are, the rate doubles and half of them are
//! forgotten, so the sample is as large as its bound allows, and the same for every order in which segments are looked at.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Keys that are followed at most.
const KEYS_MAX: usize = 2 << 20;

/// Where the last version of a key is.
#[derive(Clone, Copy)]
struct Last {
    generation: u64,
    offset: u32,
    bytes: u32,
    /// Index of the segment in the report.
    segment: u32,
}

/// Bytes of a segment's records that were looked at for the estimate.
#[derive(Clone, Copy, Default)]
struct Sampled {
    live: u64,
    all: u64,
}

/// A record's place.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) generation: u64,
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) segment: usize,
    /// Neither of a dropped or truncated table, nor purged by now.
    pub(super) counts: bool,
}

/// The sample.
#[derive(Default)]
pub(super) struct Live {
    last: HashMap<u64, (Last, bool)>,
    /// Bytes of sampled records by segment and the hash's trailing zeros, so that a higher rate can leave the others out.
    all: HashMap<(u32, u32), u64>,
    rate_bits: u32,
}

impl Live {
    /// A valid record.
    pub(super) fn saw(&mut self, key: impl Hash, seen: Seen) {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        let zeros = hash.trailing_zeros();
        if zeros < self.rate_bits {
            return;
        }
        let Seen { generation, offset, bytes, segment, counts } = seen;
        let (offset, bytes, segment) = (offset as u32, bytes as u32, segment as u32);
        *self.all.entry((segment, zeros)).or_default() += u64::from(bytes);
        let entry = self.last.entry(hash).or_insert((Last { generation: 0, offset: 0, bytes, segment }, counts));
        if (generation, offset) >= (entry.0.generation, entry.0.offset) {
            *entry = (Last { generation, offset, bytes, segment }, counts);
        }
        if self.last.len() > KEYS_MAX {
            self.rate_bits += 1;
            self.last.retain(|hash, _| hash.trailing_zeros() >= self.rate_bits);
        }
    }

    /// Takes in what another reader has seen.
    pub(super) fn merge(&mut self, other: Self) {
        self.rate_bits = self.rate_bits.max(other.rate_bits);
        for (hash, found) in other.last {
            let entry = self.last.entry(hash).or_insert(found);
            if (found.0.generation, found.0.offset) > (entry.0.generation, entry.0.offset) {
                *entry = found;
            }
        }
        self.last.retain(|hash, _| hash.trailing_zeros() >= self.rate_bits);
        for (place, bytes) in other.all {
            *self.all.entry(place).or_default() += bytes;
        }
    }

    /// The live share of each segment, in percent; `None` where no record was in the sample.
    pub(super) fn percents(&self, segments: usize) -> Vec<Option<u8>> {
        let mut sampled = vec![Sampled::default(); segments];
        for ((segment, zeros), bytes) in &self.all {
            if *zeros >= self.rate_bits {
                sampled[*segment as usize].all += bytes;
            }
        }
        for (last, counts) in self.last.values() {
            sampled[last.segment as usize].live += u64::from(last.bytes) * u64::from(*counts);
        }
        sampled.iter().map(|Sampled { live, all }| (live * 100).checked_div(*all).map(|percent| percent.min(100) as u8)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_last_versions_of_keys_that_count_are_live() {
        let seen = |generation, offset, segment, counts| Seen { generation, offset, bytes: 64, segment, counts };
        let (mut one, mut other) = (Live::default(), Live::default());
        // Four keys in segment 0; the first is overwritten in segment 1, the second deleted for good in segment 2.
        for key in 0..4 {
            one.saw(key, seen(1, 4096 + 64 * key, 0, true));
        }
        other.saw(1usize, seen(3, 4096, 2, false));
        other.saw(0usize, seen(2, 4096, 1, true));
        one.merge(other);
        assert_eq!(one.percents(4), [Some(50), Some(100), Some(0), None]);
    }

    #[test]
    fn a_large_sample_is_thinned_out_and_still_right() {
        let mut live = Live { rate_bits: 3, ..Live::default() };
        for key in 0..40_000 {
            live.saw(key, Seen { generation: 1, offset: 4096, bytes: 32, segment: 0, counts: true });
            if key % 2 == 0 {
                live.saw(key, Seen { generation: 2, offset: 4096, bytes: 32, segment: 1, counts: true });
            }
        }
        let percents = live.percents(2);
        assert!(percents[0].is_some_and(|percent| (45..=55).contains(&percent)), "{percents:?}");
        assert_eq!(percents[1], Some(100));
        assert!(live.last.len() < 6_000);
    }
}
