//! The part of the audit log that the port of operators has.

use super::{AuditConfig, Category, CoreAudit, Event, Failure, Operation, Source};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How soon a request looks again that waits for the writer.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Who orders what.
#[derive(Clone, Copy, Debug)]
pub struct OperatorRequest<'a> {
    /// From where.
    pub address: SocketAddr,
    /// Who has logged in, or says so.
    pub role: Option<&'a str>,
    /// When its outcome was known.
    pub wall_us: i64,
    /// If it succeeds.
    pub category: Category,
    /// The kind of order.
    pub kind: &'static str,
    /// The order itself; nothing secret is in it.
    pub operation: &'a str,
}

/// Why an order was not carried out.
#[derive(Clone, Copy, Debug)]
pub enum OperatorFailure<'a> {
    /// Who asks may not, or has not logged in.
    Unauthorized(&'a str),
    /// Another reason.
    Other(&'a str),
}

/// Lines of any thread: orders are few, and one waits for another.
pub struct OperatorAudit(Mutex<CoreAudit>);

impl OperatorAudit {
    /// One beside those of the cores.
    #[must_use]
    pub fn new(config: AuditConfig) -> Self {
        Self(Mutex::new(CoreAudit::new(config)))
    }

    /// An order has ended so. Where clients wait for the audit log, so does this.
    pub fn ended(&self, request: &OperatorRequest<'_>, failure: Option<OperatorFailure<'_>>) {
        let source = Source { protocol: "http", address: request.address, role: request.role.map(Into::into), wall_us: request.wall_us };
        let operation = Operation::Text(request.operation.into());
        let event = Event { category: request.category, kind: request.kind, keyspace: None, object: None, operation };
        let failure = failure.map(|failure| match failure {
            OperatorFailure::Unauthorized(why) => Failure::Unauthorized(why.to_owned()),
            OperatorFailure::Other(why) => Failure::Other(why.to_owned()),
        });
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = {
            let mut audit = lock();
            audit.ended(&source, &[event], failure.as_ref());
            audit.turn().is_some()
        };
        while waits && lock().blocks() {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
