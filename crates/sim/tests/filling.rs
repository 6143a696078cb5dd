//! A replica that is filled and has no room.

#![allow(clippy::unwrap_used)]

mod members;

use cluster::Versions;
use cql::wire::{Consistency, ProtocolVersion};
use node::{FillReport, Held};
use sim::{Bound, Client, ClusterSetup, NODE_PORT, Network, Reply, Setup, Statement, int};
use std::net::SocketAddr;

const VALUE_BYTES: usize = 1000;

struct Cluster {
    network: Network,
    client: Client,
}

impl Cluster {
    /// One member with so many rows, of which each should have two replicas.
    fn start(rows: i32) -> Self {
        let mut network = members::start(1, 1);
        let client = Client::begin(network.machine(0).unwrap(), 0, ProtocolVersion::V4, None);
        let mut cluster = Self { network, client };
        let replication = "{'class': 'SimpleStrategy', 'replication_factor': 2}";
        cluster.call(&Statement::new(format!("CREATE KEYSPACE k WITH replication = {replication}"))).done();
        cluster.call(&Statement::new("CREATE TABLE k.t (k int PRIMARY KEY, v blob)")).done();
        (0..rows).for_each(|key| cluster.write(key).done());
        cluster
    }

    /// A second machine of one core, with so much of a device.
    fn add(&mut self, capacity_bytes: u64) {
        let join = vec![SocketAddr::new(<Network>::address(0), NODE_PORT)];
        let protocol_versions = Versions::KNOWN;
        let cluster = ClusterSetup { address: <Network>::address(1), join, replaces: None, protocol_versions, planted: None };
        let setup = Setup { cores: 1, capacity_bytes, host_id: 2, cluster: Some(cluster), ..Setup::small(9) };
        self.network.add(&setup);
    }

    fn wait(&mut self, what: &str, holds: impl FnMut(&mut Network) -> bool) {
        members::wait(&mut self.network, what, holds);
    }

    /// Asks the first member.
    fn call(&mut self, statement: &Statement) -> Reply {
        members::ask(&mut self.network, 0, &mut self.client, statement).unwrap()
    }

    fn write(&mut self, key: i32) -> Reply {
        let value: Bound = Some(vec![key as u8; VALUE_BYTES]);
        let statement = Statement::new("INSERT INTO k.t (k, v) VALUES (?, ?)").bind([int(key), value]);
        self.call(&statement.with(Consistency::One))
    }
}

/// What the first member says of how it fills the second.
fn fill(network: &mut Network) -> FillReport {
    let report = network.machine(0).unwrap().report();
    report.cores[0].fills.iter().find(|fill| fill.node == 2).cloned().unwrap_or_default()
}

#[test]
fn a_replica_without_room_is_given_up_and_tried_again_later() {
    let mut cluster = Cluster::start(1_500);
    cluster.add(1 << 20);
    cluster.wait("it is given up", |network| fill(network).held == Held::Full);
    // What the first member has goes on being written.
    let mut acknowledged = 0;
    for key in 0..1_000 {
        acknowledged += u32::from(cluster.write(key).code().is_none());
    }
    let report = cluster.network.machine(0).unwrap().report();
    let pending: u64 = report.cores[0].pending.iter().map(|pending| pending.bytes).sum();
    assert!(acknowledged > 500, "{acknowledged}");
    assert!(pending < 256 << 10, "{pending} bytes wait for a member that does not take them");
    let given_up = fill(&mut cluster.network);
    assert!(given_up.slots > 0 && given_up.held == Held::Full, "{given_up:?}");
    // Once there is room it is filled.
    cluster.call(&Statement::new("TRUNCATE k.t")).done();
    cluster.wait("every slot has its replicas", |network| (0..2).all(|node| members::is_replicated(network, node, "k", 2)));
    assert_eq!(fill(&mut cluster.network).held, Held::No);
}
