//! What machines propose, as nodes and their clients do.

use super::{Net, acts_as_primary};
use crate::command::{Command, SlotEpochs};
use crate::metadata::Metadata;
use crate::metadata::test_parts::keyspace;
use base::{Epoch, NodeId, Slot};
use model::schema_blob;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Net {
    /// A process that is no member asks one that is.
    pub(super) fn ask_to_join(&mut self, host: u128) {
        let Some(request) = self.machines[&host].metadata.as_ref().and_then(Metadata::join_request) else { return };
        let asked = self.rng.below(self.machines.len() as u64) as u128 + 1;
        if self.rng.below(100) > 0 || self.cuts.contains(&(host, asked)) {
            return;
        }
        let Some(contact) = self.machines.get_mut(&asked) else { return };
        if let Some(metadata) = contact.metadata.as_mut().filter(|metadata| metadata.node().is_some()) {
            let proposal = metadata.propose(Metadata::join_command(request));
            contact.joins.insert(proposal, host);
        }
    }

    /// A primary that may serve says of its learners that they have all, and gives slots to whom they belong.
    pub(super) fn fill(&mut self, host: u128) {
        let now_us = self.now_us;
        let machine = self.machines.get_mut(&host).expect("a machine");
        if !machine.may_serve(now_us) || now_us < machine.sync_at_us {
            return;
        }
        machine.sync_at_us = now_us + 100_000;
        let Some(metadata) = &mut machine.metadata else { return };
        let (state, me) = (Arc::clone(metadata.state()), metadata.node());
        let mut by_node: BTreeMap<NodeId, BTreeMap<String, Vec<(Slot, Epoch)>>> = BTreeMap::new();
        for (keyspace, map) in &state.keyspaces {
            for (slot, assignment) in map.with_slots() {
                if me.is_some_and(|me| acts_as_primary(assignment, me))
                    && let Some(learner) = assignment.learners.iter().next()
                {
                    let slots = by_node.entry(learner).or_default().entry(keyspace.clone()).or_default();
                    slots.push((slot, assignment.epoch));
                }
            }
        }
        for (node, keyspaces) in by_node {
            metadata.propose(Command::InSync { node, slots: slot_epochs(keyspaces) });
        }
        let mut by_heir: BTreeMap<NodeId, BTreeMap<String, Vec<(Slot, Epoch)>>> = BTreeMap::new();
        for (keyspace, map) in &state.keyspaces {
            for (slot, heir) in me.map(|me| state.successors(keyspace, me)).into_iter().flatten() {
                let slots = by_heir.entry(heir).or_default().entry(keyspace.clone()).or_default();
                slots.push((slot, map.at(slot).epoch));
            }
        }
        for (to, keyspaces) in by_heir {
            metadata.propose(Command::TransferPrimary { to, slots: slot_epochs(keyspaces) });
        }
    }

    /// Proposes a schema with one keyspace more, or with other factors, at `host`.
    pub(in crate::metadata) fn change_schema(&mut self, host: u128) {
        let version = u128::from(self.rng.next_u64());
        let factor = [1, 2, 3][self.rng.below(3) as usize];
        let name = format!("ks{}", self.rng.below(2));
        let Some(metadata) = self.machines.get_mut(&host).and_then(|machine| machine.metadata.as_mut()) else { return };
        let mut schema = (*metadata.state().schema).clone();
        let expected = std::mem::replace(&mut schema.version, version);
        schema.keyspaces.insert(name.clone(), Arc::new(keyspace(&name, factor)));
        let proposal = metadata.propose(Command::Schema { expected, document: schema_blob::encode(&schema) });
        self.proposed.insert(version, expected);
        self.machines.get_mut(&host).expect("a machine").schemas.insert(proposal, version);
    }

    pub(in crate::metadata) fn propose(&mut self, host: u128, command: Command) {
        if let Some(metadata) = self.machines.get_mut(&host).and_then(|machine| machine.metadata.as_mut()) {
            metadata.propose(command);
        }
    }

    /// The machine's process is about to end: it says so, and hands on what it leads.
    pub(in crate::metadata) fn end(&mut self, host: u128) {
        let machine = self.machines.get_mut(&host).expect("a machine");
        let (incarnation, now) = (machine.incarnation, machine.now(self.now_us));
        let Some(metadata) = &mut machine.metadata else { return };
        let Some(node) = metadata.node() else { return };
        metadata.propose(Command::ShuttingDown { node, incarnation });
        metadata.transfer_leadership(now);
    }
}

fn slot_epochs(keyspaces: BTreeMap<String, Vec<(Slot, Epoch)>>) -> Vec<SlotEpochs> {
    keyspaces.into_iter().map(|(keyspace, slots)| SlotEpochs { keyspace, slots }).collect()
}
