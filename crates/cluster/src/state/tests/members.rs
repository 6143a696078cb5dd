//! Members that fall, come back, are added, drained, replaced and removed: which replicas move, and that no copy is lost.

use super::*;

#[test]
fn a_new_keyspace_is_whole_at_once() {
    let cluster = cluster(3, 2);
    let status = cluster.state.status();
    assert_eq!((status.unavailable_slots, status.short_slots), (0, 0));
    assert!(cluster.state.is_settled());
    let replicas: u32 = status.members.iter().map(|member| member.replicas).sum();
    assert_eq!(replicas, 2 * SLOT_COUNT);
}

#[test]
fn a_member_that_restarts_catches_up_before_it_serves() {
    let mut cluster = cluster(3, 3);
    let slot = (0..4096).find(|slot| cluster.slot(*slot).primary == NodeId(2)).expect("it is primary somewhere");
    let term = cluster.slot(slot).term;
    let outcome = cluster.apply(&Command::Started { node: NodeId(2), previous: 2, profile: profile(2, 99) });
    assert_eq!(outcome, Outcome::Done);
    let assignment = cluster.slot(slot);
    assert!(assignment.primary != NodeId(2) && assignment.term > term && *assignment.restarted == [NodeId(2)]);
    cluster.release();
    assert!(!cluster.slot(slot).in_sync.contains(&NodeId(2)));
    assert_eq!(cluster.state.status().members[1].learners, SLOT_COUNT, "it has a part in all its slots at once");
    let old = Command::Started { node: NodeId(2), previous: 2, profile: profile(2, 50) };
    assert_eq!(cluster.apply(&old), Outcome::Refused(Refused::OtherProcess { node: NodeId(2) }));
    cluster.converge();
    assert_eq!(cluster.slot(slot).primary, NodeId(2));
}

#[test]
fn the_only_holder_stays_primary_whatever_happens_to_it() {
    let mut cluster = cluster(2, 2);
    cluster.apply(&Command::Down { node: NodeId(2) });
    cluster.release();
    assert!(cluster.is_alone_somewhere(NodeId(1)));
    cluster.apply(&Command::Down { node: NodeId(1) });
    cluster.apply(&Command::Up { node: NodeId(2), incarnation: 2 });
    assert_eq!(cluster.state.status().unavailable_slots, SLOT_COUNT, "member 2 lacks what member 1 acknowledged alone");
    let refused = Refused::LastHolder { node: NodeId(1), slots: SLOT_COUNT };
    assert_eq!(cluster.apply(&Command::Remove { node: NodeId(1), force: false }), Outcome::Refused(refused));
    let term = cluster.slot(0).term;
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: profile(1, 77) });
    assert!(cluster.slot(0).term > term, "what the process before has sent is fenced");
    assert_eq!(cluster.state.status().unavailable_slots, 0);
    cluster.converge();
    cluster.apply(&Command::Down { node: NodeId(1) });
    assert_eq!(cluster.state.status().unavailable_slots, 0);
}

/// Disks are lost for good, all others restart before that is known: whoever comes back with everything serves.
#[test]
fn one_that_has_everything_and_lives_is_enough_whatever_was_known_when() {
    for (durable, other_boot) in [(false, false), (true, true), (true, false)] {
        let mut cluster = cluster(3, 3);
        for node in 1..=3 {
            let Profile { boot, .. } = cluster.state.members[&NodeId(node)].profile;
            let profile =
                Profile { boot: boot + u128::from(other_boot), is_durable: durable, ..profile(u128::from(node), 10 + u64::from(node)) };
            cluster.state.change_member(NodeId(node)).profile.is_durable = durable;
            if node < 3 {
                // Member 3 is dead already.
                cluster.apply(&Command::Started { node: NodeId(node), previous: u64::from(node), profile });
            }
        }
        assert!(cluster.state.keyspaces["ks"].iter().all(|slot| slot.primary == NodeId(3) && slot.in_sync.len() == 3));
        assert!(!cluster.state.has_to_release(NodeId(1)) && !cluster.state.has_to_release(NodeId(2)), "it may be alive");
        cluster.apply(&Command::Down { node: NodeId(3) });
        assert_eq!(cluster.state.status().unavailable_slots, 0);
        assert!(cluster.release());
        let begins_alone = |slot: &Assignment| *slot.in_sync == [slot.primary] && slot.restarted.is_empty();
        assert!(cluster.state.keyspaces["ks"].iter().all(begins_alone), "what it has besides, the other one does not have");
        cluster.apply(&Command::Remove { node: NodeId(3), force: false });
        cluster.converge();
    }
}

