//! QUERY, PREPARE, EXECUTE and BATCH: from a decoded request to work on shards.

use super::prepared::weight;
use super::travel::{self, Travelled};
use super::{ReplyHeader, failure};
use crate::cluster::{Asker, ClusterCore, PATIENCE_US, Place, Route};
use crate::coordination::{Started, Ticket};
use crate::core::Core;
use crate::message::{Message, PartId, SchemaAction, SchemaRequest};
use crate::protocol::{AnyCoordinator, Reply};
use crate::requests::{REQUEST_BYTES, Request};
use base::{CoreId, TableId, Token};
use cql::exec::{
    BatchCoordinator, BatchStatement, Bindings, Execution, LoggedBatch, Options, Work, part_of_batch, part_of_modification, part_of_select,
    start, start_many,
};
use cql::language::has_more_tokens;
use cql::plan::{self, BatchKind, Prepared, Statement};
use cql::reply::ResultColumn;
use cql::session::{Client, Credentials, Server};
use cql::wire::{self, Consistency, Opcode, QueryParameters, ResultColumns, StreamId, WriteType};
use cql::{Asked, CqlError, reply, roles, system};
use io::{ConnectionId, Reactor};
use model::operation::{Context, Operation};
use shard::{Access, Outcome, ShardError};
use std::sync::Arc;

/// Serves one connection's statements while its bytes are being received.
pub(crate) struct Statements<'a, R> {
    pub(crate) core: &'a mut Core,
    pub(crate) reactor: &'a mut R,
    pub(crate) connection: ConnectionId,
    /// Who has sent the statement on, if it is not the connection's own.
    pub(crate) asker: Option<Asker>,
}

/// What a statement of a batch costs besides its values, and its plan if it is not prepared.
const BATCHED_STATEMENT_BYTES: usize = 128;

/// What a plan takes for each token of its text while it is made, at worst: a list of numbers.
const PLAN_BYTES_PER_TOKEN: usize = 64;

/// What became of a statement.
enum Progress {
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

