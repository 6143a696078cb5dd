//! ScyllaDB's protocol extension `TABLETS_ROUTING_V1`: who has which part of the ring, told to drivers one part at a time.
//!
//! A server that offers the extension names it in SUPPORTED, a driver that wants it in STARTUP. From then on a RESULT of a prepared statement that
//! came to the wrong node or core carries, in its custom payload, the part (*tablet*) that the statement's partition is in:
//!
//! ```text
//! tuple<bigint, bigint, list<frozen<tuple<uuid, int>>>>: after this token, up to and with this one; replicas, each a host id and a core
//! ```
//! Drivers send what follows to any one of the replicas, in no order of theirs. Source: scylladb/scylladb, `docs/dev/protocol-extensions.md`.

use super::writer::{write_bytes, write_bytes_map, write_int};
use super::{FRAME_HEADER_BYTES, Frame, FrameFlags, FrameHeader, Opcode, ProtocolVersion, ResponseEnvelope};

/// The extension's name in SUPPORTED and STARTUP.
pub const TABLETS_ROUTING: &str = "TABLETS_ROUTING_V1";

/// Its key in custom payloads.
pub const TABLETS_ROUTING_PAYLOAD: &str = "tablets-routing-v1";

/// Where the tokens of a range are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tablet {
    /// The last token before the range; the smallest there is for the first range, as no partition has that one.
    pub after: i64,
    /// The last token of the range.
    pub last: i64,
    /// Host id and core.
    pub replica: (u128, u16),
}

impl Tablet {
    /// The value of the custom payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (host_id, core) = self.replica;
        let mut replica = Vec::with_capacity(28);
        write_bytes(&mut replica, Some(&host_id.to_be_bytes()));
        write_bytes(&mut replica, Some(&u32::from(core).to_be_bytes()));
        let mut replicas = Vec::with_capacity(36);
        write_int(&mut replicas, 1);
        write_bytes(&mut replicas, Some(&replica));
        let mut tablet = Vec::with_capacity(64);
        write_bytes(&mut tablet, Some(&self.after.to_be_bytes()));
        write_bytes(&mut tablet, Some(&self.last.to_be_bytes()));
        write_bytes(&mut tablet, Some(&replicas));
        tablet
    }

    /// Puts it into a plain frame that has been written, if that is a RESULT and its version has custom payloads.
    pub fn add_to(&self, frame: &mut Vec<u8>) {
        let Some(at) = payload_position(frame) else { return };
        let mut payload = Vec::with_capacity(96);
        write_bytes_map(&mut payload, [(TABLETS_ROUTING_PAYLOAD, Some(&self.encode()[..]))]);
        frame.splice(at..at, payload);
        frame[1] |= FrameFlags::CUSTOM_PAYLOAD.0;
        let body_bytes = (frame.len() - FRAME_HEADER_BYTES) as u32;
        super::frame::patch_body_length(frame, 0, body_bytes);
    }
}

