//! Where the data cores listen: the ports, in the order in which they are opened, and what is spoken on each.

use crate::config::Config;
use io::Placement;
use io_linux::ListenerOptions;
use node::{Listening, Protocol, Speaks};
use std::net::SocketAddr;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// As it is called in the ready line.
    pub(crate) name: &'static str,
    number: u16,
    placement: Placement,
    pub(crate) speaks: Speaks,
}

pub(crate) const CQL: &str = "cql";
const SHARD_AWARE: &str = "shard-aware";
const AEROSPIKE: &str = "aerospike";
const AEROSPIKE_TLS: &str = "aerospike-tls";
pub(crate) const GRIDDB: &str = "griddb";
const NODE: &str = "node";

/// All that a configuration asks for.
pub(crate) fn ports(config: &Config) -> Vec<Port> {
    let spread = |name, number, protocol: Protocol| Port { name, number, placement: Placement::Spread, speaks: protocol.into() };
    let by_client = |port| Port { placement: Placement::ByClientPort, ..port };
    let tls_only = |port: Port| Port { speaks: Speaks { is_tls_only: true, ..port.speaks }, ..port };
    let has_aerospike = !config.aerospike_namespaces.is_empty();
    let mut ports =
        vec![spread(CQL, config.cql_port, Protocol::Cql), by_client(spread(SHARD_AWARE, config.cql_shard_aware_port, Protocol::Cql))];
    ports.extend(has_aerospike.then(|| spread(AEROSPIKE, config.aerospike_port, Protocol::Aerospike)));
    ports.extend(config.griddb_port.map(|port| spread(GRIDDB, port, Protocol::GridDb)));
    ports.extend(config.cql_tls_port.map(|port| tls_only(spread("cql-tls", port, Protocol::Cql))));
    ports.extend(config.aerospike_tls_port.map(|port| tls_only(spread(AEROSPIKE_TLS, port, Protocol::Aerospike))));
    ports.extend(config.node_port.map(|port| by_client(spread(NODE, port, Protocol::Node))));
    ports
}

impl Port {
    /// How it is opened.
    pub(crate) fn options(&self, config: &Config) -> ListenerOptions {
        ListenerOptions { address: SocketAddr::new(config.listen, self.number), placement: self.placement }
    }
}

/// Where the port of this name was opened, if there is one.
pub(crate) fn address(ports: &[Port], opened: &[SocketAddr], name: &str) -> Option<SocketAddr> {
    ports.iter().zip(opened).find(|(port, _)| port.name == name).map(|(_, address)| *address)
}

/// What the node is told of where it listens; nothing, if it does not yet.
pub(crate) fn listening(ports: &[Port], opened: &[SocketAddr]) -> Option<Listening> {
    let of = |name| address(ports, opened, name);
    Some(Listening {
        cql: of(CQL)?,
        shard_aware_port: of(SHARD_AWARE)?.port(),
        aerospike: of(AEROSPIKE),
        aerospike_tls: of(AEROSPIKE_TLS),
        griddb: of(GRIDDB),
        node: of(NODE),
    })
}
