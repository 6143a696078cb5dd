//! One core of a node: its connections, its shard, and the requests between them and other cores.
//!
//! Bytes come in through [`io::Handler`]; a request runs at once when its partition is here and in memory, and its reply is written straight
//! into the connection's output. Everything else waits in [`Requests`] and is answered later. Nothing here blocks or reads a clock.

use crate::config::NodeConfig;
use crate::connections::{Connection, Connections};
use crate::message::{Message, PartId, ReplyHeader};
use crate::prepared::{CoreStatements, SharedStatements};
use crate::requests::{COORDINATED_REQUEST_BYTES, Request, RequestId, Requests, Work};
use crate::schema_changes::{Marks, SchemaChanges};
use crate::statements::Statements;
use base::CoreId;
use cql::CqlError;
use cql::reply;
use cql::session::{Session, Verdict, Workspaces};
use engine::OpenError;
use io::{ConnectionId, DiskCompletion, DiskTag, Handler, ListenerId, Reactor, Turn};
use model::Schema;
use model::operation::{Context, Coordinator, Part, Step};
use shard::{Outcome, Shard, ShardError};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

/// Disk tags from here up are the node's own; those below are the engine's.
const NODE_TAGS: u64 = 1 << 63;

/// How many steps of statements over many partitions a core takes between two looks at its sockets.
const CONTINUATIONS_PER_TURN: usize = 4;

/// The size that the first results of parts are taken to have: what a part of a SELECT visits at most, but for its last row.
const PART_BYTES_FIRST: usize = 1 << 20;

/// A connection may always leave this many bytes of replies unread.
const UNSENT_BYTES_LEAST: usize = 64 << 10;

/// How often a core that has too much to send looks for a client that does not read.
const STALLS_EVERY_US: u64 = 250_000;

/// What core 0 does when all shards have recovered.
pub type OnReady = Box<dyn FnOnce() + Send>;

/// What a core does when its shard cannot recover.
pub type OnFailure = Box<dyn FnOnce(&OpenError) + Send>;

/// One core.
pub struct Core {
    pub(crate) core: CoreId,
    pub(crate) cores: u16,
    pub(crate) config: Arc<NodeConfig>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) shard: Shard,
    pub(crate) statements: CoreStatements,
    pub(crate) requests: Requests,
    /// Only on core 0.
    pub(crate) changes: Option<SchemaChanges>,
    connections: Connections,
    workspaces: Workspaces,
    /// Requests whose parts are all back.
    continuations: VecDeque<RequestId>,
    /// Parts of coordinated requests that are not back, and how large their results have been: decays towards those of late.
    parts_out: usize,
    part_bytes: usize,
    /// Error frames of requests that were refused while their connection may be in the middle of being served.
    refusals: Vec<(ConnectionId, Vec<u8>)>,
    pub(crate) marks: Marks,
    /// When to look again for clients that do not read; only while there is too much to send.
    stalls_due_us: Option<u64>,
    on_ready: Option<OnReady>,
    on_failure: Option<OnFailure>,
    /// Damaged places that have been logged.
    damage_logged: usize,
    recovered: bool,
    /// When to say how far recovery has come.
    progress_due_us: Option<u64>,
    cores_recovered: u16,
    cores_flushed: u16,
    flushing: bool,
    flush_reported: bool,
}

/// What a core is made of.
pub struct CoreParts {
    /// Which core.
    pub core: CoreId,
    /// Of how many.
    pub cores: u16,
    /// The node's configuration.
    pub config: Arc<NodeConfig>,
    /// The schema as it was stored.
    pub schema: Arc<Schema>,
    /// The core's shard, recovering.
    pub shard: Shard,
    /// The node's prepared statements.
    pub statements: Arc<SharedStatements>,
    /// On core 0: called once, when the node accepts clients.
    pub on_ready: Option<OnReady>,
}

impl Core {
    /// A core that accepts clients once all cores have recovered.
    #[must_use]
    pub fn new(parts: CoreParts) -> Self {
        let mut core = Self {
            changes: (parts.core == CoreId(0)).then(SchemaChanges::default),
            core: parts.core,
            cores: parts.cores,
            config: parts.config,
            schema: parts.schema,
            shard: parts.shard,
            statements: CoreStatements::new(parts.statements),
            requests: Requests::default(),
            connections: Connections::default(),
            workspaces: Workspaces::new(),
            continuations: VecDeque::new(),
            parts_out: 0,
            part_bytes: PART_BYTES_FIRST,
            refusals: Vec::new(),
            marks: Marks::default(),
            stalls_due_us: None,
            on_ready: parts.on_ready,
            on_failure: None,
            damage_logged: 0,
            recovered: false,
            progress_due_us: None,
            cores_recovered: 0,
            cores_flushed: 0,
            flushing: false,
            flush_reported: false,
        };
        core.take_tables();
        core
    }

