//! Writes of a primary, and rows that a new one reconciles, that are applied here and not known to be committed.
//!
//! Nearly all of them are committed a moment later. So their bytes stay as they came, and only a change of the primary reads their keys.

use base::Slot;
use engine::{Key, ReceivedRows};
use shard::{KeyspaceNumber, RowKey};
use std::collections::{BTreeSet, VecDeque};

/// Bytes at the front that are of no use are kept up to this.
const DEAD_BYTES_MAX: usize = 64 << 10;

/// One group of rows.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The primary's.
    sequence: u64,
    /// This core's engine's.
    own_sequence: u64,
    /// `None` once it is somebody else's to settle.
    place: Option<(KeyspaceNumber, Slot)>,
    bytes: usize,
}

/// Those of one stream, in its order.
#[derive(Debug, Default)]
pub(crate) struct Uncommitted {
    groups: VecDeque<Group>,
    /// Their rows, back to back, after `dead` bytes of groups that have ended.
    rows: Vec<u8>,
    dead: usize,
}

impl Uncommitted {
    pub(crate) fn push(&mut self, sequence: u64, own_sequence: u64, place: (KeyspaceNumber, Slot), rows: &[u8]) {
        self.groups.push_back(Group { sequence, own_sequence, place: Some(place), bytes: rows.len() });
        self.rows.extend_from_slice(rows);
    }

    /// All up to `sequence` is committed.
    pub(crate) fn committed(&mut self, sequence: u64) {
        while let Some(first) = self.groups.front().filter(|first| first.sequence <= sequence) {
            self.dead += first.bytes;
            self.groups.pop_front();
        }
        self.shrink();
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    fn shrink(&mut self) {
        if self.groups.is_empty() {
            self.rows.clear();
            self.rows.shrink_to(DEAD_BYTES_MAX);
            self.dead = 0;
        } else if self.dead > DEAD_BYTES_MAX.max(self.rows.len() / 2) {
            self.rows.drain(..self.dead);
            self.dead = 0;
        }
    }

    /// This core's sequence of the first that is not settled.
    pub(crate) fn first(&self) -> Option<u64> {
        self.groups.iter().find(|group| group.place.is_some()).map(|group| group.own_sequence)
    }

    /// The keys of all writes in a slot, which are no longer this stream's to settle.
    pub(crate) fn take(&mut self, place: (KeyspaceNumber, Slot), keys: &mut BTreeSet<RowKey>) {
        let mut at = self.dead;
        for group in &mut self.groups {
            let rows = &self.rows[at..at + group.bytes];
            at += group.bytes;
            if group.place == Some(place) {
                group.place = None;
                keys.extend(ReceivedRows::new(rows).filter_map(Result::ok).map(|row| owned(&row.key)));
            }
        }
        // Nobody may be there any more who says that they are committed.
        while let Some(first) = self.groups.front().filter(|first| first.place.is_none()) {
            self.dead += first.bytes;
            self.groups.pop_front();
        }
        self.shrink();
    }
}

/// A key that owns its bytes.
pub(crate) fn owned(key: &Key<'_>) -> RowKey {
    RowKey { table: key.table, token: key.token, partition: key.partition.to_vec(), clustering: key.clustering.to_vec() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::{TableId, Token};
    use engine::{Key, Kind, WriteBatch};

    #[test]
    fn keys_of_a_slot_are_taken_once_and_only_while_uncommitted() {
        let mut writes = Uncommitted::default();
        let key = |number: u64| (number.to_be_bytes(), Token(number as i64));
        for number in 0..3_000 {
            let (partition, token) = key(number);
            let mut batch = WriteBatch::new();
            let of = Key { table: TableId(1), token, partition: &partition, clustering: b"" };
            batch.put(&of, Kind::Live, &[7; 40]).unwrap();
            writes.push(number, 10 * number, (KeyspaceNumber(0), Slot((number % 3) as u16)), batch.bytes());
            writes.committed(number.saturating_sub(30));
        }
        assert_eq!(writes.first(), Some(29_700));
        let mut keys = BTreeSet::new();
        writes.take((KeyspaceNumber(0), Slot(0)), &mut keys);
        let expected = (2_970..3_000).filter(|number| number % 3 == 0).map(|number| key(number).0.to_vec());
        assert_eq!(keys.iter().map(|key| key.partition.clone()).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(writes.first(), Some(29_710), "the first is somebody else's");
        keys.clear();
        writes.take((KeyspaceNumber(0), Slot(0)), &mut keys);
        assert!(keys.is_empty());
        for slot in 1..3 {
            writes.take((KeyspaceNumber(0), Slot(slot)), &mut keys);
        }
        assert_eq!((writes.is_empty(), writes.rows.len(), keys.len()), (true, 0, 20), "the sender may be gone for good");
        writes.committed(u64::MAX);
        assert_eq!((writes.first(), writes.rows.len(), writes.dead), (None, 0, 0));
    }
}
