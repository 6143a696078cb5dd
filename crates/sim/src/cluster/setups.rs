//! How the machines of a cluster are set up.

use crate::network::Network;
use crate::setup::{ClusterSetup, NODE_PORT, Setup};
use base::{NodeId, Rng};
use cluster::Versions;
use shard::Durability;
use std::net::SocketAddr;

pub(super) fn choose_setup(seed: u64, planted: Option<node::Planted>, rng: &mut Rng) -> Setup {
    Setup {
        cluster: Some(ClusterSetup {
            address: <Network>::address(0),
            join: Vec::new(),
            replaces: None,
            protocol_versions: Versions::KNOWN,
            planted,
        }),
        cores: 1 + rng.below(2) as u16,
        durability: if rng.below(2) == 0 { Durability::Device } else { Durability::Memory },
        // Batches over several slots are logged in slots all over the ring, each of which takes its share of an index.
        memory_bytes: 2 << 20,
        ..Setup::small(seed)
    }
}

/// The setup of one of the first members. The first of all founds the cluster, the others ask it to be taken in.
pub(super) fn member(setup: &Setup, node: usize) -> Setup {
    joining(setup, node, usize::from(node > 0), node as u128 + 1, None)
}

/// The setup of a machine that asks the first `count` machines but itself to be taken in; of a founder if there is none.
pub(super) fn joining(setup: &Setup, node: usize, count: usize, host_id: u128, replaces: Option<NodeId>) -> Setup {
    let others = (0..count).filter(|other| *other != node);
    let join = others.map(|other| SocketAddr::new(<Network>::address(other), NODE_PORT)).collect();
    let cluster = setup.cluster.clone().map(|cluster| ClusterSetup { address: <Network>::address(node), join, replaces, ..cluster });
    Setup { seed: setup.seed << 8 | node as u64, host_id, cluster, ..setup.clone() }
}
