//! What a core asks of whichever protocol. Each macro has an arm for each.

use super::kinds::{AnyCoordinator, Protocol, Reply, Session, Workspaces};
use crate::audit::{Failure, RequestTag};
use crate::cluster::Asker;
use crate::core::Core;
use crate::logins::{LoginRefusal, LoginTag};
use crate::message::Message;
use crate::protocol::{ClientProtocol, ClientSession, ReplyForm, RequestCoordinator, Server, Verdict};
use crate::protocol::{aerospike::Aerospike, cql::Cql, griddb::GridDb};
use crate::request_figures::Class;
use crate::schema_changes::{SchemaChange, SchemaOutcome};
use ::cql::Encryption;
use io::{ConnectionId, Reactor};
use model::operation::Step;
use shard::ShardError;
use std::net::SocketAddr;
use std::sync::Arc;
use tls::ClientCertificate;

#[cfg(test)]
use crate::protocol::ping::Ping;

/// The same with the session of whichever protocol.
macro_rules! on_session {
    ($of:expr, $session:ident => $act:expr) => {
        match $of {
            Session::Cql($session) => $act,
            Session::Aerospike($session) => $act,
            Session::GridDb($session) => $act,
            #[cfg(test)]
            Session::Ping($session) => $act,
        }
    };
    ($of:expr, $workspaces:expr, ($session:ident, $workspace:ident) => $act:expr) => {
        match ($of, $workspaces) {
            (Session::Cql($session), Workspaces { cql: $workspace, .. }) => $act,
            (Session::Aerospike($session), Workspaces { aerospike: $workspace, .. }) => $act,
            (Session::GridDb($session), Workspaces { griddb: $workspace, .. }) => $act,
            #[cfg(test)]
            (Session::Ping($session), Workspaces { ping: $workspace, .. }) => $act,
        }
    };
}

/// The same with the reply of whichever protocol.
macro_rules! on_reply {
    ($of:expr, ($protocol:ident, $reply:ident) => $act:expr) => {
        match $of {
            Reply::Cql($reply) => {
                type $protocol = Cql;
                $act
            }
            Reply::Aerospike($reply) => {
                type $protocol = Aerospike;
                $act
            }
            Reply::GridDb($reply) => {
                type $protocol = GridDb;
                $act
            }
            #[cfg(test)]
            Reply::Ping($reply) => {
                type $protocol = Ping;
                $act
            }
        }
    };
}

/// The same with the coordinator of whichever protocol.
macro_rules! on_coordinator {
    ($of:expr, $coordinator:ident => $act:expr) => {
        match $of {
            AnyCoordinator::Cql($coordinator) => $act,
            AnyCoordinator::Aerospike($coordinator) => $act,
            #[cfg(test)]
            AnyCoordinator::Ping($coordinator) => $act,
        }
    };
}

/// The same for each protocol, in this order.
macro_rules! for_each_protocol {
    ($protocol:ident => $act:expr) => {{
        {
            type $protocol = Cql;
            $act
        }
        {
            type $protocol = Aerospike;
            $act
        }
        {
            type $protocol = GridDb;
            $act
        }
        #[cfg(test)]
        {
            type $protocol = Ping;
            $act
        }
    }};
}

impl Session {
    pub(crate) fn new(protocol: Protocol, peer: SocketAddr, message_bytes_max: u32) -> Self {
        match protocol {
            // Other nodes have no session.
            Protocol::Cql | Protocol::Node => Self::Cql(Box::new(ClientSession::open(peer, message_bytes_max))),
            Protocol::Aerospike => Self::Aerospike(Box::new(ClientSession::open(peer, message_bytes_max))),
            Protocol::GridDb => Self::GridDb(Box::new(ClientSession::open(peer, message_bytes_max))),
            #[cfg(test)]
            Protocol::Ping => Self::Ping(Box::new(ClientSession::open(peer, message_bytes_max))),
        }
    }

    /// See [`ClientSession::AGREES_ON_TLS`].
    pub(crate) fn agrees_on_tls(&self) -> bool {
        fn of<S: ClientSession>(_: &S) -> bool {
            S::AGREES_ON_TLS
        }
        on_session!(self, session => of(&**session))
    }

