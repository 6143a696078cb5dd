//! The metadata group on a network that does not exist.

mod disks;
mod versions;

use super::net::Net;
use super::test_parts::profile;
use super::timing::Waits;
use super::*;
use crate::command::{Command, Outcome, Refused};
use crate::envelope::{Envelope, Proposal};
use crate::raft_log::LOG_BLOB;
use crate::state::{Member, MemberState};
use crate::versions::Versions;
use crate::{CodecError, Profile};
use base::{NodeId, Now, Rng};
use model::Schema;
use raft::eraftpb::{Entry, EntryType, Message, MessageType};

fn at(ms: u64) -> Now {
    Now { monotonic_us: ms * 1000, wall_us: 0 }
}

fn store_all(metadata: &mut Metadata, blobs: &mut Blobs, now: Now) {
    loop {
        metadata.published(metadata.state().version);
        let writes = metadata.take_writes();
        if writes.is_empty() {
            return;
        }
        for (name, bytes) in writes {
            match name.as_str() {
                LOG_BLOB => blobs.log = bytes,
                _ => blobs.snapshot = Some(bytes),
            }
            metadata.written(now, &name, Stored::Yes);
        }
    }
}

#[test]
fn a_founder_is_a_cluster_by_itself() {
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", profile(1, 11), Schema::empty(), at(0), 1);
    assert_eq!(metadata.lease_until_us(), 0, "nothing is stored yet");
    store_all(&mut metadata, &mut blobs, at(1));
    assert_eq!(metadata.lease_until_us(), u64::MAX);
    assert_eq!(metadata.turn(at(2)), None, "nothing to wait for");
    assert!(matches!(metadata.take_events().as_slice(), [Event::Applied { .. }]));

    let proposal = metadata.propose(Command::Remove { node: NodeId(7), force: false });
    store_all(&mut metadata, &mut blobs, at(3));
    let events = metadata.take_events();
    let refused = Outcome::Refused(Refused::NoSuchMember { node: NodeId(7) });
    assert!(
        matches!(&events[..], [Event::Applied { .. }, Event::Done { proposal: done, outcome }] if *done == proposal && *outcome == refused)
    );

    let cluster = metadata.state().cluster_id;
    let mut metadata = Metadata::restore(&blobs, "test", profile(1, 12), at(1000), 2).expect("sound blobs");
    assert_eq!(metadata.lease_until_us(), 0, "its process is not known yet");
    for ms in 1000..1010 {
        metadata.turn(at(ms));
        store_all(&mut metadata, &mut blobs, at(ms));
    }
    assert_eq!(metadata.state().cluster_id, cluster);
    assert_eq!(metadata.state().members[&NodeId(1)].profile.incarnation, 12);
    assert_eq!(metadata.lease_until_us(), u64::MAX);
    assert!(matches!(Metadata::restore(&blobs, "other", profile(1, 13), at(0), 3), Err(RestoreError::OtherCluster { .. })));
    assert!(matches!(Metadata::restore(&blobs, "test", profile(2, 13), at(0), 3), Err(RestoreError::OtherHost { .. })));
}

#[test]
fn a_member_with_another_number_of_cores_starts_as_one_that_may_lack_rows() {
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", profile(1, 11), Schema::empty(), at(0), 1);
    store_all(&mut metadata, &mut blobs, at(1));
    for (incarnation, cores, boot) in [(12, 2, 1), (13, 5, Profile::DAMAGED), (14, 5, 1), (15, 2, Profile::DAMAGED)] {
        let started = Profile { cores, ..profile(1, incarnation) };
        metadata = Metadata::restore(&blobs, "test", started.clone(), at(1000 * incarnation), 2).expect("sound blobs");
        for ms in 1000 * incarnation..1000 * incarnation + 10 {
            metadata.turn(at(ms));
            store_all(&mut metadata, &mut blobs, at(ms));
        }
        assert_eq!(metadata.state().members[&NodeId(1)].profile, Profile { boot, ..started });
    }
}

fn converge(net: &mut Net, seed: u64) {
    for _ in 0..120 {
        if net.has_converged() {
            return;
        }
        net.run_ms(250);
    }
    panic!("seed {seed}: no convergence: {:?}\n{}", net.newest().status(), net.describe());
}

