//! EXECUTE frames that are encoded once and patched for each request: a load generator must cost less than what it measures.
//!
//! Parameters are those of the usual drivers: consistency LOCAL_ONE, a page size of 5,000, no column descriptions in results, a write
//! timestamp of the client's.

use crate::rows::{KEY_BYTES, KeyNumber, RowShape};
use cql::wire::{
    Consistency, Direction, Execute, FrameFlags, Opcode, ProtocolVersion, QueryParameters, Request, ResultColumns, StreamId, Value,
    ValuesBuffer, WireError, begin_frame, end_frame,
};
use load::cql::client::PreparedStatement;

/// Where in a frame its stream is.
const STREAM_OFFSET: usize = 2;
const TIMESTAMP_BYTES: usize = 8;
const PAGE_ROWS: u32 = 5_000;

/// A request of a kind, but for stream, key and timestamp.
#[derive(Clone, Debug)]
pub struct Template {
    frame: Vec<u8>,
    /// Where the key goes: as the row's key, and for a write at the start of its first blob too.
    keys: Vec<usize>,
    has_timestamp: bool,
}

impl Template {
    /// A read of one row by a prepared [`RowShape::select`].
    ///
    /// # Errors
    /// When the protocol cannot express it.
    pub fn read(version: ProtocolVersion, select: &PreparedStatement) -> Result<Self, WireError> {
        let mut values = ValuesBuffer::new();
        values.push(Value::Bytes(&KeyNumber(0).key()));
        Self::read_of(version, select, &values)
    }

    fn read_of(version: ProtocolVersion, select: &PreparedStatement, values: &ValuesBuffer) -> Result<Self, WireError> {
        let mut parameters = QueryParameters::new(Consistency::LocalOne, values.as_values(version));
        parameters.result_columns = ResultColumns::Skipped;
        parameters.page_size = Some(PAGE_ROWS);
        Self::encode(version, select, parameters, 1)
    }

    /// A read of one row by a prepared [`RowShape::select_by_value`].
    ///
    /// # Errors
    /// When the protocol cannot express it.
    pub fn read_by_value(version: ProtocolVersion, select: &PreparedStatement, shape: &RowShape) -> Result<Self, WireError> {
        let mut values = ValuesBuffer::new();
        for cell in shape.cells(KeyNumber(0).key()).take(1) {
            values.push(Value::Bytes(&cell));
        }
        Self::read_of(version, select, &values)
    }

    /// An upsert of one row by a prepared [`RowShape::insert`].
    ///
    /// # Errors
    /// When the protocol cannot express it.
    pub fn write(version: ProtocolVersion, insert: &PreparedStatement, shape: &RowShape) -> Result<Self, WireError> {
        let key = KeyNumber(0).key();
        let mut values = ValuesBuffer::new();
        values.push(Value::Bytes(&key));
        for cell in shape.cells(key) {
            values.push(Value::Bytes(&cell));
        }
        let mut parameters = QueryParameters::new(Consistency::LocalOne, values.as_values(version));
        parameters.result_columns = ResultColumns::Skipped;
        parameters.common.timestamp = Some(0);
        Self::encode(version, insert, parameters, 2)
    }

    fn encode(
        version: ProtocolVersion,
        statement: &PreparedStatement,
        parameters: QueryParameters<'_>,
        key_count: usize,
    ) -> Result<Self, WireError> {
        let execute = Execute { id: &statement.id, result_metadata_id: &statement.result_metadata_id, parameters };
        let mut frame = Vec::new();
        let mark = begin_frame(&mut frame, version, Direction::Request, FrameFlags::NONE, StreamId(0), Opcode::Execute);
        Request::Execute(execute).write(&mut frame, version)?;
        end_frame(&mut frame, mark)?;
        let placeholder = KeyNumber(0).key();
        let keys: Vec<usize> =
            frame.windows(KEY_BYTES).enumerate().filter(|(_, window)| *window == placeholder).map(|(offset, _)| offset).collect();
        assert_eq!(keys.len(), key_count, "the placeholder stands in the frame where a key does and nowhere else");
        Ok(Self { frame, keys, has_timestamp: parameters.common.timestamp.is_some() })
    }

