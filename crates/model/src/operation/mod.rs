//! What a protocol asks of a shard: a function from stored rows to new rows and a reply, run as a whole on the core that owns them.
//!
//! An operation runs against rows that are in memory. When it needs one that is not, the store answers [`Stop::Miss`]; the shard forgets
//! what the operation staged and wrote, reads the row, and runs it again from the start. So an operation is atomic and linearizable without
//! locks, and must not have effects but through its arguments.
//!
//! Within a partition, rows are ordered by the bytes of their clustering key. By convention
//! - the empty key is the partition's own row: static columns, and the deletion of the whole partition as the row's deletion. In a table
//!   without clustering columns it is the only row;
//! - keys that start with [`RANGE_DELETION_PREFIX`] are deletions of a range of keys;
//! - the keys of rows start with a byte of at least [`FIRST_ROW_BYTE`].

mod batch_log;
mod coordinator;
mod covering;
mod index_slot;
mod indexed_values;
mod nearest;
mod observer;
mod partition_key;
mod writes;

pub use batch_log::batch_log;
pub use coordinator::{Coordinator, Part, Standing, Step};
pub use covering::{Covering, EntryStretch, PrefixOf};
pub use index_slot::{INDEX_OVERSIZE_KEY, INDEX_STATE_KEY, INDEX_VALUE_BYTES_MAX, index_slot_key, index_slot_token, is_index_complete};
pub use indexed_values::{INDEXED_VALUES_MAX, IndexedValues};
pub use nearest::{NearRow, NearRows, NearestQuery, RowVector, VectorColumn, VectorMetric};
pub use observer::{RowChange, RowObserver};
pub use partition_key::PartitionKey;
pub use writes::{StagedRow, WriteSet};

use crate::Table;
use crate::row::RowKind;
use base::{Now, Slot, TableId, Token};

/// First byte of the clustering key under which the deletion of a range is kept.
pub const RANGE_DELETION_PREFIX: u8 = 0x01;

/// Clustering keys of rows start with this byte or a larger one.
pub const FIRST_ROW_BYTE: u8 = 0x10;

/// A row met by a scan of a table.
#[derive(Clone, Copy, Debug)]
pub struct ScannedRow<'a> {
    /// Its partition.
    pub partition: PartitionKey<'a>,
    /// Its clustering key.
    pub clustering: &'a [u8],
    /// Its bytes: see [`crate::row`].
    pub row: &'a [u8],
}

/// Where a scan of a table starts: at the first row at or after this one in (token, partition, clustering) order.
#[derive(Clone, Copy, Debug)]
pub struct Position<'a> {
    /// The token.
    pub token: Token,
    /// The partition key; empty for the first with this token.
    pub partition: &'a [u8],
    /// The clustering key; empty for the partition's first row.
    pub clustering: &'a [u8],
}

/// Whether a scan goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Give me the next row.
    Continue,
    /// The same, and in this row nobody sees anything until it is written again: see [`RowStore::scan_live`].
    Dead,
    /// I have what I need.
    Stop,
}

/// The order of a scan within a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending clustering keys.
    Forward,
    /// Descending clustering keys.
    Reverse,
}

/// Why an operation could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// A row is on the device: the shard reads it and runs the operation again.
    #[error("a row is not in memory yet")]
    Miss,
    /// A row is locked by a transaction: the shard runs the operation again once the table that it has asked for last was written, and from time to time.
    #[error("a row is locked by a transaction")]
    Locked,
    /// A stored row is damaged and no replica could repair it.
    #[error("the stored row at segment {segment}, offset {offset} is damaged; restore it from a backup or replica")]
    Damaged {
        /// The log segment.
        segment: u32,
        /// Bytes from the segment's start.
        offset: u32,
    },
    /// The shard has not read its log yet.
    #[error("the shard is still recovering; try again in a moment")]
    NotReady,
    /// The table has just been dropped.
    #[error("the table does not exist any more")]
    UnknownTable,
    /// Another member of the cluster is the primary of these rows, or nobody is for the moment.
    #[error("this node is not the primary of the slot; ask another, or try again in a moment")]
    NotPrimary,
}

