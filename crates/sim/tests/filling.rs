//! Replicas that are filled: without room, and interrupted.

#![allow(clippy::unwrap_used)]

mod members;

use cluster::Versions;
use cql::wire::{Consistency, ProtocolVersion};
use node::{Held, RebuildReport};
use sim::{Bound, Client, ClusterSetup, Loss, Machine, NODE_PORT, Network, Reply, Setup, Statement, int};
use std::net::SocketAddr;

const VALUE_BYTES: usize = 1000;

struct Cluster {
    network: Network,
    client: Client,
}

impl Cluster {
    /// One member with so many rows, of which each should have two replicas.
    fn start(rows: i32) -> Self {
        Self::start_program(rows, Versions::KNOWN)
    }

    /// The same, with a program that knows these versions of the nodes' protocol.
    fn start_program(rows: i32, protocol_versions: Versions) -> Self {
        let mut network = Network::new(7, Box::new(Machine::boot));
        let cluster = ClusterSetup { address: <Network>::address(0), join: Vec::new(), replaces: None, protocol_versions, planted: None };
        network.add(&Setup { cores: 1, host_id: 1, cluster: Some(cluster), ..Setup::small(7) });
        members::wait(&mut network, "the first one is a member", |network| network.machine(0).unwrap().cluster_state().is_some());
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
        self.add_machine(Setup { capacity_bytes, ..Setup::small(9) });
    }

    /// A second machine of one core.
    fn add_machine(&mut self, setup: Setup) {
        let join = vec![SocketAddr::new(<Network>::address(0), NODE_PORT)];
        let protocol_versions = Versions::KNOWN;
        let cluster = ClusterSetup { address: <Network>::address(1), join, replaces: None, protocol_versions, planted: None };
        self.network.add(&Setup { cores: 1, host_id: 2, cluster: Some(cluster), ..setup });
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
fn fill(network: &mut Network) -> RebuildReport {
    let report = network.machine(0).unwrap().report();
    report.cores[0].rebuilds.iter().find(|rebuild| rebuild.node == 2).cloned().unwrap_or_default()
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
    cluster.wait("that is reported", |network| fill(network).held == Held::No);
}

#[test]
fn a_replica_whose_index_is_full_is_given_up_and_the_others_go_on() {
    let mut cluster = Cluster::start(3_000);
    cluster.add_machine(Setup { memory_bytes: 512 << 10, ..Setup::small(9) });
    // What it does in the background takes some of the memory, too, now and then.
    let is_full = |network: &mut Network| network.machine(1).unwrap().engine(0).index_is_full();
    cluster.wait("it is given up", |network| fill(network).held == Held::Full && is_full(network));
    let engine = cluster.network.machine(1).unwrap().engine(0);
    assert!(!engine.is_full(), "{:?}", engine.stats());
    assert!((0..100).all(|key| cluster.write(key).code().is_none()));
}

/// Before version 5 of the nodes' protocol there was no word for it: it is not said, and the link of the two stays.
#[test]
fn a_replica_without_room_does_not_say_so_to_an_older_program() {
    let mut cluster = Cluster::start_program(1_500, Versions::new(4, 4));
    cluster.add(1 << 20);
    cluster.wait("it is to be filled", |network| fill(network).slots > 0);
    cluster.network.sleep(5_000_000);
    let acknowledged = (0..1_000).filter(|key| cluster.write(*key).code().is_none()).count();
    assert!(acknowledged > 500, "{acknowledged}");
    let filled = fill(&mut cluster.network);
    assert!(filled.slots > 0 && filled.held != Held::Full, "{filled:?}");
}

/// How many rows there are for a second member.
const ROWS: i32 = 1_500;

/// How many slots have two replicas.
fn filled(network: &mut Network) -> usize {
    let state = network.machine(0).unwrap().cluster_state().unwrap();
    state.keyspaces["k"].iter().filter(|slot| slot.in_sync.len() == 2).count()
}

/// Waits until nothing is to be done, and gives how many bytes of images the second member has been sent.
fn sent_bytes(cluster: &mut Cluster) -> u64 {
    cluster.wait("every slot has its replicas", |network| (0..2).all(|node| members::is_replicated(network, node, "k", 2)));
    // What was written in the last seconds before a member is missed is sent again; what comes after that is committed once replicas stand still.
    cluster.network.sleep(20_000_000);
    fill(&mut cluster.network).sent_bytes
}

#[test]
fn a_fill_goes_on_where_it_was_cut_off() {
    let mut cluster = Cluster::start(ROWS);
    cluster.network.sleep(10_000_000);
    cluster.add(4 << 20);
    cluster.wait("most slots are filled", |network| filled(network) > 3_000);
    cluster.network.cut(0, 1);
    cluster.network.cut(1, 0);
    cluster.wait("the member is missed", |network| filled(network) == 0);
    cluster.network.heal_links();
    // With keys and what goes around an image, rows are a fifth more.
    let (whole, sent) = (ROWS as u64 * VALUE_BYTES as u64 * 6 / 5, sent_bytes(&mut cluster));
    assert!(sent < whole * 3 / 2, "{sent} bytes were sent for {whole}");
}

#[test]
fn a_member_that_restarts_is_sent_what_it_has_missed() {
    let mut cluster = Cluster::start(ROWS);
    cluster.network.sleep(10_000_000);
    cluster.add(4 << 20);
    let whole = sent_bytes(&mut cluster);
    cluster.network.kill(1, Loss::Process);
    cluster.wait("the member is missed", |network| filled(network) == 0);
    cluster.network.start(1);
    let sent = sent_bytes(&mut cluster) - whole;
    assert!(sent < whole / 10, "{sent} bytes were sent again of {whole}");
}

#[test]
fn what_is_kept_for_a_member_that_is_away_does_not_take_the_room_of_others() {
    let mut cluster = Cluster::start(0);
    cluster.call(&Statement::new("CREATE TABLE k.gone (k int PRIMARY KEY, v blob) WITH gc_grace_seconds = 0")).done();
    cluster.add(4 << 20);
    cluster.wait("every slot has its replicas", |network| (0..2).all(|node| members::is_replicated(network, node, "k", 2)));
    cluster.write(1).done();
    cluster.network.sleep(10_000_000);
    cluster.network.kill(1, Loss::Process);
    cluster.wait("the member is missed", |network| filled(network) == 0);
    // Rows come and go: far more than there is room for.
    let mut refused = 0;
    for key in 0..40_000 {
        let (insert, delete) = ("INSERT INTO k.gone (k, v) VALUES (?, 0x00)", "DELETE FROM k.gone WHERE k = ?");
        for text in [insert, delete] {
            let statement = Statement::new(text).bind([int(key)]).with(Consistency::One);
            if cluster.call(&statement).code().is_some() {
                refused += 1;
                cluster.network.sleep(100_000);
            }
        }
    }
    assert!(refused < 100, "{refused} of 80,000 writes found no room");
    cluster.write(2).done();
    cluster.network.start(1);
    cluster.wait("every slot has its replicas again", |network| (0..2).all(|node| members::is_replicated(network, node, "k", 2)));
    let mut client = Client::begin(cluster.network.machine(1).unwrap(), 0, ProtocolVersion::V4, None);
    let mut ask = |text: &str| members::ask(&mut cluster.network, 1, &mut client, &Statement::new(text).with(Consistency::One)).unwrap();
    assert_eq!(ask("SELECT k FROM k.t").rows().len(), 2);
    assert_eq!(ask("SELECT k FROM k.gone").rows().len(), 0);
}
