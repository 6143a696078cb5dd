//! Looking at segments offline: what a header says, and every record of an image with its checksum, by the engine's own format code.
//!
//! Read-only and without an engine: for tools that show and check a device while no server runs.

use crate::format::checkpoint::{Chunks, Commit, read_chunk};
use crate::format::codec::Decoder;
use crate::format::page::{Decoded, PageView};
use crate::format::record::{Record, Salt};
use crate::format::segment_header::{COPY_OFFSET, HeaderBlock, HeaderState, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::key::{Key, Kind, Row, Sequence};
use crate::location::padded;
use crate::walk::{Step, Walk};
use base::BLOCK_BYTES;

/// What a segment's header says that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Records that count.
    Records,
    /// Nothing that counts.
    Free,
    /// A part of a checkpoint of the index. Nothing is lost with it: without it a start reads the whole log.
    Checkpoint {
        /// Which checkpoint of the shard.
        number: u64,
        /// Which of its segments this is, from 0.
        ordinal: u32,
        /// In the first segment of a checkpoint that was completed: how long the checkpoint is.
        stream_bytes: Option<u64>,
    },
}

/// A valid segment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// What the segment holds.
    pub contents: Contents,
    /// The store that wrote it.
    pub store: u64,
    /// The shard that wrote it.
    pub shard: u32,
    /// Its number, as it was written: another one than its place says is a misdirected write.
    pub segment: u32,
    /// The number of this use of a segment, over the whole shard.
    pub generation: u64,
    /// Sequences given out since the segment was opened are at least this.
    pub base_sequence: Sequence,
    /// Bytes in a segment.
    pub segment_bytes: u32,
    /// What follows the header block is encrypted.
    pub encrypted: bool,
    /// One of the two copies is neither valid nor zero.
    pub bad_copy: bool,
    salt: Salt,
}

/// What the first block of a segment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SegmentHead {
    /// Zeros: the segment was never used.
    #[default]
    Blank,
    /// A header.
    Valid(SegmentInfo),
    /// A header of a format version that this program does not know.
    Unknown {
        /// That version.
        version: u16,
    },
    /// Neither zeros nor a header.
    Damaged,
}

/// What is at a place of a segment.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A valid record.
    Record {
        /// Where it starts in the segment.
        offset: usize,
        /// Bytes it takes, padding included.
        bytes: usize,
        /// Its key.
        key: Key<'a>,
        /// Its sequence.
        sequence: Sequence,
        /// Row or tombstone.
        kind: Kind,
    },
    /// Bytes that are no valid record, with valid ones or the seal after them.
    Damage {
        /// Where it starts in the segment.
        offset: usize,
        /// How many bytes, up to the end of the image if the seal is gone.
        bytes: usize,
    },
    /// The seal: the segment was finished.
    Seal {
        /// Where the segment's content ends.
        end: usize,
    },
    /// Neither a valid record nor a seal follows: the segment was open when its writer ended.
    Open {
        /// Where the valid records end.
        end: usize,
    },
}

impl SegmentInfo {
    pub(crate) fn salt(&self) -> Salt {
        self.salt
    }
}

impl SegmentHead {
    /// Reads the first block of a segment.
    #[must_use]
    pub fn read(block: &[u8]) -> Self {
        let header = match SegmentHeader::read_block(block) {
            HeaderBlock::Blank => return Self::Blank,
            HeaderBlock::Unknown(version) => return Self::Unknown { version },
            HeaderBlock::Damaged => return Self::Damaged,
            HeaderBlock::Valid(header) => header,
        };
        let is_bad = |offset: usize| {
            let copy = &block[offset..offset + SEGMENT_HEADER_BYTES];
            SegmentHeader::decode(copy).is_err() && copy.iter().any(|byte| *byte != 0)
        };
        Self::Valid(SegmentInfo {
            contents: match header.state {
                HeaderState::Used => Contents::Records,
                HeaderState::Free => Contents::Free,
                HeaderState::Checkpoint => Contents::Checkpoint {
                    number: header.base_sequence.0,
                    ordinal: header.ordinal,
                    stream_bytes: Commit::read_block(block)
                        .filter(|commit| (commit.number, commit.nonce) == (header.base_sequence.0, header.nonce))
                        .map(|commit| commit.stream_bytes),
                },
            },
            store: header.store,
            shard: header.shard,
            segment: header.segment,
            generation: header.generation,
            base_sequence: header.base_sequence,
            segment_bytes: header.segment_bytes,
            encrypted: header.encrypted,
            bad_copy: block.len() >= BLOCK_BYTES && [0, COPY_OFFSET].into_iter().any(is_bad),
            salt: header.salt(),
        })
    }
}

