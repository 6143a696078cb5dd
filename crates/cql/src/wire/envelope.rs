//! What precedes a message in a body, as the frame's flags announce it.
//!
//! ```text
//! request    [custom payload] message            (the tracing flag only asks for a trace)
//! response   [tracing id] [warnings] [custom payload] message
//! ```

use super::writer::{write_bytes_map, write_string_list};
use super::{
    BytesMap, FRAME_HEADER_BYTES, Frame, FrameFlags, FrameHeader, Opcode, ProtocolVersion, Reader, StringList, VersionedFeature, WireError,
};

/// Whether a client asks for a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracing {
    /// No trace.
    #[default]
    Off,
    /// Trace the request and answer with the trace's id.
    Requested,
}

/// What accompanies a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestEnvelope<'a> {
    /// Whether a trace is asked for.
    pub tracing: Tracing,
    /// The client's own data (v4 and later).
    pub custom_payload: BytesMap<'a>,
}

impl<'a> RequestEnvelope<'a> {
    /// Reads it from the start of a request's body; the message follows in the reader.
    ///
    /// # Errors
    /// [`WireError::NotInVersion`] for a custom payload in v3, and all errors of a `[bytes map]`.
    #[inline]
    pub fn read(frame: &Frame<'a>) -> Result<(Self, Reader<'a>), WireError> {
        let mut reader = Reader::new(frame.body);
        let FrameHeader { version, flags, .. } = frame.header;
        let tracing = if flags.contains(FrameFlags::TRACING) { Tracing::Requested } else { Tracing::Off };
        let custom_payload = if !flags.contains(FrameFlags::CUSTOM_PAYLOAD) {
            BytesMap::default()
        } else if version >= ProtocolVersion::V4 {
            reader.bytes_map()?
        } else {
            return Err(WireError::NotInVersion { feature: VersionedFeature::CustomPayload, version });
        };
        Ok((Self { tracing, custom_payload }, reader))
    }

    /// The flags that announce it.
    #[must_use]
    pub fn flags(&self, version: ProtocolVersion) -> FrameFlags {
        let mut flags = FrameFlags::NONE;
        if self.tracing == Tracing::Requested {
            flags |= FrameFlags::TRACING;
        }
        if version >= ProtocolVersion::V4 && !self.custom_payload.is_empty() {
            flags |= FrameFlags::CUSTOM_PAYLOAD;
        }
        flags
    }

    /// Appends it, as [`RequestEnvelope::flags`] of the same version announces it.
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        if self.flags(version).contains(FrameFlags::CUSTOM_PAYLOAD) {
            self.custom_payload.write(out);
        }
    }
}

/// What accompanies a response that is being written.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseExtras<'a> {
    /// Id of the trace that was asked for.
    pub tracing_id: Option<[u8; 16]>,
    /// Warnings, which drivers log; v3 has none and they are left out.
    pub warnings: &'a [String],
    /// Data for the client; v3 has none and it is left out.
    pub custom_payload: &'a [(&'a str, &'a [u8])],
}

impl ResponseExtras<'_> {
    /// The flags that announce it.
    #[must_use]
    pub fn flags(&self, version: ProtocolVersion) -> FrameFlags {
        let mut flags = FrameFlags::NONE;
        if self.tracing_id.is_some() {
            flags |= FrameFlags::TRACING;
        }
        if version >= ProtocolVersion::V4 {
            if !self.warnings.is_empty() {
                flags |= FrameFlags::WARNING;
            }
            if !self.custom_payload.is_empty() {
                flags |= FrameFlags::CUSTOM_PAYLOAD;
            }
        }
        flags
    }

    /// Appends it, as [`ResponseExtras::flags`] of the same version announces it.
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        let flags = self.flags(version);
        if let Some(tracing_id) = self.tracing_id {
            out.extend_from_slice(&tracing_id);
        }
        if flags.contains(FrameFlags::WARNING) {
            write_string_list(out, self.warnings.iter().map(String::as_str));
        }
        if flags.contains(FrameFlags::CUSTOM_PAYLOAD) {
            write_bytes_map(out, self.custom_payload.iter().map(|(key, value)| (*key, Some(*value))));
        }
    }
}

