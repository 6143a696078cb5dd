//! What clients of a cluster are told: where partitions are, if they ask for that, and in errors the level that they have asked for.

#![allow(clippy::unwrap_used)]

mod members;

use base::Token;
use cluster::Versions;
use cql::wire::{BatchKind, Consistency, ProtocolVersion, Reader, TABLETS_ROUTING};
use sim::{Bound, Client, ClusterSetup, Loss, Machine, NODE_PORT, Network, Reply, Setup, Statement, int};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

const NODES: usize = 3;
const CORES: u16 = 2;
const KEYS: i32 = 300;

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
        let mut cluster = Self { network: members::start(NODES, CORES), clients: BTreeMap::new(), extension };
        let replication = "{'class': 'SimpleStrategy', 'replication_factor': 2}";
        cluster.call((0, 0), &Statement::new(format!("CREATE KEYSPACE k WITH replication = {replication}"))).done();
        cluster.call((0, 0), &Statement::new("CREATE TABLE k.t (k int PRIMARY KEY, v int)")).done();
        cluster.wait("every slot has its replicas", |network| (0..NODES).all(|node| members::is_replicated(network, node, "k", 2)));
        cluster
    }

    fn wait(&mut self, what: &str, holds: impl FnMut(&mut Network) -> bool) {
        members::wait(&mut self.network, what, holds);
    }

    /// Asks a core of a node.
    fn call(&mut self, (node, core): (usize, u16), statement: &Statement) -> Reply {
        let Self { network, clients, extension } = self;
        let client = clients
            .entry((node, core))
            .or_insert_with(|| Client::begin_with(network.machine(node).unwrap(), core, ProtocolVersion::V4, None, *extension));
        members::ask(network, node, client, statement).unwrap()
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

impl Cluster {
    /// The members that have a row, its primary first.
    fn replicas(&mut self, key: i32) -> Vec<usize> {
        let slot = Token(self.token(key)).slot();
        let state = self.network.machine(0).unwrap().cluster_state().unwrap();
        let assignment = state.assignment("k", slot).unwrap();
        let others = assignment.in_sync.iter().filter(|node| **node != assignment.primary);
        [assignment.primary].iter().chain(others).map(|node| state.member(*node).unwrap().profile.host_id as usize - 1).collect()
    }

    /// A row whose replicas are these members, the primary first.
    fn key_at(&mut self, replicas: &[usize]) -> i32 {
        (0..KEYS).find(|key| self.replicas(*key) == replicas).unwrap()
    }

    fn error(&mut self, at: (usize, u16), statement: &Statement) -> String {
        let Reply::Error { .. } = self.call(at, statement) else { panic!("{statement:?} is done") };
        self.clients.get_mut(&at).unwrap().error.take().unwrap()
    }

    /// Rows of which nothing is known but that they are there.
    fn fill(&mut self) {
        for key in 0..KEYS {
            self.call((0, 0), &Statement::new(format!("INSERT INTO k.t (k, v) VALUES ({key}, 0)")).with(Consistency::Quorum)).done();
        }
    }
}

#[test]
fn a_level_that_cannot_be_reached_is_refused_before_anything_is_done() {
    let mut cluster = Cluster::start(None);
    cluster.fill();
    let (whole, here, there) = (cluster.key_at(&[0, 1]), cluster.key_at(&[0, 2]), cluster.key_at(&[1, 2]));
    cluster.network.kill(2, Loss::Process);
    cluster.wait("the dead member is down", |network| {
        [0, 1].iter().all(|node| {
            let state = network.machine(*node).unwrap().cluster_state().unwrap();
            let dead = state.members.values().find(|member| member.profile.host_id == 3).unwrap().id;
            state.keyspaces["k"].iter().all(|slot| !slot.in_sync.contains(&dead))
        })
    });
    let refused = "Unavailable { consistency: All, required: 2, alive: 1 }";
    let update = |key| Statement::new(format!("UPDATE k.t SET v = 7 WHERE k = {key}")).with(Consistency::All);
    for key in [here, there] {
        for core in 0..CORES {
            assert_eq!(cluster.error((0, core), &update(key)), refused);
            let select = Statement::new(format!("SELECT v FROM k.t WHERE k = {key}")).with(Consistency::All);
            assert_eq!(cluster.error((0, core), &select), refused);
            let batch = Statement::batch(BatchKind::Logged, vec![update(whole), update(key)]).with(Consistency::All);
            assert_eq!(cluster.error((0, core), &batch), refused);
            let both = Statement::new(format!("DELETE FROM k.t WHERE k IN ({whole}, {key})")).with(Consistency::All);
            assert_eq!(cluster.error((0, core), &both), refused);
        }
    }
    assert_eq!(cluster.error((0, 0), &Statement::new("SELECT count(*) FROM k.t").with(Consistency::All)), refused);
    for key in [whole, here, there] {
        let select = Statement::new(format!("SELECT v FROM k.t WHERE k = {key}")).with(Consistency::One);
        assert_eq!(cluster.call((0, 0), &select).rows(), [[int(0)]], "{key}");
    }
}

#[test]
fn a_timeout_tells_the_level_of_the_request_and_what_it_wrote() {
    let asked = [
        (
            "INSERT INTO k.t (k, v) VALUES (#, 1)",
            Consistency::Quorum,
            "consistency: Quorum, received: 0, required: 2 }, write_type: Simple",
        ),
        (
            "INSERT INTO k.t (k, v) VALUES (#, 1) IF NOT EXISTS",
            Consistency::All,
            "consistency: All, received: 0, required: 2 }, write_type: Cas",
        ),
        (
            "BEGIN UNLOGGED BATCH UPDATE k.t SET v = 1 WHERE k = # APPLY BATCH",
            Consistency::One,
            "consistency: One, received: 0, required: 1 }, write_type: UnloggedBatch",
        ),
        ("SELECT v FROM k.t WHERE k = #", Consistency::Quorum, "Unavailable { consistency: Quorum, required: 2, alive: 1 }"),
    ];
    for (text, consistency, expected) in asked {
        let mut cluster = Cluster::start(None);
        cluster.fill();
        let key = cluster.key_at(&[2, 1]);
        // It gets through, and nothing comes back.
        cluster.network.cut(2, 0);
        let error = cluster.error((0, 0), &Statement::new(text.replace('#', &key.to_string())).with(consistency));
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_node_that_has_not_been_taken_in_lets_nobody_begin() {
    let mut network = Network::new(7, Box::new(Machine::boot));
    let nobody = SocketAddr::new(<Network>::address(9), NODE_PORT);
    let (address, protocol_versions) = (<Network>::address(0), Versions::KNOWN);
    let cluster = ClusterSetup { address, join: vec![nobody], replaces: None, protocol_versions, planted: None };
    network.add(&Setup { cores: CORES, cluster: Some(cluster), ..Setup::small(7) });
    assert!(network.run_until(|network| network.machine(0).unwrap().is_accepting()));
    for core in 0..CORES {
        let mut client = Client::begin(network.machine(0).unwrap(), core, ProtocolVersion::V4, None);
        let is_answered = network.run_until(|network| {
            let machine = network.machine(0).unwrap();
            client.is_ready(machine) || client.is_over(machine)
        });
        assert!(is_answered && client.error.as_deref() == Some("IsBootstrapping"), "{:?}", client.error);
    }
}
