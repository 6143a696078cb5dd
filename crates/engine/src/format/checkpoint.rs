//! A checkpoint on the device: the commit record, the chunks that its byte stream is cut into, and the entries of the stream.
//!
//! ```text
//! segment with state 3:  header block (the first one's also has the commit) │ chunk │ chunk │ …
//! chunk:   checksum 4 │ length 4 │ checkpoint 8 │ index 4 │ zero 12 │ a piece of the stream
//! stream:  entry │ entry │ …      entry:  kind 1 │ zero 3 │ length 4 │ payload
//! ```
//! Entries may cross from one chunk into the next. All chunks but the last are full.
//!
//! Invariant: any bytes are read without panic, and an entry is never longer than `ENTRY_BYTES_MAX`, so a reader's memory is bounded.

#[cfg(test)]
mod tests;

use crate::format::record::{self, Salt};
use crate::key::Sequence;
use crate::location::SegmentId;
use crate::log::Point;
use base::{BLOCK_BYTES, TableId};

/// Bytes of a commit record.
const COMMIT_BYTES: usize = 64;
/// Where it stands in the header block: behind each copy of the header, in the same sector.
const COMMIT_OFFSETS: [usize; 2] = [64, 2048 + 64];
const COMMIT_MAGIC: [u8; 8] = *b"TARNCKP1";
const _: () = assert!(COMMIT_BYTES == 8 + 4 + 4 + 8 + 8 + 8 + 8 + 4 + 12);
/// Bytes before the piece of the stream in a chunk.
pub(crate) const CHUNK_HEADER_BYTES: usize = 32;
const _: () = assert!(CHUNK_HEADER_BYTES == 4 + 4 + 8 + 4 + 12);
/// A chunk is at most this long.
const CHUNK_BYTES_MAX: usize = 128 << 10;
/// Bytes before an entry's payload.
const ENTRY_HEADER_BYTES: usize = 8;
/// An entry is at most this long.
pub(crate) const ENTRY_BYTES_MAX: usize = 1 << 20;
/// Bytes of a cell in an entry.
pub(crate) const CELL_BYTES: usize = 16;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Says that a checkpoint is complete, in the header block of its first segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Which checkpoint of the store.
    pub(crate) number: u64,
    /// The nonce of the first segment.
    pub(crate) nonce: u64,
    /// Everything appended from here on has to be read besides.
    pub(crate) start: Point,
    pub(crate) segments: u32,
    pub(crate) stream_bytes: u64,
}

impl Commit {
    /// Adds the record to a header block, once behind each copy of the header.
    pub(crate) fn fill_block(&self, block: &mut [u8]) {
        let mut bytes = [0; COMMIT_BYTES];
        bytes[..8].copy_from_slice(&COMMIT_MAGIC);
        bytes[12..16].copy_from_slice(&self.segments.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.nonce.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.start.generation.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.stream_bytes.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.start.offset.to_le_bytes());
        let checksum = base::checksum(&bytes[12..]);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
        for offset in COMMIT_OFFSETS {
            block[offset..offset + COMMIT_BYTES].copy_from_slice(&bytes);
        }
    }

    /// Reads the record from a header block, if there is one.
    pub(crate) fn read_block(block: &[u8]) -> Option<Self> {
        COMMIT_OFFSETS.iter().find_map(|offset| Self::decode(block.get(*offset..)?))
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; COMMIT_BYTES] = bytes.first_chunk()?;
        (bytes[..8] == COMMIT_MAGIC && u32_at(bytes, 8) == base::checksum(&bytes[12..])).then(|| Self {
            number: u64_at(bytes, 16),
            nonce: u64_at(bytes, 24),
            start: Point { generation: u64_at(bytes, 32), offset: u32_at(bytes, 48) },
            segments: u32_at(bytes, 12),
            stream_bytes: u64_at(bytes, 40),
        })
    }
}

/// Where the chunks of a checkpoint lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    /// Bytes of a full chunk, its header included.
    pub(crate) bytes: usize,
    per_segment: usize,
}

impl Chunks {
    pub(crate) fn new(segment_bytes: u32) -> Self {
        let room = segment_bytes as usize - BLOCK_BYTES;
        let bytes = room.min(CHUNK_BYTES_MAX);
        Self { bytes, per_segment: room / bytes }
    }

    /// Stream bytes in a full chunk.
    pub(crate) fn payload(&self) -> usize {
        self.bytes - CHUNK_HEADER_BYTES
    }

    /// The number of the segment within the checkpoint, and the offset in it.
    pub(crate) fn place(&self, index: usize) -> (usize, usize) {
        (index / self.per_segment, BLOCK_BYTES + index % self.per_segment * self.bytes)
    }

