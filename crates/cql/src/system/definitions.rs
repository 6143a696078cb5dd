//! The system's tables as CQL: keyspace by keyspace, with Cassandra 5.0's columns and types.

/// Whether a keyspace's tables are listed in `system_schema` or, as virtual ones, in `system_virtual_schema`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    /// In `system_schema`.
    Ordinary,
    /// In `system_virtual_schema`.
    Virtual,
}

/// A keyspace of the system's.
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) listing: Listing,
    /// The replication factor, or none for what is each node's own.
    pub(super) replication_factor: Option<u32>,
    /// One CREATE TABLE each, without a keyspace.
    pub(super) tables: &'static [&'static str],
}

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition { name: "system", listing: Listing::Ordinary, replication_factor: None, tables: SYSTEM },
    Definition { name: "system_schema", listing: Listing::Ordinary, replication_factor: None, tables: SYSTEM_SCHEMA },
    Definition { name: "system_traces", listing: Listing::Ordinary, replication_factor: Some(2), tables: SYSTEM_TRACES },
    Definition { name: "system_views", listing: Listing::Virtual, replication_factor: None, tables: SYSTEM_VIEWS },
    Definition { name: "system_virtual_schema", listing: Listing::Virtual, replication_factor: None, tables: SYSTEM_VIRTUAL_SCHEMA },
    Definition { name: "system_auth", listing: Listing::Ordinary, replication_factor: Some(1), tables: SYSTEM_AUTH },
    Definition { name: "system_distributed", listing: Listing::Ordinary, replication_factor: Some(3), tables: SYSTEM_DISTRIBUTED },
];

/// Whether a keyspace of this name is one of the system's.
#[must_use]
pub fn is_system_keyspace(name: &str) -> bool {
    DEFINITIONS.iter().any(|definition| definition.name == name)
}

/// Whether a keyspace of this name is one that `system_virtual_schema` lists.
#[must_use]
pub fn is_virtual_keyspace(name: &str) -> bool {
    DEFINITIONS.iter().any(|definition| definition.name == name && definition.listing == Listing::Virtual)
}

