//! Reply frames.
//!
//! Everything here appends one whole plain frame; compression and segments are put around it by the session, where the connection needs them.

use crate::plan::{Marker, Prepared};
use crate::wire::{
    self, ColumnSpec, DataPresent, Direction, ErrorKind, ErrorResponse, Failures, Opcode, Progress, ProtocolVersion, ResponseExtras,
    ResultColumns, ResultMetadata, RowsDescription, StreamId, WriteType, begin_frame, begin_rows, end_frame, end_rows, writer,
};
use crate::{Asked, CqlError};
use md5::{Digest, Md5};
use model::DataType;

/// Appends a frame whose body `write` appends; a body that is too long becomes an error frame.
#[inline]
pub fn write_frame(out: &mut Vec<u8>, version: ProtocolVersion, stream: StreamId, opcode: Opcode, write: impl FnOnce(&mut Vec<u8>)) {
    write_frame_with(out, version, stream, opcode, &ResponseExtras::default(), write);
}

/// As [`write_frame`], with warnings and the like.
#[inline]
pub fn write_frame_with(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    stream: StreamId,
    opcode: Opcode,
    extras: &ResponseExtras<'_>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let mark = begin_frame(out, version, Direction::Response, extras.flags(version), stream, opcode);
    extras.write(out, version);
    write(out);
    if end_frame(out, mark).is_err() {
        let error = CqlError::invalid("The result is larger than a frame may be; ask for it in pages");
        write_error(out, version, stream, &error);
    }
}

/// Appends the result of a statement that returns nothing.
#[inline]
pub fn write_void(out: &mut Vec<u8>, version: ProtocolVersion, stream: StreamId) {
    write_frame(out, version, stream, Opcode::Result, wire::write_void);
}

/// Appends an error.
pub fn write_error(out: &mut Vec<u8>, version: ProtocolVersion, stream: StreamId, error: &CqlError) {
    // Who has not answered is the primary, and nobody answers without it.
    let progress = |asked: &Asked| Progress { consistency: asked.consistency, received: 0, required: asked.required.into() };
    let write_type = |asked: &Asked| asked.writes.unwrap_or(WriteType::Simple);
    let kind = match error {
        CqlError::Syntax(_) => ErrorKind::Syntax,
        CqlError::Invalid(_) => ErrorKind::Invalid,
        CqlError::Config(_) => ErrorKind::Config,
        CqlError::AlreadyExists { keyspace, table, .. } => ErrorKind::AlreadyExists { keyspace, table },
        CqlError::BadCredentials(_) => ErrorKind::BadCredentials,
        CqlError::Unauthorized(_) => ErrorKind::Unauthorized,
        CqlError::Unprepared(id) => ErrorKind::Unprepared { id },
        CqlError::Protocol(_) => ErrorKind::Protocol,
        CqlError::Server(_) => ErrorKind::Server,
        CqlError::Overloaded(_) => ErrorKind::Overloaded,
        CqlError::Leaving => ErrorKind::IsBootstrapping,
        CqlError::Bootstrapping => ErrorKind::IsBootstrapping,
        CqlError::Truncate(_) => ErrorKind::Truncate,
        CqlError::Unavailable { consistency, required, alive } => {
            ErrorKind::Unavailable { consistency: *consistency, required: (*required).into(), alive: (*alive).into() }
        }
        CqlError::ReadTimeout(asked) => ErrorKind::ReadTimeout { progress: progress(asked), data_present: DataPresent::No },
        CqlError::WriteTimeout(asked) => {
            ErrorKind::WriteTimeout { progress: progress(asked), write_type: write_type(asked), contentions: 0 }
        }
        CqlError::ReadFailure(_, asked) => {
            ErrorKind::ReadFailure { progress: progress(asked), failures: Failures::default(), data_present: DataPresent::No }
        }
        CqlError::FunctionFailure { keyspace, function, argument_types, .. } => {
            ErrorKind::FunctionFailure { keyspace, function, argument_types: argument_types.iter().map(String::as_str).collect() }
        }
        CqlError::WriteFailure(_, asked) => {
            ErrorKind::WriteFailure { progress: progress(asked), failures: Failures::default(), write_type: write_type(asked) }
        }
    };
    let message = error.to_string();
    write_frame(out, version, stream, Opcode::Error, |body| ErrorResponse { message: &message, kind }.write(body, version));
}

/// A column of a result that is described with the result itself.
#[derive(Clone, Debug)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
}

/// Appends a result of rows that were collected.
pub fn write_rows(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    stream: StreamId,
    keyspace: &str,
    table: &str,
    columns: &[ResultColumn],
    rows: &[Vec<Option<Vec<u8>>>],
) {
    let specs: Vec<ColumnSpec<'_>> =
        columns.iter().map(|column| ColumnSpec { keyspace, table, name: &column.name, data_type: &column.data_type }).collect();
    let metadata = ResultMetadata::encode(version, &specs);
    write_frame(out, version, stream, Opcode::Result, |body| {
        let mark = begin_rows(body, &metadata, RowsDescription::Columns(ResultColumns::Described), None);
        for cell in rows.iter().flatten() {
            writer::write_bytes(body, cell.as_deref());
        }
        end_rows(body, mark, u32::try_from(rows.len()).unwrap_or(u32::MAX));
    });
}

/// What stands for keyspace and table of a marker that belongs to a batch itself.
const OF_BATCH: &str = "[batch]";

fn marker_spec(marker: &Marker) -> ColumnSpec<'_> {
    let (keyspace, table) = marker.table.as_deref().map_or((OF_BATCH, OF_BATCH), |table| (&*table.keyspace, &*table.name));
    ColumnSpec { keyspace, table, name: &marker.name, data_type: &marker.data_type }
}

/// Appends the RESULT of PREPARE.
pub fn write_prepared(out: &mut Vec<u8>, version: ProtocolVersion, stream: StreamId, prepared: &Prepared) {
    let markers: Vec<ColumnSpec<'_>> = prepared.markers.iter().map(marker_spec).collect();
    let markers = ResultMetadata::encode(version, &markers);
    let result = prepared.result_metadata(version);
    let result_id: [u8; 16] = Md5::digest(result.encoded_columns()).into();
    let message = wire::Prepared {
        id: &prepared.id,
        result_metadata_id: &result_id,
        markers: &markers,
        key_indexes: &prepared.partition_key_markers,
        result: &result,
        extra_flags: 0,
    };
    write_frame(out, version, stream, Opcode::Result, |body| message.write(body, version));
}
