//! The frame: nine bytes of header, then a body.
//!
//! ```text
//!  0        1        2                 4        5                                   9
//! +--------+--------+-----------------+--------+-----------------------------------+--------
//! |version | flags  | stream (i16)    | opcode | body length (u32)                 | body …
//! +--------+--------+-----------------+--------+-----------------------------------+--------
//! ```
//! All big-endian; the top bit of the version byte is set in responses. Source: native protocol v4 and v5, section 2.

use std::ops::{BitOr, BitOrAssign};

use super::{Opcode, ProtocolVersion, StreamId, WireError};

/// Length of a frame's header.
pub const FRAME_HEADER_BYTES: usize = 9;

/// The protocol's own limit of a body.
pub const FRAME_BODY_BYTES_MAX: u32 = 256 << 20;

/// Enough of a header to answer a version that is not spoken here.
const VERSION_PREFIX_BYTES: usize = 4;

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From client to server.
    Request,
    /// From server to client.
    Response,
}

impl Direction {
    fn bit(self) -> u8 {
        match self {
            Self::Request => 0,
            Self::Response => 0x80,
        }
    }
}

/// The flags of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameFlags(pub u8);

impl FrameFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The body is compressed (v3 and v4; v5 compresses segments).
    pub const COMPRESSED: Self = Self(0x01);
    /// Request: trace this. Response: the body starts with a tracing id.
    pub const TRACING: Self = Self(0x02);
    /// A custom payload precedes the message.
    pub const CUSTOM_PAYLOAD: Self = Self(0x04);
    /// Response: warnings precede the message.
    pub const WARNING: Self = Self(0x08);
    /// The client accepts a protocol version in beta; none is spoken here, so it changes nothing.
    pub const USE_BETA: Self = Self(0x10);

    /// Whether all flags of `other` are set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags without those of `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for FrameFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for FrameFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Protocol version.
    pub version: ProtocolVersion,
    /// Request or response.
    pub direction: Direction,
    /// Flags.
    pub flags: FrameFlags,
    /// Stream.
    pub stream: StreamId,
    /// The opcode byte, which may be unknown: see [`FrameHeader::opcode`].
    pub opcode_byte: u8,
    /// Length of the body as it travels, that is, compressed if it is.
    pub body_bytes: u32,
}

impl FrameHeader {
    /// Reads a header from the start of `bytes`; `None` if more are needed.
    ///
    /// # Errors
    /// [`WireError::UnsupportedVersion`], as soon as the stream id is there: a frame of protocol 1 is shorter than a header of ours.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, WireError> {
        let Some(&[version_byte, flags, stream_high, stream_low, opcode_byte, l0, l1, l2, l3]) = bytes.first_chunk() else {
            return Self::check_version_prefix(bytes).map(|()| None);
        };
        let stream = StreamId(i16::from_be_bytes([stream_high, stream_low]));
        let Some(version) = ProtocolVersion::from_number(version_byte & 0x7F) else {
            return Err(unsupported(version_byte, stream_high, stream));
        };
        let direction = if version_byte & 0x80 == 0 { Direction::Request } else { Direction::Response };
        let body_bytes = u32::from_be_bytes([l0, l1, l2, l3]);
        Ok(Some(Self { version, direction, flags: FrameFlags(flags), stream, opcode_byte, body_bytes }))
    }

    fn check_version_prefix(bytes: &[u8]) -> Result<(), WireError> {
        let Some(&[version_byte, _, stream_high, stream_low]) = bytes.first_chunk::<VERSION_PREFIX_BYTES>() else {
            return Ok(());
        };
        match ProtocolVersion::from_number(version_byte & 0x7F) {
            Some(_) => Ok(()),
            None => Err(unsupported(version_byte, stream_high, StreamId(i16::from_be_bytes([stream_high, stream_low])))),
        }
    }

    /// The kind of message.
    ///
    /// # Errors
    /// [`WireError::UnknownOpcode`].
    #[inline]
    pub fn opcode(&self) -> Result<Opcode, WireError> {
        Opcode::try_from(self.opcode_byte)
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        let [stream_high, stream_low] = self.stream.0.to_be_bytes();
        let [l0, l1, l2, l3] = self.body_bytes.to_be_bytes();
        let version_byte = self.version.number() | self.direction.bit();
        out.extend_from_slice(&[version_byte, self.flags.0, stream_high, stream_low, self.opcode_byte, l0, l1, l2, l3]);
    }
}

/// Protocols 1 and 2 have a stream id of one byte.
fn unsupported(version_byte: u8, stream_high: u8, stream: StreamId) -> WireError {
    let version = version_byte & 0x7F;
    let stream = if version < 3 { StreamId(i16::from(stream_high.cast_signed())) } else { stream };
    WireError::UnsupportedVersion { version, stream }
}

/// A whole frame, its body decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The header as received.
    pub header: FrameHeader,
    /// The body, decompressed.
    pub body: &'a [u8],
}

/// Where a frame that is being written starts.
#[derive(Debug)]
#[must_use = "a frame has no length before end_frame"]
pub struct FrameMark {
    pub(super) start: usize,
}

/// Appends a header whose length [`end_frame`] fills in once the body has been appended after it.
pub fn begin_frame(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    direction: Direction,
    flags: FrameFlags,
    stream: StreamId,
    opcode: Opcode,
) -> FrameMark {
    let start = out.len();
    FrameHeader { version, direction, flags, stream, opcode_byte: opcode as u8, body_bytes: 0 }.write(out);
    FrameMark { start }
}

/// Writes the length of the body that was appended since `mark`.
///
/// # Errors
/// [`WireError::BodyTooLong`] beyond [`FRAME_BODY_BYTES_MAX`]; the frame is then taken out of `out` again.
pub fn end_frame(out: &mut Vec<u8>, mark: FrameMark) -> Result<(), WireError> {
    let length = out.len().saturating_sub(mark.start + FRAME_HEADER_BYTES);
    match u32::try_from(length) {
        Ok(body_bytes) if body_bytes <= FRAME_BODY_BYTES_MAX => {
            patch_body_length(out, mark.start, body_bytes);
            Ok(())
        }
        _ => {
            let stream = match out.get(mark.start + 2..mark.start + 4) {
                Some(&[high, low]) => StreamId(i16::from_be_bytes([high, low])),
                _ => StreamId::default(),
            };
            out.truncate(mark.start);
            Err(WireError::BodyTooLong { length: length as u64, limit: FRAME_BODY_BYTES_MAX, stream })
        }
    }
}

pub(super) fn patch_body_length(out: &mut [u8], start: usize, body_bytes: u32) {
    if let Some(field) = out.get_mut(start + 5..start + FRAME_HEADER_BYTES) {
        field.copy_from_slice(&body_bytes.to_be_bytes());
    }
}