const SYSTEM: &[&str] = &[
    r#"CREATE TABLE "IndexInfo" (table_name text, index_name text, value blob, PRIMARY KEY (table_name, index_name))
        WITH comment = 'built column indexes' AND gc_grace_seconds = 0"#,
    "CREATE TABLE available_ranges (keyspace_name text PRIMARY KEY, ranges set<blob>)
        WITH comment = 'available keyspace/ranges during bootstrap/replace that are ready to be served' AND gc_grace_seconds = 0",
    "CREATE TABLE available_ranges_v2 (keyspace_name text PRIMARY KEY, full_ranges set<blob>, transient_ranges set<blob>)
        WITH comment = 'available keyspace/ranges during bootstrap/replace that are ready to be served' AND gc_grace_seconds = 0",
    "CREATE TABLE built_views (keyspace_name text, view_name text, status_replicated boolean, PRIMARY KEY (keyspace_name, view_name))
        WITH comment = 'built views' AND gc_grace_seconds = 0",
    // ScyllaDB's two: where libraries look for the streams of CDC logs of tables with tablets.
    "CREATE TABLE cdc_streams (keyspace_name text, table_name text, timestamp timestamp, stream_state tinyint, stream_id blob,
        PRIMARY KEY ((keyspace_name, table_name), timestamp, stream_state, stream_id))
        WITH comment = 'streams of CDC logs, by table' AND gc_grace_seconds = 0",
    "CREATE TABLE cdc_timestamps (keyspace_name text, table_name text, timestamp timestamp,
        PRIMARY KEY ((keyspace_name, table_name), timestamp))
        WITH CLUSTERING ORDER BY (timestamp DESC) AND comment = 'times from which on CDC logs have their streams, by table'
        AND gc_grace_seconds = 0",
    "CREATE TABLE compaction_history (id timeuuid PRIMARY KEY, bytes_in bigint, bytes_out bigint, columnfamily_name text,
        compacted_at timestamp, compaction_properties frozen<map<text, text>>, keyspace_name text, rows_merged map<int, bigint>)
        WITH comment = 'week-long compaction history' AND gc_grace_seconds = 0",
    "CREATE TABLE local (key text PRIMARY KEY, bootstrapped text, broadcast_address inet, broadcast_port int, cluster_name text,
        cql_version text, data_center text, gossip_generation int, host_id uuid, listen_address inet, listen_port int,
        native_protocol_version text, partitioner text, rack text, release_version text, rpc_address inet, rpc_port int,
        schema_version uuid, tokens set<text>, truncated_at map<uuid, blob>)
        WITH comment = 'information about the local node' AND gc_grace_seconds = 0",
    "CREATE TABLE peers (peer inet PRIMARY KEY, data_center text, host_id uuid, preferred_ip inet, rack text, release_version text,
        rpc_address inet, schema_version uuid, tokens set<text>)
        WITH comment = 'information about known peers in the cluster' AND gc_grace_seconds = 0",
    "CREATE TABLE peers_v2 (peer inet, peer_port int, data_center text, host_id uuid, native_address inet, native_port int,
        preferred_ip inet, preferred_port int, rack text, release_version text, schema_version uuid, tokens set<text>,
        PRIMARY KEY (peer, peer_port))
        WITH comment = 'information about known peers in the cluster' AND gc_grace_seconds = 0",
    "CREATE TABLE prepared_statements (prepared_id blob PRIMARY KEY, logged_keyspace text, query_string text)
        WITH comment = 'prepared statements' AND gc_grace_seconds = 0",
    "CREATE TABLE size_estimates (keyspace_name text, table_name text, range_start text, range_end text, mean_partition_size bigint,
        partitions_count bigint, PRIMARY KEY (keyspace_name, table_name, range_start, range_end))
        WITH comment = 'per-table primary range size estimates, table is deprecated in favor of table_estimates' AND gc_grace_seconds = 0",
    "CREATE TABLE table_estimates (keyspace_name text, table_name text, range_type text, range_start text, range_end text,
        mean_partition_size bigint, partitions_count bigint,
        PRIMARY KEY (keyspace_name, table_name, range_type, range_start, range_end))
        WITH comment = 'per-table range size estimates' AND gc_grace_seconds = 0",
    "CREATE TABLE view_builds_in_progress (keyspace_name text, view_name text, start_token text, end_token text, keys_built bigint,
        last_token text, PRIMARY KEY (keyspace_name, view_name, start_token, end_token))
        WITH comment = 'views builds current progress' AND gc_grace_seconds = 0",
];

