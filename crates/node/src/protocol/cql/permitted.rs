//! What the client of a statement may run, and what it sees of it.

use super::rights;
use super::statements::Statements;
use crate::message::Message;
use cql::CqlError;
use cql::plan::Prepared;
use cql::session::Client;
use io::Reactor;
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Refuses a statement that the client's role may not run.
    pub(super) fn check_rights(&mut self, client: &mut Client, prepared: &Prepared) -> Result<(), CqlError> {
        let core = &mut *self.core;
        core.protocols.cql.rights.check(core.config.checks_permissions, &core.schema, client, prepared)
    }

    /// The statement that the client runs, whose rights have been checked.
    pub(super) fn seen_by(&self, client: &Client, prepared: Arc<Prepared>) -> Arc<Prepared> {
        match rights::seen(self.core.config.checks_permissions, client, &prepared) {
            seen if Arc::ptr_eq(seen, &prepared) => prepared,
            seen => Arc::clone(seen),
        }
    }
}
