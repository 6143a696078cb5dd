//! The answer to a version that is not spoken here.

use super::{Direction, ErrorKind, ErrorResponse, FrameFlags, Opcode, ProtocolVersion, StreamId, WireError, begin_frame, end_frame};

/// Appends the frame that answers a request in an unsupported version: ERROR 0x000A, in the highest version that is spoken here.
///
/// Drivers downgrade on it by different signs: Python, Java and Node by the wording, Node and gocql also by the version of this frame. The connection
/// is to be closed once it is sent; drivers come back on a new one.
pub fn write_unsupported_version(out: &mut Vec<u8>, version: u8, stream: StreamId) {
    let mark = begin_frame(out, ProtocolVersion::HIGHEST, Direction::Response, FrameFlags::NONE, stream, Opcode::Error);
    let message = WireError::UnsupportedVersion { version, stream }.to_string();
    ErrorResponse { message: &message, kind: ErrorKind::Protocol }.write(out, ProtocolVersion::HIGHEST);
    // A body of some 100 bytes is below every limit.
    let _ = end_frame(out, mark);
}
