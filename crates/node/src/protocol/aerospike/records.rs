//! Requests about records: from a decoded message to work on shards.
//!
//! A record of this core is read and written at once. A request that is the first to write a bin waits until the bin is declared
//! ([`crate::requests::Work::Restart`]) and is then started again.
//!
//! In a cluster a request about a record goes to the primary of its slot, as parts of batches and scans do.

use super::answer::Answer;
use super::audited;
use super::client::Client;
use super::declarations::Declaration;
use super::failures::{failure, schema_failure};
use super::travel;
use crate::cluster::{Asker, NOBODY, PATIENCE_US, Place, Route};
use crate::coordination::{Started, Ticket};
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::{AnyCoordinator, Reply};
use crate::request_figures::{Class, RequestKind};
use crate::requests::{REQUEST_BYTES, Request, Work as Waiting};
use crate::schema_changes::{SchemaAction, SchemaOutcome, SchemaRequest};
use crate::slow::{Subject, Waited};
use crate::table_figures::TableUse;
use aerospike::ResultCode;
use aerospike::exec::{self, Need, Options, RecordCoordinator, Shape, Work};
use aerospike::index::IndexChange;
use aerospike::info::{NodeView, Truncation};
use aerospike::jobs::Abort;
use aerospike::session::{Progress, Server};
use aerospike::udf::ModuleChange;
use aerospike::wire::{self, info2};
use base::{BufferPool, CoreId, Slot, TableId};
use cql::permissions::Rights;
use cql::wire::Consistency;
use io::{ConnectionId, Reactor};
use model::{Permission, Table};
use shard::{Access, Outcome, Refusal, ShardError};
use std::sync::Arc;

/// The size that a record may have.
const RECORD_BYTES_MAX: u32 = 1 << 20;

/// What a request is answered that another member has sent on, and that needs what this one has not heard of yet: to ask again.
const UNDECLARED: ShardError = ShardError::NotPrimary;

/// Serves one connection's requests while its bytes are being received.
pub(crate) struct Records<'a, R> {
    pub(crate) core: &'a mut Core,
    pub(crate) reactor: &'a mut R,
    pub(crate) connection: ConnectionId,
    /// Who has sent the request on, if it is not the connection's own.
    pub(crate) asker: Option<Asker>,
    /// The connection's client, unless the request comes from elsewhere, or is started again: either was checked before.
    pub(super) client: Option<&'a mut Client>,
    /// What its role may do who has sent a request that is started again; none if everything.
    pub(super) rights: Option<Arc<Rights>>,
}

/// Whether sets and bins that a request needs have been declared for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    No,
    Yes,
}

impl<R: Reactor<Message = Message>> Server for Records<'_, R> {
    fn is_let_in(&self) -> bool {
        !self.core.config.requires_login || self.client.as_deref().is_some_and(|client| client.role.is_some())
    }

    fn security(&mut self, body: &[u8], out: &mut Vec<u8>) -> Progress {
        self.serve_security(body, out)
    }

    fn view(&self) -> NodeView<'_> {
        self.core.aerospike_view(self.reactor.now())
    }

    fn truncate(&mut self, truncation: &Truncation<'_>, value: &mut Vec<u8>) -> Progress {
        match self.core.audit {
            None => self.truncate_checked(truncation, value),
            Some(_) => self.truncate_audited(truncation, value),
        }
    }

    fn change_index(&mut self, change: &IndexChange, value: &mut Vec<u8>) -> Progress {
        match self.core.audit {
            None => self.change_index_checked(change, value),
            Some(_) => self.change_index_audited(change, value),
        }
    }

    fn change_module(&mut self, change: &ModuleChange, value: &mut Vec<u8>) -> Progress {
        match self.core.audit {
            None => self.change_module_checked(change, value),
            Some(_) => self.change_module_audited(change, value),
        }
    }

    fn abort_jobs(&mut self, abort: Abort, value: &mut Vec<u8>) {
        self.abort_jobs_checked(abort, value);
    }

    fn buffers(&mut self) -> &mut BufferPool {
        &mut self.core.buffers
    }

    #[inline]
    fn message(&mut self, message: &wire::Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Progress {
        let start = out.len();
        let progress = match self.core.audit {
            None => self.start_checked(message, body, out),
            Some(_) => self.start_audited(message, body, out),
        };
        if progress == Progress::Replied {
            self.core.requests.meter.answered_at_once_with(audited::error_of(&out[start..]));
        }
        progress
    }
}

