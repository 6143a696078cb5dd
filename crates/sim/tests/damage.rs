//! A replica that finds at its start that its device has lost something.

#![allow(clippy::unwrap_used)]

mod members;

use cql::wire::{Consistency, ProtocolVersion};
use shard::Durability;
use sim::{Bound, Client, Loss, Network, Statement, int};

const ROWS: i32 = 600;

fn value(key: i32) -> Bound {
    Some(vec![key as u8; 500])
}

/// Two replicas of some rows, all of it on the device and known to be committed.
fn two_replicas(durability: Durability) -> Network {
    let mut network = members::start(2, 1);
    let mut client = Client::begin(network.machine(0).unwrap(), 0, ProtocolVersion::V4, None);
    for text in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}",
        "CREATE TABLE k.t (k int PRIMARY KEY, v blob)",
    ] {
        members::ask(&mut network, 0, &mut client, &Statement::new(text)).unwrap().done();
    }
    members::wait(&mut network, "every slot has its replicas", is_whole);
    for node in (0..2).filter(|_| durability == Durability::Device) {
        network.setup(node).durability = durability;
        network.kill(node, Loss::Process);
        network.start(node);
        network.sleep(3_000_000);
        members::wait(&mut network, "every slot has its replicas again", is_whole);
    }
    let mut client = Client::begin(network.machine(0).unwrap(), 0, ProtocolVersion::V4, None);
    for key in 0..ROWS {
        let write = Statement::new("INSERT INTO k.t (k, v) VALUES (?, ?)").bind([int(key), value(key)]);
        members::ask(&mut network, 0, &mut client, &write.with(Consistency::All)).unwrap().done();
    }
    network.sleep(20_000_000);
    network
}

fn is_whole(network: &mut Network) -> bool {
    // Until a process that has started takes part it knows what the one before did.
    (0..2).all(|node| network.machine(node).unwrap().takes_part() && members::is_replicated(network, node, "k", 2))
}

fn rot(network: &mut Network, node: usize) {
    let mut rng = base::Rng::new(3);
    let (_, remains) = network.durable_state(node).unwrap();
    (0..20).for_each(|_| remains.rot(&mut rng));
}

/// At level ONE a replica reads what is here, at QUORUM the primaries do.
fn check_rows(network: &mut Network, node: usize, consistency: Consistency) {
    let mut client = Client::begin(network.machine(node).unwrap(), 0, ProtocolVersion::V4, None);
    for key in 0..ROWS {
        let read = Statement::new("SELECT v FROM k.t WHERE k = ?").bind([int(key)]).with(consistency);
        let rows = members::ask(network, node, &mut client, &read).unwrap().rows();
        assert_eq!(rows, [[value(key)]], "row {key}");
    }
}

#[test]
fn a_replica_with_damaged_records_gets_its_slots_anew() {
    let mut network = two_replicas(Durability::Memory);
    network.kill(1, Loss::Power);
    rot(&mut network, 1);
    members::wait(&mut network, "it is missed", |network| !members::is_replicated(network, 0, "k", 2));
    network.start(1);
    members::wait(&mut network, "every slot has its replicas again", is_whole);
    assert!(network.machine(1).unwrap().engine(0).stats().damaged_records > 0, "nothing was damaged");
    check_rows(&mut network, 1, Consistency::One);
}

/// One that restarts with all others, and would be primary of its slots, leaves them to those that have everything.
#[test]
fn a_primary_with_damaged_records_gives_way_when_all_have_restarted() {
    for first in [0, 1] {
        let mut network = two_replicas(Durability::Device);
        (0..2).for_each(|node| network.kill(node, Loss::Power));
        rot(&mut network, 0);
        network.start(first);
        network.sleep(3_000_000);
        network.start(1 - first);
        members::wait(&mut network, "every slot has its replicas again", is_whole);
        assert!(network.machine(0).unwrap().engine(0).stats().damaged_records > 0, "nothing was damaged");
        check_rows(&mut network, 1, Consistency::Quorum);
        (0..2).for_each(|node| check_rows(&mut network, node, Consistency::One));
    }
}
