//! A connection with another node, as frames. Where TLS is on it is between the frames and the bytes.

use crate::cluster::config::ClusterConfig;
use cluster::wire::{FrameError, FrameReader, Kind, MAGIC, RefusalMessage, append_frame};
use io::{ConnectionId, Reactor};
use std::net::IpAddr;
use tls::{LinkError, Session};

/// Of one connection.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    /// What has arrived.
    pub(crate) reader: FrameReader,
    session: Option<Box<Session>>,
}

impl Channel {
    /// On a connection that this core makes to `to`.
    pub(crate) fn connecting(config: &ClusterConfig, to: IpAddr) -> Result<Self, LinkError> {
        let session = config.tls.as_ref().map(|tls| Session::connecting(tls, to)).transpose()?;
        Ok(Self { reader: FrameReader::new(), session: session.map(Box::new) })
    }

    /// On a connection that another node has made.
    pub(crate) fn accepted(config: &ClusterConfig) -> Result<Self, LinkError> {
        let session = config.tls.as_ref().map(|tls| Session::accepted(tls)).transpose()?;
        Ok(Self { reader: FrameReader::new(), session: session.map(Box::new) })
    }

    /// Takes bytes that have arrived, if they are TLS: others are frames as they are, and left to the reader.
    ///
    /// # Errors
    /// Why the connection is to be closed; the other side is told as far as it understands.
    pub(crate) fn receive<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId, bytes: &mut &[u8]) -> Result<(), String> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let received = session.receive(reactor.now(), std::mem::take(bytes), |said| self.reader.feed(said));
        if session.has_output()
            && let Some(out) = reactor.output(connection)
        {
            session.take_output(out);
        }
        received.map_err(|error| {
            if error != (LinkError::NoTls { begins: MAGIC }) {
                return error.to_string();
            }
            self.session = None;
            self.refuse_mixture(reactor, connection)
        })
    }

    /// Tells a node that does not speak TLS, or that alone does, why nothing comes of it.
    pub(crate) fn refuse_mixture<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId) -> String {
        let text = FrameError::Tls.to_string();
        let refusal = RefusalMessage { code: 0, text: text.clone() };
        self.send(reactor, connection, Kind::REFUSAL, |body| body.extend_from_slice(&refusal.encode()));
        text
    }

    /// Sends a frame, whose body `body` appends. Whether the connection is there.
    pub(crate) fn send<R: Reactor>(
        &mut self,
        reactor: &mut R,
        connection: ConnectionId,
        kind: Kind,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        let Some(out) = reactor.output(connection) else { return false };
        match &mut self.session {
            None => append_frame(out, kind, 0, body),
            Some(session) => {
                session.send(|plaintext| append_frame(plaintext, kind, 0, body));
                session.take_output(out);
            }
        }
        true
    }
}
