//! What a role may do. Permissions are a part of roles, and so of the schema: who is allowed or refused something is so on every core, as soon as it knows
//! the change, also by statements that are prepared and connections that are open.
//!
//! On the path: [`Rights`] are worked out once for each role and version of the schema; a statement about rows then costs a search among the
//! schema's tables. Statements about the schema and roles are checked where they are decided: [`crate::ddl::apply`].

use crate::CqlError;
use crate::ddl::{DdlError, RoleError, resolve_type};
use crate::language::ast::{self, PermissionSet};
use crate::plan::{Called, Masking, Modify, Prepared, Statement};
use crate::roles::Roles;
use crate::system::{is_system_keyspace, table as system_table};
use base::TableId;
use model::{DataType, Keyspace, Permission, Permissions, Resource, Schema, Table};
use std::collections::HashMap;
use std::sync::Arc;

/// Everybody reads these: drivers do, before their first statement.
const READABLE_KEYSPACES: &[&str] = &["system_schema", "system_virtual_schema"];
/// As [`READABLE_KEYSPACES`], of `system`.
const READABLE_TABLES: &[&str] = &["cdc_streams", "cdc_timestamps", "local", "peers", "peers_v2", "size_estimates", "table_estimates"];
/// As [`READABLE_KEYSPACES`], of `system_distributed`: libraries look there for the streams of the logs that they may read.
const READABLE_DISTRIBUTED: &[&str] = &["cdc_generation_timestamps", "cdc_streams_descriptions_v2"];

/// What a role may do by itself and by the roles that it has been granted, in one version of the schema.
#[derive(Debug)]
pub struct Rights {
    schema_version: u128,
    role: Arc<str>,
    is_superuser: bool,
    granted: HashMap<Resource, Permissions>,
    /// Of the schema's tables, by id: what is allowed on them and all above them.
    tables: Vec<(TableId, Permissions)>,
}

impl Rights {
    /// Those of a role.
    #[must_use]
    pub fn of(schema: &Schema, role: &Arc<str>) -> Self {
        let roles = Roles::of(schema);
        let mut granted: HashMap<Resource, Permissions> = HashMap::new();
        for role in roles.granted(role, true).into_iter().filter_map(|name| roles.get(name)) {
            for (resource, permissions) in &role.permissions {
                let all = granted.entry(resource.clone()).or_default();
                *all = all.or(*permissions);
            }
        }
        let is_superuser = roles.is_superuser(role);
        let mut rights = Self { schema_version: schema.version, role: Arc::clone(role), is_superuser, granted, tables: Vec::new() };
        if !is_superuser {
            rights.tables = schema.tables().map(|table| (table.id, rights.on_table(table))).collect();
            rights.tables.sort_unstable_by_key(|(id, _)| *id);
        }
        rights
    }

    /// Whether they are of this version of the schema.
    #[inline]
    #[must_use]
    pub fn are_of(&self, schema: &Schema) -> bool {
        self.schema_version == schema.version
    }

