//! How soon a cluster survives the loss of its founder.

#![allow(clippy::unwrap_used)]

mod members;

use base::NodeId;
use cluster::MemberState;
use sim::{Loss, Network};

const FOUNDER: usize = 0;
/// From the third member's join until three vote.
const SOON_US: u64 = 500_000;

fn voters(network: &mut Network, node: usize) -> usize {
    network.machine(node).unwrap().cluster_voters().len()
}

#[test]
fn three_members_vote_as_soon_as_they_have_joined() {
    let mut network = members::start(3, 2);
    network.sleep(SOON_US);
    assert!((0..3).all(|node| voters(&mut network, node) == 3), "{}", voters(&mut network, FOUNDER));
    let founder = members::id(&mut network, FOUNDER);
    network.kill(FOUNDER, Loss::Power);
    members::wait(&mut network, "the others go on without the founder", |network| {
        [1, 2].iter().all(|node| {
            let state = network.machine(*node).unwrap().cluster_state().unwrap();
            state.members[&founder].state == MemberState::Down
        })
    });
}

#[test]
fn two_members_do_not_both_vote() {
    let mut network = members::start(2, 1);
    network.sleep(4 * SOON_US);
    assert_eq!(voters(&mut network, FOUNDER), 1, "the loss of either would stop both");
}

/// Member 4 comes, gets a vote and leads while another one is away, which has never heard of it.
#[test]
fn a_leader_that_a_member_does_not_know_brings_it_up_to_date() {
    let mut network = members::start(3, 1);
    network.sleep(SOON_US);
    let away = members::id(&mut network, 2);
    network.kill(2, Loss::Process);
    members::join(&mut network, 3, 1);
    members::wait(&mut network, "the new one votes instead", |network| {
        let voters = network.machine(0).unwrap().cluster_voters();
        voters.contains(&NodeId(4)) && !voters.contains(&away)
    });
    // The leader is stopped, and the other one, which would stand first, is for so long that the new one may.
    let leads = (0..60).any(|round| {
        let Some(leader) = network.machine(3).unwrap().cluster_leader() else { return false };
        if leader == NodeId(4) {
            return true;
        }
        let leader = members::machine_of(&mut network, leader);
        network.pause(0);
        network.pause(1);
        network.sleep(700_000 + round * 37_000);
        network.resume(1 - leader);
        network.sleep(3_000_000);
        network.resume(leader);
        network.sleep(1_000_000);
        false
    });
    assert!(leads, "{:?}", network.machine(3).unwrap().cluster_leader());
    network.start(2);
    members::wait(&mut network, "the one that was away is back", |network| {
        let state = network.machine(3).unwrap().cluster_state().unwrap();
        let known = network.machine(2).unwrap().cluster_state().unwrap();
        state.members[&away].state == MemberState::Up && known.members.len() == 4
    });
}
