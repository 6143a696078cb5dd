//! GridDB on a core: containers and their rows, and failures in GridDB's codes.
//!
//! `client` is a connection with its client, whom `logins` logs in; `connection` is what the node asks of it; `rights` says what that may do, `audit` and `audited`
//! what the audit log tells of it; `users` and `user_changes` list and change users and databases; `owners` says which
//! member serves a partition; `purges` deletes the rows of data partitions that were dropped.

mod audit;
mod audited;
mod client;
mod connection;
mod declarations;
mod failures;
mod logins;
mod owners;
mod purges;
mod rights;
mod state;
mod statements;
#[cfg(test)]
mod tests;
mod transactions;
mod travel;
mod user_changes;
mod users;

pub(crate) use self::client::Connected;
pub(crate) use self::state::CoreState;

use self::failures::{failure, schema_failure};
use super::{ClientProtocol, ClientSession, ReplyForm, RequestCoordinator, Server, Verdict};
use crate::cluster::Asker;
use crate::core::Core;
use crate::message::Message;
use crate::schema_changes::SchemaOutcome;
use griddb::GridError;
use griddb::wire::{ReplyHeader, Status};
use io::{ConnectionId, Reactor};
use model::operation::Step;
use shard::ShardError;

/// GridDB's protocol.
pub(crate) struct GridDb;

/// A statement is about one partition: nothing is coordinated.
pub(crate) enum NoCoordinator {}

impl ClientProtocol for GridDb {
    type Session = Connected;
    type Reply = ReplyHeader;
    type Coordinator = NoCoordinator;

    const FORWARD_MARK: Option<u16> = Some(travel::MARK);

    fn run_forwarded<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, asker: Asker, request: &[u8], _: Option<&[u8]>) {
        core.run_forwarded_grid_statement(reactor, asker, request);
    }

    fn start_again<R: Reactor<Message = Message>>(
        core: &mut Core,
        reactor: &mut R,
        connection: ConnectionId,
        body: &[u8],
        outcome: &SchemaOutcome,
        reply: ReplyHeader,
    ) {
        core.start_grid_statement_again(reactor, connection, body, outcome, reply);
    }

    fn schema_changed(core: &mut Core) {
        core.protocols.griddb.follow(&core.schema);
    }

    fn turn<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R) -> Option<u64> {
        let (overdue, purge) = (Self::end_overdue(core, reactor), Self::purge_dropped(core, reactor));
        overdue.into_iter().chain(purge).min()
    }
}

impl ReplyForm for ReplyHeader {
    fn write_failure(self, error: &ShardError, out: &mut Vec<u8>) {
        let (status, code) = failure(error, self.is_repeatable);
        self.write_error(status, &GridError::new(code, error.to_string()), out);
    }

    fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>) {
        match outcome {
            Ok(_) => self.write_done(out),
            Err(failure) => self.write_error(Status::StatementError, &schema_failure(failure), out),
        }
    }
}

impl RequestCoordinator for NoCoordinator {
    type Reply = ReplyHeader;

    fn step(&mut self, _: ReplyHeader, _: Vec<Vec<u8>>, _: &mut Vec<u8>) -> Step {
        match *self {}
    }

    fn part_failed(&self, _: u16, _: ShardError) -> Result<Vec<u8>, ShardError> {
        match *self {}
    }

    fn is_open(&self) -> bool {
        match *self {}
    }
}