    /// The core's shard, to look at.
    #[must_use]
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Calls `on_failure` once if the shard turns out not to be recoverable. Without it, or when it returns, the core waits for ever.
    #[must_use]
    pub fn with_on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = Some(on_failure);
        self
    }

    /// A context for work that starts now.
    pub(crate) fn context<R: Reactor>(&mut self, reactor: &R) -> Context {
        self.shard.context(reactor.now())
    }

    /// Memory that requests hold on this core: those that have arrived in part, and those that wait.
    pub(crate) fn held_bytes(&self) -> usize {
        self.connections.partial_bytes() + self.requests.bytes()
    }

    /// How many bytes of replies a connection may leave unread: little once all together leave much, none once they leave too much.
    fn unsent_bytes_max(&self) -> usize {
        let (unsent, budget) = (self.connections.unsent_bytes(), self.config.requests_bytes_max);
        let most = self.config.unsent_bytes_max;
        if unsent <= budget / 2 {
            most
        } else if unsent <= budget + budget / 2 {
            UNSENT_BYTES_LEAST.min(most)
        } else {
            0
        }
    }

    /// Whether requests that would have to wait are refused: connections that hold something are not served long before that.
    pub(crate) fn is_full(&self) -> bool {
        self.held_bytes() > self.config.requests_bytes_max + self.config.requests_bytes_max / 2
    }

    fn is_overloaded(&self) -> bool {
        self.held_bytes() > self.config.requests_bytes_max
    }

    /// Appends a plain reply frame to a connection, if it is still there.
    pub(crate) fn deliver<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, frame: &[u8]) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Some(out) = reactor.output(id) {
            connection.session.append_late_reply(frame, out, &mut self.workspaces);
        }
        self.weigh(reactor, id);
    }

    /// Tells clients that asked for it.
    pub(crate) fn broadcast<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, event: &cql::wire::Event<'_>) {
        for connection in self.connections.iter_mut() {
            if connection.session.is_registered()
                && let Some(out) = reactor.output(connection.id)
            {
                connection.session.append_event(event, out, &mut self.workspaces);
            }
        }
    }

    /// Serves the requests in `bytes`, and those that were left when the connection was paused.
    fn serve<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, bytes: &[u8]) {
        let Some(mut connection) = self.connections.take(id) else { return };
        let unsent = reactor.unsent_bytes(id);
        let Some(output) = reactor.output(id) else { return self.connections.put(connection) };
        let mut out = std::mem::take(output);
        let mut workspaces = std::mem::take(&mut self.workspaces);
        // The output of this turn is within `unsent`; what the kernel has not taken of turns before is not in `out`.
        let room = self.unsent_bytes_max().saturating_sub(unsent - out.len());
        let mut server = Statements { core: self, reactor, connection: id };
        let verdict = connection.session.receive(bytes, &mut out, room, &mut workspaces, &mut server);
        self.workspaces = workspaces;
        reactor.put_output(id, out);
        connection.paused = verdict == Verdict::Pause;
        self.connections.put(connection);
        self.weigh(reactor, id);
        if verdict == Verdict::Close {
            reactor.close(id);
        }
    }

    /// Notes what a connection holds, and stops serving it while that is too much.
    fn weigh<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId) {
        let unsent = reactor.unsent_bytes(id);
        let overloaded = self.is_overloaded();
        let unsent_bytes_max = self.unsent_bytes_max();
        let Some(connection) = self.connections.weigh(id, unsent) else { return };
        let holds = connection.session.client().in_flight > 0;
        let partial = connection.session.buffered_bytes();
        connection.paused |= unsent > unsent_bytes_max || (overloaded && holds);
        if connection.paused {
            reactor.set_reading(id, false);
            self.connections.pause(id);
        } else if overloaded && partial > self.config.requests_bytes_max / 64 {
            // Frames that never end must not take the memory of those that do.
            let error =
                CqlError::Overloaded("requests that have arrived only in part take too much memory; the connection is closed".to_owned());
            let mut frame = Vec::new();
            reply::write_error(&mut frame, connection.session.client().version, cql::wire::StreamId(0), &error);
            if let Some(out) = reactor.output(id) {
                connection.session.append_reply(&frame, out, &mut self.workspaces);
            }
            reactor.close(id);
        }
    }

    /// Serves connections again that were paused, as far as there is room.
    fn resume<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        for _ in 0..self.connections.paused_count() {
            if self.is_overloaded() {
                return;
            }
            let Some(id) = self.connections.next_paused() else { return };
            self.resume_one(reactor, id);
        }
    }

    /// Frees memory when replies that nobody reads take too much of it, although every connection keeps to its share: those that hold most
    /// are closed, without waiting for their clients.
    fn close_stalled<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        if self.connections.unsent_bytes() <= self.config.requests_bytes_max / 2 {
            self.stalls_due_us = None;
            return None;
        }
        let now_us = reactor.now().monotonic_us;
        if self.stalls_due_us.is_some_and(|due| now_us < due) {
            return self.stalls_due_us;
        }
        self.stalls_due_us = Some(now_us + STALLS_EVERY_US);
        for id in self.connections.stalled(now_us, |id| reactor.unsent_bytes(id)) {
            if self.connections.unsent_bytes() <= self.config.requests_bytes_max {
                break;
            }
            reactor.abort(id);
            self.connections.remove(id);
        }
        self.stalls_due_us
    }

    fn resume_one<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId) {
        let unsent = reactor.unsent_bytes(id);
        let unsent_bytes_max = self.unsent_bytes_max();
        let Some(connection) = self.connections.weigh(id, unsent) else { return };
        if !connection.paused || unsent > unsent_bytes_max / 2 {
            // With much to send, `drained` will tell.
            return;
        }
        if !connection.session.takes_requests(unsent, unsent_bytes_max) {
            return self.connections.pause(id);
        }
        connection.paused = false;
        self.serve(reactor, id, &[]);
        if self.connections.get_mut(id).is_some_and(|connection| !connection.paused) {
            reactor.set_reading(id, true);
        }
    }

    /// Whether results as large as those of late, and the rows that they are made of, may come of further parts. When nothing is out they
    /// may: somebody has to go on.
    fn has_room_for_parts(&self) -> bool {
        self.parts_out == 0 || self.held_bytes() + self.parts_out * 2 * self.part_bytes <= self.config.requests_bytes_max
    }

    /// Starts a statement over several partitions.
    pub(crate) fn coordinate<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        connection: ConnectionId,
        reply: ReplyHeader,
        coordinator: Box<dyn Coordinator<Error = CqlError>>,
        bytes: usize,
        out: &mut Vec<u8>,
    ) -> Started {
        let bytes = bytes + COORDINATED_REQUEST_BYTES;
        let request =
            Request { connection, reply, work: Work::Coordinated { coordinator, results: Vec::new(), failure: None, left: 0 }, bytes };
        let id = self.requests.insert(request);
        if !self.has_room_for_parts() {
            self.continuations.push_back(id);
            return Started::Waiting;
        }
        match self.step(reactor, id, out) {
            Stepped::Done => Started::Replied,
            Stepped::Waiting => Started::Waiting,
        }
    }

    /// Takes one step of a coordinated request whose parts are all back; appends the reply frame when it was the last.
    fn step<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: RequestId, out: &mut Vec<u8>) -> Stepped {
        let Some(request) = self.requests.get_mut(id) else { return Stepped::Waiting };
        let header = request.reply;
        let Work::Coordinated { coordinator, results, .. } = &mut request.work else { return Stepped::Waiting };
        let start = out.len();
        let parts = match coordinator.step(std::mem::take(results), out) {
            Ok(Step::Run(parts)) => parts,
            Ok(Step::Done) => {
                self.requests.remove(id);
                return Stepped::Done;
            }
            Err(error) => {
                out.truncate(start);
                reply::write_error(out, header.version, header.stream, &error);
                self.requests.remove(id);
                return Stepped::Done;
            }
        };
        results.resize_with(parts.len(), Vec::new);
        if let Work::Coordinated { left, .. } = &mut request.work {
            *left = parts.len();
        }
        self.parts_out += parts.len();
        for (part, Part { token, operation }) in parts.into_iter().enumerate() {
            let part = PartId { request: id, part: part as u16 };
            let owner = token.slot().core(self.cores);
            if owner == self.core {
                self.run_part(reactor, self.core, part, operation);
            } else {
                reactor.send(owner, Message::Run { part, operation });
            }
        }
        Stepped::Waiting
    }

    /// Runs a part here for the core that asked.
    fn run_part<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        origin: CoreId,
        part: PartId,
        operation: Box<dyn model::operation::Operation>,
    ) {
        let context = self.context(reactor);
        let mut reply = Vec::new();
        let outcome = match self.shard.run(&context, &*operation, &mut reply) {
            Outcome::Done => Ok(reply),
            Outcome::Unsynced(sequence) => {
                self.shard.hold(Ticket { origin, part }.into(), sequence, reply);
                return;
            }
            Outcome::Waits => {
                self.shard.park(Ticket { origin, part }.into(), operation);
                return;
            }
            Outcome::Failed(error) => Err(error),
        };
        self.part_done(reactor, origin, part, outcome);
    }

    fn part_done<R: Reactor<Message = Message>>(
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
        if part.part != PartId::WHOLE {
            self.parts_out -= 1;
            let bytes = outcome.as_ref().map_or(0, Vec::len);
            self.part_bytes = bytes.max(self.part_bytes - self.part_bytes / 16);
        }
        let Some(request) = self.requests.get_mut(part.request) else { return };
        let connection = request.connection;
        match (&mut request.work, outcome) {
            (Work::Single, Ok(frame)) => {
                self.requests.remove(part.request);
                self.deliver(reactor, connection, &frame);
            }
            (Work::Single, Err(error)) => self.refuse(part.request, &cql_error(&error)),
            (Work::Coordinated { results, failure, left, .. }, outcome) => {
                let mut bytes = 0;
                match outcome {
                    Ok(reply) => {
                        bytes = reply.len();
                        if let Some(result) = results.get_mut(usize::from(part.part)) {
                            *result = reply;
                        }
                    }
                    Err(error) => {
                        failure.get_or_insert(error);
                    }
                }
                *left = left.saturating_sub(1);
                let is_complete = *left == 0;
                if is_complete && let Some(error) = failure.take() {
                    return self.refuse(part.request, &cql_error(&error));
                }
                // The result that they are put together to grows by doubling.
                self.requests.grow(part.request, 2 * bytes);
                if is_complete && self.is_overloaded() {
                    // Memory is short: one after the other comes to its end, not all at once.
                    self.continuations.push_front(part.request);
                } else if is_complete {
                    self.continuations.push_back(part.request);
                }
            }
        }
    }

    /// Ends a request with an error, which goes out in this core's turn.
    fn refuse(&mut self, id: RequestId, error: &CqlError) {
        let Some(request) = self.requests.remove(id) else { return };
        let mut frame = Vec::new();
        reply::write_error(&mut frame, request.reply.version, request.reply.stream, error);
        self.refusals.push((request.connection, frame));
    }

    fn continue_requests<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
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
            let mut frame = Vec::new();
            if matches!(self.step(reactor, id, &mut frame), Stepped::Done) {
                self.deliver(reactor, connection, &frame);
            }
        }
    }

    fn finish_parked<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        while let Some((ticket, outcome)) = self.shard.next_finished() {
            let Ticket { origin, part } = ticket.into();
            self.part_done(reactor, origin, part, outcome);
        }
    }

    fn report_progress<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if !self.recovered {
            self.log_recovery(reactor.now().monotonic_us);
            if self.shard.is_ready() {
                self.recovered = true;
                reactor.send(CoreId(0), Message::Recovered);
            }
        }
        let engine = self.shard.engine();
        if !self.recovered
            && let Some(error) = engine.recovery_error()
            && let Some(on_failure) = self.on_failure.take()
        {
            on_failure(error);
        }
        for report in &engine.damage_reports()[self.damage_logged..] {
            let (core, segment) = (self.core.0, report.segment.0);
            tracing::warn!(core, segment, offset = report.offset, bytes = report.bytes, "stored data is damaged");
        }
        self.damage_logged = engine.damage_reports().len();
        if self.flushing && !self.flush_reported && self.shard.is_flushed() {
            self.flush_reported = true;
            reactor.send(CoreId(0), Message::Flushed);
        }
    }
}

