//! From bytes as they arrive to whole frames.
//!
//! ```text
//! receive buffer ──┬─ whole frame in it ───────────────── borrowed ──┐
//!                  ├─ rest of a frame ── joined in `partial` ────────┤
//!                  ├─ v3/v4 compressed body ── workspace ────────────┼─► Frame
//!                  └─ v5 segment ── CRC ──┬─ frames, borrowed ───────┤
//!                                         ├─ LZ4 ── workspace ───────┤
//!                                         └─ part ── `large` ────────┘
//! ```
//! Invariants: bytes are delivered once and in order, however they are cut up on arrival; what is kept between two chunks is less than one
//! frame or segment (plus what a caller left unread), and memory for it grows with the bytes received, not with a length that a header promises;
//! after an error every call gives it again.

pub(super) mod frames;

use super::{
    Compression, Direction, FRAME_BODY_BYTES_MAX, FRAME_HEADER_BYTES, FrameHeader, ProtocolVersion, SegmentFormat, VersionedFeature,
    WireError,
};

/// A connection that has nothing pending keeps no more than this.
const RETAINED_BYTES_MAX: usize = 4 << 10;

/// How bytes are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    /// Frames one after another: v3, v4, and v5 until STARTUP is answered.
    Frames(Option<Compression>),
    /// Frames within segments: v5 afterwards.
    Segments(SegmentFormat),
}

/// The receiving half of one connection.
#[derive(Debug)]
pub struct FrameDecoder {
    incoming: Direction,
    body_bytes_max: u32,
    version: Option<ProtocolVersion>,
    transport: Transport,
    /// Bytes of a frame or segment that is not whole yet; the first `partial_read` are done with.
    partial: Vec<u8>,
    partial_read: usize,
    /// The parts of a large frame.
    large: Vec<u8>,
    /// Whole frames out of a segment that the caller stopped in.
    unread: Vec<u8>,
    failed: Option<WireError>,
}

impl FrameDecoder {
    /// A decoder of a new connection for frames that go in direction `incoming` and have bodies of at most `body_bytes_max`.
    #[must_use]
    pub fn new(incoming: Direction, body_bytes_max: u32) -> Self {
        Self {
            incoming,
            body_bytes_max: body_bytes_max.min(FRAME_BODY_BYTES_MAX),
            version: None,
            transport: Transport::Frames(None),
            partial: Vec::new(),
            partial_read: 0,
            large: Vec::new(),
            unread: Vec::new(),
            failed: None,
        }
    }

    /// The version of the connection, which its first frame sets.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.version
    }

    /// Bytes of memory held for this connection.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.partial.capacity() + self.large.capacity() + self.unread.capacity()
    }

    /// Whether the connection is between two frames: nothing has been received that was not delivered.
    #[must_use]
    pub fn is_at_border(&self) -> bool {
        self.partial.len() == self.partial_read && self.large.is_empty() && self.unread.is_empty()
    }

    /// What follows is as STARTUP has agreed: bodies compressed in v3 and v4, segments in v5.
    ///
    /// A server calls this after it has taken STARTUP and before the next frame (see [`Frames::startup_agreed`]), a client when READY or
    /// AUTHENTICATE has come.
    ///
    /// # Errors
    /// [`WireError::NotInVersion`] for Snappy in v5.
    pub fn startup_agreed(&mut self, version: ProtocolVersion, compression: Option<Compression>) -> Result<(), WireError> {
        self.transport = match segment_format(version, compression)? {
            Some(format) => Transport::Segments(format),
            None => Transport::Frames(compression),
        };
        Ok(())
    }

    /// What the bytes of a frame ask for.
    fn measure_frame(&self, bytes: &[u8]) -> Result<Measure<FrameHeader>, WireError> {
        let Some(header) = FrameHeader::parse(bytes)? else { return Ok(Measure::Header { bytes: FRAME_HEADER_BYTES }) };
        self.check_header(&header, bytes)?;
        Ok(Measure::Whole { header, bytes: FRAME_HEADER_BYTES + header.body_bytes as usize })
    }

    fn check_header(&self, header: &FrameHeader, bytes: &[u8]) -> Result<(), WireError> {
        let stream = header.stream;
        if header.direction != self.incoming {
            return Err(WireError::WrongDirection { version_byte: bytes.first().copied().unwrap_or_default(), stream });
        }
        if let Some(expected) = self.version
            && header.version != expected
        {
            return Err(WireError::VersionChanged { expected, got: header.version, stream });
        }
        if header.body_bytes > self.body_bytes_max {
            return Err(WireError::BodyTooLong { length: u64::from(header.body_bytes), limit: self.body_bytes_max, stream });
        }
        Ok(())
    }

    fn partial(&self) -> &[u8] {
        self.partial.get(self.partial_read..).unwrap_or_default()
    }

    /// Gives memory back that nothing is in.
    fn release(&mut self) {
        if self.partial_read == self.partial.len() {
            self.partial_read = 0;
            clear(&mut self.partial);
        }
        if self.large.is_empty() {
            clear(&mut self.large);
        }
        if self.unread.is_empty() {
            clear(&mut self.unread);
        }
    }
}

fn clear(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(RETAINED_BYTES_MAX);
}

/// The segments of a connection with this agreement, `None` if it has none.
pub(super) fn segment_format(version: ProtocolVersion, compression: Option<Compression>) -> Result<Option<SegmentFormat>, WireError> {
    match (version, compression) {
        (ProtocolVersion::V3 | ProtocolVersion::V4, _) => Ok(None),
        (ProtocolVersion::V5, None) => Ok(Some(SegmentFormat::Plain)),
        (ProtocolVersion::V5, Some(Compression::Lz4)) => Ok(Some(SegmentFormat::Lz4)),
        (ProtocolVersion::V5, Some(Compression::Snappy)) => Err(WireError::NotInVersion { feature: VersionedFeature::Snappy, version }),
    }
}

/// How much of a frame or segment must be there.
enum Measure<H> {
    /// Its header is not whole.
    Header { bytes: usize },
    /// Its header is known, and so its length.
    Whole { header: H, bytes: usize },
}
