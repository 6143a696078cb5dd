//! Roles of a backup become roles here, where there are none of their names.

use super::create::{all_known, resolved};
use crate::schema_changes::{ResolvedChange, SchemaChange, SchemaEnvironment, SchemaFailure};
use model::{Role, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Makes those roles that do not exist; those that do stay as they are.
pub(super) struct CreateRoles {
    pub(super) roles: BTreeMap<String, Arc<Role>>,
    /// Where a refusal goes.
    pub(super) refused: Sender<String>,
}

impl SchemaChange for CreateRoles {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let made = with_roles(schema, &self.roles).and_then(|made| check_members(&made, environment).map(|()| made));
        Ok(resolved(schema, made, &self.refused))
    }
}

/// The schema with the roles that it has not.
fn with_roles(schema: &Schema, wanted: &BTreeMap<String, Arc<Role>>) -> Result<Schema, String> {
    let mut made = schema.clone();
    for (name, role) in wanted.iter().filter(|(name, _)| !schema.roles.contains_key(*name)) {
        let owner = |identity: &String| schema.roles.iter().find(|(_, known)| known.identities.contains(identity)).map(|(owner, _)| owner);
        if let Some((identity, owner)) = role.identities.iter().find_map(|identity| Some((identity, owner(identity)?))) {
            return Err(format!(
                "the identity {identity} of the backup's role {name} is that of the role {owner} here: DROP IDENTITY first"
            ));
        }
        made.roles.insert(name.clone(), Arc::clone(role));
    }
    Ok(made)
}

/// Whether every member of the cluster knows what the roles have.
fn check_members(made: &Schema, environment: &SchemaEnvironment<'_>) -> Result<(), String> {
    all_known(&[
        ("roles", !made.roles.is_empty() && !environment.knows_roles),
        ("permissions", made.has_permissions() && !environment.knows_permissions),
        ("identities of certificates", made.has_identities() && !environment.knows_identities),
        ("log-ins of Aerospike's and GridDB's clients", made.has_digest_logins() && !environment.knows_digest_logins),
        ("limits of roles", made.has_role_limits() && !environment.knows_role_limits),
    ])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn role(identity: &str, can_login: bool) -> Arc<Role> {
        Arc::new(Role { can_login, identities: [identity.to_owned()].into(), ..Role::default() })
    }

    #[test]
    fn a_role_that_exists_stays_as_it_is_and_keeps_its_identity() {
        let roles = |roles: &[(&str, &Arc<Role>)]| roles.iter().map(|(name, role)| ((*name).to_owned(), Arc::clone(role))).collect();
        let (here, there) = (role("a", true), role("a", false));
        let schema = Schema { roles: roles(&[("jo", &here)]), ..Schema::empty() };
        let new = role("b", false);
        let made = with_roles(&schema, &roles(&[("jo", &there), ("eve", &new)])).unwrap();
        assert_eq!(made.roles, roles(&[("jo", &here), ("eve", &new)]));
        let refused = with_roles(&schema, &roles(&[("eve", &there)])).unwrap_err();
        assert!(refused.contains("the identity a of the backup's role eve is that of the role jo here"), "{refused}");
    }
}
