//! QUERY, PREPARE, EXECUTE and BATCH: from a decoded request to work on shards.

use super::failures::{failure, login_failure, login_tag, over_limit};
use super::prepared::weight;
use super::replicas::{access, asked, is_write};
use super::reply_header::ReplyHeader;
use super::rights;
use super::schema::SchemaStatement;
use super::travel;
use crate::cluster::{Asker, Route};
use crate::coordination::{Started, Ticket};
use crate::core::Core;
use crate::logins::{self, HashedChange};
use crate::message::{Message, PartId};
use crate::protocol::{AnyCoordinator, Reply};
use crate::request_figures::{Class, RequestKind};
use crate::requests::{REQUEST_BYTES, Request};
use crate::schema_changes::{SchemaAction, SchemaRequest};
use crate::slow::{Subject, Waited};
use crate::tracing::waiting_for;
use base::CoreId;
use cql::exec::{BatchCoordinator, Bindings, Execution, Options, Work, start};
use cql::language::has_more_tokens;
use cql::listings::{self, Listing};
use cql::plan::{self, Prepared, Statement};
use cql::reply::ResultColumn;
use cql::roles::Proof;
use cql::session::{Client, Credentials, Server};
use cql::wire::{self, Opcode, QueryParameters, ResultColumns, StreamId};
use cql::{ConnectedClient, CqlError, reply, roles, system};
use io::{ConnectionId, Reactor};
use model::operation::Context;
use shard::{Outcome, ShardError};
use std::net::SocketAddr;
use std::sync::Arc;

/// Serves one connection's statements while its bytes are being received.
pub(crate) struct Statements<'a, R> {
    pub(crate) core: &'a mut Core,
    pub(crate) reactor: &'a mut R,
    pub(crate) connection: ConnectionId,
    /// Who has sent the statement on, if it is not the connection's own.
    pub(crate) asker: Option<Asker>,
}

/// What a plan takes for each token of its text while it is made, at worst: a list of numbers.
const PLAN_BYTES_PER_TOKEN: usize = 64;

/// What became of a statement.
pub(super) enum Progress {
    Replied,
    Waiting,
}

