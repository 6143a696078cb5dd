//! Which run of the engine wrote a block, how that run ended, and what the device had for certain by then.
//!
//! A mark stands behind each copy of the header in every header block of the log and of free markers, and at the start of every mirror slot of the
//! stable memory: at 64 and at 2,112, where a checkpoint has its commit record. 64 bytes, little-endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic `TARNRUN1` |
//! | 8 | 4 | CRC-32 of bytes 12..64 |
//! | 12 | 4 | state: 1 running, 2 ended in order, 3 running after a loss that the operator has accepted |
//! | 16 | 8 | store id |
//! | 24 | 8 | start of the machine that the run was in; 0 if unknown |
//! | 32 | 8 | the latest generation whose segment the device has |
//! | 40 | 8 | the last sequence that the device has |
//! | 48 | 4 | number of the run: grows with every start of the shard |
//! | 52 | 4 | bytes of that segment that the device has |
//! | 56 | 4 | segments that the file has |
//! | 60 | 4 | shard |
//!
//! Invariant: generation, sequence, bytes and segments are what a sync has covered, so they hold for ever unless the device loses something.

use base::BLOCK_BYTES;

/// Bytes of a mark.
pub(crate) const MARK_BYTES: usize = 64;
/// Where the two copies are in a header block.
pub(crate) const MARK_OFFSETS: [usize; 2] = [64, 2112];
const MAGIC: [u8; 8] = *b"TARNRUN1";
const _: () = assert!(MARK_BYTES == 8 + 4 + 4 + 8 + 8 + 8 + 8 + 4 + 4 + 4 + 4);
const _: () = assert!(MARK_OFFSETS[1] + MARK_BYTES <= BLOCK_BYTES);

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunState {
    /// It takes writes, or ended without an order.
    #[default]
    Running,
    /// As `Running`, and rows may be missing: an operator has accepted that.
    RunningAfterLoss,
    /// It was told to end, and the device has all of its writes.
    Ended,
}

/// What is known of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// How it ended, if it did.
    pub state: RunState,
    /// The store.
    pub store: u64,
    /// The shard of the store.
    pub shard: u32,
    /// The number of the run.
    pub run: u32,
    /// The start of the machine that it was in; 0 if unknown.
    pub boot: u64,
    /// The latest generation that the device has.
    pub generation: u64,
    /// The last sequence that the device has.
    pub sequence: u64,
    /// How many bytes of that segment it has.
    pub bytes: u32,
    /// Segments that the file has.
    pub segments: u32,
}

impl Mark {
    pub(crate) fn encode(&self) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        let state: u32 = match self.state {
            RunState::Running => 1,
            RunState::Ended => 2,
            RunState::RunningAfterLoss => 3,
        };
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[12..16].copy_from_slice(&state.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.store.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.boot.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.generation.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.run.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.segments.to_le_bytes());
        bytes[60..].copy_from_slice(&self.shard.to_le_bytes());
        let checksum = base::checksum(&bytes[12..]);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Adds the mark to a header block, once behind each copy of the header.
    pub(crate) fn fill_block(&self, block: &mut [u8]) {
        let bytes = self.encode();
        for offset in MARK_OFFSETS {
            block[offset..offset + MARK_BYTES].copy_from_slice(&bytes);
        }
    }

    /// The mark in a header block or in the first block of a mirror slot: of two the later one. `None` if there is none.
    #[must_use]
    pub fn read_block(block: &[u8]) -> Option<Self> {
        let copies = MARK_OFFSETS.iter().filter_map(|offset| Self::decode(block.get(*offset..)?));
        copies.max_by_key(|mark| (mark.run, mark.state, mark.generation, mark.bytes, mark.segments))
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; MARK_BYTES] = bytes.first_chunk()?;
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if bytes[..8] != MAGIC || u32_at(8) != base::checksum(&bytes[12..]) {
            return None;
        }
        let state = match u32_at(12) {
            1 => RunState::Running,
            2 => RunState::Ended,
            3 => RunState::RunningAfterLoss,
            _ => return None,
        };
        Some(Self {
            state,
            store: u64_at(16),
            boot: u64_at(24),
            generation: u64_at(32),
            sequence: u64_at(40),
            run: u32_at(48),
            bytes: u32_at(52),
            segments: u32_at(56),
            shard: u32_at(60),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Rng;

    fn sample() -> Mark {
        Mark {
            state: RunState::Ended,
            store: 0x0123_4567_89AB_CDEF,
            shard: 3,
            run: 4,
            boot: 5,
            generation: 6,
            sequence: 9,
            bytes: 7,
            segments: 8,
        }
    }

    #[test]
    fn a_mark_is_written_as_documented() {
        let expected: Vec<u8> = [
            &b"TARNRUN1"[..],
            &[0; 4],
            &2u32.to_le_bytes(),
            &0x0123_4567_89AB_CDEF_u64.to_le_bytes(),
            &5u64.to_le_bytes(),
            &6u64.to_le_bytes(),
            &9u64.to_le_bytes(),
            &4u32.to_le_bytes(),
            &7u32.to_le_bytes(),
            &8u32.to_le_bytes(),
            &3u32.to_le_bytes(),
        ]
        .concat();
        let mut written = sample().encode();
        let checksum = base::checksum(&written[12..]).to_le_bytes();
        assert_eq!(std::mem::take(&mut written[8]), checksum[0]);
        written[9..12].fill(0);
        assert_eq!(written[..], expected[..]);
        assert_eq!(Mark::decode(&sample().encode()), Some(sample()));
    }

    #[test]
    fn one_copy_is_enough_and_of_two_the_later_counts() {
        let mut block = vec![0; BLOCK_BYTES];
        assert_eq!(Mark::read_block(&block), None);
        sample().fill_block(&mut block);
        for copy in MARK_OFFSETS {
            let mut damaged = block.clone();
            damaged[copy + 30] ^= 1;
            assert_eq!(Mark::read_block(&damaged), Some(sample()));
        }
        let later = Mark { state: RunState::Running, run: 5, ..sample() };
        block[MARK_OFFSETS[0]..][..MARK_BYTES].copy_from_slice(&later.encode());
        assert_eq!(Mark::read_block(&block), Some(later));
    }

    #[test]
    fn any_bytes_are_read_without_panic() {
        let mut rng = Rng::new(4);
        let mut block = vec![0; BLOCK_BYTES];
        for _ in 0..2_000 {
            sample().fill_block(&mut block);
            for copy in MARK_OFFSETS {
                block[copy + rng.below(MARK_BYTES as u64) as usize] ^= 1 << rng.below(8);
            }
            let length = rng.below(BLOCK_BYTES as u64 + 1) as usize;
            assert_eq!(Mark::read_block(&block[..length]), None);
        }
    }
}