#[test]
fn one_that_may_have_lost_something_is_filled_from_others_and_serves_nothing_by_itself() {
    for (boot, is_durable) in [(2, false), (Profile::DAMAGED, false), (Profile::DAMAGED, true)] {
        let mut cluster = cluster(3, 3);
        let node = NodeId(1);
        cluster.state.change_member(node).profile.is_durable = is_durable;
        cluster.apply(&Command::Started { node, previous: 1, profile: Profile { boot, is_durable, ..profile(1, 11) } });
        assert!(cluster.state.keyspaces["ks"].iter().all(|slot| !slot.in_sync.contains(&node)));
        cluster.apply(&Command::Down { node: NodeId(2) });
        cluster.apply(&Command::Down { node: NodeId(3) });
        assert_eq!(cluster.state.status().unavailable_slots, SLOT_COUNT);
        cluster.apply(&Command::Up { node: NodeId(2), incarnation: 2 });
        assert_eq!(cluster.state.status().unavailable_slots, 0);
    }
}

#[test]
fn the_last_that_fell_is_not_the_only_one_that_may_come_back() {
    let mut cluster = cluster(3, 3);
    for node in [1, 2, 3].map(NodeId) {
        // All at once: nobody has gone on without anybody.
        cluster.apply(&Command::Down { node });
    }
    assert_eq!(cluster.state.status().unavailable_slots, SLOT_COUNT);
    let refused = Refused::LastHolder { node: NodeId(3), slots: SLOT_COUNT };
    assert_eq!(cluster.apply(&Command::Remove { node: NodeId(3), force: false }), Outcome::Refused(refused));
    cluster.apply(&Command::Started { node: NodeId(2), previous: 2, profile: profile(2, 12) });
    assert_eq!(cluster.state.status().unavailable_slots, 0);
    cluster.release();
    assert_eq!(cluster.apply(&Command::Remove { node: NodeId(3), force: false }), Outcome::Removed { lost: 0 });
    cluster.apply(&Command::Up { node: NodeId(1), incarnation: 1 });
    cluster.converge();
}

#[test]
fn nobody_is_let_go_by_the_word_of_a_process_that_is_no_more() {
    let mut cluster = cluster(3, 3);
    cluster.apply(&Command::Down { node: NodeId(3) });
    let node = NodeId(1);
    assert!(cluster.state.has_to_release(node));
    let refused = Outcome::Refused(Refused::OtherProcess { node });
    assert_eq!(cluster.apply(&Command::Release { node, incarnation: 7 }), refused);
    cluster.apply(&Command::Down { node });
    assert_eq!(cluster.apply(&Command::Release { node, incarnation: 1 }), refused);
    assert_eq!(cluster.slot(0).in_sync.len(), 3);
}

#[test]
fn a_member_that_is_removed_by_force_leaves_its_slots_to_others() {
    let mut cluster = cluster(3, 1);
    cluster.apply(&Command::Down { node: NodeId(3) });
    let lost = cluster.state.status().unavailable_slots;
    assert!(lost > 1000);
    assert_eq!(cluster.apply(&Command::Remove { node: NodeId(3), force: true }), Outcome::Removed { lost });
    cluster.converge();
    assert_eq!(cluster.state.status().unavailable_slots, 0);
    let back = Command::Join { profile: profile(3, 5), replaces: None };
    assert_eq!(cluster.apply(&back), Outcome::Refused(Refused::Gone { node: NodeId(3) }));
}

#[test]
fn a_member_is_drained_without_a_slot_being_short_and_then_removed() {
    let mut cluster = cluster(4, 2);
    assert!(matches!(cluster.apply(&Command::Remove { node: NodeId(4), force: true }), Outcome::Refused(Refused::InUse { .. })));
    cluster.apply(&Command::Drain { node: NodeId(4) });
    let mut steps = 0;
    while cluster.fill() || cluster.transfer_primary() || cluster.release() || cluster.state.has_transfers() {
        let up_to = Epoch(cluster.state.version);
        cluster.apply(&Command::EndTransfers { up_to });
        assert_eq!(cluster.state.status().short_slots, 0);
        steps += 1;
        assert!(steps < 100);
    }
    assert_eq!(cluster.state.status().members[3].replicas, 0);
    assert_eq!(cluster.apply(&Command::Remove { node: NodeId(4), force: false }), Outcome::Removed { lost: 0 });
}

#[test]
fn a_member_that_ends_is_missed_by_nobody_and_takes_its_place_again() {
    let mut cluster = cluster(3, 3);
    let node = NodeId(2);
    let led = cluster.state.status().members[1].primaries;
    assert!(led > 1000);
    let other = Command::ShuttingDown { node, incarnation: 99 };
    assert_eq!(cluster.apply(&other), Outcome::Refused(Refused::OtherProcess { node }));
    assert_eq!(cluster.apply(&Command::ShuttingDown { node, incarnation: 2 }), Outcome::Done);
    let held = |cluster: &Cluster| {
        let status = cluster.state.status();
        assert_eq!(status.unavailable_slots, 0);
        let member = &status.members[1];
        (member.primaries, member.replicas, member.learners)
    };
    cluster.release();
    assert_eq!(held(&cluster), (led, led, 0), "nobody waits for it but itself");
    assert!(cluster.transfer_primary() && !cluster.transfer_primary());
    cluster.release();
    assert_eq!(held(&cluster), (0, 0, 0));
    // What was decided of the process before it said so does not bring it back.
    cluster.apply(&Command::Up { node, incarnation: 2 });
    assert!(!cluster.fill());
    assert_eq!((held(&cluster), cluster.state.members[&node].state), ((0, 0, 0), MemberState::ShuttingDown));
    cluster.apply(&Command::Down { node });
    cluster.apply(&Command::Started { node, previous: 2, profile: profile(2, 50) });
    cluster.converge();
    assert_eq!(held(&cluster), (led, SLOT_COUNT, 0));
}

