//! Tests of the engine as a whole: a simulated disk and stable memory, a model that knows every acknowledged write, and what breaks them.
#![allow(clippy::unwrap_used)]

mod checkpoint;
mod dead_runs;
mod encryption;
mod expiry;
mod faults;
mod golden;
mod losses;
mod model;
mod pacing;
mod page_making;
mod pages;
mod prefixes;
mod scrub;
mod shard;
mod sizes;
mod tail;
mod work;

/// Bugs that the model test must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planted {
    /// Writes are not copied into the stable memory.
    SkipMirror,
    /// Flush cycles end without a sync.
    SkipSync,
    /// A checkpoint says that it was begun when its last entry was taken.
    LateStart,
    /// A checkpoint is committed before the device has what it names.
    EarlyCommit,
    /// Cells of a checkpoint count although their segments have been used anew.
    IgnoreReuse,
    /// Rows of a checkpoint count although their table was truncated later.
    IgnoreTruncation,
    /// A second key of a token is written without further ado.
    SkipBeside,
    /// Pages are made of rows that the device does not have yet.
    VolatilePages,
    /// In recovery a page takes the place of rows that lie over it, too.
    PagesOverAll,
    /// Segments in which everything has expired are freed although older versions are left.
    ExpiredOverOlder,
    /// The cold segment has a higher generation than the one that writers append to.
    ColdOverWriters,
    /// The segment in which the tail begins is taken for old.
    TailBeginsLate,
    /// How new the records are that were moved to a segment of their own is not known.
    MovedCountAsOld,
    /// Rows above the floor are purged.
    PurgeAboveFloor,
}
