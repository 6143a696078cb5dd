//! What the audit log has of the port: orders, and log-ins that are refused. What is only read is not in it.

use super::reply::{FORBIDDEN, OK, Reply, TOO_MANY_REQUESTS, UNAUTHORIZED};
use super::request::{Request, is_order};
use crate::backup::request::Target;
use ::node::{AuditConfig, Category, OperatorAudit, OperatorFailure, OperatorRequest};
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// The log, if there is one.
pub(super) struct HttpAudit(Option<OperatorAudit>);

impl HttpAudit {
    pub(super) fn new(config: Option<AuditConfig>) -> Self {
        Self(config.map(OperatorAudit::new))
    }

    /// A request of a role, if it names one, has this reply; none where a stream has ended. With the role comes whether a certificate was shown.
    pub(super) fn replied(
        &self,
        address: SocketAddr,
        (role, shows_certificate): (Option<String>, bool),
        request: &Request,
        reply: Option<&Reply>,
    ) {
        let Some(audit) = &self.0 else { return };
        let is_refused = reply.is_some_and(|reply| [UNAUTHORIZED, FORBIDDEN, TOO_MANY_REQUESTS].contains(&reply.status));
        let (category, kind) = match kind_of(request) {
            Some(kind) => (Category::Other, kind),
            // What a role may not read is refused, and logged, where rows are.
            None if (role.is_some() || shows_certificate) && reply.is_some_and(|reply| is_refused && reply.status != FORBIDDEN) => {
                (Category::Auth, "LOGIN_ERROR")
            }
            None => return,
        };
        let failure = reply.filter(|reply| reply.status != OK).map(|reply| match is_refused {
            true => OperatorFailure::Unauthorized(reply.body.trim_end()),
            false => OperatorFailure::Other(reply.body.trim_end()),
        });
        let (path, query) = request.target();
        let mut operation = format!("{} {path}", request.method());
        if !query.is_empty() {
            operation = format!("{operation}?{query}");
        }
        if kind == "SET" {
            operation = format!("{operation} {}", request.body);
        }
        let wall_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
        audit.ended(&OperatorRequest { address, role: role.as_deref(), wall_us, category, kind, operation: &operation }, failure);
    }
}

/// The kind of an order; none of what only asks.
fn kind_of(request: &Request) -> Option<&'static str> {
    let (method, target) = (request.method(), request.target());
    let path = target.0;
    match path.split('/').nth(1) {
        Some("backup") if Target::of(method, target).is_some() => Some("BACKUP"),
        Some("restore") if Target::of(method, target).is_some() => Some("RESTORE"),
        _ if method != "POST" || !is_order(path) => None,
        Some("settings") => Some("SET"),
        _ if path.starts_with("/cluster/drain/") => Some("DRAIN"),
        _ => Some("REMOVE"),
    }
}
