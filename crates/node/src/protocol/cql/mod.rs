//! CQL on a core: what a session's statements do, and what a node shows of itself.
//!
//! The way of a statement: [`Cql`]'s session decodes a frame → `statements` plans it and has it run where its partition is → the reply, at once or
//! as a [`ReplyHeader`] on a request that waits. `replicas` says whose rows a statement may read, `routes` how it travels, `forwarded` runs those of other cores and members,
//! `audit` and `audited` say what the audit log tells of them, `rights` and `permitted` say what its client's role may do and see, `guarded` what nobody is to do, `traced` notes what happens to it if that was asked for, `batch_log` finishes logged batches whose coordinator has died, `indexing` gives rows the entries that indexes lack,
//! `covering` lets the filters of indexes know them,
//! `view_delivering` delivers what the coordinators of writes have not given to views, `view_building` gives new views the rows that are there.

mod audit;
mod audited;
mod batch;
mod batch_log;
mod batch_logs;
mod covering;
mod coverings;
mod failures;
mod figures;
mod forwarded;
mod guarded;
mod indexing;
mod permitted;
mod prepared;
mod replicas;
mod reply_header;
mod rights;
mod routes;
mod schema;
mod slot_builds;
mod state;
mod statements;
mod traced;
mod travel;
mod view;
mod view_building;
mod view_delivering;
mod view_updates;

pub use prepared::SharedStatements;

pub(crate) use self::audited::without_passwords;
pub(crate) use self::indexing::{observations, vector_indexes};
pub(crate) use self::reply_header::ReplyHeader;
pub(crate) use self::state::CoreState;

use self::failures::{failure, login_failure};
use self::statements::Statements;
use super::{ClientProtocol, ClientSession, ReplyForm, RequestCoordinator, Server, Verdict, presented};
use crate::audit::{Failure, RequestTag};
use crate::cluster::Asker;
use crate::core::Core;
use crate::logins::{LoginRefusal, LoginTag};
use crate::message::Message;
use crate::request_figures::Class;
use crate::schema_changes::{SchemaFailure, SchemaOutcome};
use cql::session::{Certificate, Session, Workspaces};
use cql::wire::{self, Event, Opcode, ProtocolVersion, StreamId};
use cql::{CqlError, Encryption, reply, session};
use io::Reactor;
use model::operation::{Coordinator, Standing, Step};
use shard::ShardError;
use std::net::SocketAddr;
use std::sync::Arc;
use tls::ClientCertificate;

/// Cassandra's native protocol.
pub(crate) struct Cql;

impl ClientProtocol for Cql {
    type Session = Session;
    type Reply = ReplyHeader;
    type Coordinator = Box<dyn Coordinator<Error = CqlError>>;

    const FORWARD_MARK: Option<u16> = None;

    fn run_forwarded<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, asker: Asker, request: &[u8], part: Option<&[u8]>) {
        core.run_forwarded_statement(reactor, asker, request, part);
    }

    fn schema_changed(core: &mut Core) {
        core.protocols.cql.statements.schema_changed(&core.schema);
        core.protocols.cql.rights.schema_changed();
        core.protocols.cql.backfills.schema_changed();
        core.protocols.cql.coverings.schema_changed();
        core.protocols.cql.view_updates.schema_changed();
        core.protocols.cql.view_builds.schema_changed();
    }

    fn turn<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R) -> Option<u64> {
        let due_us = [
            core.batches_turn(reactor),
            core.backfill_turn(reactor),
            core.covering_turn(reactor),
            core.view_updates_turn(reactor),
            core.view_builds_turn(reactor),
        ];
        due_us.into_iter().flatten().min()
    }
}

impl ClientSession for Session {
    type Workspace = Workspaces;

    fn open(peer: SocketAddr, message_bytes_max: u32) -> Self {
        Self::new(peer, message_bytes_max)
    }