/// Where a RESULT has a place for a custom payload: behind the tracing id and warnings.
fn payload_position(bytes: &[u8]) -> Option<usize> {
    let header = FrameHeader::parse(bytes).ok()??;
    let takes_payload = header.version >= ProtocolVersion::V4 && !header.flags.contains(FrameFlags::CUSTOM_PAYLOAD);
    if !takes_payload || header.opcode() != Ok(Opcode::Result) {
        return None;
    }
    let (_, message) = ResponseEnvelope::read(&Frame { header, body: bytes.get(FRAME_HEADER_BYTES..)? }).ok()?;
    Some(bytes.len() - message.rest().len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::reply::{write_error, write_frame_with, write_void};
    use crate::wire::{Response, ResponseExtras, ResultResponse, StreamId, write_void as void};
    use base::Rng;

    const TABLET: Tablet = Tablet { after: -2, last: 0x0102, replica: (0x0011_2233_4455_6677_8899_aabb_ccdd_eeff, 3) };

    /// Assembled by hand: each element has its length before it.
    #[rustfmt::skip]
    const ENCODED: [u8; 64] = [
        0, 0, 0, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE,
        0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2,
        0, 0, 0, 36,
            0, 0, 0, 1,
            0, 0, 0, 28,
                0, 0, 0, 16, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
                0, 0, 0, 4, 0, 0, 0, 3,
    ];

    fn response(frame: &[u8]) -> (ResponseEnvelope<'_>, Response<'_>) {
        let header = FrameHeader::parse(frame).unwrap().unwrap();
        let body = &frame[FRAME_HEADER_BYTES..];
        assert_eq!(header.body_bytes as usize, body.len());
        Response::decode(&Frame { header, body }).unwrap()
    }

    #[test]
    fn a_tablet_is_a_tuple() {
        assert_eq!(TABLET.encode(), ENCODED);
    }

    #[test]
    fn a_result_carries_it_in_front_of_its_message() {
        for version in [ProtocolVersion::V4, ProtocolVersion::V5] {
            let mut frame = Vec::new();
            write_void(&mut frame, version, StreamId(7));
            let before = frame.clone();
            TABLET.add_to(&mut frame);
            let mut expected = vec![before[0], 0x04, 0, 7, 0x08, 0, 0, 0, 2 + 2 + 18 + 4 + 64 + 4, 0, 1, 0, 18];
            expected.extend_from_slice(b"tablets-routing-v1");
            expected.extend_from_slice(&[0, 0, 0, 64]);
            expected.extend_from_slice(&ENCODED);
            expected.extend_from_slice(&[0, 0, 0, 1]);
            assert_eq!(frame, expected);
            let (envelope, response) = response(&frame);
            assert_eq!(envelope.custom_payload.iter().collect::<Vec<_>>(), [(TABLETS_ROUTING_PAYLOAD, Some(&ENCODED[..]))]);
            assert_eq!(response, Response::Result(ResultResponse::Void));
            // There is one already.
            let before = frame.clone();
            TABLET.add_to(&mut frame);
            assert_eq!(frame, before);
        }
    }

    #[test]
    fn a_tracing_id_and_warnings_stay_in_front() {
        let warnings = ["one".to_owned(), "another".to_owned()];
        for (tracing_id, warnings) in [(None, &warnings[..]), (Some([9; 16]), &[]), (Some([9; 16]), &warnings)] {
            let extras = ResponseExtras { tracing_id, warnings, custom_payload: &[] };
            let mut frame = Vec::new();
            write_frame_with(&mut frame, ProtocolVersion::V4, StreamId(1), Opcode::Result, &extras, void);
            TABLET.add_to(&mut frame);
            let (envelope, response) = response(&frame);
            assert_eq!(envelope.tracing_id, tracing_id);
            assert!(envelope.warnings.iter().eq(warnings));
            assert_eq!(envelope.custom_payload.iter().count(), 1);
            assert_eq!(response, Response::Result(ResultResponse::Void));
        }
    }

    #[test]
    fn version_3_and_errors_carry_nothing() {
        let mut void = Vec::new();
        write_void(&mut void, ProtocolVersion::V3, StreamId(1));
        let mut error = Vec::new();
        write_error(&mut error, ProtocolVersion::V4, StreamId(1), &crate::CqlError::invalid("no"));
        for frame in [void, error] {
            let mut after = frame.clone();
            TABLET.add_to(&mut after);
            assert_eq!(after, frame);
        }
    }

    /// Frames of other members are put into clients' output as they came.
    #[test]
    fn damaged_frames_are_left_as_they_are_or_get_longer() {
        let mut whole = Vec::new();
        let warnings = ["careful".to_owned()];
        let extras = ResponseExtras { tracing_id: Some([1; 16]), warnings: &warnings, custom_payload: &[] };
        write_frame_with(&mut whole, ProtocolVersion::V5, StreamId(1), Opcode::Result, &extras, void);
        let mut rng = Rng::new(1);
        for round in 0..5_000 {
            let mut frame = whole.clone();
            frame.truncate(round % (whole.len() + 1));
            if !frame.is_empty() {
                let at = rng.below(frame.len() as u64) as usize;
                frame[at] = rng.next_u64() as u8;
            }
            let before = frame.len();
            TABLET.add_to(&mut frame);
            assert!(frame.len() == before || frame.len() == before + 90);
        }
    }
}
