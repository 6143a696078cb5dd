//! A connection and who its client is.

use aerospike::session::Session;
use cql::permissions::Rights;
use cql::session::Certificate;
use model::Permissions;
use std::net::SocketAddr;
use std::sync::Arc;

/// A connection's state: its session, and its client.
pub(crate) struct Connected {
    pub(super) session: Session,
    pub(super) client: Client,
}

/// Who a connection's client is, and what it may do as far as that has been asked.
pub(super) struct Client {
    pub(super) address: SocketAddr,
    pub(super) certificate: Certificate,
    /// As whom it has logged in.
    pub(super) role: Option<Arc<str>>,
    /// The identity of the certificate by which it has.
    pub(super) identity: Option<Arc<str>>,
    /// What it is given if the log-in that is under way succeeds.
    pub(super) token: Vec<u8>,
    pub(super) rights: Option<Arc<Rights>>,
    /// What it may do where it was last.
    pub(super) last: Option<LastSet>,
}

/// What a role may do on a set, or on a namespace without one, in the version of `Client::rights`.
pub(super) struct LastSet {
    pub(super) namespace: Box<[u8]>,
    pub(super) set: Box<[u8]>,
    /// Whether it is about the whole namespace, and not about records without a set.
    pub(super) is_whole: bool,
    pub(super) permissions: Permissions,
}

impl Client {
    /// Nobody, until a log-in has succeeded, or this role.
    pub(super) fn is_now(&mut self, role: Option<Arc<str>>, identity: Option<Arc<str>>) {
        (self.role, self.identity, self.rights, self.last) = (role, identity, None, None);
    }
}