#[test]
fn a_primary_that_stays_hands_over_when_nobody_is_being_filled() {
    let mut cluster = cluster(3, 3);
    let node = NodeId(2);
    cluster.apply(&Command::Started { node, previous: 2, profile: profile(2, 99) });
    cluster.release();
    let slot = (0..4096).find(|slot| cluster.slot(*slot).learners.contains(node)).expect("it is being rebuilt");
    assert!(cluster.state.successors("ks", cluster.slot(slot).primary).all(|(found, _)| found != Slot(slot)));
    let epoch = cluster.slot(slot).epoch;
    let slots = |epoch| vec![SlotEpochs { keyspace: "ks".to_owned(), slots: vec![(Slot(slot), epoch)] }];
    let passed = Outcome::Slots { changed: 0, passed_over: 1 };
    assert_eq!(cluster.apply(&Command::TransferPrimary { to: node, slots: slots(epoch) }), passed, "it is not in sync");
    cluster.apply(&Command::InSync { node, slots: slots(epoch) });
    assert_eq!(cluster.apply(&Command::TransferPrimary { to: node, slots: slots(epoch) }), passed, "of another epoch");
    let (primary, epoch) = (cluster.slot(slot).primary, cluster.slot(slot).epoch);
    assert_eq!(cluster.apply(&Command::TransferPrimary { to: primary, slots: slots(epoch) }), passed, "it is that already");
    assert_eq!(cluster.apply(&Command::TransferPrimary { to: node, slots: slots(epoch) }), Outcome::Slots { changed: 1, passed_over: 0 });
    assert_eq!((cluster.slot(slot).primary, cluster.slot(slot).transfer_from), (node, Some(primary)));
}

#[test]
fn a_replacement_takes_the_dead_ones_place_and_nothing_else_moves() {
    let mut cluster = cluster(4, 2);
    let before: Vec<NodeSet> = cluster.state.keyspaces["ks"].iter().map(|slot| slot.in_sync.clone()).collect();
    let join = Command::Join { profile: profile(9, 9), replaces: Some(NodeId(3)) };
    assert!(matches!(cluster.apply(&join), Outcome::Refused(Refused::InUse { .. })));
    cluster.apply(&Command::Down { node: NodeId(3) });
    assert_eq!(cluster.apply(&join), Outcome::Joined(NodeId(5)));
    cluster.converge();
    for (slot, before) in before.iter().enumerate() {
        let expected: NodeSet = before.iter().map(|node| if *node == NodeId(3) { NodeId(5) } else { *node }).collect();
        assert_eq!(cluster.slot(slot as u16).in_sync, expected);
    }
}

#[test]
fn replicas_lie_in_different_racks_while_there_are_enough() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), profile(1, 1), Schema::empty(), 1), index: 1 };
    for host in 2..=6 {
        let rack = format!("rack{}", host % 3);
        cluster.apply(&Command::Join { profile: Profile { rack, ..profile(host, host as u64) }, replaces: None });
    }
    cluster.apply(&Command::Drain { node: NodeId(1) });
    for (factor, racks) in [(2, 2), (3, 3), (5, 3)] {
        cluster.set_factor("ks", factor);
        cluster.converge();
        for assignment in cluster.state.keyspaces["ks"].iter() {
            let distinct: BTreeSet<&String> = assignment.in_sync.iter().map(|node| &cluster.state.members[node].profile.rack).collect();
            assert_eq!((assignment.in_sync.len(), distinct.len()), (usize::from(factor), racks));
        }
    }
}

#[test]
fn a_member_more_moves_only_what_it_gets() {
    let mut cluster = cluster(4, 1);
    let before: Vec<NodeId> = cluster.state.keyspaces["ks"].iter().map(|slot| slot.primary).collect();
    cluster.apply(&Command::Join { profile: profile(5, 5), replaces: None });
    cluster.converge();
    let mut moved = 0;
    for (slot, before) in before.iter().enumerate() {
        let primary = cluster.slot(slot as u16).primary;
        assert!(primary == *before || primary == NodeId(5));
        moved += u32::from(primary != *before);
    }
    assert!((650..1000).contains(&moved), "a fifth of 4096 slots, about: {moved}");
}
