//! Secondary indexes: what one is of, commands that make and drop them, and the filter of a query.
//!
//! An index is one of its set's table, as CQL's are: whoever writes a row writes its entries in the same atomic group, and a slot's entries are
//! replicated and moved with its rows (`docs/decisions/0024-secondary-indexes.md`). Which values of a bin have entries is told by [`values_within`],
//! unless the bin's value itself has one.

mod change;
mod definition;
mod filter;
mod key;
mod values;

pub use change::{IndexChange, IndexRefusal, NAME_BYTES_MAX, index_of_name};
pub use definition::{Definition, IndexedPart, ValueKind};
pub(crate) use filter::Filter;
pub use key::prefix_of_entries;
pub(crate) use key::{EntryRanges, FIRST_VALUE, place_of_entry};
pub use values::values_within;

#[cfg(test)]
mod tests;
