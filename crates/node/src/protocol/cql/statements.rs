//! QUERY, PREPARE, EXECUTE and BATCH: from a decoded request to work on shards.

use super::prepared::weight;
use super::{ReplyHeader, failure};
use crate::coordination::{Started, Ticket};
use crate::core::Core;
use crate::message::{Message, PartId, SchemaAction, SchemaRequest};
use crate::protocol::{AnyCoordinator, Reply};
use crate::requests::{REQUEST_BYTES, Request, Work as Waiting};
use base::CoreId;
use cql::exec::{BatchStatement, Bindings, Execution, Options, Work, start, start_many};
use cql::language::has_more_tokens;
use cql::plan::{self, BatchKind, Prepared, Statement};
use cql::reply::ResultColumn;
use cql::session::{Client, Server};
use cql::wire::{self, Opcode, QueryParameters, ResultColumns, StreamId};
use cql::{CqlError, reply, system};
use io::{ConnectionId, Reactor};
use model::operation::Context;
use shard::Outcome;
use std::sync::Arc;

/// Serves one connection's statements while its bytes are being received.
pub(crate) struct Statements<'a, R> {
    pub(crate) core: &'a mut Core,
    pub(crate) reactor: &'a mut R,
    pub(crate) connection: ConnectionId,
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

    fn statement(&mut self, client: &mut Client, stream: StreamId, request: wire::Request<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let header = ReplyHeader { version: client.version, stream };
        let progress = match request {
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
            cores: self.core.cores,
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
        if let Work::Partition(token) = start(&execution, &context)?
            && !is_virtual(prepared)
            && token.slot().core(core.cores) == core.core
        {
            // The hot path: this core owns the partition.
            let start = out.len();
            match core.shard.run(&context, &execution, out) {
                Outcome::Done => return Ok(Progress::Replied),
                Outcome::Failed(error) => return Err(failure(&error)),
                waits => {
                    let bytes = REQUEST_BYTES + execution.bindings.bytes() + out.len() - start;
                    let request = Request { connection: self.connection, reply: Reply::Cql(header), work: Waiting::Single, bytes };
                    let part = PartId { request: core.requests.insert(request), part: PartId::WHOLE };
                    let ticket = Ticket { origin: core.core, part }.into();
                    match waits {
                        Outcome::Unsynced(sequence) => core.shard.hold(ticket, sequence, out.split_off(start)),
                        _ => core.shard.park(ticket, execution.to_operation()),
                    }
                    return Ok(Progress::Waiting);
                }
            }
        }
        let prepared = Arc::clone(prepared);
        let values = execution.bindings.to_owned_values();
        let paging_state = execution.paging_state.map(<[u8]>::to_vec);
        let execution = Execution { prepared: &prepared, bindings: values.bindings(), options, paging_state: paging_state.as_deref() };
        self.run(client, header, &execution, 0, &context, out)
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
        self.run(client, header, &execution, weight(&prepared), &context, out)
    }

    /// Runs any statement. Its plan takes `plan_bytes`, if it is kept for this request alone.
    fn run(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        execution: &Execution<'_>,
        plan_bytes: usize,
        context: &Context,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        if is_virtual(execution.prepared) {
            self.core.read_system_table(execution, context, out)?;
            return Ok(Progress::Replied);
        }
        match start(execution, context)? {
            Work::Partition(token) => {
                self.check_waiting()?;
                let owner = token.slot().core(self.core.cores);
                let bytes = REQUEST_BYTES + execution.bindings.bytes() + plan_bytes;
                let request = Request { connection: self.connection, reply: Reply::Cql(header), work: Waiting::Single, bytes };
                let part = PartId { request: self.core.requests.insert(request), part: PartId::WHOLE };
                // A part of this core is answered like any other: by `deliver`, once this connection's bytes are served.
                self.reactor.send(owner, Message::Run { part, operation: execution.to_operation() });
                Ok(Progress::Waiting)
            }
            Work::Coordinate(coordinator) => {
                self.check_waiting()?;
                let bytes = REQUEST_BYTES + execution.bindings.bytes() + plan_bytes;
                Ok(
                    match self.core.coordinate(
                        self.reactor,
                        self.connection,
                        Reply::Cql(header),
                        AnyCoordinator::Cql(coordinator),
                        bytes,
                        out,
                    ) {
                        Started::Replied => Progress::Replied,
                        Started::Waiting => Progress::Waiting,
                    },
                )
            }
            Work::Other => self.run_other(client, header, execution.prepared, out),
        }
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
            Statement::Schema(statement) => SchemaAction::Statement { keyspace: prepared.keyspace.clone(), statement: statement.clone() },
            Statement::Select(_) | Statement::Modify(_) | Statement::Batch(_) => {
                return Err(CqlError::Server("a statement about rows was not given to a shard".to_owned()));
            }
        };
        self.check_waiting()?;
        let request = Request { connection: self.connection, reply: Reply::Cql(header), work: Waiting::Single, bytes: REQUEST_BYTES };
        let request = self.core.requests.insert(request);
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
        let keyspace = batch.common.keyspace.or(client.keyspace.as_deref());
        let mut plans: Vec<(Arc<Prepared>, wire::Values<'_>)> = Vec::with_capacity(batch.statements.len());
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
        let mut statements = Vec::with_capacity(plans.len());
        for (prepared, values) in &plans {
            let Statement::Modify(plan) = &prepared.statement else {
                return Err(CqlError::invalid("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed."));
            };
            statements.push(BatchStatement { plan: Arc::clone(plan), bindings: Bindings::new(&prepared.markers, values)? });
        }
        let kind = match batch.kind {
            wire::BatchKind::Logged => BatchKind::Logged,
            wire::BatchKind::Unlogged => BatchKind::Unlogged,
            wire::BatchKind::Counter => BatchKind::Counter,
        };
        let mut parameters = QueryParameters::new(batch.consistency, wire::Values::none(header.version));
        parameters.common = batch.common;
        let context = self.core.context(self.reactor);
        let options = self.options(header, &parameters, &context);
        self.check_waiting()?;
        match start_many(statements, None, kind, options, &context)? {
            Work::Coordinate(coordinator) => Ok(
                match self.core.coordinate(self.reactor, self.connection, Reply::Cql(header), AnyCoordinator::Cql(coordinator), bytes, out)
                {
                    Started::Replied => Progress::Replied,
                    Started::Waiting => Progress::Waiting,
                },
            ),
            Work::Partition(_) | Work::Other => Err(CqlError::Server("a batch is coordinated".to_owned())),
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

/// Whether a statement is about tables that have no shard.
fn is_virtual(prepared: &Prepared) -> bool {
    prepared.table.as_ref().is_some_and(|(keyspace, _)| system::is_system_keyspace(keyspace))
}
