//! Compression: bodies of frames in v3 and v4, payloads of segments in v5.
//!
//! Lengths are promised by the peer, so each is checked against the limit and against what the algorithm can reach at best before a byte is
//! allocated for it. A v3/v4 LZ4 body starts with its uncompressed length (4 bytes, big-endian); Snappy carries its own; a v5 segment's header has it.
//!
//! [`CompressionWorkspace`] is what the algorithms work in. A core needs one for each direction (a reply is encoded while the frames that it
//! answers are still borrowed), not each connection: ten thousand connections cost nothing.

use std::fmt;

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};

use super::{Compression, StreamId, WireError};

/// Most bytes that a workspace keeps in one buffer between two calls.
const RETAINED_BYTES_MAX: usize = 1 << 20;

/// An LZ4 sequence gives at most 255 bytes for each byte of input.
const LZ4_RATIO_MAX: u64 = 255;

/// A Snappy copy of 3 bytes gives at most 64.
const SNAPPY_RATIO_MAX: u64 = 22;

/// From here on `lz4_flex` wants its larger table.
const SMALL_TABLE_INPUT_BYTES_MAX: usize = (u16::MAX - 1) as usize;

/// Tables and buffers for compressing and decompressing, shared by all connections of a core.
pub struct CompressionWorkspace {
    /// What was decompressed last.
    pub(super) inflated: Vec<u8>,
    /// What was compressed last.
    deflated: Vec<u8>,
    /// A frame on its way from one segment to the next.
    pub(super) moved: Vec<u8>,
    /// Made when first used, as the others.
    lz4_small: Option<Box<CompressTable>>,
    lz4_large: Option<Box<CompressTable>>,
    snappy: Option<Box<snap::raw::Encoder>>,
}

impl CompressionWorkspace {
    /// An empty workspace, which allocates nothing before it is used.
    #[must_use]
    pub fn new() -> Self {
        Self { inflated: Vec::new(), deflated: Vec::new(), moved: Vec::new(), lz4_small: None, lz4_large: None, snappy: None }
    }

    /// Bytes that its buffers hold.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.inflated.capacity() + self.deflated.capacity() + self.moved.capacity()
    }

    /// Gives back the memory that large frames took.
    pub fn trim(&mut self) {
        for buffer in [&mut self.inflated, &mut self.deflated, &mut self.moved] {
            if buffer.capacity() > RETAINED_BYTES_MAX {
                *buffer = Vec::new();
            }
        }
    }

    /// Decompresses the body of a v3 or v4 frame into `inflated` and returns its length.
    pub(super) fn inflate_body(&mut self, compression: Compression, body: &[u8], limit: u32, stream: StreamId) -> Result<usize, WireError> {
        let corrupt = WireError::Decompression { compression, compressed: body.len(), expected: 0 };
        // Drivers that compress nothing set the flag on empty bodies too.
        if body.is_empty() {
            return Ok(0);
        }
        let (promised, ratio_max, input) = match compression {
            Compression::Lz4 => {
                let (prefix, block) = body.split_first_chunk::<4>().ok_or(corrupt)?;
                (u64::from(u32::from_be_bytes(*prefix)), LZ4_RATIO_MAX, block)
            }
            Compression::Snappy => (snap::raw::decompress_len(body).map_err(|_| corrupt)? as u64, SNAPPY_RATIO_MAX, body),
        };
        if promised > u64::from(limit) {
            return Err(WireError::BodyTooLong { length: promised, limit, stream });
        }
        if promised > (input.len() as u64).saturating_mul(ratio_max) {
            return Err(WireError::Decompression { compression, compressed: body.len(), expected: promised });
        }
        self.inflate(compression, input, promised as usize)
    }

    /// Decompresses the payload of an LZ4 segment into `inflated` and returns its length, which is below 128 KiB by its 17 bits.
    pub(super) fn inflate_segment(&mut self, payload: &[u8], uncompressed_bytes: u32) -> Result<usize, WireError> {
        self.inflate(Compression::Lz4, payload, uncompressed_bytes as usize)
    }

    fn inflate(&mut self, compression: Compression, input: &[u8], expected: usize) -> Result<usize, WireError> {
        let corrupt = WireError::Decompression { compression, compressed: input.len(), expected: expected as u64 };
        if expected == 0 && compression == Compression::Lz4 {
            return Ok(0);
        }
        if self.inflated.len() < expected {
            self.inflated.resize(expected, 0);
        }
        let target = self.inflated.get_mut(..expected).unwrap_or_default();
        let produced = match compression {
            Compression::Lz4 => decompress_into(input, target).ok(),
            Compression::Snappy => snap::raw::Decoder::new().decompress(input, target).ok(),
        };
        if produced == Some(expected) { Ok(expected) } else { Err(corrupt) }
    }

    /// Compresses the body of a v3 or v4 frame; `None` if that does not make it shorter.
    pub(super) fn deflate_body(&mut self, compression: Compression, body: &[u8]) -> Option<&[u8]> {
        let length = match compression {
            Compression::Lz4 => {
                let length = self.deflate_lz4(body, 4)?;
                let promised = u32::try_from(body.len()).ok()?;
                self.deflated.get_mut(..4)?.copy_from_slice(&promised.to_be_bytes());
                length
            }
            Compression::Snappy => {
                let target = room(&mut self.deflated, snap::raw::max_compress_len(body.len()));
                self.snappy.get_or_insert_with(|| Box::new(snap::raw::Encoder::new())).compress(body, target).ok()?
            }
        };
        if length < body.len() { self.deflated.get(..length) } else { None }
    }

    /// Compresses the payload of a segment; `None` if that does not make it shorter.
    pub(super) fn deflate_segment(&mut self, payload: &[u8]) -> Option<&[u8]> {
        let length = self.deflate_lz4(payload, 0)?;
        if length < payload.len() { self.deflated.get(..length) } else { None }
    }

    /// Compresses into `deflated` after `prefix` bytes and returns where the block ends.
    fn deflate_lz4(&mut self, input: &[u8], prefix: usize) -> Option<usize> {
        let table = if input.len() <= SMALL_TABLE_INPUT_BYTES_MAX {
            self.lz4_small.get_or_insert_with(|| Box::new(CompressTable::small()))
        } else {
            self.lz4_large.get_or_insert_with(|| Box::new(CompressTable::large()))
        };
        let target = room(&mut self.deflated, prefix + get_maximum_output_size(input.len())).get_mut(prefix..)?;
        Some(prefix + compress_into_with_table(input, target, table).ok()?)
    }
}

impl Default for CompressionWorkspace {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CompressionWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompressionWorkspace").field("capacity_bytes", &self.capacity_bytes()).finish_non_exhaustive()
    }
}

/// The first `length` bytes of `buffer`, grown as needed.
fn room(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    buffer.get_mut(..length).unwrap_or_default()
}
