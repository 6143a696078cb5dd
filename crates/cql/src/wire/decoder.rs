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

use std::ops::Range;

use super::segment::checked_payload;
use super::{
    Compression, CompressionWorkspace, Direction, FRAME_BODY_BYTES_MAX, FRAME_HEADER_BYTES, Frame, FrameHeader, ProtocolVersion,
    SegmentContent, SegmentFormat, SegmentHeader, VersionedFeature, WireError,
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

    /// Takes `chunk`, the next bytes of the connection, and gives the frames that it completes.
    ///
    /// All of `chunk` is taken even if the frames are not read to their end: what is left comes first in the next call.
    pub fn feed<'d, 'c>(&'d mut self, chunk: &'c [u8], workspace: &'d mut CompressionWorkspace) -> Frames<'d, 'c> {
        let run = Run { source: Source::Unread, range: 0..self.unread.len() };
        Frames { decoder: self, workspace, chunk, consumed: 0, run }
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

/// Where bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Chunk,
    Partial,
    Inflated,
    Large,
    Unread,
}

/// Whole frames one after another: what is left of a segment's payload.
#[derive(Clone, Debug)]
struct Run {
    source: Source,
    range: Range<usize>,
}

/// A frame that has been found.
struct Located {
    header: FrameHeader,
    source: Source,
    body: Range<usize>,
}

/// The frames of a chunk: see [`FrameDecoder::feed`].
#[derive(Debug)]
pub struct Frames<'d, 'c> {
    decoder: &'d mut FrameDecoder,
    workspace: &'d mut CompressionWorkspace,
    chunk: &'c [u8],
    consumed: usize,
    run: Run,
}

impl Frames<'_, '_> {
    /// The next whole frame, or `None` when the chunk is used up.
    ///
    /// # Errors
    /// Any error means that the position in the byte stream is lost: answer it on [`WireError::stream`] if there is a point to it, and close.
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, WireError> {
        if let Some(error) = self.decoder.failed {
            return Err(error);
        }
        match self.locate() {
            Ok(None) => Ok(None),
            Ok(Some(Located { header, source, body })) => {
                self.decoder.version = Some(header.version);
                Ok(Some(Frame { header, body: self.source(source).get(body).unwrap_or_default() }))
            }
            Err(error) => {
                self.decoder.failed = Some(error);
                Err(error)
            }
        }
    }

    /// [`FrameDecoder::startup_agreed`] between two frames of a chunk.
    ///
    /// # Errors
    /// [`WireError::NotInVersion`] for Snappy in v5.
    pub fn startup_agreed(&mut self, version: ProtocolVersion, compression: Option<Compression>) -> Result<(), WireError> {
        self.decoder.startup_agreed(version, compression)
    }

    #[inline]
    fn locate(&mut self) -> Result<Option<Located>, WireError> {
        loop {
            if !self.run.range.is_empty() {
                return self.take_from_run().map(Some);
            }
            self.finish_run();
            match self.decoder.transport {
                Transport::Frames(compression) => {
                    let Some((header, source, unit)) = self.next_unit(FrameDecoder::measure_frame)? else { return Ok(None) };
                    let body = unit.start + FRAME_HEADER_BYTES..unit.end;
                    return self.open_body(header, source, body, compression).map(Some);
                }
                Transport::Segments(format) => {
                    let measure = |_: &FrameDecoder, bytes: &[u8]| measure_segment(bytes, format);
                    let Some((header, source, unit)) = self.next_unit(measure)? else { return Ok(None) };
                    self.open_segment(header, format, source, unit)?;
                }
            }
        }
    }

    fn source(&self, source: Source) -> &[u8] {
        match source {
            Source::Chunk => self.chunk,
            Source::Partial => &self.decoder.partial,
            Source::Inflated => &self.workspace.inflated,
            Source::Large => &self.decoder.large,
            Source::Unread => &self.decoder.unread,
        }
    }

    /// The next frame or segment, if it is whole; else what there is of it is kept in `partial`.
    #[inline]
    fn next_unit<H>(
        &mut self,
        measure: impl Fn(&FrameDecoder, &[u8]) -> Result<Measure<H>, WireError>,
    ) -> Result<Option<(H, Source, Range<usize>)>, WireError> {
        if self.decoder.partial_read == self.decoder.partial.len() {
            let rest = self.chunk.get(self.consumed..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(None);
            }
            if let Measure::Whole { header, bytes } = measure(self.decoder, rest)?
                && bytes <= rest.len()
            {
                let start = self.consumed;
                self.consumed += bytes;
                return Ok(Some((header, Source::Chunk, start..self.consumed)));
            }
        }
        loop {
            let buffered = self.decoder.partial();
            let needed = match measure(self.decoder, buffered)? {
                Measure::Whole { header, bytes } if bytes <= buffered.len() => {
                    let start = self.decoder.partial_read;
                    self.decoder.partial_read += bytes;
                    return Ok(Some((header, Source::Partial, start..start + bytes)));
                }
                Measure::Whole { bytes, .. } | Measure::Header { bytes } => bytes,
            };
            if !self.top_up(needed) {
                return Ok(None);
            }
        }
    }

    /// Moves bytes from the chunk to `partial` until it holds `needed`; false if the chunk has too few.
    fn top_up(&mut self, needed: usize) -> bool {
        let partial = &mut self.decoder.partial;
        if self.decoder.partial_read > 0 {
            partial.drain(..self.decoder.partial_read);
            self.decoder.partial_read = 0;
        }
        let missing = needed.saturating_sub(partial.len());
        let rest = self.chunk.get(self.consumed..).unwrap_or_default();
        let taken = rest.get(..missing).unwrap_or(rest);
        grow(partial, taken.len(), needed);
        partial.extend_from_slice(taken);
        self.consumed += taken.len();
        taken.len() == missing
    }

    fn open_body(
        &mut self,
        header: FrameHeader,
        source: Source,
        body: Range<usize>,
        compression: Option<Compression>,
    ) -> Result<Located, WireError> {
        // In v5 the flag has no meaning: segments are compressed, not bodies.
        if !header.flags.contains(super::FrameFlags::COMPRESSED) || header.version >= ProtocolVersion::V5 {
            return Ok(Located { header, source, body });
        }
        let Some(compression) = compression else { return Err(WireError::CompressionNotAgreed { stream: header.stream }) };
        let bytes = match source {
            Source::Chunk => self.chunk,
            _ => &self.decoder.partial,
        };
        let limit = self.decoder.body_bytes_max;
        let bytes = bytes.get(body).unwrap_or_default();
        let length = self.workspace.inflate_body(compression, bytes, limit, header.stream)?;
        Ok(Located { header, source: Source::Inflated, body: 0..length })
    }

    /// Checks a whole segment and makes its frames the run, or adds it to the large frame.
    fn open_segment(
        &mut self,
        header: SegmentHeader,
        format: SegmentFormat,
        mut source: Source,
        unit: Range<usize>,
    ) -> Result<(), WireError> {
        let mut payload = unit.start + format.header_bytes()..unit.end - super::SEGMENT_TRAILER_BYTES;
        let bytes = match source {
            Source::Chunk => self.chunk,
            _ => &self.decoder.partial,
        };
        let plain = checked_payload(bytes.get(unit).unwrap_or_default(), format)?;
        if header.uncompressed_bytes > 0 {
            payload = 0..self.workspace.inflate_segment(plain, header.uncompressed_bytes)?;
            source = Source::Inflated;
        }
        match header.content {
            SegmentContent::Frames if self.decoder.large.is_empty() => self.run = Run { source, range: payload },
            SegmentContent::Frames => return Err(WireError::LargeFrameInterrupted { received: self.decoder.large.len() }),
            SegmentContent::Part => {
                let decoder = &mut *self.decoder;
                let bytes = match source {
                    Source::Chunk => self.chunk,
                    Source::Inflated => &self.workspace.inflated,
                    _ => &decoder.partial,
                };
                decoder.large.extend_from_slice(bytes.get(payload).unwrap_or_default());
                if let Measure::Whole { bytes, .. } = decoder.measure_frame(&decoder.large)? {
                    match decoder.large.len().checked_sub(bytes) {
                        Some(0) => self.run = Run { source: Source::Large, range: 0..bytes },
                        Some(excess) => return Err(WireError::LargeFrameOverrun { excess }),
                        None => {}
                    }
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn take_from_run(&mut self) -> Result<Located, WireError> {
        let Run { source, range } = self.run.clone();
        let bytes = self.source(source).get(range.clone()).unwrap_or_default();
        match self.decoder.measure_frame(bytes)? {
            Measure::Whole { header, bytes } if bytes <= range.len() => {
                self.run.range.start += bytes;
                Ok(Located { header, source, body: range.start + FRAME_HEADER_BYTES..range.start + bytes })
            }
            _ => Err(WireError::FrameCutBySegment { remaining: range.len() }),
        }
    }

    /// The frames of the run have been delivered: empties what they lay in.
    #[inline]
    fn finish_run(&mut self) {
        match self.run.source {
            Source::Large => self.decoder.large.clear(),
            Source::Unread => self.decoder.unread.clear(),
            Source::Chunk | Source::Partial | Source::Inflated => {}
        }
        self.run.source = Source::Chunk;
        if self.decoder.partial_read == self.decoder.partial.len() {
            self.decoder.partial.clear();
            self.decoder.partial_read = 0;
        }
    }
}

/// Keeps what the caller has not read.
impl Drop for Frames<'_, '_> {
    fn drop(&mut self) {
        if self.decoder.failed.is_some() {
            self.decoder.partial.clear();
            self.decoder.partial_read = 0;
            self.decoder.large.clear();
            self.decoder.unread.clear();
        } else {
            if self.run.source == Source::Unread {
                self.decoder.unread.drain(..self.run.range.start.min(self.decoder.unread.len()));
            } else if self.run.range.is_empty() {
                self.finish_run();
            } else {
                let left = self.source(self.run.source).get(self.run.range.clone()).unwrap_or_default().to_vec();
                self.decoder.unread = left;
                self.run.range.start = self.run.range.end;
                self.finish_run();
            }
            let rest = self.chunk.get(self.consumed..).unwrap_or_default();
            self.decoder.partial.extend_from_slice(rest);
        }
        self.decoder.release();
    }
}

fn measure_segment(bytes: &[u8], format: SegmentFormat) -> Result<Measure<SegmentHeader>, WireError> {
    Ok(match SegmentHeader::parse(bytes, format)? {
        Some(header) => Measure::Whole { header, bytes: header.segment_bytes(format) },
        None => Measure::Header { bytes: format.header_bytes() },
    })
}

/// Makes room for `more` bytes: at least doubles, so that arrival in small pieces stays linear, but not beyond `total`.
fn grow(buffer: &mut Vec<u8>, more: usize, total: usize) {
    let length = buffer.len();
    if length + more > buffer.capacity() {
        let target = total.min((2 * length).max(length + more));
        buffer.reserve_exact(target.saturating_sub(length));
    }
}
