//! The frames of one chunk of received bytes, lent from wherever they lie.

use super::{FrameDecoder, Measure, Transport};
use crate::wire::segment::checked_payload;
use crate::wire::{
    Compression, CompressionWorkspace, FRAME_HEADER_BYTES, Frame, FrameHeader, ProtocolVersion, SegmentContent, SegmentFormat,
    SegmentHeader, WireError,
};
use std::ops::Range;

impl FrameDecoder {
    /// Takes `chunk`, the next bytes of the connection, and gives the frames that it completes.
    ///
    /// All of `chunk` is taken even if the frames are not read to their end: what is left comes first in the next call.
    pub fn feed<'d, 'c>(&'d mut self, chunk: &'c [u8], workspace: &'d mut CompressionWorkspace) -> Frames<'d, 'c> {
        let run = Run { source: Source::Unread, range: 0..self.unread.len() };
        Frames { decoder: self, workspace, chunk, consumed: 0, run }
    }
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
        if !header.flags.contains(crate::wire::FrameFlags::COMPRESSED) || header.version >= ProtocolVersion::V5 {
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
        let mut payload = unit.start + format.header_bytes()..unit.end - crate::wire::SEGMENT_TRAILER_BYTES;
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