    fn authenticator(&self) -> Option<&'static str> {
        self.core.config.requires_login.then_some(roles::AUTHENTICATOR)
    }

    fn authenticate(&mut self, stream: StreamId, credentials: Credentials<'_>) -> Result<(), CqlError> {
        self.core.check_credentials(self.reactor, (self.connection, stream), credentials)
    }

    fn statement(&mut self, client: &mut Client, stream: StreamId, request: wire::Request<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let header = ReplyHeader::new(client.version, stream);
        let progress = match request {
            _ if self.core.send_away_until_us.is_some() => Err(CqlError::Leaving),
            wire::Request::Execute(execute) => self.execute(client, header, &execute, out),
            wire::Request::Query(query) => self.query(client, header, &query, out),
            wire::Request::Prepare(prepare) => self.prepare(client, header, &prepare, out),
            wire::Request::Batch(batch) => self.batch(client, header, &batch, out),
            other => Err(CqlError::Protocol(format!("Unexpected message {}", other.opcode().name()))),
        };
        match progress {
            Ok(Progress::Replied) => {}
            Ok(Progress::Waiting) => client.in_flight += 1,
            Err(error) => {
                out.truncate(start);
                header.write_error(&error, out);
            }
        }
    }
}

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    fn options(&self, header: ReplyHeader, parameters: &QueryParameters<'_>, context: &Context) -> Options {
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
    fn execute(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        execute: &wire::Execute<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let context = self.core.context(self.reactor);
        let options = self.options(header, &execute.parameters, &context);
        let core = &mut *self.core;
        let Some(prepared) = core.statements.get(execute.id, &core.schema) else {
            let mut id = [0; 16];
            let length = execute.id.len().min(16);
            id[..length].copy_from_slice(&execute.id[..length]);
            return Err(CqlError::Unprepared(id));
        };
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
                Outcome::Done => return Ok(Progress::Replied),
                // Another member may.
                Outcome::Failed(ShardError::NotPrimary) => {}
                Outcome::Failed(error) => {
                    return Err(failure(&error, asked(core.cluster.as_deref(), &prepared.statement, options.consistency)));
                }
                waits => {
                    let header = header.asking(asked(core.cluster.as_deref(), &prepared.statement, options.consistency));
                    let bytes = REQUEST_BYTES + execution.bindings.bytes() + out.len() - start;
                    let request = Request { asker: self.asker, ..Request::single(self.connection, Reply::Cql(header), bytes) };
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

    fn query(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        query: &wire::Query<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let keyspace = query.parameters.common.keyspace.or(client.keyspace.as_deref());
        let prepared = Arc::new(self.plan(keyspace, query.text)?);
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
        if is_virtual(execution.prepared) {
            self.core.read_system_table(execution, context, out)?;
            return Ok(Progress::Replied);
        }
        let header = header.asking(asked(self.core.cluster.as_deref(), &execution.prepared.statement, execution.options.consistency));
        match start(execution, context)? {
            Work::Partition(token) => {
                self.check_waiting()?;
                let owner = token.slot().core(self.core.cores);
                let access = access(self.core.cluster.as_deref(), execution.prepared, token, execution.options.consistency)?;
                let bytes = REQUEST_BYTES + execution.bindings.bytes() + plan_bytes;
                let route = self.route_single(client, header, request, execution, token);
                let tells_tablet = client.wants_tablets && self.is_misplaced(request, execution.prepared, token);
                let single = Request::single(self.connection, Reply::Cql(header), bytes);
                let request = Request { asker: self.asker, route, tells_tablet, ..single };
                let part = PartId { request: self.core.requests.insert(request), part: PartId::WHOLE };
                // A part of this core is answered like any other: by `deliver`, once this connection's bytes are served.
                self.reactor.send(owner, Message::Run { part, access, operation: execution.to_operation() });
                Ok(Progress::Waiting)
            }
            Work::Coordinate(coordinator) => {
                self.check_waiting()?;
                let bytes = REQUEST_BYTES + execution.bindings.bytes() + plan_bytes;
                let prepared = execution.prepared;
                let route = self.route(client, header, request, &[prepared], execution.options.consistency, is_write(prepared));
                Ok(self.coordinate(header, AnyCoordinator::Cql(coordinator), route, bytes, out))
            }
            Work::Batch(mut coordinator) => {
                self.check_waiting()?;
                let bytes = REQUEST_BYTES + execution.bindings.bytes() + plan_bytes;
                let (prepared, consistency) = ([execution.prepared], execution.options.consistency);
                let route = self.route(client, header, request, &prepared, consistency, true);
                let pack = || travel::pack(header, client.keyspace.as_deref(), request, &prepared);
                let log_bytes = self.log(&mut coordinator, route.as_ref(), pack, context)?;
                Ok(self.coordinate(header, AnyCoordinator::Cql(coordinator), route, bytes + log_bytes, out))
            }
            Work::Other => self.run_other(client, header, execution.prepared, out),
        }
    }

    /// Has a batch logged that has to be. Gives the memory that this takes.
    fn log(
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
        prepared: &Prepared,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let action = match &prepared.statement {
            Statement::Use(keyspace) => {
                reply::write_frame(out, header.version, header.stream, Opcode::Result, |body| wire::write_set_keyspace(body, keyspace));
                client.keyspace = Some(keyspace.clone());
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
                    if let Some(listing) = roles::list(statement, &self.core.schema, role) {
                        let roles::Listing { table, columns, rows } = listing?;
                        reply::write_rows(out, header.version, header.stream, roles::LISTING_KEYSPACE, table, &columns, &rows);
                        return Ok(Progress::Replied);
                    }
                    if roles::password_of(statement)?.is_some() {
                        self.check_waiting()?;
                        let request = Request::single(self.connection, Reply::Cql(header), REQUEST_BYTES);
                        self.core.hash_password(self.reactor, request, keyspace, role, statement)?;
                        return Ok(Progress::Waiting);
                    }
                }
                SchemaAction::Statement { keyspace, role, statement: statement.clone() }
            }
            Statement::Select(_) | Statement::Modify(_) | Statement::Batch(_) => {
                return Err(CqlError::Server("a statement about rows was not given to a shard".to_owned()));
            }
        };
        self.check_waiting()?;
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
        let keyspace = prepare.keyspace.or(client.keyspace.as_deref());
        let prepared = Arc::new(self.plan(keyspace, prepare.text)?);
        self.core.statements.insert(Arc::clone(&prepared))?;
        reply::write_prepared(out, header.version, header.stream, &prepared);
        Ok(Progress::Replied)
    }

    fn batch(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        batch: &wire::Batch<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let (plans, bytes) = self.batch_plans(client, batch)?;
        let statements = batch_statements(&plans)?;
        let kind = kind_of(batch);
        let context = self.core.context(self.reactor);
        let options = self.batch_options(header, batch, &context);
        self.check_waiting()?;
        let mut coordinator = start_many(statements, None, kind, options, &context)?;
        let mut named: Vec<&Arc<Prepared>> = plans.iter().map(|(prepared, _)| prepared).collect();
        named.sort_unstable_by_key(|prepared| prepared.id);
        named.dedup_by_key(|prepared| prepared.id);
        let request = wire::Request::Batch(*batch);
        let route = self.route(client, header, &request, &named, batch.consistency, true);
        let pack = || travel::pack(header, client.keyspace.as_deref(), &request, &named);
        let log_bytes = self.log(&mut coordinator, route.as_ref(), pack, &context)?;
        let header = header.asking(self.asked_by_batch(&plans, kind, batch.consistency));
        Ok(self.coordinate(header, AnyCoordinator::Cql(coordinator), route, bytes + log_bytes, out))
    }

    fn asked_by_batch(&self, plans: &[BatchPlan<'_>], kind: BatchKind, consistency: Consistency) -> Asked {
        let Some((first, _)) = plans.first() else { return Asked::default() };
        let is_conditional =
            |(prepared, _): &BatchPlan<'_>| matches!(&prepared.statement, Statement::Modify(plan) if plan.is_conditional());
        let writes = Some(type_of_batch(kind, plans.iter().any(is_conditional)));
        Asked { writes, ..asked(self.core.cluster.as_deref(), &first.statement, consistency) }
    }

    fn batch_options(&self, header: ReplyHeader, batch: &wire::Batch<'_>, context: &Context) -> Options {
        let mut parameters = QueryParameters::new(batch.consistency, wire::Values::none(header.version));
        parameters.common = batch.common;
        self.options(header, &parameters, context)
    }

    /// The plans of a batch's statements, and the memory that it takes.
    fn batch_plans<'r>(&mut self, client: &Client, batch: &wire::Batch<'r>) -> Result<(Vec<BatchPlan<'r>>, usize), CqlError> {
        let keyspace = batch.common.keyspace.or(client.keyspace.as_deref());
        let mut plans: Vec<BatchPlan<'_>> = Vec::with_capacity(batch.statements.len());
        let mut bytes = REQUEST_BYTES;
        for (statement, values) in batch.statements.iter() {
            let prepared = match statement {
                // Drivers that do not prepare send the same text many times over.
                wire::BatchStatement::Text(text) if plans.last().is_some_and(|(last, _)| last.text == text) => {
                    Arc::clone(&plans[plans.len() - 1].0)
                }
                wire::BatchStatement::Text(text) => {
                    let prepared = Arc::new(self.plan(keyspace, text)?);
                    bytes += weight(&prepared);
                    prepared
                }
                wire::BatchStatement::Prepared(id) => {
                    let known = self.core.statements.get(id, &self.core.schema).cloned();
                    known.ok_or_else(|| CqlError::Unprepared(<[u8; 16]>::try_from(id).unwrap_or_default()))?
                }
            };
            bytes += BATCHED_STATEMENT_BYTES + values.bytes();
            if bytes > self.core.config.requests_bytes_max {
                return Err(CqlError::invalid("Batch too large"));
            }
            plans.push((prepared, values));
        }
        Ok((plans, bytes))
    }

    fn coordinate(
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

    /// How a request is run elsewhere; none outside of a cluster, or if it came from elsewhere.
    fn route(
        &self,
        client: &Client,
        header: ReplyHeader,
        request: &wire::Request<'_>,
        prepared: &[&Arc<Prepared>],
        consistency: Consistency,
        is_write: bool,
    ) -> Option<Route> {
        if self.core.cluster.is_none() || self.asker.is_some() {
            return None;
        }
        let request = travel::pack(header, client.keyspace.as_deref(), request, prepared)?;
        Some(Route { request: Some(request.into()), consistency, reads_any: consistency.reads_any(), is_write, patience_us: PATIENCE_US })
    }

    /// As [`Statements::route`], for a statement that one partition is enough for.
    fn route_single(
        &self,
        client: &Client,
        header: ReplyHeader,
        request: &wire::Request<'_>,
        execution: &Execution<'_>,
        token: Token,
    ) -> Option<(Route, Vec<Place>)> {
        let prepared = execution.prepared;
        let route = self.route(client, header, request, &[prepared], execution.options.consistency, is_write(prepared))?;
        Some((route, vec![Place { table: table_of(&prepared.statement)?, token, description: None }]))
    }

    /// Whether a prepared statement about one partition came to the wrong member or core.
    fn is_misplaced(&self, request: &wire::Request<'_>, prepared: &Prepared, token: Token) -> bool {
        let (wire::Request::Execute(_), Some(cluster)) = (request, &self.core.cluster) else { return false };
        table_of(&prepared.statement).is_some_and(|table| cluster.is_misplaced(table, token, self.core.core, self.core.cores))
    }

    /// Serves what another core or member has sent on: a whole statement about one partition, or a part of any.
    ///
    /// # Errors
    /// What the client is to hear.
    pub(crate) fn travelled(&mut self, travelled: &Travelled<'_>, part: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Started, CqlError> {
        let header = ReplyHeader::new(travelled.header.version, travelled.header.stream);
        self.learn(travelled)?;
        let mut client = Client::elsewhere(header.version, travelled.keyspace.map(str::to_owned));
        let Some(part) = part else {
            let progress = match &travelled.request {
                wire::Request::Execute(execute) => self.execute(&mut client, header, execute, out),
                wire::Request::Query(query) => self.query(&mut client, header, query, out),
                _ => Err(CqlError::Protocol("only statements travel".to_owned())),
            };
            return progress.map(|progress| match progress {
                Progress::Replied => Started::Replied,
                Progress::Waiting => Started::Waiting,
            });
        };
        let operation = self.part(&client, header, travelled, part)?;
        let bytes = REQUEST_BYTES + part.len();
        let request = Request { asker: self.asker, ..Request::single(self.connection, Reply::Cql(header), bytes) };
        let part = PartId { request: self.core.requests.insert(request), part: PartId::WHOLE };
        self.core.run_part(self.reactor, self.core.core, part, Access::Primary, operation);
        Ok(Started::Waiting)
    }

    /// Prepares what a request names that was prepared elsewhere.
    fn learn(&mut self, travelled: &Travelled<'_>) -> Result<(), CqlError> {
        for (keyspace, text) in &travelled.texts {
            let is_known = matches!(&travelled.request, wire::Request::Execute(execute) if self.core.statements.get(execute.id, &self.core.schema).is_some());
            if !is_known {
                let prepared = Arc::new(self.plan(*keyspace, text)?);
                self.core.statements.insert(prepared)?;
            }
        }
        Ok(())
    }

    /// Brings a batch to its end that somebody has begun. Nobody is told.
    ///
    /// # Errors
    /// It cannot be run any more, for instance because a table of it is gone.
    pub(super) fn run_batch_again(&mut self, travelled: &Travelled<'_>, batch: LoggedBatch, lane: u16) -> Result<(), CqlError> {
        self.learn(travelled)?;
        let header = ReplyHeader::new(travelled.header.version, travelled.header.stream);
        let client = Client::elsewhere(header.version, travelled.keyspace.map(str::to_owned));
        let context = self.core.context(self.reactor);
        let (mut coordinator, bytes) = if let wire::Request::Batch(request) = &travelled.request {
            let (plans, bytes) = self.batch_plans(&client, request)?;
            let options = batch.fix(self.batch_options(header, request, &context));
            (start_many(batch_statements(&plans)?, None, kind_of(request), options, &context)?, bytes)
        } else {
            let (prepared, parameters) = self.statement_of(&client, &travelled.request)?;
            let bindings = Bindings::new(&prepared.markers, &parameters.values)?;
            let options = batch.fix(self.options(header, parameters, &context));
            let execution = Execution { prepared: &prepared, bindings, options, paging_state: None };
            let Work::Batch(coordinator) = start(&execution, &context)? else {
                return Err(CqlError::Protocol("not a batch".to_owned()));
            };
            (coordinator, REQUEST_BYTES + travelled.bytes.len() + weight(&prepared))
        };
        coordinator.run_again(batch, lane);
        let route = self.core.cluster.is_some().then(|| Route {
            request: Some(travelled.bytes.into()),
            consistency: Consistency::One,
            reads_any: false,
            is_write: true,
            patience_us: PATIENCE_US,
        });
        self.coordinate(header, AnyCoordinator::Cql(coordinator), route, bytes, &mut Vec::new());
        Ok(())
    }

    /// The statement of a request that has one.
    fn statement_of<'r>(
        &mut self,
        client: &Client,
        request: &'r wire::Request<'r>,
    ) -> Result<(Arc<Prepared>, &'r QueryParameters<'r>), CqlError> {
        match request {
            wire::Request::Execute(execute) => {
                let known = self.core.statements.get(execute.id, &self.core.schema).cloned();
                let id = <[u8; 16]>::try_from(execute.id).unwrap_or_default();
                Ok((known.ok_or(CqlError::Unprepared(id))?, &execute.parameters))
            }
            wire::Request::Query(query) => {
                let keyspace = query.parameters.common.keyspace.or(client.keyspace.as_deref());
                Ok((Arc::new(self.plan(keyspace, query.text)?), &query.parameters))
            }
            _ => Err(CqlError::Protocol("only statements travel".to_owned())),
        }
    }

    /// Makes a part of a statement again.
    fn part(
        &mut self,
        client: &Client,
        header: ReplyHeader,
        travelled: &Travelled<'_>,
        part: &[u8],
    ) -> Result<Box<dyn Operation>, CqlError> {
        let context = self.core.context(self.reactor);
        if let wire::Request::Batch(batch) = &travelled.request {
            let (plans, _) = self.batch_plans(client, batch)?;
            let options = self.batch_options(header, batch, &context);
            return part_of_batch(&batch_statements(&plans)?, options, part, travelled.bytes, &context);
        }
        let (prepared, parameters) = self.statement_of(client, &travelled.request)?;
        let bindings = Bindings::new(&prepared.markers, &parameters.values)?;
        let options = self.options(header, parameters, &context);
        let execution = Execution { prepared: &prepared, bindings, options, paging_state: parameters.paging_state };
        match &prepared.statement {
            Statement::Select(_) => part_of_select(&execution, part, &context),
            _ => part_of_modification(&execution, part, travelled.bytes, &context),
        }
    }

    /// Plans a text, if its plan takes no more memory than requests may have.
    fn plan(&self, keyspace: Option<&str>, text: &str) -> Result<Prepared, CqlError> {
        let tokens_max = self.core.config.requests_bytes_max / PLAN_BYTES_PER_TOKEN;
        if has_more_tokens(text, tokens_max) {
            let message = format!("the statement is too long: this node's memory allows {tokens_max} words, values and symbols in one");
            return Err(CqlError::Invalid(message));
        }
        plan::prepare(&self.core.schema, keyspace, text)
    }

    /// Refuses what would have to wait.
    fn check_waiting(&self) -> Result<(), CqlError> {
        if self.core.is_full() {
            return Err(CqlError::Overloaded("too many requests wait on this core already; try again later".to_owned()));
        }
        Ok(())
    }
}

fn kind_of(batch: &wire::Batch<'_>) -> BatchKind {
    match batch.kind {
        wire::BatchKind::Logged => BatchKind::Logged,
        wire::BatchKind::Unlogged => BatchKind::Unlogged,
        wire::BatchKind::Counter => BatchKind::Counter,
    }
}

/// A statement of a batch: its plan and values.
type BatchPlan<'r> = (Arc<Prepared>, wire::Values<'r>);

