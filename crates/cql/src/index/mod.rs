//! Secondary indexes: which entries a row has, where they are, and how they come to be.
//!
//! An index is a table of the engine. Its rows are the entries, and those of one slot are one partition whose token is in this slot: so the entries
//! of a row are written in its atomic group, and are replicated, moved and wiped with it. Wide partitions are on leaf pages, so an entry costs DRAM
//! only until its neighbours move to a page.
//!
//! - [`analysis`]: what of a text counts.
//! - [`tokens`]: what texts are taken apart into.
//! - [`class`]: which restrictions it answers.
//! - [`key`]: an entry's key, and the way back to the row.
//! - [`entries`]: the entries of a row, and the observer that keeps them.
//! - [`backfill`]: entries for rows that were there before the index, slot by slot.
//! - [`cover`]: which values a slot has entries of, for the filter that queries ask.
//! - [`vectors`]: the column of an index on vectors, which has no entries.
//!
//! Invariants:
//! - Every row that lives and has an indexed value has an entry, once the slot's state says that it is complete. Until then a query reads the slot's rows.
//! - An entry proves nothing: a query reads the row and compares. So what deletions of ranges leave behind costs time, and never a wrong row.

mod analysis;
mod backfill;
mod class;
mod cover;
mod entries;
mod key;
mod tokens;
mod vectors;

pub(crate) use analysis::Analysis;
pub use backfill::{Backfill, Backfilled};
pub use class::{IndexClass, has_entries};
pub use cover::Cover;
pub use entries::Entries;
pub(crate) use entries::indexed_type;
pub use key::value_prefix;
pub(crate) use tokens::Analyzer;
pub use vectors::{Vectors, vector_columns};

pub(crate) use key::{EntryKey, FIRST_VALUE, after_value, prefix_key, value_key};

use model::{Index, Table};
use std::sync::Arc;

/// The observers of a table: one for each of its indexes that have entries, with the index.
pub fn observers(table: &Arc<Table>) -> impl Iterator<Item = (Arc<Index>, Entries)> + '_ {
    table.indexes.values().filter_map(|index| Some((Arc::clone(index), Entries::new(Arc::clone(table), Arc::clone(index))?)))
}
