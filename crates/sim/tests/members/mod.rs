//! Members of a simulated cluster, and waiting for what becomes of them.

#![allow(clippy::unwrap_used)]

use base::NodeId;
use cluster::Versions;
use sim::{Client, ClusterSetup, Machine, NODE_PORT, Network, Reply, Setup, Statement};
use std::net::SocketAddr;

const SLEEP_US: u64 = 10_000;

/// Machines with so many cores each that are members of one cluster, and know it.
#[allow(dead_code)] // Not every test starts so many.
pub(crate) fn start(nodes: usize, cores: u16) -> Network {
    start_with(7, nodes, cores)
}

/// The same, with another network and other delays for each seed.
#[allow(dead_code)] // Not every test has seeds.
pub(crate) fn start_with(seed: u64, nodes: usize, cores: u16) -> Network {
    let mut network = Network::new(seed, Box::new(Machine::boot));
    for node in 0..nodes {
        join(&mut network, node, cores);
    }
    wait(&mut network, "the members know each other", |network| {
        (0..nodes).all(|node| network.machine(node).unwrap().cluster_state().is_some_and(|state| state.members.len() == nodes))
    });
    network
}

/// One more machine, which asks the first one to be taken in; it founds the cluster if it is that one.
#[allow(dead_code)] // Not every test has others.
pub(crate) fn join(network: &mut Network, node: usize, cores: u16) {
    let join = if node == 0 { Vec::new() } else { vec![SocketAddr::new(<Network>::address(0), NODE_PORT)] };
    let protocol_versions = Versions::KNOWN;
    let cluster = ClusterSetup { address: <Network>::address(node), join, replaces: None, protocol_versions, planted: None };
    network.add(&Setup { cores, host_id: node as u128 + 1, cluster: Some(cluster), ..Setup::small(7 + node as u64) });
}

/// Which member a machine is, as the first one knows.
#[allow(dead_code)] // Not every test asks.
pub(crate) fn id(network: &mut Network, node: usize) -> NodeId {
    let state = network.machine(0).unwrap().cluster_state().unwrap();
    state.members.values().find(|member| member.profile.host_id == node as u128 + 1).unwrap().id
}

/// Which machine a member is.
#[allow(dead_code)] // Not every test asks.
pub(crate) fn machine_of(network: &mut Network, id: NodeId) -> usize {
    network.machine(0).unwrap().cluster_state().unwrap().members[&id].profile.host_id as usize - 1
}

/// What a machine answers to a client that it has let begin; nothing if it does not answer.
#[allow(dead_code)] // Not every test asks.
pub(crate) fn ask(network: &mut Network, node: usize, client: &mut Client, statement: &Statement) -> Option<Reply> {
    assert!(network.run_until(|network| client.is_ready(network.machine(node).unwrap())));
    let stream = client.send(network.machine(node).unwrap(), statement);
    let mut reply = None;
    network.run_until(|network| {
        reply = client.poll(network.machine(node).unwrap(), stream);
        reply.is_some()
    });
    reply
}

/// Waits until something holds.
pub(crate) fn wait(network: &mut Network, what: &str, mut holds: impl FnMut(&mut Network) -> bool) {
    let held = (0..5_000).any(|_| {
        network.sleep(SLEEP_US);
        holds(network)
    });
    assert!(held, "{what}: in vain");
}

/// Whether a machine knows that every slot of a keyspace has so many replicas, and nothing is under way with it.
#[allow(dead_code)] // Not every test has a keyspace.
pub(crate) fn is_replicated(network: &mut Network, node: usize, keyspace: &str, replicas: usize) -> bool {
    let state = network.machine(node).unwrap().cluster_state().unwrap();
    let is_settled =
        |slot: &cluster::Assignment| slot.in_sync.len() == replicas && slot.learners.is_empty() && slot.transfer_from.is_none();
    state.keyspaces.get(keyspace).is_some_and(|map| map.iter().all(is_settled))
}
