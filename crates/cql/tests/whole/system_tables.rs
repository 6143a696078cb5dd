//! The system's tables: that they are those drivers expect, and what is in them.

use crate::schema_support::{Session, view};
use cql::system::{self, CoreFigures, HotPartition, NodeView, RoleUsage, SystemRow, TableLatency, TableSize};
use cql::wire::ProtocolVersion;
use cql::{ConnectedClient, Encryption, SlowRequest, language, value};
use model::{ColumnKind, Limit, Order, RoleLimits, Schema, Table};
use std::collections::BTreeSet;
use std::sync::Arc;

const ENCRYPTION: Encryption = Encryption { protocol: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384" };
const COLUMNS: &str = include_str!("system_golden/columns-5.0.9.txt");

fn all_tables() -> Vec<Arc<Table>> {
    let catalog = system::catalog();
    let keyspaces = catalog.ordinary.values().chain(catalog.virtual_keyspaces.values());
    keyspaces.flat_map(|keyspace| keyspace.tables.values().cloned()).collect()
}

/// A column of a row as text.
fn text<'a>(table: &Table, row: &'a SystemRow, column: &str) -> Option<&'a str> {
    let (position, _) = table.column(column).unwrap();
    row.values[position].as_deref().map(|bytes| std::str::from_utf8(bytes).unwrap())
}

fn app() -> Session {
    let mut session = Session::new();
    session.all(&[
        "CREATE KEYSPACE app WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}",
        "USE app",
        "CREATE TYPE money (cents bigint, \"Currency\" text)",
        "CREATE TABLE orders (a int, b text, c timeuuid, s text static, v list<frozen<money>>, old int, PRIMARY KEY ((a, b), c)) \
         WITH CLUSTERING ORDER BY (c DESC) AND comment = 'it''s' AND cdc = true",
        "ALTER TABLE orders DROP old USING TIMESTAMP 1234567",
        "CREATE TABLE counts (k text PRIMARY KEY, n counter)",
    ]);
    session
}

#[test]
fn tables_have_the_columns_and_types_of_cassandra() {
    let mut expected = BTreeSet::new();
    for line in COLUMNS.lines().filter(|line| !line.starts_with('#')) {
        assert_eq!(line.split('\t').count(), 7, "{line}");
        expected.insert(line.to_owned());
    }
    let mut given = BTreeSet::new();
    // ScyllaDB's own tables are not Cassandra's, nor are ours.
    let is_scyllas = |table: &&Arc<Table>| ["scylla_keyspaces", "scylla_tables"].contains(&&*table.name) || table.name.starts_with("cdc_");
    let is_ours = |table: &&Arc<Table>| ["hot_partitions", "role_limits", "slow_queries"].contains(&&*table.name);
    for table in all_tables().iter().filter(|table| !is_scyllas(table) && !is_ours(table)) {
        for (index, column) in table.columns.iter().enumerate() {
            let (kind, position) = match column.kind {
                ColumnKind::PartitionKey => ("partition_key", index.to_string()),
                ColumnKind::Clustering => ("clustering", (index - table.partition_key_len).to_string()),
                ColumnKind::Static => ("static", "-1".to_owned()),
                ColumnKind::Regular => ("regular", "-1".to_owned()),
            };
            let order = match (column.kind, column.order) {
                (ColumnKind::Clustering, Order::Ascending) => "asc",
                (ColumnKind::Clustering, Order::Descending) => "desc",
                _ => "none",
            };
            let fields = [&table.keyspace, &table.name, &column.name, kind, &position, order, &column.data_type.to_string()];
            given.insert(fields.join("\t"));
        }
    }
    let missing: Vec<_> = expected.difference(&given).collect();
    let added: Vec<_> = given.difference(&expected).collect();
    assert!(missing.is_empty() && added.is_empty(), "missing {missing:#?}\nadded {added:#?}");
}

#[test]
fn table_ids_are_those_of_cassandra_and_apart_from_users() {
    let local = system::table("system", "local").unwrap();
    assert_eq!(format!("{:032x}", local.uuid), "7ad54392bcdd35a684174e047860b377");
    let columns = system::table("system_schema", "columns").unwrap();
    assert_eq!(format!("{:032x}", columns.uuid), "24101c25a2ae3af787c1b40ee1aca33f");
    let ids: BTreeSet<u32> = all_tables().iter().map(|table| table.id.0).collect();
    assert_eq!(ids.len(), all_tables().len(), "each has its own id");
    assert!(ids.iter().all(|id| *id >= cql::ddl::SYSTEM_TABLE_IDS_FROM));
}

