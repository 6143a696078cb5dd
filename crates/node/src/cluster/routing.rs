//! Requests that this core cannot run itself: found out who can, sent there, sent again elsewhere while nothing has been done.
//!
//! A routed request is either waiting (there is nobody to ask for the moment: a failover is under way, a link is being made) or sent. What was
//! sent and got no answer is asked again if it only reads; if it writes, its outcome is unknown and the client hears of a timeout.

use super::ClusterCore;
use super::frames::{FORWARD_BYTES_MAX, Forward};
use super::roles::{Role, Target};
use crate::core::Core;
use crate::message::{Message, PartId};
use base::{CoreId, NodeId, TableId, Token};
use cql::CqlError;
use cql::wire::Consistency;
use io::{ConnectionId, Reactor};
use shard::ShardError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request that finds nobody to run it is refused after this time.
pub(crate) const PATIENCE_US: u64 = 5_000_000;
/// How often what waits is looked at again without a reason.
const AGAIN_US: u64 = 20_000;

/// A client's request, as it can be run elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// As `travel::pack` writes it; none where the protocol's requests do not travel.
    pub(crate) request: Option<Arc<[u8]>>,
    pub(crate) consistency: Consistency,
    /// Whether any replica in sync may answer it.
    pub(crate) reads_any: bool,
    pub(crate) is_write: bool,
    /// It is refused when it has found nobody to run it in this time.
    pub(crate) patience_us: u64,
}

/// Where a request, or a part of one, belongs, and how it is made there.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) table: TableId,
    pub(crate) token: Token,
    /// Of a part.
    pub(crate) description: Option<Vec<u8>>,
}

/// Who wants to hear what came of a forwarded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    Link {
        connection: ConnectionId,
        id: u32,
    },
    Core {
        core: CoreId,
        id: u32,
    },
    /// This core itself, for the entries that a slot's log of batches has.
    BatchLog(TableId),
    /// Nobody: it is done, or another time.
    Nobody,
}

/// What became of an attempt to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To this core itself.
    Here,
    /// To another core of this node.
    Core(CoreId),
    /// To another member.
    Member(Target),
    /// There is nobody for the moment.
    Nobody,
    /// Too few replicas have the slot's data.
    TooFew { required: u16, alive: u16 },
}

struct Routed {
    part: PartId,
    place: Place,
    route: Route,
    deadline_us: u64,
    /// Once it was sent: until when it has to be answered. It has not run before, so that it gets as long as one that found its primary at once.
    answer_by_us: Option<u64>,
}

/// All of a core.
#[derive(Default)]
pub(crate) struct RoutedRequests {
    next: u32,
    all: BTreeMap<u32, Routed>,
    again_at_us: u64,
    /// Requests, and parts of such, that have gone to other members since the start.
    forwarded: u64,
}

impl ClusterCore {
    /// How many replicas a level needs of a table's slots.
    pub(crate) fn required(&self, table: TableId, consistency: Consistency) -> u16 {
        let keyspace = self.view.keyspace_of(table);
        let factor = keyspace.and_then(|keyspace| self.view.slots_of(keyspace)).map_or(1, |slots| slots.factor);
        consistency.required(factor.into())
    }

    /// How many replicas a level needs of a slot, and how many are alive and have everything.
    fn counts(&self, place: &Place, consistency: Consistency) -> Option<(u16, u16)> {
        let keyspace = self.view.keyspace_of(place.table)?;
        let slots = self.view.slots_of(keyspace)?;
        let required = consistency.required(u16::from(slots.factor));
        // Nearly always; and where replicas are is a look into memory that no cache has.
        if let Some(standing) = self.roles.standing(keyspace, place.token.slot()).filter(|_| self.view.are_all_up) {
            return Some((required, standing.in_sync.into()));
        }
        let is_up = |node: &&NodeId| **node == self.view.me || self.view.is_peer_up(**node);
        let alive = slots.at(place.token.slot()).in_sync.iter().filter(is_up).count();
        Some((required, alive as u16))
    }

