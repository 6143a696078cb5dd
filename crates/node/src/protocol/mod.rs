//! What a core keeps of each protocol, so that the rest of it knows none: sessions, how a request is answered, who drives it.
//!
//! A new protocol is a folder here and a variant in each of these types.

pub(crate) mod aerospike;
pub(crate) mod cql;

use self::cql::ReplyHeader;
use crate::core::Core;
use crate::message::Message;
use crate::schema_changes::SchemaOutcome;
use ::aerospike::ResultCode;
use ::aerospike::exec::{RecordCoordinator, Shape};
use ::aerospike::session as aerospike_session;
use ::cql::CqlError;
use ::cql::session as cql_session;
use ::cql::wire::StreamId;
use io::{ConnectionId, Reactor};
use model::operation::{Coordinator, Standing, Step};
use shard::ShardError;
use std::net::SocketAddr;
use std::sync::Arc;

/// What is spoken on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Cassandra's native protocol.
    Cql,
    /// Aerospike's.
    Aerospike,
    /// What members of a cluster say to each other.
    Node,
}

/// A connection's state.
pub(crate) enum Session {
    Cql(Box<cql_session::Session>),
    Aerospike(Box<aerospike_session::Session>),
}

/// Buffers that a core's sessions share.
#[derive(Default)]
pub(crate) struct Workspaces {
    cql: cql_session::Workspaces,
}

impl Workspaces {
    /// Gives back the memory that large frames took.
    pub(crate) fn trim(&mut self) {
        self.cql.trim();
    }
}

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Continue,
    /// There is more to serve, once there is room.
    Pause,
    /// What was written must still be sent, then it ends.
    Close,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Cql(ReplyHeader),
    Aerospike(Shape),
    /// The value of a command, which the session puts after its name.
    AerospikeInfo,
}

/// Who drives a request over several partitions.
pub(crate) enum AnyCoordinator {
    Cql(Box<dyn Coordinator<Error = CqlError>>),
    Aerospike(Box<dyn RecordCoordinator>),
}

impl Session {
    pub(crate) fn new(protocol: Protocol, peer: SocketAddr, message_bytes_max: u32) -> Self {
        match protocol {
            // Other nodes have no session.
            Protocol::Cql | Protocol::Node => Self::Cql(Box::new(cql_session::Session::new(peer, message_bytes_max))),
            Protocol::Aerospike => Self::Aerospike(Box::new(aerospike_session::Session::new(peer, message_bytes_max))),
        }
    }

    /// Serves received bytes: see [`cql_session::Session::receive`].
    #[inline]
    pub(crate) fn receive<R: Reactor<Message = Message>>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
        workspaces: &mut Workspaces,
        (core, reactor, connection): (&mut Core, &mut R, ConnectionId),
    ) -> Verdict {
        match self {
            Self::Cql(session) => {
                let mut server = cql::Statements { core, reactor, connection, asker: None };
                match session.receive(bytes, out, out_bytes_max, &mut workspaces.cql, &mut server) {
                    cql_session::Verdict::Continue => Verdict::Continue,
                    cql_session::Verdict::Pause => Verdict::Pause,
                    cql_session::Verdict::Close => Verdict::Close,
                }
            }
            Self::Aerospike(session) => {
                let mut server = aerospike::Records { core, reactor, connection, asker: None };
                match session.receive(bytes, out, out_bytes_max, &mut server) {
                    aerospike_session::Verdict::Continue => Verdict::Continue,
                    aerospike_session::Verdict::Pause => Verdict::Pause,
                    aerospike_session::Verdict::Close => Verdict::Close,
                }
            }
        }
    }

    /// Bytes of memory it holds for what has arrived only in part.
    pub(crate) fn buffered_bytes(&self) -> usize {
        match self {
            Self::Cql(session) => session.buffered_bytes(),
            Self::Aerospike(session) => session.buffered_bytes(),
        }
    }

    /// As whom its client has logged in.
    pub(crate) fn role(&self) -> Option<&str> {
        match self {
            Self::Cql(session) => session.client().role.as_deref(),
            Self::Aerospike(_) => None,
        }
    }

    /// See [`cql_session::Session::log_in`].
    pub(crate) fn log_in(&mut self, stream: StreamId, outcome: Result<Arc<str>, CqlError>, reply: &mut Vec<u8>) {
        match self {
            Self::Cql(session) => session.log_in(stream, outcome, reply),
            Self::Aerospike(_) => unreachable!("nobody logs in by its protocol"),
        }
    }

    /// Requests whose reply has not been given yet.
    pub(crate) fn in_flight(&self) -> u32 {
        match self {
            Self::Cql(session) => session.client().in_flight,
            Self::Aerospike(session) => session.in_flight(),
        }
    }

    /// How large the replies that are still to come may be together.
    pub(crate) fn outstanding_bytes(&self) -> usize {
        match self {
            Self::Cql(session) => session.client().outstanding_bytes(),
            Self::Aerospike(session) => session.outstanding_bytes(),
        }
    }

    /// Whether it would serve another request.
    pub(crate) fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        match self {
            Self::Cql(session) => session.takes_requests(unsent_bytes, unsent_bytes_max),
            Self::Aerospike(session) => session.takes_requests(unsent_bytes, unsent_bytes_max),
        }
    }

    /// Appends the plain reply of a request that was not answered at once.
    pub(crate) fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        match self {
            Self::Cql(session) => session.append_late_reply(reply, out, &mut workspaces.cql),
            Self::Aerospike(session) => session.append_late_reply(reply, out),
        }
    }

    /// Appends a piece of a reply, of which more is to come.
    pub(crate) fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        match self {
            // Its replies are one frame each.
            Self::Cql(session) => session.append_reply(piece, out, &mut workspaces.cql),
            Self::Aerospike(_) => out.extend_from_slice(piece),
        }
    }

    /// Appends an event, if the client asked for such.
    pub(crate) fn append_event(&mut self, event: &::cql::wire::Event<'_>, out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        match self {
            Self::Cql(session) => session.append_event(event, out, &mut workspaces.cql),
            Self::Aerospike(_) => {}
        }
    }

    /// Says why a connection is closed whose request takes too much memory before it has arrived.
    pub(crate) fn append_overload(&mut self, out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        match self {
            Self::Cql(session) => {
                let why = "requests that have arrived only in part take too much memory; the connection is closed";
                let header = ReplyHeader::new(session.client().version, ::cql::wire::StreamId(0));
                let mut frame = Vec::new();
                header.write_error(&CqlError::Overloaded(why.to_owned()), &mut frame);
                session.append_reply(&frame, out, &mut workspaces.cql);
            }
            // Clients of it take the end of a connection for what it is.
            Self::Aerospike(_) => {}
        }
    }
}

