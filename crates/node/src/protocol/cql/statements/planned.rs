//! A statement with its values, on the way to its shards: one partition, several with a coordinator, or none.

use super::{Progress, Statements, is_virtual};
use crate::cluster::Route;
use crate::message::{Message, PartId};
use crate::protocol::cql::replicas::{access, asked, is_write};
use crate::protocol::cql::reply_header::ReplyHeader;
use crate::protocol::cql::travel;
use crate::protocol::{AnyCoordinator, Reply};
use crate::requests::{REQUEST_BYTES, Request};
use crate::slow::{Subject, Waited};
use cql::exec::{BatchCoordinator, Execution, Work};
use cql::plan::Statement;
use cql::session::Client;
use cql::{CqlError, wire};
use io::Reactor;
use model::operation::Context;
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Runs any statement, of which [`start`] has said how. Its plan takes `plan_bytes`, if it is kept for this request alone.
    #[allow(clippy::too_many_arguments, reason = "a statement, its request and its reply")]
    pub(super) fn run(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        request: &wire::Request<'_>,
        (execution, work): (&Execution<'_>, Work),
        plan_bytes: usize,
        context: &Context,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        if is_virtual(execution.prepared) {
            self.core.read_system_table(execution, context, out)?;
            return Ok(Progress::Replied);
        }
        let header = header.asking(asked(self.core.cluster.as_deref(), &execution.prepared.statement, execution.options.consistency));
        let subject = || Subject::Plan(Arc::clone(execution.prepared));
        match work {
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
    pub(in crate::protocol::cql) fn log(
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
}