#[test]
fn three_members_join_and_share_the_slots() {
    let mut net = Net::new(1, Waits::default());
    net.run_ms(200);
    net.change_schema(1);
    net.run_ms(200);
    net.add(2);
    net.add(3);
    net.run_ms(2000);
    converge(&mut net, 1);
    let status = net.newest().status();
    assert_eq!(status.members.len(), 3);
    assert!(status.members.iter().all(|member| member.primaries > 1200), "{status:?}");
    assert_eq!((status.unavailable_slots, status.short_slots), (0, 0));
}

#[test]
fn members_vote_as_soon_as_the_group_survives_the_loss_of_one_by_it() {
    for seed in 0..8 {
        let mut net = Net::new(seed, Waits::default());
        net.run_ms(200);
        net.add(2);
        net.run_ms(3_000);
        assert_eq!((net.newest().members.len(), net.voters()), (2, vec![1]), "two that vote survive nobody's loss");
        net.add(3);
        let joined = (0..300).any(|_| {
            net.run_ms(10);
            net.newest().members.len() == 3
        });
        net.run_ms(400);
        assert!(joined && net.voters().len() == 3, "seed {seed}: {:?}\n{}", net.voters(), net.describe());
        net.kill(1);
        net.run_ms(3_000);
        assert!(net.newest().members[&NodeId(1)].state == MemberState::Down, "seed {seed}: the founder is not needed\n{}", net.describe());
    }
}

#[test]
fn five_of_seven_vote_and_others_follow_those_that_are_gone() {
    let mut net = Net::new(7, Waits::default());
    (2..=7).for_each(|host| net.add(host));
    net.run_ms(12_000);
    converge(&mut net, 7);
    let hosts_that_vote = |net: &Net| {
        let (_, machine) = net.machines.iter().find(|(_, machine)| machine.metadata.is_some()).expect("one runs");
        let voters = machine.metadata.as_ref().expect("it runs").voters();
        let host_of = |node: &NodeId| net.newest().members[node].profile.host_id;
        voters.iter().map(host_of).collect::<std::collections::BTreeSet<u128>>()
    };
    let before = hosts_that_vote(&net);
    assert_eq!(before.len(), 5);
    let gone: Vec<u128> = before.iter().copied().take(2).collect();
    gone.iter().for_each(|host| net.kill(*host));
    net.run_ms(30_000);
    let after = hosts_that_vote(&net);
    assert!(after.len() == 5 && !gone.iter().any(|host| after.contains(host)), "{before:?}, {gone:?} are gone, {after:?}");
}

#[test]
fn nobody_gets_a_vote_while_a_core_may_act_by_a_lease_without_end() {
    let mut net = Net::new(3, Waits::default());
    net.run_ms(200);
    net.leases_end = false;
    net.add(2);
    net.add(3);
    net.run_ms(3_000);
    assert_eq!((net.newest().members.len(), net.voters()), (3, vec![1]));
    net.leases_end = true;
    net.run_ms(400);
    assert_eq!(net.voters().len(), 3);
}

#[test]
fn a_dead_leader_is_down_in_three_seconds_and_its_slots_have_primaries() {
    for seed in 0..8 {
        let mut net = three(seed, Waits::default());
        let leader = leader(&net);
        net.kill(leader);
        net.run_ms(2_800);
        let status = net.newest().status();
        assert_eq!(status.unavailable_slots, 0, "seed {seed}: {status:?}");
    }
}

#[test]
fn a_dead_follower_is_down_in_two_seconds() {
    for seed in 0..8 {
        let mut net = three(seed, Waits::default());
        let leader = leader(&net);
        let follower = (1..=3).find(|host| *host != leader).expect("there are three");
        net.kill(follower);
        net.run_ms(1_600);
        let status = net.newest().status();
        assert_eq!(status.unavailable_slots, 0, "seed {seed}: {status:?}");
    }
}

/// Three members with keyspaces of factor 2 and 3, settled.
fn three(seed: u64, waits: Waits) -> Net {
    let mut net = Net::new(seed, waits);
    net.add(2);
    net.add(3);
    net.run_ms(2_000);
    let has_one_copy =
        |schema: &Schema| schema.keyspaces.values().any(|keyspace| keyspace.replication.parameters["replication_factor"] == "1");
    while net.newest().schema.keyspaces.is_empty() || has_one_copy(&net.newest().schema) {
        net.change_schema(1);
        net.run_ms(500);
    }
    net.run_ms(1_000);
    converge(&mut net, seed);
    net
}

