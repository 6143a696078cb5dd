//! Everything that can be wrong with bytes from a peer.
//!
//! Errors of [`super::FrameDecoder`] end the connection (its position in the byte stream is lost); errors of a body ([`super::Request::decode`]
//! and the like) end only that request, since the frame's borders are intact.

use super::{Compression, Notation, ProtocolVersion, StreamId, VersionedFeature};

/// A violation of the protocol by the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The version byte names a protocol that is not spoken here. Drivers look for this very wording to try a lower version.
    #[error("Invalid or unsupported protocol version ({version}); supported versions are (3/v3, 4/v4, 5/v5)")]
    UnsupportedVersion {
        /// The version asked for.
        version: u8,
        /// The stream to answer on.
        stream: StreamId,
    },
    /// A frame has another version than the first one of its connection.
    #[error("Invalid message version. Got {got} but previous messages on this connection had version {expected}")]
    VersionChanged {
        /// The connection's version.
        expected: ProtocolVersion,
        /// The frame's version.
        got: ProtocolVersion,
        /// The stream to answer on.
        stream: StreamId,
    },
    /// A response where a request belongs, or the reverse.
    #[error("wrong direction: version byte 0x{version_byte:02x}")]
    WrongDirection {
        /// The first byte of the frame.
        version_byte: u8,
        /// The stream to answer on.
        stream: StreamId,
    },
    /// The body is longer than the limit.
    #[error("frame body of {length} bytes exceeds the limit of {limit} bytes")]
    BodyTooLong {
        /// The length that the header gives, or that compression promises.
        length: u64,
        /// The most that is accepted.
        limit: u32,
        /// The stream to answer on.
        stream: StreamId,
    },
    /// An opcode that no version has.
    #[error("Unknown opcode {opcode}")]
    UnknownOpcode {
        /// The opcode byte.
        opcode: u8,
    },
    /// A known opcode that does not travel in this direction.
    #[error("opcode 0x{opcode:02x} does not belong in this direction")]
    UnexpectedOpcode {
        /// The opcode byte.
        opcode: u8,
    },
    /// Fewer bytes than a field needs.
    #[error("body ends early: {notation} needs {needed} bytes, {remaining} remain")]
    Truncated {
        /// What was being read.
        notation: Notation,
        /// Bytes it needs.
        needed: usize,
        /// Bytes that are there.
        remaining: usize,
    },
    /// A negative length where none is allowed.
    #[error("Invalid ByteBuf length {length} of a {notation}")]
    InvalidLength {
        /// What was being read.
        notation: Notation,
        /// The length found.
        length: i32,
    },
    /// Text that is not UTF-8.
    #[error("{notation} is not UTF-8 after {valid} bytes")]
    InvalidUtf8 {
        /// What was being read.
        notation: Notation,
        /// Bytes before the first wrong one.
        valid: usize,
    },
    /// An address that is neither 4 nor 16 bytes long.
    #[error("address of {length} bytes, must be 4 or 16")]
    InvalidAddress {
        /// Its length.
        length: u8,
    },
    /// A port outside 0 to 65535.
    #[error("port {port} out of range")]
    InvalidPort {
        /// The port found.
        port: i32,
    },
    /// A consistency level that does not exist.
    #[error("Unknown code {code} for a consistency level")]
    UnknownConsistency {
        /// The code found.
        code: u16,
    },
    /// Flags that this version does not define: what follows them cannot be told.
    #[error("unknown flags 0x{flags:x}")]
    UnknownFlags {
        /// The bits that are not defined.
        flags: u32,
    },
    /// A client timestamp of the least 64-bit integer, which stands for "none".
    #[error("Out of bound timestamp, must be in [-9223372036854775807, 9223372036854775807]")]
    TimestampOutOfBounds,
    /// A page of no rows.
    #[error("The page size cannot be 0")]
    PageSizeZero,
    /// A batch type that does not exist.
    #[error("Invalid BATCH message type {kind}")]
    UnknownBatchKind {
        /// The byte found.
        kind: u8,
    },
    /// A batch statement that is neither text nor a prepared id.
    #[error("Invalid query kind in BATCH messages. Must be 0 or 1 but got {kind}")]
    UnknownStatementKind {
        /// The byte found.
        kind: u8,
    },
    /// Something that the version in use cannot say.
    #[error("protocol {version} does not have {feature}")]
    NotInVersion {
        /// What it is.
        feature: VersionedFeature,
        /// The version in use.
        version: ProtocolVersion,
    },
    /// A compressed body although STARTUP agreed on no compression.
    #[error("compressed frame on a connection without compression")]
    CompressionNotAgreed {
        /// The stream to answer on.
        stream: StreamId,
    },
    /// Compressed bytes that do not decompress, or not to the length they promise.
    #[error("{compression} data is corrupt: {compressed} bytes should give {expected}")]
    Decompression {
        /// The algorithm.
        compression: Compression,
        /// Length of the input.
        compressed: usize,
        /// Length promised.
        expected: u64,
    },
    /// The header of a v5 segment has a wrong CRC-24.
    #[error("segment header checksum mismatch: stored 0x{stored:06x}, computed 0x{computed:06x}")]
    HeaderChecksum {
        /// From the wire.
        stored: u32,
        /// Of the bytes received.
        computed: u32,
    },
    /// The payload of a v5 segment has a wrong CRC-32.
    #[error("segment payload checksum mismatch: stored 0x{stored:08x}, computed 0x{computed:08x}")]
    PayloadChecksum {
        /// From the wire.
        stored: u32,
        /// Of the bytes received.
        computed: u32,
    },
    /// A self-contained segment that ends within a frame.
    #[error("self-contained segment ends within a frame: {remaining} bytes are left")]
    FrameCutBySegment {
        /// Bytes of the unfinished frame.
        remaining: usize,
    },
    /// A self-contained segment between the parts of a large frame.
    #[error("self-contained segment after {received} bytes of an unfinished large frame")]
    LargeFrameInterrupted {
        /// Bytes of the large frame received so far.
        received: usize,
    },
    /// The last part of a large frame has bytes beyond the frame's end.
    #[error("{excess} bytes after the end of a large frame")]
    LargeFrameOverrun {
        /// Bytes too many.
        excess: usize,
    },
    /// A type that no version has.
    #[error("unknown type 0x{id:04x}")]
    UnknownType {
        /// The type's id.
        id: u16,
    },
    /// A type nested too deeply.
    #[error("type nested deeper than {limit}")]
    TypeTooDeep {
        /// The deepest accepted.
        limit: u32,
    },
    /// A kind of RESULT that does not exist.
    #[error("unknown kind of result {kind}")]
    UnknownResultKind {
        /// The kind found.
        kind: i32,
    },
    /// A word that is not one of those the protocol lists.
    #[error("unknown word in a {notation}")]
    UnknownWord {
        /// What was being read.
        notation: Notation,
    },
    /// Rows that have no columns.
    #[error("{rows} rows without columns")]
    RowsWithoutColumns {
        /// The number of rows.
        rows: u32,
    },
}

impl WireError {
    /// The stream to answer on, 0 where the error does not belong to a stream.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        match *self {
            Self::UnsupportedVersion { stream, .. }
            | Self::VersionChanged { stream, .. }
            | Self::WrongDirection { stream, .. }
            | Self::BodyTooLong { stream, .. }
            | Self::CompressionNotAgreed { stream } => stream,
            _ => StreamId(0),
        }
    }
}
