//! Changes of users and roles by Aerospike's clients: the same roles as CQL's, by the same rules, and the same permissions to change them.
//!
//! A user is a role that may log in, a role is one that may not. Roles that are predefined are made when they are first given to somebody.
//!
//! Invariant: what a privilege is about exists, as permissions on anything else are forgotten: a namespace and a set are made with it.

use super::declarations::Declared;
use crate::schema_changes::{ResolvedChange, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaUpdate};
use aerospike::ResultCode;
use aerospike::exec::Need;
use aerospike::security::{Command, Privilege, Quotas, Scope, predefined};
use cql::ddl::{self, DdlError, RoleError};
use cql::language::ast::{AlterRole, CreateRole, DropRole, GrantRole, Identifier, PasswordHashes, RevokeRole, RoleOption, Statement};
use cql::permissions::Rights;
use cql::roles::Roles;
use cql::whitelist::is_network;
use model::{Limit, Permission, Permissions, Resource, Role, Schema};
use std::sync::Arc;

/// What a client asks to change.
pub(super) struct RoleChange {
    /// As whom it has logged in.
    pub(super) asker: Arc<str>,
    pub(super) command: Command,
    /// Of the password that it sets; none if there is none, or if what was to be shown for it was wrong.
    pub(super) hashes: Option<PasswordHashes>,
    /// The hash that the old password was compared with.
    pub(super) former: Option<String>,
}

impl SchemaChange for RoleChange {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let rejected = |code: ResultCode, message: String| SchemaFailure::Rejected { code: code.0.into(), message };
        if !(environment.knows_roles && environment.knows_permissions && environment.knows_digest_logins) {
            let message = "Users and roles can be changed once every member of the cluster runs a program that knows Aerospike's log-ins";
            return Err(rejected(ResultCode::SERVER_ERROR, message.to_owned()));
        }
        let environment_knows_limits = environment.knows_role_limits;
        let mut changed =
            ChangedRoles { asker: &self.asker, schema: Schema::clone(schema), declared: Declared::new(environment), environment };
        changed.run(self).map_err(|code| rejected(code, format!("{} was refused: {code}", self.command.name())))?;
        let ChangedRoles { schema: mut after, declared, .. } = changed;
        if after.has_role_limits() && !environment_knows_limits {
            let message = "Roles can have quotas once every member of the cluster runs a program that knows them";
            return Err(rejected(ResultCode::QUOTAS_NOT_ENABLED, message.to_owned()));
        }
        if after.roles == schema.roles && after.keyspaces == schema.keyspaces {
            return Ok(ResolvedChange::default());
        }
        after.version = ddl::content_version(&after);
        let update = SchemaUpdate { schema: Arc::new(after), dropped: Vec::new(), truncated: Vec::new(), events: declared.events };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}

type Changed = Result<(), ResultCode>;

/// A schema in the making.
struct ChangedRoles<'a, 'e> {
    asker: &'a str,
    schema: Schema,
    declared: Declared,
    environment: &'a mut SchemaEnvironment<'e>,
}

impl ChangedRoles<'_, '_> {
    fn run(&mut self, change: &RoleChange) -> Changed {
        let hashes = || change.hashes.clone().map(RoleOption::PasswordHashes);
        match &change.command {
            Command::CreateUser { user, roles, .. } => {
                let options = vec![RoleOption::Login(true), hashes().ok_or(ResultCode::SERVER_ERROR)?];
                self.create(user, options, (ResultCode::INVALID_USER, ResultCode::USER_ALREADY_EXISTS))?;
                self.grant(user, roles)
            }
            Command::DropUser { user } => {
                self.must_be_user(user)?;
                self.drop(user)
            }
            Command::SetPassword { user, .. } => {
                self.must_be_user(user)?;
                self.set_password(user, hashes().ok_or(ResultCode::SERVER_ERROR)?)
            }
            Command::ChangePassword { user, .. } => {
                let stored = self.schema.roles.get(user).and_then(|role| role.aerospike_hash.as_ref());
                // Somebody else may have changed it since it was compared.
                let is_same = stored.is_some() && stored == change.former.as_ref();
                self.set_password(user, hashes().filter(|_| is_same).ok_or(ResultCode::INVALID_CREDENTIAL)?)
            }
            Command::GrantRoles { user, roles } => {
                self.must_be_user(user)?;
                self.grant(user, roles)
            }
            Command::RevokeRoles { user, roles } => {
                self.must_be_user(user)?;
                self.revoke(user, roles)
            }
            Command::CreateRole { role, privileges, whitelist, quotas } => {
                if predefined(role).is_some() {
                    return Err(ResultCode::ROLE_ALREADY_EXISTS);
                }
                self.create(role, vec![RoleOption::Login(false)], (ResultCode::INVALID_ROLE, ResultCode::ROLE_ALREADY_EXISTS))?;
                if !privileges.is_empty() {
                    self.allow(role, privileges)?;
                }
                if !whitelist.is_empty() {
                    self.set_whitelist(role, whitelist)?;
                }
                if *quotas == Quotas::default() { Ok(()) } else { self.set_quotas(role, *quotas) }
            }
            Command::DropRole { role } => {
                self.must_be_role(role)?;
                self.drop(role)
            }
            Command::GrantPrivileges { role, privileges } => self.allow(role, privileges),
            Command::RevokePrivileges { role, privileges } => self.disallow(role, privileges),
            Command::SetWhitelist { role, whitelist } => self.set_whitelist(role, whitelist),
            Command::SetQuotas { role, quotas } => self.set_quotas(role, *quotas),
            Command::Login(_) | Command::Authenticate { .. } | Command::QueryUsers { .. } | Command::QueryRoles { .. } => {
                Err(ResultCode::INVALID_COMMAND)
            }
        }
    }

