//! Who is let in: those that log in, over TLS where it is required.

use super::reply::{FORBIDDEN, Reply, TOO_MANY_REQUESTS, UNAUTHORIZED};
use super::request::Request;
use super::served::Served;
use super::sql;
use super::transport::Transport;
use crate::console::{self, Login, Proof};
use crate::operator_logins::{OperatorRefusal, OperatorRights};
use std::net::IpAddr;

/// Plaintext where TLS is required.
pub(super) fn refuse_plaintext(served: &Served, transport: &Transport) -> Option<Reply> {
    let is_refused = *transport == Transport::Plain && served.tls.as_ref().is_some_and(|tls| tls.is_required);
    is_refused.then(|| Reply::text("426 Upgrade Required", "this port is to be spoken to by TLS: https:// (setting `tls`)"))
}

/// Lets in whoever logs in, where that is asked for: by name and password if they are given, else by certificate.
pub(super) fn admit(served: &Served, transport: &Transport, address: IpAddr, request: &Request) -> Result<Option<Login>, Reply> {
    let Some(logins) = &served.logins else { return Ok(None) };
    let outcome = match (request.login(), transport.identity()) {
        (Some((role, password)), _) => {
            let rights = logins.log_in(address, &role, &password);
            rights.map(|rights| (Login { role: role.into(), proof: Proof::Password(password) }, rights))
        }
        (None, _) if request.header("authorization").is_some() => {
            return Err(Reply::text(
                UNAUTHORIZED,
                "the header Authorization is not of the scheme Basic, with UTF-8 and a colon (RFC 7617)",
            ));
        }
        (None, Some(identity)) => {
            let certified = logins.certified(address, identity);
            certified.map(|(role, rights)| (Login { role, proof: Proof::Identity(identity.to_owned()) }, rights))
        }
        (None, None) => {
            let how = match served.certificate_identity {
                Some(_) => "by name and password, or by a certificate: tarndb has --login-file and --http-certificate for it",
                None => "by name and password: tarndb has --login-file for it",
            };
            return Err(Reply::text(UNAUTHORIZED, format!("log in as a role, {how}")));
        }
    };
    let is_order = request.method() != "GET" && !request.target().0.starts_with(console::API) && !sql::is_sql(request);
    match outcome {
        Ok((_, OperatorRights::Reads)) if is_order => Err(Reply::text(FORBIDDEN, "orders are for superusers")),
        Ok((login, _)) => Ok(Some(login)),
        Err(refusal @ OperatorRefusal::TooManyFailures(_)) => Err(Reply::text(TOO_MANY_REQUESTS, refusal.to_string())),
        Err(refusal) => Err(Reply::text(UNAUTHORIZED, refusal.to_string())),
    }
}

/// The role that a request names, whether it may log in or not.
pub(super) fn named_role(served: &Served, transport: &Transport, request: &Request) -> Option<String> {
    let by_certificate = || served.logins.as_ref()?.role_of(transport.identity()?);
    request.login().map(|(role, _)| role).or_else(by_certificate)
}
