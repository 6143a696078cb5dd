//! Certificates that log clients in, as Cassandra's `MutualTlsAuthenticator` and `MutualTlsWithPasswordFallbackAuthenticator` do: TLS has verified them, and
//! roles have their identities. Nothing is compared, so there is no wait.

use super::state::LoginRefusal;
use crate::audit::Source;
use crate::core::Core;
use crate::message::Message;
use cql::roles::Roles;
use cql::session::Certificate;
use io::{ConnectionId, Reactor};
use std::net::IpAddr;
use std::sync::Arc;
use tls::IdentityKind;

impl Core {
    /// As whom a client is served by its certificate; none if it has to log in by its password, or nobody has to.
    pub(crate) fn certified(&mut self, certificate: &Certificate, address: IpAddr) -> Result<Option<Arc<str>>, LoginRefusal> {
        let Some(logins) = self.config.certificates else { return Ok(None) };
        let identity = match certificate {
            Certificate::None if logins.or_password => return Ok(None),
            Certificate::None => return Err(LoginRefusal::NoCertificate),
            Certificate::WithoutIdentity => return Err(LoginRefusal::NoIdentity { what: described(logins.identity) }),
            Certificate::Of(identity) => identity,
        };
        let roles = Roles::of(&self.schema);
        let role = roles.of_identity(identity).ok_or_else(|| LoginRefusal::UnknownIdentity { identity: Arc::clone(identity) })?;
        match roles.with_login(role) {
            Some(_) if !roles.admits(role, address) => Err(LoginRefusal::NotWhitelisted { role: role.into(), address }),
            Some(_) => {
                let role: Arc<str> = role.into();
                self.check_connection(&role)?;
                Ok(Some(role))
            }
            None => Err(LoginRefusal::MayNotLogIn { role: role.into() }),
        }
    }

    /// Counts and tells of a certificate that has logged a client in, or not.
    pub(crate) fn note_certified<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &R,
        connection: ConnectionId,
        source: &Source,
        outcome: &Result<Option<Arc<str>>, LoginRefusal>,
    ) {
        match outcome {
            Ok(None) => {}
            Ok(Some(_)) => self.audit_login(source, None),
            Err(refusal) => {
                self.logins.failures += 1;
                self.log_tls_failure(reactor, connection, refusal);
                self.audit_login(source, Some(refusal.to_string()));
            }
        }
    }
}

fn described(kind: IdentityKind) -> &'static str {
    match kind {
        IdentityKind::Spiffe => "URI in subjectAltName that begins with spiffe://",
        IdentityKind::CommonName => "single common name in its subject",
    }
}
