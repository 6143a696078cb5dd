//! What a core keeps of the filters of indexes while it fills them.

use base::{Slot, TableId};
use engine::Sequence;
use model::operation::PrefixOf;
use std::collections::{BTreeSet, VecDeque};

/// Indexes whose filters may lack slots.
#[derive(Default)]
pub(crate) struct Coverings {
    pub(super) queue: VecDeque<Pass>,
    /// The slot that is read, of the first of these.
    pub(super) current: Option<(TableId, Slot)>,
    /// The schema has changed since that was begun.
    pub(super) is_stale: bool,
    /// Slots that could not be read, most of them as they have rows without entries. Queries read them.
    pub(super) refused: BTreeSet<(TableId, Slot)>,
    pub(super) refused_until_us: u64,
    pub(super) seen: Option<Seen>,
    /// Whether anything has been read since.
    pub(super) has_read: bool,
    /// So many full filters are not read anew: this core may read none of their slots.
    pub(super) full_in_vain: usize,
    pub(super) looked_at_us: u64,
    pub(super) again_at_us: u64,
}

/// A walk over the slots of an index.
pub(super) struct Pass {
    pub(super) index: TableId,
    /// Whose rows its entries are about.
    pub(super) of: TableId,
    pub(super) prefix_of: PrefixOf,
    /// The next slot to look at.
    pub(super) from: u16,
    /// A slot could not be read this time.
    pub(super) has_failed: bool,
}

/// What the last look has seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) last_write: Sequence,
    pub(super) cluster_version: u64,
    /// So many slots had complete indexes.
    pub(super) complete: usize,
}

impl Coverings {
    /// Tables may have been emptied, or have other indexes.
    pub(super) fn schema_changed(&mut self) {
        self.queue.clear();
        self.refused.clear();
        self.seen = None;
        self.is_stale = self.current.is_some();
    }
}