impl<R: Reactor<Message = Message>> Records<'_, R> {
    /// Starts a request of the connection's client, if that may make it.
    #[inline]
    pub(super) fn start_checked(&mut self, message: &wire::Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Progress {
        let admitted = self.check(message).and_then(|()| self.admit(message));
        match admitted {
            Ok(()) => self.start(message, body, Declared::No, out),
            Err(code) => {
                self.core.requests.meter.start(Class::AEROSPIKE);
                Shape::of(message).write(out, code);
                Progress::Replied
            }
        }
    }

    /// Counts a request of a client whose role has limits.
    #[inline]
    fn admit(&mut self, message: &wire::Message<'_>) -> Result<(), ResultCode> {
        let is_write = message.attributes.info2 & (info2::WRITE | info2::DELETE) != 0;
        self.core.admit(RequestKind::of(is_write)).map_err(|_| ResultCode::QUOTA_EXCEEDED)
    }

    pub(super) fn truncate_checked(&mut self, truncation: &Truncation<'_>, value: &mut Vec<u8>) -> Progress {
        match self.check_truncation(truncation) {
            Ok(()) => self.start_truncation(truncation, value),
            Err(code) => {
                value.extend_from_slice(format!("ERROR:{}:role violation", code.0).as_bytes());
                Progress::Replied
            }
        }
    }

    fn start_truncation(&mut self, truncation: &Truncation<'_>, value: &mut Vec<u8>) -> Progress {
        let tables = match self.tables(truncation) {
            Ok(tables) => tables,
            Err(refusal) => {
                value.extend_from_slice(refusal.as_bytes());
                return Progress::Replied;
            }
        };
        if tables.is_empty() {
            value.extend_from_slice(b"ok");
            return Progress::Replied;
        }
        let core = &mut *self.core;
        let request = core.requests.insert(Request::single(self.connection, Reply::Aerospike(Answer::Info), REQUEST_BYTES));
        let request = SchemaRequest { origin: core.core, request, action: SchemaAction::Truncate(tables) };
        self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        Progress::Waiting
    }

    pub(super) fn start(&mut self, message: &wire::Message<'_>, body: &[u8], declared: Declared, out: &mut Vec<u8>) -> Progress {
        self.core.requests.meter.start(Class::AEROSPIKE);
        let start = out.len();
        let shape = Shape::of(message);
        self.run(message, body, shape, declared, out).unwrap_or_else(|code| {
            out.truncate(start);
            shape.write(out, code);
            Progress::Replied
        })
    }

    /// The tables that are to be emptied.
    fn tables(&self, truncation: &Truncation<'_>) -> Result<Vec<TableId>, &'static str> {
        let Truncation { namespace, set } = *truncation;
        if !self.core.config.aerospike.namespaces.iter().any(|known| known.name == namespace) {
            return Err("ERROR:20:no such namespace");
        }
        let schema = &self.core.schema;
        if let Some(set) = set {
            let table = schema.record_set(namespace, set).map_err(|_| "ERROR:4:no such set")?;
            return Ok(table.map(|table| table.id).into_iter().collect());
        }
        let tables = schema.keyspaces.get(namespace).into_iter().flat_map(|keyspace| keyspace.tables.values());
        Ok(tables.filter(|table| table.records.is_some()).map(|table| table.id).collect())
    }

    #[inline]
    fn run(
        &mut self,
        message: &wire::Message<'_>,
        body: &[u8],
        shape: Shape,
        declared: Declared,
        out: &mut Vec<u8>,
    ) -> Result<Progress, ResultCode> {
        let context = self.core.context(self.reactor);
        let rights = self.restriction();
        let core = &mut *self.core;
        let cluster = core.cluster.as_deref();
        let is_primary = |namespace: &str, slot| cluster.is_some_and(|cluster| cluster.is_primary_in(namespace, Slot(slot)));
        let mut options = core.record_options();
        options.is_primary = cluster.is_some().then_some(&is_primary);
        let may_read = |table: &Table| rights.as_ref().is_none_or(|rights| rights.of_table(table).contains(Permission::Select));
        options.may_read = rights.is_some().then_some(&may_read);
        options.is_forwarded = self.asker.is_some();
        let bytes = REQUEST_BYTES + body.len();
        let (asker, connection) = (self.asker, self.connection);
        let waits = || Request { asker, ..Request::single(connection, Reply::Aerospike(Answer::Message(shape)), bytes) };
        match exec::start(&core.schema, message, body, &options)? {
            Work::Record(record) => {
                let (table, token, reads_any) = (record.table(), record.token(), record.reads_any_replica());
                let reads_here = reads_any && cluster.is_some_and(|cluster| cluster.may_read_here(table, token));
                let access = if reads_here { Access::AnyReplica } else { Access::Primary };
                let route = || {
                    let route = Route { reads_any, is_write: record.is_write(), ..route(body, message) };
                    (route, vec![Place { table, token, description: None }])
                };
                // What has come from elsewhere goes back there.
                let is_routed = cluster.is_some() && asker.is_none();
                core.requests.meter.set_kind(RequestKind::of(record.is_write()));
                core.requests.meter.set_table_use(TableUse::of(table, record.is_write()));
                let owner = token.slot().core(core.cores);
                if owner == core.core {
                    // The hot path: this core owns the record.
                    let start = out.len();
                    match core.shard.run_with(&context, access, &record, out) {
                        Outcome::Done => return Ok(Progress::Replied),
                        // Another member may.
                        Outcome::Failed(ShardError::NotPrimary) if core.cluster.is_some() => {}
                        Outcome::Failed(error) => return Err(failure(&error)),
                        outcome => {
                            let is_parked = !matches!(outcome, Outcome::Unsynced(_));
                            let request = Request { route: (is_parked && is_routed).then(route), ..waits() };
                            core.requests.watch.will_wait(Waited::of(&outcome), || Subject::Table(table));
                            let part = PartId { request: core.requests.insert(request), part: PartId::WHOLE };
                            let ticket = Ticket { origin: core.core, part }.into();
                            match outcome {
                                Outcome::Unsynced(sequence) => core.shard.hold(ticket, sequence, out.split_off(start)),
                                _ => core.shard.park(ticket, record.to_operation()),
                            }
                            return Ok(Progress::Waiting);
                        }
                    }
                }
                let (request, operation) = (Request { route: is_routed.then(route), ..waits() }, record.to_operation());
                check_waiting(core)?;
                core.requests.watch.will_wait(Waited::Owner, || Subject::Table(table));
                let part = PartId { request: core.requests.insert(request), part: PartId::WHOLE };
                // What is refused here is routed then, and answered when this connection's bytes have been served.
                self.reactor.send(owner, Message::Run { part, access, operation });
                Ok(Progress::Waiting)
            }
            Work::Coordinate(_) if asker.is_some() => Err(ResultCode::PARAMETER),
            Work::Coordinate(coordinator) => self.coordinate(message, body, shape, coordinator, out),
            Work::Background(_) if asker.is_some() => Err(ResultCode::PARAMETER),
            Work::Background(coordinator) => self.start_background(message, body, shape, coordinator, out),
            // What was declared for a request is never taken away.
            Work::Declare(_) if declared == Declared::Yes => Err(ResultCode::SERVER_ERROR),
            Work::Declare(needs) => self.declare(needs, body, waits()),
        }
    }

    /// Starts what takes parts on several cores or members: a batch or a scan.
    fn coordinate(
        &mut self,
        message: &wire::Message<'_>,
        body: &[u8],
        shape: Shape,
        coordinator: Box<dyn RecordCoordinator>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, ResultCode> {
        let core = &mut *self.core;
        check_waiting(core)?;
        core.requests.meter.set_kind(RequestKind::of(coordinator.writes()));
        let route = core.cluster.is_some().then(|| {
            // Parts of batches say all of themselves, and one record is a batch here.
            let is_batch = message.fields.batch.is_some() || shape == Shape::One;
            let body = if is_batch { &[] } else { body };
            Route { is_write: coordinator.writes(), ..route(body, message) }
        });
        core.requests.watch.will_wait(Waited::Parts, || Subject::Unknown);
        let coordinator = AnyCoordinator::Aerospike(coordinator);
        Ok(
            match core.coordinate(
                self.reactor,
                self.connection,
                Reply::Aerospike(Answer::Message(shape)),
                coordinator,
                route,
                REQUEST_BYTES + body.len(),
                out,
            ) {
                Started::Replied => Progress::Replied,
                Started::Waiting => Progress::Waiting,
            },
        )
    }

    /// Has declared what a request is the first to write; it is started again then.
    fn declare(&mut self, needs: Vec<Need>, body: &[u8], request: Request) -> Result<Progress, ResultCode> {
        let is_restricted = self.restriction().is_some();
        let core = &mut *self.core;
        if let Some(asker) = self.asker {
            core.answer_asker(self.reactor, asker, Err(UNDECLARED));
            return Ok(Progress::Waiting);
        }
        check_waiting(core)?;
        let role = self.client.as_deref().filter(|_| is_restricted).and_then(|client| client.role.as_deref());
        let body = travel::with_role(role.unwrap_or_default(), body);
        let request = core.requests.insert(Request { work: Waiting::Restart(body), ..request });
        let request = SchemaRequest { origin: core.core, request, action: SchemaAction::Change(Box::new(Declaration(needs))) };
        self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        Ok(Progress::Waiting)
    }

    /// Serves what another core or member has sent on: a request about one record, or a part of one about many.
    ///
    /// # Errors
    /// Why it was not run.
    fn run_forwarded(&mut self, body: &[u8], part: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Progress, ShardError> {
        let message = if body.is_empty() { None } else { Some(wire::Message::decode(body).map_err(|_| ShardError::Malformed)?) };
        let core = &mut *self.core;
        let Some(description) = part else {
            let message = message.ok_or(ShardError::Malformed)?;
            return Ok(self.start(&message, body, Declared::No, out));
        };
        let made = exec::part(&core.schema, message.as_ref(), description, &core.record_options());
        let refused = |code: ResultCode| ShardError::Elsewhere { refusal: Refusal::Other, message: code.to_string() };
        let operation = made.map_err(refused)?.ok_or(UNDECLARED)?;
        let request = Request::single(self.connection, Reply::Aerospike(Answer::Message(Shape::Many)), REQUEST_BYTES + description.len());
        let part = PartId { request: core.requests.insert(Request { asker: self.asker, ..request }), part: PartId::WHOLE };
        core.run_part(self.reactor, core.core, part, Access::Primary, operation);
        Ok(Progress::Waiting)
    }
}

/// How a request is run elsewhere: a linearizable read, until more is known.
pub(super) fn route(body: &[u8], message: &wire::Message<'_>) -> Route {
    // What a client has given up must not be done long after.
    let patience_us = match u64::from(message.number) {
        0 => PATIENCE_US,
        timeout_ms => (timeout_ms * 1_000).min(PATIENCE_US),
    };
    Route { request: Some(travel::pack(body).into()), consistency: Consistency::One, reads_any: false, is_write: false, patience_us }
}

/// Refuses what would have to wait.
pub(super) fn check_waiting(core: &Core) -> Result<(), ResultCode> {
    if core.is_full() { Err(ResultCode::DEVICE_OVERLOAD) } else { Ok(()) }
}

impl Core {
    /// What requests go by here.
    pub(super) fn record_options(&self) -> Options<'_> {
        let namespaces = &self.config.aerospike.namespaces;
        Options {
            namespaces,
            cores: self.pieces(),
            record_bytes_max: RECORD_BYTES_MAX,
            is_primary: None,
            jobs: Some(&self.config.aerospike.jobs),
            may_read: None,
            is_forwarded: false,
        }
    }

    /// Runs a request, or a part of it, for another core or member.
    pub(crate) fn run_forwarded_records<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        asker: Asker,
        body: &[u8],
        part: Option<&[u8]>,
    ) {
        let mut reply = Vec::new();
        let mut records = Records { core: self, reactor, connection: NOBODY, asker: Some(asker), client: None, rights: None };
        match records.run_forwarded(body, part, &mut reply) {
            Ok(Progress::Replied) => self.answer_asker(reactor, asker, Ok(reply)),
            Ok(Progress::Waiting) => {}
            Err(error) => self.answer_asker(reactor, asker, Err(error)),
        }
    }

    /// Starts a request again for which bins were declared, or tells why they were not.
    pub(crate) fn start_record_again<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        connection: ConnectionId,
        body: &[u8],
        outcome: &SchemaOutcome,
    ) {
        let Some((role, body)) = travel::split_role(body) else { return };
        let Ok(message) = wire::Message::decode(body) else { return };
        let rights = (!role.is_empty()).then(|| self.rights_of(&Arc::from(role)));
        let mut out = Vec::new();
        let progress = match outcome {
            Ok(_) => {
                let mut records = Records { core: self, reactor, connection, asker: None, client: None, rights };
                records.start(&message, body, Declared::Yes, &mut out)
            }
            Err(failure) => {
                Shape::of(&message).write(&mut out, schema_failure(failure));
                Progress::Replied
            }
        };
        match progress {
            Progress::Replied => self.deliver(reactor, connection, &out),
            Progress::Waiting => self.deliver_piece(reactor, connection, &out),
        }
    }
}
