//! What CQL clients see of a node and its cluster: SUPPORTED and the system tables.

use crate::cluster::{Board, CoreReport};
use crate::core::Core;
use crate::table_figures::{TableLatencies, TableRequest};
use base::TableId;
use cql::CqlError;
use cql::exec::{Execution, MemoryStore};
use cql::system::{self, CoreFigures, NodeView, TableLatency, TableSize};
use cql::wire::TABLETS_ROUTING;
use engine::TableSizes;
use model::Table;
use model::operation::Context;
use std::sync::Arc;

impl Core {
    /// The options of SUPPORTED: Cassandra's, ScyllaDB's that make its drivers open a connection to each core, and what this really is.
    pub(crate) fn supported(&self) -> Vec<(String, Vec<String>)> {
        let list = |name: &str, values: &[&str]| (name.to_owned(), values.iter().map(|value| (*value).to_owned()).collect());
        let one = |name: &str, value: String| (name.to_owned(), vec![value]);
        let mut options = vec![
            list("CQL_VERSION", &[system::CQL_VERSION]),
            list("COMPRESSION", &["lz4", "snappy"]),
            list("PROTOCOL_VERSIONS", &["3/v3", "4/v4", "5/v5"]),
        ];
        // The tables claim a version of Cassandra's, and the cluster may have any name.
        options.push(one("TARNDB_VERSION", env!("CARGO_PKG_VERSION").to_owned()));
        options.push(one("SCYLLA_SHARD", self.core.0.to_string()));
        options.push(one("SCYLLA_NR_SHARDS", self.cores.to_string()));
        options.push(list("SCYLLA_PARTITIONER", &["org.apache.cassandra.dht.Murmur3Partitioner"]));
        options.push(list("SCYLLA_SHARDING_ALGORITHM", &["biased-token-round-robin"]));
        options.push(list("SCYLLA_SHARDING_IGNORE_MSB", &["0"]));
        let port = self.config.listening().shard_aware_port;
        if port != 0 {
            options.push(one("SCYLLA_SHARD_AWARE_PORT", port.to_string()));
            if self.config.client_tls.is_some() {
                options.push(one("SCYLLA_SHARD_AWARE_PORT_SSL", port.to_string()));
            }
        }
        if self.cluster.is_some() {
            options.push(list(TABLETS_ROUTING, &[]));
        }
        options
    }

