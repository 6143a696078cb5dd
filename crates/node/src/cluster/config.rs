//! What a node is told about clustering at its start.

use base::NodeId;
use cluster::Versions;
use std::net::SocketAddr;
use std::sync::Arc;

/// What a node is told about clustering.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Members that are asked to take this node in, if it is none yet. Without any, it founds a cluster.
    pub join: Vec<SocketAddr>,
    /// The member whose place it takes.
    pub replaces: Option<NodeId>,
    /// Random at each start of the process.
    pub incarnation: u64,
    /// The program's version.
    pub version: String,
    /// What it knows of the nodes' protocol: [`Versions::KNOWN`], but for tests of other programs than this one.
    pub protocol_versions: Versions,
    /// Names the start of the machine under the process, until which what processes leave in memory is there; 0 if it is not known.
    pub boot: u128,
    /// By how much moving rows between nodes may lengthen a request.
    pub migration_latency_us: u64,
    /// What links between nodes are encrypted with; none for plaintext.
    pub tls: Option<Arc<tls::Config>>,
    /// A bug, to see whether it is found.
    pub planted: Option<Planted>,
}

/// Bugs that tests make on purpose, to see that they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Whoever gets a former primary's writes takes them, and acknowledges them.
    NoFencing,
    /// Writes are acknowledged before replicas have them.
    EarlyAcknowledgement,
    /// Leases have no end.
    StaleLease,
}
