//! Bytes ↔ messages: an eight-byte header ([`Header`]), then information requests as text, or a [`Message`].
//!
//! Decoding borrows from the bytes that arrived and checks every length once; encoding appends to the connection's output.

mod batch;
mod compression;
mod error;
mod fields;
mod header;
mod message;
mod writer;

pub use batch::{BatchEntries, BatchEntry, BatchWriter};
pub use compression::decompress;
pub use error::WireError;
pub use fields::{Fields, IndexFields, TransactionFields, UdfFields, VERSION_BYTES, field};
pub use header::{HEADER_BYTES, Header, Kind};
pub(crate) use message::for_each_message;
pub use message::{Attributes, BIN_NAME_BYTES_MAX, MESSAGE_HEADER_BYTES, Message, Operation, Operations, info1, info2, info3, info4};
pub use writer::{MessageWriter, Proto, write_result};
