//! What the system's tables tell of: the node as it is at one moment, given as values.

use crate::{ConnectedClient, SlowRequest, Trace};
use base::TableId;
use model::{RoleLimits, Schema};
use std::net::SocketAddr;
use std::sync::Arc;

/// How many tokens a node says it has.
pub const RING_TOKENS: usize = 16;

/// A node as the system's tables show it.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    /// The schema, with the version that is told.
    pub schema: &'a Schema,
    /// The cluster's name.
    pub cluster_name: &'a str,
    /// The node's data centre.
    pub data_center: &'a str,
    /// The node's rack.
    pub rack: &'a str,
    /// The node's id, a UUID.
    pub host_id: u128,
    /// Where drivers reach this node.
    pub cql_address: SocketAddr,
    /// Where other nodes reach it.
    pub node_address: SocketAddr,
    /// The ends of the ranges of the ring whose first replica the node is.
    pub tokens: &'a [i64],
    /// The other members of the cluster.
    pub peers: &'a [PeerView],
    /// How many parts each table's ring has whose places drivers may ask to be told; none outside of a cluster.
    pub tablets: Option<i32>,
    /// When it was started, in seconds since the epoch.
    pub started_s: u32,
    /// Who is connected.
    pub clients: &'a [Arc<ConnectedClient>],
    /// Requests for which a trace was asked.
    pub traces: &'a [Arc<Trace>],
    /// Requests that took long.
    pub slow_requests: &'a [SlowRequest],
    /// Partitions that are asked for most.
    pub hot_partitions: &'a [HotPartition],
    /// Roles that have limits and clients.
    pub role_usages: &'a [RoleUsage],
    /// The configuration, by key.
    pub settings: &'a [(String, String)],
    /// Indexes and materialized views that are complete, by the engine's ids of their tables.
    pub built_indexes: &'a [TableId],
    /// How large tables are on this node, by ascending id; in a cluster, those of their slots that it is the primary of.
    pub table_sizes: &'a [(TableId, TableSize)],
    /// For a table of latencies: what it tells, by table.
    pub table_latencies: &'a [TableLatency],
    /// What its cores have done.
    pub cores: &'a [CoreFigures],
}

/// What a core has done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreFigures {
    /// Its number.
    pub core: u16,
    /// Requests of clients and other members that wait for a device or another core.
    pub requests_waiting: u64,
    /// Requests of clients that it has answered.
    pub requests_answered: u64,
    /// Reads of rows.
    pub reads: u64,
    /// Those that were sent to a device.
    pub device_reads: u64,
    /// Bytes of its log that are in memory.
    pub frame_bytes: u64,
}

/// Requests of one kind that clients have made about a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableLatency {
    /// The table.
    pub table: TableId,
    /// How many.
    pub count: u64,
    /// How long the longest took.
    pub max_us: u64,
    /// How long half of them took at most.
    pub p50_us: f64,
    /// How long 99 in a hundred took at most.
    pub p99_us: f64,
    /// How many there are each second, of late.
    pub per_second: f64,
}

/// How large a table is, nearly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSize {
    /// How many partitions it has.
    pub partitions: u64,
    /// How many bytes one of them takes on the device, on average.
    pub partition_bytes: u64,
}

/// A partition that is asked for often, as one core knows by samples.
#[derive(Clone, Debug, PartialEq)]
pub struct HotPartition {
    /// The keyspace of its table.
    pub keyspace: String,
    /// Its table; for entries of an index, the index.
    pub table: String,
    /// The core that owns it.
    pub core: u16,
    /// Its token.
    pub token: i64,
    /// Its key, as a literal for each column; of a long one only the beginning.
    pub key: String,
    /// How many requests for it there are in a second, about.
    pub requests_per_second: f64,
    /// Which share of the core's requests that is.
    pub share: f64,
    /// In how many samples it was, at least.
    pub samples: u64,
}

/// The limits of a role that has clients, and what these use of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleUsage {
    /// As whom the clients have logged in.
    pub role: String,
    /// Its limits, with those of roles that it has been granted.
    pub limits: RoleLimits,
    /// How many connections there are.
    pub connections: u32,
    /// How many requests were refused.
    pub refused_requests: u64,
    /// How many connections were.
    pub refused_connections: u64,
}

/// Another member of the cluster.
#[derive(Clone, Debug)]
pub struct PeerView {
    /// Its id, a UUID.
    pub host_id: u128,
    /// Its data centre.
    pub data_center: String,
    /// Its rack.
    pub rack: String,
    /// Where drivers reach it.
    pub cql_address: SocketAddr,
    /// Where other nodes reach it.
    pub node_address: SocketAddr,
    /// The ends of the ranges of the ring whose first replica it is.
    pub tokens: Vec<i64>,
}

/// The tokens of a node that owns the whole ring by itself: the ends of [`RING_TOKENS`] equal ranges.
#[must_use]
pub fn ring_tokens() -> [i64; RING_TOKENS] {
    // The ends leave out the smallest token, which the partitioner never gives, and take in the largest.
    std::array::from_fn(|index| i64::MIN.saturating_add_unsigned((1u64 << 60).saturating_mul(index as u64 + 1)))
}
