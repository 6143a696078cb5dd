//! The state under commands, by themselves and drawn at random.

use super::*;
use crate::command::{Command, Outcome, Refused, SlotEpochs};
use crate::metadata::test_parts::{keyspace, profile};
use crate::nodes::NodeSet;
use crate::versions::Versions;
use base::{Rng, SLOT_COUNT, TableId};
use model::{CDC_LOG_OPTION, Column, ColumnId, ColumnKind, DataType, KeptOption, Order, Table, TableOptions, schema_blob};
use std::collections::BTreeSet;

/// A cluster of members 1 to `count`, with the keyspace `ks`.
fn cluster(count: u32, factor: u8) -> Cluster {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), profile(1, 1), Schema::empty(), 1), index: 1 };
    for host in 2..=count {
        cluster.apply(&Command::Join { profile: profile(u128::from(host), u64::from(host)), replaces: None });
    }
    cluster.set_factor("ks", factor);
    cluster
}

struct Cluster {
    state: State,
    index: u64,
}

impl Cluster {
    fn apply(&mut self, command: &Command) -> Outcome {
        self.index += 1;
        let before = self.state.clone();
        let outcome = self.state.apply(self.index, command);
        check(&before, &self.state, command);
        if self.index.is_multiple_of(4) {
            // A member that has the state from a snapshot comes to the same.
            let mut restored = State::decode(&before.encode(), Versions::KNOWN).expect("what was encoded");
            assert_eq!(restored.apply(self.index, command), outcome);
            assert_eq!(restored.encode(), self.state.encode(), "{command:?}");
            let due = |state: &State| state.keyspaces.values().map(|map| map.due.tasks().to_vec()).collect::<Vec<_>>();
            assert_eq!(due(&restored), due(&self.state), "{command:?}");
        }
        outcome
    }

    fn set_factor(&mut self, name: &str, factor: u8) -> Outcome {
        let mut schema = (*self.state.schema).clone();
        let expected = schema.version;
        schema.version += 1;
        schema.keyspaces.insert(name.to_owned(), Arc::new(keyspace(name, factor)));
        self.apply(&Command::Schema { expected, document: schema_blob::encode(&schema) })
    }

    /// Lets one learner of each slot whose primary is up be in sync.
    fn fill(&mut self) -> bool {
        let mut by_node: BTreeMap<NodeId, Vec<SlotEpochs>> = BTreeMap::new();
        for (name, map) in &self.state.keyspaces {
            for (slot, assignment) in map.with_slots().filter(|(_, assignment)| self.state.is_up(assignment.primary)) {
                if let Some(learner) = assignment.learners.iter().next() {
                    let keyspaces = by_node.entry(learner).or_default();
                    if keyspaces.last().is_none_or(|last| last.keyspace != *name) {
                        keyspaces.push(SlotEpochs { keyspace: name.clone(), slots: Vec::new() });
                    }
                    keyspaces.last_mut().expect("pushed above").slots.push((slot, assignment.epoch));
                }
            }
        }
        let any = !by_node.is_empty();
        for (node, slots) in by_node {
            self.apply(&Command::InSync { node, slots });
        }
        any
    }

    /// Lets primaries that should not be one give their slots away.
    fn transfer_primary(&mut self) -> bool {
        let mut by_heir: BTreeMap<NodeId, Vec<SlotEpochs>> = BTreeMap::new();
        for (name, map) in &self.state.keyspaces {
            let members = self.state.members.keys().filter(|node| self.state.is_up(**node));
            for (slot, heir) in members.flat_map(|primary| self.state.successors(name, *primary)) {
                let slots = vec![(slot, map.at(slot).epoch)];
                by_heir.entry(heir).or_default().push(SlotEpochs { keyspace: name.clone(), slots });
            }
        }
        let any = !by_heir.is_empty();
        for (to, slots) in by_heir {
            let count = slots.len() as u32;
            assert_eq!(self.apply(&Command::TransferPrimary { to, slots }), Outcome::Slots { changed: count, passed_over: 0 });
        }
        any
    }

