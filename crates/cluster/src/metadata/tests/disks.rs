//! Members whose disks fail or have no room, and logs that grow.

use super::*;

#[test]
fn the_log_is_as_long_as_its_snapshot_is_old() {
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", profile(1, 11), Schema::empty(), at(0), 1);
    let mut longest = 0;
    for ms in 0..1_000 {
        store_all(&mut metadata, &mut blobs, at(ms));
        metadata.propose(Command::Remove { node: NodeId(9), force: false });
        longest = longest.max(blobs.log.len());
    }
    store_all(&mut metadata, &mut blobs, at(1_000));
    assert!(longest < 64 * 64, "{longest} bytes");
    let restored = Metadata::restore(&blobs, "test", profile(1, 11), at(0), 2).expect("sound blobs");
    assert!(restored.state().version + 64 >= metadata.state().version);
}

/// What waits for a decision is proposed again each second.
#[test]
fn the_log_of_a_leader_without_followers_does_not_grow() {
    let mut net = three(4, Waits::default());
    net.checks_quorum = false;
    let leader = leader(&net);
    for host in (1..=3).filter(|host| *host != leader) {
        net.kill(host);
    }
    for _ in 0..3 {
        net.change_schema(leader);
    }
    for second in 1..30 {
        net.run_ms(1_000);
        let group = net.machines[&leader].metadata.as_ref().and_then(|metadata| metadata.group.as_ref()).expect("it is a member");
        // And that two members are down, from the second on.
        let expected = if second == 1 { 3..=5 } else { 5..=5 };
        assert!(group.is_leader() && expected.contains(&group.undecided()), "second {second}: {}", group.describe());
    }
}

/// The member on this machine says nothing, and the others have taken over what it served.
fn assert_silent(net: &Net, host: u128) {
    let metadata = net.machines[&host].metadata.as_ref().expect("it runs");
    assert_eq!((metadata.lease_until_us(), metadata.leader()), (0, None));
    let is_up = metadata.node().and_then(|node| net.newest().member(node)).map(Member::is_up);
    assert_eq!((net.newest().status().unavailable_slots, is_up), (0, Some(false)), "the others go on");
}

#[test]
fn a_member_whose_disk_fails_is_silent() {
    let mut net = three(3, Waits::default());
    let leader = leader(&net);
    net.machines.get_mut(&leader).expect("a machine").disk = Stored::Failed;
    net.change_schema(leader);
    net.run_ms(4_000);
    assert_silent(&net, leader);
}

#[test]
fn a_member_without_room_is_silent_until_there_is_some() {
    for led in [true, false] {
        let mut net = three(3, Waits::default());
        let leader = leader(&net);
        let full = if led { leader } else { leader % 3 + 1 };
        net.machines.get_mut(&full).expect("a machine").disk = Stored::Full;
        net.change_schema(leader);
        net.run_ms(4_000);
        assert_silent(&net, full);
        // By the same process.
        net.machines.get_mut(&full).expect("a machine").disk = Stored::Yes;
        net.run_ms(1_500);
        converge(&mut net, 3);
    }
}

#[test]
fn a_member_that_cannot_act_by_the_newest_state_is_silent_until_it_can() {
    for led in [true, false] {
        let mut net = three(4, Waits::default());
        let leader = leader(&net);
        let held = if led { leader } else { leader % 3 + 1 };
        let with_held = |net: &mut Net, change: fn(&mut Metadata)| {
            change(net.machines.get_mut(&held).and_then(|machine| machine.metadata.as_mut()).expect("it runs"));
        };
        with_held(&mut net, |metadata| metadata.hold(u64::MAX));
        net.run_ms(4_000);
        assert_silent(&net, held);
        with_held(&mut net, Metadata::go_on);
        net.run_ms(1_500);
        converge(&mut net, 4);
    }
}

#[test]
fn a_member_that_is_alone_serves_without_room_and_takes_no_change() {
    let mut blobs = Blobs::default();
    let mut metadata = Metadata::found("test", profile(1, 11), Schema::empty(), at(0), 1);
    store_all(&mut metadata, &mut blobs, at(1));
    metadata.take_events();
    let remove = || Command::Remove { node: NodeId(7), force: false };
    let before = metadata.propose(remove());
    let [(name, _)] = &metadata.take_writes()[..] else { panic!("one blob at a time") };
    metadata.written(at(2), name, Stored::Full);
    let events = metadata.take_events();
    assert!(matches!(&events[..], [Event::StorageFull { .. }, Event::Done { proposal, outcome: Outcome::Unknown }] if *proposal == before));
    assert_eq!(metadata.lease_until_us(), u64::MAX);
    let meanwhile = metadata.propose(remove());
    let refused = Outcome::Refused(Refused::StorageFailed);
    assert!(matches!(&metadata.take_events()[..], [Event::Done { proposal, outcome }] if *proposal == meanwhile && *outcome == refused));
    assert_eq!(metadata.turn(at(3)), Some(1_002_000), "it is tried again after a second");
    assert!(metadata.take_writes().is_empty());
    metadata.turn(at(1_002));
    store_all(&mut metadata, &mut blobs, at(1_003));
    assert!(metadata.take_events().iter().any(|event| matches!(event, Event::StorageWorks)));
    metadata.propose(remove());
    store_all(&mut metadata, &mut blobs, at(1_004));
    let outcome = Outcome::Refused(Refused::NoSuchMember { node: NodeId(7) });
    assert!(metadata.take_events().iter().any(|event| matches!(event, Event::Done { outcome: done, .. } if *done == outcome)));
}
