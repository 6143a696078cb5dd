//! The schema: keyspaces, tables, columns. Immutable values; a change makes a new [`Schema`] that shares what it did not touch.

mod analyzers;
mod column;
mod long_vectors;
mod role;
mod table;

pub use column::{Column, ColumnKind, DroppedColumn, Order};
pub use role::Role;
pub use table::{
    CDC_LOG_OPTION, CDC_OPTION, CONTAINER_OPTION, DROPPED_AT_OPTION, Index, IndexPart, KeptOption, PARTITIONING_ENTRY, Table, TableOptions,
    View,
};

use crate::function::{Function, Functions};
use crate::types::UserType;
use base::TableId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that is declared on this node or cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Changes with every change of the schema; the same on all nodes that agree.
    pub version: u128,
    /// The id the next table gets. Ids are never used again.
    pub next_table: TableId,
    /// By name.
    pub keyspaces: BTreeMap<String, Arc<Keyspace>>,
    /// Who may log in, by name. Empty until the first role is made: what there is then is for the protocols to say.
    pub roles: BTreeMap<String, Arc<Role>>,
}

/// A keyspace (namespace, database).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyspace {
    /// Its name.
    pub name: String,
    /// How its rows are replicated.
    pub replication: Replication,
    /// Kept for drivers and DESCRIBE: TarnDB's writes are always durable.
    pub durable_writes: bool,
    /// Tables by name.
    pub tables: BTreeMap<String, Arc<Table>>,
    /// User types by name.
    pub types: BTreeMap<String, Arc<UserType>>,
    /// Functions and aggregates.
    pub functions: Functions,
}

impl Keyspace {
    /// An empty one with one replica: what a protocol makes that does not ask for more.
    #[must_use]
    pub fn of_one_replica(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            replication: Replication {
                class: "org.apache.cassandra.locator.SimpleStrategy".to_owned(),
                parameters: BTreeMap::from([("replication_factor".to_owned(), "1".to_owned())]),
            },
            durable_writes: true,
            tables: BTreeMap::new(),
            types: BTreeMap::new(),
            functions: Default::default(),
        }
    }
}

/// The replication map as it was declared: `class` and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// `org.apache.cassandra.locator.SimpleStrategy` or `...NetworkTopologyStrategy`, in full.
    pub class: String,
    /// The other entries (`replication_factor` or a data centre's name → factor).
    pub parameters: BTreeMap<String, String>,
}

impl Schema {
    /// A schema without user keyspaces.
    #[must_use]
    pub fn empty() -> Self {
        Self { version: 0, next_table: TableId(1), keyspaces: BTreeMap::new(), roles: BTreeMap::new() }
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> + Clone {
        self.keyspaces.values().flat_map(|keyspace| keyspace.tables.values())
    }

    /// Whether a table has an index.
    #[must_use]
    pub fn has_indexes(&self) -> bool {
        self.tables().any(|table| !table.indexes.is_empty())
    }

    /// Whether it has what programs of the time before indexes do not know.
    #[must_use]
    pub fn has_indexes_or_compact_tables(&self) -> bool {
        self.has_indexes() || self.tables().any(|table| table.compact)
    }

    /// Whether a record set has an index, perhaps of values within cells.
    #[must_use]
    pub fn has_record_set_indexes(&self) -> bool {
        self.tables().any(|table| table.records.is_some() && !table.indexes.is_empty())
    }

    /// Whether a container's rows are not in one partition.
    #[must_use]
    pub fn has_partitioned_containers(&self) -> bool {
        self.tables().any(|table| table.is_partitioned_container())
    }

    /// Whether transactions over several records have used a record set.
    #[must_use]
    pub fn has_record_transactions(&self) -> bool {
        self.tables().any(|table| table.records.is_some() && table.remembers_deletions())
    }

    /// Whether a container has an index of values within cells: a SPATIAL one.
    #[must_use]
    pub fn has_spatial_indexes(&self) -> bool {
        let is_spatial = |table: &Arc<Table>| table.is_container() && table.indexes.values().any(|index| index.part == IndexPart::Values);
        self.tables().any(is_spatial)
    }

    /// Whether there is a materialized view.
    #[must_use]
    pub fn has_views(&self) -> bool {
        self.tables().any(|table| table.view.is_some())
    }

    /// Whether a table has a CDC log.
    #[must_use]
    pub fn has_cdc_logs(&self) -> bool {
        self.tables().any(|table| table.is_cdc_log())
    }

    /// Whether users have made functions.
    #[must_use]
    pub fn has_functions(&self) -> bool {
        self.keyspaces.values().any(|keyspace| !keyspace.functions.is_empty())
    }

    /// Functions that are modules of WebAssembly.
    pub fn wasm_functions(&self) -> impl Iterator<Item = &Function> {
        let functions = self.keyspaces.values().flat_map(|keyspace| keyspace.functions.functions());
        functions.map(Arc::as_ref).filter(|function| function.language == Function::WASM)
    }

    /// Whether there is a masked column.
    #[must_use]
    pub fn has_masks(&self) -> bool {
        self.tables().any(|table| table.has_masks())
    }

    /// The materialized views of a table.
    pub fn views_of<'s>(&'s self, table: &'s Table) -> impl Iterator<Item = &'s Arc<Table>> {
        table.views.iter().filter_map(|view| self.table(&table.keyspace, view))
    }

    /// Whether a role has been allowed something.
    #[must_use]
    pub fn has_permissions(&self) -> bool {
        self.roles.values().any(|role| !role.permissions.is_empty())
    }

    /// Whether a role has identities of certificates.
    #[must_use]
    pub fn has_identities(&self) -> bool {
        self.roles.values().any(|role| !role.identities.is_empty())
    }

    /// Whether a role has what came with the log-ins of clients that send digests of passwords: Aerospike's and GridDB's.
    #[must_use]
    pub fn has_digest_logins(&self) -> bool {
        self.has_whitelists() || self.roles.values().any(|role| role.aerospike_hash.is_some() || role.griddb_hash.is_some())
    }

    /// Whether a role may log in from some addresses only.
    #[must_use]
    pub fn has_whitelists(&self) -> bool {
        self.roles.values().any(|role| !role.whitelist.is_empty())
    }

    /// Whether a role has limits.
    #[must_use]
    pub fn has_role_limits(&self) -> bool {
        self.roles.values().any(|role| !role.limits.is_empty())
    }

    /// The table `keyspace.table`.
    #[must_use]
    pub fn table(&self, keyspace: &str, table: &str) -> Option<&Arc<Table>> {
        self.keyspaces.get(keyspace)?.tables.get(table)
    }
}
