//! The answers to LIST: roles, users and permissions, as results of tables that do not exist.

use crate::ddl::{DdlError, RoleError};
use crate::language::ast::{Identifier, ListPermissions, ListRoles, PermissionSet, Statement};
use crate::permissions::{Rights, exists, resolve};
use crate::reply::ResultColumn;
use crate::roles::Roles;
use crate::system::row::{boolean, pairs, text};
use model::{DataType, Frozen, Permission, Permissions, Resource, Schema};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A result that is no table's.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The table of `system_auth` that the result claims to be of.
    pub table: &'static str,
    /// Its columns.
    pub columns: Vec<ResultColumn>,
    /// A value in wire bytes for each column.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// The keyspace that a [`Listing`] claims to be of.
pub const KEYSPACE: &str = "system_auth";

/// Who asks for a list.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// As whom they have logged in.
    pub role: &'a Arc<str>,
    /// Their session's keyspace.
    pub keyspace: Option<&'a str>,
    /// Whether permissions are asked for: without, there are none to list.
    pub checks_permissions: bool,
}

/// Answers a LIST statement; none if the statement is another one.
///
/// # Errors
/// When a role or a resource is not there, or not for these eyes.
pub fn list(statement: &Statement, schema: &Schema, asker: &Asker<'_>) -> Option<Result<Listing, DdlError>> {
    let roles = Roles::of(schema);
    match statement {
        Statement::ListRoles(list) => Some(visible(schema, list, asker).map(|names| listing(roles, names))),
        Statement::ListUsers => {
            let all = ListRoles { grantee: None, recursive: true };
            Some(visible(schema, &all, asker).map(|names| users(roles, names)))
        }
        Statement::ListSuperusers => Some(Ok(superusers(roles))),
        Statement::ListPermissions(list) if asker.checks_permissions => Some(permissions(list, schema, asker)),
        _ => None,
    }
}

/// The roles that `asker` may see of those that a statement asks for.
fn visible<'a>(schema: &'a Schema, list: &ListRoles, asker: &Asker<'_>) -> Result<BTreeSet<&'a str>, DdlError> {
    let roles = Roles::of(schema);
    let describes_all = || Rights::of(schema, asker.role).allow(Permission::Describe, &Resource::AllRoles);
    let sees_all = roles.is_superuser(asker.role) || asker.checks_permissions && describes_all();
    let Some(grantee) = list.grantee.as_ref().map(Identifier::as_str) else {
        let all = || roles.all().map(|(name, _)| name.as_str()).collect();
        return Ok(if sees_all { all() } else { roles.granted(asker.role, list.recursive) });
    };
    if roles.get(grantee).is_none() {
        return Err(RoleError::UnknownRole(grantee.to_owned()).into());
    }
    if !sees_all && !roles.granted(asker.role, true).contains(grantee) {
        return Err(RoleError::HiddenRole(grantee.to_owned()).into());
    }
    Ok(roles.granted(grantee, list.recursive))
}

fn columns(named: &[(&str, DataType)]) -> Vec<ResultColumn> {
    named.iter().map(|(name, data_type)| ResultColumn { name: (*name).to_owned(), data_type: data_type.clone() }).collect()
}

/// Everybody may come in from everywhere.
const DATACENTERS: &str = "ALL";

fn listing(roles: Roles<'_>, names: BTreeSet<&str>) -> Listing {
    let map = DataType::Map(Arc::new(DataType::Text), Arc::new(DataType::Text), Frozen::No);
    let named = [
        ("role", DataType::Text),
        ("super", DataType::Boolean),
        ("login", DataType::Boolean),
        ("options", map),
        ("datacenters", DataType::Text),
    ];
    let options = |name: &str| {
        let limits: BTreeMap<&str, String> = roles
            .get(name)
            .into_iter()
            .flat_map(|role| role.limits.iter())
            .map(|(limit, value)| (limit.name(), value.to_string()))
            .collect();
        pairs(limits.iter().map(|(name, value)| (*name, value.as_str())))
    };
    let row = |name: &str| {
        let can_login = roles.with_login(name).is_some();
        vec![text(name), boolean(roles.is_superuser(name)), boolean(can_login), options(name), text(DATACENTERS)]
    };
    Listing { table: "roles", columns: columns(&named), rows: names.into_iter().map(row).collect() }
}

fn users(roles: Roles<'_>, names: BTreeSet<&str>) -> Listing {
    let named = [("name", DataType::Text), ("super", DataType::Boolean), ("datacenters", DataType::Text)];
    let row = |name: &str| vec![text(name), boolean(roles.is_superuser(name)), text(DATACENTERS)];
    let rows = names.into_iter().filter(|name| roles.with_login(name).is_some()).map(row).collect();
    Listing { table: "users", columns: columns(&named), rows }
}

fn superusers(roles: Roles<'_>) -> Listing {
    let rows = roles.all().filter(|(name, _)| roles.is_superuser(name)).map(|(name, _)| vec![text(name)]).collect();
    Listing { table: "roles", columns: columns(&[("role", DataType::Text)]), rows }
}

fn permissions(list: &ListPermissions, schema: &Schema, asker: &Asker<'_>) -> Result<Listing, DdlError> {
    let roles = Roles::of(schema);
    let resource = list.resource.as_ref().map(|resource| resolve(resource, asker.keyspace, schema)).transpose()?;
    if let Some(absent) = resource.as_ref().filter(|resource| !exists(schema, resource)) {
        return Err(RoleError::UnknownRole(absent.to_string()).into());
    }
    let grantee = list.grantee.as_ref().map(Identifier::as_str);
    let of = grantee.map(|name| Resource::Role(name.to_owned()));
    if let Some(absent) = of.as_ref().filter(|role| !exists(schema, role)) {
        return Err(RoleError::UnknownRole(absent.to_string()).into());
    }
    let rights = Rights::of(schema, asker.role);
    let is_own = grantee.is_some_and(|name| roles.granted(asker.role, true).contains(name));
    if !is_own && !rights.are_all() && !of.is_some_and(|role| rights.allow(Permission::Describe, &role)) {
        return Err(RoleError::HiddenPermissions(grantee.unwrap_or("everyone").to_owned()).into());
    }
    let names: BTreeSet<&str> = match grantee {
        None => roles.all().map(|(name, _)| name.as_str()).collect(),
        Some(name) => roles.granted(name, true),
    };
    let is_listed = |found: &Resource| match &resource {
        None => true,
        Some(resource) if list.recursive => resource.chain().any(|above| above == *found),
        Some(resource) => resource == found,
    };
    let asked = match &list.permissions {
        PermissionSet::All => Permissions::of(&Permission::ALL),
        PermissionSet::Some(list) => Permissions::of(list),
    };
    let mut rows = Vec::new();
    for (name, role) in names.into_iter().filter_map(|name| Some((name, roles.get(name)?))) {
        for (resource, permissions) in role.permissions.iter().filter(|(resource, _)| is_listed(resource)) {
            let row = |permission: Permission| vec![text(name), text(name), text(resource.to_string()), text(permission.name())];
            rows.extend(permissions.and(asked).iter().map(row));
        }
    }
    let named = ["role", "username", "resource", "permission"].map(|name| (name, DataType::Text));
    Ok(Listing { table: "permissions", columns: columns(&named), rows })
}
