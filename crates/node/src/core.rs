//! One core of a node: its connections, its shard, and the requests between them and other cores.
//!
//! Bytes come in through [`io::Handler`]; a request runs at once when its partition is here and in memory, and its reply is written straight
//! into the connection's output. Everything else waits in [`Requests`] and is answered later. Nothing here blocks or reads a clock.

use crate::cluster::{Asker, ClusterCore, Forward, MetadataBlobs, Ring};
use crate::config::NodeConfig;
use crate::connections::{Connection, Connections};
use crate::coordination::PART_BYTES_FIRST;
use crate::logins::{COMPUTE_TAGS, Logins};
use crate::message::Message;
use crate::protocol::cql::{BatchLogs, CoreStatements, SharedStatements};
use crate::protocol::{Protocol, Session, Workspaces};
use crate::requests::{RequestId, Requests};
use crate::schema_changes::{Marks, SchemaChanges};
use base::{CoreId, TableId};
use engine::OpenError;
use io::{ConnectionId, DiskCompletion, DiskTag, Handler, ListenerId, Reactor, Turn};
use model::Schema;
use model::operation::Context;
use shard::Shard;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// Disk tags from here up are the node's own; those below are the engine's.
const NODE_TAGS: u64 = 1 << 63;

/// What core 0 does when the node serves clients: all shards have recovered, and in a cluster it is a member that knows what it serves.
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
    pub(crate) connections: Connections,
    pub(crate) workspaces: Workspaces,
    /// Requests whose parts are all back.
    pub(crate) continuations: VecDeque<RequestId>,
    /// Requests that wait for a time on the monotonic clock.
    pub(crate) delayed: Vec<(u64, RequestId)>,
    /// Parts of coordinated requests that are not back, and how large their results have been: decays towards those of late.
    pub(crate) parts_out: usize,
    pub(crate) part_bytes: usize,
    /// The same of each table whose parts this core has asked for.
    pub(crate) part_bytes_of: HashMap<TableId, usize>,
    /// Error frames of requests that were refused while their connection may be in the middle of being served.
    pub(crate) refusals: Vec<(ConnectionId, Vec<u8>)>,
    pub(crate) marks: Marks,
    pub(crate) batches: BatchLogs,
    pub(crate) logins: Logins,
    /// Without a cluster.
    pub(crate) ring: Ring,
    pub(crate) cluster: Option<Box<ClusterCore>>,
    /// Clients have to go to other nodes: connections are closed as they fall quiet, and all of them then.
    pub(crate) send_away_until_us: Option<u64>,
    /// When to look again for clients that do not read; only while there is too much to send.
    pub(crate) stalls_due_us: Option<u64>,
    /// When figures are written for operators.
    pub(crate) report_due_us: u64,
    /// Whether the log says that there is no room for writes.
    pub(crate) told_full: bool,
    /// How many reports in a row have found room for writes.
    pub(crate) looks_with_room: u32,
    on_ready: Option<OnReady>,
    on_failure: Option<OnFailure>,
    /// Damaged places that have been logged.
    damage_logged: usize,
    recovered: bool,
    /// When to say how far recovery has come.
    progress_due_us: Option<u64>,
    cores_recovered: u16,
    /// On core 0: whether one of them has found stored data damaged.
    pub(crate) is_damaged: bool,
    cores_serving: u16,
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
    /// With clustering: the blob of this core, if there is one.
    pub replication: Option<Vec<u8>>,
    /// For core 0 of a node with clustering.
    pub metadata: MetadataBlobs,
    /// On core 0: called once, when the node serves clients.
    pub on_ready: Option<OnReady>,
}

