//! A bounded piece of a select on one shard: visits rows from a cursor on and gives the values of those that match.
//!
//! | bytes | reply |
//! |---|---|
//! | 4 | number of rows |
//! | 1 | how it ended: [`End`] |
//! | 4 | length of the rows |
//! | … | rows: with `nearest` how near (4), with `keyed` the partition and clustering key (2 + n each), then for each source a `[bytes]` |
//! | … | where it ended: a [`Cursor`] |
//! | 2 + 2 n | if it covers more slots than its extent: these |
//!
//! A chunk ends after a number of rows or bytes ([`super::gather`]) whether it gave any or not, so that other requests on the
//! shard do not wait for it. One of several partitions also ends before a partition of which a row is not in memory, if it got anywhere; rows of one
//! partition, up to that number, are read at once, so that what was written together is seen together.
//!
//! Invariant: the cursor lies after the last row that was given and before the next one there is, so a chunk from there on neither loses nor
//! repeats a row.

use super::cursor::Cursor;
use super::entry_ranges::EntryRanges;
use super::filter::BoundFilter;
use super::nearest::BoundNearest;
use crate::exec::keys::KeyRange;
use crate::plan::Select;
use crate::wire::{Reader, WireError};
use base::{Slot, Token};
use model::operation::RowStore;
use std::sync::Arc;

/// What all chunks of a select have in common.
pub(in crate::exec) struct FetchPlan {
    /// The statement.
    pub(in crate::exec) plan: Arc<Select>,
    /// The clustering keys asked for, ascending, when partitions are read; a scan of the table filters instead.
    pub(in crate::exec) ranges: Vec<KeyRange>,
    /// What rows must match.
    pub(in crate::exec) filters: Vec<BoundFilter>,
    /// The entries whose rows are looked at, if an index is used.
    pub(in crate::exec) entries: Option<EntryRanges>,
    /// Only rows that are nearest are given.
    pub(in crate::exec) nearest: Option<BoundNearest>,
    /// Rows a partition gives at most.
    pub(in crate::exec) per_partition: u32,
    /// The time that expiry goes by.
    pub(in crate::exec) now_s: u32,
    /// Whether rows come with their keys.
    pub(in crate::exec) keyed: bool,
}

impl FetchPlan {
    /// Whether a chunk that covers more slots than its extent gives rows of them, and not only says that they have none.
    pub(in crate::exec) fn gives_covered_rows(&self) -> bool {
        self.nearest.is_some() && self.entries.is_none()
    }

    /// The slots behind `after` that are served here and have no rows that are asked for, as far as is known without a look.
    pub(super) fn slots_without(&self, store: &dyn RowStore, after: Slot) -> Vec<Slot> {
        match &self.entries {
            Some(entries) if entries.are_points() => entries.slots_without(store, self.plan.table.id, after),
            _ => store.slots_without_rows(self.plan.table.id, after),
        }
    }
}

/// What a chunk looks through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Extent {
    /// The partition that the cursor names.
    Partition,
    /// All partitions from the cursor to this token, which one shard owns.
    Ring {
        /// The last token.
        until: Token,
    },
}

/// A chunk to run.
pub(in crate::exec) struct Chunk {
    /// What is common.
    pub(in crate::exec) fetch: Arc<FetchPlan>,
    /// What it looks through.
    pub(in crate::exec) extent: Extent,
    /// Where it starts.
    pub(in crate::exec) cursor: Cursor,
    /// How many rows it gives at most.
    pub(in crate::exec) rows_max: u32,
    /// Whether, having given them, it looks for one more.
    pub(in crate::exec) peek: bool,
    /// Whether it may as well give the nearest rows of all slots that are served where it runs, or say which of those have none that are asked for.
    pub(in crate::exec) covers: bool,
    /// The request's: functions in its values give the same wherever the chunk runs.
    pub(in crate::exec) nonce: u64,
}

/// In a description: the extent is a part of the ring, and the chunk may cover more. Members that do not know it look through the extent.
pub(super) const COVERING: u8 = 2;

/// What a chunk is besides its statement and values.
///
/// | bytes | description |
/// |---|---|
/// | 8 | nonce |
/// | 4 + 4 | rows of a partition at most, seconds that expiry goes by |
/// | 4 + 1 | rows at most, whether it looks for one more |
/// | 1 + 8 | 0: the cursor's partition, 1: the ring up to this token, 2: the same, and it may cover more slots |
/// | … | a [`Cursor`] |
pub(in crate::exec) struct Described {
    pub(in crate::exec) nonce: u64,
    pub(in crate::exec) per_partition: u32,
    pub(in crate::exec) now_s: u32,
    pub(in crate::exec) rows_max: u32,
    pub(in crate::exec) peek: bool,
    pub(in crate::exec) extent: Extent,
    pub(in crate::exec) covers: bool,
    pub(in crate::exec) cursor: Cursor,
}

impl Described {
    /// Reads what [`Chunk`] wrote.
    ///
    /// # Errors
    /// When the bytes end too early.
    pub(in crate::exec) fn read(bytes: &[u8]) -> Result<Option<Self>, WireError> {
        let mut reader = Reader::new(bytes);
        let nonce = reader.long()?.cast_unsigned();
        let (per_partition, now_s) = (reader.int()?.cast_unsigned(), reader.int()?.cast_unsigned());
        let (rows_max, peek) = (reader.int()?.cast_unsigned(), reader.byte()? != 0);
        let (kind, until) = (reader.byte()?, Token(reader.long()?));
        let (covers, extent) = (kind == COVERING, if kind != 0 { Extent::Ring { until } } else { Extent::Partition });
        Ok(Cursor::read(&mut reader)?.map(|cursor| Self { nonce, per_partition, now_s, rows_max, peek, extent, covers, cursor }))
    }
}

/// How a chunk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum End {
    /// There is nothing more in the extent.
    Finished,
    /// There is one more row at least.
    More,
    /// It stopped early; there may be more.
    Early,
}

/// What a chunk gave.
#[derive(Debug)]
pub(in crate::exec) struct Gathered<'a> {
    /// How many rows.
    pub(in crate::exec) row_count: u32,
    /// How it ended.
    pub(in crate::exec) end: End,
    /// The rows.
    pub(in crate::exec) rows: &'a [u8],
    /// Where it ended.
    pub(in crate::exec) cursor: Cursor,
    /// The slots that it covers, if those are more than its extent.
    pub(in crate::exec) covered: Vec<Slot>,
}

impl<'a> Gathered<'a> {
    /// Reads a chunk's reply.
    ///
    /// # Errors
    /// Only for bytes that are not one.
    pub(in crate::exec) fn read(reply: &'a [u8]) -> Result<Option<Self>, WireError> {
        let mut reader = Reader::new(reply);
        let row_count = reader.int()?.cast_unsigned();
        let end = match reader.byte()? {
            0 => End::Finished,
            1 => End::More,
            _ => End::Early,
        };
        let rows = reader.bytes()?.unwrap_or_default();
        let Some(cursor) = Cursor::read(&mut reader)? else { return Ok(None) };
        let mut covered = Vec::new();
        if !reader.rest().is_empty() {
            for _ in 0..reader.short()? {
                covered.push(Slot(reader.short()?));
            }
        }
        Ok(Some(Self { row_count, end, rows, cursor, covered }))
    }
}
