//! Rows of `system_auth`: roles, without what is known of their passwords, their permissions and the identities of their certificates.

use super::row::{RowBuilder, blobs, boolean, text, texts};
use crate::permissions::function_types;
use crate::roles::Roles;
use crate::whitelist::network;
use crate::wire::marshal_class;
use model::{Permission, Resource, Schema};
use std::collections::BTreeSet;
use std::net::IpAddr;

pub(super) fn roles(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for (name, role) in Roles::of(schema).all() {
        let member_of = || texts(role.member_of.iter().map(String::as_str));
        rows.row([
            ("role", text(name)),
            ("can_login", boolean(role.can_login)),
            ("is_superuser", boolean(role.is_superuser)),
            ("member_of", (!role.member_of.is_empty()).then(member_of).flatten()),
        ]);
    }
}

pub(super) fn role_members(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for (member, role) in Roles::of(schema).all() {
        for granted in &role.member_of {
            rows.row([("role", text(granted)), ("member", text(member))]);
        }
    }
}

pub(super) fn identity_to_role(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for (name, role) in Roles::of(schema).all() {
        for identity in &role.identities {
            rows.row([("identity", text(identity)), ("role", text(name))]);
        }
    }
}

pub(super) fn role_permissions(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for (name, role) in Roles::of(schema).all() {
        for (resource, permissions) in &role.permissions {
            let mut names: Vec<&str> = permissions.iter().map(Permission::name).collect();
            names.sort_unstable();
            rows.row([
                ("role", text(name)),
                ("resource", text(resource_name(schema, resource))),
                ("permissions", texts(names.into_iter())),
            ]);
        }
    }
}

/// Of roles that may not log in from everywhere.
pub(super) fn cidr_permissions(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for (name, role) in Roles::of(schema).all().filter(|(_, role)| !role.whitelist.is_empty()) {
        rows.row([("role", text(name)), ("cidr_groups", texts(role.whitelist.iter().map(String::as_str)))]);
    }
}

/// A network that a role may log in from is a group of its own name.
pub(super) fn cidr_groups(schema: &Schema, rows: &mut RowBuilder<'_>) {
    let names: BTreeSet<&str> = Roles::of(schema).all().flat_map(|(_, role)| &role.whitelist).map(String::as_str).collect();
    for name in names {
        let Some((address, bits)) = network(name) else { continue };
        let address = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        // A tuple: each field after its length.
        let bits = (bits as u16).to_be_bytes();
        let fields = [&address[..], &bits].map(|field| [&(field.len() as u32).to_be_bytes()[..], field].concat());
        rows.row([("cidr_group", text(name)), ("cidrs", blobs([&fields.concat()[..]].into_iter()))]);
    }
}

/// A resource as Cassandra's tables name it: the types of functions by their classes.
fn resource_name(schema: &Schema, resource: &Resource) -> String {
    let Resource::Function { keyspace, name, .. } = resource else { return resource.name() };
    let types = schema.keyspaces.get(keyspace).and_then(|keyspace| function_types(keyspace, resource)).unwrap_or_default();
    let classes: Vec<String> = types.iter().map(marshal_class).collect();
    format!("functions/{keyspace}/{name}[{}]", classes.join("^"))
}

pub(super) fn resource_roles(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for (name, role) in Roles::of(schema).all() {
        for resource in role.permissions.keys() {
            rows.row([("resource", text(resource_name(schema, resource))), ("role", text(name))]);
        }
    }
}