#[test]
fn tables_of_scylla_and_of_users_are_none_of_the_systems() {
    for table in ["scylla_views", "scylla_aggregates", "scylla_table_schema_history", "computed_columns"] {
        assert_eq!(system::table("system_schema", table), None);
    }
    assert_eq!(system::table("app", "local"), None);
    assert_eq!(system::table("systematic", "local"), None);
    assert!(system::is_system_keyspace("system_auth") && !system::is_system_keyspace("systematic"));
}

#[test]
fn every_value_of_every_row_is_one_of_its_columns_type_and_every_key_is_there() {
    let session = app();
    let options = [("DRIVER_VERSION", "1"), ("DRIVER_NAME", "a driver")];
    let clients = [Arc::new(ConnectedClient::new("[::1]:40000".parse().unwrap(), ProtocolVersion::V5, Some(ENCRYPTION), options))];
    let sizes: Vec<_> = session.schema.tables().map(|table| (table.id, TableSize { partitions: 1_000, partition_bytes: 100 })).collect();
    let settings = [("memory_limit".to_owned(), "512 MiB".to_owned())];
    let cores = [CoreFigures { reads: 100, device_reads: 25, ..CoreFigures::default() }];
    let latency = |table: &Arc<Table>| TableLatency { table: table.id, count: 9, max_us: 70, p50_us: 20.5, p99_us: 60.0, per_second: 0.5 };
    let latencies: Vec<_> = session.schema.tables().map(latency).collect();
    let view = NodeView {
        clients: &clients,
        settings: &settings,
        table_sizes: &sizes,
        table_latencies: &latencies,
        cores: &cores,
        ..view(&session.schema)
    };
    let mut filled = BTreeSet::new();
    for table in all_tables() {
        let mut keys = BTreeSet::new();
        system::rows(&table, &view, &mut |row| {
            assert_eq!(row.values.len(), table.columns.len());
            let name = format!("{}.{}", table.keyspace, table.name);
            for (column, bytes) in table.columns.iter().zip(&row.values) {
                match bytes {
                    Some(bytes) => {
                        value::validate(&column.data_type, bytes).unwrap_or_else(|error| panic!("{name}.{}: {error}", column.name));
                    }
                    None => assert!(matches!(column.kind, ColumnKind::Regular), "{name}.{} is null", column.name),
                }
            }
            let key_len = table.partition_key_len + table.clustering_len;
            assert!(keys.insert(row.values[..key_len].to_vec()), "{name} has two rows of one key");
            filled.insert(name);
        });
    }
    let expected = [
        "system.local",
        "system.size_estimates",
        "system.table_estimates",
        "system_auth.roles",
        "system_schema.columns",
        "system_schema.dropped_columns",
        "system_schema.keyspaces",
        "system_schema.tables",
        "system_schema.types",
        "system_views.caches",
        "system_views.clients",
        "system_views.coordinator_read_latency",
        "system_views.coordinator_scan_latency",
        "system_views.coordinator_write_latency",
        "system_views.disk_usage",
        "system_views.local_read_latency",
        "system_views.local_scan_latency",
        "system_views.local_write_latency",
        "system_views.settings",
        "system_views.thread_pools",
        "system_virtual_schema.columns",
        "system_virtual_schema.keyspaces",
        "system_virtual_schema.tables",
    ];
    assert_eq!(filled.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn local_tells_what_drivers_choose_by() {
    let session = app();
    let table = system::table("system", "local").unwrap();
    let rows = session.system_rows("system", "local");
    assert_eq!(rows.len(), 1);
    let expect = |column, value| assert_eq!(text(&table, &rows[0], column), Some(value), "{column}");
    expect("key", "local");
    expect("bootstrapped", "COMPLETED");
    expect("release_version", "5.0.0");
    expect("cql_version", "3.4.7");
    expect("native_protocol_version", "5");
    expect("partitioner", "org.apache.cassandra.dht.Murmur3Partitioner");
    expect("cluster_name", "test cluster");
    let value = |column| rows[0].values[table.column(column).unwrap().0].clone().unwrap();
    assert_eq!(value("schema_version"), session.schema.version.to_be_bytes());
    assert_eq!(value("rpc_address"), [127, 0, 0, 1]);
    assert_eq!(value("rpc_port"), 9042_i32.to_be_bytes());
}

#[test]
fn tokens_cut_the_ring_into_equal_ranges() {
    let tokens = system::ring_tokens();
    assert_eq!(tokens.len(), system::RING_TOKENS);
    assert_eq!(tokens.last(), Some(&i64::MAX));
    let mut former = i128::from(i64::MIN);
    for token in tokens {
        let width = i128::from(token) - former;
        assert!((width - (1 << 60)).abs() <= 1, "{width}");
        former = i128::from(token);
    }
    let session = app();
    let table = system::table("system", "local").unwrap();
    let bytes = session.system_rows("system", "local")[0].values[table.column("tokens").unwrap().0].clone().unwrap();
    assert_eq!(bytes[..4], 16_i32.to_be_bytes(), "sixteen texts");
}

#[test]
fn the_schema_tables_show_the_schema_and_the_systems_own() {
    let session = app();
    let keyspaces = system::table("system_schema", "keyspaces").unwrap();
    let names: Vec<String> = session
        .system_rows("system_schema", "keyspaces")
        .iter()
        .map(|row| text(&keyspaces, row, "keyspace_name").unwrap().to_owned())
        .collect();
    assert_eq!(names, ["system", "system_auth", "system_distributed", "system_schema", "system_traces", "app"]);
    let columns = system::table("system_schema", "columns").unwrap();
    let all = session.system_rows("system_schema", "columns");
    let mut orders: Vec<String> = Vec::new();
    for row in all.iter().filter(|row| text(&columns, row, "table_name") == Some("orders")) {
        let field = |name| text(&columns, row, name).unwrap();
        let position = i32::from_be_bytes(row.values[columns.column("position").unwrap().0].clone().unwrap().try_into().unwrap());
        let (kind, order, kind_of_value) = (field("kind"), field("clustering_order"), field("type"));
        orders.push(format!("{} {kind} {position} {order} {kind_of_value}", field("column_name")));
    }
    let expected = [
        "a partition_key 0 none int",
        "b partition_key 1 none text",
        "c clustering 0 desc timeuuid",
        "s static -1 none text",
        "v regular -1 none list<frozen<money>>",
    ];
    assert_eq!(orders, expected);
}

#[test]
fn dropped_columns_and_types_are_listed() {
    let session = app();
    let dropped = system::table("system_schema", "dropped_columns").unwrap();
    let rows = session.system_rows("system_schema", "dropped_columns");
    assert_eq!(rows.len(), 1);
    assert_eq!(text(&dropped, &rows[0], "column_name"), Some("old"));
    assert_eq!(text(&dropped, &rows[0], "kind"), Some("regular"));
    assert_eq!(text(&dropped, &rows[0], "type"), Some("int"));
    let time = dropped.column("dropped_time").unwrap().0;
    assert_eq!(rows[0].values[time].as_deref(), Some(&1234_i64.to_be_bytes()[..]), "microseconds become milliseconds");
    let types = session.system_rows("system_schema", "types");
    assert_eq!(types.len(), 1);
    let table = system::table("system_schema", "types").unwrap();
    let names = types[0].values[table.column("field_names").unwrap().0].clone().unwrap();
    assert_eq!(names, b"\0\0\0\x02\0\0\0\x05cents\0\0\0\x08Currency");
    let kinds = types[0].values[table.column("field_types").unwrap().0].clone().unwrap();
    assert_eq!(kinds, b"\0\0\0\x02\0\0\0\x06bigint\0\0\0\x04text");
}

#[test]
fn tables_tell_their_options_and_flags() {
    let session = app();
    let table = system::table("system_schema", "tables").unwrap();
    let rows = session.system_rows("system_schema", "tables");
    let row = |name| rows.iter().find(|row| text(&table, row, "table_name") == Some(name)).unwrap();
    let value = |name, column| row(name).values[table.column(column).unwrap().0].clone();
    assert_eq!(text(&table, row("orders"), "comment"), Some("it's"));
    assert_eq!(value("orders", "cdc"), Some(vec![1]));
    assert_eq!(value("counts", "cdc"), None);
    assert_eq!(value("orders", "memtable"), None);
    assert_eq!(value("orders", "flags").unwrap(), b"\0\0\0\x01\0\0\0\x08compound");
    assert_eq!(value("counts", "flags").unwrap(), b"\0\0\0\x02\0\0\0\x08compound\0\0\0\x07counter");
    assert_eq!(value("orders", "id").unwrap(), session.schema.table("app", "orders").unwrap().uuid.to_be_bytes());
}

#[test]
fn an_empty_schema_has_its_system_tables() {
    let session = Session { schema: Arc::new(Schema::empty()), ..Session::new() };
    let rows = session.system_rows("system_schema", "tables");
    let ordinary: usize = system::catalog().ordinary.values().map(|keyspace| keyspace.tables.len()).sum();
    assert_eq!(rows.len(), ordinary);
}

#[test]
fn queries_of_drivers_name_tables_and_columns_that_are_there() {
    // What the Python, Java 3 and 4, Rust (scylla), Go and Node drivers and cqlsh ask when they connect and when the schema changes.
    let queries = [
        "SELECT * FROM system.local WHERE key='local'",
        "SELECT cluster_name FROM system.local",
        "SELECT schema_version FROM system.local WHERE key='local'",
        "SELECT host_id, cluster_name, data_center, rack, partitioner, release_version, schema_version FROM system.local WHERE key='local'",
        "SELECT rpc_address FROM system.local WHERE key='local'",
        "SELECT host_id, rpc_address, data_center, rack, tokens, cluster_name FROM system.local WHERE key='local'",
        "SELECT * FROM system.peers",
        "SELECT peer, rpc_address, schema_version FROM system.peers",
        "SELECT peer, host_id, rpc_address, schema_version FROM system.peers",
        "SELECT host_id, peer, data_center, rack, rpc_address, release_version, schema_version FROM system.peers",
        "SELECT host_id, rpc_address, data_center, rack, tokens FROM system.peers",
        "SELECT * FROM system.peers_v2",
        "SELECT host_id, peer, peer_port, data_center, rack, native_address, native_port, release_version, schema_version FROM system.peers_v2",
        "SELECT host_id, peer, peer_port, native_address, native_port, schema_version FROM system.peers_v2",
        "SELECT prepared_id FROM system.prepared_statements",
        "SELECT * FROM system_schema.keyspaces",
        "SELECT durable_writes, replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
        "SELECT keyspace_name, toJson(replication) AS replication, durable_writes FROM system_schema.keyspaces",
        "SELECT * FROM system_schema.tables",
        "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
        "SELECT * FROM system_schema.columns",
        "SELECT table_name, column_name, clustering_order, type, kind, position FROM system_schema.columns WHERE keyspace_name = ?",
        "SELECT keyspace_name, type_name, field_names, field_types FROM system_schema.types",
        "SELECT * FROM system_schema.indexes",
        "SELECT * FROM system_schema.triggers",
        "SELECT * FROM system_schema.functions",
        "SELECT * FROM system_schema.aggregates",
        "SELECT * FROM system_schema.views",
        "SELECT view_name FROM system_schema.views WHERE keyspace_name = ?",
        "SELECT keyspace_name, view_name, base_table_name FROM system_schema.views",
        "SELECT * from system_virtual_schema.keyspaces",
        "SELECT * from system_virtual_schema.tables",
        "SELECT * from system_virtual_schema.columns",
        "SELECT * FROM system_traces.sessions WHERE session_id = ?",
        "SELECT activity, event_id, source, source_elapsed, thread FROM system_traces.events WHERE session_id = ?",
    ];
    for query in queries {
        let language::Statement::Select(select) = language::parse(query).unwrap().statement else { panic!("{query}") };
        let keyspace = select.from.keyspace.as_ref().unwrap();
        let table = system::table(keyspace, &select.from.name).unwrap_or_else(|| panic!("{query}"));
        let listed = query.split_once(" FROM ").or_else(|| query.split_once(" from ")).unwrap().0.trim_start_matches("SELECT ");
        for column in listed.split(", ").filter(|column| *column != "*" && !column.contains('(')) {
            assert!(table.column(column).is_some(), "{query}: {column}");
        }
    }
}

#[test]
fn keyspaces_have_tablets_in_clusters_alone() {
    let session = app();
    let table = system::table("system_schema", "scylla_keyspaces").unwrap();
    let rows = |tablets| {
        let mut rows = Vec::new();
        system::rows(&table, &NodeView { tablets, ..view(&session.schema) }, &mut |row| rows.push(row.values));
        rows
    };
    assert!(rows(None).is_empty());
    assert_eq!(rows(Some(4096)), [vec![Some(b"app".to_vec()), Some(4096_i32.to_be_bytes().to_vec())]]);
}

#[test]
fn peers_are_the_other_members_of_the_cluster() {
    let session = app();
    let peer = |last: u8, port| system::PeerView {
        host_id: u128::from(last),
        data_center: "datacenter1".to_owned(),
        rack: format!("rack{last}"),
        cql_address: ([127, 0, 0, last], port).into(),
        node_address: ([127, 0, 0, last], 7000).into(),
        tokens: vec![i64::from(last), -5],
    };
    let peers = [peer(2, 9042), peer(1, 9043)];
    let view = NodeView { peers: &peers, ..view(&session.schema) };
    let rows_of = |name: &str| {
        let mut rows = Vec::new();
        let table = system::table("system", name).unwrap();
        system::rows(&table, &view, &mut |row| rows.push(row));
        (table, rows)
    };
    let (table, rows) = rows_of("peers_v2");
    assert_eq!(rows.len(), 2);
    let value = |column| rows[1].values[table.column(column).unwrap().0].clone().unwrap();
    assert_eq!((value("native_address"), value("native_port")), (vec![127, 0, 0, 1], 9043_i32.to_be_bytes().to_vec()));
    assert_eq!(value("tokens"), [0, 0, 0, 2, 0, 0, 0, 2, b'-', b'5', 0, 0, 0, 1, b'1']);
    let (table, rows) = rows_of("peers");
    assert_eq!(rows.len(), 1, "a peer at this node's own address cannot be told from it");
    assert_eq!(rows[0].values[table.column("rpc_address").unwrap().0].as_deref(), Some(&[127, 0, 0, 2][..]));
}

#[test]
fn what_a_node_is_asked_for_is_shown() {
    let session = app();
    let slow = SlowRequest {
        core: 1,
        number: 7,
        started_us: 5_000,
        duration_us: 900_000,
        protocol: "cql",
        kind: "read",
        keyspace: Some("app".to_owned()),
        table: Some("orders".to_owned()),
        statement: Some("SELECT ?".to_owned()),
        client: None,
        role: None,
        waited_for: "several partitions",
    };
    let hot = HotPartition {
        keyspace: "app".to_owned(),
        table: "orders".to_owned(),
        core: 1,
        token: -5,
        key: "1, 2".to_owned(),
        requests_per_second: 12.5,
        share: 0.5,
        samples: 3,
    };
    let mut limits = RoleLimits::default();
    limits.set(Limit::Requests, 40);
    let usage = RoleUsage { role: "jo".to_owned(), limits, connections: 2, refused_requests: 9, refused_connections: 0 };
    let view = NodeView { slow_requests: &[slow], hot_partitions: &[hot], role_usages: &[usage], ..view(&session.schema) };
    let shown = |name: &str, columns: &[&str]| {
        let table = system::table("system_views", name).unwrap();
        let mut all = Vec::new();
        let literal = |row: &SystemRow, column: &str| {
            let (position, column) = table.column(column).unwrap();
            value::text::to_literal(&column.data_type, row.values[position].as_deref())
        };
        system::rows(&table, &view, &mut |row| all.push(columns.iter().map(|column| literal(&row, column)).collect::<Vec<_>>()));
        all
    };
    let columns = ["core", "number", "duration_us", "statement", "client", "username", "waited_for"];
    assert_eq!(shown("slow_queries", &columns), [["1", "7", "900000", "'SELECT ?'", "null", "null", "'several partitions'"]]);
    let columns = ["table_name", "partition_token", "partition_key", "requests_per_second", "samples"];
    assert_eq!(shown("hot_partitions", &columns), [["'orders'", "-5", "'1, 2'", "12.5", "3"]]);
    let columns = ["role", "connections", "requests_per_second", "bytes_per_second", "refused_requests"];
    assert_eq!(shown("role_limits", &columns), [["'jo'", "2", "40", "null", "9"]]);
}
