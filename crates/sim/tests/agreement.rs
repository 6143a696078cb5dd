//! What replicas agree on when primaries die one after the other.

#![allow(clippy::unwrap_used)]

mod members;

use base::{Slot, Token};
use cluster::MemberState;
use cql::wire::{Consistency, ProtocolVersion};
use sim::{Bound, Client, Loss, Network, Statement, int};

const NODES: usize = 4;
/// It leads the metadata's group.
const FOUNDER: usize = 0;
const KEYS: i32 = 200;

/// Asks a node; nothing if it does not answer.
fn call(network: &mut Network, node: usize, statement: &Statement) -> Option<Vec<Vec<Bound>>> {
    let mut client = Client::begin(network.machine(node).unwrap(), 0, ProtocolVersion::V4, None);
    Some(members::ask(network, node, &mut client, statement)?.rows())
}

fn done(network: &mut Network, text: &str) {
    let mut client = Client::begin(network.machine(FOUNDER).unwrap(), 0, ProtocolVersion::V4, None);
    let statement = Statement::new(text).with(Consistency::Quorum);
    members::ask(network, FOUNDER, &mut client, &statement).unwrap().done();
}

/// Four members, each with every row, and the slots of the rows.
fn start() -> (Network, Vec<Slot>) {
    let mut network = members::start(NODES, 1);
    done(&mut network, "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 4}");
    done(&mut network, "CREATE TABLE k.t (k int PRIMARY KEY, v int)");
    members::wait(&mut network, "all are in sync", |network| (0..NODES).all(|node| members::is_replicated(network, node, "k", NODES)));
    let mut slots = Vec::new();
    for key in 0..KEYS {
        done(&mut network, &format!("INSERT INTO k.t (k, v) VALUES ({key}, 0)"));
        let select = Statement::new(format!("SELECT token(k) FROM k.t WHERE k = {key}")).with(Consistency::Quorum);
        let rows = call(&mut network, FOUNDER, &select).unwrap();
        slots.push(Token(i64::from_be_bytes(rows[0][0].as_deref().unwrap().try_into().unwrap())).slot());
    }
    (network, slots)
}

fn primary(network: &mut Network, slot: Slot) -> usize {
    let state = network.machine(FOUNDER).unwrap().cluster_state().unwrap();
    members::machine_of(network, state.assignment("k", slot).unwrap().primary)
}

fn is_up(network: &mut Network, node: usize) -> bool {
    let id = members::id(network, node);
    network.machine(FOUNDER).unwrap().cluster_state().unwrap().members[&id].state == MemberState::Up
}

/// The one that does not vote.
fn without_vote(network: &mut Network) -> usize {
    let voters = network.machine(FOUNDER).unwrap().cluster_voters();
    assert_eq!(voters.len(), NODES - 1);
    (0..NODES).find(|node| !voters.contains(&members::id(network, *node))).unwrap()
}

/// A write reaches one replica. As primary that one sends it to another, and dies before the third has it.
#[test]
fn a_write_that_some_replicas_have_reaches_all_or_none_under_the_next_primary() {
    let (mut network, slots) = start();
    let first = without_vote(&mut network);
    let led: Vec<usize> = (0..KEYS as usize).filter(|key| primary(&mut network, slots[*key]) == first).collect();
    network.kill(first, Loss::Process);
    members::wait(&mut network, "it is down", |network| !is_up(network, first));
    let (key, second) = led.into_iter().map(|key| (key, primary(&mut network, slots[key]))).find(|(_, next)| *next != FOUNDER).unwrap();
    let third = (0..NODES).find(|node| ![FOUNDER, first, second].contains(node)).unwrap();

    let (mut network, _) = start();
    network.cut(first, FOUNDER);
    network.cut(first, third);
    let mut client = Client::begin(network.machine(first).unwrap(), 0, ProtocolVersion::V4, None);
    assert!(network.run_until(|network| client.is_ready(network.machine(first).unwrap())));
    client.send(network.machine(first).unwrap(), &Statement::new(format!("UPDATE k.t SET v = 7 WHERE k = {key}")));
    network.sleep(50_000);
    network.kill(first, Loss::Process);
    network.cut(second, third);
    members::wait(&mut network, "another one is primary", |network| primary(network, slots[key]) == second);
    network.sleep(100_000);
    network.kill(second, Loss::Process);
    network.heal_links();
    members::wait(&mut network, "a third one is", |network| primary(network, slots[key]) != second);
    network.start(first);
    network.start(second);
    members::wait(&mut network, "all are in sync again", |network| {
        (0..NODES).all(|node| is_up(network, node) && members::is_replicated(network, node, "k", NODES))
    });
    network.sleep(1_000_000);
    let select = |level| Statement::new(format!("SELECT v FROM k.t WHERE k = {key}")).with(level);
    let all = call(&mut network, FOUNDER, &select(Consistency::Quorum)).unwrap();
    assert!(all == [[int(0)]] || all == [[int(7)]], "{all:?}");
    for node in 0..NODES {
        assert_eq!(call(&mut network, node, &select(Consistency::One)).unwrap(), all, "at member {}", node + 1);
    }
}
