//! Log-ins of GridDB's clients, as the roles of CQL: by a certificate if certificates log in, else by the digest of a password.

use super::audited;
use super::statements::Statements;
use crate::audit::Source;
use crate::logins::{Credentials, LoginRefusal, LoginTag, is_griddb_digest};
use crate::message::Message;
use cql::roles::Proof;
use cql::session::Certificate;
use griddb::session::{Login, Progress};
use griddb::{ErrorCode, GridError};
use io::Reactor;
use std::sync::Arc;

/// A connection has one log-in at a time.
const TAG: LoginTag = LoginTag(0);

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Asks who a client is.
    pub(super) fn identify(&mut self, login: Login<'_>) -> Result<Progress, GridError> {
        if !self.core.config.requires_login {
            return Ok(Progress::Replied);
        }
        let Some(address) = self.client.as_deref().map(|client| client.address) else { return Err(required()) };
        if self.certified()? {
            return Ok(Progress::Replied);
        }
        let refused = if is_griddb_digest(login.digest) {
            let credentials = Credentials { role: login.user, password: login.digest, proof: Proof::GridDbDigest };
            self.core.check_credentials(self.reactor, ((self.connection, TAG), address.ip()), credentials)
        } else {
            Err(LoginRefusal::BadCredentials { role: login.user.into() })
        };
        refused.map(|()| Progress::Waiting).map_err(|why| {
            let source = self.source(Some(login.user.into()));
            self.core.audit_login(&source, Some(why.to_string()));
            refusal(&why)
        })
    }

    /// Logs the client in by its certificate, if certificates do. Says whether it has.
    fn certified(&mut self) -> Result<bool, GridError> {
        let Some(client) = self.client.as_deref() else { return Ok(false) };
        let outcome = self.core.certified(&client.certificate, client.address.ip());
        if matches!(outcome, Ok(None)) {
            return Ok(false);
        }
        let identity = if let Certificate::Of(identity) = &client.certificate { Some(Arc::clone(identity)) } else { None };
        let source = self.source(outcome.as_ref().ok().cloned().flatten().or_else(|| identity.clone()));
        self.core.note_certified(self.reactor, self.connection, &source, &outcome);
        let role = outcome.map_err(|why| refusal(&why))?;
        if let Some(client) = self.client.as_deref_mut() {
            client.is_now(role, identity);
        }
        Ok(true)
    }

    /// Who asks, for the audit log.
    pub(super) fn source(&self, role: Option<Arc<str>>) -> Source {
        let nowhere = || ([0, 0, 0, 0], 0).into();
        let address = self.client.as_deref().map_or_else(nowhere, |client| client.address);
        Source { protocol: audited::PROTOCOL, address, role, wall_us: self.reactor.now().wall_us }
    }
}

/// What a statement is told whose client is nobody.
pub(super) fn required() -> GridError {
    GridError::new(ErrorCode::TXN_AUTH_REQUIRED, "log in first")
}

/// Why a client is not logged in, as it hears of it. Who is not there and another password are one and the same.
pub(super) fn refusal(why: &LoginRefusal) -> GridError {
    match why {
        LoginRefusal::BadCredentials { .. } => {
            let hint =
                "a password that was set while this server had no GridDB port, hashed, or by an Aerospike client has to be set again";
            GridError::new(ErrorCode::TXN_AUTH_FAILED, format!("{why}; {hint}"))
        }
        LoginRefusal::Overloaded | LoginRefusal::OverLimit(_) => GridError::new(ErrorCode::CM_NO_MEMORY, why.to_string()),
        LoginRefusal::TooManyFailures(_)
        | LoginRefusal::NoCertificate
        | LoginRefusal::NoIdentity { .. }
        | LoginRefusal::UnknownIdentity { .. }
        | LoginRefusal::NotWhitelisted { .. }
        | LoginRefusal::MayNotLogIn { .. } => GridError::new(ErrorCode::TXN_AUTH_FAILED, why.to_string()),
    }
}