fn batch_statements<'p>(plans: &'p [BatchPlan<'p>]) -> Result<Vec<BatchStatement<'p>>, CqlError> {
    let statement = |(prepared, values): &'p BatchPlan<'p>| {
        let Statement::Modify(plan) = &prepared.statement else {
            return Err(CqlError::invalid("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed."));
        };
        Ok(BatchStatement { plan: Arc::clone(plan), bindings: Bindings::new(&prepared.markers, values)? })
    };
    plans.iter().map(statement).collect()
}

/// What timeouts and failures tell of a statement.
fn asked(cluster: Option<&ClusterCore>, statement: &Statement, consistency: Consistency) -> Asked {
    let writes = match statement {
        Statement::Modify(plan) if plan.is_conditional() => Some(WriteType::Cas),
        Statement::Modify(plan) if plan.table.is_counter() => Some(WriteType::Counter),
        Statement::Modify(_) => Some(WriteType::Simple),
        Statement::Batch(batch) => Some(type_of_batch(batch.kind, batch.statements.iter().any(|plan| plan.is_conditional()))),
        _ => None,
    };
    // A node by itself has all the replicas there are.
    let required = cluster.and_then(|cluster| Some(cluster.required(table_of(statement)?, consistency)));
    Asked { consistency, required: required.unwrap_or(1), writes }
}

fn type_of_batch(kind: BatchKind, is_conditional: bool) -> WriteType {
    match kind {
        _ if is_conditional => WriteType::Cas,
        BatchKind::Logged => WriteType::Batch,
        BatchKind::Unlogged => WriteType::UnloggedBatch,
        BatchKind::Counter => WriteType::Counter,
    }
}

/// A table that a statement is about.
fn table_of(statement: &Statement) -> Option<TableId> {
    match statement {
        Statement::Select(plan) => Some(plan.table.id),
        Statement::Modify(plan) => Some(plan.table.id),
        Statement::Batch(batch) => batch.statements.first().map(|plan| plan.table.id),
        _ => None,
    }
}

fn is_write(prepared: &Prepared) -> bool {
    !matches!(prepared.statement, Statement::Select(_))
}

/// Whose rows a statement about one partition may read.
///
/// # Errors
/// There are fewer replicas than the level asks for.
#[inline]
fn access(cluster: Option<&ClusterCore>, prepared: &Prepared, token: Token, consistency: Consistency) -> Result<Access, CqlError> {
    let Some(cluster) = cluster else { return Ok(Access::Primary) };
    let Some(table) = table_of(&prepared.statement) else { return Ok(Access::Primary) };
    if !consistency.reads_any() {
        return cluster.check_replicas(table, token, consistency).map(|()| Access::Primary);
    }
    let reads_any = !is_write(prepared) && cluster.may_read_here(table, token);
    Ok(if reads_any { Access::AnyReplica } else { Access::Primary })
}

/// Whether a statement is about tables that have no shard.
fn is_virtual(prepared: &Prepared) -> bool {
    prepared.table.as_ref().is_some_and(|(keyspace, _)| system::is_system_keyspace(keyspace))
}