    /// What the system tables show.
    pub(crate) fn view(&self) -> NodeView<'_> {
        let address = self.config.listening().cql;
        let ring = self.cluster.as_ref().map_or(&self.protocols.cql.ring, |cluster| cluster.view.ring());
        NodeView {
            schema: &self.schema,
            cluster_name: &self.config.cluster_name,
            data_center: &self.config.data_center,
            rack: &self.config.rack,
            host_id: self.config.host_id,
            cql_address: address,
            node_address: address,
            tokens: &ring.tokens,
            peers: &ring.peers,
            tablets: self.cluster.is_some().then_some(base::SLOT_COUNT as i32),
            started_s: self.config.started_s,
            clients: &[],
            traces: &[],
            slow_requests: &[],
            hot_partitions: &[],
            role_usages: &[],
            settings: &[],
            built_indexes: &[],
            table_sizes: &[],
            table_latencies: &[],
            cores: &[],
        }
    }

    /// Runs a SELECT over a system table and appends the reply frame.
    pub(crate) fn read_system_table(&self, execution: &Execution<'_>, context: &Context, out: &mut Vec<u8>) -> Result<(), CqlError> {
        let mut store = MemoryStore::new();
        let mut outcome = Ok(());
        // Whoever waits for an index or a view asks for nothing else, and only here cores ask each other.
        let tells_of_builds = |name: &str| ["IndexInfo", "built_views", "view_build_status", "sai_column_indexes"].contains(&name);
        let indexes = |table: &Arc<Table>| {
            self.config.board.as_ref().filter(|_| tells_of_builds(&table.name)).map(|board| board.indexes_built(self.cores))
        };
        let sizes = |table: &Arc<Table>| {
            self.config
                .board
                .as_ref()
                .filter(|_| ["size_estimates", "table_estimates", "disk_usage"].contains(&table.name.as_str()))
                .map(|board| sizes(board))
        };
        let traces = |table: &Arc<Table>| {
            let board = self.config.board.as_ref().filter(|_| table.keyspace == "system_traces");
            board.map(|board| board.traces().kept(context.now.wall_us))
        };
        let settings = |table: &Arc<Table>| {
            let are_shown = (&*table.keyspace, &*table.name) == ("system_views", "settings");
            if are_shown { self.config.live.shown() } else { Vec::new() }
        };
        let board_of = |table: &Arc<Table>, name: &str| {
            self.config.board.as_ref().filter(|_| (&*table.keyspace, &*table.name) == ("system_views", name))
        };
        for table in execution.prepared.tables() {
            let slow_requests = board_of(table, "slow_queries").map(|board| board.slow_requests()).unwrap_or_default();
            let hot = board_of(table, "hot_partitions").map(|board| board.hot_partitions(context.now.monotonic_us)).unwrap_or_default();
            let tells_of_cores = ["caches", "thread_pools"].into_iter().find_map(|name| board_of(table, name));
            let figures = tells_of_cores.map(|board| cores(board)).unwrap_or_default();
            let latencies = self.latencies(table);
            let clients = board_of(table, "clients").map(|board| board.clients()).unwrap_or_default();
            let settings = settings(table);
            let shows_limits = (&*table.keyspace, &*table.name) == ("system_views", "role_limits");
            let role_usages = if shows_limits { self.config.role_uses.shown(&self.schema) } else { Vec::new() };
            let traces = traces(table).unwrap_or_default();
            let (built_indexes, table_sizes) = (indexes(table).unwrap_or_default(), sizes(table).unwrap_or_default());
            system::rows(
                table,
                &NodeView {
                    clients: &clients,
                    traces: &traces,
                    slow_requests: &slow_requests,
                    hot_partitions: &hot,
                    role_usages: &role_usages,
                    settings: &settings,
                    built_indexes: &built_indexes,
                    table_sizes: &table_sizes,
                    table_latencies: &latencies,
                    cores: &figures,
                    ..self.view()
                },
                &mut |row| {
                    if outcome.is_ok() {
                        outcome = store.insert(table, &row.values);
                    }
                },
            );
        }
        outcome?;
        store.run(execution, context, out)
    }

    /// What a table of latencies tells.
    fn latencies(&self, table: &Table) -> Vec<TableLatency> {
        let (Some(board), "system_views", Some(name)) = (&self.config.board, &*table.keyspace, table.name.strip_suffix("_latency")) else {
            return Vec::new();
        };
        let request = TableRequest::ALL.into_iter().find(|request| name.ends_with(request.name()));
        let all = request.map(|request| board.table_latencies(request)).unwrap_or_default();
        let figures = |(table, all): (TableId, TableLatencies)| TableLatency {
            table,
            count: all.latencies.count(),
            max_us: all.max_us,
            p50_us: all.percentile_us(0.5),
            p99_us: all.percentile_us(0.99),
            per_second: all.per_second,
        };
        all.into_iter().filter(|(_, all)| all.latencies.count() > 0).map(figures).collect()
    }
}

/// What cores have reported.
fn cores(board: &Board) -> Vec<CoreFigures> {
    let figures = |core: &CoreReport| CoreFigures {
        core: core.core,
        requests_waiting: core.requests_waiting,
        requests_answered: core.requests.latencies.iter().flatten().flat_map(|latencies| &latencies.buckets).sum(),
        reads: core.engine.gets,
        device_reads: core.engine.device_records,
        frame_bytes: core.engine.frame_bytes,
    };
    board.report().cores.iter().map(figures).collect()
}

/// What is told of the sizes of tables.
fn sizes(board: &Board) -> Vec<(TableId, TableSize)> {
    let size = |(table, sizes): (TableId, TableSizes)| {
        (table, TableSize { partitions: sizes.partitions, partition_bytes: sizes.partition_bytes() })
    };
    board.table_sizes().into_iter().map(size).collect()
}
