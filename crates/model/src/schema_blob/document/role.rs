//! A role in the document.

use crate::permission::{Permission, Permissions, Resource};
use crate::role_limits::{Limit, RoleLimits};
use crate::schema::Role;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoleDocument {
    login: bool,
    superuser: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    password_hash: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    member_of: BTreeSet<String>,
    /// Names of permissions, by names of resources.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    permissions: BTreeMap<String, Vec<String>>,
    /// Of certificates.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    identities: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aerospike_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    griddb_hash: Option<String>,
    /// Addresses and networks.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    whitelist: BTreeSet<String>,
    /// By name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    limits: BTreeMap<String, u64>,
}

impl RoleDocument {
    pub(super) fn of(role: &Role) -> Self {
        let Role {
            can_login: login,
            is_superuser: superuser,
            password_hash,
            aerospike_hash,
            griddb_hash,
            member_of,
            permissions,
            identities,
            whitelist,
            limits,
        } = role.clone();
        let names = |permissions: Permissions| permissions.iter().map(|permission| permission.name().to_owned()).collect();
        let permissions = permissions.into_iter().map(|(resource, permissions)| (resource.name(), names(permissions))).collect();
        let limits = limits.iter().map(|(limit, value)| (limit.name().to_owned(), value)).collect();
        Self { login, superuser, password_hash, member_of, permissions, identities, aerospike_hash, griddb_hash, whitelist, limits }
    }

    /// None where a permission, its resource or a limit is unknown.
    pub(super) fn into_role(self) -> Option<Role> {
        let mut permissions = BTreeMap::new();
        for (resource, names) in self.permissions {
            let listed: Option<Vec<Permission>> = names.iter().map(|name| Permission::from_name(name)).collect();
            permissions.insert(Resource::from_name(&resource)?, Permissions::of(&listed?));
        }
        let mut limits = RoleLimits::default();
        for (name, value) in self.limits {
            limits.set(Limit::from_name(&name)?, value);
        }
        Some(Role {
            limits,
            can_login: self.login,
            is_superuser: self.superuser,
            password_hash: self.password_hash,
            member_of: self.member_of,
            permissions,
            identities: self.identities,
            aerospike_hash: self.aerospike_hash,
            griddb_hash: self.griddb_hash,
            whitelist: self.whitelist,
        })
    }
}
