//! What a store is told of an index's entries, so that it knows which slots have a value.

use super::partition_key::PartitionKey;

/// Gives the prefixes of an entry's key by which slots are found, by their number from 0 on; none of a key that is no entry, and after the last one.
pub type PrefixOf = fn(&[u8], usize) -> Option<&[u8]>;

/// Entries of a slot that are to be read for the filter of their index.
#[derive(Clone, Copy, Debug)]
pub struct EntryStretch<'a> {
    /// All entries of the slot are rows of this partition, from the key `first` on.
    pub partition: PartitionKey<'a>,
    /// The first key.
    pub first: &'a [u8],
    /// Their prefixes.
    pub prefix_of: PrefixOf,
    /// No more than so many.
    pub rows_max: usize,
    /// Whether to fetch those that are not in memory. If not, none of them is worth an error.
    pub fetches: bool,
}

/// How far [`super::RowStore::cover_slot`] has come with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covering {
    /// No further: an entry is none, or not in memory, or others come first.
    Refused,
    /// There is more to read.
    Partly,
    /// To the end.
    Whole,
}