const SYSTEM_SCHEMA: &[&str] = &[
    "CREATE TABLE aggregates (keyspace_name text, aggregate_name text, argument_types frozen<list<text>>, final_func text,
        initcond text, return_type text, state_func text, state_type text,
        PRIMARY KEY (keyspace_name, aggregate_name, argument_types))
        WITH comment = 'user defined aggregate definitions' AND gc_grace_seconds = 604800",
    "CREATE TABLE column_masks (keyspace_name text, table_name text, column_name text, function_argument_nulls frozen<list<boolean>>,
        function_argument_types frozen<list<text>>, function_argument_values frozen<list<text>>, function_keyspace text,
        function_name text, PRIMARY KEY (keyspace_name, table_name, column_name))
        WITH comment = 'column dynamic data masks' AND gc_grace_seconds = 604800",
    "CREATE TABLE columns (keyspace_name text, table_name text, column_name text, clustering_order text, column_name_bytes blob,
        kind text, position int, type text, PRIMARY KEY (keyspace_name, table_name, column_name))
        WITH comment = 'column definitions' AND gc_grace_seconds = 604800",
    "CREATE TABLE dropped_columns (keyspace_name text, table_name text, column_name text, dropped_time timestamp, kind text,
        type text, PRIMARY KEY (keyspace_name, table_name, column_name))
        WITH comment = 'dropped column registry' AND gc_grace_seconds = 604800",
    "CREATE TABLE functions (keyspace_name text, function_name text, argument_types frozen<list<text>>,
        argument_names frozen<list<text>>, body text, called_on_null_input boolean, language text, return_type text,
        PRIMARY KEY (keyspace_name, function_name, argument_types))
        WITH comment = 'user defined function definitions' AND gc_grace_seconds = 604800",
    "CREATE TABLE indexes (keyspace_name text, table_name text, index_name text, kind text, options frozen<map<text, text>>,
        PRIMARY KEY (keyspace_name, table_name, index_name))
        WITH comment = 'secondary index definitions' AND gc_grace_seconds = 604800",
    "CREATE TABLE keyspaces (keyspace_name text PRIMARY KEY, durable_writes boolean, replication frozen<map<text, text>>)
        WITH comment = 'keyspace definitions' AND gc_grace_seconds = 604800",
    // ScyllaDB's, not Cassandra's: by it its drivers know which tables have tablets.
    "CREATE TABLE scylla_keyspaces (keyspace_name text PRIMARY KEY, initial_tablets int)
        WITH comment = 'keyspaces whose tables have tablets' AND gc_grace_seconds = 604800",
    // ScyllaDB's as well: its Go driver reads no schema without it. There are rows of tables with a CDC log alone.
    "CREATE TABLE scylla_tables (keyspace_name text, table_name text, cdc frozen<map<text, text>>, in_memory boolean, partitioner text,
        version uuid, PRIMARY KEY (keyspace_name, table_name))
        WITH comment = 'cdc of tables' AND gc_grace_seconds = 604800",
    "CREATE TABLE tables (keyspace_name text, table_name text, additional_write_policy text, allow_auto_snapshot boolean,
        bloom_filter_fp_chance double, caching frozen<map<text, text>>, cdc boolean, comment text,
        compaction frozen<map<text, text>>, compression frozen<map<text, text>>, crc_check_chance double,
        dclocal_read_repair_chance double, default_time_to_live int, extensions frozen<map<text, blob>>, flags frozen<set<text>>,
        gc_grace_seconds int, id uuid, incremental_backups boolean, max_index_interval int, memtable text,
        memtable_flush_period_in_ms int, min_index_interval int, read_repair text, read_repair_chance double,
        speculative_retry text, PRIMARY KEY (keyspace_name, table_name))
        WITH comment = 'table definitions' AND gc_grace_seconds = 604800",
    "CREATE TABLE triggers (keyspace_name text, table_name text, trigger_name text, options frozen<map<text, text>>,
        PRIMARY KEY (keyspace_name, table_name, trigger_name))
        WITH comment = 'trigger definitions' AND gc_grace_seconds = 604800",
    "CREATE TABLE types (keyspace_name text, type_name text, field_names frozen<list<text>>, field_types frozen<list<text>>,
        PRIMARY KEY (keyspace_name, type_name))
        WITH comment = 'user defined type definitions' AND gc_grace_seconds = 604800",
    "CREATE TABLE views (keyspace_name text, view_name text, additional_write_policy text, allow_auto_snapshot boolean,
        base_table_id uuid, base_table_name text, bloom_filter_fp_chance double, caching frozen<map<text, text>>, cdc boolean,
        comment text, compaction frozen<map<text, text>>, compression frozen<map<text, text>>, crc_check_chance double,
        dclocal_read_repair_chance double, default_time_to_live int, extensions frozen<map<text, blob>>, gc_grace_seconds int,
        id uuid, include_all_columns boolean, incremental_backups boolean, max_index_interval int, memtable text,
        memtable_flush_period_in_ms int, min_index_interval int, read_repair text, read_repair_chance double,
        speculative_retry text, where_clause text, PRIMARY KEY (keyspace_name, view_name))
        WITH comment = 'view definitions' AND gc_grace_seconds = 604800",
];

