//! Statements of GridDB's clients: from a decoded one to work on the shard that owns its container.
//!
//! A statement about a container that is here and in memory runs at once. One that makes a container waits until every core has it
//! ([`Work::Restart`]) and is then started again. In a cluster a statement goes to the primary of its container's slot.

use super::audited;
use super::client::Client;
use super::declarations::Declaration;
use super::failures::{failure, schema_failure};
use super::owners::owner_elsewhere;
use super::travel::{self, Travelled};
use crate::cluster::{Asker, NOBODY, PATIENCE_US, Place, Route};
use crate::coordination::Ticket;
use crate::core::Core;
use crate::limits::OverLimit;
use crate::message::{Message, PartId};
use crate::protocol::Reply;
use crate::request_figures::{Class, RequestKind};
use crate::requests::{REQUEST_BYTES, Request, Work};
use crate::schema_changes::{SchemaAction, SchemaOutcome, SchemaRequest};
use crate::slow::{Subject, Waited};
use crate::table_figures::TableUse;
use base::{BufferPool, CoreId};
use cql::wire::Consistency;
use griddb::exec::{self, Execution};
use griddb::session::{self, Login, Progress, Server, Transports};
use griddb::users::UserStatement;
use griddb::wire::{ReplyHeader, Statement, Status};
use griddb::{ErrorCode, GridError, PUBLIC_DATABASE};
use io::{ConnectionId, Reactor};
use shard::{Access, Outcome, ShardError};
use std::net::SocketAddr;
use std::sync::Arc;

/// Serves one connection's statements while its bytes are being received.
pub(crate) struct Statements<'a, R> {
    pub(crate) core: &'a mut Core,
    pub(crate) reactor: &'a mut R,
    pub(crate) connection: ConnectionId,
    /// Who has sent the statement on, if it is not the connection's own.
    pub(crate) asker: Option<Asker>,
    /// The connection's client; none of what has come from elsewhere, or was let through before.
    pub(super) client: Option<&'a mut Client>,
}