    /// How many chunks a stream takes.
    pub(crate) fn count(&self, stream_bytes: u64) -> u64 {
        stream_bytes.div_ceil(self.payload() as u64)
    }

    /// How many segments a stream takes.
    pub(crate) fn segments(&self, stream_bytes: u64) -> u64 {
        self.count(stream_bytes).div_ceil(self.per_segment as u64)
    }
}

/// Completes a chunk of `length` bytes whose piece of the stream is in place; what follows it is zeroed up to the next block.
pub(crate) fn finish_chunk(chunk: &mut [u8], length: usize, number: u64, index: usize, salt: Salt, offset: usize) {
    chunk[..CHUNK_HEADER_BYTES].fill(0);
    chunk[4..8].copy_from_slice(&(length as u32).to_le_bytes());
    chunk[8..16].copy_from_slice(&number.to_le_bytes());
    chunk[16..20].copy_from_slice(&(index as u32).to_le_bytes());
    record::finish(chunk, length, salt, offset);
    chunk[length..length.next_multiple_of(BLOCK_BYTES)].fill(0);
}

/// The piece of the stream in a chunk, which has to be of this length; `None` if anything is wrong.
pub(crate) fn read_chunk(chunk: &[u8], payload: usize, number: u64, index: usize, salt: Salt, offset: usize) -> Option<&[u8]> {
    let length = CHUNK_HEADER_BYTES + payload;
    let chunk = chunk.get(..length)?;
    let named = u32_at(chunk, 4) as usize == length && u64_at(chunk, 8) == number && u32_at(chunk, 16) as usize == index;
    (named && record::is_intact(chunk, salt, offset)).then(|| &chunk[CHUNK_HEADER_BYTES..])
}

/// What was so when the entries after it were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// What was appended before is in the entries.
    pub(crate) point: Point,
    /// The next sequence to be given out: all rows in the entries have lower ones.
    pub(crate) next_sequence: Sequence,
}

/// What is known of a segment of the log that need not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentState {
    pub(crate) segment: SegmentId,
    pub(crate) used: u32,
    pub(crate) generation: u64,
    pub(crate) purge_after_s: i64,
    pub(crate) purgeable_bytes: u32,
    /// Whether something in it has no purge time, or a later one than is known.
    pub(crate) lasting: bool,
    /// Whether a row with a purge time may have taken the place of an older version.
    pub(crate) replacing: bool,
    /// Whether records of resident tables from before a restart were moved to it.
    pub(crate) has_old_residents: bool,
}

/// Flags of a segment's entry. Without any, nothing is known: what older programs wrote.
const SEGMENT_ENDS: u32 = 1;
const SEGMENT_FIRST_VERSIONS: u32 = 2;
const SEGMENT_OLD_RESIDENTS: u32 = 4;

