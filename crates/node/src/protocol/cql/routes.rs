//! How a statement travels to another member.

use super::replicas::{is_write, table_of};
use super::reply_header::ReplyHeader;
use super::statements::Statements;
use super::travel;
use crate::cluster::{PATIENCE_US, Place, Route};
use crate::message::Message;
use base::Token;
use cql::exec::Execution;
use cql::plan::Prepared;
use cql::session::Client;
use cql::wire::{self, Consistency};
use io::Reactor;
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// How a request is run elsewhere; none outside of a cluster, or if it came from elsewhere.
    pub(super) fn route(
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
    pub(super) fn route_single(
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
    pub(super) fn is_misplaced(&self, request: &wire::Request<'_>, prepared: &Prepared, token: Token) -> bool {
        let (wire::Request::Execute(_), Some(cluster)) = (request, &self.core.cluster) else { return false };
        table_of(&prepared.statement).is_some_and(|table| cluster.is_misplaced(table, token, self.core.core, self.core.cores))
    }
}
