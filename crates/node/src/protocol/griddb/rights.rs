//! What a connection's client may do with containers. Nothing is asked where nobody has to log in; else a statement costs a comparison of the schema's version,
//! and a search among the tables' ids. What changes the schema is checked where that is decided.

use super::logins::required;
use super::statements::Statements;
use crate::message::Message;
use cql::permissions::Rights;
use griddb::GridError;
use griddb::exec::Access;
use io::Reactor;
use model::{Permissions, Table};
use std::sync::Arc;

/// What a role may do that may not do everything.
pub(super) struct Limited(Arc<Rights>);

impl Access for Limited {
    fn permissions(&self, table: &Table) -> Permissions {
        self.0.of_table(table)
    }
}

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// What the client may do; none if it may do everything.
    #[inline]
    pub(super) fn access(&mut self) -> Result<Option<Limited>, GridError> {
        if self.core.config.requires_login { self.access_of_client() } else { Ok(None) }
    }

    #[inline(never)]
    fn access_of_client(&mut self) -> Result<Option<Limited>, GridError> {
        // What has come from elsewhere was checked there, and what waited for a change before that.
        let Some(client) = self.client.as_deref_mut() else { return Ok(None) };
        let role = client.role.as_ref().ok_or_else(required)?;
        if !self.core.config.checks_permissions {
            return Ok(None);
        }
        let rights = match &client.rights {
            Some(rights) if rights.are_of(&self.core.schema) => Arc::clone(rights),
            _ => {
                let rights = self.core.rights_of(role);
                client.rights = Some(Arc::clone(&rights));
                rights
            }
        };
        Ok((!rights.are_all()).then_some(Limited(rights)))
    }
}
