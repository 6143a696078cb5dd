//! One client connection: from received bytes to requests, from plain reply frames to bytes to send. No I/O.
//!
//! The session answers what concerns only the connection (STARTUP, OPTIONS, REGISTER, broken frames) and hands every statement to its
//! [`Server`], and before any the name and password of the client where the server asks for them. A statement's reply may come at once or
//! later; replies may come in any order. A client whose certificate says who it is is not asked for a password: READY answers its STARTUP.
//!
//! Invariant: where clients have to log in, no statement reaches the server before [`Server::certified`] or [`Session::log_in`] has said as whom.

mod client;
mod credentials;
mod handshake;
mod outgoing;
mod server;

pub use client::{BACKGROUND, Certificate, Client, WORKLOAD};
pub use credentials::Credentials;
pub use outgoing::Workspaces;
pub use server::Server;

use crate::wire::{
    CompressionWorkspace, Direction, Event, EventKind, Frame, FrameDecoder, Opcode, Request, StreamId, StringList, Tracing, WireError,
    write_auth_token, write_unsupported_version,
};
use crate::{CqlError, reply};
use handshake::{Handshake, Phase, answer_startup, new_request, unknown_request, write_options};
use outgoing::Outgoing;
use std::net::SocketAddr;
use std::sync::Arc;

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a broken connection must be closed"]
pub enum Verdict {
    /// It does.
    Continue,
    /// There is more to serve, but so much to send already that the client should take it first: call again with no bytes once it has.
    Pause,
    /// What was written must still be sent, then it ends.
    Close,
}

/// A connection's state.
#[derive(Debug)]
pub struct Session {
    decoder: FrameDecoder,
    outgoing: Outgoing,
    client: Client,
    phase: Phase,
    registered: [bool; 3],
}

impl Session {
    /// A new connection whose frames have bodies of at most `body_bytes_max`.
    #[must_use]
    pub fn new(address: SocketAddr, body_bytes_max: u32) -> Self {
        Self {
            decoder: FrameDecoder::new(Direction::Request, body_bytes_max),
            outgoing: Outgoing::new(),
            client: Client::connecting(address),
            phase: Phase::New,
            registered: [false; 3],
        }
    }

    /// What statements know of the connection.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// As [`Session::client`], to change it.
    pub fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Bytes of memory the session holds for what has arrived only in part.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.decoder.buffered_bytes()
    }

    /// Takes received bytes, serves the requests in them and appends to `out` what is to be sent; serves no further request once that has
    /// more than `out_bytes_max` bytes, or the replies that are still to come may have. With 0 it serves none.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
        workspaces: &mut Workspaces,
        server: &mut impl Server,
    ) -> Verdict {
        let Self { decoder, outgoing, client, phase, registered } = self;
        let mut frames = decoder.feed(bytes, &mut workspaces.incoming);
        let mut verdict = Verdict::Continue;
        loop {
            if client.has_enough(out.len(), out_bytes_max) {
                verdict = Verdict::Pause;
                break;
            }
            let frame = match frames.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => {
                    answer_broken(outgoing, client, &error, out, &mut workspaces.outgoing);
                    verdict = Verdict::Close;
                    break;
                }
            };
            client.version = frame.header.version;
            let stream = frame.header.stream;
            if *phase == Phase::Ready {
                outgoing.write(out, &mut workspaces.outgoing, |out| ready_request(&frame, client, registered, server, out));
                continue;
            }
            if *phase != Phase::New {
                outgoing.write(out, &mut workspaces.outgoing, |out| unknown_request(&frame, client, phase, server, out));
                continue;
            }
            match new_request(&frame, client, server, out) {
                Handshake::Answered => {}
                Handshake::Start(started) => {
                    let (version, compression) = (client.version, started.compression);
                    // The answer itself still goes out in the old form.
                    if let Err(error) = frames.startup_agreed(version, compression) {
                        reply::write_error(out, version, stream, &CqlError::Protocol(error.to_string()));
                        verdict = Verdict::Close;
                        break;
                    }
                    *phase = answer_startup(started, client, stream, server, out);
                    outgoing.startup_agreed(version, compression);
                }
            }
        }
        outgoing.flush(out, &mut workspaces.outgoing);
        verdict
    }

    /// What came of [`Server::authenticate`]: from now on the client is this role, or may try again. The reply is given by
    /// [`Session::append_late_reply`], like that of a statement.
    pub fn log_in(&mut self, stream: StreamId, outcome: Result<Arc<str>, CqlError>, reply: &mut Vec<u8>) {
        let version = self.client.version;
        match outcome {
            Ok(role) => {
                self.client.show(|state| (state.is_ready, state.role) = (true, Some(Arc::clone(&role))));
                (self.phase, self.client.role, self.client.rights) = (Phase::Ready, Some(role), None);
                reply::write_frame(reply, version, stream, Opcode::AuthSuccess, |body| write_auth_token(body, None));
            }
            Err(error) => {
                self.phase = Phase::Asked;
                reply::write_error(reply, version, stream, &error);
            }
        }
    }

    /// Whether [`Session::receive`] would serve another request.
    #[must_use]
    pub fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        !self.client.has_enough(unsent_bytes, unsent_bytes_max)
    }

    /// Appends the plain reply frame of a request that was not answered at once; an empty one ends a request that has had its reply.
    pub fn append_late_reply(&mut self, frame: &[u8], out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        self.client.note_reply(frame.len());
        if !frame.is_empty() {
            self.append_reply(frame, out, workspaces);
        }
    }

    /// Appends a plain frame, as the connection wants it.
    pub fn append_reply(&mut self, frame: &[u8], out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        self.outgoing.append(frame, out, &mut workspaces.outgoing);
    }

    /// Appends an event if the client asked for its kind.
    pub fn append_event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        if self.phase != Phase::Ready || !self.registered[kind_index(event.kind())] {
            return;
        }
        let version = self.client.version;
        let mut frame = Vec::new();
        reply::write_frame(&mut frame, version, StreamId::EVENT, Opcode::Event, |body| event.write(body, version));
        self.append_reply(&frame, out, workspaces);
    }

    /// Whether the client asked for events.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        self.registered.contains(&true)
    }
}

