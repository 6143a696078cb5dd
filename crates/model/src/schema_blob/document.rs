//! The JSON document of the schema blob, field by field, and the way from and to [`Schema`].
//!
//! Names of fields and variants are the format: a rename needs a new format number.

mod column;
mod index;
mod keyspace;
mod role;
mod table;

use super::hex::{from_hex, hex};
use super::{Inconsistency, SchemaBlobError};
use crate::schema::{Role, Schema};
use base::TableId;
use keyspace::KeyspaceDocument;
use role::RoleDocument;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The newest format that [`decode`] reads.
pub const FORMAT: u32 = 12;
/// What [`encode`] writes for a schema without analyzers of indexes: programs that know none read it.
const FORMAT_WITHOUT_ANALYZERS: u32 = 11;
/// What [`encode`] writes for a schema without long vectors either.
const FORMAT_WITHOUT_LONG_VECTORS: u32 = 10;
/// What [`encode`] writes for a schema without limits of roles either.
const FORMAT_WITHOUT_ROLE_LIMITS: u32 = 9;
/// What [`encode`] writes for a schema that has no masked columns either.
const FORMAT_WITHOUT_MASKS: u32 = 8;
/// What [`encode`] writes for a schema without log-ins by digests of passwords either.
const FORMAT_WITHOUT_DIGEST_LOGINS: u32 = 7;
/// What [`encode`] writes for a schema without identities either.
const FORMAT_WITHOUT_IDENTITIES: u32 = 6;
/// What [`encode`] writes for a schema without functions either.
const FORMAT_WITHOUT_FUNCTIONS: u32 = 5;
/// What [`encode`] writes for a schema without materialized views either.
const FORMAT_WITHOUT_VIEWS: u32 = 4;
/// What [`encode`] writes for a schema without permissions either.
const FORMAT_WITHOUT_PERMISSIONS: u32 = 3;
/// What [`encode`] writes for a schema that has no indexes either.
const FORMAT_WITHOUT_INDEXES: u32 = 2;
/// What [`encode`] writes for a schema that has no roles either.
const FORMAT_WITHOUT_ROLES: u32 = 1;

/// What is read first: the rest may have changed its meaning.
#[derive(Deserialize)]
pub(super) struct FormatOnly {
    pub(super) format: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemaDocument {
    format: u32,
    pub(super) version: String,
    next_table: u32,
    keyspaces: Vec<KeyspaceDocument>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    roles: BTreeMap<String, RoleDocument>,
}

/// The oldest format that has all that there is in a schema.
fn format_of(schema: &Schema) -> u32 {
    match schema {
        _ if schema.has_analyzers() => FORMAT,
        _ if schema.has_long_vectors() => FORMAT_WITHOUT_ANALYZERS,
        _ if schema.has_role_limits() => FORMAT_WITHOUT_LONG_VECTORS,
        _ if schema.has_masks() => FORMAT_WITHOUT_ROLE_LIMITS,
        _ if schema.has_digest_logins() => FORMAT_WITHOUT_MASKS,
        _ if schema.has_identities() => FORMAT_WITHOUT_DIGEST_LOGINS,
        _ if schema.has_functions() => FORMAT_WITHOUT_IDENTITIES,
        _ if schema.has_views() => FORMAT_WITHOUT_FUNCTIONS,
        _ if schema.has_permissions() => FORMAT_WITHOUT_VIEWS,
        _ if schema.has_indexes_or_compact_tables() => FORMAT_WITHOUT_PERMISSIONS,
        _ if !schema.roles.is_empty() => FORMAT_WITHOUT_INDEXES,
        _ => FORMAT_WITHOUT_ROLES,
    }
}

impl SchemaDocument {
    pub(super) fn of(schema: &Schema) -> Self {
        Self {
            format: format_of(schema),
            version: hex(schema.version),
            next_table: schema.next_table.0,
            keyspaces: schema.keyspaces.values().map(|keyspace| KeyspaceDocument::of(keyspace)).collect(),
            roles: schema.roles.iter().map(|(name, role)| (name.clone(), RoleDocument::of(role))).collect(),
        }
    }

    pub(super) fn into_schema(self) -> Result<Schema, SchemaBlobError> {
        let fault = |name: &str, fault| SchemaBlobError::Inconsistent { keyspace: name.to_owned(), name: String::new(), fault };
        let version = from_hex(&self.version).ok_or_else(|| fault("", Inconsistency::Uuid))?;
        let mut table_ids = BTreeSet::new();
        let mut keyspaces = BTreeMap::new();
        for document in self.keyspaces {
            let keyspace = document.into_keyspace(self.next_table, &mut table_ids)?;
            if let Some(former) = keyspaces.insert(keyspace.name.clone(), Arc::new(keyspace)) {
                return Err(fault(&former.name, Inconsistency::NameTwice));
            }
        }
        let mut roles: BTreeMap<String, Arc<Role>> = BTreeMap::new();
        for (name, document) in self.roles {
            let role = document.into_role().ok_or_else(|| SchemaBlobError::UnknownPermission { role: name.clone() })?;
            roles.insert(name, Arc::new(role));
        }
        if let Some((name, _)) = roles.iter().find(|(_, role)| role.member_of.iter().any(|other| !roles.contains_key(other))) {
            return Err(SchemaBlobError::UnknownRole { role: name.clone() });
        }
        let mut identities = BTreeSet::new();
        if let Some(identity) = roles.values().flat_map(|role| &role.identities).find(|identity| !identities.insert(*identity)) {
            return Err(SchemaBlobError::IdentityTwice { identity: identity.clone() });
        }
        Ok(Schema { version, next_table: TableId(self.next_table), keyspaces, roles })
    }
}
