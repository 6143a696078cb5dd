//! Drivers that ask to be told where partitions are send each request to its primary from then on, and others are told nothing.

#![allow(clippy::unwrap_used)]

use cql::wire::{Consistency, ProtocolVersion, Reader, TABLETS_ROUTING};
use sim::{Bound, Client, ClusterSetup, Machine, NODE_PORT, Network, Reply, Setup, Statement, int};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

const NODES: usize = 3;
const CORES: u16 = 2;
const KEYS: i32 = 300;
const SLEEP_US: u64 = 10_000;

/// A range of tokens, and where it is: node and core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tablet {
    after: i64,
    last: i64,
    at: (usize, u16),
}

fn read(payload: &[u8]) -> Tablet {
    let mut reader = Reader::new(payload);
    let mut number = || i64::from_be_bytes(reader.bytes().unwrap().unwrap().try_into().unwrap());
    let (after, last) = (number(), number());
    let mut replicas = Reader::new(reader.bytes().unwrap().unwrap());
    assert_eq!(replicas.int().unwrap(), 1, "the primary alone is named");
    let mut replica = Reader::new(replicas.bytes().unwrap().unwrap());
    let host_id = u128::from_be_bytes(replica.bytes().unwrap().unwrap().try_into().unwrap());
    let core = i32::from_be_bytes(replica.bytes().unwrap().unwrap().try_into().unwrap());
    assert!(reader.rest().is_empty() && replicas.rest().is_empty() && replica.rest().is_empty());
    Tablet { after, last, at: (host_id as usize - 1, core as u16) }
}

struct Cluster {
    network: Network,
    clients: BTreeMap<(usize, u16), Client>,
    extension: Option<&'static str>,
}

impl Cluster {
    /// Three members with two cores each, and a table with two replicas.
    fn start(extension: Option<&'static str>) -> Self {
        let mut network = Network::new(7, Box::new(Machine::boot));
        for node in 0..NODES {
            let join = if node == 0 { Vec::new() } else { vec![SocketAddr::new(<Network>::address(0), NODE_PORT)] };
            let cluster = ClusterSetup { address: <Network>::address(node), join, planted: None };
            network.add(&Setup { cores: CORES, host_id: node as u128 + 1, cluster: Some(cluster), ..Setup::small(7 + node as u64) });
        }
        let mut cluster = Self { network, clients: BTreeMap::new(), extension };
        cluster.wait("the members know each other", |network| {
            (0..NODES).all(|node| network.machine(node).unwrap().cluster_state().is_some_and(|state| state.members.len() == NODES))
        });
        let replication = "{'class': 'SimpleStrategy', 'replication_factor': 2}";
        cluster.call((0, 0), &Statement::new(format!("CREATE KEYSPACE k WITH replication = {replication}"))).done();
        cluster.call((0, 0), &Statement::new("CREATE TABLE k.t (k int PRIMARY KEY, v int)")).done();
        cluster.wait("every slot has its replicas", |network| {
            (0..NODES).all(|node| {
                let state = network.machine(node).unwrap().cluster_state().unwrap();
                state.keyspaces.get("k").is_some_and(|map| {
                    map.slots.iter().all(|slot| slot.in_sync.len() == 2 && slot.learners.is_empty() && slot.handover_from.is_none())
                })
            })
        });
        cluster
    }

    fn wait(&mut self, what: &str, mut holds: impl FnMut(&mut Network) -> bool) {
        let held = (0..5_000).any(|_| {
            self.network.sleep(SLEEP_US);
            holds(&mut self.network)
        });
        assert!(held, "{what}: in vain");
    }

    /// Asks a core of a node.
    fn call(&mut self, (node, core): (usize, u16), statement: &Statement) -> Reply {
        let Self { network, clients, extension } = self;
        let client = clients
            .entry((node, core))
            .or_insert_with(|| Client::begin_with(network.machine(node).unwrap(), core, ProtocolVersion::V4, None, *extension));
        assert!(network.run_until(|network| client.is_ready(network.machine(node).unwrap())));
        let stream = client.send(network.machine(node).unwrap(), statement);
        let mut reply = None;
        network.run_until(|network| {
            reply = client.poll(network.machine(node).unwrap(), stream);
            reply.is_some()
        });
        reply.unwrap()
    }

    /// Writes a row, and gives what the reply says of where it is.
    fn write(&mut self, at: (usize, u16), id: &[u8], key: i32, version: i32) -> Option<Tablet> {
        let statement = Statement::prepared(id).bind([int(key), int(version)]).with(Consistency::Quorum);
        self.call(at, &statement).done();
        self.clients[&at].tablet.as_deref().map(read)
    }

    fn prepare(&mut self, at: (usize, u16), text: &str) -> Vec<u8> {
        assert_eq!(self.call(at, &Statement::new("SELECT key FROM system.local")).rows().len(), 1, "it is connected");
        let Self { network, clients, .. } = self;
        clients.get_mut(&at).unwrap().prepare(network.machine(at.0).unwrap(), text)
    }

    fn prepare_everywhere(&mut self, text: &str) -> Vec<u8> {
        let at = (0..NODES).flat_map(|node| (0..CORES).map(move |core| (node, core)));
        at.map(|at| self.prepare(at, text)).last().unwrap()
    }

    /// The token of a row's key.
    fn token(&mut self, key: i32) -> i64 {
        let select = Statement::new(format!("SELECT token(k) FROM k.t WHERE k = {key}")).with(Consistency::Quorum);
        let rows = self.call((0, 0), &select).rows();
        let cell: &Bound = &rows[0][0];
        i64::from_be_bytes(cell.as_deref().unwrap().try_into().unwrap())
    }
}

const INSERT: &str = "INSERT INTO k.t (k, v) VALUES (?, ?)";

#[test]
fn after_one_round_every_request_comes_to_its_primary() {
    let mut cluster = Cluster::start(Some(TABLETS_ROUTING));
    let insert = cluster.prepare_everywhere(INSERT);
    let mut known = BTreeMap::new();
    for key in 0..KEYS {
        let at = (key as usize % NODES, (key / 3) as u16 % CORES);
        let told = cluster.write(at, &insert, key, 1);
        let token = cluster.token(key);
        assert!(told.is_none_or(|tablet| tablet.after < token && token <= tablet.last && tablet.at != at), "{token}: {told:?}");
        known.insert(key, told.map_or(at, |tablet| tablet.at));
    }
    let places: BTreeSet<_> = known.values().collect();
    assert_eq!(places.len(), NODES * usize::from(CORES), "each core is the primary of something");
    for (key, at) in known {
        assert_eq!(cluster.write(at, &insert, key, 2), None, "{key} is at {at:?}");
    }
}

#[test]
fn what_is_not_prepared_tells_nothing_and_neither_does_a_client_hear_that_has_not_asked() {
    let mut cluster = Cluster::start(Some(TABLETS_ROUTING));
    for key in 0..20 {
        cluster.call((0, 0), &Statement::new(format!("INSERT INTO k.t (k, v) VALUES ({key}, 1)"))).done();
        assert_eq!(cluster.clients[&(0, 0)].tablet, None);
    }
    let mut cluster = Cluster::start(None);
    let insert = cluster.prepare_everywhere(INSERT);
    for key in 0..20 {
        assert_eq!(cluster.write((0, 0), &insert, key, 1), None);
    }
}
