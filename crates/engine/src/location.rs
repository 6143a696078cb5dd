//! Where a row is: one word that the index holds for each row.
//!
//! ```text
//! 63  62 61         38 37             19 18             0
//! kind   segment       offset / 16       length / 16
//! ```
//! Kind 0 is an empty cell of the index, 1 a record, 2 a partition with an ordered map of rows (the other 62 bits are its
//! number). A page of rows is a record like others.
//!
//! Segment ids with the top bit set name cache frames, which exist in memory only.

/// Every record starts at a multiple of this in its segment.
pub(crate) const RECORD_ALIGN: usize = 16;

/// A segment of the device file, or (top bit of 24 set) a cache frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId(pub u32);

impl SegmentId {
    const CACHE: u32 = 1 << 23;
    /// How many segments a shard can have: 64 TiB in segments of 8 MiB.
    pub(crate) const COUNT_MAX: u32 = Self::CACHE;

    pub(crate) fn cache(index: usize) -> Self {
        assert!(index < Self::CACHE as usize, "a cache has fewer than 2^23 frames");
        Self(Self::CACHE | index as u32)
    }

    pub(crate) fn is_cache(self) -> bool {
        self.0 & Self::CACHE != 0
    }

    /// Index in the table of device segments or of cache frames.
    pub(crate) fn index(self) -> usize {
        (self.0 & !Self::CACHE) as usize
    }
}

/// One cell's worth of "where".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location(u64);

/// What a location names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Empty,
    Record,
    Partition(u32),
}

impl Location {
    pub(crate) const EMPTY: Self = Self(0);
    const KIND_RECORD: u64 = 1 << 62;
    const KIND_PARTITION: u64 = 2 << 62;

    pub(crate) fn record(segment: SegmentId, offset: usize, padded: usize) -> Self {
        assert!(offset.is_multiple_of(RECORD_ALIGN) && padded.is_multiple_of(RECORD_ALIGN));
        assert!(offset < 1 << 23 && padded < 1 << 23 && padded > 0);
        Self(Self::KIND_RECORD | (u64::from(segment.0) << 38) | ((offset as u64 / 16) << 19) | (padded as u64 / 16))
    }

    pub(crate) fn partition(number: u32) -> Self {
        Self(Self::KIND_PARTITION | u64::from(number))
    }

    pub(crate) fn from_word(word: u64) -> Self {
        Self(word)
    }

    pub(crate) fn word(self) -> u64 {
        self.0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn is_record(self) -> bool {
        self.0 >> 62 == 1
    }

    pub(crate) fn target(self) -> Target {
        match self.0 >> 62 {
            0 => Target::Empty,
            1 => Target::Record,
            2 => Target::Partition(self.0 as u32),
            _ => unreachable!("no location of this kind is ever made"),
        }
    }

    pub(crate) fn segment(self) -> SegmentId {
        SegmentId((self.0 >> 38) as u32 & 0xFF_FFFF)
    }

    pub(crate) fn offset(self) -> usize {
        ((self.0 >> 19) & 0x7_FFFF) as usize * RECORD_ALIGN
    }

    /// Bytes the record takes in the log, padding included.
    pub(crate) fn padded(self) -> usize {
        (self.0 & 0x7_FFFF) as usize * RECORD_ALIGN
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 >> 62 {
            0 => f.write_str("empty"),
            1 => write!(f, "record {}+{}:{}", self.segment().0, self.offset(), self.padded()),
            _ => write!(f, "partition {}", self.0 as u32),
        }
    }
}

/// `length` rounded up to where the next record may start.
pub(crate) fn padded(length: usize) -> usize {
    length.next_multiple_of(RECORD_ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_survive_packing_at_their_limits() {
        for (segment, offset, length) in [(0, 4096, 32), (0x7F_FFFF, (1 << 23) - 32, 32), (5, 16, (1 << 23) - 16)] {
            let location = Location::record(SegmentId(segment), offset, length);
            assert_eq!((location.segment().0, location.offset(), location.padded()), (segment, offset, length));
            assert_eq!(location.target(), Target::Record);
            assert!(!location.segment().is_cache());
        }
        let cached = Location::record(SegmentId::cache(3), 16, 64);
        assert!(cached.segment().is_cache());
        assert_eq!(cached.segment().index(), 3);
        assert_eq!(Location::partition(u32::MAX).target(), Target::Partition(u32::MAX));
        assert!(Location::EMPTY.is_empty());
    }
}
