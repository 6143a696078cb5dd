//! From frames to bytes to send.
//!
//! Frames are written straight into the connection's send buffer. In v5 the buffer gets room for a segment's header before the first frame,
//! and header and checksum are filled in by [`FrameEncoder::flush`]; so small frames that leave together share a segment and none is copied,
//! except the one that no longer fits.

use super::decoder::segment_format;
use super::frame::patch_body_length;
use super::segment::payload_trailer;
use super::{
    Compression, CompressionWorkspace, Direction, FRAME_HEADER_BYTES, FrameFlags, FrameMark, Opcode, ProtocolVersion,
    SEGMENT_PAYLOAD_BYTES_MAX, SegmentContent, SegmentFormat, SegmentHeader, StreamId, WireError, begin_frame, end_frame,
};

/// Shorter bodies are not worth compressing.
const COMPRESSED_BODY_BYTES_MIN: usize = 128;

/// Room for the longer of the two headers.
const HEADER_ROOM: [u8; 8] = [0; 8];

/// How frames are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Frames(Option<Compression>),
    Segments(SegmentFormat),
}

/// The sending half of one connection.
#[derive(Debug)]
pub struct FrameEncoder {
    outgoing: Direction,
    transport: Transport,
    /// Where in the send buffer the segment starts that frames are being added to.
    open_segment: Option<usize>,
}

impl FrameEncoder {
    /// An encoder of a new connection for frames that go in direction `outgoing`.
    #[must_use]
    pub fn new(outgoing: Direction) -> Self {
        Self { outgoing, transport: Transport::Frames(None), open_segment: None }
    }

    /// What follows is as STARTUP has agreed: bodies compressed in v3 and v4, segments in v5.
    ///
    /// A server calls this after it has written READY or AUTHENTICATE, a client when it has received one of them.
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

    /// Starts a frame in `out`; its body is to be appended, then [`FrameEncoder::end`] called.
    ///
    /// `out` must be the same buffer, only appended to, until [`FrameEncoder::flush`].
    pub fn begin(&mut self, out: &mut Vec<u8>, version: ProtocolVersion, flags: FrameFlags, stream: StreamId, opcode: Opcode) -> FrameMark {
        self.make_room(out);
        begin_frame(out, version, self.outgoing, flags, stream, opcode)
    }

    /// Ends the frame: fills in its length, compresses it or fits it into segments.
    ///
    /// # Errors
    /// [`WireError::BodyTooLong`]; the frame is then taken out of `out` again, so that an ERROR can go in its place.
    pub fn end(&mut self, out: &mut Vec<u8>, mark: FrameMark, workspace: &mut CompressionWorkspace) -> Result<(), WireError> {
        let start = mark.start;
        end_frame(out, mark)?;
        self.wrap(out, start, workspace);
        Ok(())
    }

    /// Appends a whole plain frame that was encoded elsewhere, say on another core.
    pub fn append(&mut self, out: &mut Vec<u8>, frame: &[u8], workspace: &mut CompressionWorkspace) {
        self.make_room(out);
        let start = out.len();
        out.extend_from_slice(frame);
        self.wrap(out, start, workspace);
    }

    /// Completes the open segment, if any. To be called before bytes of `out` are sent.
    pub fn flush(&mut self, out: &mut Vec<u8>, workspace: &mut CompressionWorkspace) {
        if let (Transport::Segments(format), Some(start)) = (self.transport, self.open_segment.take()) {
            if out.len() <= start + format.header_bytes() {
                out.truncate(start);
            } else {
                close_segment(out, start, format, SegmentContent::Frames, workspace);
            }
        }
    }

    fn make_room(&mut self, out: &mut Vec<u8>) {
        if let (Transport::Segments(format), None) = (self.transport, self.open_segment) {
            self.open_segment = Some(open_segment(out, format));
        }
    }

    fn wrap(&mut self, out: &mut Vec<u8>, start: usize, workspace: &mut CompressionWorkspace) {
        match self.transport {
            Transport::Frames(None) => {}
            Transport::Frames(Some(compression)) => compress_body(out, start, compression, workspace),
            Transport::Segments(format) => {
                let payload_start = self.open_segment.unwrap_or(start) + format.header_bytes();
                if out.len() > payload_start + SEGMENT_PAYLOAD_BYTES_MAX {
                    self.move_to_own_segments(out, start, format, workspace);
                }
            }
        }
    }

    /// The frame at `start` makes the open segment too long: completes that without it, and puts it into the next, or into several.
    fn move_to_own_segments(&mut self, out: &mut Vec<u8>, start: usize, format: SegmentFormat, workspace: &mut CompressionWorkspace) {
        let mut frame = std::mem::take(&mut workspace.moved);
        frame.clear();
        frame.extend_from_slice(out.get(start..).unwrap_or_default());
        out.truncate(start);
        self.flush(out, workspace);
        if frame.len() <= SEGMENT_PAYLOAD_BYTES_MAX {
            self.make_room(out);
            out.extend_from_slice(&frame);
        } else {
            for part in frame.chunks(SEGMENT_PAYLOAD_BYTES_MAX) {
                let segment = open_segment(out, format);
                out.extend_from_slice(part);
                close_segment(out, segment, format, SegmentContent::Part, workspace);
            }
        }
        frame.clear();
        frame.shrink_to(SEGMENT_PAYLOAD_BYTES_MAX);
        workspace.moved = frame;
    }
}

fn open_segment(out: &mut Vec<u8>, format: SegmentFormat) -> usize {
    let start = out.len();
    out.extend(HEADER_ROOM.iter().take(format.header_bytes()));
    start
}

fn close_segment(out: &mut Vec<u8>, start: usize, format: SegmentFormat, content: SegmentContent, workspace: &mut CompressionWorkspace) {
    let payload_start = start + format.header_bytes();
    let plain_bytes = out.len().saturating_sub(payload_start);
    let mut uncompressed_bytes = 0;
    if format == SegmentFormat::Lz4
        && let Some(deflated) = workspace.deflate_segment(out.get(payload_start..).unwrap_or_default())
    {
        uncompressed_bytes = plain_bytes as u32;
        out.truncate(payload_start);
        out.extend_from_slice(deflated);
    }
    let payload = out.get(payload_start..).unwrap_or_default();
    let header = SegmentHeader { payload_bytes: payload.len() as u32, uncompressed_bytes, content };
    let trailer = payload_trailer(payload);
    out.extend_from_slice(&trailer);
    header.write(out.get_mut(start..).unwrap_or_default(), format);
}

fn compress_body(out: &mut Vec<u8>, start: usize, compression: Compression, workspace: &mut CompressionWorkspace) {
    let body_start = start + FRAME_HEADER_BYTES;
    let body = out.get(body_start..).unwrap_or_default();
    if body.len() < COMPRESSED_BODY_BYTES_MIN {
        return;
    }
    let Some(deflated) = workspace.deflate_body(compression, body) else { return };
    out.truncate(body_start);
    out.extend_from_slice(deflated);
    patch_body_length(out, start, deflated.len() as u32);
    if let Some(flags) = out.get_mut(start + 1) {
        *flags |= FrameFlags::COMPRESSED.0;
    }
}
