//! Statements that another core or member has sent on, and batches that are run again from their log.

use super::batch::{batch_statements, kind_of};
use super::prepared::weight;
use super::reply_header::ReplyHeader;
use super::statements::{Progress, Statements};
use super::travel::{self, Travelled};
use crate::cluster::{Asker, NOBODY, PATIENCE_US, Route};
use crate::coordination::Started;
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::{AnyCoordinator, Reply};
use crate::requests::{REQUEST_BYTES, Request};
use cql::CqlError;
use cql::exec::{
    Execution, LoggedBatch, Work, is_view_part, part_of_batch, part_of_modification, part_of_select, start, start_many, view_part,
};
use cql::plan::{Prepared, Statement};
use cql::session::Client;
use cql::wire::{self, Consistency, QueryParameters};
use io::Reactor;
use model::operation::Operation;
use shard::{Access, Refusal, ShardError};
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Serves a forwarded request: a whole statement about one partition, or a part of any.
    ///
    /// # Errors
    /// What the client gets.
    pub(super) fn run_forwarded(&mut self, travelled: &Travelled<'_>, part: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Started, CqlError> {
        let header = ReplyHeader::new(travelled.header.version, travelled.header.stream);
        self.prepare_texts(travelled)?;
        let mut client = Client::elsewhere(header.version, travelled.keyspace.map(str::to_owned));
        client.is_masked = travelled.is_masked;
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

    /// Prepares the statements of a request that were prepared elsewhere.
    pub(super) fn prepare_texts(&mut self, travelled: &Travelled<'_>) -> Result<(), CqlError> {
        for (keyspace, text) in &travelled.texts {
            let is_known = matches!(&travelled.request, wire::Request::Execute(execute) if self.core.protocols.cql.statements.prepared(execute.id, &self.core.schema).is_some());
            if !is_known {
                let prepared = Arc::new(self.plan(*keyspace, text)?);
                self.core.protocols.cql.statements.insert(prepared)?;
            }
        }
        Ok(())
    }

    /// Finishes a logged batch that its coordinator has left. Nobody is told.
    ///
    /// # Errors
    /// Why it cannot be run any more, for instance because a table of it is gone.
    pub(super) fn run_batch_again(&mut self, travelled: &Travelled<'_>, batch: LoggedBatch, lane: u16) -> Result<(), CqlError> {
        self.prepare_texts(travelled)?;
        let header = ReplyHeader::new(travelled.header.version, travelled.header.stream);
        let client = Client::elsewhere(header.version, travelled.keyspace.map(str::to_owned));
        let context = self.core.context(self.reactor);
        let (mut coordinator, bytes) = if let wire::Request::Batch(request) = &travelled.request {
            let (plans, bytes) = self.batch_plans(&client, request)?;
            let options = batch.fix(self.batch_options(header, request, &context));
            (start_many(batch_statements(&plans)?, None, kind_of(request), options, &context)?, bytes)
        } else {
            let (prepared, parameters) = self.statement_of(&client, &travelled.request)?;
            let options = batch.fix(self.options(header, parameters, &context));
            let mut execution = Execution::new(&prepared, options, None);
            execution.bindings.bind(&prepared.markers, &parameters.values)?;
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
    pub(super) fn statement_of<'r>(
        &mut self,
        client: &Client,
        request: &'r wire::Request<'r>,
    ) -> Result<(Arc<Prepared>, &'r QueryParameters<'r>), CqlError> {
        match request {
            wire::Request::Execute(execute) => {
                let known = self.core.protocols.cql.statements.prepared(execute.id, &self.core.schema).cloned();
                let id = <[u8; 16]>::try_from(execute.id).unwrap_or_default();
                Ok((self.seen_by(client, known.ok_or(CqlError::Unprepared(id))?), &execute.parameters))
            }
            wire::Request::Query(query) => {
                let keyspace = query.parameters.common.keyspace.or(client.keyspace.as_deref());
                Ok((self.seen_by(client, Arc::new(self.plan(keyspace, query.text)?)), &query.parameters))
            }
            _ => Err(CqlError::Protocol("only statements travel".to_owned())),
        }
    }

    /// Makes a part of a statement from its description.
    pub(super) fn part(
        &mut self,
        client: &Client,
        header: ReplyHeader,
        travelled: &Travelled<'_>,
        part: &[u8],
    ) -> Result<Box<dyn Operation>, CqlError> {
        if is_view_part(part) {
            let gone = || CqlError::Invalid("a table of a materialized view's update is gone".to_owned());
            return view_part(&self.core.schema, part).ok_or_else(gone);
        }
        let context = self.core.context(self.reactor);
        if let wire::Request::Batch(batch) = &travelled.request {
            let (mut plans, _) = self.batch_plans(client, batch)?;
            plans.iter_mut().for_each(|(prepared, _)| *prepared = self.seen_by(client, Arc::clone(prepared)));
            let options = self.batch_options(header, batch, &context);
            return part_of_batch(&batch_statements(&plans)?, options, part, travelled.bytes, &context);
        }
        let (prepared, parameters) = self.statement_of(client, &travelled.request)?;
        let options = self.options(header, parameters, &context);
        let mut execution = Execution::new(&prepared, options, parameters.paging_state);
        execution.bindings.bind(&prepared.markers, &parameters.values)?;
        match &prepared.statement {
            Statement::Select(_) => part_of_select(&execution, part, &context),
            _ => part_of_modification(&execution, part, travelled.bytes, &context),
        }
    }
}

impl Core {
    /// Runs a statement, or a part of it, for another core or member.
    pub(super) fn run_forwarded_statement<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        asker: Asker,
        request: &[u8],
        part: Option<&[u8]>,
    ) {
        let travelled = match travel::unpack(request) {
            Ok(Some(travelled)) => travelled,
            Ok(None) => return self.answer_asker(reactor, asker, Err(refused("a request is damaged"))),
            Err(error) => return self.answer_asker(reactor, asker, Err(refused(error))),
        };
        let mut reply = Vec::new();
        let header = ReplyHeader::new(travelled.header.version, travelled.header.stream);
        let mut statements = Statements { core: self, reactor, connection: NOBODY, asker: Some(asker) };
        match statements.run_forwarded(&travelled, part, &mut reply) {
            Ok(Started::Replied) => self.answer_asker(reactor, asker, Ok(reply)),
            Ok(Started::Waiting) => {}
            Err(error) if part.is_some() => self.answer_asker(reactor, asker, Err(refused(error))),
            Err(error) => {
                reply.clear();
                header.write_error(&error, &mut reply);
                self.answer_asker(reactor, asker, Ok(reply));
            }
        }
    }
}

fn refused(why: impl ToString) -> ShardError {
    ShardError::Elsewhere { refusal: Refusal::Other, message: why.to_string() }
}