    /// Length of each frame.
    #[must_use]
    pub fn frame_bytes(&self) -> usize {
        self.frame.len()
    }

    /// Appends a plain frame.
    #[inline]
    pub fn append(&self, out: &mut Vec<u8>, stream: StreamId, key: KeyNumber, timestamp_us: i64) {
        self.append_of(out, stream, (key, key), timestamp_us);
    }

    /// Appends a plain frame of a write to the row `key` with the first blob that the row `of` has at first.
    #[inline]
    pub fn append_of(&self, out: &mut Vec<u8>, stream: StreamId, (key, of): (KeyNumber, KeyNumber), timestamp_us: i64) {
        let start = out.len();
        out.extend_from_slice(&self.frame);
        let frame = &mut out[start..];
        frame[STREAM_OFFSET..STREAM_OFFSET + 2].copy_from_slice(&stream.0.to_be_bytes());
        for (offset, key) in self.keys.iter().zip([key.key(), of.key()]) {
            frame[*offset..*offset + KEY_BYTES].copy_from_slice(&key);
        }
        if self.has_timestamp {
            // The last field of the parameters.
            let end = frame.len();
            frame[end - TIMESTAMP_BYTES..].copy_from_slice(&timestamp_us.to_be_bytes());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use cql::wire::{Frame, FrameDecoder};

    fn statement() -> PreparedStatement {
        PreparedStatement { id: vec![9; 16], result_metadata_id: vec![8; 16] }
    }

    fn decoded(bytes: &[u8], check: impl FnOnce(&Frame<'_>, &Execute<'_>)) {
        let mut decoder = FrameDecoder::new(Direction::Request, 1 << 20);
        let mut workspace = cql::wire::CompressionWorkspace::new();
        let mut frames = decoder.feed(bytes, &mut workspace);
        let frame = frames.next_frame().unwrap().unwrap();
        let (_, request) = Request::decode(&frame).unwrap();
        let Request::Execute(execute) = request else { panic!("{request:?}") };
        check(&frame, &execute);
        assert!(frames.next_frame().unwrap().is_none());
    }

    #[test]
    fn a_patched_read_decodes_to_its_key() {
        for version in [ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5] {
            let mut out = Vec::new();
            let template = Template::read(version, &statement()).unwrap();
            template.append(&mut out, StreamId(511), KeyNumber(42), 1);
            assert_eq!(out.len(), template.frame_bytes());
            decoded(&out, |frame, execute| {
                assert_eq!(frame.header.stream, StreamId(511));
                assert_eq!(execute.id, [9; 16]);
                let values: Vec<_> = execute.parameters.values.iter().collect();
                assert_eq!(values, [Value::Bytes(b"key:000000000042")]);
                assert_eq!(execute.parameters.common.timestamp, None);
            });
        }
    }

    #[test]
    fn a_patched_write_decodes_to_the_row_of_its_key() {
        for version in [ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5] {
            let shape = RowShape::new(2, 100);
            let mut out = Vec::new();
            Template::write(version, &statement(), &shape).unwrap().append(&mut out, StreamId(1), KeyNumber(77), 1234);
            decoded(&out, |_, execute| {
                let mut values = execute.parameters.values.iter().map(|value| match value {
                    Value::Bytes(bytes) => Some(bytes),
                    Value::Null | Value::Unset => None,
                });
                assert_eq!(values.next().unwrap().unwrap(), b"key:000000000077");
                assert!(shape.matches(KeyNumber(77).key(), values));
                assert_eq!(execute.parameters.common.timestamp, Some(1234));
            });
        }
    }
}
