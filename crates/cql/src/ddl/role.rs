//! CREATE, ALTER and DROP ROLE, GRANT and REVOKE of roles, by somebody who has logged in.

use super::DdlError;
use super::change::{Context, Outcome};
use super::error::RoleError;
use crate::language::ast::{
    AccessScope, AlterRole, CreateRole, DropRole, GrantRole, Literal, PasswordHashes, RevokeRole, RoleOption, Statement,
};
use crate::roles::{Roles, is_hash};
use crate::whitelist::by_first_address;
use base::nearest;
use model::{Limit, Permission, ROLE_LIMIT_MAX, Resource, Role, RoleLimits};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Who asks, and the roles as they are.
pub(super) struct Asker<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) name: &'a str,
}

impl Asker<'_> {
    /// Answers a statement about roles; none if it is another one.
    pub(super) fn apply(&self, statement: &Statement) -> Option<Result<Outcome, DdlError>> {
        Some(match statement {
            Statement::CreateRole(create) => self.create(create),
            Statement::AlterRole(alter) => self.alter(alter),
            Statement::DropRole(drop) => self.drop(drop),
            Statement::GrantRole(grant) => self.grant(grant),
            Statement::RevokeRole(revoke) => self.revoke(revoke),
            Statement::AddIdentity(add) => self.add_identity(add),
            Statement::DropIdentity(drop) => self.drop_identity(drop),
            Statement::GrantPermissions(grant) if self.context.checks_permissions() => self.grant_permissions(grant),
            Statement::RevokePermissions(revoke) if self.context.checks_permissions() => self.revoke_permissions(revoke),
            _ => return None,
        })
    }

    pub(super) fn roles(&self) -> Roles<'_> {
        Roles::of(self.context.schema)
    }

    pub(super) fn is_superuser(&self) -> bool {
        self.roles().is_superuser(self.name)
    }

    /// Refuses who is no superuser, nor has this permission on roles, or on one.
    pub(super) fn must_have(&self, permission: Permission, role: Option<&str>) -> Result<(), DdlError> {
        if self.is_superuser() {
            return Ok(());
        }
        let resource = role.map_or(Resource::AllRoles, |role| Resource::Role(role.to_owned()));
        match self.context.checks_permissions() {
            true if self.rights().allow(permission, &resource) => Ok(()),
            true => Err(DdlError::Role(RoleError::Insufficient(self.name.to_owned()))),
            false => {
                let (role, permission, resource) = (self.name.to_owned(), permission.name(), resource.to_string());
                Err(DdlError::Role(RoleError::NotPermitted { role, permission, resource }))
            }
        }
    }

    fn must_exist(&self, role: &str) -> Result<(), DdlError> {
        self.roles().get(role).map(|_| ()).ok_or_else(|| DdlError::Role(RoleError::UnknownRole(role.to_owned())))
    }

    /// The schema with these roles, unless nobody could manage them any more.
    fn with_roles(&self, roles: BTreeMap<String, Arc<Role>>) -> Result<Outcome, DdlError> {
        let after = Roles(&roles);
        let is_manageable = |name: &String| after.is_superuser(name) && after.with_login(name).is_some_and(|role| role.has_password());
        if !roles.keys().any(is_manageable) {
            return Err(RoleError::LastSuperuser.into());
        }
        let mut schema = self.context.schema.clone();
        schema.roles = roles;
        Ok(self.context.with_schema(schema, None, Vec::new()))
    }

    /// The roles with one of them changed.
    pub(super) fn with_role(&self, name: &str, role: Role) -> Result<Outcome, DdlError> {
        let mut roles = self.roles().0.clone();
        if roles.get(name).is_some_and(|former| **former == role) {
            return Ok(Outcome::unchanged());
        }
        roles.insert(name.to_owned(), Arc::new(role));
        self.with_roles(roles)
    }

    pub(super) fn create(&self, create: &CreateRole) -> Result<Outcome, DdlError> {
        let name = create.name.as_str();
        self.must_have(Permission::Create, None)?;
        if create.options.contains(&RoleOption::Superuser(true)) && !self.is_superuser() {
            return Err(RoleError::OnlySuperusers("can create a role with superuser status").into());
        }
        if name.is_empty() || name.contains('\0') {
            return Err(RoleError::RoleName.into());
        }
        let mut role = Role::default();
        self.set_options(&mut role, &create.options)?;
        match self.roles().get(name) {
            None => self.with_role(name, role),
            Some(_) if create.if_not_exists => Ok(Outcome::unchanged()),
            Some(_) => Err(DdlError::Role(RoleError::RoleExists(name.to_owned()))),
        }
    }

    pub(super) fn alter(&self, alter: &AlterRole) -> Result<Outcome, DdlError> {
        let name = alter.name.as_str();
        let is_superuser = self.is_superuser();
        if alter.options.iter().any(|option| matches!(option, RoleOption::Superuser(_))) {
            if self.roles().granted(self.name, true).contains(name) {
                return Err(RoleError::OwnSuperuser.into());
            }
            if !is_superuser {
                return Err(RoleError::OnlySuperusers("are allowed to alter superuser status").into());
            }
        }
        if !is_superuser && alter.options.iter().any(|option| matches!(option, RoleOption::Datacenters(_))) {
            return Err(RoleError::OnlySuperusers("are allowed to alter access to datacenters.").into());
        }
        if !is_superuser && alter.options.iter().any(|option| matches!(option, RoleOption::Cidrs(_))) {
            return Err(RoleError::OnlySuperusers("are allowed to alter access from CIDR groups.").into());
        }
        if name != self.name {
            self.must_have(Permission::Alter, Some(name))?;
        } else if !is_superuser && alter.options.iter().any(|option| matches!(option, RoleOption::Login(_))) {
            return Err(RoleError::OwnOption("LOGIN").into());
        } else if !is_superuser && alter.options.iter().any(|option| matches!(option, RoleOption::Options(_))) {
            return Err(RoleError::OwnOption("OPTIONS").into());
        }
        let mut role = match self.roles().get(name) {
            Some(role) => Role::clone(role),
            None if alter.if_exists => return Ok(Outcome::unchanged()),
            None => return Err(RoleError::UnknownAlteredRole(name.to_owned()).into()),
        };
        self.set_options(&mut role, &alter.options)?;
        self.with_role(name, role)
    }

    pub(super) fn drop(&self, drop: &DropRole) -> Result<Outcome, DdlError> {
        let name = drop.name.as_str();
        self.must_have(Permission::Drop, Some(name))?;
        if name == self.name {
            return Err(RoleError::OwnRole.into());
        }
        if self.roles().is_superuser(name) && !self.is_superuser() {
            return Err(RoleError::OnlySuperusers("can drop a role with superuser status").into());
        }
        if drop.if_exists && self.roles().get(name).is_none() {
            return Ok(Outcome::unchanged());
        }
        self.must_exist(name)?;
        let mut roles = self.roles().0.clone();
        roles.remove(name);
        for role in roles.values_mut().filter(|role| role.member_of.contains(name)) {
            Arc::make_mut(role).member_of.remove(name);
        }
        self.with_roles(roles)
    }

    pub(super) fn grant(&self, grant: &GrantRole) -> Result<Outcome, DdlError> {
        let (role, grantee) = (grant.role.as_str(), grant.grantee.as_str());
        self.must_have(Permission::Authorize, Some(role))?;
        self.must_exist(role)?;
        self.must_exist(grantee)?;
        for (member, group) in [(grantee, role), (role, grantee)] {
            if self.roles().granted(member, true).contains(group) {
                return Err(RoleError::IsMember { member: member.to_owned(), group: group.to_owned() }.into());
            }
        }
        self.with_member_of(grantee, |member_of| member_of.insert(role.to_owned()))
    }

    pub(super) fn revoke(&self, revoke: &RevokeRole) -> Result<Outcome, DdlError> {
        let (role, revokee) = (revoke.role.as_str(), revoke.revokee.as_str());
        self.must_have(Permission::Authorize, Some(role))?;
        self.must_exist(role)?;
        self.must_exist(revokee)?;
        if !self.roles().granted(revokee, false).contains(role) || role == revokee {
            return Err(RoleError::IsNotMember { member: revokee.to_owned(), group: role.to_owned() }.into());
        }
        self.with_member_of(revokee, |member_of| member_of.remove(role))
    }

    fn with_member_of(&self, name: &str, change: impl FnOnce(&mut BTreeSet<String>) -> bool) -> Result<Outcome, DdlError> {
        let mut role = self.roles().get(name).map(|role| Role::clone(role)).unwrap_or_default();
        change(&mut role.member_of);
        self.with_role(name, role)
    }

    fn set_options(&self, role: &mut Role, options: &[RoleOption]) -> Result<(), DdlError> {
        for option in options {
            match option {
                RoleOption::HashedPassword(hash) if is_hash(hash) => {
                    // Nobody knows the password here, so there is nothing that clients of other protocols could log in by.
                    (role.password_hash, role.aerospike_hash, role.griddb_hash) = (Some(hash.to_string()), None, None);
                }
                RoleOption::PasswordHashes(hashes) => {
                    let PasswordHashes { password, aerospike, griddb } = hashes.clone();
                    [role.password_hash, role.aerospike_hash, role.griddb_hash] =
                        [password, aerospike, griddb].map(|hash| hash.map(String::from));
                }
                RoleOption::HashedPassword(_) => return Err(RoleError::HashedPassword.into()),
                // `roles::set_hash` has replaced it.
                RoleOption::Password(_) => return Err(DdlError::Unsupported("a password that has not been hashed")),
                RoleOption::GeneratedPassword => return Err(DdlError::Unsupported("GENERATED PASSWORD")),
                RoleOption::Superuser(is_superuser) => role.is_superuser = *is_superuser,
                RoleOption::Login(can_login) => role.can_login = *can_login,
                RoleOption::Options(options) => role.limits = limits_of(options)?,
                // There is one datacenter: access to it is access to all.
                RoleOption::Datacenters(scope) => self.check_datacenters(scope)?,
                RoleOption::Cidrs(scope) => role.whitelist = whitelist_of(scope)?,
            }
        }
        Ok(())
    }

    /// Refuses datacenters that there are not.
    fn check_datacenters(&self, scope: &AccessScope) -> Result<(), DdlError> {
        let own = self.context.environment.data_center;
        let unknown: Vec<&str> = scope.names().filter(|name| *name != own).collect();
        match unknown.is_empty() {
            true => Ok(()),
            false => Err(DdlError::Role(RoleError::UnknownDatacenters(unknown.join(", ")))),
        }
    }
}

/// The networks that `ACCESS FROM` gives; none for all.
fn whitelist_of(scope: &AccessScope) -> Result<BTreeSet<String>, DdlError> {
    let network = |name: &str| by_first_address(name).ok_or_else(|| DdlError::Role(RoleError::NoNetwork(name.to_owned())));
    scope.names().map(network).collect()
}

/// The limits that `OPTIONS` gives; those that it does not name are none. 0 is none, too.
fn limits_of(options: &[(Literal, Literal)]) -> Result<RoleLimits, DdlError> {
    let mut limits = RoleLimits::default();
    for (name, value) in options {
        let (name, value) = (name.raw_text(), value.raw_text());
        let Some(limit) = Limit::from_name(&name) else {
            let known = nearest(&name, Limit::ALL.iter().map(|limit| limit.name())).map(str::to_owned);
            return Err(RoleError::UnknownRoleOption { name: name.into_owned(), suggestion: known }.into());
        };
        match value.parse() {
            Ok(value) if value <= ROLE_LIMIT_MAX => limits.set(limit, value),
            _ => return Err(RoleError::RoleLimit { limit: limit.name(), value: value.into_owned() }.into()),
        }
    }
    Ok(limits)
}
