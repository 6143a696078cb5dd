//! The seam between a node and the protocols that clients speak: what a protocol gives, and what it gets.
//!
//! A protocol is a crate without I/O (its messages, its session, its operations) and a folder here, which ties that crate to a core. The rest of
//! the node knows no protocol: it calls [`registry`], the one file that lists them. `docs/internals/protocols.md` says how to add one.
//!
//! | a protocol gives | as |
//! |---|---|
//! | decoding, its connection's state | [`ClientSession`] |
//! | plans and operations | [`model::operation::Operation`]s, which its session has run by [`crate::core::Core`] |
//! | requests over several partitions | [`RequestCoordinator`] |
//! | the form of its failures and of what came of a schema change | [`ReplyForm`] |
//! | changes of the schema | [`crate::schema_changes::SchemaChange`]s |
//! | log-in | [`ClientSession::finish_login`], after [`crate::core::Core::check_credentials`] |
//! | how its requests travel between cores and members | [`ClientProtocol::FORWARD_MARK`], [`ClientProtocol::run_forwarded`] |
//! | what it shows of the node and the cluster | its own requests, from [`crate::core::Core`] and [`crate::cluster::View`] |
//! | background work | [`ClientProtocol::turn`] |
//!
//! Sessions and replies are variants of enums, not trait objects: a session's methods are generic over the reactor, and a request costs no
//! allocation and no call through a table.

pub(crate) mod aerospike;
pub(crate) mod cql;
pub(crate) mod griddb;
#[cfg(test)]
mod ping;
mod registry;
mod rights;

pub use registry::Protocol;
pub(crate) use registry::{AnyCoordinator, CoreStates, Reply, Session, Workspaces};

use crate::audit::{Failure, RequestTag};
use crate::cluster::Asker;
use crate::core::Core;
use crate::logins::{LoginRefusal, LoginTag};
use crate::message::Message;
use crate::request_figures::Class;
use crate::schema_changes::{SchemaChange, SchemaOutcome};
use ::cql::Encryption;
use ::cql::session::Certificate;
use io::{ConnectionId, Reactor};
use model::operation::Step;
use shard::ShardError;
use std::net::SocketAddr;
use std::sync::Arc;
use tls::ClientCertificate;

/// A protocol that clients speak.
pub(crate) trait ClientProtocol {
    /// A connection's state.
    type Session: ClientSession;
    /// How a request is answered that waits.
    type Reply: ReplyForm;
    /// Who drives a request over several partitions.
    type Coordinator: RequestCoordinator<Reply = Self::Reply>;

    /// The first two bytes of its requests when they travel, big-endian; `None` for CQL, whose requests start with the length of a name,
    /// which is never so large. From 65,534 downwards: 65,535 is CQL's, too.
    const FORWARD_MARK: Option<u16>;

    /// Runs a request, or a part of it, that another core or member has sent on, and has it answered by [`Core::answer_asker`], at once or
    /// later. `request` is as the protocol has put it into [`crate::cluster::Route`], mark included; `part` is what
    /// [`model::operation::Operation::describe`] has written of the part.
    fn run_forwarded<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, asker: Asker, request: &[u8], part: Option<&[u8]>);

    /// Starts a request again that has waited for a change of the schema ([`crate::requests::Work::Restart`]), or tells why that was not
    /// made. The default is for protocols whose requests do not wait in this way.
    fn start_again<R: Reactor<Message = Message>>(
        core: &mut Core,
        reactor: &mut R,
        connection: ConnectionId,
        _body: &[u8],
        outcome: &SchemaOutcome,
        reply: Self::Reply,
    ) {
        let mut out = Vec::new();
        reply.write_schema_outcome(outcome, &mut out);
        core.deliver(reactor, connection, &out);
    }

    /// On every core: the schema is another one now.
    fn schema_changed(_core: &mut Core) {}

    /// Does background work when it is time. Gives the monotonic time at which to be called again.
    fn turn<R: Reactor<Message = Message>>(_core: &mut Core, _reactor: &mut R) -> Option<u64> {
        None
    }
}

/// Who serves a connection's requests while its bytes are being received.
pub(crate) type Server<'a, R> = (&'a mut Core, &'a mut R, ConnectionId);

/// A connection's state, as its protocol keeps it.
///
/// A session decodes requests and has each served at once, or keeps it waiting: a request that waits is a [`crate::requests::Request`] of the
/// core, and its reply comes by [`ClientSession::append_late_reply`].
pub(crate) trait ClientSession: Sized {
    /// Buffers that the sessions of a core share.
    type Workspace: Default;

    /// Whether clients begin in plaintext and may then agree with the session on TLS ([`Verdict::StartTls`]), which sees to it that who has to does.
    const AGREES_ON_TLS: bool = false;

    /// A connection was accepted. A request may have so many bytes.
    fn open(peer: SocketAddr, message_bytes_max: u32) -> Self;

