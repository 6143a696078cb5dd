//! GRANT and REVOKE of permissions, what statements about the schema need, and what becomes of permissions when things are made and dropped.

use super::change::{Change, Context, Outcome, SchemaEvent, SchemaEventTarget, content_version};
use super::error::RoleError;
use super::role::Asker;
use super::{DdlError, copy_table, function_permission};
use crate::language::ast::{
    self, GrantPermissions, Identifier, PermissionSet, QualifiedName, Resource as ResourceName, RevokePermissions, Statement,
};
use crate::permissions::{Rights, applicable, exists, resolve};
use crate::roles::Roles;
use crate::wire::ChangeKind;
use model::{Permission, Permissions, Resource, Role, Schema};
use std::sync::Arc;

impl Asker<'_> {
    /// What the asker may do.
    pub(super) fn rights(&self) -> Rights {
        Rights::of(self.context.schema, &Arc::from(self.name))
    }

    /// Refuses a statement about the schema that the asker may not run.
    pub(super) fn check(&self, statement: &Statement) -> Result<(), DdlError> {
        for (permission, resource) in function_permission::needs(self.context, statement)? {
            self.rights().check(permission, &resource)?;
        }
        if let Statement::CopyTable(copy) = statement {
            let keyspace = copy_table::source_keyspace(self.context, &copy.source)?;
            self.rights().check(Permission::Select, &Resource::table(keyspace, copy.source.name.as_str()))?;
        }
        match self.needs(statement)? {
            Some((permission, resource)) => self.rights().check(permission, &resource),
            None => Ok(()),
        }
    }

    /// The permission that a statement needs; none of those that look for themselves, or that change nothing.
    fn needs(&self, statement: &Statement) -> Result<Option<(Permission, Resource)>, DdlError> {
        use Permission::{Alter, Create, Drop};
        let keyspace = |name: &Identifier| Resource::Keyspace(name.as_str().to_owned());
        let tables = |name: &QualifiedName| -> Result<Resource, DdlError> {
            Ok(Resource::AllTablesIn(self.context.keyspace_name(name.keyspace.as_ref())?.to_owned()))
        };
        let table = |name: &QualifiedName| -> Result<Resource, DdlError> {
            Ok(Resource::table(self.context.keyspace_name(name.keyspace.as_ref())?, name.name.as_str()))
        };
        Ok(Some(match statement {
            Statement::CreateKeyspace(_) => (Create, Resource::AllKeyspaces),
            Statement::AlterKeyspace(alter) => (Alter, keyspace(&alter.name)),
            Statement::DropKeyspace(drop) => (Drop, keyspace(&drop.name)),
            Statement::CreateTable(create) => (Create, tables(&create.name)?),
            Statement::CopyTable(copy) => (Create, tables(&copy.name)?),
            Statement::AlterTable(alter) => (Alter, table(&alter.name)?),
            Statement::DropTable(drop) => (Drop, table(&drop.name)?),
            Statement::CreateIndex(create) => (Alter, table(&create.table)?),
            Statement::DropIndex(drop) => match self.indexed_table(&drop.name)? {
                Some(table) => (Alter, table),
                None => return Ok(None),
            },
            Statement::CreateView(create) => (Alter, table(&create.from)?),
            Statement::AlterView(ast::AlterView { name, .. }) | Statement::DropView(ast::DropView { name, .. }) => {
                match self.base_of(name)? {
                    Some(table) => (Alter, table),
                    None => return Ok(None),
                }
            }
            Statement::CreateType(create) => (Create, tables(&create.name)?),
            Statement::AlterType(alter) => (Alter, tables(&alter.name)?),
            Statement::DropType(drop) => (Drop, tables(&drop.name)?),
            _ => return Ok(None),
        }))
    }

    fn indexed_table(&self, index: &QualifiedName) -> Result<Option<Resource>, DdlError> {
        let name = self.context.keyspace_name(index.keyspace.as_ref())?;
        let Some(keyspace) = self.context.schema.keyspaces.get(name) else { return Ok(None) };
        let table = keyspace.tables.values().find(|table| table.indexes.contains_key(index.name.as_str()));
        Ok(table.map(|table| Resource::table(name, &table.name)))
    }

    fn base_of(&self, view: &QualifiedName) -> Result<Option<Resource>, DdlError> {
        let table = self.context.table(view)?.map(|(_, table)| table);
        let view = table.and_then(|table| Some((table, table.view.as_ref()?)));
        Ok(view.map(|(table, view)| Resource::table(&table.keyspace, &view.base)))
    }

    pub(super) fn grant_permissions(&self, grant: &GrantPermissions) -> Result<Outcome, DdlError> {
        let (role, resource, permissions) = self.allowed(&grant.grantee, &grant.resource, &grant.permissions)?;
        let former = role.permissions.get(&resource).copied().unwrap_or_default();
        let name = grant.grantee.as_str();
        let outcome = self.with_permissions(name, role, &resource, former.or(permissions))?;
        Ok(with_warning(outcome, name, "already", permissions.and(former), &resource))
    }

    pub(super) fn revoke_permissions(&self, revoke: &RevokePermissions) -> Result<Outcome, DdlError> {
        let (role, resource, permissions) = self.allowed(&revoke.revokee, &revoke.resource, &revoke.permissions)?;
        let former = role.permissions.get(&resource).copied().unwrap_or_default();
        let name = revoke.revokee.as_str();
        let outcome = self.with_permissions(name, role, &resource, former.without(permissions))?;
        Ok(with_warning(outcome, name, "not", permissions.without(former), &resource))
    }

    /// The role, the resource and the permissions of a GRANT or REVOKE, if the asker may run it.
    fn allowed(&self, role: &Identifier, resource: &ResourceName, set: &PermissionSet) -> Result<(Role, Resource, Permissions), DdlError> {
        let resolved = resolve(resource, self.context.keyspace, self.context.schema);
        let permissions = resolved.as_ref().ok().map(|resource| applicable(set, resource)).transpose()?;
        let role = self.roles().get(role.as_str()).ok_or_else(|| RoleError::UnknownAlteredRole(role.as_str().to_owned()))?;
        let (resource, permissions) = (resolved?, permissions.unwrap_or_default());
        if !exists(self.context.schema, &resource) {
            return Err(RoleError::UnknownResource(resource.to_string()).into());
        }
        let rights = self.rights();
        rights.check(Permission::Authorize, &resource)?;
        permissions.iter().try_for_each(|permission| rights.check(permission, &resource))?;
        Ok((Role::clone(role), resource, permissions))
    }

    fn with_permissions(&self, name: &str, mut role: Role, resource: &Resource, permissions: Permissions) -> Result<Outcome, DdlError> {
        set(&mut role, resource, permissions);
        self.with_role(name, role)
    }

    /// Gives who has made something all permissions on it, if permissions are asked for. Superusers need none.
    fn own(&self, statement: &Statement, further: &[SchemaEvent], schema: &mut Schema) {
        let mut made = match statement {
            Statement::CreateKeyspace(create) => {
                let name = create.name.as_str().to_owned();
                vec![Resource::Keyspace(name.clone()), Resource::AllFunctionsIn(name)]
            }
            Statement::CreateTable(ast::CreateTable { name, .. }) | Statement::CopyTable(ast::CopyTable { name, .. }) => {
                match self.context.keyspace_name(name.keyspace.as_ref()) {
                    Ok(keyspace) => vec![Resource::table(keyspace, name.name.as_str())],
                    Err(_) => Vec::new(),
                }
            }
            Statement::CreateRole(create) => vec![Resource::Role(create.name.as_str().to_owned())],
            other => function_permission::made(self.context, other).into_iter().collect(),
        };
        for event in further.iter().filter(|event| event.change == ChangeKind::Created) {
            if let SchemaEventTarget::Table(name) = &event.target {
                made.push(Resource::table(&event.keyspace, name));
            }
        }
        own(schema, self.name, &made);
    }
}