    /// Lets primaries that live go on without replicas that they need not wait for.
    fn release(&mut self) -> bool {
        let members = self.state.members.values().filter(|member| member.is_up());
        let primaries: Vec<_> = members.map(|member| (member.id, member.profile.incarnation)).collect();
        let waits: Vec<_> = primaries.into_iter().filter(|(node, _)| self.state.has_to_release(*node)).collect();
        for (node, incarnation) in &waits {
            assert_eq!(self.apply(&Command::Release { node: *node, incarnation: *incarnation }), Outcome::Done);
            assert!(!self.state.has_to_release(*node), "once is enough");
        }
        !waits.is_empty()
    }

    /// Rebuilds and transfers until there is nothing to do.
    fn converge(&mut self) {
        for _ in 0..400 {
            let filled = self.fill() | self.transfer_primary() | self.release();
            let hands_over = self.state.has_transfers();
            if hands_over {
                let up_to = Epoch(self.state.version);
                self.apply(&Command::EndTransfers { up_to });
            }
            if !filled && !hands_over {
                break;
            }
        }
        assert!(self.state.is_settled(), "{:?}", self.state.status());
    }

    fn slot(&self, slot: u16) -> &Assignment {
        self.state.assignment("ks", Slot(slot)).expect("a slot of the keyspace")
    }

    fn is_alone_somewhere(&self, node: NodeId) -> bool {
        self.state.keyspaces.values().flat_map(|map| map.iter()).any(|slot| *slot.in_sync == [node])
    }
}

/// What every command keeps.
fn check(before: &State, after: &State, command: &Command) {
    let fresh = |name: &String| !before.keyspaces.contains_key(name);
    for (name, map) in &after.keyspaces {
        assert_eq!(map.iter().count(), SLOT_COUNT as usize);
        for (slot, next) in map.with_slots() {
            assert!(next.in_sync.contains(&next.primary), "{next:?}");
            assert!(next.restarted.iter().all(|node| next.in_sync.contains(node)), "{next:?}");
            assert!(next.term <= next.epoch && next.epoch <= Epoch(after.version));
            assert!(next.learners.iter().all(|node| !next.in_sync.contains(&node)), "{next:?}");
            assert!(next.transfer_from != Some(next.primary));
            if fresh(name) {
                continue;
            }
            let previous = before.keyspaces[name].at(slot);
            assert!(if next == previous { true } else { next.epoch == Epoch(after.version) && next.epoch > previous.epoch });
            assert!(next.term > previous.term || next.primary == previous.primary, "{previous:?} {next:?}");
            let forced = matches!(command, Command::Remove { force: true, .. });
            assert!(forced || next.in_sync.iter().any(|node| previous.in_sync.contains(node)), "a copy is lost: {previous:?} {next:?}");
            let new_in_sync = next.in_sync.iter().find(|node| !previous.in_sync.contains(node));
            match (new_in_sync, command) {
                (None, _) => {}
                (Some(node), Command::InSync { node: filled, .. }) => assert_eq!(node, filled),
                (Some(_), _) => assert!(forced, "in sync out of nothing: {command:?} {previous:?} {next:?}"),
            }
            // Who is in sync has all that was acknowledged, and may be the only one alive: it leaves by the word of a primary that stays, of its own
            // process, which has found less, or of an operator.
            let may_leave = |node: &NodeId| match command {
                Command::Release { node: primary, .. } => previous.primary == *primary && next.primary == *primary,
                Command::DropReplica { node: dropped, .. } => node == dropped,
                Command::Started { node: started, profile, .. } => node == started && !profile.has_all_of(&before.members[node].profile),
                Command::Remove { node: removed, .. } => node == removed,
                Command::Join { replaces, .. } => Some(*node) == *replaces,
                _ => false,
            };
            let mut left = previous.in_sync.iter().filter(|node| !next.in_sync.contains(node));
            assert!(left.all(may_leave), "{command:?} {previous:?} {next:?}");
        }
    }
    if after.version.is_multiple_of(4) {
        assert!(after.has_come_to_rest(), "{command:?}");
    }
}

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