    /// Carries out a statement as CQL does, with all that it asks of the asker. `code` says what a refusal is here, if it is one.
    fn apply(&mut self, statement: &Statement, code: impl FnOnce(&DdlError) -> Option<ResultCode>) -> Changed {
        let terms = ddl::Environment {
            table_uuid: (self.environment.uuid)(),
            now_us: self.environment.now_us,
            data_center: &self.environment.config.data_center,
            nodes: self.environment.members,
            role: Some(self.asker),
            checks_permissions: self.environment.config.checks_permissions,
        };
        match ddl::apply(&self.schema, None, statement, &terms) {
            Ok(outcome) => outcome.change.into_iter().for_each(|change| self.schema = Arc::unwrap_or_clone(change.schema)),
            Err(error) => code(&error).map_or(Ok(()), Err)?,
        }
        Ok(())
    }

    fn create(&mut self, name: &str, options: Vec<RoleOption>, (bad_name, exists): (ResultCode, ResultCode)) -> Changed {
        let statement = Statement::CreateRole(CreateRole { name: Identifier::new(name), if_not_exists: false, options });
        self.apply(&statement, |error| match error {
            DdlError::Role(RoleError::RoleExists(_)) => Some(exists),
            DdlError::Role(RoleError::RoleName) => Some(bad_name),
            other => code_of(other),
        })
    }

    fn drop(&mut self, name: &str) -> Changed {
        self.apply(&Statement::DropRole(DropRole { name: Identifier::new(name), if_exists: false }), code_of)
    }

    fn set_password(&mut self, user: &str, hashes: RoleOption) -> Changed {
        let alter = AlterRole { name: Identifier::new(user), if_exists: false, options: vec![hashes] };
        self.apply(&Statement::AlterRole(alter), code_of)
    }

    fn grant(&mut self, user: &str, roles: &[String]) -> Changed {
        for role in roles {
            self.make_predefined(role);
            let grant = GrantRole { role: Identifier::new(&**role), grantee: Identifier::new(user) };
            // It may have the role already, directly or by another one.
            let has = |error: &DdlError| matches!(error, DdlError::Role(RoleError::IsMember { member, .. }) if member == user);
            self.apply(&Statement::GrantRole(grant), |error| code_of(error).filter(|_| !has(error)))?;
        }
        Ok(())
    }

    fn revoke(&mut self, user: &str, roles: &[String]) -> Changed {
        for role in roles {
            if predefined(role).is_some() && !self.schema.roles.contains_key(role) {
                continue;
            }
            let revoke = RevokeRole { role: Identifier::new(&**role), revokee: Identifier::new(user) };
            self.apply(&Statement::RevokeRole(revoke), |error| {
                code_of(error).filter(|_| !matches!(error, DdlError::Role(RoleError::IsNotMember { .. })))
            })?;
        }
        Ok(())
    }

    /// Makes a predefined role that nobody has had yet.
    fn make_predefined(&mut self, name: &str) {
        let Some(privileges) = predefined(name).filter(|_| !self.schema.roles.contains_key(name)) else { return };
        let mut role = Role::default();
        for (resource, permissions) in privileges.iter().filter_map(Privilege::permissions).flatten() {
            add(&mut role, resource, permissions);
        }
        self.schema.roles.insert(name.to_owned(), Arc::new(role));
    }

    fn allow(&mut self, name: &str, privileges: &[Privilege]) -> Changed {
        self.must_have(Permission::Authorize)?;
        self.must_be_role(name)?;
        for privilege in privileges {
            self.declare(&privilege.scope)?;
            let permissions = privilege.permissions().ok_or(ResultCode::INVALID_PRIVILEGE)?;
            let role = self.role_mut(name)?;
            permissions.into_iter().for_each(|(resource, permissions)| add(role, resource, permissions));
        }
        Ok(())
    }

