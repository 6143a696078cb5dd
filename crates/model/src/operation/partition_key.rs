//! Which partition an operation is about.

use base::{TableId, Token};

/// A partition of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionKey<'a> {
    /// The table.
    pub table: TableId,
    /// The hash of `bytes`, by the protocol's partitioner.
    pub token: Token,
    /// The serialized partition key.
    pub bytes: &'a [u8],
}
