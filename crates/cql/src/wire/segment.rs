//! The segment: what v5 wraps around frames once STARTUP is answered.
//!
//! ```text
//! uncompressed   bits 0-16 payload length | 17 self-contained | 18-23 zero                          CRC-24 | payload | CRC-32
//! LZ4            bits 0-16 payload length | 17-33 uncompressed length | 34 self-contained | 35-39 0  CRC-24 | payload | CRC-32
//! ```
//! Header and checksums are little-endian, unlike everything else. A self-contained segment holds whole frames; a frame of more than
//! [`SEGMENT_PAYLOAD_BYTES_MAX`] bytes is spread over segments of its own. With LZ4, an uncompressed length of 0 says that the payload is plain.
//! Source: native protocol v5, section 2.2.

use super::WireError;
use super::checksum::{crc24, crc32};

/// The longest payload of a segment, compressed or not.
pub const SEGMENT_PAYLOAD_BYTES_MAX: usize = (1 << LENGTH_BITS) - 1;

/// Length of the checksum that follows a payload.
pub const SEGMENT_TRAILER_BYTES: usize = 4;

const LENGTH_BITS: u32 = 17;
const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;
const CRC24_BYTES: usize = 3;

/// Which of the two headers a connection's segments have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentFormat {
    /// 6 bytes of header, plain payload.
    Plain,
    /// 8 bytes of header, payload compressed where that makes it shorter.
    Lz4,
}

impl SegmentFormat {
    /// Length of the header, its checksum included.
    #[must_use]
    #[inline]
    pub fn header_bytes(self) -> usize {
        match self {
            Self::Plain => 6,
            Self::Lz4 => 8,
        }
    }
}

/// Whether a segment holds whole frames or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentContent {
    /// One or more whole frames.
    Frames,
    /// A part of a large frame.
    Part,
}

/// A segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Length of the payload as it travels.
    pub payload_bytes: u32,
    /// Length of the payload decompressed, or 0 if it is plain.
    pub uncompressed_bytes: u32,
    /// What the payload holds.
    pub content: SegmentContent,
}

impl SegmentHeader {
    /// Reads a header from the start of `bytes`; `None` if more are needed.
    ///
    /// # Errors
    /// [`WireError::HeaderChecksum`].
    #[inline]
    pub fn parse(bytes: &[u8], format: SegmentFormat) -> Result<Option<Self>, WireError> {
        let header_bytes = format.header_bytes();
        let Some(header) = bytes.get(..header_bytes) else { return Ok(None) };
        let (data, checksum) = header.split_at(header_bytes - CRC24_BYTES);
        let stored = little_endian(checksum) as u32;
        let computed = crc24(data);
        if stored != computed {
            return Err(WireError::HeaderChecksum { stored, computed });
        }
        let bits = little_endian(data);
        let payload_bytes = (bits & LENGTH_MASK) as u32;
        let (uncompressed_bytes, flag_bit) = match format {
            SegmentFormat::Plain => (0, LENGTH_BITS),
            SegmentFormat::Lz4 => (((bits >> LENGTH_BITS) & LENGTH_MASK) as u32, 2 * LENGTH_BITS),
        };
        let content = if (bits >> flag_bit) & 1 == 1 { SegmentContent::Frames } else { SegmentContent::Part };
        Ok(Some(Self { payload_bytes, uncompressed_bytes, content }))
    }

    /// Writes the header over the first bytes of `target`, which must be [`SegmentFormat::header_bytes`] long at least.
    pub fn write(&self, target: &mut [u8], format: SegmentFormat) {
        let self_contained = u64::from(self.content == SegmentContent::Frames);
        let bits = match format {
            SegmentFormat::Plain => u64::from(self.payload_bytes) | self_contained << LENGTH_BITS,
            SegmentFormat::Lz4 => {
                u64::from(self.payload_bytes) | u64::from(self.uncompressed_bytes) << LENGTH_BITS | self_contained << (2 * LENGTH_BITS)
            }
        };
        let data_bytes = format.header_bytes() - CRC24_BYTES;
        let encoded = bits.to_le_bytes();
        let data = encoded.get(..data_bytes).unwrap_or_default();
        let checksum = crc24(data).to_le_bytes();
        for (target, source) in target.iter_mut().zip(data.iter().chain(checksum.iter().take(CRC24_BYTES))) {
            *target = *source;
        }
    }

    /// Length of the whole segment.
    #[must_use]
    #[inline]
    pub fn segment_bytes(&self, format: SegmentFormat) -> usize {
        format.header_bytes() + self.payload_bytes as usize + SEGMENT_TRAILER_BYTES
    }
}

/// The payload of a whole segment, checked against its checksum.
///
/// # Errors
/// [`WireError::PayloadChecksum`].
#[inline]
pub(super) fn checked_payload(segment: &[u8], format: SegmentFormat) -> Result<&[u8], WireError> {
    let after_header = segment.get(format.header_bytes()..).unwrap_or_default();
    let (payload, trailer) = after_header.split_at(after_header.len().saturating_sub(SEGMENT_TRAILER_BYTES));
    let stored = little_endian(trailer) as u32;
    let computed = crc32(payload);
    if stored == computed { Ok(payload) } else { Err(WireError::PayloadChecksum { stored, computed }) }
}

/// The checksum that follows `payload`.
pub(super) fn payload_trailer(payload: &[u8]) -> [u8; SEGMENT_TRAILER_BYTES] {
    crc32(payload).to_le_bytes()
}

#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