    #[inline]
    fn receive<R: Reactor<Message = Message>>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
        workspace: &mut Workspaces,
        (core, reactor, connection): Server<'_, R>,
    ) -> Verdict {
        let mut server = Statements { core, reactor, connection, asker: None };
        match self.receive(bytes, out, out_bytes_max, workspace, &mut server) {
            session::Verdict::Continue => Verdict::Continue,
            session::Verdict::Pause => Verdict::Pause,
            session::Verdict::Close => Verdict::Close,
        }
    }

    fn trim(workspace: &mut Workspaces) {
        workspace.trim();
    }

    fn buffered_bytes(&self) -> usize {
        self.buffered_bytes()
    }

    fn in_flight(&self) -> u32 {
        self.client().in_flight
    }

    #[inline]
    fn is_background(&self) -> bool {
        self.client().is_background
    }

    fn outstanding_bytes(&self) -> usize {
        self.client().outstanding_bytes()
    }

    fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        self.takes_requests(unsent_bytes, unsent_bytes_max)
    }

    fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>, workspace: &mut Workspaces) {
        self.append_late_reply(reply, out, workspace);
    }

    /// Its replies are one frame each.
    fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, workspace: &mut Workspaces) {
        self.append_reply(piece, out, workspace);
    }

    fn append_event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, workspace: &mut Workspaces) {
        self.append_event(event, out, workspace);
    }

    fn append_overload(&mut self, out: &mut Vec<u8>, workspace: &mut Workspaces) {
        let why = "requests that have arrived only in part take too much memory; the connection is closed";
        let header = ReplyHeader::new(self.client().version, StreamId(0));
        let mut frame = Vec::new();
        header.write_error(&CqlError::Overloaded(why.to_owned()), &mut frame);
        self.append_reply(&frame, out, workspace);
    }

    fn append_refusal(&mut self, bytes: &[u8], why: &str, out: &mut Vec<u8>) {
        // The head of a frame: its version, flags, then its stream.
        let version = bytes.first().and_then(|version| ProtocolVersion::from_number(version & 0x7F)).unwrap_or(ProtocolVersion::HIGHEST);
        let stream = bytes.get(2..4).map_or(0, |stream| i16::from_be_bytes([stream[0], stream[1]]));
        ReplyHeader::new(version, StreamId(stream)).write_error(&CqlError::Protocol(why.to_owned()), out);
    }

    fn audited_reply(&self, reply: &[u8]) -> Option<(RequestTag, Option<Failure>)> {
        Some((audited::tag_of(reply)?, audited::failure_of(reply)))
    }

    fn error_of(&self, reply: &[u8]) -> Option<(Class, i32)> {
        audited::error_of(reply).map(|code| (Class::CQL, code))
    }

    fn audited_client(&self) -> Option<(SocketAddr, &'static str)> {
        Some((self.client().address, audited::PROTOCOL))
    }

    fn role(&self) -> Option<&str> {
        self.client().role.as_deref()
    }

    fn identity(&self) -> Option<&str> {
        if let Certificate::Of(identity) = &self.client().certificate { Some(identity) } else { None }
    }

    fn set_encrypted(&mut self, certificate: ClientCertificate, encryption: Option<Encryption>) {
        let client = self.client_mut();
        client.encryption = encryption;
        client.certificate = presented(certificate);
    }

    fn finish_login(&mut self, tag: LoginTag, outcome: Result<Arc<str>, LoginRefusal>, reply: &mut Vec<u8>) {
        self.log_in(StreamId(tag.0 as i16), outcome.map_err(|refusal| login_failure(&refusal)), reply);
    }
}

impl RequestCoordinator for Box<dyn Coordinator<Error = CqlError>> {
    type Reply = ReplyHeader;

    fn step(&mut self, header: ReplyHeader, results: Vec<Vec<u8>>, out: &mut Vec<u8>) -> Step {
        let start = out.len();
        Coordinator::step(&mut **self, results, out).unwrap_or_else(|error| {
            out.truncate(start);
            header.write_error(&error, out);
            Step::Done
        })
    }

    fn part_failed(&self, _: u16, error: ShardError) -> Result<Vec<u8>, ShardError> {
        match self.standing() {
            Standing::Open => Err(error),
            Standing::Decided => Err(ShardError::OutcomeUnknown),
            Standing::Done => Ok(Vec::new()),
        }
    }

    fn is_open(&self) -> bool {
        self.standing() == Standing::Open
    }
}

impl ReplyForm for ReplyHeader {
    fn write_failure(self, error: &ShardError, out: &mut Vec<u8>) {
        self.write_error(&failure(error, self.asked), out);
    }

    fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>) {
        match outcome {
            Ok(done) => {
                let extras = wire::ResponseExtras { warnings: &done.warnings, ..wire::ResponseExtras::default() };
                reply::write_frame_with(out, self.version, self.stream, Opcode::Result, &extras, |body| match done.events.first() {
                    Some(event) => wire::write_schema_change(body, &event.as_wire(), self.version),
                    None => wire::write_void(body),
                });
            }
            Err(SchemaFailure::Statement(error)) => self.write_error(error, out),
            Err(failure) => self.write_error(&CqlError::Server(failure.to_string()), out),
        }
    }
}
