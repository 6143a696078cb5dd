//! QUERY, PREPARE, EXECUTE and BATCH: from a decoded request to work on shards.

mod other;
mod planned;

use super::audited;
use super::failures::{failure, login_failure, login_tag, over_limit};
use super::figures::figures_of;
use super::guarded::{self, Gate};
use super::prepared::weight;
use super::replicas::{access, asked};
use super::reply_header::ReplyHeader;
use super::rights;
use crate::cluster::{Asker, Route};
use crate::coordination::{Started, Ticket};
use crate::core::Core;
use crate::logins;
use crate::message::{Message, PartId};
use crate::protocol::{AnyCoordinator, Reply};
use crate::request_figures::{Class, RequestKind};
use crate::requests::{REQUEST_BYTES, Request};
use crate::slow::{Subject, Waited};
use crate::tracing::waiting_for;
use cql::exec::{Execution, Options, Work, check_query, check_serial, start};
use cql::language::has_more_tokens;
use cql::plan::{self, Prepared};
use cql::roles::{self, Proof};
use cql::session::{Client, Credentials, Server};
use cql::wire::{self, QueryParameters, ResultColumns, StreamId};
use cql::{ConnectedClient, CqlError, reply, system};
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
            Ok(Progress::Replied) => {
                if let Some(warnings) = self.core.requests.warnings.take() {
                    wire::add_warnings(out, start, &warnings);
                }
                self.core.requests.meter.answered_at_once();
            }
            Ok(Progress::Waiting) => client.in_flight += 1,
            Err(error) => {
                self.core.requests.warnings = None;
                out.truncate(start);
                ReplyHeader::new(client.version, stream).write_error(&error, out);
                self.core.requests.meter.answered_at_once_with(audited::error_of(&out[start..]));
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
        let Some(kept) = core.protocols.cql.statements.get(execute.id, &core.schema) else { return Err(unprepared(execute.id)) };
        let (prepared, (kind, table_use)) = (&kept.prepared, kept.figures);
        core.requests.meter.set_kind(kind);
        core.requests.meter.set_table_use(table_use);
        if client.role.is_some() {
            core.protocols.cql.rights.check(core.config.checks_permissions, &core.schema, client, prepared)?;
            if core.limits.is_limited() && !is_virtual(prepared) {
                let now_us = core.requests.meter.now_us();
                core.limits.admit(kind, core.cores, now_us).map_err(|over| over_limit(&over))?;
            }
        }
        let prepared = rights::seen(core.config.checks_permissions, client, prepared);
        check_serial(&prepared.statement, execute.parameters.common.serial_consistency)?;
        let mut execution = Execution::new(prepared, options, execute.parameters.paging_state);
        execution.bindings.bind(&prepared.markers, &execute.parameters.values)?;
        let mut has_warnings = false;
        if core.config.live.guardrails().guard_rows() && self.asker.is_none() {
            // As `gate` makes it, beside the statement, which is borrowed.
            let (live, rights) = (core.config.live.guardrails(), &mut core.protocols.cql.rights);
            let gate = Gate { live, rights, schema: &core.schema, requests: &mut core.requests };
            has_warnings = guarded::check(gate, client, &execution, execute.parameters.common.serial_consistency, &context)?;
        }
        let mut parked = None;
        let work = start(&execution, &context)?;
        if let Work::Partition(token) = work
            && !has_warnings
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
        let mut execution = Execution::new(&prepared, options, execute.parameters.paging_state);
        execution.bindings.bind(&prepared.markers, &execute.parameters.values)?;
        if let Some((request, token)) = parked {
            // It may have to run elsewhere when its turn comes.
            let route = self.route_single(client, header, &wire::Request::Execute(*execute), &execution, token);
            if let Some(request) = self.core.requests.get_mut(request) {
                request.route = route;
            }
            return Ok(Progress::Waiting);
        }
        self.run(client, header, &wire::Request::Execute(*execute), (&execution, work), 0, &context, out)
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
        let (kind, table_use) = figures_of(&prepared.statement);
        if !is_virtual(&prepared) {
            self.core.admit(kind).map_err(|over| over_limit(&over))?;
        }
        let prepared = self.seen_by(client, prepared);
        let context = self.core.context(self.reactor);
        let options = self.options(header, &query.parameters, &context);
        let mut execution = Execution::new(&prepared, options, query.parameters.paging_state);
        check_query(&prepared.markers, &query.parameters.values)?;
        check_serial(&prepared.statement, query.parameters.common.serial_consistency)?;
        execution.bindings.bind(&prepared.markers, &query.parameters.values)?;
        if let Some(gate) = self.gate() {
            guarded::check(gate, client, &execution, query.parameters.common.serial_consistency, &context)?;
        }
        self.core.requests.meter.set_kind(kind);
        self.core.requests.meter.set_table_use(table_use);
        let work = if is_virtual(&prepared) { Work::Other } else { start(&execution, &context)? };
        self.run(client, header, &wire::Request::Query(*query), (&execution, work), weight(&prepared), &context, out)
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

    /// What the statement has to pass through, if anything.
    pub(super) fn gate(&mut self) -> Option<Gate<'_>> {
        let Core { config, protocols, schema, requests, .. } = &mut *self.core;
        let live = config.live.guardrails();
        (live.guard_rows() && self.asker.is_none()).then_some(Gate { live, rights: &mut protocols.cql.rights, schema, requests })
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

#[cold]
fn unprepared(given: &[u8]) -> CqlError {
    let mut id = [0; 16];
    let length = given.len().min(16);
    id[..length].copy_from_slice(&given[..length]);
    CqlError::Unprepared(id)
}

/// Whether a statement is about tables that have no shard.
fn is_virtual(prepared: &Prepared) -> bool {
    prepared.table.as_ref().is_some_and(|(keyspace, _)| system::is_system_keyspace(keyspace))
}
