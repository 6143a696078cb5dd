//! What a node shows of itself.

use crate::exec::Namespace;
use crate::jobs::Jobs;
use base::{SLOT_COUNT, TableId};
use model::Schema;
use std::net::SocketAddr;

/// The version of the protocol's server whose behaviour is followed: see `docs/decisions/0011-claimed-aerospike-version.md`.
pub const BUILD: &str = "7.2.0.1";

/// What information commands tell of.
#[derive(Debug)]
pub struct NodeView<'a> {
    /// The node's name: up to 16 hexadecimal digits, different on each node.
    pub node_name: &'a str,
    /// The cluster's name; empty for none.
    pub cluster_name: &'a str,
    /// Where clients reach this node.
    pub address: SocketAddr,
    /// Where they reach it by TLS, if they can.
    pub tls_address: Option<SocketAddr>,
    /// The namespaces there are.
    pub namespaces: &'a [Namespace],
    /// Sets and bins.
    pub schema: &'a Schema,
    /// The tables of entries of the indexes that this node has completely.
    pub built_indexes: Vec<TableId>,
    /// Scans and queries that are told of.
    pub jobs: &'a Jobs,
    /// The monotonic clock, in microseconds.
    pub now_us: u64,
    /// Seconds since the node started.
    pub uptime_s: u64,
    /// Connections of this protocol, on this core.
    pub client_connections: u32,
    /// The cluster, if there is one; without it this node has all partitions.
    pub cluster: Option<Box<dyn Cluster + 'a>>,
}

/// What a node knows of the cluster that it is in.
pub trait Cluster: std::fmt::Debug {
    /// The other members that clients are to keep, in an order that stays.
    fn peers(&self) -> Vec<Peer>;

    /// Grows when peers come, go or move.
    fn peers_generation(&self) -> u64;

    /// How many members are up, this one included.
    fn size(&self) -> usize;

    /// Grows when partitions of any namespace move.
    fn partition_generation(&self) -> u64;

    /// The same number on all nodes that know the same of the cluster.
    fn key(&self) -> u64;

    /// How the partitions of a namespace are held.
    fn partitions(&self, namespace: &str) -> Partitions;
}

/// Another member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub node_name: String,
    /// Where clients reach it.
    pub address: SocketAddr,
}

/// A bit for each partition.
pub type PartitionSet = [u8; SLOT_COUNT as usize / 8];

/// The partitions of a namespace, as one node knows of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions {
    /// Larger than all before it once partitions have moved: clients believe the node that tells the largest. Not 0.
    pub regime: u64,
    /// How many replicas there should be.
    pub factor: u8,
    /// The partitions that this node holds as the first replica, the primary; as the second; and so on. One for each of `factor`.
    pub held: Vec<PartitionSet>,
    /// How many partitions have a primary that is not up.
    pub unavailable: u32,
    /// How many replicas this node has to bring their partitions' records, and of how many it lacks some itself.
    pub sending: u32,
    /// See `sending`.
    pub receiving: u32,
}

impl Partitions {
    /// Nothing is held.
    #[must_use]
    pub fn none(regime: u64, factor: u8) -> Self {
        let held = vec![[0; SLOT_COUNT as usize / 8]; usize::from(factor.max(1))];
        Self { regime, factor, held, unavailable: 0, sending: 0, receiving: 0 }
    }

    /// This node has all there is.
    pub(super) fn all() -> Self {
        Self { held: vec![[0xFF; SLOT_COUNT as usize / 8]], ..Self::none(1, 1) }
    }

    /// This node holds a partition, as the replica of this number.
    pub fn hold(&mut self, replica: usize, partition: u16) {
        if let Some(byte) = self.held.get_mut(replica).and_then(|held| held.get_mut(usize::from(partition / 8))) {
            *byte |= 0x80 >> (partition % 8);
        }
    }
}

impl<'a> NodeView<'a> {
    pub(super) fn namespace(&self, name: &str) -> Option<&'a Namespace> {
        self.namespaces.iter().find(|namespace| namespace.name == name)
    }

    pub(super) fn partitions(&self, namespace: &str) -> Partitions {
        self.cluster.as_ref().map_or_else(Partitions::all, |cluster| cluster.partitions(namespace))
    }

    pub(super) fn peers(&self) -> Vec<Peer> {
        self.cluster.as_ref().map_or_else(Vec::new, |cluster| cluster.peers())
    }
}
