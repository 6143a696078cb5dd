//! What clients' roles may do, as a core knows it.

use cql::CqlError;
use cql::permissions::Rights;
use cql::plan::Prepared;
use cql::session::Client;
use model::Schema;
use std::collections::HashMap;
use std::sync::Arc;

/// The rights of roles that have clients on a core, in the current version of the schema.
#[derive(Default)]
pub(super) struct RightsOfRoles {
    roles: HashMap<Arc<str>, Arc<Rights>>,
}

impl RightsOfRoles {
    /// They have to be worked out again.
    pub(super) fn schema_changed(&mut self) {
        self.roles.clear();
    }

    /// Refuses a statement that the client's role may not run.
    ///
    /// None is refused unless rights are to be checked. A client keeps what its role may do, so that a statement costs no look at the roles.
    #[inline(never)]
    pub(super) fn check(&mut self, is_checked: bool, schema: &Schema, client: &mut Client, prepared: &Prepared) -> Result<(), CqlError> {
        let Some(role) = &client.role else { return Ok(()) };
        if !is_checked {
            return Ok(());
        }
        match &client.rights {
            Some(rights) if rights.are_of(schema) => rights.check_statement(prepared),
            _ => {
                let rights = self.roles.entry(Arc::clone(role)).or_insert_with(|| Arc::new(Rights::of(schema, role)));
                client.rights = Some(Arc::clone(rights));
                rights.check_statement(prepared)
            }
        }
    }
}