impl Reply {
    /// Appends a whole reply that tells of a shard's failure.
    pub(crate) fn write_failure(self, error: &ShardError, out: &mut Vec<u8>) {
        match self {
            Self::Cql(header) => header.write_error(&cql::failure(error, header.asked), out),
            Self::Aerospike(shape) => shape.write(out, aerospike::failure(error)),
            Self::AerospikeInfo => aerospike::write_value(out, Err(error.to_string())),
        }
    }

    /// Appends a whole reply to a request that changes the schema.
    pub(crate) fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>) {
        match self {
            Self::Cql(header) => header.write_schema_outcome(outcome, out),
            Self::Aerospike(shape) => {
                shape.write(out, outcome.as_ref().err().map_or(ResultCode::OK, aerospike::schema_failure));
            }
            Self::AerospikeInfo => aerospike::write_value(out, outcome.as_ref().map(|_| ()).map_err(ToString::to_string)),
        }
    }
}

impl AnyCoordinator {
    /// What stands for the result of a part that failed; the failure again if it is the whole request's.
    pub(crate) fn part_failed(&self, part: u16, error: ShardError) -> Result<Vec<u8>, ShardError> {
        match self {
            Self::Cql(coordinator) => match coordinator.standing() {
                Standing::Open => Err(error),
                Standing::Decided => Err(ShardError::OutcomeUnknown),
                Standing::Done => Ok(Vec::new()),
            },
            Self::Aerospike(coordinator) => coordinator.part_failed(part.into(), aerospike::failure(&error)).ok_or(error),
        }
    }

    /// Whether nothing has been done yet that would have to be undone if the parts that come next cannot run.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Cql(coordinator) => coordinator.standing() == Standing::Open,
            Self::Aerospike(_) => true,
        }
    }

    /// Takes a step. When it fails, the reply is the error.
    pub(crate) fn step(&mut self, reply: Reply, results: Vec<Vec<u8>>, out: &mut Vec<u8>) -> Step {
        let start = out.len();
        match (self, reply) {
            (Self::Cql(coordinator), Reply::Cql(header)) => coordinator.step(results, out).unwrap_or_else(|error| {
                out.truncate(start);
                header.write_error(&error, out);
                Step::Done
            }),
            (Self::Aerospike(coordinator), Reply::Aerospike(shape)) => coordinator.step(results, out).unwrap_or_else(|code| {
                out.truncate(start);
                shape.write(out, code);
                Step::Done
            }),
            _ => unreachable!("a request and its reply are of one protocol"),
        }
    }
}