/// An entry of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Stamp(Stamp),
    /// The entries that follow are of this table.
    Table(TableId),
    /// Cells of a slot that name records, `CELL_BYTES` each: tail, location.
    Cells {
        slot: u32,
        cells: &'a [u8],
    },
    /// A cell of a slot that names a partition; its rows follow.
    Partition {
        slot: u32,
        tail: u64,
        key: &'a [u8],
    },
    /// A leaf of the partition, as `Leaf` encodes it.
    Rows(&'a [u8]),
    /// Pages of the partition, after its leaves, as `PageMap` encodes them.
    Pages(&'a [u8]),
    Segment(SegmentState),
    /// The last entry, with the number of rows.
    End {
        rows: u64,
    },
}

const KIND_STAMP: u8 = 1;
const KIND_TABLE: u8 = 2;
const KIND_CELLS: u8 = 3;
const KIND_PARTITION: u8 = 4;
const KIND_ROWS: u8 = 5;
const KIND_SEGMENT: u8 = 6;
const KIND_END: u8 = 7;
const KIND_PAGES: u8 = 8;

/// The stream is not one that this engine writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl<'a> Item<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Stamp(stamp) => write(out, KIND_STAMP, |out| {
                out.extend_from_slice(&stamp.point.generation.to_le_bytes());
                out.extend_from_slice(&stamp.next_sequence.0.to_le_bytes());
                out.extend_from_slice(&u64::from(stamp.point.offset).to_le_bytes());
            }),
            Self::Table(table) => write(out, KIND_TABLE, |out| out.extend_from_slice(&u64::from(table.0).to_le_bytes())),
            Self::Cells { slot, cells } => write_cells(out, *slot, |out| out.extend_from_slice(cells)),
            Self::Partition { slot, tail, key } => write(out, KIND_PARTITION, |out| {
                out.extend_from_slice(&u64::from(*slot).to_le_bytes());
                out.extend_from_slice(&tail.to_le_bytes());
                out.extend_from_slice(key);
            }),
            Self::Rows(bytes) => write_rows(out, |out| out.extend_from_slice(bytes)),
            Self::Pages(bytes) => write_pages(out, |out| out.extend_from_slice(bytes)),
            Self::Segment(state) => write(out, KIND_SEGMENT, |out| {
                out.extend_from_slice(&state.segment.0.to_le_bytes());
                out.extend_from_slice(&state.used.to_le_bytes());
                out.extend_from_slice(&state.generation.to_le_bytes());
                out.extend_from_slice(&state.purge_after_s.to_le_bytes());
                out.extend_from_slice(&state.purgeable_bytes.to_le_bytes());
                // The second flag is of no use without the first.
                let first_versions = if state.replacing { 0 } else { SEGMENT_FIRST_VERSIONS };
                let flags = if state.lasting { 0 } else { SEGMENT_ENDS | first_versions };
                let old_residents = if state.has_old_residents { SEGMENT_OLD_RESIDENTS } else { 0 };
                out.extend_from_slice(&(flags | old_residents).to_le_bytes());
            }),
            Self::End { rows } => write(out, KIND_END, |out| out.extend_from_slice(&rows.to_le_bytes())),
        }
    }

    /// The entry that starts `bytes` and its length; `None` when its end is not there yet.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let Some(header) = bytes.get(..ENTRY_HEADER_BYTES) else { return Ok(None) };
        let length = u32_at(header, 4) as usize;
        if header[1..4] != [0; 3] || length > ENTRY_BYTES_MAX - ENTRY_HEADER_BYTES {
            return Err(Malformed);
        }
        let end = ENTRY_HEADER_BYTES + length;
        let Some(payload) = bytes.get(ENTRY_HEADER_BYTES..end) else { return Ok(None) };
        let small = |at: usize| u32::try_from(u64_at(payload, at)).map_err(|_| Malformed);
        let item = match (header[0], length) {
            (KIND_STAMP, 24) => Self::Stamp(Stamp {
                point: Point { generation: u64_at(payload, 0), offset: small(16)? },
                next_sequence: Sequence(u64_at(payload, 8)),
            }),
            (KIND_TABLE, 8) => Self::Table(TableId(small(0)?)),
            (KIND_CELLS, 8..) if (length - 8).is_multiple_of(CELL_BYTES) => Self::Cells { slot: small(0)?, cells: &payload[8..] },
            (KIND_PARTITION, 16..) => Self::Partition { slot: small(0)?, tail: u64_at(payload, 8), key: &payload[16..] },
            (KIND_ROWS, _) => Self::Rows(payload),
            (KIND_PAGES, _) => Self::Pages(payload),
            (KIND_SEGMENT, 32) => Self::Segment(SegmentState {
                segment: SegmentId(u32_at(payload, 0)),
                used: u32_at(payload, 4),
                generation: u64_at(payload, 8),
                purge_after_s: u64_at(payload, 16) as i64,
                purgeable_bytes: u32_at(payload, 24),
                lasting: u32_at(payload, 28) & SEGMENT_ENDS == 0,
                replacing: u32_at(payload, 28) & SEGMENT_FIRST_VERSIONS == 0,
                has_old_residents: u32_at(payload, 28) & SEGMENT_OLD_RESIDENTS != 0,
            }),
            (KIND_END, 8) => Self::End { rows: u64_at(payload, 0) },
            _ => return Err(Malformed),
        };
        Ok(Some((item, end)))
    }
}

/// Appends an entry whose payload `fill` appends.
fn write(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
    fill(out);
    let length = out.len() - start - ENTRY_HEADER_BYTES;
    assert!(length <= ENTRY_BYTES_MAX - ENTRY_HEADER_BYTES, "entries are made of bounded parts");
    out[start + 4..start + 8].copy_from_slice(&(length as u32).to_le_bytes());
}

/// Appends an entry of cells.
pub(crate) fn write_cells(out: &mut Vec<u8>, slot: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    write(out, KIND_CELLS, |out| {
        out.extend_from_slice(&u64::from(slot).to_le_bytes());
        fill(out);
    });
}

/// Appends an entry of pages.
pub(crate) fn write_pages(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    write(out, KIND_PAGES, fill);
}

/// Appends an entry of a leaf.
pub(crate) fn write_rows(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    write(out, KIND_ROWS, fill);
}