impl<R: Reactor<Message = Message>> Server for Statements<'_, R> {
    fn cluster_name(&self) -> &str {
        &self.core.config.cluster_name
    }

    fn transports(&self) -> Transports {
        let tls = self.core.config.client_tls.as_ref();
        Transports { plain: tls.is_none_or(|tls| !tls.is_required), tls: tls.is_some() }
    }

    fn log_in(&mut self, login: Login<'_>) -> Result<Progress, GridError> {
        self.identify(login)
    }

    fn log_out(&mut self) {
        if let Some(client) = self.client.as_deref_mut() {
            client.is_now(None, None);
        }
    }

    fn database(&self, name: &str) -> Option<i64> {
        (name == PUBLIC_DATABASE || self.core.schema.keyspaces.contains_key(name)).then_some(0)
    }

    fn address(&self) -> SocketAddr {
        self.core.config.listening().griddb.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    fn owner(&self, database: &str, partition: u32) -> SocketAddr {
        let cluster = self.core.cluster.as_ref();
        let elsewhere = cluster.and_then(|cluster| owner_elsewhere(&cluster.view, &cluster.missed(), database, partition));
        elsewhere.unwrap_or_else(|| self.address())
    }

    fn buffers(&mut self) -> &mut BufferPool {
        &mut self.core.buffers
    }

    #[inline]
    fn statement(&mut self, statement: &Statement<'_>, body: &[u8], client: &session::Client, out: &mut Vec<u8>) -> Progress {
        let is_ipv6 = statement.reply.is_ipv6;
        let session::Client { database, transaction_timeout_s } = client;
        let travelled = Travelled { is_ipv6, transaction_timeout_s: *transaction_timeout_s, database, body };
        let start = out.len();
        let progress = match self.core.audit {
            _ if UserStatement::NUMBERS.contains(&statement.number()) => self.serve_users(statement, database, out),
            None => self.start(statement, travelled, false, out),
            Some(_) => self.start_audited(statement, travelled, out),
        };
        if progress == Progress::Replied {
            self.core.requests.meter.answered_at_once_with(audited::number_of_error(&out[start..], is_ipv6));
        }
        progress
    }
}

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Starts a statement; `is_changed`: after the change of the schema that it has asked for.
    pub(super) fn start(&mut self, statement: &Statement<'_>, travelled: Travelled<'_>, is_changed: bool, out: &mut Vec<u8>) -> Progress {
        self.core.requests.meter.start(Class::GRIDDB);
        let start = out.len();
        let (catalog, schema) = (Arc::clone(&self.core.protocols.griddb.catalog), Arc::clone(&self.core.schema));
        let Travelled { is_ipv6, transaction_timeout_s, database, body } = travelled;
        let now = self.reactor.now();
        let (received_us, received_s) = (now.monotonic_us, now.wall_s().clamp(0, i64::from(u32::MAX)) as u32);
        let limited = match self.access() {
            Ok(limited) => limited,
            Err(error) => {
                statement.reply.write_error(Status::StatementError, &error, out);
                return Progress::Replied;
            }
        };
        let access = limited.as_ref().map(|limited| limited as &dyn exec::Access);
        let request = exec::Request {
            catalog: &catalog,
            schema: &schema,
            database,
            body,
            transaction_timeout_s,
            received_us,
            received_s,
            is_ipv6,
            access,
        };
        let outcome = match exec::start(request, statement, is_changed, out) {
            Ok(exec::Work::Answered) => return Progress::Replied,
            Ok(exec::Work::Run(execution)) => self.run(&execution, travelled, out),
            Ok(exec::Work::Change { change, starts_again }) => self.change(change, starts_again, statement.reply, travelled),
            // The client asks again until this member has heard of the schema.
            Err(error) if error.is_behind() && self.core.cluster.is_some() => Err((Status::NodeError, error)),
            Err(error) => Err((Status::StatementError, error)),
        };
        outcome.unwrap_or_else(|(status, error)| {
            out.truncate(start);
            statement.reply.write_error(status, &error, out);
            Progress::Replied
        })
    }

    fn change(
        &mut self,
        change: griddb::ContainerChange,
        starts_again: bool,
        reply: ReplyHeader,
        travelled: Travelled<'_>,
    ) -> Result<Progress, (Status, GridError)> {
        let core = &mut *self.core;
        check_waiting(core)?;
        let packed = travel::pack(&travelled);
        let single = Request::single(self.connection, Reply::GridDb(reply), REQUEST_BYTES + packed.len());
        let request = core.requests.insert(Request { work: if starts_again { Work::Restart(packed) } else { Work::Single }, ..single });
        let asker = self.client.as_deref().and_then(|client| client.role.clone());
        let declaration = Declaration { database: travelled.database.into(), change, asker };
        let request = SchemaRequest { origin: core.core, request, action: SchemaAction::Change(Box::new(declaration)) };
        self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        Ok(Progress::Waiting)
    }

    #[inline]
    fn run(&mut self, execution: &Execution<'_>, travelled: Travelled<'_>, out: &mut Vec<u8>) -> Result<Progress, (Status, GridError)> {
        let context = self.core.context(self.reactor);
        let core = &mut *self.core;
        let (asker, connection, token, reply) = (self.asker, self.connection, execution.token(), execution.reply());
        // What has come from elsewhere goes back there.
        let table = execution.table().filter(|_| core.cluster.is_some() && asker.is_none());
        let route = || {
            let table = table?;
            let request = Some(travel::pack(&travelled).into());
            let is_write = execution.is_write() && !execution.may_run_again();
            // What writes may have to wait for a lock.
            let patience_us = if is_write { PATIENCE_US + exec::LOCK_WAIT_US } else { PATIENCE_US };
            let route = Route { request, consistency: Consistency::One, reads_any: false, is_write, patience_us };
            Some((route, vec![Place { table, token, description: None }]))
        };
        let waits = || Request { asker, ..Request::single(connection, Reply::GridDb(reply), REQUEST_BYTES + travelled.body.len()) };
        core.admit(RequestKind::of(execution.is_write())).map_err(|over| over_limit(&over))?;
        let subject = || execution.table().map_or(Subject::Unknown, Subject::Table);
        core.requests.meter.set_kind(RequestKind::of(execution.is_write()));
        let table_use = |table| TableUse::of(table, execution.is_write());
        core.requests.meter.set_table_use(execution.table().map_or(TableUse::NONE, table_use));
        let owner = token.slot().core(core.cores);
        if owner == core.core {
            // The hot path: this core owns the container.
            let start = out.len();
            match core.shard.run_with(&context, Access::Primary, execution, out) {
                Outcome::Done => return Ok(Progress::Replied),
                // Another member may.
                Outcome::Failed(ShardError::NotPrimary) if core.cluster.is_some() => {}
                Outcome::Failed(error) => return Err(refused(&error, reply)),
                outcome => {
                    let runs_again = !matches!(outcome, Outcome::Unsynced(_)) || execution.may_run_again();
                    let request = Request { route: if runs_again { route() } else { None }, ..waits() };
                    core.requests.watch.will_wait(Waited::of(&outcome), subject);
                    let part = PartId { request: core.requests.insert(request), part: PartId::WHOLE };
                    let ticket = Ticket { origin: core.core, part }.into();
                    match outcome {
                        Outcome::Unsynced(sequence) => core.shard.hold(ticket, sequence, out.split_off(start)),
                        _ => core.shard.park(ticket, execution.to_operation()),
                    }
                    return Ok(Progress::Waiting);
                }
            }
        }
        check_waiting(core)?;
        core.requests.watch.will_wait(Waited::Owner, subject);
        let part = PartId { request: core.requests.insert(Request { route: route(), ..waits() }), part: PartId::WHOLE };
        // What is refused here is routed then, and answered when this connection's bytes have been served.
        self.reactor.send(owner, Message::Run { part, access: Access::Primary, operation: execution.to_operation() });
        Ok(Progress::Waiting)
    }
}