    /// See [`ClientSession::receive`].
    #[inline]
    pub(crate) fn receive<R: Reactor<Message = Message>>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
        workspaces: &mut Workspaces,
        server: Server<'_, R>,
    ) -> Verdict {
        on_session!(self, workspaces, (session, workspace) => ClientSession::receive(&mut **session, bytes, out, out_bytes_max, workspace, server))
    }

    /// See [`ClientSession::set_encrypted`].
    pub(crate) fn set_encrypted(&mut self, certificate: ClientCertificate, encryption: Option<Encryption>) {
        on_session!(self, session => ClientSession::set_encrypted(&mut **session, certificate, encryption));
    }

    /// See [`ClientSession::buffered_bytes`].
    #[inline]
    pub(crate) fn buffered_bytes(&self) -> usize {
        on_session!(self, session => ClientSession::buffered_bytes(&**session))
    }

    /// See [`ClientSession::in_flight`].
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        on_session!(self, session => ClientSession::in_flight(&**session))
    }

    /// See [`ClientSession::is_background`].
    #[inline]
    pub(crate) fn is_background(&self) -> bool {
        on_session!(self, session => ClientSession::is_background(&**session))
    }

    /// See [`ClientSession::outstanding_bytes`].
    #[inline]
    pub(crate) fn outstanding_bytes(&self) -> usize {
        on_session!(self, session => ClientSession::outstanding_bytes(&**session))
    }

    /// See [`ClientSession::takes_requests`].
    #[inline]
    pub(crate) fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        on_session!(self, session => ClientSession::takes_requests(&**session, unsent_bytes, unsent_bytes_max))
    }

    /// See [`ClientSession::append_late_reply`].
    #[inline]
    pub(crate) fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        on_session!(self, workspaces, (session, workspace) => ClientSession::append_late_reply(&mut **session, reply, out, workspace));
    }

    /// See [`ClientSession::append_piece`].
    pub(crate) fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        on_session!(self, workspaces, (session, workspace) => ClientSession::append_piece(&mut **session, piece, out, workspace));
    }

    /// See [`ClientSession::append_event`].
    pub(crate) fn append_event(&mut self, event: &::cql::wire::Event<'_>, out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        on_session!(self, workspaces, (session, workspace) => ClientSession::append_event(&mut **session, event, out, workspace));
    }

    /// See [`ClientSession::append_overload`].
    pub(crate) fn append_overload(&mut self, out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        on_session!(self, workspaces, (session, workspace) => ClientSession::append_overload(&mut **session, out, workspace));
    }

    /// See [`ClientSession::append_refusal`].
    pub(crate) fn append_refusal(&mut self, bytes: &[u8], why: &str, out: &mut Vec<u8>) {
        on_session!(self, session => ClientSession::append_refusal(&mut **session, bytes, why, out));
    }

    /// See [`ClientSession::closed`].
    pub(crate) fn closed<R: Reactor<Message = Message>>(self, core: &mut Core, reactor: &mut R) {
        on_session!(self, session => ClientSession::closed(*session, core, reactor));
    }

    /// See [`ClientSession::audited_reply`].
    pub(crate) fn audited_reply(&self, reply: &[u8]) -> Option<(RequestTag, Option<Failure>)> {
        on_session!(self, session => ClientSession::audited_reply(&**session, reply))
    }

    /// See [`ClientSession::error_of`].
    #[inline]
    pub(crate) fn error_of(&self, reply: &[u8]) -> Option<(Class, i32)> {
        on_session!(self, session => ClientSession::error_of(&**session, reply))
    }

    /// See [`ClientSession::audited_client`].
    pub(crate) fn audited_client(&self) -> Option<(SocketAddr, &'static str)> {
        on_session!(self, session => ClientSession::audited_client(&**session))
    }

    /// See [`ClientSession::role`].
    pub(crate) fn role(&self) -> Option<&str> {
        on_session!(self, session => ClientSession::role(&**session))
    }

    /// See [`ClientSession::awaits_login`].
    pub(crate) fn awaits_login(&self) -> bool {
        on_session!(self, session => ClientSession::awaits_login(&**session))
    }

    /// See [`ClientSession::identity`].
    pub(crate) fn identity(&self) -> Option<&str> {
        on_session!(self, session => ClientSession::identity(&**session))
    }

    /// See [`ClientSession::finish_login`].
    pub(crate) fn finish_login(&mut self, tag: LoginTag, outcome: Result<Arc<str>, LoginRefusal>, reply: &mut Vec<u8>) {
        on_session!(self, session => ClientSession::finish_login(&mut **session, tag, outcome, reply));
    }
}

