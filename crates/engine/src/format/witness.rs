//! What the header block of a segment says of other segments: which generations the device had when it was written.
//!
//! A write that is lost or goes elsewhere together with the header of its segment leaves no trace in the segment: it looks as it did before. The
//! headers of others know better. Twice in the block, at 128 and at 2,176; zero if there is nothing to say. Little-endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic `TARNWIT1` |
//! | 8 | 4 | CRC-32 of bytes 12 to the end of the last entry |
//! | 12 | 4 | entries, 1 to 157 |
//! | 16 | 8 | store id |
//! | 24 | 4 | shard |
//! | 28 | 4 | zero |
//! | 32 | 12 each | segment 4, generation 8; the top bit of the generation is set if this use of the segment was over: its free marker was written |
//!
//! Invariant: only what a sync has covered is witnessed. So an entry is true for ever: a segment's generation never falls.

use crate::location::SegmentId;
use base::BLOCK_BYTES;

const FIXED_BYTES: usize = 32;
const ENTRY_BYTES: usize = 12;
/// Where the two copies are.
const COPIES: [usize; 2] = [128, 2176];
/// Entries that fit before the second copy of the header, and before the end of the block.
pub(crate) const WITNESSES_MAX: usize = (2048 - 128 - FIXED_BYTES) / ENTRY_BYTES;
const MAGIC: [u8; 8] = *b"TARNWIT1";
const FREE: u64 = 1 << 63;
const _: () = assert!(FIXED_BYTES == 8 + 4 + 4 + 8 + 4 + 4 && ENTRY_BYTES == 4 + 8 && WITNESSES_MAX == 157);
const _: () = assert!(COPIES[1] + FIXED_BYTES + WITNESSES_MAX * ENTRY_BYTES <= BLOCK_BYTES);

/// A segment had a generation on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Which segment.
    pub segment: SegmentId,
    /// Its generation then.
    pub generation: u64,
    /// Whether this use of it was over.
    pub free: bool,
}

/// Writes both copies into a header block; nothing if there is nothing to say.
///
/// # Panics
/// If there are more than `WITNESSES_MAX`.
pub(crate) fn fill_block(block: &mut [u8], store: u64, shard: u32, witnesses: &[Witness]) {
    if witnesses.is_empty() {
        return;
    }
    assert!(witnesses.len() <= WITNESSES_MAX, "the caller knows the bound");
    let mut bytes = vec![0; FIXED_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[12..16].copy_from_slice(&(witnesses.len() as u32).to_le_bytes());
    bytes[16..24].copy_from_slice(&store.to_le_bytes());
    bytes[24..28].copy_from_slice(&shard.to_le_bytes());
    for witness in witnesses {
        let free = if witness.free { FREE } else { 0 };
        bytes.extend_from_slice(&witness.segment.0.to_le_bytes());
        bytes.extend_from_slice(&(witness.generation | free).to_le_bytes());
    }
    let checksum = base::checksum(&bytes[12..]);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    for copy in COPIES {
        block[copy..copy + bytes.len()].copy_from_slice(&bytes);
    }
}

/// What a header block of this store and shard witnesses, wherever the block was found.
#[must_use]
pub fn read_witnesses(block: &[u8], store: u64, shard: u32) -> Vec<Witness> {
    COPIES.iter().find_map(|copy| decode(block.get(*copy..)?, store, shard)).unwrap_or_default()
}

fn decode(bytes: &[u8], store: u64, shard: u32) -> Option<Vec<Witness>> {
    let u32_at = |at: usize| bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes);
    let u64_at = |at: usize| bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes);
    let count = u32_at(12)? as usize;
    if !bytes.starts_with(&MAGIC) || count > WITNESSES_MAX || u64_at(16)? != store || u32_at(24)? != shard {
        return None;
    }
    let end = FIXED_BYTES + count * ENTRY_BYTES;
    if u32_at(8)? != base::checksum(bytes.get(12..end)?) {
        return None;
    }
    let entry = |at: usize| {
        let (segment, word) = (SegmentId(u32_at(at)?), u64_at(at + 4)?);
        Some(Witness { segment, generation: word & !FREE, free: word & FREE != 0 }).filter(|_| segment.0 < SegmentId::COUNT_MAX)
    };
    (FIXED_BYTES..end).step_by(ENTRY_BYTES).map(entry).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Rng;

    fn sample() -> Vec<Witness> {
        let witness = |number: u32| Witness {
            segment: SegmentId(number * 3),
            generation: u64::from(number) << 33 | 7,
            free: number.is_multiple_of(5),
        };
        (1..=WITNESSES_MAX as u32).map(witness).collect()
    }

    #[test]
    fn this_version_writes_and_reads_the_golden_block() {
        let mut block = vec![0; BLOCK_BYTES];
        fill_block(&mut block, 0x0123_4567_89AB_CDEF, 3, &sample());
        let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/witnesses-v1.bin");
        if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() && !path.exists() {
            std::fs::write(&path, &block).unwrap();
        }
        let golden = std::fs::read(path).unwrap();
        assert!(golden == block, "the format has changed: give it a version and a file of its own");
        assert_eq!(read_witnesses(&golden, 0x0123_4567_89AB_CDEF, 3), sample());
    }

    #[test]
    fn one_copy_is_enough_and_only_of_the_same_store_and_shard() {
        let mut block = vec![0; BLOCK_BYTES];
        fill_block(&mut block, 1, 2, &sample());
        assert_eq!(read_witnesses(&block, 1, 3), []);
        assert_eq!(read_witnesses(&block, 2, 2), []);
        for copy in COPIES {
            let mut damaged = block.clone();
            damaged[copy + 700] ^= 1;
            assert_eq!(read_witnesses(&damaged, 1, 2), sample());
        }
        block.iter_mut().for_each(|byte| *byte ^= 1);
        assert_eq!(read_witnesses(&block, 1, 2), []);
    }

    #[test]
    fn any_bytes_are_read_without_panic() {
        let mut rng = Rng::new(4);
        for _ in 0..5_000 {
            let mut block = vec![0; BLOCK_BYTES];
            fill_block(&mut block, 1, 2, &sample()[..1 + rng.below(5) as usize]);
            for _ in 0..3 {
                block[COPIES[0] + rng.below(40) as usize] = rng.below(256) as u8;
            }
            let length = rng.below(BLOCK_BYTES as u64 + 1) as usize;
            assert!(read_witnesses(&block[..length], 1, 2).len() <= WITNESSES_MAX);
        }
    }
}
