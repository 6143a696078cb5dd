//! The first blocks of a device: whose it is, which of the store's devices, and which part of it belongs to which shard.
//!
//! 640 bytes, little-endian, twice: at 0 and at 524,288. The rest of the first mebibyte is zero; the areas of the shards follow, in the
//! order of the shards, all equally long.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic `TARNDEV1` |
//! | 8 | 4 | CRC-32 of bytes 12..640 |
//! | 12 | 2 | format version, 1 |
//! | 14 | 2 | shards |
//! | 16 | 16 | store: the node's identity |
//! | 32 | 2 | number of this device in the list of devices, from 0 |
//! | 34 | 2 | devices in the list, 1 to 64 |
//! | 36 | 4 | bytes in a segment |
//! | 40 | 8 | where the first area starts |
//! | 48 | 8 | when the device was formatted: seconds since 1970, signed |
//! | 56 | 8 | how much of the device may be used, in bytes; 0, as earlier versions wrote it: as much as the areas take |
//! | 64 | 64 | zero |
//! | 128 | 512 | for each device of the list the segments in one of its areas, 8 bytes each; zero after the last |

use super::signature;
use io_linux::{Device, Extent, Stripes};

/// Bytes before the first area.
pub(crate) const HEAD_BYTES: u64 = 1 << 20;
/// How many devices a store may have.
pub(crate) const DEVICES_MAX: usize = 64;
/// Where the two copies are.
pub(crate) const COPY_OFFSETS: [u64; 2] = [0, HEAD_BYTES / 2];
const SUPERBLOCK_BYTES: usize = 640;
const TABLE_OFFSET: usize = 128;
const MAGIC: [u8; 8] = *b"TARNDEV1";
const VERSION: u16 = 1;
const _: () = assert!(SUPERBLOCK_BYTES == 8 + 4 + 2 + 2 + 16 + 2 + 2 + 4 + 8 + 8 + 8 + 64 + 8 * DEVICES_MAX);

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) store: u128,
    pub(crate) cores: u16,
    pub(crate) number: u16,
    pub(crate) segment_bytes: u32,
    pub(crate) areas_start: u64,
    pub(crate) formatted_s: i64,
    /// How much of the device may be used: what is left when it is cut for this number of cores another number may have. 0: nobody has said.
    pub(crate) given_bytes: u64,
    /// For each device of the list: the segments in one of its areas.
    pub(crate) area_segments: Vec<u64>,
}

/// What the head of a device holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// Zeros.
    Blank,
    /// A superblock; one of its copies may be bad.
    Superblock { superblock: Superblock, bad_copy: Option<u64> },
    /// A superblock of a format version that this program does not know.
    Version(u16),
    /// A superblock of which both copies are damaged.
    Damaged,
    /// Something else.
    Foreign(String),
}

