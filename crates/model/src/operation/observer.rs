//! A second consumer of a table's writes: an index, a view, a change feed, a backup.
//!
//! The shard calls it for every row that an operation writes, with the row before and after, and adds the rows that it stages to the atomic
//! group of that operation. So a derived row is there if and only if the write that it comes from is, and nobody is answered before both are.
//!
//! `docs/decisions/0022-row-images.md` says what an observer sees of replication, expiry, truncation and recovery.

use super::{Context, PartitionKey, RowStore, Stop, WriteSet};

/// One row that an operation writes, before and after.
#[derive(Clone, Copy)]
pub struct RowChange<'a> {
    /// Its partition.
    pub partition: PartitionKey<'a>,
    /// Its clustering key. The empty key and those that start with [`super::RANGE_DELETION_PREFIX`] stand for deletions of other rows, too:
    /// an observer finds those rows by scanning `RowStore`, which has them as they were.
    pub clustering: &'a [u8],
    /// The row as it was, tombstones and what has expired included; `None` if there was none.
    pub old: Option<&'a [u8]>,
    /// The row as it will be. A deleted row has bytes as well, which say so.
    pub new: &'a [u8],
    /// From when on (seconds since the epoch) the engine may forget the new row; `None` is never. A derived row that lives as long as its
    /// source has the same stamps and the same time.
    pub purge_after_s: Option<u32>,
    /// All rows of the same operation: what a deletion of a range or of the partition covers may be written anew in the same group.
    pub group: &'a WriteSet,
}

/// A function from a changed row to rows that follow from it.
///
/// As an [`super::Operation`] it may be run again after a miss: its only effects are the rows that it stages.
pub trait RowObserver: Send + Sync {
    /// Stages in `derived` what follows from a change. `rows` are as before the operation, for every table of the shard.
    ///
    /// What it stages
    /// - is of the tables it was registered with, and nobody else writes those;
    /// - has the token's slot of the changed row, so that both are replicated and moved as one;
    /// - does not depend on how often it is called: a batch that is run again after a crash writes the same rows again.
    ///
    /// # Errors
    /// [`Stop`] from the store, unchanged: the shard forgets the operation, and runs it again once the row is in memory.
    fn changed(&self, context: &Context, change: &RowChange<'_>, rows: &dyn RowStore, derived: &mut WriteSet) -> Result<(), Stop>;
}
