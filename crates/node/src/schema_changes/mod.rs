//! Changes of the schema: one at a time, decided on core 0, stored, then applied on every core before the client hears of it.
//!
//! ```text
//! any core ── ChangeSchema ──► core 0: resolve ── write blob ──► all shards: ShardSchema ── SchemaApplied ──► core 0
//!                                  ┌───────────────────────────────────────────────────────────────────────────┘
//!                                  └──► all cores: Schema ── (truncation blob) ── SchemaApplied ──► core 0 ──► reply and event
//! ```
//!
//! Shards come first: a statement that one core plans with the new schema finds its table and columns on every other core.

mod change;
mod queue;

pub(crate) use self::change::{
    ResolvedChange, SchemaAction, SchemaChange, SchemaDone, SchemaEnvironment, SchemaFailure, SchemaOutcome, SchemaRequest, SchemaUpdate,
};
pub(crate) use self::queue::{Marks, SchemaChanges};

use self::queue::{Change, Decided, Proposed, Stage};
use crate::cluster::schema_diff;
use crate::config::{SCHEMA_BLOB, truncations_blob};
use crate::core::Core;
use crate::message::Message;
use crate::requests::{Request, RequestId, Work};
use crate::tags::node_tag;
use crate::tracing::complete_reply;
use crate::vector_images::VECTORS_TAG;
use base::TableId;
use cql::ddl;
use io::{DiskError, DiskRequest, DiskTag, Reactor};
use model::{Schema, Table, schema_blob};
use std::sync::Arc;

const SCHEMA_TAG: u64 = 0;
const TRUNCATION_TAG: u64 = 1;
/// Truncation marks that are stored again after a failure.
const MARKS_TAG: u64 = 2;
/// Blobs of the cluster's metadata.
pub(crate) const METADATA_TAG: u64 = 3;
/// What a core stores for replicas that are down.
pub(crate) const CATCH_UP_TAG: u64 = 4;
/// After a failure a schema that the cluster has decided is stored again in this time.
const SCHEMA_AGAIN_US: u64 = 1_000_000;
/// After a failure marks are stored again in this time. Until then the shard reclaims no space.
const MARKS_AGAIN_US: u64 = 1_000_000;

/// The effect of a request.
enum Resolved {
    /// Nothing changes.
    Unchanged {
        warnings: Vec<String>,
    },
    Change {
        update: SchemaUpdate,
        warnings: Vec<String>,
        store: bool,
    },
}