    /// Refuses what needs more replicas than there are.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(crate) fn check_replicas(&self, table: TableId, token: Token, consistency: Consistency) -> Result<(), CqlError> {
        match self.counts(&Place { table, token, description: None }, consistency) {
            Some((required, alive)) if alive < required => Err(CqlError::Unavailable { consistency, required, alive }),
            _ => Ok(()),
        }
    }

    /// As [`ClusterCore::check_replicas`], for a part of a request.
    pub(crate) fn too_few_replicas(&self, place: &Place, consistency: Consistency) -> Option<ShardError> {
        if consistency.reads_any() {
            return None;
        }
        let (required, alive) = self.counts(place, consistency)?;
        (alive < required).then_some(ShardError::Unavailable { consistency: consistency.code(), required, alive })
    }

    /// Who can run what is about this slot.
    fn way(&self, place: &Place, route: &Route, own_core: CoreId, cores: u16) -> Way {
        let slot = place.token.slot();
        let Some(keyspace) = self.view.keyspace_of(place.table) else { return Way::Nobody };
        if let Some((required, alive)) = self.counts(place, route.consistency)
            && alive < required
        {
            return Way::TooFew { required, alive };
        }
        if self.roles.standing(keyspace, slot).is_some_and(|standing| standing.role == Role::Primary) {
            return Way::Here;
        }
        let Some(assignment) = self.view.assignment(keyspace, slot) else { return Way::Nobody };
        // A part is one of many: they are all read where they are newest.
        let reads_any = !route.is_write && place.description.is_none() && route.reads_any;
        let me = &self.view.me;
        let has_all = || assignment.in_sync.contains(me) && !assignment.restarted.contains(me);
        if assignment.primary == *me || (reads_any && has_all()) {
            let core = slot.core(cores);
            return if core == own_core { Way::Here } else { Way::Core(core) };
        }
        match self.view.core_of(assignment.primary, slot) {
            Some(core) => Way::Member((assignment.primary, core)),
            _ => Way::Nobody,
        }
    }

    /// Whether this core has what a read may be answered from that is content with any replica.
    pub(crate) fn may_read_here(&self, table: TableId, token: Token) -> bool {
        let local = self.view.keyspace_of(table).and_then(|keyspace| self.roles.get(keyspace, token.slot()));
        local.is_some_and(|local| local.role == Role::Secondary)
    }
}