/// cqlsh shows what LIST gives by the first of them.
const SYSTEM_AUTH: &[&str] = &[
    "CREATE TABLE roles (role text PRIMARY KEY, can_login boolean, is_superuser boolean, member_of set<text>, salted_hash text)
        WITH comment = 'role definitions' AND gc_grace_seconds = 7776000",
    "CREATE TABLE role_members (role text, member text, PRIMARY KEY (role, member))
        WITH comment = 'role memberships lookup table' AND gc_grace_seconds = 7776000",
    "CREATE TABLE identity_to_role (identity text PRIMARY KEY, role text)
        WITH comment = 'mtls authorized identities lookup table' AND gc_grace_seconds = 7776000",
    "CREATE TABLE role_permissions (role text, resource text, permissions set<text>, PRIMARY KEY (role, resource))
        WITH comment = 'permissions granted to db roles' AND gc_grace_seconds = 7776000",
    "CREATE TABLE resource_role_permissons_index (resource text, role text, PRIMARY KEY (resource, role))
        WITH comment = 'index of db roles with permissions granted on a resource' AND gc_grace_seconds = 7776000",
    "CREATE TABLE network_permissions (role text PRIMARY KEY, dcs frozen<set<text>>)
        WITH comment = 'user network permissions' AND gc_grace_seconds = 7776000",
    "CREATE TABLE cidr_permissions (role text PRIMARY KEY, cidr_groups frozen<set<text>>)
        WITH comment = 'user cidr permissions' AND gc_grace_seconds = 7776000",
    "CREATE TABLE cidr_groups (cidr_group text PRIMARY KEY, cidrs frozen<set<tuple<inet, smallint>>>)
        WITH comment = 'cidr groups to cidrs mapping' AND gc_grace_seconds = 7776000",
];

const SYSTEM_DISTRIBUTED: &[&str] = &[
    // ScyllaDB's two: where libraries look for the streams of CDC logs.
    "CREATE TABLE cdc_generation_timestamps (key text, time timestamp, expired timestamp, PRIMARY KEY (key, time))
        WITH CLUSTERING ORDER BY (time DESC) AND comment = 'times from which on CDC logs have their streams'",
    "CREATE TABLE cdc_streams_descriptions_v2 (time timestamp, range_end bigint, streams frozen<set<blob>>,
        PRIMARY KEY (time, range_end)) WITH comment = 'streams of CDC logs'",
    "CREATE TABLE view_build_status (keyspace_name text, view_name text, host_id uuid, status text,
        PRIMARY KEY ((keyspace_name, view_name), host_id)) WITH comment = 'Materialized View build status'",
];

const SYSTEM_TRACES: &[&str] = &[
    "CREATE TABLE events (session_id uuid, event_id timeuuid, activity text, source inet, source_elapsed int, source_port int,
        thread text, PRIMARY KEY (session_id, event_id))
        WITH comment = 'tracing events' AND gc_grace_seconds = 0",
    "CREATE TABLE sessions (session_id uuid PRIMARY KEY, client inet, command text, coordinator inet, coordinator_port int,
        duration int, parameters map<text, text>, request text, started_at timestamp)
        WITH comment = 'tracing sessions' AND gc_grace_seconds = 0",
];

