//! Rows here that other replicas may not have, or may have otherwise.
//!
//! | what | since | until |
//! |---|---|---|
//! | uncommitted | a primary's write, or a row of a reconciliation, is applied here | it is committed, or the slot's primary changes |
//! | to fetch | the primary changes: of these keys the new one may have another row | the new primary is asked for their images |
//! | fetching | the new primary was asked | its images have come |
//! | away | this member was taken for dead and has lost the slot | it has the slot again, or it knows that it left for good |
//! | reconciling | this member is the new primary and sends what it may have alone | all others in sync have that |
//!
//! While anything is to fetch, fetching, away or reconciling, no more counts as committed here than did before.

use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::Place;
use crate::cluster::replication::uncommitted::{Uncommitted, owned};
use base::{NodeId, Slot, TableId};
use engine::{ReceivedRows, Sequence};
use shard::{KeyspaceNumber, RowKey};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Default)]
pub(crate) struct Divergence {
    /// By sender, in its order.
    pub(crate) uncommitted: BTreeMap<RemoteCore, Uncommitted>,
    /// As replica: keys whose images the slot's primary has to send.
    pub(crate) to_fetch: BTreeMap<Place, BTreeSet<RowKey>>,
    /// As replica: keys that the primary was asked for. It may not have heard, and others may not have what is here of them.
    pub(crate) fetching: BTreeMap<Place, BTreeSet<RowKey>>,
    /// Slots that this member has lost because it was taken for dead, with the keys of which others may not have what is here.
    pub(crate) away: BTreeMap<Place, BTreeSet<RowKey>>,
    /// As new primary: slots in which not all have what is here, and the sequence since which they get it.
    pub(crate) reconciling: BTreeMap<Place, u64>,
    /// What was committed here before anything was to fetch, fetching, away or reconciling.
    committed_before: Option<u64>,
}

impl Divergence {
    /// What came of a process of a member that has ended is settled by others: its slots have another primary, or a new term.
    pub(crate) fn forget_sender(&mut self, node: NodeId) {
        self.uncommitted.retain(|from, _| from.0 != node);
    }

    /// Tables that have ended have no rows to ask for.
    pub(crate) fn forget_tables(&mut self, is_known: impl Fn(TableId) -> bool) {
        for keys in [&mut self.to_fetch, &mut self.fetching, &mut self.away] {
            keys.values_mut().for_each(|keys| keys.retain(|key| is_known(key.table)));
        }
        for keys in [&mut self.to_fetch, &mut self.fetching] {
            keys.retain(|_, keys| !keys.is_empty());
        }
    }

    /// Images of a slot's primary have come: nothing is fetching of these rows any more.
    pub(crate) fn answered(&mut self, place: (KeyspaceNumber, Slot), rows: &[u8]) {
        let Some(fetching) = self.fetching.get_mut(&place) else { return };
        for row in ReceivedRows::new(rows).filter_map(Result::ok) {
            fetching.remove(&owned(&row.key));
        }
        if fetching.is_empty() {
            self.fetching.remove(&place);
        }
    }

