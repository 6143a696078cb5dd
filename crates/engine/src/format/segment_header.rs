//! The first block of a segment: who wrote it, which use of the segment this is, and whether it is in use at all.
//!
//! 64 bytes, little-endian, twice in the block (at 0 and at 2048, so that one bad sector costs nothing):
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic `TARNSEG1` |
//! | 8 | 4 | CRC-32 of bytes 12..64 |
//! | 12 | 2 | format version, 1 |
//! | 14 | 1 | state: 1 used, 2 free, 3 checkpoint |
//! | 15 | 1 | 1 if what follows the header block is encrypted, else zero |
//! | 16 | 8 | store id |
//! | 24 | 4 | shard |
//! | 28 | 4 | segment id |
//! | 32 | 8 | generation: grows with every segment that the shard opens |
//! | 40 | 8 | base sequence: sequences given out since the segment was opened are at least this; of a checkpoint its number |
//! | 48 | 4 | bytes in a segment |
//! | 52 | 8 | nonce: differs between any two uses of a segment, those lost with a power failure included |
//! | 60 | 4 | zero; of a checkpoint which of its segments this is, from 0 |

use crate::format::record::Salt;
use crate::key::Sequence;
use base::{BLOCK_BYTES, SECTOR_BYTES};

/// Bytes of one copy of the header.
pub(crate) const SEGMENT_HEADER_BYTES: usize = 64;
/// What a device writes whole or not at all.
/// Where the second copy is.
pub(crate) const COPY_OFFSET: usize = 2048;
const MAGIC: [u8; 8] = *b"TARNSEG1";
const VERSION: u16 = 1;
const _: () = assert!(SEGMENT_HEADER_BYTES == 8 + 4 + 2 + 1 + 1 + 8 + 4 + 4 + 8 + 8 + 4 + 8 + 4);

/// What a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderState {
    /// Records that count.
    Used,
    /// Nothing that counts.
    Free,
    /// A part of a checkpoint of the index.
    Checkpoint,
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) state: HeaderState,
    /// What follows the header block is.
    pub(crate) encrypted: bool,
    pub(crate) store: u64,
    pub(crate) shard: u32,
    pub(crate) segment: u32,
    pub(crate) generation: u64,
    /// Of a checkpoint: its number.
    pub(crate) base_sequence: Sequence,
    pub(crate) segment_bytes: u32,
    pub(crate) nonce: u64,
    /// Which segment of a checkpoint; else 0.
    pub(crate) ordinal: u32,
}

/// What the first block of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderBlock {
    /// Never written by an engine: all zero.
    Blank,
    /// A valid header.
    Valid(SegmentHeader),
    /// Of a format version that this program does not know.
    Unknown(u16),
    /// Neither blank nor valid.
    Damaged,
}

impl SegmentHeader {
    /// What the checksums of this use of the segment are mixed with.
    pub(crate) fn salt(&self) -> Salt {
        Salt::new(self.store, self.segment, self.nonce)
    }

    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[12..14].copy_from_slice(&VERSION.to_le_bytes());
        bytes[14] = match self.state {
            HeaderState::Used => 1,
            HeaderState::Free => 2,
            HeaderState::Checkpoint => 3,
        };
        bytes[15] = self.encrypted.into();
        bytes[16..24].copy_from_slice(&self.store.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.shard.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.segment.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.generation.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.base_sequence.0.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.segment_bytes.to_le_bytes());
        bytes[52..60].copy_from_slice(&self.nonce.to_le_bytes());
        bytes[60..].copy_from_slice(&self.ordinal.to_le_bytes());
        let checksum = base::checksum(&bytes[12..]);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Fills the first block of a segment: two copies, the rest zero.
    pub(crate) fn fill_block(&self, block: &mut [u8]) {
        block[..BLOCK_BYTES].fill(0);
        let bytes = self.encode();
        block[..SEGMENT_HEADER_BYTES].copy_from_slice(&bytes);
        block[COPY_OFFSET..COPY_OFFSET + SEGMENT_HEADER_BYTES].copy_from_slice(&bytes);
    }