impl Core {
    /// On core 0: takes a change.
    pub(crate) fn change_schema<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, request: SchemaRequest) {
        if let Some(changes) = &mut self.changes {
            changes.waiting.push_back(request);
        }
        self.next_change(reactor);
    }

    fn next_change<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        loop {
            let Some(changes) = &mut self.changes else { return };
            if changes.current.is_some() || changes.proposed.is_some() {
                return;
            }
            if self.cluster.as_ref().is_some_and(|cluster| !cluster.is_at_newest()) {
                // `settle_schema` comes back to it.
                return;
            }
            let Some(request) = changes.waiting.pop_front() else { return };
            match self.resolve(reactor, &request) {
                Ok(Resolved::Change { update, warnings, .. }) if self.cluster.is_some() => {
                    self.propose_schema(self.schema.version, schema_blob::encode(&update.schema));
                    if let Some(changes) = &mut self.changes {
                        let (version, done) = (update.schema.version, SchemaDone { events: update.events, warnings });
                        changes.proposed = Some(Proposed { request, done, version });
                    }
                }
                Err(failure) => request.end(reactor, Err(failure)),
                Ok(Resolved::Unchanged { warnings }) => request.end(reactor, Ok(SchemaDone { events: Vec::new(), warnings })),
                Ok(Resolved::Change { update, warnings, store }) => {
                    let update = Arc::new(update);
                    if store {
                        let bytes = schema_blob::encode(&update.schema);
                        reactor.submit(node_tag(SCHEMA_TAG), DiskRequest::ReplaceBlob { name: SCHEMA_BLOB.to_owned(), bytes });
                    }
                    if let Some(changes) = &mut self.changes {
                        changes.current = Some(Change::new(Some(request), update, warnings, self.cores));
                    }
                    if !store {
                        // Shards have the tables already.
                        self.publish_to_cores(reactor);
                    }
                }
            }
        }
    }

    fn resolve<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, request: &SchemaRequest) -> Result<Resolved, SchemaFailure> {
        match &request.action {
            // What is on its way to a view of the former id is nobody's.
            SchemaAction::Truncate(tables) if self.cluster.is_some() || self.has_views(tables) => {
                let schema = Arc::new(schema_diff::emptied(&self.schema, tables));
                let dropped = schema_diff::dropped_tables(&self.schema, &schema);
                let update = SchemaUpdate { schema, dropped, truncated: Vec::new(), events: Vec::new() };
                Ok(Resolved::Change { update, warnings: Vec::new(), store: true })
            }
            SchemaAction::Truncate(tables) => Ok(Resolved::Change {
                update: SchemaUpdate {
                    schema: Arc::clone(&self.schema),
                    dropped: Vec::new(),
                    truncated: tables.clone(),
                    events: Vec::new(),
                },
                warnings: Vec::new(),
                store: false,
            }),
            SchemaAction::Change(change) => {
                let mut environment = SchemaEnvironment {
                    config: &self.config,
                    now_us: reactor.now().wall_us,
                    uuid: &mut || random_uuid(reactor),
                    in_cluster: self.cluster.is_some(),
                    members: self.cluster.as_ref().map_or(1, |cluster| cluster.view.peers.len() + 1),
                    knows_roles: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_roles()),
                    knows_indexes: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_indexes()),
                    knows_permissions: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_permissions()),
                    knows_views: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_views()),
                    knows_functions: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_functions()),
                    knows_identities: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_identities()),
                    knows_digest_logins: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_digest_logins()),
                    knows_masks: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_masks()),
                    knows_role_limits: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_role_limits()),
                    knows_cdc: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_cdc()),
                    knows_spatial_indexes: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_spatial_indexes()),
                    knows_partitioned_containers: self
                        .cluster
                        .as_ref()
                        .is_none_or(|cluster| cluster.newest_state().knows_partitioned_containers()),
                    knows_record_set_indexes: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_record_set_indexes()),
                    knows_wasm: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_wasm()),
                    knows_record_transactions: self
                        .cluster
                        .as_ref()
                        .is_none_or(|cluster| cluster.newest_state().knows_record_transactions()),
                    knows_geospatial: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_geospatial()),
                    knows_long_vectors: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_long_vectors()),
                    knows_analyzers: self.cluster.as_ref().is_none_or(|cluster| cluster.newest_state().knows_analyzers()),
                };
                let ResolvedChange { update, warnings } = change.resolve(&self.schema, &mut environment)?;
                Ok(match update {
                    None => Resolved::Unchanged { warnings },
                    Some(update) => Resolved::Change { update, warnings, store: true },
                })
            }
        }
    }

    fn has_views(&self, tables: &[TableId]) -> bool {
        self.schema.tables().any(|table| tables.contains(&table.id) && !table.views.is_empty())
    }

    /// The stored schema is the new one: all shards take it, and then all cores.
    fn publish<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(change) = self.changes.as_ref().and_then(|changes| changes.current.as_ref()) else { return };
        let schema = Arc::clone(&change.update.schema);
        for core in 0..self.cores {
            reactor.send(base::CoreId(core), Message::ShardSchema(Arc::clone(&schema)));
        }
    }

    fn publish_to_cores<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(change) = self.changes.as_mut().and_then(|changes| changes.current.as_mut()) else { return };
        (change.stage, change.cores_left) = (Stage::Cores, self.cores);
        let update = Arc::clone(&change.update);
        for core in 0..self.cores {
            reactor.send(base::CoreId(core), Message::Schema(Arc::clone(&update)));
        }
    }

    /// A blob of the node has been written, or not.
    pub(crate) fn blob_written<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, tag: DiskTag, result: &Result<(), DiskError>) {
        match (tag.0, result) {
            (METADATA_TAG, result) => self.metadata_written(reactor, result),
            (CATCH_UP_TAG, result) => self.catch_up_stored(result),
            (VECTORS_TAG, result) => self.vector_part_written(reactor.now(), result),
            (SCHEMA_TAG, Ok(())) => {
                self.hold_metadata(None);
                self.publish(reactor);
            }
            (SCHEMA_TAG, Err(error)) if self.cluster.is_some() => {
                tracing::error!(%error, "the schema could not be stored; until it is, this member does not follow the cluster, and a member of several is primary of nothing");
                let due_us = reactor.now().monotonic_us + SCHEMA_AGAIN_US;
                if let Some(changes) = &mut self.changes {
                    changes.store_due_us = Some(due_us);
                }
                self.hold_metadata(Some(due_us));
            }
            (SCHEMA_TAG, Err(error)) => {
                tracing::error!(%error, "the schema could not be stored; the change is refused");
                let current = self.changes.as_mut().and_then(|changes| changes.current.take());
                if let Some(Change { request: Some(request), .. }) = current {
                    request.end(reactor, Err(SchemaFailure::NotStored(error.clone())));
                }
                self.next_change(reactor);
            }
            (tag, outcome) => {
                self.marks.in_flight -= 1;
                // The last write has the marks of all before it.
                if self.marks.in_flight == 0 && outcome.is_ok() {
                    self.shard.truncation_stored();
                }
                if let Err(error) = outcome {
                    // The rows are gone from the index already: without the mark they come back with a restart.
                    tracing::error!(%error, core = self.core.0, "a truncation could not be stored; the truncated rows may return after a restart");
                    self.marks.due_us = Some(reactor.now().monotonic_us + MARKS_AGAIN_US);
                }
                if tag == TRUNCATION_TAG {
                    reactor.send(base::CoreId(0), Message::SchemaApplied { failure: outcome.as_ref().err().cloned() });
                }
            }
        }
    }

    fn store_marks<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, tag: u64, bytes: Vec<u8>) {
        self.marks = Marks { in_flight: self.marks.in_flight + 1, due_us: None };
        reactor.submit(node_tag(tag), DiskRequest::ReplaceBlob { name: truncations_blob(self.core), bytes });
    }

    /// Stores marks again that could not be stored, once it is time. Gives that time.
    pub(crate) fn store_marks_again<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let due_us = self.marks.due_us.filter(|_| self.marks.in_flight == 0)?;
        if reactor.now().monotonic_us < due_us {
            return Some(due_us);
        }
        let bytes = self.shard.truncation_marks();
        self.store_marks(reactor, MARKS_TAG, bytes);
        None
    }

    /// On every core: the shard makes the tables of the schema, which no statement here uses yet.
    pub(crate) fn apply_shard_schema<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, schema: &Schema) {
        self.take_tables(schema);
        reactor.send(base::CoreId(0), Message::SchemaApplied { failure: None });
    }

    /// The shard makes the tables of the schema.
    pub(crate) fn take_tables(&mut self, schema: &Schema) {
        self.backup_new_tables(schema);
        let stored = |table: &Arc<Table>| {
            let compression =
                |id| if id == table.id { ddl::page_compression(&table.options) } else { ddl::entry_compression(&table.options) };
            table.stored().map(|id| (id, compression(id))).collect::<Vec<_>>()
        };
        self.shard.set_tables(schema.tables().flat_map(stored));
        self.shard.set_record_sets(schema.tables().filter(|table| table.records.is_some()).cloned());
        self.shard.set_floors(schema.tables().map(|table| (table.id, table.floors())));
        self.shard.set_observers(schema.tables().flat_map(|table| crate::protocol::cql::observations(schema, table)));
        self.shard.set_vector_indexes(schema.tables().flat_map(crate::protocol::cql::vector_indexes));
    }

    /// On every core: the schema is this now.
    pub(crate) fn apply_schema<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, update: &SchemaUpdate) {
        self.schema = Arc::clone(&update.schema);
        self.tell_board_of_schema();
        self.protocols_schema_changed();
        self.follow_roles(reactor);
        self.follow_limits(reactor);
        for table in &update.dropped {
            self.shard.drop_table(*table);
            self.parts.forget(*table);
        }
        let marks = update.truncated.iter().map(|table| self.shard.truncate(*table)).last();
        match marks {
            None => reactor.send(base::CoreId(0), Message::SchemaApplied { failure: None }),
            Some(bytes) => self.store_marks(reactor, TRUNCATION_TAG, bytes),
        }
    }

    /// On core 0: operators log in as roles of this schema.
    pub(crate) fn tell_board_of_schema(&self) {
        if let Some(board) = self.config.board.as_deref().filter(|_| self.core == base::CoreId(0)) {
            board.set_schema(&self.schema);
        }
    }

    /// On core 0: one more shard or core has applied the current change.
    pub(crate) fn schema_applied<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, failure: Option<DiskError>) {
        let Some(changes) = &mut self.changes else { return };
        let Some(change) = &mut changes.current else { return };
        change.cores_left -= 1;
        change.failure = change.failure.take().or(failure);
        if change.cores_left > 0 {
            return;
        }
        if change.stage == Stage::Shards {
            return self.publish_to_cores(reactor);
        }
        let Some(Change { request, update, warnings, failure, .. }) = changes.current.take() else { return };
        let outcome = match failure {
            None => Ok(SchemaDone { events: update.events.clone(), warnings }),
            Some(error) => Err(SchemaFailure::TruncationNotStored(error)),
        };
        for core in 0..self.cores {
            reactor.send(base::CoreId(core), Message::Announce(Arc::clone(&update)));
        }
        if let Some(request) = request {
            request.end(reactor, outcome);
        }
        self.next_change(reactor);
    }

    /// On core 0: the cluster has decided a schema that differs from this node's; applies it on all cores, one change at a time.
    pub(crate) fn follow_schema<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, schema: &Arc<Schema>) {
        let now_us = reactor.now().monotonic_us;
        let Some(changes) = &mut self.changes else { return };
        if let Some(change) = &changes.current {
            // It could not be stored; it is time to try again.
            if changes.store_due_us.is_some_and(|due_us| now_us >= due_us) {
                changes.store_due_us = None;
                let bytes = schema_blob::encode(&change.update.schema);
                reactor.submit(node_tag(SCHEMA_TAG), DiskRequest::ReplaceBlob { name: SCHEMA_BLOB.to_owned(), bytes });
            }
            return;
        }
        let schema = Arc::new(schema_diff::with_known_tables(&self.schema, schema));
        let bytes = schema_blob::encode(&schema);
        let dropped = schema_diff::dropped_tables(&self.schema, &schema);
        let events = schema_diff::differences(&self.schema, &schema);
        let update = Arc::new(SchemaUpdate { schema, dropped, truncated: Vec::new(), events });
        changes.current = Some(Change::new(None, update, Vec::new(), self.cores));
        reactor.submit(node_tag(SCHEMA_TAG), DiskRequest::ReplaceBlob { name: SCHEMA_BLOB.to_owned(), bytes });
    }

    /// On core 0: the outcome of the proposed change.
    pub(crate) fn schema_decided<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        outcome: &cluster::Outcome,
        state: &cluster::State,
    ) {
        let Some(changes) = &mut self.changes else { return };
        let Some(Proposed { request, done, version }) = changes.proposed.take() else { return };
        match outcome {
            // A proposal may be decided twice, and this node may miss the first time.
            cluster::Outcome::Refused(cluster::Refused::SchemaChanged { .. }) if state.schema.version != version => {
                changes.waiting.push_front(request)
            }
            cluster::Outcome::Refused(refused) if state.schema.version != version => {
                request.end(reactor, Err(SchemaFailure::Refused(refused.clone())))
            }
            cluster::Outcome::Unknown => request.end(reactor, Err(SchemaFailure::Undecided)),
            _ => {
                let (version, schema_version) = (state.version, state.schema.version);
                changes.decided.push(Decided { request, done, version, schema_version });
            }
        }
    }

    /// On core 0: ends changes that every member has, and starts the next one.
    pub(crate) fn settle_schema<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &self.cluster else { return };
        let Some(changes) = &mut self.changes else { return };
        let is_waiting = !changes.waiting.is_empty();
        let schema_version = self.schema.version;
        if !changes.decided.is_empty() && changes.current.is_none() {
            let is_over = |decided: &mut Decided| decided.schema_version == schema_version || cluster.view.version() >= decided.version;
            for decided in changes.decided.extract_if(.., |decided| is_over(decided) && cluster.is_everywhere(decided.version)) {
                decided.request.end(reactor, Ok(decided.done));
            }
        }
        if is_waiting && cluster.is_at_newest() {
            self.next_change(reactor);
        }
    }

    /// On the core that asked: the change is done or was refused.
    pub(crate) fn schema_changed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: RequestId, outcome: &SchemaOutcome) {
        if outcome.is_ok() && matches!(self.requests.get_mut(id), Some(Request { work: Work::Coordinated(_), .. })) {
            // It waits for what it has had declared.
            return self.continuations.push_back(id);
        }
        let Some(mut request) = self.requests.remove(id) else { return };
        if let Work::Restart(body) = &request.work {
            return request.reply.start_again(self, reactor, request.connection, body, outcome);
        }
        let mut reply = Vec::new();
        request.reply.write_schema_outcome(outcome, &mut reply);
        complete_reply(&mut request, reactor, &mut reply, 0);
        self.deliver(reactor, request.connection, &reply);
    }
}

/// Version 4, variant 1.
fn random_uuid<R: Reactor<Message = Message>>(reactor: &mut R) -> u128 {
    let mut uuid = [0; 16];
    reactor.entropy(&mut uuid);
    uuid[6] = (uuid[6] & 0x0F) | 0x40;
    uuid[8] = (uuid[8] & 0x3F) | 0x80;
    u128::from_be_bytes(uuid)
}

impl SchemaRequest {
    fn end<R: Reactor<Message = Message>>(self, reactor: &mut R, outcome: SchemaOutcome) {
        reactor.send(self.origin, Message::SchemaChanged { request: self.request, outcome: Box::new(outcome) });
    }
}