    /// As new primary: what was written since this sequence, in these slots, is not committed.
    pub(crate) fn reconciling(&self) -> impl Iterator<Item = ((KeyspaceNumber, Slot), u64)> + '_ {
        self.reconciling.iter().map(|(place, since)| (*place, *since))
    }

    /// A write of a primary, or an image that others may not have, has been applied here.
    pub(crate) fn applied(&mut self, from: RemoteCore, (sequence, own): (u64, Sequence), place: (KeyspaceNumber, Slot), rows: &[u8]) {
        self.uncommitted.entry(from).or_default().push(sequence, own.0, place, rows);
    }

    /// All up to `sequence` that came from there is committed.
    pub(crate) fn committed(&mut self, from: RemoteCore, sequence: u64) {
        if let Some(writes) = self.uncommitted.get_mut(&from) {
            writes.committed(sequence);
        }
    }

    /// Up to here, what others have sent is committed: `last` if all of it.
    pub(crate) fn committed_here(&self, last: u64) -> u64 {
        let received = self.uncommitted.values().filter_map(Uncommitted::first).map(|first| first - 1).min();
        let before = self.committed_before.filter(|_| self.may_diverge());
        received.into_iter().chain(before).min().unwrap_or(last)
    }

    /// Whether rows here may be here alone that are not among the uncommitted ones any more.
    fn may_diverge(&self) -> bool {
        !(self.to_fetch.is_empty() && self.fetching.is_empty() && self.away.is_empty() && self.reconciling.is_empty())
    }

    /// There is a new view, before which this much was committed here.
    pub(crate) fn note_committed(&mut self, committed: u64) {
        self.committed_before = self.may_diverge().then(|| self.committed_before.map_or(committed, |before| before.min(committed)));
    }

    /// The slots that have left, and have not come back.
    pub(crate) fn take_away(&mut self) -> impl Iterator<Item = (KeyspaceNumber, Slot)> + use<> {
        std::mem::take(&mut self.away).into_keys()
    }

    /// As former primary: the new primary reconciles the slot now.
    pub(crate) fn lost(&mut self, place: (KeyspaceNumber, Slot)) {
        self.reconciling.remove(&place);
    }

    pub(crate) fn take_uncommitted(&mut self, place: (KeyspaceNumber, Slot)) -> BTreeSet<RowKey> {
        let mut keys = self.to_fetch.remove(&place).unwrap_or_default();
        keys.extend(self.fetching.remove(&place).unwrap_or_default());
        keys.extend(self.away.remove(&place).unwrap_or_default());
        self.uncommitted.values_mut().for_each(|writes| writes.take(place, &mut keys));
        self.uncommitted.retain(|_, writes| !writes.is_empty());
        keys
    }

    /// As replica: a slot is in sync, and was asked for before: what was fetched for it has come.
    pub(crate) fn fetched(&mut self, place: Place) {
        self.fetching.remove(&place);
    }

    /// A slot is not this member's any more, for a while or for good: what is here alone is not forgotten before that is known.
    pub(crate) fn leaves(&mut self, place: Place, own_writes: Vec<RowKey>) {
        let mut keys = self.take_uncommitted(place);
        keys.extend(own_writes);
        self.away.insert(place, keys);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Token;
    use engine::{Kind, WriteBatch};

    #[test]
    fn rows_whose_images_have_come_diverge_no_more() {
        let (mut divergence, place) = (Divergence::default(), (KeyspaceNumber(0), Slot(0)));
        let key = |table, number: u8| RowKey { table: TableId(table), token: Token(0), partition: vec![number], clustering: Vec::new() };
        divergence.fetching.insert(place, [key(1, 1), key(1, 2), key(2, 1)].into());
        let mut images = WriteBatch::new();
        images.put(&key(1, 1).borrow(), Kind::Live, b"row").unwrap();
        divergence.answered(place, images.bytes());
        divergence.answered((KeyspaceNumber(0), Slot(1)), images.bytes());
        assert_eq!(divergence.fetching[&place], [key(1, 2), key(2, 1)].into());
        divergence.forget_tables(|table| table == TableId(1));
        images.clear();
        images.put(&key(1, 2).borrow(), Kind::Live, b"row").unwrap();
        divergence.note_committed(7);
        divergence.note_committed(9);
        assert_eq!(divergence.committed_here(20), 7, "what is being fetched may be here alone");
        divergence.answered(place, images.bytes());
        assert!(divergence.fetching.is_empty());
        assert_eq!(divergence.committed_here(20), 20);
        divergence.note_committed(20);
        divergence.fetching.insert(place, [key(1, 1)].into());
        divergence.note_committed(30);
        assert_eq!(divergence.committed_here(40), 30);
    }
}
