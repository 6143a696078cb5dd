//! Reading rows on the shard that owns them.
//!
//! - [`single::run`] answers a statement about one row, in one pass over the row's cells straight into the reply frame: the path that most
//!   reads of most applications take. Nothing is allocated but for keys that are not bound as they are stored.
//! - Everything else comes in [`Chunk`]s, which a coordinator asks for.

mod chunk;
mod cursor;
mod entry_ranges;
mod filter;
mod gather;
mod graph;
mod indexed;
mod nearest;
mod pattern;
mod run;
pub(super) mod single;

pub(super) use chunk::{Chunk, Described, End, Extent, FetchPlan, Gathered};
pub(super) use cursor::{Cursor, Place};
pub(super) use entry_ranges::EntryRanges;
pub(super) use filter::BoundFilter;
pub(super) use nearest::BoundNearest;