    /// Reads one copy. `Err(Some(version))` is a header of a version that this program does not know.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Option<u16>> {
        let bytes: &[u8; SEGMENT_HEADER_BYTES] = bytes.first_chunk().ok_or(None)?;
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if bytes[..8] != MAGIC || u32_at(8) != base::checksum(&bytes[12..]) {
            return Err(None);
        }
        let version = u16::from_le_bytes([bytes[12], bytes[13]]);
        if version != VERSION {
            return Err(Some(version));
        }
        let state = match bytes[14] {
            1 => HeaderState::Used,
            2 => HeaderState::Free,
            3 => HeaderState::Checkpoint,
            _ => return Err(None),
        };
        Ok(Self {
            state,
            encrypted: bytes[15] == 1,
            store: u64_at(16),
            shard: u32_at(24),
            segment: u32_at(28),
            generation: u64_at(32),
            base_sequence: Sequence(u64_at(40)),
            segment_bytes: u32_at(48),
            nonce: u64_at(52),
            ordinal: u32_at(60),
        })
    }

    /// Reads a segment's first block: of its two copies the valid one, or the newer of two.
    pub(crate) fn read_block(block: &[u8]) -> HeaderBlock {
        let copies = [Self::decode(block), block.get(COPY_OFFSET..).map_or(Err(None), Self::decode)];
        let newest = copies.iter().filter_map(|copy| copy.ok()).max_by_key(|header| (header.generation, header.state == HeaderState::Free));
        if let Some(header) = newest {
            return HeaderBlock::Valid(header);
        }
        if let Some(version) = copies.iter().find_map(|copy| copy.err().flatten()) {
            return HeaderBlock::Unknown(version);
        }
        // Sectors are written whole: where both that hold a header are as they were made, none ever came. Of the first write that was torn, others
        // may hold what it says of other segments.
        let is_zero = |at: usize| block.iter().skip(at).take(SECTOR_BYTES).all(|byte| *byte == 0);
        if is_zero(0) && is_zero(COPY_OFFSET) { HeaderBlock::Blank } else { HeaderBlock::Damaged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SegmentHeader {
        SegmentHeader {
            state: HeaderState::Used,
            encrypted: false,
            store: 0x1122_3344_5566_7788,
            shard: 3,
            segment: 4,
            generation: 5,
            base_sequence: Sequence(6),
            segment_bytes: 8 << 20,
            nonce: 7,
            ordinal: 0,
        }
    }

    #[test]
    fn one_bad_copy_costs_nothing() {
        let mut block = vec![0xFF; BLOCK_BYTES];
        sample().fill_block(&mut block);
        assert_eq!(SegmentHeader::read_block(&block), HeaderBlock::Valid(sample()));
        for sector in [0, 2048] {
            let mut damaged = block.clone();
            damaged[sector..sector + 512].fill(0xAA);
            assert_eq!(SegmentHeader::read_block(&damaged), HeaderBlock::Valid(sample()));
        }
        block.fill(0xAA);
        assert_eq!(SegmentHeader::read_block(&block), HeaderBlock::Damaged);
        block.fill(0);
        assert_eq!(SegmentHeader::read_block(&block), HeaderBlock::Blank);
        // A first write of which only a sector without a header came.
        block[SECTOR_BYTES..2 * SECTOR_BYTES].fill(7);
        assert_eq!(SegmentHeader::read_block(&block), HeaderBlock::Blank);
    }

    #[test]
    fn any_bytes_are_read_without_panic() {
        let mut rng = base::Rng::new(1);
        let mut block = vec![0; BLOCK_BYTES];
        for length in [0, 1, 63, 64, 2048, 2100, BLOCK_BYTES] {
            rng.fill(&mut block);
            assert_ne!(SegmentHeader::read_block(&block[..length]), HeaderBlock::Unknown(1));
        }
    }
}
