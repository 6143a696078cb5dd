//! What the node asks of a connection.

use super::audited;
use super::client::{Client, Connected};
use super::records::Records;
use super::security::{AUTHENTICATED, LOGGED_IN, refusal_code};
use crate::audit::{Failure, RequestTag};
use crate::logins::{LoginRefusal, LoginTag, SESSION_S};
use crate::message::Message;
use crate::protocol::presented;
use crate::protocol::{ClientSession, Server, Verdict};
use crate::request_figures::Class;
use aerospike::ResultCode;
use aerospike::security;
use aerospike::session::{self, Session};
use cql::Encryption;
use cql::session::Certificate;
use io::Reactor;
use std::net::SocketAddr;
use std::sync::Arc;
use tls::ClientCertificate;

impl ClientSession for Connected {
    type Workspace = ();

    fn open(peer: SocketAddr, message_bytes_max: u32) -> Self {
        let client = Client {
            address: peer,
            certificate: Certificate::None,
            role: None,
            identity: None,
            token: Vec::new(),
            rights: None,
            last: None,
        };
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
        let mut server = Records { core, reactor, connection, asker: None, client: Some(&mut self.client), rights: None };
        match self.session.receive(bytes, out, out_bytes_max, &mut server) {
            session::Verdict::Continue => Verdict::Continue,
            session::Verdict::Pause => Verdict::Pause,
            session::Verdict::Close => Verdict::Close,
        }
    }

    fn set_encrypted(&mut self, certificate: ClientCertificate, _: Option<Encryption>) {
        self.client.certificate = presented(certificate);
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

    fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, (): &mut ()) {
        out.extend_from_slice(piece);
    }

    fn audited_reply(&self, reply: &[u8]) -> Option<(RequestTag, Option<Failure>)> {
        Some((audited::TAG, audited::failure_of(reply)))
    }

    fn error_of(&self, reply: &[u8]) -> Option<(Class, i32)> {
        audited::error_of(reply).map(|code| (Class::AEROSPIKE, code))
    }

    fn audited_client(&self) -> Option<(SocketAddr, &'static str)> {
        Some((self.client.address, audited::PROTOCOL))
    }

    fn role(&self) -> Option<&str> {
        self.client.role.as_deref()
    }

    fn identity(&self) -> Option<&str> {
        self.client.identity.as_deref()
    }

    fn finish_login(&mut self, tag: LoginTag, outcome: Result<Arc<str>, LoginRefusal>, reply: &mut Vec<u8>) {
        let token = std::mem::take(&mut self.client.token);
        match outcome {
            Ok(role) => {
                self.client.is_now(Some(role), None);
                match tag {
                    LOGGED_IN => security::write_session(reply, &token, SESSION_S),
                    AUTHENTICATED => security::write_result(reply, ResultCode::OK),
                    other => unreachable!("no log-in has the tag {}", other.0),
                }
            }
            Err(refusal) => security::write_result(reply, refusal_code(&refusal)),
        }
    }
}
