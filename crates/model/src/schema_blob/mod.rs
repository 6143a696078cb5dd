//! The schema as bytes: the blob `schema.json` in which a node keeps it.
//!
//! | part | content |
//! |---|---|
//! | document | JSON, indented: `format`, `version`, `next_table`, `keyspaces`, and `roles` if there are any; all of them by name |
//! | last line | `crc32 xxxxxxxx`: the checksum of every byte before it, hexadecimal |
//!
//! Equal schemas give equal bytes. [`decode`] takes bytes from a disk: it checks the checksum first, then the format, then that the
//! parts fit together (ids unique and below the next one, key columns first, user types known and without cycles), so that a schema
//! that comes out can be relied on.

mod document;
mod error;
mod functions;
mod hex;
mod masks;
mod types;

pub use document::FORMAT;
pub use error::{Inconsistency, SchemaBlobError};

use crate::schema::Schema;
use document::{FormatOnly, SchemaDocument};
use hex::hex;

const CHECKSUM_PREFIX: &[u8] = b"crc32 ";
/// `crc32 `, eight digits, a line feed.
const CHECKSUM_LINE_BYTES: usize = CHECKSUM_PREFIX.len() + 8 + 1;

/// The blob for `schema`.
#[must_use]
pub fn encode(schema: &Schema) -> Vec<u8> {
    let mut bytes = document(&SchemaDocument::of(schema));
    let checksum = base::checksum(&bytes);
    bytes.extend_from_slice(format!("crc32 {checksum:08x}\n").as_bytes());
    bytes
}

/// The blob's document with a version of zero: what a version that follows from the content is made of.
#[must_use]
pub fn content(schema: &Schema) -> Vec<u8> {
    let mut without_version = SchemaDocument::of(schema);
    without_version.version = hex(0);
    document(&without_version)
}

fn document(schema: &SchemaDocument) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(schema).expect("strings, numbers and lists are always JSON");
    bytes.push(b'\n');
    bytes
}

/// The schema in a blob.
///
/// # Errors
/// When the bytes are damaged, are of a newer format, or do not make a schema.
pub fn decode(bytes: &[u8]) -> Result<Schema, SchemaBlobError> {
    let body_len = bytes.len().checked_sub(CHECKSUM_LINE_BYTES).ok_or(SchemaBlobError::NoChecksum)?;
    let (body, line) = bytes.split_at(body_len);
    let stored = checksum_of(line).ok_or(SchemaBlobError::NoChecksum)?;
    let computed = base::checksum(body);
    if stored != computed {
        return Err(SchemaBlobError::Checksum { stored, computed });
    }
    let FormatOnly { format } = serde_json::from_slice(body)?;
    if format > FORMAT {
        return Err(SchemaBlobError::Newer { found: format, supported: FORMAT });
    }
    let document: SchemaDocument = serde_json::from_slice(body)?;
    document.into_schema()
}

fn checksum_of(line: &[u8]) -> Option<u32> {
    let digits = line.strip_prefix(CHECKSUM_PREFIX)?.strip_suffix(b"\n")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests;