/// Walks over the image of a segment that holds records and checks every one. `finished` says that the segment is known to have been
/// finished and synced: then the seal is missed, too, and nothing is taken for an open end.
pub fn walk_segment<'a>(image: &'a [u8], info: &SegmentInfo, finished: bool, mut visit: impl FnMut(Found<'a>)) {
    let walk = if finished { Walk::finished } else { Walk::new };
    let mut walk = walk(image, info.salt, 0);
    let mut end = BLOCK_BYTES;
    while let Some(step) = walk.next() {
        visit(match step {
            Step::Record { offset, record } => {
                let bytes = padded(record.length());
                end = offset + bytes;
                Found::Record { offset, bytes, key: record.key(), sequence: record.sequence(), kind: record.kind() }
            }
            Step::Damage { offset, end: after } => {
                end = after;
                Found::Damage { offset, bytes: after - offset }
            }
            Step::Seal { end, .. } => Found::Seal { end },
            Step::Torn => Found::Open { end },
        });
    }
}

/// Visits the rows of a page: clustering key, row. Nothing if the record at `offset` of a segment's image is no page, or a damaged one.
pub fn visit_page(image: &[u8], info: &SegmentInfo, offset: usize, mut visit: impl FnMut(&[u8], Row<'_>)) {
    let record = image.get(offset..).and_then(|bytes| Record::verify(bytes, info.salt, offset)).filter(Record::is_page);
    let Some(page) = record.and_then(|record| PageView::parse(record.row().bytes)) else { return };
    let mut rows = Decoded::default();
    if rows.read(&page, &mut Decoder::default()).is_some() {
        (0..rows.len()).for_each(|number| visit(rows.key(number), rows.row(number)));
    }
}

/// Checks the image of a segment of a completed checkpoint of `stream_bytes` bytes: offset and length of each chunk that is damaged.
#[must_use]
pub fn check_checkpoint(image: &[u8], info: &SegmentInfo, stream_bytes: u64) -> Vec<(usize, usize)> {
    let Contents::Checkpoint { number, ordinal, .. } = info.contents else { return Vec::new() };
    let chunks = Chunks::new(info.segment_bytes);
    let count = chunks.count(stream_bytes);
    let mut damaged = Vec::new();
    let per_segment = (image.len().saturating_sub(BLOCK_BYTES) / chunks.bytes) as u64;
    let first = u64::from(ordinal) * per_segment;
    for index in first..count.min(first + per_segment) {
        let (_, offset) = chunks.place(index as usize);
        let payload = (stream_bytes - index * chunks.payload() as u64).min(chunks.payload() as u64) as usize;
        let chunk = image.get(offset..).unwrap_or_default();
        if read_chunk(chunk, payload, number, index as usize, info.salt, offset).is_none() {
            damaged.push((offset, payload));
        }
    }
    damaged
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &[u8] = include_bytes!("../tests/golden/segments-v1.bin");
    const SEGMENT_BYTES: usize = 16 << 10;

    #[test]
    fn the_golden_segments_are_whole_and_every_changed_byte_of_a_record_is_found() {
        for (number, image) in GOLDEN.chunks_exact(SEGMENT_BYTES).enumerate() {
            let SegmentHead::Valid(info) = SegmentHead::read(image) else { panic!("a golden segment has a header") };
            assert_eq!((info.segment as usize, info.contents, info.bad_copy), (number, Contents::Records, false));
            let mut places = Vec::new();
            walk_segment(image, &info, false, |found| match found {
                Found::Record { offset, bytes, .. } => places.push((offset, bytes)),
                Found::Damage { offset, .. } => panic!("damage at {offset}"),
                Found::Seal { .. } | Found::Open { .. } => {}
            });
            for (offset, _) in places {
                let mut damaged = image.to_vec();
                damaged[offset + 9] ^= 1;
                let mut missing = true;
                walk_segment(&damaged, &info, false, |found| missing &= !matches!(found, Found::Record { offset: at, .. } if at == offset));
                assert!(missing, "the record at {offset}");
            }
        }
    }

    #[test]
    fn a_bad_copy_of_the_header_is_told() {
        let mut block = GOLDEN[..BLOCK_BYTES].to_vec();
        block[COPY_OFFSET + 20] ^= 1;
        assert!(matches!(SegmentHead::read(&block), SegmentHead::Valid(SegmentInfo { bad_copy: true, .. })));
        block[20] ^= 1;
        assert_eq!(SegmentHead::read(&block), SegmentHead::Damaged);
        assert_eq!(SegmentHead::read(&[0; BLOCK_BYTES]), SegmentHead::Blank);
        assert_eq!(SegmentHead::read(&[]), SegmentHead::Blank);
    }
}
