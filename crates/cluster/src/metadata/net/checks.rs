//! What must hold of a group, at every step and at the end.

use super::{Net, acts_as_primary};
use crate::metadata::Metadata;
use crate::state::{Member, MemberState, State};
use base::Slot;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Slots whose primaries are watched.
const WATCHED: u16 = 12;

impl Net {
    pub(super) fn applied(&mut self, host: u128, state: Arc<State>) {
        let hash = base::checksum(&state.encode());
        if self.liar.is_some() {
            if let Some(metadata) = self.machines.get_mut(&host).and_then(|machine| machine.metadata.as_mut()) {
                metadata.published(state.version);
            }
            return;
        }
        let (known, first) = *self.hashes.entry(state.version).or_insert((hash, host));
        assert_eq!(known, hash, "hosts {first} and {host} differ at entry {}", state.version);
        if state.version > self.newest.version {
            check_progress(&self.newest, &state);
            self.newest = Arc::clone(&state);
        }
        let machine = self.machines.get_mut(&host).expect("a machine");
        let me = machine.metadata.as_ref().and_then(Metadata::node);
        let now_us = machine.local_us(self.now_us);
        let mut serves = BTreeMap::new();
        for (keyspace, map) in &state.keyspaces {
            for slot in 0..WATCHED {
                let assignment = map.at(Slot(slot));
                if me.is_some_and(|me| acts_as_primary(assignment, me)) {
                    let key = (keyspace.clone(), slot);
                    let wait_us = if assignment.transfer_from.is_some() { self.waits.handover_us } else { 0 };
                    let fresh = (assignment.term, now_us + wait_us);
                    let kept = machine.serves.get(&key).filter(|(term, _)| *term == assignment.term).copied();
                    serves.insert(key, kept.unwrap_or(fresh));
                }
            }
        }
        machine.serves = serves;
        if let Some(metadata) = &mut machine.metadata {
            metadata.published(state.version);
        }
    }

    /// What must hold at any time.
    pub(super) fn check(&mut self) {
        let now_us = self.now_us;
        let mut serving: BTreeMap<(String, u16), u128> = BTreeMap::new();
        for (host, machine) in self.machines.iter().filter(|(_, machine)| machine.may_serve(now_us)) {
            let Some(node) = machine.metadata.as_ref().and_then(Metadata::node) else { continue };
            let known = self.newest.members.get(&node).filter(|member| member.profile.incarnation == machine.incarnation);
            let is_down = known.is_some_and(|member| matches!(member.state, MemberState::Down | MemberState::Removed));
            assert!(!is_down, "host {host} has a lease while it is down in the state, at {now_us} us");
            for (key, (_, from_us)) in &machine.serves {
                if machine.local_us(now_us) >= *from_us
                    && let Some(other) = serving.insert(key.clone(), *host)
                {
                    panic!("hosts {other} and {host} both serve {key:?} at {now_us} us");
                }
            }
        }
    }

    /// Whether all running members have the same settled state, and all are up.
    pub(in crate::metadata) fn has_converged(&self) -> bool {
        let members: Vec<&Metadata> = self.machines.values().filter_map(|machine| machine.metadata.as_ref()).collect();
        let versions: BTreeSet<u64> = members.iter().map(|metadata| metadata.state().version).collect();
        let present = self.newest.members.values().filter(|member| member.state != MemberState::Removed);
        versions.len() == 1
            && versions.contains(&self.newest.version)
            && self.newest.is_settled()
            && present.clone().all(|member: &Member| member.is_up())
            && present.count() == members.iter().filter(|metadata| metadata.node().is_some()).count()
    }

    /// Every acknowledged schema is among those that led to the newest one.
    pub(in crate::metadata) fn check_acknowledged(&self) {
        let mut line = BTreeSet::new();
        let mut version = self.newest.schema.version;
        while line.insert(version) && version != 0 {
            version = self.proposed[&version];
        }
        assert!(self.acknowledged.is_subset(&line), "an acknowledged schema is lost");
    }
}

/// Epochs grow, and terms with the primary.
fn check_progress(old: &State, new: &State) {
    for (name, map) in &new.keyspaces {
        let Some(before) = old.keyspaces.get(name) else { continue };
        for (before, after) in before.iter().zip(map.iter()) {
            assert!(after.in_sync.contains(&after.primary));
            assert!(after.epoch >= before.epoch && (after.epoch > before.epoch || after == before));
            assert!(after.term >= before.term && (after.term > before.term || after.primary == before.primary));
        }
    }
}
