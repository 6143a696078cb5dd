//! Changes of users, databases and privileges by GridDB's clients: the roles, keyspaces and permissions of CQL, by the same rules.
//!
//! | statement | is |
//! |---|---|
//! | PUT_USER, DROP_USER | CREATE ROLE or ALTER ROLE with a password, DROP ROLE; without a password a role that may not log in |
//! | PUT_DATABASE, DROP_DATABASE | CREATE KEYSPACE, DROP KEYSPACE of one without tables |
//! | PUT_PRIVILEGE | READ: SELECT on all tables in the keyspace; ALL: CREATE, ALTER, DROP, SELECT, MODIFY. It takes the place of the one before |
//! | DROP_PRIVILEGE | REVOKE of these, also of those on the keyspace |

use super::declarations::REPLICATION_FACTOR;
use super::failures::nobody;
use crate::schema_changes::{ResolvedChange, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaUpdate};
use base::TableId;
use cql::ddl::{self, DdlError, SchemaEvent};
use cql::language::ast::{
    AlterRole, CreateKeyspace, CreateRole, DropKeyspace, DropRole, GrantPermissions, Identifier, Literal, PasswordHashes, PermissionSet,
    Property, PropertyValue, Resource as ResourceName, RevokePermissions, RoleOption, Statement,
};
use griddb::users::{Privilege, UserStatement};
use griddb::{ErrorCode, GridError, PUBLIC_DATABASE};
use model::{Permissions, Resource, Schema};
use std::sync::Arc;

/// What a client asks to change.
pub(super) struct UserChange {
    /// As whom it has logged in; none where nobody has to.
    pub(super) asker: Option<Arc<str>>,
    pub(super) asked: UserStatement,
    /// Of the password that it sets.
    pub(super) hashes: Option<PasswordHashes>,
}

impl SchemaChange for UserChange {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let refused = |GridError { code, message, .. }| SchemaFailure::Rejected { code: code.0, message: message.into_owned() };
        let mut changed =
            Changed { asker: self.asker.as_deref(), schema: Arc::clone(schema), dropped: Vec::new(), events: Vec::new(), environment };
        changed.run(self).map_err(refused)?;
        let Changed { schema: after, dropped, events, environment, .. } = changed;
        if after.version == schema.version {
            return Ok(ResolvedChange::default());
        }
        let is_unknown = (!after.roles.is_empty() && !environment.knows_roles)
            || (after.has_permissions() && !environment.knows_permissions)
            || (after.has_digest_logins() && !environment.knows_digest_logins);
        if is_unknown {
            let message = "users can be changed once every member of the cluster runs a program that knows GridDB's log-ins";
            return Err(refused(GridError::unsupported(message)));
        }
        let update = SchemaUpdate { schema: after, dropped, truncated: Vec::new(), events };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}

/// A schema in the making.
struct Changed<'a, 'e> {
    asker: Option<&'a str>,
    schema: Arc<Schema>,
    dropped: Vec<TableId>,
    events: Vec<SchemaEvent>,
    environment: &'a mut SchemaEnvironment<'e>,
}

impl Changed<'_, '_> {
    fn run(&mut self, change: &UserChange) -> Result<(), GridError> {
        match &change.asked {
            UserStatement::PutUser { user, digest, is_modifiable } => {
                let hashes = change.hashes.clone().map(RoleOption::PasswordHashes);
                if digest.is_some() != hashes.is_some() {
                    return Err(GridError::new(ErrorCode::DS_DS_STATEMENT_FAILED, "the password could not be hashed"));
                }
                self.put_user(user, hashes, *is_modifiable)
            }
            UserStatement::DropUser { user } => self.apply(&Statement::DropRole(DropRole { name: name(user), if_exists: false })),
            UserStatement::PutDatabase { database, privileges } => {
                self.create_database(database)?;
                privileges.iter().try_for_each(|(user, privilege)| self.grant(database, user, *privilege))
            }
            UserStatement::DropDatabase { database } => self.drop_database(database),
            UserStatement::PutPrivilege { database, privileges } => {
                self.must_be_database(database)?;
                privileges.iter().try_for_each(|(user, privilege)| self.grant(database, user, *privilege))
            }
            UserStatement::DropPrivilege { database, privileges } => {
                self.must_be_database(database)?;
                let all = |privilege: &Privilege| privilege.permissions();
                privileges.iter().try_for_each(|(user, privilege)| self.revoke(database, user, all(privilege)))
            }
            UserStatement::GetUsers { .. } | UserStatement::GetDatabases { .. } => Err(GridError::malformed("a list changes nothing")),
        }
    }