fn leader(net: &Net) -> u128 {
    let (host, _) = net
        .machines
        .iter()
        .find(|(_, machine)| machine.metadata.as_ref().is_some_and(|metadata| metadata.leader() == metadata.node()))
        .expect("a settled group has a leader");
    *host
}

/// Faults of all kinds for a while, then none: everybody agrees, and what was acknowledged holds. Gives the checksum of all that was sent.
fn run_seed(seed: u64, waits: Waits) -> u32 {
    let mut net = Net::new(seed, waits);
    let mut rng = Rng::new(seed ^ 0xFA17);
    let members = 1 + rng.below(5) as u128;
    for host in 2..=members {
        net.add(host);
    }
    net.run_ms(1_500);
    for _ in 0..12 {
        let host = 1 + rng.below(u64::from(members as u32)) as u128;
        let other = 1 + rng.below(u64::from(members as u32)) as u128;
        match rng.below(18) {
            0 | 1 => net.kill(host),
            2 => {
                net.kill(host);
                net.start(host);
            }
            3 => net.stop(host, 100_000 + rng.below(3_000_000)),
            4 => _ = net.cuts.insert((host, other)),
            5 => net.cuts.extend([(host, other), (other, host)]),
            6 | 7 => {
                for other in (1..=members).filter(|other| *other != host) {
                    net.cuts.extend([(host, other), (other, host)]);
                }
            }
            8 => net.loss_percent = rng.below(30),
            9 => net.machines.get_mut(&host).expect("a machine").disk = Stored::Failed,
            14 | 15 => net.change_disk(host, Stored::Yes, Stored::Full),
            16 => net.change_disk(host, Stored::Full, Stored::Yes),
            10 => net.machines.get_mut(&host).expect("a machine").disk_us = 500 + rng.below(400_000),
            11 => net.propose(other, Command::Drain { node: NodeId(host as u32) }),
            12 => net.cuts.clear(),
            13 => {
                net.end(host);
                net.run_ms(rng.below(500));
                net.kill(host);
            }
            _ => net.start(host),
        }
        for _ in 0..2 {
            let proposer = 1 + rng.below(u64::from(members as u32)) as u128;
            net.change_schema(proposer);
            net.run_ms(rng.below(900));
        }
        if rng.below(3) == 0 {
            net.cuts.clear();
            net.start(host);
        }
    }
    net.heal();
    net.run_ms(1_000);
    converge(&mut net, seed);
    net.check_acknowledged();
    net.trace()
}

/// `usual` seeds from 0, or what TARNDB_SEED (the first) and TARNDB_SEEDS (how many, one if there is only the first) say.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (number("TARNDB_SEED"), number("TARNDB_SEEDS"));
    let count = count.unwrap_or(if first.is_some() { 1 } else { usual });
    first.unwrap_or(0)..first.unwrap_or(0) + count
}

#[test]
fn faults_of_all_kinds_never_break_a_promise() {
    for seed in seeds(12) {
        println!("TARNDB_SEED={seed} cargo test -p tarndb-cluster faults_of_all_kinds");
        run_seed(seed, Waits::default());
    }
}

#[test]
fn the_same_seed_sends_the_same_bytes() {
    for seed in 0..4 {
        assert_eq!(run_seed(seed, Waits::default()), run_seed(seed, Waits::default()), "seed {seed}");
    }
}

/// The leader is cut off from all voters but still heard by a member without a vote, while the others elect another one.
fn run_split_leader(seed: u64, waits: Waits, checks_quorum: bool) {
    let mut net = three(seed, waits);
    net.checks_quorum = checks_quorum;
    net.add(4);
    net.run_ms(3_000);
    converge(&mut net, seed);
    let leader = leader(&net);
    let voters: Vec<u128> = net.voters();
    assert_eq!(voters.len(), 3);
    for voter in voters.into_iter().filter(|voter| *voter != leader) {
        net.cuts.extend([(leader, voter), (voter, leader)]);
        let loner = (1..=4).find(|host| !net.voters().contains(host)).expect("four members, three voters");
        net.cuts.extend([(loner, voter), (voter, loner)]);
    }
    net.run_ms(6_000);
    net.heal();
    converge(&mut net, seed);
}

