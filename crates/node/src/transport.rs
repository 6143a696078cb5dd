//! What lies between a client's bytes and its session: nothing, or TLS. The first byte tells, so that one port serves both; a session whose protocol
//! begins in plaintext may go over to TLS later.

use crate::represented::Represented;
use cql::Encryption;
use std::sync::Arc;
use tls::{ClientCertificate, ClientTls, IdentityKind, LinkError, Session};

/// How clients are served where they can speak TLS.
#[derive(Clone, Debug)]
pub struct ClientTlsConfig {
    /// The node's certificate and key.
    pub tls: Arc<ClientTls>,
    /// Whether those who do not are refused.
    pub is_required: bool,
}

/// A record of TLS that begins a handshake. No client's protocol begins so.
const HANDSHAKE: u8 = 0x16;
/// What a record is, its version, and how long it is.
const RECORD_HEADER_BYTES: usize = 5;

/// Of one connection.
pub(crate) enum Transport {
    /// Bytes are the session's.
    Plain,
    /// Nothing has arrived yet.
    Undecided {
        /// Whether plaintext is refused here, and not by the session.
        is_tls_required: bool,
        /// Whom the node itself has made it for, if it has.
        represented: Option<Represented>,
    },
    /// Bytes are records of TLS.
    Tls {
        session: Box<Session>,
        /// Whether the session of the protocol knows.
        is_told: bool,
        /// As in [`Transport::Undecided`]: the other end has shown the node's own certificate then.
        represented: Option<Represented>,
    },
}

/// What has arrived on a connection.
pub(crate) enum Arrived {
    /// Bytes for the session, as they are.
    Plain,
    /// Bytes for the session, in the buffer; there may be an end of TLS after them.
    Decrypted(Result<(), LinkError>),
    /// The client does not speak TLS, and has to.
    Refused,
}

/// Buffers that the connections of a core share.
#[derive(Default)]
pub(crate) struct TlsBuffers {
    /// What has arrived, decrypted.
    pub(crate) arrived: Vec<u8>,
    /// Replies that are not encrypted yet.
    pub(crate) replies: Vec<u8>,
}

/// Buffers that have grown beyond this are given back.
const BUFFER_BYTES_KEPT: usize = 1 << 20;

impl TlsBuffers {
    /// Empties them.
    pub(crate) fn clear(&mut self) {
        for buffer in [&mut self.arrived, &mut self.replies] {
            buffer.clear();
            buffer.shrink_to(BUFFER_BYTES_KEPT);
        }
    }
}

impl Transport {
    /// Of a connection that has been accepted. Where TLS is required, plaintext is refused all the same if clients agree on TLS with their session.
    pub(crate) fn accepted(config: Option<&ClientTlsConfig>, is_tls_required: bool, represented: Option<Represented>) -> Self {
        if config.is_some() { Self::Undecided { is_tls_required, represented } } else { Self::Plain }
    }

    /// What comes next is TLS.
    pub(crate) fn start_tls(&mut self, config: &ClientTlsConfig) -> Result<(), LinkError> {
        let represented = match self {
            Self::Undecided { represented, .. } => represented.take(),
            Self::Plain | Self::Tls { .. } => None,
        };
        let session = if represented.is_some() { Session::with_itself(&config.tls)? } else { Session::with_client(&config.tls)? };
        *self = Self::Tls { session: Box::new(session), is_told: false, represented };
        Ok(())
    }

    /// Whether the handshake of TLS is not done, and has begun or has to.
    pub(crate) fn awaits_handshake(&self, is_tls_required: bool) -> bool {
        match self {
            Self::Plain => is_tls_required,
            Self::Undecided { is_tls_required: has_to, .. } => *has_to || is_tls_required,
            Self::Tls { session, .. } => session.is_handshaking(),
        }
    }

