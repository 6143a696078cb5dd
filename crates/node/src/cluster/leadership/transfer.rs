//! Primary transfer: a slot goes from one live primary to another, and no client sees an error.
//!
//! Closing a slot only spares clients an error. Safety comes from terms, and from the new primary: it waits until the former one has stepped down or all its
//! leases are over. So a slot that is not transferred in time opens again.

use crate::cluster::core::ClusterCore;
use crate::cluster::leadership::state::{CLOSED_US_MAX, Closing, Leadership, PrimaryTransfer, TOGETHER_US};
use crate::cluster::membership::roles::{Place, Role, Waits};
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Epoch, NodeId, Slot};
use cluster::{Command, Member, SlotEpochs};
use engine::Sequence;
use io::Reactor;
use shard::KeyspaceNumber;
use std::collections::BTreeMap;

/// Slots that are to be given away at about the same time are given away together: each change of the metadata is work for all members.
const GATHER_US: u64 = 50_000;

/// After a slot had to be opened again.
const REST_US: u64 = 2_000_000;

impl Core {
    /// Gives slots to those who should be their primaries. Returns the time at which to look again.
    pub(crate) fn transfer_primaries<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let cluster = self.cluster.as_mut()?;
        if cluster.leadership.transfer.version != cluster.view.version() {
            let opened = cluster.look_for_successors(now_us);
            self.serve_slots(&opened);
        }
        let cluster = self.cluster.as_mut()?;
        if cluster.leadership.transfer.close_at_us.is_some_and(|at_us| now_us >= at_us) {
            let closed = cluster.close_wanted(now_us, self.shard.engine().last_sequence());
            self.serve_slots(&closed);
        }
        if self.cluster.as_ref()?.leadership.transfer.closing.is_empty() {
            return self.cluster.as_ref()?.leadership.transfer.close_at_us;
        }
        self.propose_drained(reactor);
        let opened = self.cluster.as_mut()?.give_up_closing(now_us);
        self.serve_slots(&opened);
        self.cluster.as_ref()?.leadership.transfer.due_us(now_us)
    }

    /// Proposes the slots in which nothing is under way any more.
    fn propose_drained<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &self.cluster else { return };
        let epoch_of = |place: &Place| cluster.roles.get(place.0, place.1).map(|local| local.epoch);
        let closing = &cluster.leadership.transfer.closing;
        let waiting: Vec<(&Place, &Closing)> =
            closing.iter().filter(|(place, closing)| closing.proposed.is_none() || closing.proposed != epoch_of(place)).collect();
        if waiting.is_empty() {
            return;
        }
        let unanswered = self.shard.unanswered_slots();
        let is_drained = |place: &Place, closing: &Closing| !unanswered.contains(place) && cluster.is_with_all(*place, closing.written);
        let drained: Vec<Place> = waiting.iter().filter(|(place, closing)| is_drained(place, closing)).map(|(place, _)| **place).collect();
        let is_together = drained.len() == waiting.len();
        let mut proposals: BTreeMap<NodeId, BTreeMap<KeyspaceNumber, Vec<(Slot, Epoch)>>> = BTreeMap::new();
        let Some(cluster) = &mut self.cluster else { return };
        for place in drained {
            let Some(epoch) = cluster.roles.get(place.0, place.1).map(|local| local.epoch) else { continue };
            let Some(closing) = cluster.leadership.transfer.closing.get_mut(&place) else { continue };
            if is_together || now_us >= closing.since_us + TOGETHER_US {
                closing.proposed = Some(epoch);
                proposals.entry(closing.to).or_default().entry(place.0).or_default().push((place.1, epoch));
            }
        }
        for (to, keyspaces) in proposals {
            let name = |number: KeyspaceNumber| cluster.view.keyspaces[usize::from(number.0)].name.clone();
            let slots: Vec<SlotEpochs> =
                keyspaces.into_iter().map(|(number, slots)| SlotEpochs { keyspace: name(number), slots }).collect();
            let count: usize = slots.iter().map(|slots| slots.slots.len()).sum();
            tracing::info!(core = self.core.0, node = to.0, slots = count, "transfers slots to another primary");
            reactor.send(CoreId(0), Message::Propose(Box::new(Command::TransferPrimary { to, slots })));
        }
    }
}

