//! Serving CQL's requests where they are audited.

use super::audited::{PROTOCOL, failure_of, of_plan, of_text, tag};
use super::statements::{Progress, Statements};
use crate::audit::{Category, Event, Failure, Operation, Source};
use crate::core::Core;
use crate::logins::LoginRefusal;
use crate::message::Message;
use cql::CqlError;
use cql::session::{Certificate, Client};
use cql::wire::{self, BatchStatement, StreamId};
use io::Reactor;
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Serves a request, and has the audit log tell of it.
    #[inline(never)]
    pub(super) fn serve_audited(
        &mut self,
        client: &mut Client,
        stream: StreamId,
        request: &wire::Request<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let start = out.len();
        let mut events = self.core.events_of(client, request);
        events.retain(|event| self.core.audit.as_ref().is_some_and(|audit| audit.may_want(event.category)));
        if events.is_empty() {
            return self.serve(client, stream, request, out);
        }
        let source = source(client, self.reactor.now().wall_us);
        let progress = self.serve(client, stream, request, out);
        let Some(audit) = &mut self.core.audit else { return progress };
        match &progress {
            Ok(Progress::Replied) => audit.ended(&source, &events, failure_of(&out[start..]).as_ref()),
            Ok(Progress::Waiting) => audit.waits(self.connection, tag(stream), source, events),
            Err(error) => audit.ended(&source, &events, Some(&failure(error))),
        }
        progress
    }

    /// A log-in that was refused before the password was looked at.
    pub(super) fn note_certified(
        &mut self,
        address: std::net::SocketAddr,
        certificate: &Certificate,
        outcome: &Result<Option<Arc<str>>, LoginRefusal>,
    ) {
        let role = match (outcome, certificate) {
            (Ok(Some(role)), _) | (Err(LoginRefusal::MayNotLogIn { role } | LoginRefusal::NotWhitelisted { role, .. }), _) => {
                Some(Arc::clone(role))
            }
            (_, Certificate::Of(identity)) => Some(Arc::clone(identity)),
            _ => None,
        };
        let source = Source { protocol: PROTOCOL, address, role, wall_us: self.reactor.now().wall_us };
        self.core.note_certified(self.reactor, self.connection, &source, outcome);
    }

    pub(super) fn audit_refused_login(&mut self, address: std::net::SocketAddr, role: &str, error: &CqlError) {
        let source = Source { protocol: PROTOCOL, address, role: Some(role.into()), wall_us: self.reactor.now().wall_us };
        self.core.audit_login(&source, Some(error.to_string()));
    }
}

impl Core {
    /// What there is to tell of a request.
    fn events_of(&mut self, client: &Client, request: &wire::Request<'_>) -> Vec<Event> {
        let keyspace = |own: Option<&str>| own.or(client.keyspace.as_deref()).map(str::to_owned);
        match request {
            wire::Request::Query(query) => vec![of_text(query.text, keyspace(query.parameters.common.keyspace).as_deref())],
            wire::Request::Prepare(prepare) => {
                let event = of_text(prepare.text, keyspace(prepare.keyspace).as_deref());
                vec![Event { category: Category::Prepare, kind: "PREPARE_STATEMENT", ..event }]
            }
            wire::Request::Execute(execute) => vec![self.of_prepared(execute.id)],
            wire::Request::Batch(batch) => {
                let keyspace = keyspace(batch.common.keyspace);
                let of = |(statement, _): (BatchStatement<'_>, _)| match statement {
                    BatchStatement::Text(text) => of_text(text, keyspace.as_deref()),
                    BatchStatement::Prepared(id) => self.of_prepared(id),
                };
                batch.statements.iter().map(of).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_prepared(&mut self, id: &[u8]) -> Event {
        match self.protocols.cql.statements.prepared(id, &self.schema) {
            Some(prepared) => of_plan(prepared),
            None => Event { category: Category::Error, kind: "EXECUTE", keyspace: None, object: None, operation: Operation::None },
        }
    }
}

fn source(client: &Client, wall_us: i64) -> Source {
    Source { protocol: PROTOCOL, address: client.address, role: client.role.clone(), wall_us }
}

fn failure(error: &CqlError) -> Failure {
    match error {
        CqlError::Unauthorized(why) => Failure::Unauthorized(why.clone()),
        other => Failure::Other(other.to_string()),
    }
}
