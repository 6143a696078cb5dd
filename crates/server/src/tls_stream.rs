//! TLS over a socket of a thread that waits: the HTTP port's connections, and those of `tarndb status` and others to it.

use crate::tls_files::now;
use std::borrow::Borrow;
use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;
use tls::{ClientCertificate, IdentityKind, LinkError, Session};

const READ_BYTES: usize = 4 << 10;

/// A connection that speaks TLS. Writing sends what is flushed.
pub(crate) struct TlsStream<S> {
    stream: S,
    session: Session,
    /// What has arrived and was not read yet, from `taken` on.
    arrived: Vec<u8>,
    taken: usize,
    is_closed: bool,
    /// When reading fails, however slowly bytes come.
    deadline: Option<Instant>,
}

impl<S: Borrow<TcpStream>> TlsStream<S> {
    pub(crate) fn new(stream: S, session: Session, deadline: Option<Instant>) -> Self {
        Self { stream, session, arrived: Vec::new(), taken: 0, is_closed: false, deadline }
    }

    /// From now on only the socket's own timeouts count.
    pub(crate) fn end_deadline(&mut self) {
        self.deadline = None;
    }

    /// Whether the client has shown a certificate: once something was read.
    pub(crate) fn has_client_certificate(&self) -> bool {
        self.session.has_client_certificate()
    }

    /// What the client has shown of itself: once something was read.
    pub(crate) fn client_certificate(&self, kind: IdentityKind) -> ClientCertificate {
        self.session.client_certificate(kind)
    }

    /// Says that nothing more comes.
    pub(crate) fn close(&mut self) -> std::io::Result<()> {
        self.session.close();
        self.flush()
    }

    /// Takes what the socket has next.
    fn take(&mut self) -> std::io::Result<()> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(ErrorKind::TimedOut.into());
        }
        let mut bytes = [0; READ_BYTES];
        let count = self.stream.borrow().read(&mut bytes)?;
        if count == 0 {
            // An end that TLS has not said may be an attacker's.
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let (arrived, session) = (&mut self.arrived, &mut self.session);
        let outcome = session.receive(now(), &bytes[..count], |said| arrived.extend_from_slice(said));
        // What ends the handshake, or says why it has failed.
        self.flush()?;
        match outcome {
            Ok(()) => Ok(()),
            Err(LinkError::Closed) => {
                self.is_closed = true;
                Ok(())
            }
            Err(error) => Err(Error::other(error)),
        }
    }
}

impl<S: Borrow<TcpStream>> Read for TlsStream<S> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.flush()?;
        while self.taken == self.arrived.len() {
            if self.is_closed {
                return Ok(0);
            }
            (self.taken, self.arrived) = (0, Vec::new());
            self.take()?;
        }
        let waiting = &self.arrived[self.taken..];
        let count = waiting.len().min(out.len());
        out[..count].copy_from_slice(&waiting[..count]);
        self.taken += count;
        Ok(count)
    }
}

impl<S: Borrow<TcpStream>> Write for TlsStream<S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.session.send_bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let mut out = Vec::new();
        self.session.take_output(&mut out);
        self.stream.borrow().write_all(&out)
    }
}