    /// Whether the role may do everything.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.is_superuser
    }

    /// Whether the role has a permission on a resource, or on one above it.
    #[must_use]
    pub fn allow(&self, permission: Permission, resource: &Resource) -> bool {
        self.is_superuser || self.on(resource).contains(permission)
    }

    /// Whether the role has any permission on a keyspace, or on something in it.
    #[must_use]
    pub fn uses_keyspace(&self, name: &str) -> bool {
        let is_in_it =
            |resource: &Resource| resource.chain().any(|resource| matches!(resource, Resource::Keyspace(keyspace) if keyspace == name));
        self.is_superuser || self.granted.keys().any(|resource| *resource == Resource::AllKeyspaces || is_in_it(resource))
    }

    /// Refuses what [`Rights::allow`] does not allow.
    pub(crate) fn check(&self, permission: Permission, resource: &Resource) -> Result<(), DdlError> {
        if self.allow(permission, resource) {
            return Ok(());
        }
        Err(DdlError::Role(RoleError::NotPermitted {
            role: self.role.to_string(),
            permission: permission.name(),
            resource: resource.to_string(),
        }))
    }

    /// Refuses a statement about rows, or to truncate a table, that the role may not run. Others are checked where they are carried out.
    ///
    /// # Errors
    /// What is missing.
    #[inline]
    pub fn check_statement(&self, prepared: &Prepared) -> Result<(), CqlError> {
        if self.is_superuser {
            return Ok(());
        }
        prepared.called.iter().try_for_each(|called| self.check_call(called))?;
        match &prepared.statement {
            Statement::Select(plan) => self.check_table(Permission::Select, &plan.table)?,
            Statement::Modify(plan) => self.check_modify(plan)?,
            Statement::Batch(batch) => batch.statements.iter().try_for_each(|plan| self.check_modify(plan))?,
            Statement::Truncate(table) => self.check_table(Permission::Modify, table)?,
            Statement::Use(_) | Statement::Schema(_) | Statement::Describe(_) => {}
        }
        prepared.masking.as_deref().map_or(Ok(()), |masking| self.check_masks(masking))
    }

    /// Whether the role sees the masked columns of a statement's tables as they are.
    #[must_use]
    pub fn unmask(&self, prepared: &Prepared) -> bool {
        let mut masked = prepared.tables().filter(|table| table.has_masks());
        self.is_superuser || masked.all(|table| self.of_table(table).contains(Permission::Unmask))
    }

    /// What is compared with a masked column can be tried until it is found.
    #[cold]
    fn check_masks(&self, masking: &Masking) -> Result<(), CqlError> {
        const EITHER: Permissions = Permissions::of(&[Permission::Unmask, Permission::SelectMasked]);
        let refused = masking.queried.iter().find(|queried| self.of_table(&queried.table).and(EITHER).is_empty());
        let Some(queried) = refused else { return Ok(()) };
        let (role, Table { keyspace, name, .. }) = (&self.role, &*queried.table);
        let columns = queried.columns.join(", ");
        Err(CqlError::Unauthorized(format!(
            "User {role} has no UNMASK nor SELECT_MASKED permission on table {keyspace}.{name}, cannot query masked columns [{columns}]"
        )))
    }

    fn check_call(&self, called: &Called) -> Result<(), CqlError> {
        let resource = match called {
            Called::Function(function) => Resource::function(&function.keyspace, &function.name, &function.argument_types()),
            Called::Aggregate(aggregate) => Resource::function(&aggregate.keyspace, &aggregate.name, &aggregate.arguments),
        };
        Ok(self.check(Permission::Execute, &resource)?)
    }

    /// A condition tells what is stored, so it needs the permission to read, too.
    fn check_modify(&self, plan: &Modify) -> Result<(), CqlError> {
        self.check_table(Permission::Modify, &plan.table)?;
        if plan.is_conditional() { self.check_table(Permission::Select, &plan.table) } else { Ok(()) }
    }

    fn check_table(&self, permission: Permission, table: &Table) -> Result<(), CqlError> {
        if self.of_table(table).contains(permission) {
            return Ok(());
        }
        Ok(self.check(permission, &Resource::table(&table.keyspace, secured(table)))?)
    }

    /// What the role, unless it is a superuser, has on a table and all above it.
    #[inline]
    #[must_use]
    pub fn of_table(&self, table: &Table) -> Permissions {
        match self.tables.binary_search_by_key(&table.id, |(id, _)| *id) {
            Ok(at) => self.tables[at].1,
            Err(_) => self.on_table(table),
        }
    }

    fn on_table(&self, table: &Table) -> Permissions {
        let (keyspace, name) = (table.keyspace.as_str(), secured(table));
        let is_readable = match keyspace {
            "system" => READABLE_TABLES.contains(&name),
            "system_distributed" => READABLE_DISTRIBUTED.contains(&name),
            other => READABLE_KEYSPACES.contains(&other),
        };
        let readable = if is_readable { Permissions::of(&[Permission::Select]) } else { Permissions::default() };
        self.on(&Resource::table(keyspace, name)).or(readable)
    }

    /// What the role, unless it is a superuser, has on a resource and all above it.
    #[must_use]
    pub fn on(&self, resource: &Resource) -> Permissions {
        resource.chain().filter_map(|resource| self.granted.get(&resource)).fold(Permissions::default(), |all, some| all.or(*some))
    }
}