impl Superblock {
    /// How much of the device is used.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.areas_start + self.area_segments[usize::from(self.number)] * u64::from(self.segment_bytes) * u64::from(self.cores)
    }

    /// Whether a size that is given is the one that it was formatted with: areas are whole segments, so a few bytes more or less are the same.
    pub(crate) fn gives(&self, bytes: u64) -> bool {
        let segments = |bytes: u64| bytes.saturating_sub(self.areas_start) / u64::from(self.segment_bytes);
        match self.given_bytes {
            0 => segments(bytes) / u64::from(self.cores) == self.area_segments[usize::from(self.number)],
            given => segments(bytes) == segments(given),
        }
    }

    /// The part of device `number` that belongs to a shard.
    pub(crate) fn area(&self, number: usize, shard: u16) -> Extent {
        let bytes = self.area_segments[number] * u64::from(self.segment_bytes);
        Extent { start: self.areas_start + u64::from(shard) * bytes, bytes }
    }

    /// Where the segments of a shard are, over all devices.
    pub(crate) fn stripes(&self, shard: u16) -> Stripes {
        let areas = (0..self.area_segments.len()).map(|number| self.area(number, shard)).collect();
        Stripes::new(u64::from(self.segment_bytes), areas)
    }

    /// The block of one copy.
    pub(crate) fn encode(&self) -> [u8; SUPERBLOCK_BYTES] {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[12..14].copy_from_slice(&VERSION.to_le_bytes());
        bytes[14..16].copy_from_slice(&self.cores.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.store.to_le_bytes());
        bytes[32..34].copy_from_slice(&self.number.to_le_bytes());
        bytes[34..36].copy_from_slice(&(self.area_segments.len() as u16).to_le_bytes());
        bytes[36..40].copy_from_slice(&self.segment_bytes.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.areas_start.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.formatted_s.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.given_bytes.to_le_bytes());
        for (entry, segments) in bytes[TABLE_OFFSET..].chunks_exact_mut(8).zip(&self.area_segments) {
            entry.copy_from_slice(&segments.to_le_bytes());
        }
        let checksum = base::checksum(&bytes[12..]);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads one copy. `Err(Some(version))` is a version that this program does not know.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Option<u16>> {
        let bytes: &[u8; SUPERBLOCK_BYTES] = bytes.first_chunk().ok_or(None)?;
        let number_at =
            |at: usize, length: usize| bytes[at..at + length].iter().rev().fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        if bytes[..8] != MAGIC || number_at(8, 4) != u128::from(base::checksum(&bytes[12..])) {
            return Err(None);
        }
        let version = number_at(12, 2) as u16;
        if version != VERSION {
            return Err(Some(version));
        }
        let count = number_at(34, 2) as usize;
        let table = bytes[TABLE_OFFSET..].chunks_exact(8).take(count);
        let superblock = Self {
            store: number_at(16, 16),
            cores: number_at(14, 2) as u16,
            number: number_at(32, 2) as u16,
            segment_bytes: number_at(36, 4) as u32,
            areas_start: number_at(40, 8) as u64,
            formatted_s: number_at(48, 8) as i64,
            given_bytes: number_at(56, 8) as u64,
            area_segments: table.map(|entry| entry.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))).collect(),
        };
        if superblock.is_sensible(count) { Ok(superblock) } else { Err(None) }
    }

    /// Whether all places that follow from the numbers exist: a checksum says that they were written, not that they make sense.
    fn is_sensible(&self, count: usize) -> bool {
        let area_bytes_max = (1 << 60) / u64::from(self.cores.max(1));
        (1..=DEVICES_MAX).contains(&count)
            && usize::from(self.number) < count
            && self.cores > 0
            && self.segment_bytes.is_power_of_two()
            && self.areas_start < 1 << 60
            && self.area_segments.iter().all(|segments| (1..area_bytes_max / u64::from(self.segment_bytes)).contains(segments))
            && (self.given_bytes == 0 || (self.used_bytes()..1 << 62).contains(&self.given_bytes))
    }
}

/// Judges the first [`HEAD_BYTES`] of a device, or as many as it has.
pub(crate) fn judge(head: &[u8]) -> Head {
    let copies = COPY_OFFSETS.map(|offset| head.get(offset as usize..).map_or(Err(None), Superblock::decode));
    if let Some(what) = signature::recognise(head) {
        return Head::Foreign(what.to_owned());
    }
    match copies {
        [Ok(superblock), Ok(other)] if superblock == other => Head::Superblock { superblock, bad_copy: None },
        [Ok(superblock), _] => Head::Superblock { superblock, bad_copy: Some(COPY_OFFSETS[1]) },
        [_, Ok(superblock)] => Head::Superblock { superblock, bad_copy: Some(COPY_OFFSETS[0]) },
        [Err(one), Err(other)] => {
            if let Some(version) = one.or(other) {
                return Head::Version(version);
            }
            let begins = |offset: u64| head.get(offset as usize..).is_some_and(|copy| copy.starts_with(&MAGIC));
            match head.iter().position(|byte| *byte != 0) {
                None => Head::Blank,
                Some(_) if COPY_OFFSETS.into_iter().any(begins) => Head::Damaged,
                Some(offset) => Head::Foreign(signature::unknown_at(offset as u64)),
            }
        }
    }
}

