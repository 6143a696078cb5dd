//! Who asks.

use load::cql::client::Credentials;
use std::net::IpAddr;
use std::sync::Arc;
use tls::ClientCertificate;

/// As whom an operator has logged in.
pub(crate) struct Login {
    pub(crate) role: Arc<str>,
    pub(crate) proof: Proof,
}

/// What has logged an operator in.
pub(crate) enum Proof {
    Password(String),
    /// A certificate of this identity.
    Identity(String),
}

/// Who asks over HTTP.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    /// As whom; none where nobody has to log in.
    pub(crate) login: Option<&'a Login>,
    /// From where.
    pub(crate) address: IpAddr,
    /// Whether with a certificate that clients' authorities have signed.
    pub(crate) shows_certificate: bool,
}

impl<'a> Asker<'a> {
    /// The password that it logs in with at other ports, if it does.
    pub(crate) fn credentials(&self) -> Option<Credentials<'a>> {
        match self.login? {
            Login { role, proof: Proof::Password(password) } => Some(Credentials { user: role, password }),
            Login { proof: Proof::Identity(_), .. } => None,
        }
    }

    /// The certificate that it logs in with there.
    pub(crate) fn certificate(&self) -> ClientCertificate {
        match self.login {
            Some(Login { proof: Proof::Identity(identity), .. }) => ClientCertificate::Of(identity.clone()),
            Some(Login { proof: Proof::Password(_), .. }) | None => ClientCertificate::None,
        }
    }
}