/// Whether there is what a resource is about.
pub(crate) fn exists(schema: &Schema, resource: &Resource) -> bool {
    let keyspace_exists = |name: &String| schema.keyspaces.contains_key(name) || is_system_keyspace(name);
    match resource {
        Resource::AllKeyspaces | Resource::AllRoles | Resource::AllFunctions => true,
        Resource::Keyspace(name) | Resource::AllTablesIn(name) | Resource::AllFunctionsIn(name) => keyspace_exists(name),
        // The name of this one would stand for all tables.
        Resource::Table { table, .. } if table == "*" => false,
        Resource::Table { keyspace, table } => schema.table(keyspace, table).is_some() || system_table(keyspace, table).is_some(),
        Resource::Role(name) => Roles::of(schema).get(name).is_some(),
        Resource::Function { keyspace, .. } => {
            schema.keyspaces.get(keyspace).is_some_and(|keyspace| function_types(keyspace, resource).is_some())
        }
    }
}

/// The argument types of the function or aggregate that a resource names, if it is there.
pub(crate) fn function_types(keyspace: &Keyspace, resource: &Resource) -> Option<Vec<DataType>> {
    let Resource::Function { name, .. } = resource else { return None };
    let is_it = |types: &Vec<DataType>| Resource::function(&keyspace.name, name, types) == *resource;
    let functions = keyspace.functions.functions_named(name).map(|function| function.argument_types());
    let mut types = functions.chain(keyspace.functions.aggregates_named(name).map(|aggregate| aggregate.arguments.clone()));
    types.find(is_it)
}

/// The resource that a statement names.
pub(crate) fn resolve(resource: &ast::Resource, keyspace: Option<&str>, schema: &Schema) -> Result<Resource, DdlError> {
    let text = |name: &ast::Identifier| name.as_str().to_owned();
    Ok(match resource {
        ast::Resource::AllKeyspaces => Resource::AllKeyspaces,
        ast::Resource::Keyspace(name) => Resource::Keyspace(text(name)),
        ast::Resource::AllTablesIn(name) => Resource::AllTablesIn(text(name)),
        ast::Resource::Table(name) => {
            let keyspace = name.keyspace.as_ref().map(ast::Identifier::as_str).or(keyspace).ok_or(DdlError::NoKeyspace)?;
            Resource::table(keyspace, name.name.as_str())
        }
        ast::Resource::AllRoles => Resource::AllRoles,
        ast::Resource::Role(name) => Resource::Role(text(name)),
        ast::Resource::AllFunctions => Resource::AllFunctions,
        ast::Resource::AllFunctionsIn(name) => Resource::AllFunctionsIn(text(name)),
        ast::Resource::Function(name, types) => match &name.keyspace {
            None => return Err(RoleError::FunctionKeyspace.into()),
            Some(keyspace) if keyspace.as_str() == "system" => return Err(RoleError::NativeFunction.into()),
            Some(keyspace) => {
                let types = types.iter().map(|type_name| resolve_type(type_name, Some(keyspace.as_str()), schema));
                Resource::function(keyspace.as_str(), name.name.as_str(), &types.collect::<Result<Vec<_>, _>>()?)
            }
        },
        ast::Resource::AllMBeans | ast::Resource::MBean(_) | ast::Resource::MBeans(_) => {
            return Err(DdlError::Unsupported("A permission on MBEANS"));
        }
    })
}

/// Those of a statement's permissions that make sense on a resource.
pub(crate) fn applicable(permissions: &PermissionSet, resource: &Resource) -> Result<Permissions, DdlError> {
    let permissions = match permissions {
        PermissionSet::All => resource.applicable(),
        PermissionSet::Some(list) => Permissions::of(list).and(resource.applicable()),
    };
    if permissions.is_empty() {
        return Err(RoleError::NotApplicable(match resource {
            Resource::AllRoles | Resource::Role(_) => "RoleResource",
            Resource::AllFunctions | Resource::AllFunctionsIn(_) | Resource::Function { .. } => "FunctionResource",
            Resource::AllKeyspaces | Resource::Keyspace(_) | Resource::AllTablesIn(_) | Resource::Table { .. } => "DataResource",
        })
        .into());
    }
    Ok(permissions)
}

/// The table whose permissions count: of a view its base.
fn secured(table: &Table) -> &str {
    table.view.as_ref().map_or(&table.name, |view| &view.base)
}
