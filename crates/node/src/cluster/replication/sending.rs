//! As primary: from what the shard has written to the streams, and from acknowledgements to what is committed.

use crate::cluster::config::Planted;
use crate::cluster::core::ClusterCore;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::Role;
use crate::cluster::replication::state::Replication;
use base::{Epoch, Slot};
use engine::{ReceivedRows, Sequence};
use replica::{Item, Purpose};
use shard::{KeyspaceNumber, Shard};

impl ClusterCore {
    /// Sends what the shard has written to those who must have it.
    pub(crate) fn send_written(&mut self, shard: &mut Shard) {
        for written in shard.written() {
            self.replication.uncommitted_sets.insert(written.set);
            self.replication.written = true;
            let Some(local) = self.roles.standing(written.keyspace, written.slot) else { continue };
            let item = Item {
                sequence: written.sequence.0,
                term: local.term,
                timestamp_us: written.timestamp_us,
                table: written.table,
                slot: written.slot,
                purpose: Purpose::Write,
                rows: written.rows,
            };
            for target in self.roles.set(written.set).targets() {
                if let Some(link) = self.links.outgoing.get_mut(&target) {
                    link.stream.push(&item);
                    self.links.unsent.insert(target);
                }
            }
        }
        shard.clear_written();
    }

    /// The term of a slot whose primary this is: what was to be sent of others is not this node's to send any more.
    fn term_here(&self, keyspace: KeyspaceNumber, slot: Slot) -> Option<Epoch> {
        self.roles.standing(keyspace, slot).filter(|local| local.role == Role::Primary).map(|local| local.term)
    }

    /// Sends no row, only the time: what a replica that becomes one in sync writes later must not have an earlier timestamp.
    pub(crate) fn send_time(
        &mut self,
        target: RemoteCore,
        (keyspace, slot): (KeyspaceNumber, Slot),
        sequence: Sequence,
        timestamp_us: i64,
    ) {
        let Some(term) = self.term_here(keyspace, slot) else { return };
        let Some(table) = self.view.tables_of(keyspace).next() else { return };
        let item = Item { sequence: sequence.0, term, timestamp_us, table, slot, purpose: Purpose::Image, rows: &[] };
        if let Some(link) = self.links.outgoing.get_mut(&target) {
            link.stream.push(&item);
            self.links.unsent.insert(target);
        }
    }

    /// Sends an image to one replica.
    pub(crate) fn send_image(
        &mut self,
        target: RemoteCore,
        keyspace: KeyspaceNumber,
        slot: Slot,
        sequence: Sequence,
        timestamp_us: i64,
        rows: &[u8],
    ) {
        let Some(term) = self.term_here(keyspace, slot) else { return };
        let Some(Ok(first)) = ReceivedRows::new(rows).next() else { return };
        let item = Item { sequence: sequence.0, term, timestamp_us, table: first.key.table, slot, purpose: Purpose::Image, rows };
        if let Some(link) = self.links.outgoing.get_mut(&target) {
            link.stream.push(&item);
            self.links.unsent.insert(target);
        }
    }

    /// Tells the shard how far each set has what was written in it, and notes what each replica may be told of that.
    pub(crate) fn tell_committed(&mut self, shard: &mut Shard) {
        if !std::mem::take(&mut self.replication.written) {
            return;
        }
        let Self { links, roles, replication: Replication { uncommitted_sets, divergence, .. }, config, .. } = self;
        let last = shard.engine().last_sequence().0;
        links.outgoing.values_mut().for_each(|link| link.committed = last);
        uncommitted_sets.retain(|number| {
            let (set, written) = (roles.set(*number), shard.last_written(*number).0);
            let has = |target: &RemoteCore| links.outgoing.get(target).map_or(written, |link| link.stream.arrived().min(written));
            let mut committed = set.waits_for.iter().map(has).min().unwrap_or(written);
            if config.planted == Some(Planted::EarlyAcknowledgement) {
                committed = written;
            }
            shard.set_committed(*number, Sequence(committed));
            let is_waiting = committed < written;
            for target in set.targets().filter(|_| is_waiting) {
                if let Some(link) = links.outgoing.get_mut(&target) {
                    link.committed = link.committed.min(committed);
                }
            }
            is_waiting
        });
        for (place, since) in divergence.reconciling() {
            let Some(set) = roles.get(place.0, place.1).and_then(|local| local.set) else { continue };
            for target in roles.set(set).targets() {
                if let Some(link) = links.outgoing.get_mut(&target) {
                    link.committed = link.committed.min(since - 1);
                }
            }
        }
    }

    /// An acknowledgement of a replica; whether it is of anything new.
    pub(crate) fn acknowledged(&mut self, target: RemoteCore, position: u64) -> bool {
        let Some(link) = self.links.outgoing.get_mut(&target) else { return false };
        self.replication.written = true;
        link.stream.acknowledged(position)
    }
}
