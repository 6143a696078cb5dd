//! Messages of a stream of Arrow (`Message.fbs` and `Schema.fbs` of its format, version 5): the schema, batches, the end.
//!
//! ```text
//! FF FF FF FF │ length of the head (4) │ head: a FlatBuffer, to a multiple of 8 bytes │ body: the buffers of a batch
//! ```

use super::column::Column;
use super::flatbuffer::{Field, FlatBuffer};

/// What each message begins with.
const CONTINUATION: [u8; 4] = [0xFF; 4];
/// Version 5 of the metadata.
const VERSION: Field = Field::Short(4);
const SCHEMA: Field = Field::Byte(1);
const BATCH: Field = Field::Byte(3);
const NULLABLE: Field = Field::Byte(1);

/// A length of 0 ends the stream.
pub(super) const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// The names and types of columns.
pub(super) fn schema<'a>(columns: impl ExactSizeIterator<Item = (&'a str, &'a Column)>, out: &mut Vec<u8>) {
    let mut head = FlatBuffer::new();
    let [_, _, header, _] = head.root([VERSION, SCHEMA, Field::Offset, Field::Long(0)]);
    // Little-endian, which is the default.
    let [_, fields] = head.table(header, [Field::Absent, Field::Offset]);
    let fields = head.tables(fields, columns.len());
    for (at, (name, column)) in fields.into_iter().zip(columns) {
        let kind = Field::Byte(column.kind.number());
        let field = head.table(at, [Field::Offset, NULLABLE, kind, Field::Offset, Field::Absent, Field::Offset]);
        let [name_at, _, _, kind_at, _, children] = field;
        head.string(name_at, name);
        column.kind.write(kind_at, &mut head);
        head.tables(children, 0);
    }
    put(head, &[], out);
}

/// The rows that columns have, which are empty then.
pub(super) fn batch(columns: &mut [Column], out: &mut Vec<u8>) {
    let rows = columns.first().map_or(0, |column| column.counts().0);
    let nodes: Vec<_> = columns.iter().map(Column::counts).collect();
    let (mut body, mut places) = (Vec::new(), Vec::new());
    columns.iter_mut().for_each(|column| column.drain_to(&mut body, &mut places));
    let mut head = FlatBuffer::new();
    let [_, _, header, _] = head.root([VERSION, BATCH, Field::Offset, Field::Long(body.len() as i64)]);
    let [_, nodes_at, buffers_at] = head.table(header, [Field::Long(rows), Field::Offset, Field::Offset]);
    head.pairs(nodes_at, &nodes);
    head.pairs(buffers_at, &places);
    put(head, &body, out);
}

/// A message that is longer than what follows, which says why: no reader takes the stream for whole, with or without HTTP's own end.
pub(super) fn broken(why: &str) -> Vec<u8> {
    let length = (why.len() as u32 + 8).next_multiple_of(8);
    [&CONTINUATION[..], &length.to_le_bytes(), why.as_bytes()].concat()
}

fn put(head: FlatBuffer, body: &[u8], out: &mut Vec<u8>) {
    let head = head.finish();
    out.extend_from_slice(&CONTINUATION);
    out.extend_from_slice(&(head.len() as u32).to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(body);
}