/// Of how many slots each core is the primary.
fn primaries_by_core(cluster: &Cluster) -> Vec<usize> {
    let mut found = BTreeMap::new();
    for member in cluster.state.members.values() {
        found.extend((0..member.profile.cores).map(|core| ((member.id, core), 0)));
    }
    for (slot, assignment) in cluster.state.keyspaces["ks"].with_slots() {
        let core = slot.core(cluster.state.members[&assignment.primary].profile.cores);
        *found.get_mut(&(assignment.primary, core.0)).expect("it is a member") += 1;
    }
    found.into_values().collect()
}

fn primaries(cluster: &Cluster) -> Vec<NodeId> {
    cluster.state.keyspaces["ks"].iter().map(|slot| slot.primary).collect()
}

/// With more replicas than one, no core is the primary of more than its share, and a member more does not move many primaries but its own.
#[test]
fn primaries_are_even_over_cores() {
    for (count, factor) in [(3, 2), (3, 3), (6, 2), (12, 3)] {
        let cores = |host: u32| if host.is_multiple_of(3) { 4 } else { 8 };
        let member = |host: u32| Profile { cores: cores(host), ..profile(host.into(), host.into()) };
        let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), member(1), Schema::empty(), 1), index: 1 };
        for host in 2..=count {
            cluster.apply(&Command::Join { profile: member(host), replaces: None });
        }
        cluster.set_factor("ks", factor);
        let by_core = primaries_by_core(&cluster);
        let share = SLOT_COUNT as usize / by_core.len();
        assert!(*by_core.iter().max().expect("it has members") <= share + 2, "{count} members, factor {factor}, {share} each: {by_core:?}");
        let before = primaries(&cluster);
        cluster.apply(&Command::Join { profile: member(count + 1), replaces: None });
        cluster.converge();
        let by_core = primaries_by_core(&cluster);
        let share = SLOT_COUNT as usize / by_core.len();
        assert!(
            *by_core.iter().max().expect("it has members") <= share + 2,
            "{count} members and one, factor {factor}, {share} each: {by_core:?}"
        );
        let moved = before.iter().zip(primaries(&cluster)).filter(|(before, now)| **before != *now).count();
        let (own, part) = (usize::from(cores(count + 1)) * share, SLOT_COUNT as usize / 10);
        assert!((own..own + part).contains(&moved), "{count} members and one, factor {factor}: {moved}, {own} of them its own");
    }
}

#[test]
fn slots_without_members_belong_to_nobody() {
    let placement = Placement::default().refreshed(&BTreeMap::new(), Versions::KNOWN.latest()).expect("there was none before");
    assert!(placement.targets(7, 3).is_empty());
}

#[test]
fn primaries_are_the_first_in_rank_while_a_member_does_not_know_better() {
    let older = knows(1, 1, 4, 5);
    let mut mixed = Cluster { state: State::founded(7, "test".to_owned(), older, Schema::empty(), 1), index: 1 };
    for host in [2, 3] {
        mixed.apply(&Command::Join { profile: profile(host, host as u64), replaces: None });
    }
    mixed.set_factor("ks", 2);
    let by_rank = primaries(&mixed);
    let mut cluster = cluster(3, 2);
    let even = primaries(&cluster);
    assert!(by_rank != even, "chance deals evenly");
    cluster.set_factor("ks", 1);
    cluster.converge();
    assert!(by_rank == primaries(&cluster), "not as with one replica, where there is no choice");
    mixed.apply(&Command::Started { node: NodeId(1), previous: 1, profile: profile(1, 11) });
    mixed.converge();
    assert!(primaries(&mixed) == even, "not even once all know how");
}

