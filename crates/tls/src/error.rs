//! Why there is no TLS, in words that say what to do.

use rustls::{AlertDescription, CertificateError, Error};
use std::net::IpAddr;

/// Why files are of no use to a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The file with the certificate.
    #[error("{why}")]
    Certificate {
        /// What is wrong with it.
        why: String,
    },
    /// The file with the key.
    #[error("{why}")]
    Key {
        /// What is wrong with it.
        why: String,
    },
    /// The file with the authority's certificates.
    #[error("{why}")]
    Authority {
        /// What is wrong with it.
        why: String,
    },
    /// The key is another certificate's.
    #[error("is not the key of the certificate that is given with it")]
    Mismatch,
    /// Other nodes would not accept the certificate.
    #[error("other nodes would refuse it at {address}: {why}")]
    Refused {
        /// Where they reach this node.
        address: IpAddr,
        /// Why they would.
        why: String,
    },
}

/// Why a session has ended.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// The peer's first bytes are no TLS.
    #[error("no TLS begins with {begins:02x?}: the peer is no TarnDB node, or one without TLS")]
    NoTls {
        /// Its first bytes.
        begins: [u8; 4],
    },
    /// This side refuses the peer's certificate.
    #[error("the peer's certificate is refused: {why}")]
    Certificate {
        /// Why.
        why: String,
    },
    /// The peer has ended the handshake.
    #[error("the peer refused TLS: {why}")]
    Alert {
        /// Why, as far as it says.
        why: String,
    },
    /// Nothing more comes.
    #[error("the peer has ended TLS")]
    Closed,
    /// Anything else.
    #[error("TLS has failed: {0}")]
    Broken(Error),
}

impl From<Error> for LinkError {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(_) => Self::Certificate { why: refusal(&error) },
            Error::NoCertificatesPresented => Self::Certificate { why: "it has none".to_owned() },
            Error::AlertReceived(alert) => Self::Alert { why: reason(alert) },
            other => Self::Broken(other),
        }
    }
}

/// What is wrong with a certificate.
pub(crate) fn refusal(error: &Error) -> String {
    let Error::InvalidCertificate(error) = error else { return error.to_string() };
    let known = match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => "it is signed by none of the authorities that this node trusts",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is not for this address: name the node's address in subjectAltName (IP:...)"
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for this use: extendedKeyUsage must have serverAuth and clientAuth, or be left out"
        }
        // These say from when, or until when.
        CertificateError::Expired => "it has expired",
        CertificateError::NotValidYet => "it is not valid yet: look at the clocks",
        other => return other.to_string(),
    };
    known.to_owned()
}

/// What the peer means.
fn reason(alert: AlertDescription) -> String {
    let known = match alert {
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "this node's certificate is signed by none of the authorities that the peer trusts"
        }
        AlertDescription::CertificateExpired => "this node's certificate has expired, or is not valid yet",
        AlertDescription::BadCertificate | AlertDescription::UnsupportedCertificate | AlertDescription::CertificateUnknown => {
            "this node's certificate is not for this use or address"
        }
        other => return format!("alert {other:?}"),
    };
    known.to_owned()
}