impl<R: Reactor<Message = Message>> Server for Statements<'_, R> {
    fn supported(&self) -> Vec<(String, Vec<String>)> {
        self.core.supported()
    }

    fn admit(&self) -> Result<(), CqlError> {
        if self.core.send_away_until_us.is_some() {
            return Err(CqlError::Leaving);
        }
        // A driver would take a node without a cluster for the whole of it.
        let is_serving = self.core.cluster.as_ref().is_none_or(|cluster| cluster.view.is_current);
        if is_serving { Ok(()) } else { Err(CqlError::Bootstrapping) }
    }

    fn connected(&mut self, client: &Arc<ConnectedClient>) {
        if let Some(board) = &self.core.config.board {
            board.add_client(client);
        }
    }

    fn certified(&mut self, client: &Client) -> Result<Option<Arc<str>>, CqlError> {
        let outcome = self.core.certified(&client.certificate, client.address.ip());
        self.note_certified(client.address, &client.certificate, &outcome);
        outcome.map_err(|refusal| login_failure(&refusal))
    }

    fn authenticator(&self) -> Option<&'static str> {
        self.core.config.requires_login.then_some(roles::AUTHENTICATOR)
    }

    fn authenticate(&mut self, stream: StreamId, address: SocketAddr, credentials: Credentials<'_>) -> Result<(), CqlError> {
        let client = ((self.connection, login_tag(stream)), address.ip());
        let credentials = logins::Credentials { role: credentials.role, password: credentials.password, proof: Proof::Password };
        let outcome = self.core.check_credentials(self.reactor, client, credentials).map_err(|refusal| login_failure(&refusal));
        if let (Err(error), Some(_)) = (&outcome, &self.core.audit) {
            self.audit_refused_login(address, credentials.role, error);
        }
        outcome
    }

    fn statement(&mut self, client: &mut Client, stream: StreamId, request: wire::Request<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        self.core.requests.meter.start(Class::CQL);
        let progress = match self.core.audit {
            None => self.serve(client, stream, &request, out),
            Some(_) => self.serve_audited(client, stream, &request, out),
        };
        match progress {
            Ok(Progress::Replied) => self.core.requests.meter.answered_at_once(),
            Ok(Progress::Waiting) => client.in_flight += 1,
            Err(error) => {
                self.core.requests.meter.failed_at_once();
                out.truncate(start);
                ReplyHeader::new(client.version, stream).write_error(&error, out);
            }
        }
    }

    fn traced_statement(&mut self, client: &mut Client, stream: StreamId, request: wire::Request<'_>, out: &mut Vec<u8>) {
        self.serve_traced(client, stream, request, out);
    }
}

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Serves a request of a client's connection.
    #[inline]
    pub(super) fn serve(
        &mut self,
        client: &mut Client,
        stream: StreamId,
        request: &wire::Request<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let header = ReplyHeader::new(client.version, stream);
        match request {
            _ if self.core.send_away_until_us.is_some() => Err(CqlError::Leaving),
            wire::Request::Execute(execute) => self.execute(client, header, execute, out),
            wire::Request::Query(query) => self.query(client, header, query, out),
            wire::Request::Prepare(prepare) => self.prepare(client, header, prepare, out),
            wire::Request::Batch(batch) => self.batch(client, header, batch, out),
            other => Err(CqlError::Protocol(format!("Unexpected message {}", other.opcode().name()))),
        }
    }

    pub(super) fn options(&self, header: ReplyHeader, parameters: &QueryParameters<'_>, context: &Context) -> Options {
        Options {
            started: context.now,
            nonce: context.nonce,
            version: header.version,
            stream: header.stream,
            consistency: parameters.consistency,
            page_size: parameters.page_size,
            timestamp: parameters.common.timestamp,
            skip_metadata: parameters.result_columns == ResultColumns::Skipped,
            now_s: parameters.common.now_in_seconds.map(|seconds| seconds.max(0).unsigned_abs()),
            cores: self.core.pieces(),
            result_bytes_max: self.core.config.result_bytes_max(),
        }
    }

    #[inline]
    pub(super) fn execute(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        execute: &wire::Execute<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let context = self.core.context(self.reactor);
        let options = self.options(header, &execute.parameters, &context);
        let core = &mut *self.core;
        let Some(prepared) = core.protocols.cql.statements.get(execute.id, &core.schema) else {
            let mut id = [0; 16];
            let length = execute.id.len().min(16);
            id[..length].copy_from_slice(&execute.id[..length]);
            return Err(CqlError::Unprepared(id));
        };
        core.requests.meter.set_kind(kind_of(&prepared.statement));
        if client.role.is_some() {
            core.protocols.cql.rights.check(core.config.checks_permissions, &core.schema, client, prepared)?;
            if core.limits.is_limited() && !is_virtual(prepared) {
                let now_us = core.requests.meter.now_us();
                core.limits.admit(kind_of(&prepared.statement), core.cores, now_us).map_err(|over| over_limit(&over))?;
            }
        }
        let prepared = rights::seen(core.config.checks_permissions, client, prepared);
        let bindings = Bindings::new(&prepared.markers, &execute.parameters.values)?;
        let execution = Execution { prepared, bindings, options, paging_state: execute.parameters.paging_state };
        let mut parked = None;
        if let Work::Partition(token) = start(&execution, &context)?
            && !is_virtual(prepared)
            && token.slot().core(core.cores) == core.core
        {
            // The hot path: this core owns the partition.
            let start = out.len();
            let access = access(core.cluster.as_deref(), prepared, token, options.consistency)?;
            match core.shard.run_with(&context, access, &execution, out) {
                Outcome::Done => {
                    core.requests.watch.answered_at_once(self.connection, &prepared.id);
                    return Ok(Progress::Replied);
                }
                // Another member may.
                Outcome::Failed(ShardError::NotPrimary) => {}
                Outcome::Failed(error) => {
                    return Err(failure(&error, asked(core.cluster.as_deref(), &prepared.statement, options.consistency)));
                }
                waits => {
                    if let Some(traced) = &core.requests.traced {
                        traced.note(self.reactor.clock_us(), format!("Core {} {}", core.core.0, waiting_for(&waits)));
                    }
                    let header = header.asking(asked(core.cluster.as_deref(), &prepared.statement, options.consistency));
                    let bytes = REQUEST_BYTES + execution.bindings.bytes() + out.len() - start;
                    let request = Request { asker: self.asker, ..Request::single(self.connection, Reply::Cql(header), bytes) };
                    core.requests.watch.will_wait(Waited::of(&waits), || Subject::Prepared(prepared.id));
                    let part = PartId { request: core.requests.insert(request), part: PartId::WHOLE };
                    let ticket = Ticket { origin: core.core, part }.into();
                    if let Outcome::Unsynced(sequence) = waits {
                        core.shard.hold(ticket, sequence, out.split_off(start));
                        return Ok(Progress::Waiting);
                    }
                    core.shard.park(ticket, execution.to_operation());
                    if core.cluster.is_none() {
                        return Ok(Progress::Waiting);
                    }
                    parked = Some((part.request, token));
                }
            }
        }
        let prepared = Arc::clone(prepared);
        let bindings = Bindings::new(&prepared.markers, &execute.parameters.values)?;
        let execution = Execution { prepared: &prepared, bindings, options, paging_state: execute.parameters.paging_state };
        if let Some((request, token)) = parked {
            // It may have to run elsewhere when its turn comes.
            let route = self.route_single(client, header, &wire::Request::Execute(*execute), &execution, token);
            if let Some(request) = self.core.requests.get_mut(request) {
                request.route = route;
            }
            return Ok(Progress::Waiting);
        }
        self.run(client, header, &wire::Request::Execute(*execute), &execution, 0, &context, out)
    }

    pub(super) fn query(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        query: &wire::Query<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let keyspace = query.parameters.common.keyspace.or(client.keyspace.as_deref());
        let prepared = Arc::new(self.plan(keyspace, query.text)?);
        self.check_rights(client, &prepared)?;
        if !is_virtual(&prepared) {
            self.core.admit(kind_of(&prepared.statement)).map_err(|over| over_limit(&over))?;
        }
        let prepared = self.seen_by(client, prepared);
        let bindings = Bindings::new(&prepared.markers, &query.parameters.values)?;
        let context = self.core.context(self.reactor);
        let options = self.options(header, &query.parameters, &context);
        let execution = Execution { prepared: &prepared, bindings, options, paging_state: query.parameters.paging_state };
        self.run(client, header, &wire::Request::Query(*query), &execution, weight(&prepared), &context, out)
    }

    /// Runs any statement. Its plan takes `plan_bytes`, if it is kept for this request alone.
    #[allow(clippy::too_many_arguments, reason = "a statement, its request and its reply")]
    fn run(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        request: &wire::Request<'_>,
        execution: &Execution<'_>,
        plan_bytes: usize,
        context: &Context,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        self.core.requests.meter.set_kind(kind_of(&execution.prepared.statement));
        if is_virtual(execution.prepared) {
            self.core.read_system_table(execution, context, out)?;
            return Ok(Progress::Replied);
        }
        let header = header.asking(asked(self.core.cluster.as_deref(), &execution.prepared.statement, execution.options.consistency));
        let subject = || Subject::Plan(Arc::clone(execution.prepared));
        match start(execution, context)? {
            Work::Partition(token) => {
                self.check_waiting()?;
                let owner = token.slot().core(self.core.cores);
                self.trace(|| format!("The partition with token {} belongs to core {}", token.0, owner.0));
                let access = access(self.core.cluster.as_deref(), execution.prepared, token, execution.options.consistency)?;
                let bytes = REQUEST_BYTES + execution.bindings.bytes() + plan_bytes;
                let route = self.route_single(client, header, request, execution, token);
                let tells_tablet = client.wants_tablets && self.is_misplaced(request, execution.prepared, token);
                let single = Request::single(self.connection, Reply::Cql(header), bytes);
                let request = Request { asker: self.asker, route, tells_tablet, ..single };
                self.core.requests.watch.will_wait(Waited::Owner, subject);
                let part = PartId { request: self.core.requests.insert(request), part: PartId::WHOLE };
                // A part of this core is answered like any other: by `deliver`, once this connection's bytes are served.
                self.reactor.send(owner, Message::Run { part, access, operation: execution.to_operation() });
                Ok(Progress::Waiting)
            }
            Work::Coordinate(coordinator) => {
                self.trace(|| format!("Core {} coordinates a read of partitions or ranges", self.core.core.0));
                self.check_waiting()?;
                let bytes = REQUEST_BYTES + execution.bindings.bytes() + plan_bytes;
                let prepared = execution.prepared;
                let route = self.route(client, header, request, &[prepared], execution.options.consistency, is_write(prepared));
                self.core.requests.watch.will_wait(Waited::Parts, subject);
                Ok(self.coordinate(header, AnyCoordinator::Cql(coordinator), route, bytes, out))
            }
            Work::Batch(mut coordinator) => {
                self.trace(|| format!("Core {} coordinates writes", self.core.core.0));
                self.check_waiting()?;
                if matches!(execution.prepared.statement, Statement::Batch(_)) {
                    coordinator.limit(&self.core.config.live.batch_limits())?;
                }
                let bytes = REQUEST_BYTES + execution.bindings.bytes() + plan_bytes;
                let (prepared, consistency) = ([execution.prepared], execution.options.consistency);
                let route = self.route(client, header, request, &prepared, consistency, true);
                let pack = || travel::pack(header, client.keyspace.as_deref(), request, &prepared);
                let log_bytes = self.log(&mut coordinator, route.as_ref(), pack, context)?;
                self.core.requests.watch.will_wait(Waited::Parts, subject);
                Ok(self.coordinate(header, AnyCoordinator::Cql(coordinator), route, bytes + log_bytes, out))
            }
            Work::Other => self.run_other(client, header, execution.prepared, out),
        }
    }

    /// Has a batch logged that has to be. Gives the memory that this takes.
    pub(super) fn log(
        &self,
        coordinator: &mut BatchCoordinator,
        route: Option<&Route>,
        pack: impl FnOnce() -> Option<Box<[u8]>>,
        context: &Context,
    ) -> Result<usize, CqlError> {
        if !coordinator.needs_log() {
            return Ok(0);
        }
        let request = route.and_then(|route| route.request.clone()).or_else(|| pack().map(Arc::from));
        let Some(request) = request else { return Err(CqlError::Server("the batch cannot be written to its log".to_owned())) };
        let bytes_max = self.core.shard.engine().batch_bytes_max() / 2;
        if request.len() > bytes_max {
            let message = format!("Batch too large: one over several partitions may have {bytes_max} bytes, unless it is UNLOGGED");
            return Err(CqlError::Invalid(message));
        }
        let bytes = request.len();
        coordinator.log(request, context);
        Ok(bytes)
    }

    /// Statements that are not about rows.
    fn run_other(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        prepared: &Arc<Prepared>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let action = match &prepared.statement {
            Statement::Use(keyspace) => {
                reply::write_frame(out, header.version, header.stream, Opcode::Result, |body| wire::write_set_keyspace(body, keyspace));
                client.use_keyspace(keyspace);
                return Ok(Progress::Replied);
            }
            Statement::Describe(statement) => {
                let view = self.core.view();
                let description = cql::describe::describe(statement, client.keyspace.as_deref(), &view)
                    .map_err(|error| CqlError::Invalid(error.to_string()))?;
                let columns: Vec<ResultColumn> =
                    description.columns.into_iter().map(|(name, data_type)| ResultColumn { name: name.to_owned(), data_type }).collect();
                let rows: Vec<Vec<Option<Vec<u8>>>> = description.rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect();
                reply::write_rows(out, header.version, header.stream, "system", "describe", &columns, &rows);
                return Ok(Progress::Replied);
            }
            Statement::Truncate(table) => SchemaAction::Truncate(vec![table.id]),
            Statement::Schema(statement) => {
                let (keyspace, role) = (prepared.keyspace.clone(), client.role.clone());
                if let Some(role) = &role {
                    let checks_permissions = self.core.config.checks_permissions;
                    let asker = listings::Asker { role, keyspace: client.keyspace.as_deref(), checks_permissions };
                    if let Some(listing) = listings::list(statement, &self.core.schema, &asker) {
                        let Listing { table, columns, rows } = listing?;
                        if rows.is_empty() {
                            reply::write_void(out, header.version, header.stream);
                        } else {
                            reply::write_rows(out, header.version, header.stream, listings::KEYSPACE, table, &columns, &rows);
                        }
                        return Ok(Progress::Replied);
                    }
                    if let Some(password) = roles::password_of(statement)? {
                        self.check_waiting()?;
                        let request = Request::single(self.connection, Reply::Cql(header), REQUEST_BYTES);
                        let mut change = SchemaStatement { keyspace, role: Some(Arc::clone(role)), statement: statement.clone() };
                        let change: HashedChange = Box::new(move |hashes| {
                            hashes.into_iter().for_each(|hashes| roles::set_hash(&mut change.statement, hashes));
                            change.into_action()
                        });
                        let hashing = self.core.hash_password(self.reactor, request, password.to_owned(), change);
                        hashing.map_err(|refusal| login_failure(&refusal))?;
                        return Ok(Progress::Waiting);
                    }
                }
                SchemaStatement { keyspace, role, statement: statement.clone() }.into_action()
            }
            Statement::Select(_) | Statement::Modify(_) | Statement::Batch(_) => {
                return Err(CqlError::Server("a statement about rows was not given to a shard".to_owned()));
            }
        };
        self.check_waiting()?;
        self.core.requests.watch.will_wait(Waited::Other, || Subject::Plan(Arc::clone(prepared)));
        let request = self.core.requests.insert(Request::single(self.connection, Reply::Cql(header), REQUEST_BYTES));
        let request = SchemaRequest { origin: self.core.core, request, action };
        self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        Ok(Progress::Waiting)
    }

    fn prepare(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        prepare: &wire::Prepare<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        self.core.admit(RequestKind::Other).map_err(|over| over_limit(&over))?;
        let keyspace = prepare.keyspace.or(client.keyspace.as_deref());
        let prepared = Arc::new(self.plan(keyspace, prepare.text)?);
        self.core.protocols.cql.statements.insert(Arc::clone(&prepared))?;
        reply::write_prepared(out, header.version, header.stream, &prepared);
        Ok(Progress::Replied)
    }

    pub(super) fn coordinate(
        &mut self,
        header: ReplyHeader,
        coordinator: AnyCoordinator,
        route: Option<Route>,
        bytes: usize,
        out: &mut Vec<u8>,
    ) -> Progress {
        match self.core.coordinate(self.reactor, self.connection, Reply::Cql(header), coordinator, route, bytes, out) {
            Started::Replied => Progress::Replied,
            Started::Waiting => Progress::Waiting,
        }
    }

    /// Plans a text, if its plan takes no more memory than requests may have.
    pub(super) fn plan(&self, keyspace: Option<&str>, text: &str) -> Result<Prepared, CqlError> {
        let tokens_max = self.core.config.requests_bytes_max / PLAN_BYTES_PER_TOKEN;
        if has_more_tokens(text, tokens_max) {
            let message = format!("the statement is too long: this node's memory allows {tokens_max} words, values and symbols in one");
            return Err(CqlError::Invalid(message));
        }
        let prepared = plan::prepare(&self.core.schema, keyspace, text)?;
        self.trace(|| "Planned against the schema".to_owned());
        Ok(prepared)
    }

    /// Refuses what would have to wait.
    pub(super) fn check_waiting(&self) -> Result<(), CqlError> {
        if self.core.is_full() {
            return Err(CqlError::Overloaded("too many requests wait on this core already; try again later".to_owned()));
        }
        Ok(())
    }
}

/// Whether a statement is about tables that have no shard.
fn is_virtual(prepared: &Prepared) -> bool {
    prepared.table.as_ref().is_some_and(|(keyspace, _)| system::is_system_keyspace(keyspace))
}

/// What a statement counts as in figures.
#[inline]
fn kind_of(statement: &Statement) -> RequestKind {
    match statement {
        Statement::Select(_) => RequestKind::Read,
        Statement::Modify(_) | Statement::Batch(_) => RequestKind::Write,
        Statement::Truncate(_) | Statement::Use(_) | Statement::Schema(_) | Statement::Describe(_) => RequestKind::Other,
    }
}
