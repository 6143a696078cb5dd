//! The native protocol, versions 3, 4 and 5, of server and client: pure functions and the state of a connection, no I/O.
//!
//! ```text
//! bytes ─► FrameDecoder ─► Frame ─► Request::decode ─► (session, executor)
//! bytes ◄─ FrameEncoder ◄─ begin … end ◄─ write_void, begin_rows, ErrorResponse::write, … ◄─┘
//! ```
//! A client goes the same way with [`Request::write`] and [`Response::decode`].
//!
//! Invariants: nothing here panics on bytes from outside; no length is used before it has been checked against the bytes that are there; decoding
//! a request allocates nothing, and a frame that lies whole in the receive buffer is read where it lies.

mod algorithm;
mod batch;
mod checksum;
mod collections;
mod compression;
mod consistency;
mod decoder;
mod encoder;
mod envelope;
mod error;
mod event;
mod failure;
mod frame;
mod marshal;
mod metadata;
mod notation;
mod opcode;
mod parameters;
mod reader;
mod refusal;
mod request;
mod response;
mod rows;
mod segment;
mod stream;
mod tablet;
mod types;
mod values;
mod version;
pub mod writer;

pub use algorithm::Compression;
pub use batch::{Batch, BatchBuffer, BatchKind, BatchStatement, BatchStatements};
pub use collections::{BytesMap, StringList, StringMap, StringMultimap};
pub use compression::CompressionWorkspace;
pub use consistency::Consistency;
pub use decoder::FrameDecoder;
pub use decoder::frames::Frames;
pub use encoder::FrameEncoder;
pub use envelope::{RequestEnvelope, ResponseEnvelope, ResponseExtras, Tracing, add_tracing_id, add_warnings};
pub use error::WireError;
pub use event::{ChangeKind, Event, EventKind, SchemaChange, SchemaTarget};
pub use failure::{DataPresent, ErrorKind, ErrorResponse, Failures, Progress, WriteType};
pub use frame::{Direction, FRAME_BODY_BYTES_MAX, FRAME_HEADER_BYTES, Frame, FrameFlags, FrameHeader, FrameMark, begin_frame, end_frame};
pub use marshal::{TYPE_DEPTH_MAX, marshal_class, parse_marshal_class};
pub use metadata::{ColumnSpec, KeyIndexes, ReceivedColumn, ReceivedColumns, ReceivedMetadata, ResultMetadata, RowsDescription};
pub use notation::{Notation, Value};
pub use opcode::Opcode;
pub use parameters::{CommonParameters, QueryParameters, ResultColumns};
pub use reader::Reader;
pub use refusal::write_unsupported_version;
pub use request::{Execute, Prepare, Query, Request, write_register, write_startup};
pub use response::{
    Prepared, ReceivedPrepared, Response, ResultResponse, write_auth_token, write_authenticate, write_schema_change, write_set_keyspace,
    write_supported, write_void,
};
pub use rows::{Cells, Rows, RowsMark, begin_rows, end_rows};
pub use segment::{SEGMENT_PAYLOAD_BYTES_MAX, SEGMENT_TRAILER_BYTES, SegmentContent, SegmentFormat, SegmentHeader};
pub use stream::StreamId;
pub use tablet::{TABLETS_ROUTING, TABLETS_ROUTING_PAYLOAD, Tablet};
pub use types::{EncodedType, write_type};
pub use values::{ValueNames, Values, ValuesBuffer, ValuesIter};
pub use version::{ProtocolVersion, VersionedFeature};
