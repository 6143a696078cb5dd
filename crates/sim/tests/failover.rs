//! How soon a member that is gone is noticed, and its slots are served again, as clients of the others see it: by the simulated clock, so that it does not
//! depend on what else a machine does.

#![allow(clippy::unwrap_used)]

mod members;

use cluster::MemberState;
use cql::wire::{Consistency, ProtocolVersion};
use sim::{Client, Loss, Network, Reply, Statement, int};

const NODES: usize = 3;
const CORES: u16 = 2;
/// Each member is the primary of some of these rows.
const KEYS: i32 = 24;
/// What is promised.
const NOTICED_US_MAX: u64 = 2_000_000;
const SERVED_US_MAX: u64 = 3_000_000;
const LOOK_US: u64 = 5_000;
/// How long a cluster has been at rest when it loses a member: heartbeats and leases are then as old as that makes them.
const REST_US: [u64; 6] = [0, 70_000, 190_000, 330_000, 410_000, 487_000];

/// What happens to the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    Killed,
    /// It hears and says nothing, and its connections stay.
    Stopped,
    /// The others neither hear it nor are heard.
    CutOff,
}

impl Gone {
    fn begin(self, network: &mut Network, victim: usize) {
        match self {
            Self::Killed => network.kill(victim, Loss::Process),
            Self::Stopped => network.pause(victim),
            Self::CutOff => {
                for other in (0..NODES).filter(|other| *other != victim) {
                    network.cut(victim, other);
                    network.cut(other, victim);
                }
            }
        }
    }
}

fn is_down(network: &mut Network, at: usize, victim: usize) -> bool {
    let state = network.machine(at).unwrap().cluster_state().unwrap();
    state.members.values().any(|member| member.profile.host_id == victim as u128 + 1 && member.state == MemberState::Down)
}

/// A row that a client writes until it is told that it is done.
struct Row {
    key: i32,
    under_way: Option<i16>,
    is_done: bool,
}

/// After how many microseconds the victim was known to be down, and every row could be written.
fn lose(gone: Gone, victim: usize, rest_us: u64) -> (u64, u64) {
    let mut network = members::start(NODES, CORES);
    let survivor = (victim + 1) % NODES;
    let mut client = Client::begin(network.machine(survivor).unwrap(), 0, ProtocolVersion::V4, None);
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 3}";
    for text in [format!("CREATE KEYSPACE k WITH replication = {replication}"), "CREATE TABLE k.t (k int PRIMARY KEY, v int)".to_owned()] {
        members::ask(&mut network, survivor, &mut client, &Statement::new(text)).unwrap().done();
    }
    members::wait(&mut network, "every slot has its replicas", |network| {
        (0..NODES).all(|node| members::is_replicated(network, node, "k", NODES))
    });
    network.sleep(1_000_000 + rest_us);
    let mut rows: Vec<Row> = (0..KEYS).map(|key| Row { key, under_way: None, is_done: false }).collect();
    let began_us = network.now_us();
    gone.begin(&mut network, victim);
    let (mut noticed_us, mut served_us) = (None, None);
    while noticed_us.is_none() || served_us.is_none() {
        let us = network.now_us() - began_us;
        assert!(us < 2 * SERVED_US_MAX, "{gone:?} {victim} after {rest_us}: noticed {noticed_us:?}, served {served_us:?}");
        if noticed_us.is_none() && is_down(&mut network, survivor, victim) {
            noticed_us = Some(us);
        }
        for row in rows.iter_mut().filter(|row| !row.is_done) {
            let machine = network.machine(survivor).unwrap();
            match row.under_way.and_then(|stream| client.poll(machine, stream)) {
                Some(Reply::Done) => row.is_done = true,
                None if row.under_way.is_some() => {}
                // Not yet, or not yet any more.
                _ => {
                    let insert = Statement::new("INSERT INTO k.t (k, v) VALUES (?, 1)").bind([int(row.key)]).with(Consistency::Quorum);
                    row.under_way = Some(client.send(machine, &insert));
                }
            }
        }
        if served_us.is_none() && rows.iter().all(|row| row.is_done) {
            served_us = Some(us);
        }
        network.sleep(LOOK_US);
    }
    (noticed_us.unwrap(), served_us.unwrap())
}

fn check(gone: Gone) {
    let mut slowest = (0, 0);
    for victim in 0..NODES {
        for rest_us in REST_US {
            let (noticed_us, served_us) = lose(gone, victim, rest_us);
            let case = format!("{gone:?} member {victim} after {rest_us} us: noticed after {noticed_us} us, served after {served_us} us");
            assert!(noticed_us <= NOTICED_US_MAX && served_us <= SERVED_US_MAX, "{case}");
            slowest = (noticed_us.max(slowest.0), served_us.max(slowest.1));
        }
    }
    println!("{gone:?}: noticed after {} us, served after {} us at the latest", slowest.0, slowest.1);
}

#[test]
fn slots_of_a_killed_member_are_served_again_in_time() {
    check(Gone::Killed);
}

#[test]
fn slots_of_a_stopped_member_are_served_again_in_time() {
    check(Gone::Stopped);
}

#[test]
fn slots_of_a_member_that_is_cut_off_are_served_again_in_time() {
    check(Gone::CutOff);
}