/// What a write finds under its key: see [`RowStore::basis`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis<'a> {
    /// The stored row, or that there is none.
    Row(Option<&'a [u8]>),
    /// The row is on the device. A write that need not know it may be staged as a delta ([`WriteSet::end_delta`]): this one, if there is
    /// one already, merged with what is written.
    Delta(Option<&'a [u8]>),
}

/// The rows of a shard, as an operation sees them: all writes before it, none after it, and none of its own.
pub trait RowStore {
    /// The stored row at `clustering`.
    ///
    /// # Errors
    /// [`Stop`] when it cannot be had now.
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop>;

    /// Whether there may be rows of a table on this shard, deletions included. Costs nearly nothing.
    fn has_rows(&self, _: TableId) -> bool {
        true
    }

    /// What a write of a partition's only row (with an empty clustering key) has to be merged with.
    ///
    /// # Errors
    /// As [`RowStore::get`].
    fn basis(&self, partition: &PartitionKey<'_>) -> Result<Basis<'_>, Stop> {
        self.get(partition, &[]).map(Basis::Row)
    }

    /// Visits the rows of a partition with `from <= clustering key < to` (to the end when `to` is `None`).
    ///
    /// # Errors
    /// [`Stop`] when a row cannot be had now; the rows before it have been visited.
    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop>;

    /// As [`RowStore::scan`], for a reader of what there is at `now_s`: rows of which a reader has said that they are [`Visit::Dead`] may be left out.
    ///
    /// # Errors
    /// As [`RowStore::scan`].
    fn scan_live(
        &self,
        partition: &PartitionKey<'_>,
        (from, to): (&[u8], Option<&[u8]>),
        direction: Direction,
        _now_s: u32,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        self.scan(partition, from, to, direction, visit)
    }

    /// Visits the rows of a table on this shard from `from` to the last with a token of at most `until`, in ring order.
    ///
    /// # Errors
    /// As [`RowStore::scan`].
    fn scan_table(
        &self,
        table: TableId,
        from: Position<'_>,
        until: Token,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop>;

    /// The first slot from `from` to `last` that may have rows of `table` whose clustering keys begin with `prefix`. They are about rows of the table `of`.
    /// With the slot comes whether it is covered: [`RowStore::cover_slot`] came to its end, and nothing since undid that.
    ///
    /// # Errors
    /// As [`RowStore::scan`], of any slot up to it.
    fn next_slot(&self, (_table, _of): (TableId, TableId), _prefix: &[u8], from: Slot, _last: Slot) -> Result<Option<(Slot, bool)>, Stop> {
        Ok(Some((from, false)))
    }

    /// The slots behind `after` that are served here, of which it is known without a look that they have no rows of `table` whose clustering keys begin with
    /// one of `prefixes`. They are about rows of the table `of`. None where one store has all slots.
    fn slots_without(&self, (_table, _of): (TableId, TableId), _prefixes: &[&[u8]], _after: Slot) -> Vec<Slot> {
        Vec::new()
    }

    /// The slots behind `after` that are served here and have no rows of a table. None where one store has all slots.
    fn slots_without_rows(&self, _table: TableId, _after: Slot) -> Vec<Slot> {
        Vec::new()
    }

    /// Lets [`RowStore::next_slot`] know some more rows of a slot.
    ///
    /// # Errors
    /// As [`RowStore::scan`].
    fn cover_slot(&self, _stretch: &EntryStretch<'_>) -> Result<Covering, Stop> {
        Ok(Covering::Refused)
    }

    /// Rows that are likely the nearest of what a query asks for, nearest first, by a graph of their vectors: some may be gone by now or have other vectors, and
    /// some of the nearest may be missing. `None` where there is no graph, or it lags: all rows have to be compared.
    ///
    /// # Errors
    /// As [`RowStore::scan`], of any row asked for.
    fn nearest(&self, _: &NearestQuery<'_>) -> Result<Option<NearRows>, Stop> {
        Ok(None)
    }

    /// A record set's table as it is now. Its dictionary may have grown since an operation was made, and rows may have such cells already.
    fn record_set(&self, _: TableId) -> Option<&Table> {
        None
    }

    /// The record set of a keyspace that has this table's name. Looks at all record sets: not for every request.
    fn record_set_of_name(&self, _keyspace: &str, _name: &str) -> Option<&Table> {
        None
    }
}

/// What an operation may know besides rows.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The time this batch of work started.
    pub now: Now,
    /// Larger in each run on this shard: the write timestamp of writes that bring none, in microseconds near the wall clock.
    pub timestamp_us: i64,
    /// Different in each run on this node: for identifiers that must be unique.
    pub nonce: u64,
}

impl Context {
    /// Seconds since the epoch, for expiry.
    #[must_use]
    pub fn now_s(&self) -> u32 {
        self.now.wall_s().clamp(0, i64::from(u32::MAX)) as u32
    }
}

/// A protocol's work on one shard.
pub trait Operation: Send {
    /// Runs once: reads from `store`, stages rows in `writes`, appends the reply. The shard applies the writes as one atomic group when
    /// this returns `Ok`, and only then sends the reply. The caller's mistakes are replies, not errors.
    ///
    /// # Errors
    /// [`Stop`] from the store, unchanged.
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop>;

    /// Appends what another node must know, besides the client's request, to make this part of it again; false if it cannot be made
    /// elsewhere.
    fn describe(&self, _: &mut Vec<u8>) -> bool {
        false
    }
}

/// When the engine may forget a row, given how long its table remembers deletions.
#[must_use]
pub fn purge_after_s(kind: RowKind, gc_grace_s: u32) -> Option<u32> {
    match kind {
        RowKind::Lasting => None,
        RowKind::Passing { gone_at_s } => Some(gone_at_s.saturating_add(gc_grace_s)),
    }
}
