//! The system's own keyspaces: what drivers, cqlsh and tools read to know the node and the schema. Their tables are virtual: no log holds
//! them, their rows are made from a [`NodeView`] when they are read.
//!
//! On the path: the planner finds tables here before it looks into the schema; a read of one gets its rows from [`rows`], sorts them
//! by key and runs the same plan over them as over any table.
//!
//! Columns and types are those of Apache Cassandra 5.0, whose version [`RELEASE_VERSION`] claims; `docs/decisions/0003-claimed-version.md`
//! says why. Tables that are only there to be found are empty. Of ScyllaDB's there are those that its drivers and libraries cannot do without:
//! `system_schema.scylla_keyspaces` has rows in clusters alone, for drivers that know tablets; `system_schema.scylla_tables` says nothing but `cdc`; the tables
//! `cdc_…` tell libraries of streams. Others must not exist: drivers take an unknown table as the answer that they talk to Cassandra.

mod catalog;
mod cdc_tables;
mod core_tables;
mod definitions;
mod estimates;
mod load_tables;
mod node_tables;
mod node_view;
mod role_tables;
pub(crate) mod row;
mod schema_tables;
mod trace_tables;
mod versions;

pub use catalog::{Catalog, catalog, keyspace, table};
pub use definitions::{is_system_keyspace, is_virtual_keyspace};
pub use node_view::{CoreFigures, HotPartition, NodeView, PeerView, RING_TOKENS, RoleUsage, TableLatency, TableSize, ring_tokens};
pub use row::SystemRow;
pub use versions::{CQL_VERSION, NATIVE_PROTOCOL_VERSION, PARTITIONER, RELEASE_VERSION};

use model::Table;
use row::RowBuilder;

/// Gives every row of a system table to `visit`, in no order.
///
/// A table that is none of the system's, or has no rows, gives none.
pub fn rows(table: &Table, view: &NodeView<'_>, visit: &mut dyn FnMut(SystemRow)) {
    let mut rows = RowBuilder::new(table, visit);
    match (table.keyspace.as_str(), table.name.as_str()) {
        ("system", "IndexInfo") => node_tables::index_info(view, &mut rows),
        ("system", "built_views") => node_tables::built_views(view, &mut rows),
        ("system", "cdc_streams") => cdc_tables::streams_by_table(view, &mut rows),
        ("system", "cdc_timestamps") => cdc_tables::generations_by_table(view, &mut rows),
        ("system", "local") => node_tables::local(view, &mut rows),
        ("system", "peers") => node_tables::peers(view, &mut rows),
        ("system", "peers_v2") => node_tables::peers_v2(view, &mut rows),
        ("system", "size_estimates") => estimates::size_estimates(view, &mut rows),
        ("system", "table_estimates") => estimates::table_estimates(view, &mut rows),
        ("system_distributed", "cdc_generation_timestamps") => cdc_tables::generations(view, &mut rows),
        ("system_distributed", "cdc_streams_descriptions_v2") => cdc_tables::streams(view, &mut rows),
        ("system_distributed", "view_build_status") => node_tables::view_build_status(view, &mut rows),
        ("system_auth", "roles") => role_tables::roles(view.schema, &mut rows),
        ("system_auth", "role_members") => role_tables::role_members(view.schema, &mut rows),
        ("system_auth", "identity_to_role") => role_tables::identity_to_role(view.schema, &mut rows),
        ("system_auth", "role_permissions") => role_tables::role_permissions(view.schema, &mut rows),
        ("system_auth", "resource_role_permissons_index") => role_tables::resource_roles(view.schema, &mut rows),
        ("system_auth", "cidr_permissions") => role_tables::cidr_permissions(view.schema, &mut rows),
        ("system_auth", "cidr_groups") => role_tables::cidr_groups(view.schema, &mut rows),
        // Everybody may come in everywhere: there is one datacenter.
        ("system_auth", "network_permissions") => {}
        ("system_traces", "sessions") => trace_tables::sessions(view, &mut rows),
        ("system_traces", "events") => trace_tables::events(view, &mut rows),
        ("system_views", "caches") => core_tables::caches(view, &mut rows),
        ("system_views", "clients") => node_tables::clients(view, &mut rows),
        ("system_views", "disk_usage") => estimates::disk_usage(view, &mut rows),
        (
            "system_views",
            "coordinator_read_latency"
            | "coordinator_scan_latency"
            | "coordinator_write_latency"
            | "local_read_latency"
            | "local_scan_latency"
            | "local_write_latency",
        ) => load_tables::latencies(view, &mut rows),
        ("system_views", "hot_partitions") => load_tables::hot_partitions(view, &mut rows),
        ("system_views", "role_limits") => load_tables::role_limits(view, &mut rows),
        ("system_views", "sai_column_indexes") => node_tables::sai_column_indexes(view, &mut rows),
        ("system_views", "slow_queries") => load_tables::slow_queries(view, &mut rows),
        ("system_views", "settings") => node_tables::settings(view, &mut rows),
        ("system_views", "thread_pools") => core_tables::thread_pools(view, &mut rows),
        ("system_schema", "keyspaces") => schema_tables::keyspaces(view.schema, &mut rows),
        ("system_schema", "scylla_keyspaces") => schema_tables::scylla_keyspaces(view, &mut rows),
        ("system_schema", "scylla_tables") => schema_tables::scylla_tables(view.schema, &mut rows),
        ("system_schema", "tables") => schema_tables::tables(view.schema, &mut rows),
        ("system_schema", "views") => schema_tables::views(view.schema, &mut rows),
        ("system_schema", "column_masks") => schema_tables::column_masks(view.schema, &mut rows),
        ("system_schema", "columns") => schema_tables::columns(view.schema, &mut rows),
        ("system_schema", "indexes") => schema_tables::indexes(view.schema, &mut rows),
        ("system_schema", "dropped_columns") => schema_tables::dropped_columns(view.schema, &mut rows),
        ("system_schema", "types") => schema_tables::types(view.schema, &mut rows),
        ("system_schema", "functions") => schema_tables::functions(view.schema, &mut rows),
        ("system_schema", "aggregates") => schema_tables::aggregates(view.schema, &mut rows),
        ("system_virtual_schema", "keyspaces") => schema_tables::virtual_keyspaces(&mut rows),
        ("system_virtual_schema", "tables") => schema_tables::virtual_tables(&mut rows),
        ("system_virtual_schema", "columns") => schema_tables::virtual_columns(&mut rows),
        _ => {}
    }
}
