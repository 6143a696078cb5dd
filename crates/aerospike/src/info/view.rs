//! What a node shows of itself.

use crate::exec::Namespace;
use model::Schema;
use std::net::SocketAddr;

/// The version of the protocol's server whose behaviour is followed: see `docs/decisions/0011-claimed-aerospike-version.md`.
pub const BUILD: &str = "7.2.0.1";

/// What information commands tell of.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    /// The node's name: up to 16 hexadecimal digits, different on each node.
    pub node_name: &'a str,
    /// The cluster's name; empty for none.
    pub cluster_name: &'a str,
    /// Where clients reach this node.
    pub address: SocketAddr,
    /// The namespaces there are.
    pub namespaces: &'a [Namespace],
    /// Sets and bins.
    pub schema: &'a Schema,
    /// Seconds since the node started.
    pub uptime_s: u64,
    /// Connections of this protocol, on this core.
    pub client_connections: u32,
}

impl<'a> NodeView<'a> {
    pub(super) fn namespace(&self, name: &str) -> Option<&'a Namespace> {
        self.namespaces.iter().find(|namespace| namespace.name == name)
    }
}