/// Reads and judges the head of a device.
pub(crate) fn read(device: &Device) -> std::io::Result<Head> {
    let length = device.bytes().min(HEAD_BYTES) as usize / base::BLOCK_BYTES * base::BLOCK_BYTES;
    if length == 0 {
        return Ok(Head::Blank);
    }
    let mut head = base::AlignedBuffer::zeroed(length);
    device.read(0, &mut head, length)?;
    Ok(judge(&head))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sample() -> Superblock {
        Superblock {
            store: 0x0123_4567_89AB_CDEF_0011_2233_4455_6677,
            cores: 3,
            number: 1,
            segment_bytes: 8 << 20,
            areas_start: HEAD_BYTES,
            formatted_s: 1_790_000_000,
            given_bytes: 0,
            area_segments: vec![40, 25],
        }
    }

    fn head(superblock: &Superblock) -> Vec<u8> {
        let mut head = vec![0; HEAD_BYTES as usize];
        for offset in COPY_OFFSETS {
            head[offset as usize..][..SUPERBLOCK_BYTES].copy_from_slice(&superblock.encode());
        }
        head
    }

    #[test]
    fn the_golden_file_is_what_is_written_and_read() {
        let golden = include_bytes!("../../tests/golden/superblock-v1.bin");
        assert_eq!(golden[..], sample().encode());
        assert_eq!(Superblock::decode(golden), Ok(sample()));
        let given = Superblock { given_bytes: sample().used_bytes() + 5, ..sample() };
        assert_eq!(Superblock::decode(&given.encode()), Ok(given.clone()));
        let senseless = Superblock { given_bytes: sample().used_bytes() - 1, ..given };
        assert_eq!(Superblock::decode(&senseless.encode()), Err(None));
    }

    #[test]
    fn one_bad_copy_is_known_and_two_are_damage() {
        let good = head(&sample());
        assert_eq!(judge(&good), Head::Superblock { superblock: sample(), bad_copy: None });
        for offset in COPY_OFFSETS {
            let mut bad = good.clone();
            bad[offset as usize + 200] ^= 1;
            assert_eq!(judge(&bad), Head::Superblock { superblock: sample(), bad_copy: Some(offset) });
            bad[COPY_OFFSETS[0] as usize + 30] ^= 1;
            bad[COPY_OFFSETS[1] as usize + 30] ^= 1;
            assert_eq!(judge(&bad), Head::Damaged);
        }
    }

    #[test]
    fn what_is_not_ours_is_named() {
        assert_eq!(judge(&vec![0; HEAD_BYTES as usize]), Head::Blank);
        let mut bytes = vec![0; HEAD_BYTES as usize];
        bytes[70_000] = 1;
        assert_eq!(judge(&bytes), Head::Foreign("data of an unknown kind at offset 70000".to_owned()));
        let mut formatted_over = head(&sample());
        formatted_over[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xEF]);
        assert_eq!(judge(&formatted_over), Head::Foreign("an ext2, ext3 or ext4 file system".to_owned()));
        let mut newer = sample().encode();
        newer[12] = 2;
        let checksum = base::checksum(&newer[12..]);
        newer[8..12].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(judge(&newer), Head::Version(2));
    }

    #[test]
    fn any_bytes_are_judged_and_senseless_numbers_are_refused() {
        let mut rng = base::Rng::new(1);
        for round in 0..2000 {
            let mut bytes = sample().encode();
            for _ in 0..=round % 8 {
                let at = 12 + rng.below(SUPERBLOCK_BYTES as u64 - 12) as usize;
                bytes[at] = rng.below(256) as u8;
            }
            let checksum = base::checksum(&bytes[12..]);
            bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
            if let Ok(superblock) = Superblock::decode(&bytes) {
                superblock.used_bytes();
                superblock.stripes(superblock.cores - 1);
            }
        }
        for length in [0, 1, 639, 640, 524_288, 524_300] {
            judge(&vec![0xA5; length]);
        }
    }

    #[test]
    fn a_size_is_the_one_that_was_given_if_it_has_the_same_segments() {
        // 25 segments for each of three: 75 to 77 give them.
        let bytes = |segments: u64| HEAD_BYTES + segments * (8 << 20);
        let gives = |given_bytes, range: std::ops::Range<u64>| {
            let superblock = Superblock { given_bytes, ..sample() };
            range.filter(|segments| superblock.gives(bytes(*segments) + 5)).collect::<Vec<_>>()
        };
        assert_eq!(gives(0, 70..80), [75, 76, 77]);
        assert_eq!(gives(bytes(77), 70..80), [77]);
        assert!(!sample().gives(0));
    }

    #[test]
    fn areas_follow_one_another() {
        let superblock = sample();
        let ends: Vec<u64> = (0..3).map(|shard| superblock.area(1, shard)).map(|area| area.start + area.bytes).collect();
        assert_eq!(superblock.area(1, 1).start, ends[0]);
        assert_eq!(ends[2], superblock.used_bytes());
        assert_eq!(superblock.stripes(2).bytes(), 65 * (8 << 20));
        assert_eq!(superblock.stripes(2).locate(8 << 20), (1, superblock.area(1, 2).start));
    }
}
