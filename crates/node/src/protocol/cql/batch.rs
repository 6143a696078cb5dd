//! BATCH: the plans and values of its statements.

use super::failures::over_limit;
use super::figures::written;
use super::prepared::weight;
use super::replicas::{asked, type_of_batch};
use super::reply_header::ReplyHeader;
use super::statements::{Progress, Statements};
use super::travel;
use crate::message::Message;
use crate::protocol::AnyCoordinator;
use crate::request_figures::RequestKind;
use crate::requests::REQUEST_BYTES;
use crate::slow::{Subject, Waited};
use cql::exec::{BatchStatement, Bindings, Options, check_serial, start_many};
use cql::guardrails::check_batch;
use cql::plan::{BatchKind, Prepared, Statement};
use cql::session::Client;
use cql::wire::{self, Consistency, QueryParameters};
use cql::{Asked, CqlError};
use io::Reactor;
use model::operation::Context;
use std::sync::Arc;

/// What a statement of a batch costs besides its values, and its plan if it is not prepared.
const BATCHED_STATEMENT_BYTES: usize = 128;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    pub(super) fn batch(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        batch: &wire::Batch<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        self.core.requests.meter.set_kind(RequestKind::Write);
        self.core.admit(RequestKind::Write).map_err(|over| over_limit(&over))?;
        let (mut plans, bytes) = self.batch_plans(client, batch)?;
        plans.iter().try_for_each(|(prepared, _)| self.check_rights(client, prepared))?;
        plans.iter_mut().for_each(|(prepared, _)| *prepared = self.seen_by(client, Arc::clone(prepared)));
        plans.iter().try_for_each(|(prepared, _)| check_serial(&prepared.statement, batch.common.serial_consistency))?;
        let statements = batch_statements(&plans)?;
        let kind = kind_of(batch);
        let context = self.core.context(self.reactor);
        let options = self.batch_options(header, batch, &context);
        if let Some(gate) = self.gate() {
            let levels = (batch.consistency, batch.common.serial_consistency);
            gate.check(client, context.now.wall_us, |guardrails| check_batch(guardrails, &statements, levels, &context))?;
        }
        self.check_waiting()?;
        let mut coordinator = start_many(statements, None, kind, options, &context)?;
        coordinator.limit(&self.core.config.live.batch_limits())?;
        let mut named: Vec<&Arc<Prepared>> = plans.iter().map(|(prepared, _)| prepared).collect();
        named.sort_unstable_by_key(|prepared| prepared.id);
        named.dedup_by_key(|prepared| prepared.id);
        let tables = named.iter().flat_map(|prepared| prepared.tables()).map(|table| table.id);
        self.core.requests.meter.set_table_use(written(tables));
        let request = wire::Request::Batch(*batch);
        let route = self.route(client, header, &request, &named, batch.consistency, true);
        let pack = || travel::pack(header, client.keyspace.as_deref(), &request, &named);
        let log_bytes = self.log(&mut coordinator, route.as_ref(), pack, &context)?;
        let header = header.asking(self.asked_by_batch(&plans, kind, batch.consistency));
        if let Some((first, _)) = plans.first() {
            self.core.requests.watch.will_wait(Waited::Parts, || Subject::Batch(Arc::clone(first), plans.len()));
        }
        Ok(self.coordinate(header, AnyCoordinator::Cql(coordinator), route, bytes + log_bytes, out))
    }

    pub(super) fn asked_by_batch(&self, plans: &[BatchPlan<'_>], kind: BatchKind, consistency: Consistency) -> Asked {
        let Some((first, _)) = plans.first() else { return Asked::default() };
        let is_conditional =
            |(prepared, _): &BatchPlan<'_>| matches!(&prepared.statement, Statement::Modify(plan) if plan.is_conditional());
        let writes = Some(type_of_batch(kind, plans.iter().any(is_conditional)));
        Asked { writes, ..asked(self.core.cluster.as_deref(), &first.statement, consistency) }
    }

    pub(super) fn batch_options(&self, header: ReplyHeader, batch: &wire::Batch<'_>, context: &Context) -> Options {
        let mut parameters = QueryParameters::new(batch.consistency, wire::Values::none(header.version));
        parameters.common = batch.common;
        self.options(header, &parameters, context)
    }

    /// The plans of a batch's statements, and the memory that it takes.
    pub(super) fn batch_plans<'r>(&mut self, client: &Client, batch: &wire::Batch<'r>) -> Result<(Vec<BatchPlan<'r>>, usize), CqlError> {
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
                    let known = self.core.protocols.cql.statements.prepared(id, &self.core.schema).cloned();
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
}

pub(super) fn kind_of(batch: &wire::Batch<'_>) -> BatchKind {
    match batch.kind {
        wire::BatchKind::Logged => BatchKind::Logged,
        wire::BatchKind::Unlogged => BatchKind::Unlogged,
        wire::BatchKind::Counter => BatchKind::Counter,
    }
}

/// A statement of a batch: its plan and values.
pub(super) type BatchPlan<'r> = (Arc<Prepared>, wire::Values<'r>);

pub(super) fn batch_statements<'p>(plans: &'p [BatchPlan<'p>]) -> Result<Vec<BatchStatement<'p>>, CqlError> {
    let statement = |(prepared, values): &'p BatchPlan<'p>| {
        let Statement::Modify(plan) = &prepared.statement else {
            return Err(CqlError::invalid("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed."));
        };
        Ok(BatchStatement { plan: Arc::clone(plan), bindings: Bindings::new(&prepared.markers, values)? })
    };
    plans.iter().map(statement).collect()
}