    /// Serves the requests in `bytes`, after those that were left when it said [`Verdict::Pause`], and appends their replies to `out`, until
    /// that has about `out_bytes_max` bytes more.
    fn receive<R: Reactor<Message = Message>>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
        workspace: &mut Self::Workspace,
        server: Server<'_, R>,
    ) -> Verdict;

    /// Its client speaks TLS, as was agreed on, and has shown this of itself.
    fn set_encrypted(&mut self, _certificate: ClientCertificate, _encryption: Option<Encryption>) {}

    /// Gives back the memory that large requests took.
    fn trim(_workspace: &mut Self::Workspace) {}

    /// Bytes of memory it holds for what has arrived only in part.
    fn buffered_bytes(&self) -> usize;

    /// Requests whose reply has not been given yet.
    fn in_flight(&self) -> u32;

    /// Whether its requests give way to those of other clients.
    fn is_background(&self) -> bool {
        false
    }

    /// How large the replies that are still to come may be together.
    fn outstanding_bytes(&self) -> usize;

    /// Whether it would serve another request.
    fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool;

    /// Appends the whole reply of a request that was not answered at once.
    fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>, workspace: &mut Self::Workspace);

    /// Appends a piece of a reply, of which more is to come.
    fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, workspace: &mut Self::Workspace);

    /// Appends an event, if the client asked for such.
    fn append_event(&mut self, _event: &::cql::wire::Event<'_>, _out: &mut Vec<u8>, _workspace: &mut Self::Workspace) {}

    /// Says why a connection is closed whose request takes too much memory before it has arrived. Without it, the connection just ends.
    fn append_overload(&mut self, _out: &mut Vec<u8>, _workspace: &mut Self::Workspace) {}

    /// Says why nothing is served to a client that begins with these bytes. Without it, the connection just ends.
    fn append_refusal(&mut self, _bytes: &[u8], _why: &str, _out: &mut Vec<u8>) {}

    /// The connection has ended.
    fn closed<R: Reactor<Message = Message>>(self, _core: &mut Core, _reactor: &mut R) {}

    /// Which request a whole late reply answers, and why that failed if it did: for the audit log, if that knows the protocol.
    fn audited_reply(&self, _reply: &[u8]) -> Option<(RequestTag, Option<Failure>)> {
        None
    }

    /// The number of the error that a whole late reply tells of, in which class it is counted, if it is one.
    fn error_of(&self, _reply: &[u8]) -> Option<(Class, i32)> {
        None
    }

    /// Where its client is, if its log-ins are audited, and the protocol's name.
    fn audited_client(&self) -> Option<(SocketAddr, &'static str)> {
        None
    }

    /// As whom its client has logged in.
    fn role(&self) -> Option<&str> {
        None
    }

    /// Whether its client has never logged in.
    fn awaits_login(&self) -> bool {
        self.role().is_none()
    }

    /// The identity of the certificate by which its client has logged in, if it has not by a password.
    fn identity(&self) -> Option<&str> {
        None
    }

    /// What came of a log-in that this session has asked for: writes its reply to `reply`.
    fn finish_login(&mut self, _tag: LoginTag, _outcome: Result<Arc<str>, LoginRefusal>, _reply: &mut Vec<u8>) {
        unreachable!("nobody logs in by this protocol");
    }
}

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Continue,
    /// There is more to serve, once there is room.
    Pause,
    /// What was written is sent as it is; all that comes after it, from either side, is TLS.
    StartTls,
    /// What was written must still be sent, then it ends.
    Close,
}

/// How a request is answered: what its reply needs besides the result.
pub(crate) trait ReplyForm: Copy {
    /// Appends a whole reply that tells of a shard's failure.
    fn write_failure(self, error: &ShardError, out: &mut Vec<u8>);

    /// Appends a whole reply to a request that changes the schema.
    fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>);
}

/// Drives a request over several partitions from the core that holds the connection: see [`model::operation::Coordinator`].
pub(crate) trait RequestCoordinator {
    /// How its request is answered.
    type Reply: ReplyForm;

    /// Says what to run next, or that the reply is complete. A failure is a reply, too.
    fn step(&mut self, reply: Self::Reply, results: Vec<Vec<u8>>, out: &mut Vec<u8>) -> Step;

    /// What stands for the result of a part that failed.
    ///
    /// # Errors
    /// The failure, if it is the whole request's.
    fn part_failed(&self, part: u16, error: ShardError) -> Result<Vec<u8>, ShardError>;

    /// The change of the schema that it waits for, if it waits for one; when that is made it is asked for the next step.
    fn take_schema_change(&mut self) -> Option<Box<dyn SchemaChange>> {
        None
    }

    /// What functions of users have logged since it was asked last: levels and lines.
    fn take_log(&mut self) -> Vec<(i64, String)> {
        Vec::new()
    }

    /// Whether nothing has been done yet that would have to be undone if the parts that come next cannot run.
    fn is_open(&self) -> bool;
}

/// The certificate that a client has shown, as log-ins take it.
fn presented(certificate: ClientCertificate) -> Certificate {
    match certificate {
        ClientCertificate::None => Certificate::None,
        ClientCertificate::WithoutIdentity => Certificate::WithoutIdentity,
        ClientCertificate::Of(identity) => Certificate::Of(identity.into()),
    }
}
