//! Walking over the records of a segment's image, whole or damaged.
//!
//! 1. Records follow one another from the end of the header block; a seal ends them.
//!    Pads are passed over.
//! 2. Where no valid record is, either the segment was never finished (its tail was torn off: the walk ends), or a seal further on
//!    says that it was, so that this is damage: the walk goes on at the next place that holds a valid record.
//!    Who knows that the segment was finished and synced says so: then the seal itself may be what is damaged. Who knows that nothing but
//!    the last batch can be torn says that: then valid records further on make it damage, too.
//!
//! Invariant: the walk ends, and its work is bounded, whatever the bytes are.

use crate::format::record::{self, Record, Salt};
use crate::location::{RECORD_ALIGN, padded};
use base::BLOCK_BYTES;

/// A walk checks at most this many times the segment's bytes while it looks for the end of damage.
const RESYNC_FACTOR: usize = 4;

/// What the walk has come to.
pub(crate) enum Step<'a> {
    /// A valid record.
    Record { offset: usize, record: Record<'a> },
    /// Bytes from here on up to `end` are damaged.
    Damage { offset: usize, end: usize },
    /// The seal; `end` is after it.
    Seal { end: usize, record: Record<'a> },
    /// The segment was not finished: no valid record follows.
    Torn,
}

/// A walk over one image.
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    salt: Salt,
    offset: usize,
    /// Where the seal is, once somebody had to look for it.
    seal: Option<usize>,
    resync_budget: usize,
    ended: bool,
    /// Whether a missing seal is damage.
    finished: bool,
    /// Whether nothing but what comes last can be torn.
    appended: bool,
    /// Whether checksums need not be looked at.
    trusted: bool,
}

impl<'a> Walk<'a> {
    /// From `offset`, or from the first record if that is 0.
    pub(crate) fn new(bytes: &'a [u8], salt: Salt, offset: usize) -> Self {
        let resync_budget = bytes.len() * RESYNC_FACTOR;
        Self {
            bytes,
            salt,
            offset: offset.max(BLOCK_BYTES),
            seal: None,
            resync_budget,
            ended: false,
            finished: false,
            appended: false,
            trusted: false,
        }
    }

    /// Over a segment that was finished and synced: whatever is invalid in it is damage, up to the end of the bytes if the seal is gone.
    pub(crate) fn finished(bytes: &'a [u8], salt: Salt, offset: usize) -> Self {
        Self { finished: true, ..Self::new(bytes, salt, offset) }
    }

    /// Over a segment that may not be finished, but to which one batch after the other was copied.
    pub(crate) fn appended(bytes: &'a [u8], salt: Salt, offset: usize) -> Self {
        Self { appended: true, ..Self::new(bytes, salt, offset) }
    }

    /// Over bytes that this process has written or verified.
    pub(crate) fn trusted(bytes: &'a [u8], salt: Salt, offset: usize) -> Self {
        Self { trusted: true, ..Self::new(bytes, salt, offset) }
    }

