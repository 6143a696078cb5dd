//! A connection and who its client is.

use cql::permissions::Rights;
use cql::session::Certificate;
use griddb::session::Session;
use std::net::SocketAddr;
use std::sync::Arc;

/// A connection's state: its session, and its client.
pub(crate) struct Connected {
    pub(super) session: Session,
    pub(super) client: Client,
}

/// Who a connection's client is, and what it may do.
pub(super) struct Client {
    pub(super) address: SocketAddr,
    pub(super) certificate: Certificate,
    /// As whom it has logged in.
    pub(super) role: Option<Arc<str>>,
    /// The identity of the certificate by which it has.
    pub(super) identity: Option<Arc<str>>,
    pub(super) rights: Option<Arc<Rights>>,
    /// Whether it ever has: who logs out may stay, for clients do that with connections that they keep.
    pub(super) has_logged_in: bool,
}

impl Client {
    /// Nobody, until a log-in has succeeded, or this role.
    pub(super) fn is_now(&mut self, role: Option<Arc<str>>, identity: Option<Arc<str>>) {
        self.has_logged_in |= role.is_some();
        (self.role, self.identity, self.rights) = (role, identity, None);
    }
}
