//! Requests that this core cannot run itself: it finds the core that can, sends them there, and sends them again elsewhere while nothing was done.
//!
//! A request *waits* while there is nobody to ask, during a failover or while a link is made. Then it is *sent*. A read without an answer is sent again; a write
//! without an answer has an unknown outcome, and its client gets a timeout.

use crate::cluster::links::frames::{FORWARD_BYTES_MAX, Forward};
use crate::cluster::routing::requests::{Asker, Routed, Way};
use crate::core::Core;
use crate::message::{Message, PartId};
use cql::wire::Consistency;
use io::Reactor;
use shard::ShardError;

/// How often what waits is looked at again without a reason.
const AGAIN_US: u64 = 20_000;

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
        let id = cluster.routing.routed.next;
        cluster.routing.routed.next = id.wrapping_add(1);
        let deadline_us = now_us + route.patience_us;
        cluster.routing.routed.all.insert(id, Routed { part, place, route, deadline_us, answer_by_us: None });
        self.send_routed(reactor, id);
    }

    fn send_routed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: u32) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        let Some(routed) = cluster.routing.routed.all.get(&id) else { return };
        let is_late = now_us >= routed.deadline_us;
        let (part, consistency) = (routed.part, routed.route.consistency);
        let way = cluster.way(&routed.place, &routed.route, self.core, self.cores);
        if let Way::TooFew { required, alive } = way {
            cluster.routing.routed.all.remove(&id);
            return self.unavailable(reactor, part, consistency, required, alive);
        }
        if is_late {
            let (required, alive) = cluster.counts(&routed.place, consistency).unwrap_or((1, 0));
            cluster.routing.routed.all.remove(&id);
            // A node that is cut off from the metadata's majority does not know who is alive; too few can be reached.
            return self.unavailable(reactor, part, consistency, required, alive.min(required.saturating_sub(1)));
        }
        let Some(request) = routed.route.request.clone() else { return self.give_up_routed(reactor, id) };
        let version = cluster.view.version();
        let description = routed.place.description.clone();
        match way {
            Way::Here => {
                cluster.routing.routed.sent(id, way, now_us);
                let forward = Forward { id, version, part: description.as_deref(), request: &request };
                let asker = Asker::Core { core: self.core, id };
                self.run_forwarded(reactor, asker, &forward);
            }
            Way::Core(core) => {
                cluster.routing.routed.sent(id, way, now_us);
                reactor.send(core, Message::Forward { from: self.core, id, version, part: description, request });
            }
            Way::Member(target) => {
                let forward = Forward { id, version, part: description.as_deref(), request: &request };
                if forward.bytes() > FORWARD_BYTES_MAX {
                    cluster.routing.routed.all.remove(&id);
                    let error = ShardError::TooLarge { bytes: forward.bytes(), bytes_max: FORWARD_BYTES_MAX };
                    return self.fail_part(reactor, part, error);
                }
                if cluster.send_forward(reactor, target, &forward) {
                    cluster.routing.routed.sent(id, way, now_us);
                }
            }
            Way::Nobody | Way::TooFew { .. } => {}
        }
    }

    fn give_up_routed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: u32) {
        let Some(routed) = self.cluster.as_mut().and_then(|cluster| cluster.routing.routed.all.remove(&id)) else { return };
        self.fail_part(reactor, routed.part, ShardError::NotPrimary);
    }

    /// An answer to what was sent.
    pub(crate) fn routed_answered<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        id: u32,
        outcome: Result<Vec<u8>, ShardError>,
    ) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        let may_repeat = |routed: &Routed| !routed.route.is_write && now_us < routed.deadline_us;
        let is_sent_again = match &outcome {
            Err(ShardError::NotPrimary) => {
                cluster.routing.routed.leave_to_primary(id);
                true
            }
            Err(ShardError::OutcomeUnknown) => cluster.routing.routed.all.get(&id).is_some_and(may_repeat),
            _ => false,
        };
        if is_sent_again {
            // It waits for newer metadata, here or there.
            return cluster.routing.routed.unsent(id);
        }
        let Some(routed) = cluster.routing.routed.all.remove(&id) else { return };
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
            let is_write = cluster.routing.routed.all.get(id).is_some_and(|routed| routed.route.is_write);
            if is_write {
                self.routed_answered(reactor, *id, Err(ShardError::OutcomeUnknown));
            } else {
                cluster.routing.routed.unsent(*id);
            }
        }
    }

    /// Looks at what waits, when something has changed or it is time.
    pub(crate) fn retry_routed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let cluster = self.cluster.as_mut()?;
        if cluster.routing.routed.all.is_empty() {
            return None;
        }
        if !cluster.routing.has_changed && now_us < cluster.routing.routed.again_at_us {
            return Some(cluster.routing.routed.again_at_us);
        }
        cluster.routing.has_changed = false;
        cluster.routing.routed.again_at_us = now_us + AGAIN_US;
        let waiting: Vec<u32> =
            cluster.routing.routed.all.iter().filter(|(_, routed)| routed.answer_by_us.is_none()).map(|(id, _)| *id).collect();
        let late = |routed: &&Routed| routed.answer_by_us.is_some_and(|by_us| now_us >= by_us);
        let overdue: Vec<u32> = cluster.routing.routed.all.iter().filter(|(_, routed)| late(routed)).map(|(id, _)| *id).collect();
        let again_at_us = cluster.routing.routed.again_at_us;
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