    /// Carries out a statement as CQL does, with all that it asks of the asker.
    fn apply(&mut self, statement: &Statement) -> Result<(), GridError> {
        let terms = ddl::Environment {
            table_uuid: (self.environment.uuid)(),
            now_us: self.environment.now_us,
            data_center: &self.environment.config.data_center,
            nodes: self.environment.members,
            role: self.asker,
            checks_permissions: self.environment.config.checks_permissions,
        };
        let outcome = ddl::apply(&self.schema, None, statement, &terms).map_err(|error| refusal(&error))?;
        if let Some(ddl::Change { schema, event, further, dropped }) = outcome.change {
            self.schema = schema;
            self.events.extend(event.into_iter().chain(further));
            self.dropped.extend(dropped);
        }
        Ok(())
    }

    /// Makes a user, or a role if there are no hashes of a password; sets the password of one that is there if it may be changed.
    fn put_user(&mut self, user: &str, hashes: Option<RoleOption>, is_modifiable: bool) -> Result<(), GridError> {
        let is_there = self.schema.roles.contains_key(user);
        match hashes {
            Some(hashes) if is_there && is_modifiable => {
                self.apply(&Statement::AlterRole(AlterRole { name: name(user), if_exists: false, options: vec![hashes] }))
            }
            hashes => {
                let login = RoleOption::Login(hashes.is_some());
                let options = hashes.into_iter().chain([login]).collect();
                self.apply(&Statement::CreateRole(CreateRole { name: name(user), if_not_exists: false, options }))
            }
        }
    }

    fn create_database(&mut self, database: &str) -> Result<(), GridError> {
        let factor = if self.environment.in_cluster { self.environment.members.clamp(1, REPLICATION_FACTOR) } else { 1 };
        let text = |text: &str| Literal::String(text.into());
        let entries = [("class", "SimpleStrategy".to_owned()), ("replication_factor", factor.to_string())]
            .map(|(key, value)| (text(key), text(&value)));
        let replication = Property { name: name("replication"), value: PropertyValue::Map(entries.to_vec()) };
        self.apply(&Statement::CreateKeyspace(CreateKeyspace { name: name(database), if_not_exists: false, properties: vec![replication] }))
    }

    /// Drops a database without containers. What else is in its keyspace is not GridDB's to drop.
    fn drop_database(&mut self, database: &str) -> Result<(), GridError> {
        self.must_be_database(database)?;
        let is_empty = self.schema.keyspaces.get(database).is_none_or(|keyspace| {
            keyspace.tables.is_empty() && keyspace.types.is_empty() && keyspace.functions.functions().next().is_none()
        });
        if database == PUBLIC_DATABASE || !is_empty {
            let why = if is_empty { "it is there for everybody" } else { "it is not empty" };
            return Err(GridError::new(ErrorCode::TXN_OPERATION_NOT_ALLOWED, format!("the database {database} cannot be dropped: {why}")));
        }
        self.apply(&Statement::DropKeyspace(DropKeyspace { name: name(database), if_exists: false }))
    }

    /// A database that is there; the one of clients that name none is made.
    fn must_be_database(&mut self, database: &str) -> Result<(), GridError> {
        match self.schema.keyspaces.contains_key(database) {
            true => Ok(()),
            false if database == PUBLIC_DATABASE => self.create_database(database),
            false => Err(GridError::new(ErrorCode::TXN_DATABASE_NOT_EXIST, format!("there is no database {database}"))),
        }
    }

    /// Gives a user a privilege in place of what it has had.
    fn grant(&mut self, database: &str, user: &str, privilege: Privilege) -> Result<(), GridError> {
        self.revoke(database, user, Privilege::All.permissions().without(privilege.permissions()))?;
        let permissions = set(privilege.permissions());
        let resource = ResourceName::AllTablesIn(name(database));
        self.apply(&Statement::GrantPermissions(GrantPermissions { permissions, resource, grantee: name(user) }))
    }

    /// Takes permissions away, where the user has them.
    fn revoke(&mut self, database: &str, user: &str, permissions: Permissions) -> Result<(), GridError> {
        let resources = [
            (Resource::AllTablesIn(database.to_owned()), ResourceName::AllTablesIn(name(database))),
            (Resource::Keyspace(database.to_owned()), ResourceName::Keyspace(name(database))),
        ];
        for (resource, resource_name) in resources {
            let has = self.schema.roles.get(user).and_then(|role| role.permissions.get(&resource)).copied().unwrap_or_default();
            let gone = has.and(permissions);
            if !gone.is_empty() {
                let revoke = RevokePermissions { permissions: set(gone), resource: resource_name, revokee: name(user) };
                self.apply(&Statement::RevokePermissions(revoke))?;
            }
        }
        Ok(())
    }
}

fn name(of: &str) -> Identifier {
    Identifier::new(of)
}

fn set(permissions: Permissions) -> PermissionSet {
    PermissionSet::Some(permissions.iter().collect())
}

/// Why CQL has refused it.
fn refusal(error: &DdlError) -> GridError {
    match error {
        DdlError::Anonymous => nobody(),
        DdlError::UnknownKeyspace(_) => GridError::new(ErrorCode::TXN_DATABASE_NOT_EXIST, error.to_string()),
        _ => GridError::new(ErrorCode::TXN_OPERATION_NOT_ALLOWED, error.to_string()),
    }
}
