//! The state under commands, by themselves and drawn at random.

mod members;
mod primaries;
mod versions;

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

/// Of how many slots each core is the primary.

#[test]
fn slots_without_members_belong_to_nobody() {
    let placement = Placement::default().refreshed(&BTreeMap::new(), Versions::KNOWN.latest()).expect("there was none before");
    assert!(placement.targets(7, 3).is_empty());
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