/// Members restart one after another, so that slots go from one to another and back, while others hear nobody for a moment.
fn run_transfers(seed: u64, waits: Waits) {
    let mut net = three(seed, waits);
    for round in 0..20 {
        let restarted = 1 + round % 3;
        net.kill(restarted);
        net.start(restarted);
        let before_ms = net.rng.below(400);
        net.run_ms(before_ms);
        let deaf = 1 + (round + 1 + u128::from(net.rng.below(2) as u32)) % 3;
        net.cuts.extend((1..=3).filter(|host| *host != deaf).map(|host| (host, deaf)));
        net.run_ms(600);
        net.cuts.clear();
        net.run_ms(1_500);
    }
    converge(&mut net, seed);
}

#[test]
fn leases_hold_while_a_leader_is_cut_off_and_slots_change_hands() {
    for seed in 0..4 {
        run_split_leader(seed, Waits::default(), true);
        run_split_leader(seed, Waits::default(), false);
        run_transfers(seed, Waits::default());
    }
}

#[test]
fn a_member_that_lies_makes_nobody_stumble() {
    for seed in seeds(4) {
        let mut net = three(seed, Waits::default());
        net.liar = Some(1 + u128::from(seed as u32) % 3);
        for _ in 0..20 {
            let host = 1 + u128::from(net.rng.below(3) as u32);
            net.change_schema(host);
            net.run_ms(300);
            net.kill(host);
            net.run_ms(300);
            net.start(host);
        }
    }
}

#[test]
fn damaged_blobs_are_refused() {
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", profile(1, 11), Schema::empty(), at(0), 1);
    store_all(&mut metadata, &mut blobs, at(1));
    let restore = |blobs: &Blobs| Metadata::restore(blobs, "test", profile(1, 12), at(0), 2).map(|_| ());
    assert_eq!(restore(&blobs), Ok(()));
    let snapshot = blobs.snapshot.clone().expect("a founder has a state");
    for at in 0..blobs.log.len() {
        let mut damaged = blobs.clone();
        damaged.log[at] ^= 0x10;
        assert!(matches!(restore(&damaged), Err(RestoreError::Damaged(_))), "byte {at} of the log");
    }
    for at in (0..snapshot.len()).step_by(7) {
        let mut damaged = Blobs { snapshot: Some(snapshot.clone()), ..blobs.clone() };
        damaged.snapshot.as_mut().expect("just made")[at] ^= 0x10;
        assert!(matches!(restore(&damaged), Err(RestoreError::Damaged(_))), "byte {at} of the snapshot");
        damaged.snapshot.as_mut().expect("just made").truncate(at);
        assert!(matches!(restore(&damaged), Err(RestoreError::Damaged(_))), "{at} bytes of the snapshot");
    }
    let without_state = Blobs { snapshot: None, ..blobs };
    assert!(matches!(restore(&without_state), Err(RestoreError::Damaged(_))), "entries without the state before them");
}

fn proposal(command: Command) -> Proposal {
    Proposal { version: 3, node: NodeId(2), incarnation: 20, number: 1, command }
}

/// Whether one of these runs breaks a promise.
fn is_broken(run: impl Fn(u64) + std::panic::RefUnwindSafe, mut seeds: std::ops::Range<u64>) -> bool {
    seeds.any(|seed| std::panic::catch_unwind(|| run(seed)).is_err())
}

#[test]
fn a_leader_that_grants_without_a_majority_is_found() {
    let waits = Waits { horizon_us: u64::MAX / 2, ..Waits::default() };
    assert!(is_broken(|seed| run_split_leader(seed, waits, false), 0..4));
}

#[test]
fn a_member_that_is_taken_for_down_too_early_is_found() {
    let waits = Waits { down_after_us: 400_000, ..Waits::default() };
    assert!(is_broken(|seed| _ = run_seed(seed, waits), 0..12));
}

#[test]
fn a_new_leader_that_does_not_wait_is_found() {
    let waits = Waits { new_leader_us: 0, down_after_us: 0, ..Waits::default() };
    assert!(is_broken(|seed| _ = run_seed(seed, waits), 0..12));
}

#[test]
fn a_transfer_that_is_not_waited_for_is_found() {
    let waits = Waits { handover_us: 0, ..Waits::default() };
    assert!(is_broken(|seed| run_transfers(seed, waits), 0..10));
}
