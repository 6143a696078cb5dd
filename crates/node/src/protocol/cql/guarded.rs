//! Guardrails of a client's statements: whom they hold for, and what becomes of the warnings.
//!
//! They are looked at by the core and member that the client is connected to. Superusers are exempt, and so is what no client asks for.

use super::rights::RightsOfRoles;
use crate::live_guardrails::LiveGuardrails;
use crate::requests::Requests;
use cql::CqlError;
use cql::exec::Execution;
use cql::guardrails::{Guardrails, Violation, check_statement};
use cql::session::Client;
use cql::system;
use cql::wire::Consistency;
use model::Schema;
use model::operation::Context;

/// What a statement passes through before it runs.
pub(super) struct Gate<'a> {
    pub(super) live: &'a LiveGuardrails,
    pub(super) rights: &'a mut RightsOfRoles,
    pub(super) schema: &'a Schema,
    pub(super) requests: &'a mut Requests,
}

impl Gate<'_> {
    /// Checks a statement, and keeps what its reply is to warn of. Gives whether there is something.
    ///
    /// # Errors
    /// It is refused.
    #[cold]
    pub(super) fn check(
        self,
        client: &Client,
        now_us: i64,
        check: impl FnOnce(&Guardrails) -> Result<Vec<Violation>, Violation>,
    ) -> Result<bool, CqlError> {
        if client.role.as_ref().is_some_and(|role| self.rights.of(self.schema, role).are_all()) {
            return Ok(false);
        }
        let warnings = check(&self.live.get()).inspect_err(|violation| self.live.log(now_us, [violation]))?;
        self.live.log(now_us, &warnings);
        let has_warnings = !warnings.is_empty();
        self.requests.warnings = has_warnings.then(|| warnings.into_iter().map(|warning| warning.message).collect());
        Ok(has_warnings)
    }
}

/// Checks a statement with its values; `serial` is the level that its request gives for conditions. System tables are everybody's: drivers read them.
///
/// # Errors
/// It is refused.
pub(super) fn check(
    gate: Gate<'_>,
    client: &Client,
    execution: &Execution<'_>,
    serial: Option<Consistency>,
    context: &Context,
) -> Result<bool, CqlError> {
    if execution.prepared.table.as_ref().is_some_and(|(keyspace, _)| system::is_system_keyspace(keyspace)) {
        return Ok(false);
    }
    gate.check(client, context.now.wall_us, |guardrails| check_statement(guardrails, execution, serial, context))
}