const SYSTEM_VIEWS: &[&str] = &[
    "CREATE TABLE clients (address inet, port int, client_options frozen<map<text, text>>, connection_stage text, driver_name text,
        driver_version text, hostname text, keyspace_name text, protocol_version int, request_count bigint, ssl_cipher_suite text,
        ssl_enabled boolean, ssl_protocol text, username text, PRIMARY KEY (address, port))
        WITH comment = 'currently connected clients'",
    "CREATE TABLE caches (name text PRIMARY KEY, capacity_bytes bigint, entry_count int, hit_count bigint, hit_ratio double,
        recent_hit_rate_per_second bigint, recent_request_rate_per_second bigint, request_count bigint, size_bytes bigint)
        WITH comment = 'system caches'",
    "CREATE TABLE disk_usage (keyspace_name text, table_name text, mebibytes bigint, PRIMARY KEY ((keyspace_name, table_name)))
        WITH comment = 'what tables take on disk'",
    "CREATE TABLE sai_column_indexes (keyspace_name text, index_name text, analyzer text, column_name text, is_building boolean,
        is_queryable boolean, is_string boolean, table_name text, PRIMARY KEY (keyspace_name, index_name))
        WITH comment = 'storage-attached indexes'",
    "CREATE TABLE thread_pools (name text PRIMARY KEY, active_tasks int, active_tasks_limit int, blocked_tasks bigint,
        blocked_tasks_all_time bigint, completed_tasks bigint, pending_tasks int) WITH comment = 'what cores are doing'",
    "CREATE TABLE coordinator_read_latency (keyspace_name text, table_name text, count bigint, max_ms double, p50th_ms double,
        p99th_ms double, per_second double, PRIMARY KEY ((keyspace_name, table_name)))
        WITH comment = 'reads by table, as this node was asked for them'",
    "CREATE TABLE coordinator_scan_latency (keyspace_name text, table_name text, count bigint, max_ms double, p50th_ms double,
        p99th_ms double, per_second double, PRIMARY KEY ((keyspace_name, table_name)))
        WITH comment = 'scans by table, as this node was asked for them'",
    "CREATE TABLE coordinator_write_latency (keyspace_name text, table_name text, count bigint, max_ms double, p50th_ms double,
        p99th_ms double, per_second double, PRIMARY KEY ((keyspace_name, table_name)))
        WITH comment = 'writes by table, as this node was asked for them'",
    "CREATE TABLE local_read_latency (keyspace_name text, table_name text, count bigint, max_ms double, p50th_ms double,
        p99th_ms double, per_second double, PRIMARY KEY ((keyspace_name, table_name)))
        WITH comment = 'reads by table, as coordinator_read_latency has them'",
    "CREATE TABLE local_scan_latency (keyspace_name text, table_name text, count bigint, max_ms double, p50th_ms double,
        p99th_ms double, per_second double, PRIMARY KEY ((keyspace_name, table_name)))
        WITH comment = 'scans by table, as coordinator_scan_latency has them'",
    "CREATE TABLE local_write_latency (keyspace_name text, table_name text, count bigint, max_ms double, p50th_ms double,
        p99th_ms double, per_second double, PRIMARY KEY ((keyspace_name, table_name)))
        WITH comment = 'writes by table, as coordinator_write_latency has them'",
    // These are TarnDB's own.
    "CREATE TABLE hot_partitions (keyspace_name text, table_name text, partition_token bigint, core int, partition_key text, requests_per_second double,
        samples bigint, share double, PRIMARY KEY ((keyspace_name, table_name), partition_token, core))
        WITH comment = 'partitions that this node is asked for most, from samples of the last seconds'",
    "CREATE TABLE role_limits (role text PRIMARY KEY, bytes_per_second bigint, connections int, max_connections bigint,
        reads_per_second bigint, refused_connections bigint, refused_requests bigint, requests_per_second bigint, writes_per_second bigint)
        WITH comment = 'roles that have limits and clients, and what these use of this node'",
    "CREATE TABLE slow_queries (core int, number bigint, client inet, client_port int, duration_us bigint, keyspace_name text, kind text,
        protocol text, started_at timestamp, statement text, table_name text, username text, waited_for text,
        PRIMARY KEY (core, number)) WITH CLUSTERING ORDER BY (number DESC)
        AND comment = 'requests that took longer than slow_query_threshold_ms: the latest, and the slowest before them'",
    "CREATE TABLE settings (name text PRIMARY KEY, value text) WITH comment = 'current settings'",
];

const SYSTEM_VIRTUAL_SCHEMA: &[&str] = &[
    "CREATE TABLE columns (keyspace_name text, table_name text, column_name text, clustering_order text, column_name_bytes blob,
        kind text, position int, type text, PRIMARY KEY (keyspace_name, table_name, column_name))
        WITH comment = 'virtual column definitions'",
    "CREATE TABLE keyspaces (keyspace_name text PRIMARY KEY) WITH comment = 'virtual keyspace definitions'",
    "CREATE TABLE tables (keyspace_name text, table_name text, comment text, PRIMARY KEY (keyspace_name, table_name))
        WITH comment = 'virtual table definitions'",
];
