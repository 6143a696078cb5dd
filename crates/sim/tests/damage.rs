//! A replica that finds at its start that its device has lost something.

#![allow(clippy::unwrap_used)]

mod members;

use cql::wire::{Consistency, ProtocolVersion};
use sim::{Bound, Client, Loss, Network, Statement, int};

const ROWS: i32 = 600;

fn value(key: i32) -> Bound {
    Some(vec![key as u8; 500])
}

#[test]
fn a_replica_with_damaged_records_gets_its_slots_anew() {
    let mut network = members::start(2, 1);
    let mut client = Client::begin(network.machine(0).unwrap(), 0, ProtocolVersion::V4, None);
    for text in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}",
        "CREATE TABLE k.t (k int PRIMARY KEY, v blob)",
    ] {
        members::ask(&mut network, 0, &mut client, &Statement::new(text)).unwrap().done();
    }
    let is_whole = |network: &mut Network| (0..2).all(|node| members::is_replicated(network, node, "k", 2));
    members::wait(&mut network, "every slot has its replicas", is_whole);
    for key in 0..ROWS {
        let write = Statement::new("INSERT INTO k.t (k, v) VALUES (?, ?)").bind([int(key), value(key)]);
        members::ask(&mut network, 0, &mut client, &write.with(Consistency::All)).unwrap().done();
    }
    // All of it is on the device, and is known to be committed.
    network.sleep(20_000_000);
    network.kill(1, Loss::Power);
    let mut dice = base::Rng::new(3);
    let (_, remains) = network.remains(1).unwrap();
    (0..20).for_each(|_| remains.rot(&mut dice));
    members::wait(&mut network, "it is missed", |network| !members::is_replicated(network, 0, "k", 2));
    network.start(1);
    members::wait(&mut network, "every slot has its replicas again", is_whole);
    assert!(network.machine(1).unwrap().report().cores[0].damaged_records > 0, "nothing was damaged");
    // At this level a replica reads what is here.
    let mut client = Client::begin(network.machine(1).unwrap(), 0, ProtocolVersion::V4, None);
    for key in 0..ROWS {
        let read = Statement::new("SELECT v FROM k.t WHERE k = ?").bind([int(key)]).with(Consistency::One);
        let rows = members::ask(&mut network, 1, &mut client, &read).unwrap().rows();
        assert_eq!(rows, [[value(key)]], "row {key}");
    }
}
