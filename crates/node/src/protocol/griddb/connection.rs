//! What the node asks of a connection.

use super::audited;
use super::client::{Client, Connected};
use super::logins::refusal;
use super::statements::Statements;
use super::{ClientSession, GridDb, Server, Verdict};
use crate::audit::{Failure, RequestTag};
use crate::core::Core;
use crate::logins::{LoginRefusal, LoginTag};
use crate::message::Message;
use crate::protocol::presented;
use crate::request_figures::Class;
use cql::Encryption;
use cql::session::Certificate;
use griddb::session::{self, Session};
use io::Reactor;
use std::net::SocketAddr;
use std::sync::Arc;
use tls::ClientCertificate;

impl ClientSession for Connected {
    type Workspace = ();

    const AGREES_ON_TLS: bool = true;

    fn open(peer: SocketAddr, message_bytes_max: u32) -> Self {
        let client =
            Client { address: peer, certificate: Certificate::None, role: None, identity: None, rights: None, has_logged_in: false };
        Self { session: Session::new(peer, message_bytes_max), client }
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
        let mut server = Statements { core, reactor, connection, asker: None, client: Some(&mut self.client) };
        match self.session.receive(bytes, out, out_bytes_max, &mut server) {
            session::Verdict::Continue => Verdict::Continue,
            session::Verdict::Pause => Verdict::Pause,
            session::Verdict::StartTls => Verdict::StartTls,
            session::Verdict::Close => Verdict::Close,
        }
    }

    fn set_encrypted(&mut self, certificate: ClientCertificate, _: Option<Encryption>) {
        self.client.certificate = presented(certificate);
        self.session.set_encrypted();
    }

    fn buffered_bytes(&self) -> usize {
        self.session.buffered_bytes()
    }

    fn in_flight(&self) -> u32 {
        self.session.in_flight()
    }

    fn outstanding_bytes(&self) -> usize {
        self.session.outstanding_bytes()
    }

    fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        self.session.takes_requests(unsent_bytes, unsent_bytes_max)
    }

    fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>, (): &mut ()) {
        self.session.append_late_reply(reply, out);
    }

    fn closed<R: Reactor<Message = Message>>(mut self, core: &mut Core, reactor: &mut R) {
        for open in self.session.take_transactions() {
            GridDb::abort(core, reactor, &open);
        }
    }

    fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, (): &mut ()) {
        out.extend_from_slice(piece);
    }

    fn audited_reply(&self, reply: &[u8]) -> Option<(RequestTag, Option<Failure>)> {
        Some((audited::TAG, audited::failure_of(reply, self.session.is_ipv6())))
    }

    fn error_of(&self, reply: &[u8]) -> Option<(Class, i32)> {
        audited::number_of_error(reply, self.session.is_ipv6()).map(|code| (Class::GRIDDB, code))
    }

    fn audited_client(&self) -> Option<(SocketAddr, &'static str)> {
        Some((self.client.address, audited::PROTOCOL))
    }

    fn role(&self) -> Option<&str> {
        self.client.role.as_deref()
    }

    fn awaits_login(&self) -> bool {
        !self.client.has_logged_in
    }

    fn identity(&self) -> Option<&str> {
        self.client.identity.as_deref()
    }

    fn finish_login(&mut self, _: LoginTag, outcome: Result<Arc<str>, LoginRefusal>, reply: &mut Vec<u8>) {
        let role = outcome.as_ref().ok().cloned();
        let has_logged_in = self.session.finish_login(outcome.map(drop).map_err(|why| refusal(&why)), reply);
        self.client.is_now(role.filter(|_| has_logged_in), None);
    }
}
