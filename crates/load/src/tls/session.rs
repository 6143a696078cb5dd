//! A session under load: requests that are sent in one piece share records, as those of drivers do.

use super::access::{TlsAccess, now};
use crate::target::{Replies, Request, Session, TargetError};
use std::sync::Arc;

/// Plaintext that waits is encrypted beyond this, so that the connection sees how much there is to send.
const PLAINTEXT_BYTES_MAX: usize = 256 << 10;

/// A session of a protocol over TLS.
pub(crate) struct TlsSession {
    inner: Box<dyn Session>,
    access: Arc<TlsAccess>,
    tls: Option<tls::Session>,
    /// What `inner` has appended and is not encrypted yet.
    plaintext: Vec<u8>,
}

impl TlsSession {
    pub(crate) fn new(inner: Box<dyn Session>, access: Arc<TlsAccess>) -> Self {
        Self { inner, access, tls: None, plaintext: Vec::new() }
    }

    fn encrypt(&mut self, out: &mut Vec<u8>) {
        let Some(tls) = &mut self.tls else { return };
        if !self.plaintext.is_empty() {
            tls.send_bytes(&self.plaintext);
            self.plaintext.clear();
        }
        tls.take_output(out);
    }
}

impl Session for TlsSession {
    fn open(&mut self, out: &mut Vec<u8>) {
        self.plaintext.clear();
        // It was possible before; if the operating system has no entropy now, nothing is sent, and the connection is given up as one that is silent.
        self.tls = self.access.session().ok();
        self.inner.open(&mut self.plaintext);
        self.encrypt(out);
    }

    fn is_ready(&self) -> bool {
        self.inner.is_ready()
    }

    fn request(&mut self, stream: u16, request: &Request<'_>, out: &mut Vec<u8>) {
        self.inner.request(stream, request, &mut self.plaintext);
        if self.plaintext.len() >= PLAINTEXT_BYTES_MAX {
            self.encrypt(out);
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        self.inner.flush(&mut self.plaintext);
        self.encrypt(out);
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>, replies: &mut dyn Replies) -> Result<(), TargetError> {
        let (inner, plaintext) = (&mut self.inner, &mut self.plaintext);
        let mut outcome = Ok(());
        let said = |said: &[u8]| {
            if outcome.is_ok() {
                outcome = inner.receive(said, plaintext, &mut *replies);
            }
        };
        let taken = self.tls.as_mut().map_or(Ok(()), |tls| tls.receive(now(), bytes, said));
        self.encrypt(out);
        outcome?;
        taken.map_err(|error| TargetError::Protocol { protocol: "TLS", what: error.into() })
    }
}