#[inline]
fn ready_request(frame: &Frame<'_>, client: &mut Client, registered: &mut [bool; 3], server: &mut impl Server, out: &mut Vec<u8>) {
    let (version, stream) = (frame.header.version, frame.header.stream);
    match Request::decode(frame) {
        Ok((envelope, request @ (Request::Execute(_) | Request::Query(_) | Request::Batch(_) | Request::Prepare(_)))) => {
            if let Some(connected) = &client.connected {
                connected.count_request();
            }
            match envelope.tracing {
                Tracing::Off => server.statement(client, stream, request, out),
                Tracing::Requested => server.traced_statement(client, stream, request, out),
            }
        }
        Ok((_, Request::Options)) => write_options(version, stream, server, out),
        Ok((_, Request::Register(kinds))) => match register(&kinds, registered) {
            Ok(()) => reply::write_frame(out, version, stream, Opcode::Ready, |_| {}),
            Err(error) => reply::write_error(out, version, stream, &error),
        },
        Ok((_, other)) => {
            let error = CqlError::Protocol(format!("Unexpected message {} on a connection that is ready", other.opcode().name()));
            reply::write_error(out, version, stream, &error);
        }
        Err(error) => reply::write_error(out, version, stream, &CqlError::Protocol(error.to_string())),
    }
}

fn register(kinds: &StringList<'_>, registered: &mut [bool; 3]) -> Result<(), CqlError> {
    for name in kinds.iter() {
        let kind = EventKind::from_name(name).map_err(|_| CqlError::Protocol(format!("Invalid value '{name}' for Type")))?;
        registered[kind_index(kind)] = true;
    }
    Ok(())
}

fn kind_index(kind: EventKind) -> usize {
    match kind {
        EventKind::TopologyChange => 0,
        EventKind::StatusChange => 1,
        EventKind::SchemaChange => 2,
    }
}

/// Says what was wrong with the byte stream, in a form that the client can read.
fn answer_broken(outgoing: &mut Outgoing, client: &Client, error: &WireError, out: &mut Vec<u8>, workspace: &mut CompressionWorkspace) {
    let stream = error.stream();
    outgoing.write(out, workspace, |out| match error {
        WireError::UnsupportedVersion { version, .. } => write_unsupported_version(out, *version, stream),
        _ => reply::write_error(out, client.version, stream, &CqlError::Protocol(error.to_string())),
    });
}
