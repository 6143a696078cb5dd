//! The shard's calls about damaged rows; `damage` says what operations are told.

use crate::deltas::companion;
use crate::replication::KeyspaceNumber;
use crate::{Shard, ShardError};
use base::{Slot, TableId};
use engine::SegmentId;
use model::operation::Stop;
use std::collections::BTreeSet;

impl Shard {
    /// Slots, by table, in which rows were found damaged since the last call: by operations, scans, the scrub and defragmentation.
    pub fn take_damaged_slots(&mut self) -> BTreeSet<(TableId, Slot)> {
        let mut found = std::mem::take(self.damage.0.get_mut());
        found.append(&mut self.engine.take_damaged_slots());
        found
    }

    /// Whether rows of a slot of a table, as they are now, are known to be damaged.
    #[must_use]
    pub fn names_damage(&self, table: TableId, slot: Slot) -> bool {
        [table, companion(table)].into_iter().any(|table| self.engine.names_damage(table, slot))
    }

    /// Says of a slot whether its rows may be read here by whoever is content with any replica, and whether another replica can serve it.
    pub fn set_standing(&mut self, keyspace: KeyspaceNumber, slot: Slot, is_readable: bool, is_elsewhere: bool) {
        if let Some(replication) = &mut self.replication {
            replication.set_readable(keyspace, slot, is_readable);
            replication.set_elsewhere(keyspace, slot, is_elsewhere);
        }
    }

    /// An operation has met a damaged row in a slot.
    #[cold]
    pub(crate) fn met_damage(&mut self, stop: Stop, visited: Option<(TableId, Slot)>) -> ShardError {
        let Some((table, slot)) = visited else {
            if let Stop::Damaged { segment, offset } = stop {
                self.engine.damage_met(SegmentId(segment), offset as usize);
            }
            return stop.into();
        };
        self.damage.note(table, slot);
        let is_elsewhere = self.replication.as_ref().is_some_and(|replication| replication.is_elsewhere(table, slot));
        if is_elsewhere { ShardError::NotPrimary } else { stop.into() }
    }
}
