//! What queries put elsewhere when it is too much for memory: sorted runs, and tables that they make for themselves. Where that is, how much there may be of it, and that nobody else can
//! read it is up to a [`SpillStore`]; without one everything stays in memory.
//!
//! SQLite spills sorts (ORDER BY, GROUP BY, windows) in runs of 2 to 32 MiB, as there is memory when the query begins, and its own tables and indexes (DISTINCT, UNION, recursion, subqueries that are kept, indexes for joins) beyond
//! 2 MiB each. Groups that are in order already take no room. Rows that are kept for a join (`kept`) are not spilled: without room the table is read again.

mod vfs;

use crate::memory;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

pub(crate) use vfs::name;

/// Memory of a sort, from which on it spills: what there is is shared with others that may come.
const RUN_BYTES: RangeInclusive<i64> = 2 << 20..=32 << 20;
/// Sorts among which what is free is shared.
const SORTS: i64 = 8;

/// The memory that each sort of a query may have that begins now.
pub(crate) fn run_bytes() -> i64 {
    ((memory::MEMORY_MAX - memory::used()) / SORTS).clamp(*RUN_BYTES.start(), *RUN_BYTES.end())
}

static STORE: OnceLock<Box<dyn SpillStore>> = OnceLock::new();

thread_local! {
    /// Why a file could not be written or read: SQLite has a number for it alone. A query runs on the thread that asks for the reason.
    static FAILURE: RefCell<Option<SpillError>> = const { RefCell::new(None) };
}

/// Why a query cannot spill.
#[derive(Debug, thiserror::Error)]
pub enum SpillError {
    /// All queries together would have too much there.
    #[error("the statement needs more than the {} MiB that all SQL statements may have on disk (setting `sql_spill_limit`)", limit_bytes >> 20)]
    Limit {
        /// The bound.
        limit_bytes: u64,
    },
    /// The device is nearly full.
    #[error("the statement needs room on disk, and the file system of the data directory has {} MiB left", free_bytes >> 20)]
    NoRoom {
        /// What is left.
        free_bytes: u64,
    },
    /// The file fails.
    #[error("what the statement has put on disk cannot be read or written: {0}")]
    Io(#[from] std::io::Error),
}

/// Makes files.
pub trait SpillStore: Send + Sync {
    /// An empty file, which is gone once it is dropped, or the process ends.
    ///
    /// # Errors
    /// It cannot be made.
    fn create(&self) -> Result<Box<dyn SpillFile>, SpillError>;
}

/// A file that one query has for itself.
pub trait SpillFile: Send {
    /// Reads what lies there; says how much there is, up to the end.
    ///
    /// # Errors
    /// It cannot be read.
    fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, SpillError>;

    /// Writes there, if need be beyond the end.
    ///
    /// # Errors
    /// It cannot be written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SpillError>;

    /// Forgets what lies beyond.
    ///
    /// # Errors
    /// It cannot be cut.
    fn truncate(&mut self, length: u64) -> Result<(), SpillError>;

    /// How long it is.
    fn length(&self) -> u64;
}

/// Has queries of this process spill there; to be called once, before the first one. False if there is a store already.
pub fn spill_to(store: Box<dyn SpillStore>) -> bool {
    STORE.set(store).is_ok()
}

/// Notes why a file of this thread has failed.
fn note(error: SpillError) {
    FAILURE.with_borrow_mut(|failure| *failure = Some(error));
}

/// What was noted since it was asked for last.
pub(crate) fn take_failure() -> Option<SpillError> {
    FAILURE.take()
}