    /// Whether bytes that arrive belong to a handshake of TLS.
    pub(crate) fn is_handshake(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Plain => false,
            Self::Undecided { .. } => bytes.first() == Some(&HANDSHAKE),
            Self::Tls { session, .. } => session.is_handshaking(),
        }
    }

    /// Whether these bytes are the first, and less than a record of TLS: nothing is computed for them.
    pub(crate) fn begins_in_part(&self, bytes: &[u8]) -> bool {
        let is_whole = |header: &[u8; RECORD_HEADER_BYTES]| {
            bytes.len() >= RECORD_HEADER_BYTES + usize::from(u16::from_be_bytes([header[3], header[4]]))
        };
        matches!(self, Self::Undecided { .. }) && !bytes.first_chunk().is_some_and(is_whole)
    }

    /// Whether nothing has arrived yet, and plaintext may.
    #[inline]
    pub(crate) fn may_be_plain(&self) -> bool {
        matches!(self, Self::Undecided { is_tls_required: false, .. })
    }

    /// Whether bytes pass as they are.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Takes bytes that have arrived, and appends to `plaintext` what they say if they are TLS.
    pub(crate) fn receive(&mut self, config: Option<&ClientTlsConfig>, now: base::Now, bytes: &[u8], plaintext: &mut Vec<u8>) -> Arrived {
        if let (&mut Self::Undecided { is_tls_required, .. }, Some(config), Some(first)) = (&mut *self, config, bytes.first()) {
            if *first != HANDSHAKE {
                if is_tls_required {
                    return Arrived::Refused;
                }
                *self = Self::Plain;
                return Arrived::Plain;
            }
            if let Err(error) = self.start_tls(config) {
                return Arrived::Decrypted(Err(error));
            }
        }
        match self {
            Self::Tls { session, .. } => Arrived::Decrypted(session.receive(now, bytes, |said| plaintext.extend_from_slice(said))),
            Self::Plain | Self::Undecided { .. } => Arrived::Plain,
        }
    }

    /// What the client has shown of itself by TLS, and what was agreed on: told once, when the handshake is over.
    pub(crate) fn take_certificate(&mut self, kind: Option<IdentityKind>) -> Option<(ClientCertificate, Option<Encryption>)> {
        match self {
            Self::Tls { session, is_told, represented } if !*is_told && !session.is_handshaking() => {
                *is_told = true;
                let certificate = match represented.take() {
                    Some(client) => client.certificate,
                    None => kind.map_or(ClientCertificate::None, |kind| session.client_certificate(kind)),
                };
                Some((certificate, session.agreed().map(|(protocol, cipher)| Encryption { protocol, cipher })))
            }
            _ => None,
        }
    }

    /// Appends to `out` what `write` appends to what it is given, as the client wants it.
    #[inline]
    pub(crate) fn append(&mut self, out: &mut Vec<u8>, buffers: &mut TlsBuffers, write: impl FnOnce(&mut Vec<u8>)) {
        let Self::Tls { session, .. } = self else { return write(out) };
        write(&mut buffers.replies);
        session.send_bytes(&buffers.replies);
        session.take_output(out);
        buffers.clear();
    }

    /// Encrypts replies: [`Transport::flush`] gives them.
    pub(crate) fn send(&mut self, replies: &[u8]) {
        if let Self::Tls { session, .. } = self {
            session.send_bytes(replies);
        }
    }

    /// Appends what is encrypted, what the handshake has to say, and at the `end` that nothing more comes.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>, end: bool) {
        let Self::Tls { session, .. } = self else { return };
        if end {
            session.close();
        }
        session.take_output(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_the_first_record_is_a_part() {
        let before = Transport::Undecided { is_tls_required: true, represented: None };
        let record = [HANDSHAKE, 3, 1, 0, 2, 1, 0];
        let parts: Vec<usize> = (0..=record.len()).filter(|bytes| before.begins_in_part(&record[..*bytes])).collect();
        assert_eq!(parts, [0, 1, 2, 3, 4, 5, 6]);
        assert!(!before.begins_in_part(&[HANDSHAKE, 3, 1, 0, 0]) && !before.begins_in_part(&[&record[..], &record[..]].concat()));
        assert!(!Transport::Plain.begins_in_part(&record[..3]));
    }
}