#[test]
fn slots_at_another_epoch_are_passed_over() {
    let mut cluster = cluster(3, 2);
    let node = NodeId(2);
    let slot = (0..4096u16)
        .find(|slot| cluster.slot(*slot).holds(node) && cluster.slot(*slot).primary != node)
        .expect("it is secondary somewhere");
    let epoch = cluster.slot(slot).epoch;
    let slots = |epoch| vec![SlotEpochs { keyspace: "ks".to_owned(), slots: vec![(Slot(slot), epoch)] }];
    let passed = Outcome::Slots { changed: 0, passed_over: 1 };
    assert_eq!(cluster.apply(&Command::DropReplica { node, slots: slots(Epoch(epoch.0 - 1)) }), passed);
    assert_eq!(cluster.apply(&Command::InSync { node, slots: slots(epoch) }), passed, "it is in sync already");
    let primary = cluster.slot(slot).primary;
    assert_eq!(cluster.apply(&Command::DropReplica { node: primary, slots: slots(epoch) }), passed);
    assert_eq!(cluster.apply(&Command::DropReplica { node, slots: slots(epoch) }), Outcome::Slots { changed: 1, passed_over: 0 });
    assert!(cluster.slot(slot).learners.contains(node));
}

#[test]
fn a_schema_from_another_version_is_refused() {
    let mut cluster = cluster(1, 1);
    let mut schema = (*cluster.state.schema).clone();
    let found = schema.version;
    schema.version = 99;
    let document = schema_blob::encode(&schema);
    let outcome = cluster.apply(&Command::Schema { expected: found + 5, document: document.clone() });
    assert_eq!(outcome, Outcome::Refused(Refused::SchemaChanged { found }));
    assert_eq!(cluster.apply(&Command::Schema { expected: found, document: vec![1, 2, 3] }), Outcome::Refused(Refused::BadSchema));
    assert_eq!(cluster.apply(&Command::Schema { expected: found, document }), Outcome::Done);
}

#[test]
fn roles_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 6), Schema::empty(), 1), index: 1 };
    cluster.apply(&Command::Join { profile: knows(2, 2, 4, 7), replaces: None });
    let roles = BTreeMap::from([("jo".to_owned(), Arc::new(model::Role::default()))]);
    let schema = Schema { version: 99, roles, ..Schema::clone(&cluster.state.schema) };
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 7) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert!(cluster.state.schema.roles.contains_key("jo"));
}

#[test]
fn masks_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 14), Schema::empty(), 1), index: 1 };
    cluster.apply(&Command::Join { profile: knows(2, 2, 4, 15), replaces: None });
    let declared = Schema::empty().declare_bins("ks", "t", &[], 1).expect("a record set").expect("a new one");
    let mut schema = Schema { version: 99, ..declared.schema };
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("ks").expect("a keyspace"));
    let table = Arc::make_mut(keyspace.tables.get_mut("t").expect("a table"));
    let mask = model::ColumnMask { keyspace: "system".to_owned(), function: "mask_null".to_owned(), arguments: Vec::new() };
    table.columns[0].mask = Some(Arc::new(mask));
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 15) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert!(cluster.state.schema.has_masks());
}

#[test]
fn cdc_logs_wait_until_every_member_writes_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 14), Schema::empty(), 1), index: 1 };
    cluster.apply(&Command::Join { profile: knows(2, 2, 4, 15), replaces: None });
    let key = Column {
        id: ColumnId(0),
        name: "k".to_owned(),
        kind: ColumnKind::PartitionKey,
        order: Order::Ascending,
        data_type: DataType::Blob,
        mask: None,
    };
    let mut log = Table {
        id: TableId(1),
        uuid: 7,
        keyspace: "k".to_owned(),
        name: "t_scylla_cdc_log".to_owned(),
        columns: vec![key],
        partition_key_len: 1,
        clustering_len: 0,
        next_column: ColumnId(1),
        dropped_columns: BTreeMap::new(),
        options: TableOptions::default(),
        records: None,
        indexes: BTreeMap::new(),
        compact: false,
        views: BTreeSet::new(),
        view: None,
    };
    log.options.kept.insert(CDC_LOG_OPTION.to_owned(), KeptOption::Map(BTreeMap::from([("base".to_owned(), "t".to_owned())])));
    let mut keyspace = keyspace("k", 1);
    keyspace.tables.insert(log.name.clone(), Arc::new(log));
    let mut schema = Schema { version: 99, next_table: TableId(2), ..Schema::clone(&cluster.state.schema) };
    schema.keyspaces.insert("k".to_owned(), Arc::new(keyspace));
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert!(!cluster.state.knows_cdc());
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 15) });
    assert!(cluster.state.knows_cdc());
    assert_eq!(cluster.apply(&change), Outcome::Done);
}