/// Puts warnings into the first of the plain frames from `start` on, before those that it has, if it is a RESULT and its version knows them.
pub fn add_warnings(frames: &mut Vec<u8>, start: usize, warnings: &[String]) {
    let Some(Ok(Some(header))) = frames.get(start..).map(FrameHeader::parse) else { return };
    if warnings.is_empty() || header.version < ProtocolVersion::V4 || header.opcode_byte != Opcode::Result as u8 {
        return;
    }
    let at = start + FRAME_HEADER_BYTES + if header.flags.contains(FrameFlags::TRACING) { 16 } else { 0 };
    let former = if header.flags.contains(FrameFlags::WARNING) { frames.get(at..at + 2) } else { None };
    let mut list = Vec::new();
    write_string_list(&mut list, warnings.iter().map(String::as_str));
    let replaced = former.map_or(0, <[u8]>::len);
    if let Some(former) = former {
        let count = u16::from_be_bytes([former[0], former[1]]).saturating_add(warnings.len() as u16);
        list[..2].copy_from_slice(&count.to_be_bytes());
    }
    let body_bytes = header.body_bytes + (list.len() - replaced) as u32;
    frames.splice(at..at + replaced, list);
    frames[start + 1] |= FrameFlags::WARNING.0;
    super::frame::patch_body_length(frames, start, body_bytes);
}

/// Puts the id of a trace into the first of the plain frames from `start` on, if there is one, and it has none.
pub fn add_tracing_id(frames: &mut Vec<u8>, start: usize, id: &[u8; 16]) {
    let Some(Ok(Some(header))) = frames.get(start..).map(FrameHeader::parse) else { return };
    if header.flags.contains(FrameFlags::TRACING) {
        return;
    }
    let at = start + FRAME_HEADER_BYTES;
    frames.splice(at..at, *id);
    frames[start + 1] |= FrameFlags::TRACING.0;
    super::frame::patch_body_length(frames, start, header.body_bytes + 16);
}

/// What accompanies a response that was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseEnvelope<'a> {
    /// Id of the trace that was asked for.
    pub tracing_id: Option<[u8; 16]>,
    /// Warnings.
    pub warnings: StringList<'a>,
    /// The server's data for the client.
    pub custom_payload: BytesMap<'a>,
}

impl<'a> ResponseEnvelope<'a> {
    /// Reads it from the start of a response's body; the message follows in the reader.
    ///
    /// # Errors
    /// All errors of a `[uuid]`, a `[string list]` and a `[bytes map]`.
    pub fn read(frame: &Frame<'a>) -> Result<(Self, Reader<'a>), WireError> {
        let mut reader = Reader::new(frame.body);
        let flags = frame.header.flags;
        let tracing_id = if flags.contains(FrameFlags::TRACING) { Some(reader.uuid()?) } else { None };
        let warnings = if flags.contains(FrameFlags::WARNING) { reader.string_list()? } else { StringList::default() };
        let custom_payload = if flags.contains(FrameFlags::CUSTOM_PAYLOAD) { reader.bytes_map()? } else { BytesMap::default() };
        Ok((Self { tracing_id, warnings, custom_payload }, reader))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::{Direction, FrameHeader, StreamId, begin_frame, end_frame, write_void};

    fn void(version: ProtocolVersion, opcode: Opcode, extras: &ResponseExtras<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let mark = begin_frame(&mut out, version, Direction::Response, extras.flags(version), StreamId(7), opcode);
        extras.write(&mut out, version);
        write_void(&mut out);
        end_frame(&mut out, mark).unwrap();
        out
    }

    fn warnings_of(bytes: &[u8]) -> (Vec<String>, Option<[u8; 16]>) {
        let header = FrameHeader::parse(bytes).unwrap().unwrap();
        assert_eq!(header.body_bytes as usize, bytes.len() - FRAME_HEADER_BYTES);
        let (envelope, mut rest) = ResponseEnvelope::read(&Frame { header, body: &bytes[FRAME_HEADER_BYTES..] }).unwrap();
        assert_eq!(rest.int().unwrap(), 1, "the result is void as before");
        (envelope.warnings.iter().map(str::to_owned).collect(), envelope.tracing_id)
    }

    #[test]
    fn warnings_precede_those_that_are_there_and_keep_the_trace() {
        let (added, former) = (["new".to_owned(), "newer".to_owned()], ["old".to_owned()]);
        for (tracing_id, former) in [(None, &former[..]), (Some([3; 16]), &former), (Some([3; 16]), &[]), (None, &[])] {
            let extras = ResponseExtras { tracing_id, warnings: former, custom_payload: &[] };
            let mut frames = b"before".to_vec();
            frames.extend(void(ProtocolVersion::V4, Opcode::Result, &extras));
            add_warnings(&mut frames, 6, &added);
            assert_eq!(warnings_of(&frames[6..]), ([&added[..], former].concat(), tracing_id));
        }
    }

    #[test]
    fn errors_and_old_versions_have_none() {
        for (version, opcode) in [(ProtocolVersion::V3, Opcode::Result), (ProtocolVersion::V5, Opcode::Error)] {
            let frame = void(version, opcode, &ResponseExtras::default());
            let mut warned = frame.clone();
            add_warnings(&mut warned, 0, &["new".to_owned()]);
            assert_eq!(warned, frame);
        }
        add_warnings(&mut Vec::new(), 0, &["new".to_owned()]);
    }
}