    fn disallow(&mut self, name: &str, privileges: &[Privilege]) -> Changed {
        self.must_have(Permission::Authorize)?;
        self.must_be_role(name)?;
        let role = self.role_mut(name)?;
        for privilege in privileges {
            for (resource, permissions) in privilege.permissions().ok_or(ResultCode::INVALID_PRIVILEGE)? {
                remove(role, &resource, permissions);
                if let Resource::AllTablesIn(keyspace) = resource {
                    // What CQL has allowed on the keyspace is listed as this privilege, too.
                    remove(role, &Resource::Keyspace(keyspace), permissions);
                }
            }
        }
        Ok(())
    }

    fn set_whitelist(&mut self, name: &str, whitelist: &[String]) -> Changed {
        self.must_have(Permission::Alter)?;
        self.must_be_role(name)?;
        if !whitelist.iter().all(|network| is_network(network)) {
            return Err(ResultCode::INVALID_WHITELIST);
        }
        self.role_mut(name)?.whitelist = whitelist.iter().cloned().collect();
        Ok(())
    }

    fn set_quotas(&mut self, name: &str, quotas: Quotas) -> Changed {
        self.must_have(Permission::Alter)?;
        self.must_be_role(name)?;
        let limits = &mut self.role_mut(name)?.limits;
        limits.set(Limit::Reads, quotas.read.into());
        limits.set(Limit::Writes, quotas.write.into());
        Ok(())
    }

    /// Makes what a privilege is about.
    fn declare(&mut self, scope: &Scope) -> Changed {
        let (namespace, set) = match scope {
            Scope::Everything => return Ok(()),
            Scope::Namespace(namespace) => (namespace, None),
            Scope::Set(namespace, set) => (namespace, Some(set)),
        };
        if !self.environment.config.aerospike.has_namespace(namespace) {
            return Err(ResultCode::INVALID_PRIVILEGE);
        }
        let declared = match set {
            None => {
                self.declared.add_keyspace(&mut self.schema, namespace);
                Ok(())
            }
            Some(set) => {
                let need = Need { namespace: namespace.clone(), set: set.clone(), bins: Vec::new(), remembers: false };
                self.declared.add(&mut self.schema, &need, (self.environment.uuid)())
            }
        };
        declared.map_err(|_| ResultCode::INVALID_PRIVILEGE)
    }

    fn role_mut(&mut self, name: &str) -> Result<&mut Role, ResultCode> {
        self.schema.roles.get_mut(name).map(Arc::make_mut).ok_or(ResultCode::INVALID_ROLE)
    }

    fn must_be_user(&self, name: &str) -> Changed {
        let is_user = self.schema.roles.get(name).is_some_and(|role| role.can_login);
        if is_user { Ok(()) } else { Err(ResultCode::INVALID_USER) }
    }

    /// A role that is there and can be changed.
    fn must_be_role(&self, name: &str) -> Changed {
        let is_role = self.schema.roles.get(name).is_some_and(|role| !role.can_login) && predefined(name).is_none();
        if is_role { Ok(()) } else { Err(ResultCode::INVALID_ROLE) }
    }

    /// Refuses who may not do this to all roles. AUTHORIZE on all of them is enough to be granted any, so also to give any privilege.
    fn must_have(&self, permission: Permission) -> Changed {
        let may = match self.environment.config.checks_permissions {
            true => Rights::of(&self.schema, &Arc::from(self.asker)).allow(permission, &Resource::AllRoles),
            false => Roles::of(&self.schema).is_superuser(self.asker),
        };
        if may { Ok(()) } else { Err(ResultCode::ROLE_VIOLATION) }
    }
}

fn add(role: &mut Role, resource: Resource, permissions: Permissions) {
    let all = role.permissions.entry(resource).or_default();
    *all = all.or(permissions);
}

fn remove(role: &mut Role, resource: &Resource, permissions: Permissions) {
    let Some(left) = role.permissions.get(resource).map(|all| all.without(permissions)) else { return };
    if left.is_empty() {
        role.permissions.remove(resource);
    } else {
        role.permissions.insert(resource.clone(), left);
    }
}

/// Why CQL has refused it.
fn code_of(error: &DdlError) -> Option<ResultCode> {
    Some(match error {
        DdlError::Role(RoleError::NotPermitted { .. } | RoleError::Insufficient(_) | RoleError::OnlySuperusers(_)) => {
            ResultCode::ROLE_VIOLATION
        }
        DdlError::Role(RoleError::UnknownRole(_) | RoleError::UnknownAlteredRole(_) | RoleError::RoleName) => ResultCode::INVALID_ROLE,
        // One does not drop oneself, nor the last one who could make others.
        DdlError::Role(RoleError::OwnRole | RoleError::OwnSuperuser | RoleError::LastSuperuser) => ResultCode::FORBIDDEN,
        DdlError::Role(RoleError::RoleExists(_)) => ResultCode::ROLE_ALREADY_EXISTS,
        _ => ResultCode::PARAMETER,
    })
}