#[test]
fn log_ins_by_digests_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 13), Schema::empty(), 1), index: 1 };
    let role = model::Role { griddb_hash: Some("$2b$10$hash".to_owned()), ..model::Role::default() };
    let roles = BTreeMap::from([("jo".to_owned(), Arc::new(role))]);
    let schema = Schema { version: 99, roles, ..Schema::clone(&cluster.state.schema) };
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 2, 4, 14) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert_eq!(cluster.state.schema.roles, schema.roles);
}

#[test]
fn limits_of_roles_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 15), Schema::empty(), 1), index: 1 };
    let mut role = model::Role::default();
    role.limits.set(model::Limit::Connections, 5);
    let roles = BTreeMap::from([("jo".to_owned(), Arc::new(role))]);
    let schema = Schema { version: 99, roles, ..Schema::clone(&cluster.state.schema) };
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 2, 4, 16) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert_eq!(cluster.state.schema.roles, schema.roles);
}

#[test]
fn random_commands_keep_what_must_hold_and_then_all_converges() {
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let mut cluster = cluster(1 + rng.below(4) as u32, 1 + rng.below(3) as u8);
        let mut incarnation = 1000;
        for _ in 0..120 {
            let count = cluster.state.members.len() as u64;
            let node = NodeId(1 + rng.below(count) as u32);
            incarnation += 1;
            let member = cluster.state.members[&node].clone();
            let slots = |state: &State, rng: &mut Rng| {
                let of = |(name, map): (&String, &Arc<SlotMap>)| SlotEpochs {
                    keyspace: name.clone(),
                    slots: (0..200u16).map(|slot| Slot(slot * 20)).map(|slot| (slot, map.at(slot).epoch)).collect(),
                };
                let mut all: Vec<SlotEpochs> = state.keyspaces.iter().map(of).collect();
                all.truncate(1 + rng.below(2) as usize);
                all
            };
            let command = match rng.below(19) {
                0 | 1 => Command::Down { node },
                2..=4 => Command::Up { node, incarnation: member.profile.incarnation },
                5 | 6 => {
                    let boot = member.profile.boot + u128::from(rng.below(4) == 0);
                    let profile = Profile { incarnation, boot, ..member.profile.clone() };
                    Command::Started { node, previous: member.profile.incarnation, profile }
                }
                7 | 8 => Command::InSync { node, slots: slots(&cluster.state, &mut rng) },
                9 => Command::DropReplica { node, slots: slots(&cluster.state, &mut rng) },
                10 if rng.below(3) == 0 => Command::Drain { node },
                11 => Command::Remove { node, force: false },
                12 if count < 7 => {
                    let replaces = (rng.below(3) == 0).then_some(node);
                    Command::Join { profile: profile(100 + u128::from(incarnation), incarnation), replaces }
                }
                13 => Command::EndTransfers { up_to: Epoch(cluster.state.version) },
                14 => {
                    cluster.set_factor(["ks", "other"][rng.below(2) as usize], 1 + rng.below(4) as u8);
                    continue;
                }
                15 => Command::ShuttingDown { node, incarnation: member.profile.incarnation },
                16 => Command::TransferPrimary { to: node, slots: slots(&cluster.state, &mut rng) },
                17 => Command::Release { node, incarnation: member.profile.incarnation },
                18 if rng.below(2) == 0 => {
                    cluster.transfer_primary();
                    continue;
                }
                _ => {
                    cluster.fill();
                    continue;
                }
            };
            cluster.apply(&command);
        }
        let members: Vec<Member> = cluster.state.members.values().cloned().collect();
        for member in members {
            match member.state {
                MemberState::Down => {
                    cluster.apply(&Command::Up { node: member.id, incarnation: member.profile.incarnation });
                }
                MemberState::ShuttingDown => {
                    let profile = Profile { incarnation: incarnation + u64::from(member.id.0), ..member.profile.clone() };
                    let previous = member.profile.incarnation;
                    cluster.apply(&Command::Started { node: member.id, previous, profile });
                }
                _ => {}
            }
        }
        cluster.converge();
        let status = cluster.state.status();
        assert_eq!(status.unavailable_slots, 0, "seed {seed}");
    }
}

