//! As primary: a replica that has all images is waited for, and then proposed as one in sync.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::Waits;
use crate::cluster::rebuild::queue::SentSlot;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Slot};
use cluster::{Command, SlotEpochs};
use io::Reactor;
use shard::KeyspaceNumber;

/// At most so many slots are proposed as in sync at once: a command is repeated to whoever leads the metadata's group until it is decided, and must not clog the way there.
pub(crate) const PROPOSED_SLOTS_MAX: usize = 512;

impl Core {
    /// As primary: in slots whose images a replica has, nothing is acknowledged from now on that it does not have. Not before: clients' writes would wait for images,
    /// and a replica that needs long for them would be dropped.
    pub(crate) fn wait_for_rebuilt(&mut self, target: RemoteCore) {
        let Some(cluster) = &mut self.cluster else { return };
        let ClusterCore { rebuild, links, roles, .. } = &mut **cluster;
        let Some(queue) = rebuild.queues.by_target.get_mut(&target) else { return };
        let Some(stream) = links.outgoing.get(&target).map(|link| &link.stream) else { return };
        let mut rebuilt = Vec::new();
        for (place, sent) in queue.sent.iter_mut().filter(|(_, sent)| stream.has_passed(sent.mark)) {
            let local = roles.get_mut(place.0, place.1).filter(|local| local.rebuilds(target.0) && !local.rebuilt.contains(&target.0));
            if let Some(local) = local {
                local.rebuilt.push(target.0);
                sent.mark = stream.mark();
                rebuilt.push(*place);
            }
        }
        if !rebuilt.is_empty() {
            self.serve_slots(&rebuilt);
        }
    }

    /// As primary: what a replica has acknowledged makes it one in sync, or lets a new primary serve.
    pub(crate) fn propose_in_sync<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: RemoteCore) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        let ClusterCore { rebuild, links, roles, view, .. } = &mut **cluster;
        let Some(queue) = rebuild.queues.by_target.get_mut(&target) else { return };
        let Some(stream) = links.outgoing.get(&target).map(|link| &link.stream) else { return };
        // It has all rows as they were then, and so have all others: what is not committed it would not know to have alone.
        let has_all = |place: &(KeyspaceNumber, Slot), sent: &SentSlot| {
            let Some(local) = roles.get(place.0, place.1).filter(|local| local.waits == Waits::default()) else { return false };
            let waits_for = local.set.map(|set| &roles.set(set).waits_for).into_iter().flatten();
            let mut others = waits_for.filter_map(|other| links.outgoing.get(other));
            stream.has_passed(sent.mark) && others.all(|link| link.stream.arrived() >= sent.sequence)
        };
        let is_rebuilt = |place: &(KeyspaceNumber, Slot)| roles.get(place.0, place.1).filter(|local| local.rebuilt.contains(&target.0));
        let mut waits = false;
        queue.sent.retain(|place, sent| {
            let local = roles.get(place.0, place.1).filter(|local| local.rebuilds(target.0));
            waits |= local.is_some_and(|local| sent.is_proposed(local.epoch, now_us));
            local.is_some()
        });
        // One proposal at a time: what is sent meanwhile goes with the next.
        let mut slots: Vec<SlotEpochs> = Vec::new();
        let ready = queue.sent.iter_mut().filter(|(place, sent)| !waits && is_rebuilt(place).is_some() && has_all(place, sent));
        for (place, sent) in ready.take(PROPOSED_SLOTS_MAX) {
            let (Some(local), Some(keyspace)) = (is_rebuilt(place), view.keyspaces.get(usize::from(place.0.0))) else { continue };
            sent.proposed = Some((local.epoch, now_us));
            match slots.last_mut().filter(|slots| slots.keyspace == keyspace.name) {
                Some(of_keyspace) => of_keyspace.slots.push((place.1, local.epoch)),
                None => slots.push(SlotEpochs { keyspace: keyspace.name.clone(), slots: vec![(place.1, local.epoch)] }),
            }
        }
        let mut reconciled = Vec::new();
        queue.reconciliations.retain(|(places, mark)| {
            let is_over = stream.has_passed(*mark);
            if is_over {
                reconciled.extend_from_slice(places);
            }
            !is_over
        });
        if !slots.is_empty() {
            let count: usize = slots.iter().map(|of_keyspace| of_keyspace.slots.len()).sum();
            tracing::debug!(core = self.core.0, node = target.0.0, slots = count, "a replica has everything");
            reactor.send(CoreId(0), Message::Propose(Box::new(Command::InSync { node: target.0, slots })));
        }
        if !reconciled.is_empty() {
            self.reconciled(&reconciled);
        }
    }
}
