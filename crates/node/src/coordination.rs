//! Requests over several partitions, step by step: their parts run on this core, on others and on other members.

use crate::backup::RESTORER;
use crate::cluster::{NOBODY, Place, Route};
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::{AnyCoordinator, Reply};
use crate::requests::{COORDINATED_REQUEST_BYTES, Coordinated, Request, RequestId, Work};
use crate::schema_changes::{SchemaAction, SchemaRequest};
use crate::tracing::complete_reply;
use base::CoreId;
use io::{ConnectionId, Reactor};
use model::operation::{Operation, Part, Step};
use shard::{Access, Outcome, ShardError};

/// How many steps a core takes in a turn.
const CONTINUATIONS_PER_TURN: usize = 4;

impl Core {
    /// Whether memory allows further parts, with results as large as recent ones and the rows that they are made of. With no part out there is
    /// always room for one request: somebody has to make progress.
    pub(crate) fn has_room_for_parts(&self) -> bool {
        self.parts.expected_bytes().is_none_or(|bytes| self.held_bytes() + bytes <= self.config.requests_bytes_max)
    }

    /// Starts a request over several partitions.
    #[allow(clippy::too_many_arguments, reason = "a request, how it is answered and how it travels")]
    pub(crate) fn coordinate<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        connection: ConnectionId,
        reply: Reply,
        coordinator: AnyCoordinator,
        route: Option<Route>,
        bytes: usize,
        out: &mut Vec<u8>,
    ) -> Started {
        let bytes = bytes + COORDINATED_REQUEST_BYTES;
        let work = Work::Coordinated(Coordinated::new(coordinator, bytes));
        let route = route.map(|route| (route, Vec::new()));
        let request = Request { work, route, ..Request::single(connection, reply, bytes) };
        let id = self.requests.insert(request);
        self.begin_coordinated(reactor, id, out)
    }

    /// Starts a request that nobody waits for; it is there as long as it runs.
    pub(crate) fn coordinate_for_nobody<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        reply: Reply,
        coordinator: AnyCoordinator,
        route: Option<Route>,
    ) -> RequestId {
        let bytes = COORDINATED_REQUEST_BYTES;
        let work = Work::Coordinated(Coordinated::new(coordinator, bytes));
        let route = route.map(|route| (route, Vec::new()));
        let id = self.requests.insert(Request { work, route, ..Request::single(NOBODY, reply, bytes) });
        self.begin_coordinated(reactor, id, &mut Vec::new());
        id
    }

    fn begin_coordinated<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: RequestId, out: &mut Vec<u8>) -> Started {
        if !self.has_room_for_parts() {
            self.continuations.push_back(id);
            return Started::Waiting;
        }
        // Who is answered at once is counted by who has asked.
        let measured = self.requests.get_mut(id).and_then(|request| request.measured.take());
        let stepped = self.step(reactor, id, out);
        if let Some(request) = self.requests.get_mut(id) {
            request.measured = measured;
        }
        match stepped {
            Stepped::Done => Started::Replied,
            Stepped::Run(parts) => {
                self.run_parts(reactor, id, parts);
                Started::Waiting
            }
            Stepped::Wait => Started::Waiting,
        }
    }

    /// Takes one step of a coordinated request whose parts are all back; appends the reply, or a piece of it.
    fn step<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: RequestId, out: &mut Vec<u8>) -> Stepped {
        let Some(request) = self.requests.get_mut(id) else { return Stepped::Done };
        let reply = request.reply;
        let Work::Coordinated(work) = &mut request.work else { return Stepped::Done };
        let start = out.len();
        let step = work.coordinator.step(reply, std::mem::take(&mut work.results), out);
        let (change, lines) = (work.coordinator.take_schema_change(), work.coordinator.take_log());
        if let Step::Run(parts) = &step {
            work.results.resize_with(parts.len(), Vec::new);
            work.left = parts.len();
        }
        if out.len() > start {
            // The results so far are in the reply.
            work.has_sent = true;
            let bytes = work.bytes;
            // What comes after the reply, such as the end of a logged batch, is nothing that the client waits for.
            complete_reply(request, reactor, out, start);
            self.requests.set_bytes(id, bytes);
        }
        if !lines.is_empty() {
            self.script_log.tell(reactor.now().monotonic_us, &lines);
        }
        if let Some(change) = change {
            // `schema_changed` takes the next step.
            let request = SchemaRequest { origin: self.core, request: id, action: SchemaAction::Change(change) };
            reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
            return Stepped::Wait;
        }
        match step {
            Step::Run(parts) => Stepped::Run(parts),
            Step::Wait { until_us } => {
                self.delayed.push((until_us, id));
                Stepped::Wait
            }
            Step::Done => {
                self.requests.remove(id);
                Stepped::Done
            }
        }
    }

    /// Sends parts to the cores that own them.
    fn run_parts<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: RequestId, parts: Vec<Part>) {
        if let Some((_, places)) = self.requests.get_mut(id).and_then(|request| request.route.as_mut()) {
            places.clear();
            places.extend(parts.iter().map(|Part { table, token, operation }| {
                let mut description = Vec::new();
                let travels = operation.describe(&mut description);
                Place { table: *table, token: *token, description: travels.then_some(description) }
            }));
        }
        if let Some(error) = self.too_few_replicas(id) {
            // No part has done anything yet.
            return self.refuse(reactor, id, &error);
        }
        self.parts.sent(parts.len());
        if let Some(Part { table, .. }) = parts.first() {
            self.parts.expect(*table);
            if let Some(Request { work: Work::Coordinated(work), .. }) = self.requests.get_mut(id) {
                work.table = Some(*table);
            }
        }
        for (part, Part { table, token, operation }) in parts.into_iter().enumerate() {
            let part = PartId { request: id, part: part as u16 };
            let owner = token.slot().core(self.cores);
            self.trace_part(reactor, self.core, part, || format!("Part {} begins at token {}: core {}", part.part, token.0, owner.0));
            if self.cluster.as_ref().is_some_and(|cluster| !cluster.is_primary(table, token.slot())) {
                self.route(reactor, part);
            } else if owner == self.core {
                self.run_part(reactor, self.core, part, Access::Primary, operation);
            } else {
                reactor.send(owner, Message::Run { part, access: Access::Primary, operation });
            }
        }
    }

    /// A part has come back with so many bytes.
    fn note_part(&mut self, request: RequestId, bytes: usize) {
        let table = match self.requests.get_mut(request) {
            Some(Request { work: Work::Coordinated(work), .. }) => work.table,
            _ => None,
        };
        self.parts.returned(table, bytes);
    }

    /// Why the parts of a request cannot run at its consistency level, if they cannot.
    fn too_few_replicas(&mut self, id: RequestId) -> Option<ShardError> {
        let cluster = self.cluster.as_ref()?;
        let Request { work, route, .. } = self.requests.get_mut(id)?;
        if matches!(work, Work::Coordinated(Coordinated { coordinator, .. }) if !coordinator.is_open()) {
            return None;
        }
        let (route, places) = route.as_ref()?;
        places.iter().find_map(|place| cluster.too_few_replicas(place, route.consistency))
    }

    /// Runs a part here for the core that asked.
    pub(crate) fn run_part<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        origin: CoreId,
        part: PartId,
        access: Access,
        operation: Box<dyn Operation>,
    ) {
        let context = self.context(reactor);
        let mut reply = Vec::new();
        let outcome = match self.shard.run_with(&context, access, &*operation, &mut reply) {
            Outcome::Done => Ok(reply),
            Outcome::Unsynced(sequence) => {
                self.trace_part(reactor, origin, part, || {
                    format!("Core {} has run it; the reply waits for the device or other replicas", self.core.0)
                });
                self.shard.hold(Ticket { origin, part }.into(), sequence, reply);
                return;
            }
            Outcome::Waits => {
                self.trace_part(reactor, origin, part, || format!("Core {} reads rows from the device", self.core.0));
                self.shard.park(Ticket { origin, part }.into(), operation);
                return;
            }
            Outcome::Failed(error) => Err(error),
        };
        self.trace_part(reactor, origin, part, || format!("Core {} has run it, from memory", self.core.0));
        self.part_done(reactor, origin, part, outcome);
    }

    pub(crate) fn part_done<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        origin: CoreId,
        part: PartId,
        outcome: Result<Vec<u8>, ShardError>,
    ) {
        if origin != self.core {
            reactor.send(origin, Message::Ran { part, outcome });
            return;
        }
        if let Err(error @ (ShardError::NotPrimary | ShardError::OutcomeUnknown)) = &outcome
            && let Some(Request { route: Some((route, _)), .. }) = self.requests.get_mut(part.request)
            && (*error == ShardError::NotPrimary || !route.is_write)
        {
            // Nothing was done here, or what may be done once more: another member may be the primary, and has what cannot be read here.
            route.reads_any &= *error != ShardError::NotPrimary;
            return self.route(reactor, part);
        }
        if part.part != PartId::WHOLE {
            self.note_part(part.request, outcome.as_ref().map_or(0, Vec::len));
        }
        let Some(request) = self.requests.get_mut(part.request) else { return };
        let (connection, asker) = (request.connection, request.asker);
        match (&mut request.work, outcome) {
            // It has no parts before it is started again.
            (Work::Restart(_), _) => {}
            (Work::Single, outcome) if let Some(asker) = asker => {
                self.requests.remove(part.request);
                self.answer_asker(reactor, asker, outcome);
            }
            (Work::Single, Ok(mut frame)) => {
                if let Some(mut request) = self.requests.remove(part.request) {
                    if request.tells_tablet {
                        self.tell_tablet(&request, &mut frame);
                    }
                    complete_reply(&mut request, reactor, &mut frame, 0);
                }
                self.deliver(reactor, connection, &frame);
            }
            (Work::Single, Err(error)) => self.refuse(reactor, part.request, &error),
            (Work::Coordinated(coordinated), outcome) => {
                let bytes = coordinated.take(part.part, outcome);
                let is_complete = coordinated.left == 0;
                if is_complete && let Some(error) = coordinated.failure.take() {
                    return self.refuse(reactor, part.request, &error);
                }
                // Results are concatenated in a buffer that doubles.
                self.requests.grow(part.request, 2 * bytes);
                if is_complete && self.is_overloaded() {
                    // Memory is short: requests finish one after the other.
                    self.continuations.push_front(part.request);
                } else if is_complete {
                    self.continuations.push_back(part.request);
                }
            }
        }
    }

    /// Tells a client that asked the wrong member or core which one to ask.
    fn tell_tablet(&self, request: &Request, frame: &mut Vec<u8>) {
        let place = request.route.as_ref().and_then(|(_, places)| places.first());
        if let (Some(cluster), Some(place)) = (&self.cluster, place)
            && let Some(tablet) = cluster.tablet(place.table, place.token, self.cores)
        {
            tablet.add_to(frame);
        }
    }

    /// Ends a request with an error, which is sent in this core's turn.
    fn refuse<R: Reactor<Message = Message>>(&mut self, reactor: &R, id: RequestId, error: &ShardError) {
        let Some(mut request) = self.requests.remove(id) else { return };
        let mut frame = Vec::new();
        request.reply.write_failure(error, &mut frame);
        complete_reply(&mut request, reactor, &mut frame, 0);
        self.refusals.push((request.connection, frame));
    }

    /// Continues requests whose time has come.
    pub(crate) fn continue_delayed(&mut self, now_us: u64) {
        let continuations = &mut self.continuations;
        self.delayed.retain(|(until_us, id)| {
            let waits = *until_us > now_us;
            if !waits {
                continuations.push_back(*id);
            }
            waits
        });
    }

    pub(crate) fn continue_requests<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        for (connection, frame) in std::mem::take(&mut self.refusals) {
            self.deliver(reactor, connection, &frame);
        }
        for _ in 0..CONTINUATIONS_PER_TURN {
            if !self.has_room_for_parts() {
                return;
            }
            let Some(id) = self.continuations.pop_front() else { return };
            let Some(request) = self.requests.get_mut(id) else { continue };
            let connection = request.connection;
            let (pending, is_open) = match &mut request.work {
                Work::Coordinated(work) => (std::mem::take(&mut work.pending), work.coordinator.is_open()),
                Work::Single | Work::Restart(_) => (Vec::new(), true),
            };
            if connection != NOBODY && is_open && self.connections.get_mut(connection).is_none() {
                // The client is gone.
                self.requests.discard(id);
            } else if !pending.is_empty() {
                self.run_parts(reactor, id, pending);
            } else {
                self.take_step(reactor, id, connection);
            }
        }
    }

    fn take_step<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: RequestId, connection: ConnectionId) {
        let mut reply = Vec::new();
        let parts = match self.step(reactor, id, &mut reply) {
            Stepped::Done => return self.deliver(reactor, connection, &reply),
            Stepped::Wait => return self.deliver_piece(reactor, connection, &reply),
            Stepped::Run(parts) => parts,
        };
        self.deliver_piece(reactor, connection, &reply);
        let unsent_bytes_max = self.unsent_bytes_max();
        if let Some(Request { work: Work::Coordinated(work), .. }) = self.requests.get_mut(id)
            && work.has_sent
            && reactor.unsent_bytes(connection) > unsent_bytes_max
            && let Some(waiting) = self.connections.get_mut(connection)
        {
            // The next parts run once the client has taken the reply so far: `drained` continues.
            work.pending = parts;
            waiting.stream = Some(id);
            self.weigh(reactor, connection);
        } else {
            self.run_parts(reactor, id, parts);
        }
    }

    pub(crate) fn finish_parked<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        while let Some((ticket, outcome)) = self.shard.next_finished() {
            if ticket.0[1] == RESTORER {
                self.restores.finished(ticket.0[0], outcome.map(drop));
                continue;
            }
            let Ticket { origin, part } = ticket.into();
            self.trace_part(reactor, origin, part, || format!("Core {} has what it waited for", self.core.0));
            self.part_done(reactor, origin, part, outcome);
        }
    }
}

/// Whether a request was answered at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    Replied,
    Waiting,
}

enum Stepped {
    Done,
    Run(Vec<Part>),
    Wait,
}

/// Names a parked operation: the part, and the core that asked.
pub(crate) struct Ticket {
    pub(crate) origin: CoreId,
    pub(crate) part: PartId,
}

impl From<Ticket> for shard::Ticket {
    fn from(ticket: Ticket) -> Self {
        let (index, generation) = ticket.part.request.to_parts();
        Self([(u64::from(index) << 32) | u64::from(generation), (u64::from(ticket.part.part) << 16) | u64::from(ticket.origin.0)])
    }
}

impl From<shard::Ticket> for Ticket {
    fn from(ticket: shard::Ticket) -> Self {
        let [request, rest] = ticket.0;
        let request = RequestId::from_parts((request >> 32) as u32, request as u32);
        Self { origin: CoreId(rest as u16), part: PartId { request, part: (rest >> 16) as u16 } }
    }
}