impl Core {
    /// Says how far the shard's recovery has come, once in a while, and how it went at its end.
    fn log_recovery(&mut self, now_us: u64) {
        const INTERVAL_US: u64 = 1_000_000;
        let progress = self.shard.engine().recovery_progress();
        let (core, records, damaged) = (self.core.0, progress.records, progress.damaged);
        let (segments, segments_total) = (progress.segments_done, progress.segments_total);
        let from = if progress.checkpoint_rows.is_some() { "checkpoint" } else { "log" };
        let checkpoint_rows = progress.checkpoint_rows.unwrap_or(0);
        if self.shard.is_ready() {
            let elapsed_ms = progress.elapsed_us / 1000;
            tracing::info!(core, from, checkpoint_rows, records, segments, damaged, elapsed_ms, "recovered");
        } else if self.progress_due_us.is_none_or(|due| now_us >= due) {
            if self.progress_due_us.is_some() {
                tracing::info!(core, from, checkpoint_rows, records, segments, segments_total, damaged, "recovering");
            }
            self.progress_due_us = Some(now_us.saturating_add(INTERVAL_US));
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
    Waiting,
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

/// A shard's failure in CQL's terms.
pub(crate) fn cql_error(error: &ShardError) -> CqlError {
    let message = error.to_string();
    match error {
        ShardError::Full { .. } | ShardError::Busy | ShardError::IndexFull { .. } => CqlError::Overloaded(message),
        ShardError::TooLarge { .. } | ShardError::UnknownTable => CqlError::Invalid(message),
        ShardError::Read(_) => CqlError::ReadFailure(message),
        ShardError::Poisoned => CqlError::WriteFailure(message),
        ShardError::NotReady => CqlError::Server(message),
    }
}

impl<R: Reactor<Message = Message>> Handler<R> for Core {
    fn accepted(&mut self, _: &mut R, connection: ConnectionId, _: ListenerId, peer: SocketAddr) {
        self.connections.put(Connection::new(connection, Session::new(peer, self.config.frame_body_bytes_max)));
    }

    fn received(&mut self, reactor: &mut R, connection: ConnectionId, bytes: &[u8]) {
        self.serve(reactor, connection, bytes);
    }

    fn drained(&mut self, reactor: &mut R, connection: ConnectionId) {
        if self.is_overloaded() && self.connections.weigh(connection, 0).is_some_and(|connection| connection.session.client().in_flight > 0)
        {
            // `resume` comes back to it once there is room.
            return self.connections.pause(connection);
        }
        self.resume_one(reactor, connection);
    }

    fn closed(&mut self, _: &mut R, connection: ConnectionId) {
        self.connections.remove(connection);
    }

    fn completed(&mut self, reactor: &mut R, completion: DiskCompletion) {
        if completion.tag.0 < NODE_TAGS {
            self.shard.completed(reactor.now(), completion);
        } else {
            self.blob_written(reactor, DiskTag(completion.tag.0 - NODE_TAGS), &completion.result);
        }
    }

    fn message(&mut self, reactor: &mut R, from: CoreId, message: Message) {
        match message {
            Message::Run { part, operation } => self.run_part(reactor, from, part, operation),
            Message::Ran { part, outcome } => self.part_done(reactor, self.core, part, outcome),
            Message::ChangeSchema(request) => self.change_schema(reactor, *request),
            Message::Schema(update) => self.apply_schema(reactor, &update),
            Message::Announce(update) => {
                if let Some(event) = &update.event {
                    self.broadcast(reactor, &cql::wire::Event::SchemaChange(event.as_wire()));
                }
            }
            Message::SchemaApplied { failure } => self.schema_applied(reactor, failure),
            Message::SchemaReply { request, frame } => {
                if let Some(request) = self.requests.remove(request) {
                    self.deliver(reactor, request.connection, &frame);
                }
            }
            Message::Recovered => {
                self.cores_recovered += 1;
                if self.cores_recovered == self.cores {
                    reactor.start_accepting();
                    if let Some(on_ready) = self.on_ready.take() {
                        on_ready();
                    }
                }
            }
            Message::Flushed => {
                self.cores_flushed += 1;
                if self.cores_flushed == self.cores {
                    reactor.stop();
                }
            }
        }
    }

    fn stopping(&mut self, reactor: &mut R) {
        if self.core == CoreId(0) {
            reactor.stop_accepting();
        }
        self.flushing = true;
        self.shard.flush();
    }

    fn turn(&mut self, reactor: &mut R) -> Turn {
        let now = reactor.now();
        let next = self.shard.turn(now);
        self.finish_parked(reactor);
        self.continue_requests(reactor);
        self.resume(reactor);
        let stalls_due_us = self.close_stalled(reactor);
        let marks_due_us = self.store_marks_again(reactor);
        for (tag, request) in self.shard.take_requests() {
            debug_assert!(tag.0 < NODE_TAGS);
            reactor.submit(tag, request);
        }
        self.report_progress(reactor);
        if (!self.continuations.is_empty() && self.has_room_for_parts()) || self.shard.has_runnable() {
            return Turn::Again;
        }
        next.into_iter().chain(stalls_due_us).chain(marks_due_us).min().map_or(Turn::Idle, Turn::At)
    }
}

/// The tag of a blob that the node writes.
pub(crate) fn node_tag(tag: u64) -> DiskTag {
    DiskTag(NODE_TAGS + tag)
}