#[test]
fn no_bytes_make_the_decoder_stumble() {
    let bytes = cluster(3, 2).state.encode();
    let mut rng = Rng::new(5);
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(damaged.len() as u64) as usize;
            damaged[at] = rng.next_u64() as u8;
        }
        damaged.truncate(rng.below(2 * bytes.len() as u64) as usize);
        if let Ok(mut state) = State::decode(&damaged, Versions::KNOWN) {
            // What is let in may be nonsense, but not such that the next command trips over it.
            let index = state.version.wrapping_add(1);
            state.apply(index, &Command::Down { node: NodeId(1) });
            state.apply(index, &Command::Remove { node: NodeId(1), force: true });
        }
    }
}

fn knows(host: u32, incarnation: u64, oldest: u16, latest: u16) -> Profile {
    Profile { protocol_versions: Versions::new(oldest, latest), ..profile(u128::from(host), incarnation) }
}

#[test]
fn the_cluster_goes_by_the_latest_version_that_every_member_knows() {
    let mut state = State::founded(7, "test".to_owned(), knows(1, 1, 3, 3), Schema::empty(), 1);
    let mut index = 1;
    let mut apply = |command: Command| {
        index += 1;
        let before = state.protocol_version();
        let outcome = state.apply(index, &command);
        assert!(state.protocol_version() >= before, "{command:?}");
        assert!(State::decode(&state.encode(), Versions::new(3, 5)).is_ok());
        (outcome, state.protocol_version())
    };
    let join = |host, oldest, latest| Command::Join { profile: knows(host, u64::from(host), oldest, latest), replaces: None };
    let started = |host: u32, previous, incarnation, oldest, latest| Command::Started {
        node: NodeId(host),
        previous,
        profile: knows(host, incarnation, oldest, latest),
    };
    assert_eq!(apply(join(2, 3, 4)), (Outcome::Joined(NodeId(2)), 3));
    let too_new = Refused::TooNew { agreed: 3, known: Versions::new(4, 5) };
    assert_eq!(apply(join(3, 4, 5)), (Outcome::Refused(too_new.clone()), 3));
    assert_eq!(apply(join(3, 3, 3)), (Outcome::Joined(NodeId(3)), 3));
    // Steps back are possible before all know more.
    assert_eq!(apply(started(2, 2, 22, 3, 3)), (Outcome::Done, 3));
    assert_eq!(apply(started(2, 22, 23, 3, 4)), (Outcome::Done, 3));
    assert_eq!(apply(started(2, 23, 24, 4, 5)), (Outcome::Refused(too_new), 3));
    assert_eq!(apply(started(1, 1, 11, 3, 4)), (Outcome::Done, 3));
    assert_eq!(apply(Command::Down { node: NodeId(3) }), (Outcome::Done, 3), "it comes back");
    // Who asks again to be taken in says nothing of a new process.
    assert_eq!(apply(join(3, 3, 4)), (Outcome::Joined(NodeId(3)), 3));
    assert_eq!(apply(Command::Remove { node: NodeId(3), force: false }), (Outcome::Removed { lost: 0 }, 4));
    let too_old = Refused::TooOld { agreed: 4, known: Versions::new(3, 3) };
    assert_eq!(apply(join(4, 3, 3)), (Outcome::Refused(too_old.clone()), 4));
    assert_eq!(apply(started(2, 23, 25, 3, 3)), (Outcome::Refused(too_old), 4));
    assert_eq!(apply(join(4, 4, 5)), (Outcome::Joined(NodeId(4)), 4));
}