fn refused(error: &ShardError, reply: ReplyHeader) -> (Status, GridError) {
    let (status, code) = failure(error, reply.is_repeatable);
    (status, GridError::new(code, error.to_string()))
}

#[cold]
fn over_limit(over: &OverLimit) -> (Status, GridError) {
    (Status::StatementError, GridError::new(ErrorCode::CM_NO_MEMORY, over.to_string()))
}

/// Refuses what would have to wait.
fn check_waiting(core: &Core) -> Result<(), (Status, GridError)> {
    if !core.is_full() {
        return Ok(());
    }
    let message = "too many requests wait on this core; try again later";
    Err((Status::StatementError, GridError::new(ErrorCode::CM_NO_MEMORY, message)))
}

impl Core {
    /// Runs a statement for another core or member.
    pub(super) fn run_forwarded_grid_statement<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, asker: Asker, request: &[u8]) {
        let read =
            travel::unpack(request).and_then(|travelled| Some((travelled, Statement::read(travelled.body, travelled.is_ipv6).ok()?)));
        let Some((travelled, statement)) = read else { return self.answer_asker(reactor, asker, Err(ShardError::Malformed)) };
        let mut reply = Vec::new();
        let mut statements = Statements { core: self, reactor, connection: NOBODY, asker: Some(asker), client: None };
        if statements.start(&statement, travelled, true, &mut reply) == Progress::Replied {
            self.answer_asker(reactor, asker, Ok(reply));
        }
    }

    /// Starts a statement again whose container has been made, or tells why it was not.
    pub(super) fn start_grid_statement_again<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        connection: ConnectionId,
        body: &[u8],
        outcome: &SchemaOutcome,
        reply: ReplyHeader,
    ) {
        let mut out = Vec::new();
        let read = travel::unpack(body).and_then(|travelled| Some((travelled, Statement::read(travelled.body, travelled.is_ipv6).ok()?)));
        let progress = match (read, outcome) {
            (Some((travelled, statement)), Ok(_)) => {
                Statements { core: self, reactor, connection, asker: None, client: None }.start(&statement, travelled, true, &mut out)
            }
            (_, Err(failure)) => {
                reply.write_error(Status::StatementError, &schema_failure(failure), &mut out);
                Progress::Replied
            }
            (None, Ok(_)) => unreachable!("it was packed here"),
        };
        if progress == Progress::Replied {
            self.deliver(reactor, connection, &out);
        }
    }
}
