//! `map_keys`, `map_values`, `collection_count`.

use crate::value::{build, layout};

/// Which part of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A map's keys as a set.
    Keys,
    /// A map's values as a list, in the order of the keys.
    Values,
    /// How many elements or entries there are.
    Count,
}

impl Part {
    /// Appends the part of a collection.
    pub(super) fn write(self, collection: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Keys => build::list(layout::entries(collection).map(|(key, _)| key).collect::<Vec<_>>().into_iter(), out),
            Self::Values => build::list(layout::entries(collection).map(|(_, value)| value).collect::<Vec<_>>().into_iter(), out),
            Self::Count => out.extend_from_slice(&layout::count(collection).to_be_bytes()),
        }
    }
}