impl Core {
    /// A core that accepts clients once all cores have recovered.
    #[must_use]
    pub fn new(parts: CoreParts) -> Self {
        let cluster = parts.config.cluster.clone().map(|config| {
            let metadata = (parts.core == CoreId(0)).then_some(parts.metadata);
            let (name, host_id) = (parts.config.cluster_name.clone(), parts.config.host_id);
            Box::new(ClusterCore::new(config, name, host_id, metadata, parts.replication.as_deref()))
        });
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
            workspaces: Workspaces::default(),
            continuations: VecDeque::new(),
            delayed: Vec::new(),
            parts_out: 0,
            part_bytes: PART_BYTES_FIRST,
            part_bytes_of: HashMap::new(),
            refusals: Vec::new(),
            marks: Marks::default(),
            batches: BatchLogs::default(),
            logins: Logins::default(),
            ring: Ring::default(),
            cluster,
            send_away_until_us: None,
            stalls_due_us: None,
            report_due_us: 0,
            told_full: false,
            looks_with_room: 0,
            on_ready: parts.on_ready,
            on_failure: None,
            damage_logged: 0,
            recovered: false,
            progress_due_us: None,
            cores_recovered: 0,
            is_damaged: false,
            cores_serving: 0,
            cores_flushed: 0,
            flushing: false,
            flush_reported: false,
        };
        if core.cluster.is_some() {
            // A process that starts anew has its tables, and does not know yet whose they are.
            core.shard.set_replicated(std::iter::empty());
        }
        let schema = Arc::clone(&core.schema);
        core.take_tables(&schema);
        core
    }

    /// How many logged batches it has found that their coordinators have not brought to an end, and that are not at one yet.
    #[must_use]
    pub fn unfinished_batches(&self) -> u64 {
        self.batches.unfinished()
    }

    /// The core's shard, to look at.
    #[must_use]
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// For messages: what is under way of the core's part in a cluster.
    #[must_use]
    pub fn describe_cluster(&self) -> String {
        self.cluster.as_ref().map_or_else(String::new, |cluster| cluster.describe())
    }

    /// On core 0: what this node knows of its cluster.
    #[must_use]
    pub fn cluster_state(&self) -> Option<Arc<cluster::State>> {
        self.cluster.as_ref().map(|cluster| cluster.newest_state())
    }

    /// On core 0: who votes in the metadata's group, as far as this node knows.
    #[must_use]
    pub fn cluster_voters(&self) -> Vec<base::NodeId> {
        self.cluster.as_ref().map(|cluster| cluster.voters()).unwrap_or_default()
    }

    /// Whether the cluster knows of this process, and this core acts as a member.
    #[must_use]
    pub fn takes_part(&self) -> bool {
        self.cluster.as_ref().is_none_or(|cluster| cluster.view.version() > 0)
    }

    /// On core 0: who leads it, as far as this node knows.
    #[must_use]
    pub fn cluster_leader(&self) -> Option<base::NodeId> {
        self.cluster.as_ref().and_then(|cluster| cluster.leader())
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

    /// Everything is to be on the device; then the node ends.
    pub(crate) fn flush_to_end(&mut self) {
        self.flushing = true;
        self.shard.flush();
    }

    fn report_progress<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if !self.recovered {
            self.log_recovery(reactor.now().monotonic_us);
            if self.shard.is_ready() {
                self.recovered = true;
                self.restore_purge_floor();
                let engine = self.shard.engine();
                for loss in engine.accepted_losses() {
                    tracing::error!(core = self.core.0, %loss, "the shard starts with what is left: the loss of stored data was accepted");
                }
                let is_damaged = engine.may_lack_rows();
                reactor.send(CoreId(0), Message::Recovered { is_damaged });
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
    /// What moves rows to other nodes goes about it more slowly.
    pub(crate) fn client_came(&mut self) {
        if let Some(cluster) = &mut self.cluster {
            cluster.client_came();
        }
    }

    fn be_ready(&mut self) {
        if let Some(on_ready) = self.on_ready.take() {
            if self.config.requires_login && self.schema.roles.is_empty() {
                let role = cql::roles::DEFAULT_ROLE;
                tracing::warn!(
                    role,
                    "there is one role, with the password that everybody knows: ALTER ROLE cassandra WITH PASSWORD = '...'"
                );
            }
            on_ready();
        }
    }

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

impl<R: Reactor<Message = Message>> Handler<R> for Core {
    fn accepted(&mut self, reactor: &mut R, connection: ConnectionId, listener: ListenerId, peer: SocketAddr) {
        let protocol = self.config.protocol(listener);
        if protocol == Protocol::Node {
            return self.node_accepted(reactor, connection, peer);
        }
        self.connections.insert(Connection::new(connection, Session::new(protocol, peer, self.config.frame_body_bytes_max)));
    }

    fn received(&mut self, reactor: &mut R, connection: ConnectionId, bytes: &[u8]) {
        if self.is_node_connection(connection) {
            return self.node_received(reactor, connection, bytes);
        }
        self.client_came();
        self.serve(reactor, connection, bytes);
    }

    fn drained(&mut self, reactor: &mut R, connection: ConnectionId) {
        if let Some(stream) = self.connections.get_mut(connection).and_then(|connection| connection.stream.take()) {
            self.continuations.push_back(stream);
        }
        if self.is_overloaded() && self.connections.weigh(connection, 0).is_some_and(|connection| connection.session.in_flight() > 0) {
            // `resume` comes back to it once there is room.
            return self.connections.pause(connection);
        }
        self.resume_one(reactor, connection);
    }

    fn closed(&mut self, reactor: &mut R, connection: ConnectionId) {
        if self.is_node_connection(connection) {
            return self.node_closed(reactor, connection);
        }
        self.forget(connection);
    }

    fn unreachable(&mut self, reactor: &mut R, connection: ConnectionId, code: i32) {
        self.node_unreachable(reactor, connection, code);
    }

    fn completed(&mut self, reactor: &mut R, completion: DiskCompletion) {
        if completion.tag.0 < NODE_TAGS {
            self.shard.completed(reactor.now(), completion);
        } else if completion.tag.0 >= NODE_TAGS + COMPUTE_TAGS {
            self.computed(reactor, completion.tag.0 - NODE_TAGS - COMPUTE_TAGS);
        } else {
            self.blob_written(reactor, DiskTag(completion.tag.0 - NODE_TAGS), &completion.result);
        }
    }

    fn message(&mut self, reactor: &mut R, from: CoreId, message: Message) {
        match message {
            Message::Run { part, access, operation } => {
                self.client_came();
                self.run_part(reactor, from, part, access, operation);
            }
            Message::Ran { part, outcome } => self.part_done(reactor, self.core, part, outcome),
            Message::Forward { from, id, version, part, request } => {
                let forward = Forward { id, version, part: part.as_deref(), request: &request };
                self.run_forwarded(reactor, Asker::Core { core: from, id }, &forward);
            }
            Message::Forwarded { id, outcome } => self.routed_answered(reactor, id, outcome),
            Message::View(view) => self.apply_view(reactor, view),
            Message::Lease(until_us) => self.apply_lease(reactor, until_us),
            Message::LeaseHasEnd => self.lease_has_end(),
            Message::Propose(command) => self.propose(*command),
            Message::Metadata { from, body } => self.metadata_received(reactor, from, &body),
            Message::ChangeSchema(request) => self.change_schema(reactor, *request),
            Message::ShardSchema(schema) => self.apply_shard_schema(reactor, &schema),
            Message::Schema(update) => self.apply_schema(reactor, &update),
            Message::Announce(update) => {
                for event in &update.events {
                    self.broadcast(reactor, &cql::wire::Event::SchemaChange(event.as_wire()));
                }
            }
            Message::SchemaApplied { failure } => self.schema_applied(reactor, failure),
            Message::SchemaChanged { request, outcome } => self.schema_changed(reactor, request, &outcome),
            Message::Recovered { is_damaged } => {
                self.cores_recovered += 1;
                self.is_damaged |= is_damaged;
                if self.cores_recovered == self.cores {
                    reactor.start_accepting();
                    self.start_metadata(reactor);
                    if self.cluster.is_none() {
                        self.be_ready();
                    }
                }
            }
            Message::Serving => {
                self.cores_serving += 1;
                if self.cores_serving == self.cores {
                    self.be_ready();
                }
            }
            Message::PrimariesTransferred => self.core_transferred(),
            Message::SendAway => self.begin_to_send_away(reactor.now().monotonic_us),
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
            self.note_end_of_joining();
        }
        if !self.begin_shutdown(reactor.now().monotonic_us) {
            self.flush_to_end();
        }
    }

    fn turn(&mut self, reactor: &mut R) -> Turn {
        let now = reactor.now();
        let next = self.shard.turn(now);
        self.finish_parked(reactor);
        self.continue_delayed(now.monotonic_us);
        self.continue_requests(reactor);
        self.answer_logins(reactor);
        self.resume(reactor);
        self.send_away(reactor);
        self.workspaces.trim();
        let stalls_due_us = self.close_stalled(reactor);
        let marks_due_us = self.store_marks_again(reactor);
        let operations_due_us = self.operations_turn(reactor);
        let batches_due_us = self.batches_turn(reactor);
        let cluster_due_us = self.cluster_turn(reactor);
        for (tag, request) in self.shard.take_requests() {
            debug_assert!(tag.0 < NODE_TAGS);
            reactor.submit(tag, request);
        }
        self.report_progress(reactor);
        let has_room = !self.continuations.is_empty() && self.has_room_for_parts();
        if has_room || self.logins.has_answers() || !self.refusals.is_empty() || self.shard.has_runnable() || cluster_due_us == Some(0) {
            return Turn::Again;
        }
        // What the cluster's share has written or received may have to be flushed.
        let flush_due_us = self.shard.engine().flush_due_us();
        let delayed_due_us = self.delayed.iter().map(|(until_us, _)| *until_us);
        next.into_iter()
            .chain(flush_due_us)
            .chain(delayed_due_us)
            .chain(cluster_due_us)
            .chain(operations_due_us)
            .chain(stalls_due_us)
            .chain(marks_due_us)
            .chain(batches_due_us)
            .min()
            .map_or(Turn::Idle, Turn::At)
    }
}

/// The tag of a blob that the node writes.
pub(crate) fn node_tag(tag: u64) -> DiskTag {
    DiskTag(NODE_TAGS + tag)
}
