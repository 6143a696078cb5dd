//! Nouns of the interface: sequence, key, kind and row.

use base::{TableId, Token};

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

/// Where a key is among `count` sorted ones, or where it would go. The end is looked at first, for series grow there.
#[inline]
pub(crate) fn search<'a>(count: usize, key_of: impl Fn(usize) -> &'a [u8], key: &[u8]) -> Result<usize, usize> {
    let (mut low, mut high) = (0, count);
    if high > 0 && key_of(high - 1) < key {
        return Err(high);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        match key_of(middle).cmp(key) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Ok(middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Err(low)
}
