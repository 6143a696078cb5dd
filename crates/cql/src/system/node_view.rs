//! What the system's tables tell of: the node as it is at one moment, given as values.

use crate::ConnectedClient;
use base::TableId;
use model::Schema;
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
    /// The configuration, by key.
    pub settings: &'a [(String, String)],
    /// Indexes and materialized views that are complete, by the engine's ids of their tables.
    pub built_indexes: &'a [TableId],
    /// How large tables are on this node, by ascending id; in a cluster, those of their slots that it is the primary of.
    pub table_sizes: &'a [(TableId, TableSize)],
}

/// How large a table is, nearly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSize {
    /// How many partitions it has.
    pub partitions: u64,
    /// How many bytes one of them takes on the device, on average.
    pub partition_bytes: u64,
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
