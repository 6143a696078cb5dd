//! The JSON document of the schema blob, field by field, and the way from and to [`Schema`].
//!
//! Names of fields and variants are the format: a rename needs a new format number.

use super::functions::{self, AggregateDocument, FunctionDocument};
use super::masks::{self, MaskDocument};
use super::types::{Resolver, TypeDeclaration, TypeDocument};
use super::{Inconsistency, SchemaBlobError};
use crate::column_id::ColumnId;
use crate::permission::{Permission, Permissions, Resource};
use crate::record_set::{Bin, RecordSet};
use crate::role_limits::{Limit, RoleLimits};
use crate::schema::{
    Column, ColumnKind, DroppedColumn, Index, IndexPart, KeptOption, Keyspace, Order, Replication, Role, Schema, Table, TableOptions, View,
};
use base::TableId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The newest format that [`decode`] reads.
pub const FORMAT: u32 = 10;
/// What [`encode`] writes for a schema without limits of roles: programs that know none read it.
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleDocument {
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyspaceDocument {
    name: String,
    replication_class: String,
    replication_parameters: BTreeMap<String, String>,
    durable_writes: bool,
    types: Vec<TypeDeclaration>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    functions: Vec<FunctionDocument>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aggregates: Vec<AggregateDocument>,
    tables: Vec<TableDocument>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableDocument {
    name: String,
    id: u32,
    uuid: String,
    columns: Vec<ColumnDocument>,
    next_column: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dropped_columns: Vec<DroppedDocument>,
    comment: String,
    default_time_to_live: u32,
    gc_grace_seconds: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<String, OptionDocument>,
    /// Of a record set: bins in the order of their columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bins: Option<Vec<BinDocument>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    indexes: Vec<IndexDocument>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    compact: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    view: Option<ViewDocument>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewDocument {
    base: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shows_all: bool,
    #[serde(rename = "where")]
    where_clause: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexDocument {
    name: String,
    id: u32,
    /// The id of the column.
    column: u16,
    part: PartDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartDocument {
    Value,
    Keys,
    Values,
    Entries,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BinDocument {
    name: String,
    kind: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnDocument {
    name: String,
    id: u16,
    kind: KindDocument,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    descending: bool,
    r#type: TypeDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<MaskDocument>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DroppedDocument {
    name: String,
    kind: KindDocument,
    r#type: TypeDocument,
    dropped_at_us: i64,
}

#[derive(Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum KindDocument {
    PartitionKey,
    Clustering,
    Static,
    Regular,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OptionDocument {
    Scalar(String),
    Map(BTreeMap<String, String>),
}

/// A UUID or version as the document has it.
pub(super) fn hex(value: u128) -> String {
    format!("{value:032x}")
}

/// The oldest format that has all that there is in a schema.
fn format_of(schema: &Schema) -> u32 {
    match schema {
        _ if schema.has_role_limits() => FORMAT,
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

impl RoleDocument {
    fn of(role: &Role) -> Self {
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
    fn into_role(self) -> Option<Role> {
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

impl KeyspaceDocument {
    fn of(keyspace: &Keyspace) -> Self {
        Self {
            name: keyspace.name.clone(),
            replication_class: keyspace.replication.class.clone(),
            replication_parameters: keyspace.replication.parameters.clone(),
            durable_writes: keyspace.durable_writes,
            types: keyspace.types.values().map(|user| TypeDeclaration::of(user)).collect(),
            functions: keyspace.functions.functions().map(|function| FunctionDocument::of(function)).collect(),
            aggregates: keyspace.functions.aggregates().map(|aggregate| AggregateDocument::of(aggregate)).collect(),
            tables: keyspace.tables.values().map(|table| TableDocument::of(table)).collect(),
        }
    }

    fn into_keyspace(self, next_table: u32, table_ids: &mut BTreeSet<u32>) -> Result<Keyspace, SchemaBlobError> {
        let keyspace = self.name;
        let at = |name: String| {
            let keyspace = keyspace.clone();
            move |fault| SchemaBlobError::Inconsistent { keyspace, name, fault }
        };
        let mut declared = BTreeMap::new();
        for declaration in self.types {
            if let Some(twice) = declared.insert(declaration.name.clone(), declaration) {
                return Err(at(twice.name)(Inconsistency::NameTwice));
            }
        }
        let mut resolver = Resolver { keyspace: &keyspace, declared, types: BTreeMap::new() };
        while let Some(name) = resolver.declared.keys().next().cloned() {
            resolver.user_type(&name, 0).map_err(at(name))?;
        }
        let mut tables = BTreeMap::new();
        for document in self.tables {
            let name = document.name.clone();
            let ids = std::iter::once(document.id).chain(document.indexes.iter().map(|index| index.id));
            for id in ids {
                if id >= next_table || !table_ids.insert(id) {
                    return Err(at(name)(Inconsistency::Id));
                }
            }
            let table = document.into_table(&mut resolver).map_err(at(name.clone()))?;
            if tables.insert(name.clone(), Arc::new(table)).is_some() {
                return Err(at(name)(Inconsistency::NameTwice));
            }
        }
        note_views(&mut tables).map_err(|name| at(name)(Inconsistency::View))?;
        let functions = functions::functions(self.functions, self.aggregates, &mut resolver).map_err(|(name, fault)| at(name)(fault))?;
        if let Some(table) = tables.values().find(|table| !masks::are_known(table, &functions)) {
            return Err(at(table.name.clone())(Inconsistency::Mask));
        }
        let types = resolver.types;
        let replication = Replication { class: self.replication_class, parameters: self.replication_parameters };
        Ok(Keyspace { name: keyspace, replication, durable_writes: self.durable_writes, tables, types, functions })
    }
}

impl TableDocument {
    fn of(table: &Table) -> Self {
        Self {
            name: table.name.clone(),
            id: table.id.0,
            uuid: hex(table.uuid),
            columns: table.columns.iter().map(ColumnDocument::of).collect(),
            next_column: table.next_column.0,
            dropped_columns: table.dropped_columns.iter().map(|(name, dropped)| DroppedDocument::of(name, dropped)).collect(),
            comment: table.options.comment.clone(),
            default_time_to_live: table.options.default_time_to_live,
            gc_grace_seconds: table.options.gc_grace_seconds,
            options: table.options.kept.iter().map(|(name, value)| (name.clone(), OptionDocument::of(value))).collect(),
            bins: table.records.as_ref().map(|records| records.bins().iter().map(BinDocument::of).collect()),
            indexes: table.indexes.values().map(|index| IndexDocument::of(index)).collect(),
            compact: table.compact,
            view: table.view.clone().map(|View { base, shows_all, where_clause }| ViewDocument { base, shows_all, where_clause }),
        }
    }

    fn into_table(self, resolver: &mut Resolver<'_>) -> Result<Table, Inconsistency> {
        let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
        for column in &self.columns {
            if column.id >= self.next_column || !ids.insert(column.id) {
                return Err(Inconsistency::Id);
            }
            if !names.insert(column.name.as_str()) {
                return Err(Inconsistency::NameTwice);
            }
        }
        let count = |kind| self.columns.iter().filter(|column| column.kind == kind).count();
        let (partition_key_len, clustering_len) = (count(KindDocument::PartitionKey), count(KindDocument::Clustering));
        if partition_key_len == 0 || !self.columns.is_sorted_by_key(|column| column.kind.rank()) {
            return Err(Inconsistency::ColumnOrder);
        }
        let columns = self.columns.into_iter().map(|column| column.into_column(resolver)).collect::<Result<Vec<_>, _>>()?;
        let mut dropped_columns = BTreeMap::new();
        for dropped in self.dropped_columns {
            let data_type = resolver.data_type(dropped.r#type, 0)?;
            let value = DroppedColumn { kind: dropped.kind.kind(), data_type, dropped_at_us: dropped.dropped_at_us };
            dropped_columns.insert(dropped.name, value);
        }
        let records = match self.bins {
            None => None,
            Some(bins) => Some(records(&columns, self.next_column, bins)?),
        };
        let mut indexes = BTreeMap::new();
        for document in self.indexes {
            let index = document.into_index(&columns)?;
            if indexes.insert(index.name.clone(), Arc::new(index)).is_some() {
                return Err(Inconsistency::NameTwice);
            }
        }
        Ok(Table {
            id: TableId(self.id),
            uuid: from_hex(&self.uuid).ok_or(Inconsistency::Uuid)?,
            keyspace: resolver.keyspace.to_owned(),
            name: self.name,
            columns,
            partition_key_len,
            clustering_len,
            next_column: ColumnId(self.next_column),
            dropped_columns,
            options: TableOptions {
                comment: self.comment,
                default_time_to_live: self.default_time_to_live,
                gc_grace_seconds: self.gc_grace_seconds,
                kept: self.options.into_iter().map(|(name, value)| (name, value.into_option())).collect(),
            },
            records,
            compact: self.compact,
            indexes,
            views: BTreeSet::new(),
            view: self.view.map(|ViewDocument { base, shows_all, where_clause }| View { base, shows_all, where_clause }),
        })
    }
}

impl IndexDocument {
    fn of(index: &Index) -> Self {
        let part = match index.part {
            IndexPart::Value => PartDocument::Value,
            IndexPart::Keys => PartDocument::Keys,
            IndexPart::Values => PartDocument::Values,
            IndexPart::Entries => PartDocument::Entries,
        };
        let Index { name, class, options, .. } = index.clone();
        Self { name, id: index.id.0, column: index.column.0, part, class, options }
    }

    fn into_index(self, columns: &[Column]) -> Result<Index, Inconsistency> {
        let part = match self.part {
            PartDocument::Value => IndexPart::Value,
            PartDocument::Keys => IndexPart::Keys,
            PartDocument::Values => IndexPart::Values,
            PartDocument::Entries => IndexPart::Entries,
        };
        let column = ColumnId(self.column);
        if columns.iter().all(|known| known.id != column) {
            return Err(Inconsistency::Id);
        }
        let Self { name, id, class, options, .. } = self;
        Ok(Index { id: TableId(id), name, column, part, class, options })
    }
}

/// Has base tables know their views. Gives the name of a view that cannot be one.
fn note_views(tables: &mut BTreeMap<String, Arc<Table>>) -> Result<(), String> {
    let views: Vec<(String, String)> =
        tables.values().filter_map(|table| Some((table.name.clone(), table.view.as_ref()?.base.clone()))).collect();
    for (name, base) in views {
        let Some(base) = tables.get_mut(&base).filter(|base| base.view.is_none()) else { return Err(name) };
        Arc::make_mut(base).views.insert(name);
    }
    Ok(())
}

/// The dictionary of a record set with these columns: each bin has its own.
fn records(columns: &[Column], next_column: u16, bins: Vec<BinDocument>) -> Result<RecordSet, Inconsistency> {
    let count = bins.len();
    let bins = bins.into_iter().map(|bin| Bin { name: bin.name, kind: bin.kind }).collect();
    let records = RecordSet::new(bins).ok_or(Inconsistency::Bins)?;
    let bin_columns = columns.iter().filter(|column| records.bin(column.id).is_some()).count();
    let is_whole = bin_columns == count && columns.len() == count + RecordSet::COLUMNS && usize::from(next_column) == columns.len();
    if is_whole { Ok(records) } else { Err(Inconsistency::Bins) }
}

impl BinDocument {
    fn of(bin: &Bin) -> Self {
        Self { name: bin.name.clone(), kind: bin.kind }
    }
}

impl ColumnDocument {
    fn of(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            id: column.id.0,
            kind: KindDocument::of(column.kind),
            descending: column.order == Order::Descending,
            r#type: TypeDocument::of(&column.data_type),
            mask: column.mask.as_deref().map(MaskDocument::of),
        }
    }

    fn into_column(self, resolver: &mut Resolver<'_>) -> Result<Column, Inconsistency> {
        Ok(Column {
            id: ColumnId(self.id),
            name: self.name,
            kind: self.kind.kind(),
            order: if self.descending { Order::Descending } else { Order::Ascending },
            data_type: resolver.data_type(self.r#type, 0)?,
            mask: self.mask.map(|mask| mask.into_mask(resolver)).transpose()?.map(Arc::new),
        })
    }
}

impl DroppedDocument {
    fn of(name: &str, dropped: &DroppedColumn) -> Self {
        Self {
            name: name.to_owned(),
            kind: KindDocument::of(dropped.kind),
            r#type: TypeDocument::of(&dropped.data_type),
            dropped_at_us: dropped.dropped_at_us,
        }
    }
}

impl KindDocument {
    fn of(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::PartitionKey => Self::PartitionKey,
            ColumnKind::Clustering => Self::Clustering,
            ColumnKind::Static => Self::Static,
            ColumnKind::Regular => Self::Regular,
        }
    }

    fn kind(self) -> ColumnKind {
        match self {
            Self::PartitionKey => ColumnKind::PartitionKey,
            Self::Clustering => ColumnKind::Clustering,
            Self::Static => ColumnKind::Static,
            Self::Regular => ColumnKind::Regular,
        }
    }

    /// Key columns first.
    fn rank(self) -> u8 {
        match self {
            Self::PartitionKey => 0,
            Self::Clustering => 1,
            Self::Static | Self::Regular => 2,
        }
    }
}

impl OptionDocument {
    fn of(value: &KeptOption) -> Self {
        match value {
            KeptOption::Scalar(text) => Self::Scalar(text.clone()),
            KeptOption::Map(entries) => Self::Map(entries.clone()),
        }
    }

    fn into_option(self) -> KeptOption {
        match self {
            Self::Scalar(text) => KeptOption::Scalar(text),
            Self::Map(entries) => KeptOption::Map(entries),
        }
    }
}

fn from_hex(text: &str) -> Option<u128> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok())?
}
