//! Aerospike on a core: records, what a node shows of itself, and failures as result codes.

mod answer;
mod audit;
mod audited;
mod declarations;
mod failures;
mod records;
mod travel;
mod view;

pub(crate) use self::answer::Answer;

use self::failures::{failure, schema_failure};
use self::records::Records;
use super::{ClientProtocol, ClientSession, ReplyForm, RequestCoordinator, Server, Verdict};
use crate::audit::{Failure, RequestTag};
use crate::cluster::Asker;
use crate::core::Core;
use crate::message::Message;
use crate::schema_changes::SchemaOutcome;
use aerospike::ResultCode;
use aerospike::exec::RecordCoordinator;
use aerospike::session::{self, Session};
use io::{ConnectionId, Reactor};
use model::operation::{Coordinator, Step};
use shard::ShardError;
use std::net::SocketAddr;

/// Aerospike's protocol.
pub(crate) struct Aerospike;

impl ClientProtocol for Aerospike {
    type Session = Session;
    type Reply = Answer;
    type Coordinator = Box<dyn RecordCoordinator>;

    const FORWARD_MARK: Option<u16> = Some(travel::MARK);

    fn run_forwarded<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, asker: Asker, request: &[u8], part: Option<&[u8]>) {
        core.run_forwarded_records(reactor, asker, travel::unpack(request).unwrap_or_default(), part);
    }

    fn start_again<R: Reactor<Message = Message>>(
        core: &mut Core,
        reactor: &mut R,
        connection: ConnectionId,
        body: &[u8],
        outcome: &SchemaOutcome,
        _: Answer,
    ) {
        core.start_record_again(reactor, connection, body, outcome);
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
        let mut server = Records { core, reactor, connection, asker: None, client: Some(self.address()) };
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

    fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, (): &mut ()) {
        out.extend_from_slice(piece);
    }

    fn audited_reply(&self, reply: &[u8]) -> Option<(RequestTag, Option<Failure>)> {
        Some((audited::TAG, audited::failure_of(reply)))
    }
}

impl ReplyForm for Answer {
    fn write_failure(self, error: &ShardError, out: &mut Vec<u8>) {
        match self {
            Self::Message(shape) => shape.write(out, failure(error)),
            Self::Info => write_value(out, Err(error.to_string())),
        }
    }

    fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>) {
        match self {
            Self::Message(shape) => shape.write(out, outcome.as_ref().err().map_or(ResultCode::OK, schema_failure)),
            Self::Info => write_value(out, outcome.as_ref().map(|_| ()).map_err(ToString::to_string)),
        }
    }
}

impl RequestCoordinator for Box<dyn RecordCoordinator> {
    type Reply = Answer;

    fn step(&mut self, answer: Answer, results: Vec<Vec<u8>>, out: &mut Vec<u8>) -> Step {
        let start = out.len();
        let Answer::Message(shape) = answer else { unreachable!("commands are not coordinated") };
        Coordinator::step(&mut **self, results, out).unwrap_or_else(|code| {
            out.truncate(start);
            shape.write(out, code);
            Step::Done
        })
    }

    fn part_failed(&self, part: u16, error: ShardError) -> Result<Vec<u8>, ShardError> {
        RecordCoordinator::part_failed(&**self, part.into(), failure(&error)).ok_or(error)
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// Appends the value of a command that changes something.
fn write_value(out: &mut Vec<u8>, outcome: Result<(), String>) {
    match outcome {
        Ok(()) => out.extend_from_slice(b"ok"),
        Err(failure) => out.extend_from_slice(format!("ERROR:{}:{failure}", ResultCode::SERVER_ERROR.0).as_bytes()),
    }
}
