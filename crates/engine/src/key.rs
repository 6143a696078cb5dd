//! Nouns of the interface: sequence, key, kind and row.

use base::{TableId, Token};
use std::cmp::Ordering;
use std::ops::Bound;

/// The number of a write on this shard: grows by one with each row written, kept by the row wherever defragmentation moves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sequence(pub u64);

impl Sequence {
    /// Sequences have 56 bits: a million writes a second for two thousand years.
    pub(crate) const MAX: u64 = (1 << 56) - 1;
}

/// What names a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The table; it must have been created or given at start-up.
    pub table: TableId,
    /// Where the partition lies on the ring. A function of the partition key: the same key always comes with the same token.
    pub token: Token,
    /// The partition key, at most 65,535 bytes.
    pub partition: &'a [u8],
    /// The byte-comparable clustering key, at most 65,535 bytes; empty for a partition's single (or static) row.
    pub clustering: &'a [u8],
}

/// What the engine may do with a row on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Kept until overwritten.
    Live,
    /// Content that ends by itself: dropped some time after `purge_after_s` once no older version of the key can come back.
    Expiring {
        /// Wall-clock second after which nobody needs the row.
        purge_after_s: i64,
    },
    /// A deletion: as `Expiring`, and accepted a little longer than other writes when the device is full.
    Tombstone {
        /// Wall-clock second after which nobody needs the row.
        purge_after_s: i64,
    },
}

impl Kind {
    /// The second after which the row may be dropped, if ever.
    #[must_use]
    pub fn purge_after_s(self) -> Option<i64> {
        match self {
            Self::Live => None,
            Self::Expiring { purge_after_s } | Self::Tombstone { purge_after_s } => Some(purge_after_s),
        }
    }
}

/// A stored row, borrowed from the engine's memory. Tombstones are rows too: the caller decides what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// As it was written.
    pub kind: Kind,
    /// The number of the write.
    pub sequence: Sequence,
    /// The bytes as they were written.
    pub bytes: &'a [u8],
}

/// Whether what a read touches shall stay in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CachePolicy {
    /// Point reads and short slices: keep it, it is likely to be asked for again.
    #[default]
    Keep,
    /// Long scans: leave the cache as it is.
    Bypass,
}

/// The order of two keys. Most series have keys of one short length, a number or a time: two words each, without a call.
#[inline]
pub(crate) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    if one.len() != other.len() || one.len() > 16 {
        return one.cmp(other);
    }
    // The last eight bytes may have some of the first ones again, which are equal by then.
    let words = |key: &[u8]| Some((u64::from_be_bytes(*key.first_chunk()?), u64::from_be_bytes(*key.last_chunk()?)));
    match (words(one), words(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => one.cmp(other),
    }
}

/// Where a key is among `count` sorted ones, or where it would go. The end is looked at first, for series grow there.
#[inline]
pub(crate) fn search<'a>(count: usize, key_of: impl Fn(usize) -> &'a [u8], key: &[u8]) -> Result<usize, usize> {
    let (mut low, mut high) = (0, count);
    if high > 0 && compare(key_of(high - 1), key).is_lt() {
        return Err(high);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(key_of(middle), key) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
        }
    }
    Err(low)
}

/// The numbers of the keys in a range, of `count` sorted ones in which `search` finds a key. The end may come before the start.
#[inline]
pub(crate) fn span(count: usize, from: Bound<&[u8]>, to: Bound<&[u8]>, search: impl Fn(&[u8]) -> Result<usize, usize>) -> (usize, usize) {
    let at = |key: &[u8]| search(key).unwrap_or_else(|number| number);
    let after = |key: &[u8]| search(key).map_or_else(|number| number, |number| number + 1);
    let start = match from {
        Bound::Unbounded => 0,
        Bound::Included(key) => at(key),
        Bound::Excluded(key) => after(key),
    };
    let end = match to {
        Bound::Unbounded => count,
        Bound::Included(key) => after(key),
        Bound::Excluded(key) => at(key),
    };
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;

    #[test]
    fn keys_are_ordered_by_their_bytes() {
        let mut rng = Rng::new(1);
        for _ in 0..200_000 {
            let bytes = 1 + rng.below(18) as usize;
            let mut one: Vec<u8> = (0..bytes).map(|_| rng.below(3) as u8 * 127).collect();
            let mut other = one.clone();
            if rng.below(4) == 0 {
                other.truncate(rng.below(bytes as u64) as usize);
            } else {
                other[rng.below(bytes as u64) as usize] ^= rng.below(256) as u8;
                one[rng.below(bytes as u64) as usize] ^= rng.below(2) as u8;
            }
            assert_eq!(compare(&one, &other), one.cmp(&other), "{one:?} and {other:?}");
            assert_eq!(compare(&other, &one), other.cmp(&one), "{other:?} and {one:?}");
        }
    }
}