impl Core {
    /// Finds somebody to run a request, or a part of it, that waits in `requests`.
    pub(crate) fn route<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, part: PartId) {
        let now_us = reactor.now().monotonic_us;
        let Some(request) = self.requests.get_mut(part.request) else { return };
        let Some((route, place)) = request.route.as_ref().and_then(|(route, places)| {
            let place = if part.part == PartId::WHOLE { places.first() } else { places.get(usize::from(part.part)) };
            Some((route.clone(), place?.clone()))
        }) else {
            return self.fail_part(reactor, part, ShardError::NotPrimary);
        };
        let Some(cluster) = &mut self.cluster else { return };
        let id = cluster.routed.next;
        cluster.routed.next = id.wrapping_add(1);
        let deadline_us = now_us + route.patience_us;
        cluster.routed.all.insert(id, Routed { part, place, route, deadline_us, answer_by_us: None });
        self.send_routed(reactor, id);
    }

    fn send_routed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: u32) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        let Some(routed) = cluster.routed.all.get(&id) else { return };
        let is_late = now_us >= routed.deadline_us;
        let (part, consistency) = (routed.part, routed.route.consistency);
        let way = cluster.way(&routed.place, &routed.route, self.core, self.cores);
        if let Way::TooFew { required, alive } = way {
            cluster.routed.all.remove(&id);
            return self.unavailable(reactor, part, consistency, required, alive);
        }
        if is_late {
            let (required, alive) = cluster.counts(&routed.place, consistency).unwrap_or((1, 0));
            cluster.routed.all.remove(&id);
            // A node that is cut off from the metadata's majority does not know who is alive; too few can be reached.
            return self.unavailable(reactor, part, consistency, required, alive.min(required.saturating_sub(1)));
        }
        let Some(request) = routed.route.request.clone() else { return self.give_up_routed(reactor, id) };
        let version = cluster.view.version();
        let description = routed.place.description.clone();
        match way {
            Way::Here => {
                cluster.routed.sent(id, way, now_us);
                let forward = Forward { id, version, part: description.as_deref(), request: &request };
                let asker = Asker::Core { core: self.core, id };
                self.run_forwarded(reactor, asker, &forward);
            }
            Way::Core(core) => {
                cluster.routed.sent(id, way, now_us);
                reactor.send(core, Message::Forward { from: self.core, id, version, part: description, request });
            }
            Way::Member(target) => {
                let forward = Forward { id, version, part: description.as_deref(), request: &request };
                if forward.bytes() > FORWARD_BYTES_MAX {
                    cluster.routed.all.remove(&id);
                    let error = ShardError::TooLarge { bytes: forward.bytes(), bytes_max: FORWARD_BYTES_MAX };
                    return self.fail_part(reactor, part, error);
                }
                if cluster.send_forward(reactor, target, &forward) {
                    cluster.routed.sent(id, way, now_us);
                }
            }
            Way::Nobody | Way::TooFew { .. } => {}
        }
    }

    fn give_up_routed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: u32) {
        let Some(routed) = self.cluster.as_mut().and_then(|cluster| cluster.routed.all.remove(&id)) else { return };
        self.fail_part(reactor, routed.part, ShardError::NotPrimary);
    }

    /// An answer to what was sent.
    pub(crate) fn routed_answered<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        id: u32,
        outcome: Result<Vec<u8>, ShardError>,
    ) {
        let Some(cluster) = &mut self.cluster else { return };
        if let Err(ShardError::NotPrimary) = outcome {
            // It waits for newer metadata, here or there.
            return cluster.routed.unsent(id);
        }
        let Some(routed) = cluster.routed.all.remove(&id) else { return };
        match outcome {
            Err(ShardError::OutcomeUnknown) if !routed.route.is_write => self.fail_part(reactor, routed.part, ShardError::NoAnswer),
            Err(error) => self.fail_part(reactor, routed.part, error),
            Ok(reply) => self.part_done(reactor, self.core, routed.part, Ok(reply)),
        }
    }

    /// The link broke by which requests were sent.
    pub(crate) fn routed_lost<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, ids: &[u32]) {
        for id in ids {
            let Some(cluster) = &mut self.cluster else { return };
            let is_write = cluster.routed.all.get(id).is_some_and(|routed| routed.route.is_write);
            if is_write {
                self.routed_answered(reactor, *id, Err(ShardError::OutcomeUnknown));
            } else {
                cluster.routed.unsent(*id);
            }
        }
    }

    /// Looks at what waits, when something has changed or it is time.
    pub(crate) fn retry_routed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let cluster = self.cluster.as_mut()?;
        if cluster.routed.all.is_empty() {
            return None;
        }
        if !cluster.routed_changed && now_us < cluster.routed.again_at_us {
            return Some(cluster.routed.again_at_us);
        }
        cluster.routed_changed = false;
        cluster.routed.again_at_us = now_us + AGAIN_US;
        let waiting: Vec<u32> = cluster.routed.all.iter().filter(|(_, routed)| routed.answer_by_us.is_none()).map(|(id, _)| *id).collect();
        let late = |routed: &&Routed| routed.answer_by_us.is_some_and(|by_us| now_us >= by_us);
        let overdue: Vec<u32> = cluster.routed.all.iter().filter(|(_, routed)| late(routed)).map(|(id, _)| *id).collect();
        let again_at_us = cluster.routed.again_at_us;
        for id in waiting {
            self.send_routed(reactor, id);
        }
        for id in overdue {
            self.routed_answered(reactor, id, Err(ShardError::OutcomeUnknown));
        }
        Some(again_at_us)
    }

    fn unavailable<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        part: PartId,
        consistency: Consistency,
        required: u16,
        alive: u16,
    ) {
        self.fail_part(reactor, part, ShardError::Unavailable { consistency: consistency.code(), required, alive });
    }

    /// Ends a part that this core has routed.
    fn fail_part<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, part: PartId, error: ShardError) {
        if error == ShardError::NotPrimary
            && let Some(request) = self.requests.get_mut(part.request)
        {
            // It is not routed once more.
            request.route = None;
        }
        self.part_done(reactor, self.core, part, Err(error));
    }
}

impl RoutedRequests {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn forwarded(&self) -> u64 {
        self.forwarded
    }

    fn sent(&mut self, id: u32, way: Way, now_us: u64) {
        self.forwarded += u64::from(matches!(way, Way::Member(_)));
        if let Some(routed) = self.all.get_mut(&id) {
            routed.answer_by_us = Some(now_us + routed.route.patience_us);
        }
    }

    fn unsent(&mut self, id: u32) {
        if let Some(routed) = self.all.get_mut(&id) {
            routed.answer_by_us = None;
        }
    }
}