/// Gives a role all permissions on what it has made. Superusers need none.
pub fn own(schema: &mut Schema, role: &str, made: &[Resource]) {
    if made.is_empty() || Roles::of(schema).is_superuser(role) {
        return;
    }
    let Some(role) = schema.roles.get_mut(role) else { return };
    let role = Arc::make_mut(role);
    for resource in made {
        set(role, resource, resource.applicable());
    }
}

fn set(role: &mut Role, resource: &Resource, permissions: Permissions) {
    if permissions.is_empty() {
        role.permissions.remove(resource);
    } else {
        role.permissions.insert(resource.clone(), permissions);
    }
}

fn with_warning(mut outcome: Outcome, role: &str, how: &str, in_vain: Permissions, resource: &Resource) -> Outcome {
    if !in_vain.is_empty() {
        let names: Vec<&str> = in_vain.iter().map(Permission::name).collect();
        outcome.warnings.push(format!("Role '{role}' was {how} granted {} on {resource}", names.join(", ")));
    }
    outcome
}

/// Makes the permissions of roles follow a change of the schema.
pub(super) fn follow(asker: Option<&Asker<'_>>, statement: &Statement, change: &mut Change) {
    let mut schema = Schema::clone(&change.schema);
    if let Some(asker) = asker.filter(|asker| asker.context.checks_permissions()) {
        asker.own(statement, &change.further, &mut schema);
    }
    forget_absent(&mut schema);
    if schema.roles != change.schema.roles {
        schema.version = content_version(&schema);
        change.schema = Arc::new(schema);
    }
}

/// Takes away permissions on what is not there any more: what gets its name later is something else.
pub fn forget_absent(schema: &mut Schema) {
    let absent = |schema: &Schema, role: &Role| role.permissions.keys().any(|resource| !exists(schema, resource));
    let stale: Vec<String> = schema.roles.iter().filter(|(_, role)| absent(schema, role)).map(|(name, _)| name.clone()).collect();
    for name in stale {
        let Some(role) = schema.roles.get(&name) else { continue };
        let mut role = Role::clone(role);
        role.permissions.retain(|resource, _| exists(schema, resource));
        schema.roles.insert(name, Arc::new(role));
    }
}

impl Context<'_> {
    /// Whether permissions are asked for.
    pub(super) fn checks_permissions(&self) -> bool {
        self.environment.checks_permissions
    }
}
