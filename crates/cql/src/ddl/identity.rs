//! ADD and DROP IDENTITY: which certificates of clients log in as which role. Permissions and errors are those of Cassandra 5.0.
//!
//! One thing is stricter: identities of superusers are superusers' to add and drop, or CREATE on all roles would be a way to become one.

use super::DdlError;
use super::change::Outcome;
use super::error::RoleError;
use super::role::Asker;
use crate::language::ast::{AddIdentity, DropIdentity};
use model::{Permission, Role};

/// The longest identity, as that of SPIFFE.
const IDENTITY_BYTES_MAX: usize = 2048;

impl Asker<'_> {
    pub(super) fn add_identity(&self, add: &AddIdentity) -> Result<Outcome, DdlError> {
        let (identity, name) = (&*add.identity, &*add.role);
        // Cassandra looks at the asker's own role, and permissions on all roles are above it.
        self.must_have(Permission::Create, Some(self.name))?;
        let role = self.roles().get(name).ok_or_else(|| RoleError::IdentityOfNobody(name.to_owned()))?;
        self.may_change_identities_of(name)?;
        if identity.is_empty() || identity.len() > IDENTITY_BYTES_MAX {
            return Err(RoleError::IdentityLength(IDENTITY_BYTES_MAX).into());
        }
        match self.roles().of_identity(identity) {
            None => {
                let mut role = Role::clone(role);
                role.identities.insert(identity.to_owned());
                self.with_role(name, role)
            }
            Some(_) if add.if_not_exists => Ok(Outcome::unchanged()),
            Some(_) => Err(DdlError::Role(RoleError::IdentityExists(identity.to_owned()))),
        }
    }

    pub(super) fn drop_identity(&self, drop: &DropIdentity) -> Result<Outcome, DdlError> {
        let identity = &*drop.identity;
        self.must_have(Permission::Drop, Some(self.name))?;
        let Some(name) = self.roles().of_identity(identity) else {
            let error = DdlError::Role(RoleError::UnknownIdentity(identity.to_owned()));
            return if drop.if_exists { Ok(Outcome::unchanged()) } else { Err(error) };
        };
        self.may_change_identities_of(name)?;
        let mut role = self.roles().get(name).map(|role| Role::clone(role)).unwrap_or_default();
        role.identities.remove(identity);
        self.with_role(name, role)
    }

    fn may_change_identities_of(&self, role: &str) -> Result<(), DdlError> {
        match self.roles().is_superuser(role) && !self.is_superuser() {
            true => Err(DdlError::Role(RoleError::OnlySuperusers("can add or drop identities of a role with superuser status"))),
            false => Ok(()),
        }
    }
}