impl Workspaces {
    /// Gives back the memory that large frames took.
    pub(crate) fn trim(&mut self) {
        <Cql as ClientProtocol>::Session::trim(&mut self.cql);
        <Aerospike as ClientProtocol>::Session::trim(&mut self.aerospike);
        <GridDb as ClientProtocol>::Session::trim(&mut self.griddb);
    }
}

impl Reply {
    /// See [`ReplyForm::write_failure`].
    pub(crate) fn write_failure(self, error: &ShardError, out: &mut Vec<u8>) {
        on_reply!(self, (_P, reply) => reply.write_failure(error, out));
    }

    /// See [`ReplyForm::write_schema_outcome`].
    pub(crate) fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>) {
        on_reply!(self, (_P, reply) => ReplyForm::write_schema_outcome(reply, outcome, out));
    }

    /// See [`ClientProtocol::start_again`].
    pub(crate) fn start_again<R: Reactor<Message = Message>>(
        self,
        core: &mut Core,
        reactor: &mut R,
        connection: ConnectionId,
        body: &[u8],
        outcome: &SchemaOutcome,
    ) {
        on_reply!(self, (P, reply) => P::start_again(core, reactor, connection, body, outcome, reply));
    }
}

impl AnyCoordinator {
    /// See [`RequestCoordinator::part_failed`].
    pub(crate) fn part_failed(&self, part: u16, error: ShardError) -> Result<Vec<u8>, ShardError> {
        on_coordinator!(self, coordinator => RequestCoordinator::part_failed(coordinator, part, error))
    }

    /// See [`RequestCoordinator::is_open`].
    pub(crate) fn is_open(&self) -> bool {
        on_coordinator!(self, coordinator => RequestCoordinator::is_open(coordinator))
    }

    /// See [`RequestCoordinator::take_schema_change`].
    pub(crate) fn take_schema_change(&mut self) -> Option<Box<dyn SchemaChange>> {
        on_coordinator!(self, coordinator => RequestCoordinator::take_schema_change(coordinator))
    }

    /// See [`RequestCoordinator::take_log`].
    pub(crate) fn take_log(&mut self) -> Vec<(i64, String)> {
        on_coordinator!(self, coordinator => RequestCoordinator::take_log(coordinator))
    }

    /// See [`RequestCoordinator::step`].
    pub(crate) fn step(&mut self, reply: Reply, results: Vec<Vec<u8>>, out: &mut Vec<u8>) -> Step {
        match (self, reply) {
            (Self::Cql(coordinator), Reply::Cql(reply)) => RequestCoordinator::step(coordinator, reply, results, out),
            (Self::Aerospike(coordinator), Reply::Aerospike(reply)) => RequestCoordinator::step(coordinator, reply, results, out),
            #[cfg(test)]
            (Self::Ping(coordinator), Reply::Ping(reply)) => RequestCoordinator::step(coordinator, reply, results, out),
            _ => unreachable!("a request and its reply are of one protocol"),
        }
    }
}

impl Core {
    /// Runs a request that has travelled, by the protocol that its first bytes name: see [`ClientProtocol::run_forwarded`].
    pub(crate) fn run_forwarded_request<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        asker: Asker,
        request: &[u8],
        part: Option<&[u8]>,
    ) {
        let mark = request.first_chunk().map(|mark| u16::from_be_bytes(*mark));
        for_each_protocol!(P => if mark.is_some() && P::FORWARD_MARK == mark {
            return P::run_forwarded(self, reactor, asker, request, part);
        });
        Cql::run_forwarded(self, reactor, asker, request, part);
    }

    /// See [`ClientProtocol::schema_changed`].
    pub(crate) fn protocols_schema_changed(&mut self) {
        for_each_protocol!(P => P::schema_changed(self));
    }

    /// See [`ClientProtocol::turn`].
    pub(crate) fn protocols_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let mut due_us: Option<u64> = None;
        for_each_protocol!(P => due_us = due_us.into_iter().chain(P::turn(self, reactor)).min());
        due_us
    }
}