impl ClusterCore {
    /// Looks up what should be given away. Returns the slots that are open again.
    fn look_for_successors(&mut self, now_us: u64) -> Vec<Place> {
        let Self { leadership: Leadership { transfer, .. }, view, roles, .. } = self;
        transfer.version = view.version();
        transfer.wanted.clear();
        for (number, keyspace) in view.keyspaces.iter().enumerate() {
            let number = KeyspaceNumber(number as u16);
            let successors = view.state.successors(&keyspace.name, view.me);
            let own = successors.filter(|(slot, _)| roles.get(number, *slot).is_some_and(|local| local.role == Role::Primary));
            transfer.wanted.extend(own.map(|(slot, to)| ((number, slot), to)));
        }
        let handed_over = self.slots_to_hand_over();
        let leaves = self.is_shutting_down() || !self.view.state.member(self.view.me).is_some_and(Member::stays);
        let Self { leadership: Leadership { transfer, .. }, roles, rebuild, .. } = self;
        // A primary that ends or leaves takes whom there is; one whose own rows are damaged takes who may have them.
        let repairs = &rebuild.repairs;
        let may_have =
            |place: Place, to: NodeId| !repairs.is_in_part(place, to) && (repairs.is_found(place) || !repairs.is_told(place, to));
        transfer.wanted.retain(|place, to| leaves || may_have(*place, *to));
        transfer.wanted.extend(handed_over);
        let PrimaryTransfer { wanted, closing, .. } = transfer;
        // One that was lost and has come back meanwhile is open already.
        let is_closed = |place: &Place| roles.get(place.0, place.1).is_some_and(|local| local.closing);
        let opened = closing.iter().filter(|(place, closing)| wanted.get(place) != Some(&closing.to) || !is_closed(place));
        let opened: Vec<Place> = opened.map(|(place, _)| *place).collect();
        self.open(&opened);
        let PrimaryTransfer { wanted, closing, close_at_us, .. } = &mut self.leadership.transfer;
        if wanted.keys().all(|place| closing.contains_key(place)) {
            *close_at_us = None;
        } else {
            close_at_us.get_or_insert(now_us + GATHER_US);
        }
        opened
    }

    /// Closes what is wanted. Returns the slots.
    fn close_wanted(&mut self, now_us: u64, written: Sequence) -> Vec<Place> {
        let Self { leadership, roles, .. } = self;
        let PrimaryTransfer { wanted, closing, close_at_us, .. } = &mut leadership.transfer;
        *close_at_us = None;
        let open: Vec<(Place, NodeId)> =
            wanted.iter().filter(|(place, _)| !closing.contains_key(*place)).map(|(place, to)| (*place, *to)).collect();
        let mut closed = Vec::new();
        for (place, to) in open {
            let Some(local) = roles.get_mut(place.0, place.1) else { continue };
            if local.waits != Waits::default() {
                // It is not served yet.
                *close_at_us = Some(now_us + GATHER_US);
                continue;
            }
            local.closing = true;
            closing.insert(place, Closing { to, since_us: now_us, written, proposed: None });
            closed.push(place);
        }
        closed
    }

    /// What has been closed for too long.
    fn give_up_closing(&mut self, now_us: u64) -> Vec<Place> {
        let PrimaryTransfer { closing, close_at_us, .. } = &mut self.leadership.transfer;
        let late = closing.iter().filter(|(_, closing)| now_us >= closing.since_us + CLOSED_US_MAX);
        let opened: Vec<Place> = late.map(|(place, _)| *place).collect();
        if !opened.is_empty() {
            tracing::warn!(slots = opened.len(), "slots could not be transferred to another primary in time; they stay for now");
            *close_at_us = Some(now_us + REST_US);
        }
        self.open(&opened);
        opened
    }

    fn open(&mut self, places: &[Place]) {
        for place in places {
            self.leadership.transfer.closing.remove(place);
            if let Some(local) = self.roles.get_mut(place.0, place.1) {
                local.closing = false;
            }
        }
    }

    /// Whether all that was written in a closed slot is with those who must have it.
    fn is_with_all(&self, place: Place, written: Sequence) -> bool {
        let Some(set) = self.roles.get(place.0, place.1).and_then(|local| local.set) else { return true };
        let has = |target| self.links.outgoing.get(target).is_none_or(|link| link.stream.arrived() >= written.0);
        self.roles.set(set).waits_for.iter().all(has)
    }
}
