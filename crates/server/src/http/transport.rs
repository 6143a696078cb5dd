//! What an operator's connection is: plaintext or TLS, with a certificate or without.

use crate::tls_stream::TlsStream;
use std::io::{Read, Write};
use std::net::TcpStream;
use tls::{ClientCertificate, IdentityKind};

/// What a request has come over.
#[derive(PartialEq, Eq)]
pub(super) enum Transport {
    Plain,
    Tls {
        /// Whether the client has shown a certificate that clients' authorities have signed.
        shows_certificate: bool,
        /// Whom that says it is, where certificates log in.
        certificate: ClientCertificate,
    },
}

impl Transport {
    pub(super) fn shows_certificate(&self) -> bool {
        matches!(self, Self::Tls { shows_certificate: true, .. })
    }

    pub(super) fn identity(&self) -> Option<&str> {
        match self {
            Self::Tls { certificate: ClientCertificate::Of(identity), .. } => Some(identity),
            Self::Tls { .. } | Self::Plain => None,
        }
    }
}

/// A connection of an operator.
pub(super) trait OperatorStream: Read + Write {
    /// From now on only the socket's own timeouts count.
    fn end_deadline(&mut self) {}

    /// Known once something was read.
    fn transport(&self, _: Option<IdentityKind>) -> Transport {
        Transport::Plain
    }
}

impl OperatorStream for &TcpStream {}

impl OperatorStream for TlsStream<&TcpStream> {
    fn end_deadline(&mut self) {
        Self::end_deadline(self);
    }

    fn transport(&self, kind: Option<IdentityKind>) -> Transport {
        let certificate = kind.map_or(ClientCertificate::None, |kind| self.client_certificate(kind));
        Transport::Tls { shows_certificate: self.has_client_certificate(), certificate }
    }
}
