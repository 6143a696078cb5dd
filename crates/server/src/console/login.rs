//! Who asks.

use load::cql::client::Credentials;
use std::net::IpAddr;
use std::sync::Arc;

/// As whom an operator has logged in.
pub(crate) struct Login {
    pub(crate) role: Arc<str>,
    pub(crate) password: String,
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
    /// What it logs in with at other ports.
    pub(crate) fn credentials(&self) -> Option<Credentials<'a>> {
        self.login.map(|login| Credentials { user: &login.role, password: &login.password })
    }
}