    fn record_at(&self, offset: usize) -> Option<Record<'a>> {
        let rest = self.bytes.get(offset..)?;
        if self.trusted { Record::plausible(rest) } else { Record::verify(rest, self.salt, offset) }
    }

    /// The next step; `None` after the end.
    pub(crate) fn next(&mut self) -> Option<Step<'a>> {
        if self.ended {
            return None;
        }
        let mut found = self.record_at(self.offset);
        while let Some(pad) = found.filter(Record::is_pad) {
            self.offset += padded(pad.length());
            found = self.record_at(self.offset);
        }
        let offset = self.offset;
        if let Some(record) = found {
            self.offset = offset + padded(record.length());
            if record.is_seal() {
                self.ended = true;
                return Some(Step::Seal { end: self.offset, record });
            }
            return Some(Step::Record { offset, record });
        }
        let seal = match self.find_seal() {
            Some(seal) => seal,
            None if self.appended => {
                let end = self.resync(self.bytes.len());
                self.ended = end >= self.bytes.len();
                self.offset = end;
                return Some(if self.ended { Step::Torn } else { Step::Damage { offset, end } });
            }
            None if !self.finished => {
                self.ended = true;
                return Some(Step::Torn);
            }
            None if offset >= self.bytes.len() => {
                self.ended = true;
                return None;
            }
            None => self.bytes.len(),
        };
        self.offset = self.resync(seal);
        Some(Step::Damage { offset, end: self.offset })
    }

    fn find_seal(&mut self) -> Option<usize> {
        if self.seal.is_none() {
            let mut places = (self.offset..self.bytes.len()).step_by(RECORD_ALIGN);
            self.seal = places.find(|place| record::is_seal_at(self.bytes, self.salt, *place));
        }
        self.seal
    }

    /// The next place with a valid record, the seal's at the latest.
    fn resync(&mut self, seal: usize) -> usize {
        let mut place = self.offset + RECORD_ALIGN;
        while place < seal {
            let rest = &self.bytes[place..seal];
            if let Some(record) = Record::plausible(rest) {
                let Some(left) = self.resync_budget.checked_sub(record.length()) else { return seal };
                self.resync_budget = left;
                if Record::verify(rest, self.salt, place).is_some() {
                    return place;
                }
            }
            place += RECORD_ALIGN;
        }
        seal
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::batch::WriteBatch;
    use crate::key::{Key, Kind, Sequence};
    use base::{Rng, TableId, Token};

    const SALT: fn() -> Salt = || Salt::new(1, 2, 3);

    /// A segment of `rows` records; returns the image and the records' places.
    fn image(rows: usize, sealed: bool) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = vec![0; 64 << 10];
        let mut offset = BLOCK_BYTES;
        let mut places = Vec::new();
        for row in 0..rows {
            let mut batch = WriteBatch::new();
            let key = Key { table: TableId(1), token: Token(row as i64), partition: b"partition", clustering: b"" };
            batch.put(&key, Kind::Live, &vec![row as u8; 20 + row % 50]).unwrap();
            let length = Record::trusted(batch.bytes()).length();
            bytes[offset..offset + batch.bytes().len()].copy_from_slice(batch.bytes());
            record::set_sequence(&mut bytes[offset..], Sequence(row as u64));
            record::finish(&mut bytes[offset..], length, SALT(), offset);
            places.push(offset);
            offset += padded(length);
        }
        if sealed {
            record::write_seal(&mut bytes[offset..], Sequence(rows as u64), SALT(), offset);
        }
        (bytes, places)
    }

    fn places(bytes: &[u8]) -> (Vec<usize>, usize, bool) {
        let mut walk = Walk::new(bytes, SALT(), 0);
        let (mut found, mut damages, mut torn) = (Vec::new(), 0, false);
        while let Some(step) = walk.next() {
            match step {
                Step::Record { offset, .. } => found.push(offset),
                Step::Damage { offset, end } => {
                    assert!(end > offset);
                    damages += 1;
                }
                Step::Seal { .. } => torn = false,
                Step::Torn => torn = true,
            }
        }
        (found, damages, torn)
    }

    #[test]
    fn a_damaged_record_of_a_sealed_segment_costs_no_other() {
        let (bytes, expected) = image(300, true);
        assert_eq!(places(&bytes), (expected.clone(), 0, false));
        let mut rng = Rng::new(3);
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            let victim = rng.below(300) as usize;
            damaged[expected[victim] + rng.below(40) as usize] ^= 1 << rng.below(8);
            let (found, damages, torn) = places(&damaged);
            let others: Vec<usize> = expected.iter().copied().filter(|place| *place != expected[victim]).collect();
            assert_eq!((found, damages, torn), (others, 1, false));
        }
    }

    #[test]
    fn a_torn_tail_ends_the_walk() {
        let (bytes, expected) = image(100, false);
        assert_eq!(places(&bytes), (expected.clone(), 0, true));
        let mut torn = bytes.clone();
        torn[expected[60] + 8] ^= 1;
        assert_eq!(places(&torn), (expected[..60].to_vec(), 0, true));
    }

    #[test]
    fn without_its_seal_a_finished_segment_is_damaged_at_its_end_and_loses_nothing_else() {
        let (mut bytes, expected) = image(100, true);
        let end = expected[99] + padded(Record::trusted(&bytes[expected[99]..]).length());
        bytes[expected[40] + 20] ^= 1;
        bytes[end + 8] ^= 1;
        let mut walk = Walk::finished(&bytes, SALT(), 0);
        let (mut found, mut damages) = (Vec::new(), Vec::new());
        while let Some(step) = walk.next() {
            match step {
                Step::Record { offset, .. } => found.push(offset),
                Step::Damage { offset, end } => damages.push((offset, end)),
                Step::Seal { .. } | Step::Torn => panic!("the seal is gone, and nothing was torn"),
            }
        }
        assert_eq!(damages, [(expected[40], expected[41]), (end, bytes.len())]);
        assert_eq!(found, [&expected[..40], &expected[41..]].concat());
    }

    #[test]
    fn random_bytes_end_soon() {
        let mut rng = Rng::new(4);
        for _ in 0..50 {
            let mut bytes = vec![0; 32 << 10];
            rng.fill(&mut bytes);
            assert_eq!(places(&bytes).0, Vec::<usize>::new());
            let mut walk = Walk::finished(&bytes, SALT(), 0);
            assert!(matches!(walk.next(), Some(Step::Damage { offset: BLOCK_BYTES, end }) if end == bytes.len()));
            assert!(walk.next().is_none());
        }
    }
}
