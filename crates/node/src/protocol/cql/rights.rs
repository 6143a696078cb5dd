//! What clients' roles may do, as a core knows it.

use cql::CqlError;
use cql::permissions::Rights;
use cql::plan::{Masking, Prepared};
use cql::session::Client;
use model::Schema;
use std::collections::HashMap;
use std::sync::Arc;

/// The rights of roles that have clients on a core, in the current version of the schema.
#[derive(Default)]
pub(crate) struct RightsOfRoles {
    roles: HashMap<Arc<str>, Arc<Rights>>,
}

impl RightsOfRoles {
    /// They have to be worked out again.
    pub(super) fn schema_changed(&mut self) {
        self.roles.clear();
    }

    /// Those of a role.
    pub(crate) fn of(&mut self, schema: &Schema, role: &Arc<str>) -> Arc<Rights> {
        Arc::clone(self.roles.entry(Arc::clone(role)).or_insert_with(|| Arc::new(Rights::of(schema, role))))
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
            _ => client.rights.insert(self.of(schema, role)).check_statement(prepared),
        }
    }
}

/// The statement that a client whose rights have been checked runs: with masks in place of values, if it may not see them.
///
/// A request that another member has sent on says which one: rights are known where the client is.
#[inline]
pub(super) fn seen<'p>(is_checked: bool, client: &Client, prepared: &'p Arc<Prepared>) -> &'p Arc<Prepared> {
    match prepared.masking.as_deref() {
        Some(Masking { masked: Some(masked), .. }) if sees_masks(is_checked, client, prepared) => masked,
        _ => prepared,
    }
}

#[cold]
fn sees_masks(is_checked: bool, client: &Client, prepared: &Prepared) -> bool {
    match (&client.role, &client.rights) {
        (None, _) => client.is_masked,
        (Some(_), _) if !is_checked => false,
        (Some(_), Some(rights)) => !rights.unmask(prepared),
        (Some(_), None) => true,
    }
}
