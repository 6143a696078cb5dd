//! GridDB on a core: containers and their rows, and failures in GridDB's codes.

mod declarations;
mod failures;
mod state;
mod statements;
mod transactions;
mod travel;

pub(crate) use self::state::CoreState;

use self::failures::{failure, schema_failure};
use self::statements::Statements;
use super::{ClientProtocol, ClientSession, ReplyForm, RequestCoordinator, Server, Verdict};
use crate::cluster::Asker;
use crate::core::Core;
use crate::message::Message;
use crate::schema_changes::SchemaOutcome;
use griddb::GridError;
use griddb::session::{self, Session};
use griddb::wire::{ReplyHeader, Status};
use io::{ConnectionId, Reactor};
use model::operation::Step;
use shard::ShardError;
use std::net::SocketAddr;

/// GridDB's protocol.
pub(crate) struct GridDb;

/// A statement is about one partition: nothing is coordinated.
pub(crate) enum NoCoordinator {}

impl ClientProtocol for GridDb {
    type Session = Session;
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
        Self::end_overdue(core, reactor)
    }
}

impl ClientSession for Session {
    type Workspace = ();

    fn open(peer: SocketAddr, message_bytes_max: u32) -> Self {
        Self::new(peer, message_bytes_max)
    }

    #[inline]
    fn receive<R: Reactor<Message = Message>>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
        (): &mut (),
        (core, reactor, connection): Server<'_, R>,
    ) -> Verdict {
        let mut server = Statements { core, reactor, connection, asker: None };
        match self.receive(bytes, out, out_bytes_max, &mut server) {
            session::Verdict::Continue => Verdict::Continue,
            session::Verdict::Pause => Verdict::Pause,
            session::Verdict::Close => Verdict::Close,
        }
    }

    fn buffered_bytes(&self) -> usize {
        self.buffered_bytes()
    }

    fn in_flight(&self) -> u32 {
        self.in_flight()
    }

    fn outstanding_bytes(&self) -> usize {
        self.outstanding_bytes()
    }

    fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        self.takes_requests(unsent_bytes, unsent_bytes_max)
    }

    fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>, (): &mut ()) {
        self.append_late_reply(reply, out);
    }

    fn closed<R: Reactor<Message = Message>>(mut self, core: &mut Core, reactor: &mut R) {
        for open in self.take_transactions() {
            GridDb::abort(core, reactor, &open);
        }
    }

    fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, (): &mut ()) {
        out.extend_from_slice(piece);
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
