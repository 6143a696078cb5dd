//! What of a partition or a table a scan reads, in which order; the rows of a table as it gives them.

use crate::key::{CachePolicy, Row};
use base::{TableId, Token};
use std::ops::Bound;

/// Which way a partition is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// By rising clustering key.
    #[default]
    Forward,
    /// By falling clustering key.
    Backward,
}

/// What of a partition to read.
#[derive(Clone, Copy, Debug)]
pub struct PartitionScan<'a> {
    /// The table.
    pub table: TableId,
    /// The partition's token.
    pub token: Token,
    /// The partition key.
    pub partition: &'a [u8],
    /// The lower bound of clustering keys.
    pub from: Bound<&'a [u8]>,
    /// The upper bound of clustering keys.
    pub to: Bound<&'a [u8]>,
    /// Which end to start at.
    pub direction: Direction,
    /// Whether records stay in memory.
    pub policy: CachePolicy,
    /// How many records to ask for at once when some are missing: about as many as will be read. At most `READ_AHEAD_MAX`.
    pub read_ahead: usize,
}

/// Where a scan of a table starts.
#[derive(Clone, Copy, Debug)]
pub enum TablePosition<'a> {
    /// At the first row whose token is this or a later one.
    Token(Token),
    /// After this row, whether it is still there or not.
    After {
        /// The row's token.
        token: Token,
        /// The row's partition key.
        partition: &'a [u8],
        /// The row's clustering key.
        clustering: &'a [u8],
    },
}

/// What of a table to read.
#[derive(Clone, Copy, Debug)]
pub struct TableScan<'a> {
    /// The table.
    pub table: TableId,
    /// Where to start.
    pub from: TablePosition<'a>,
    /// The last token to read.
    pub to: Token,
    /// Whether records stay in memory.
    pub policy: CachePolicy,
    /// How many records to ask for at once when some are missing.
    pub read_ahead: usize,
}

/// A row of a table scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRow<'a> {
    /// Its token.
    pub token: Token,
    /// Its partition key.
    pub partition: &'a [u8],
    /// Its clustering key.
    pub clustering: &'a [u8],
    /// The row.
    pub row: Row<'a>,
}
