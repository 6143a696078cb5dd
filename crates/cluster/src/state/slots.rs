//! Who holds the slots of a keyspace.

use crate::codec::{CodecError, Reader, Writer};
use crate::nodes::{Learners, NodeSet};
use crate::state::due::Due;
use base::{Epoch, NodeId, SLOT_COUNT, Slot};
use std::sync::Arc;

/// The largest replication factor.
pub const FACTOR_MAX: u8 = 7;

/// More replicas than any assignment has: a bound for decoding.
const REPLICAS_MAX: usize = 1024;

/// Who holds one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Grows with each change of this assignment, and with a keyspace that is made anew.
    pub epoch: Epoch,
    /// The epoch at which `primary` took over: what fences its writes.
    pub term: Epoch,
    /// Who orders the slot's writes.
    pub primary: NodeId,
    /// The primary before, if it may still believe that it is: the new one serves once that one has stepped down or its leases are over.
    pub transfer_from: Option<NodeId>,
    /// Who has every acknowledged write; `primary` is one of them. Nothing is acknowledged that one of them lacks.
    pub in_sync: NodeSet,
    /// Those of `in_sync` whose process has begun anew since they came in. They have every acknowledged write, and may have others that they do not
    /// know of: they take no part until the primary has dropped them, or they are the last that are there.
    pub restarted: NodeSet,
    /// Who is being rebuilt, each since an epoch.
    pub learners: Learners,
}

impl Assignment {
    /// Whether `node` gets this slot's writes.
    #[must_use]
    pub fn holds(&self, node: NodeId) -> bool {
        self.in_sync.contains(&node) || self.learners.contains(node)
    }

    /// `node` is in sync no longer; whether it was.
    pub(super) fn leave(&mut self, node: NodeId) -> bool {
        self.restarted.remove(node);
        self.in_sync.remove(node)
    }

    /// What names one rebuild of a learner: the epoch since which this primary has to rebuild it. `None` if `node` is no learner.
    #[must_use]
    pub fn rebuild_of(&self, node: NodeId) -> Option<Epoch> {
        self.learners.since(node).map(|since| since.max(self.term))
    }
}

/// So many slots are copied when one of them changes; all others are shared with the map before.
const RUN: usize = 16;

/// Who holds the slots of one keyspace.
#[derive(Clone, Debug)]
pub struct SlotMap {
    /// How many replicas a slot should have.
    pub factor: u8,
    /// By slot, in runs.
    runs: Vec<Arc<[Assignment]>>,
    newest: Epoch,
    /// What is left to do. Not part of the state: it follows from it.
    pub(super) due: Due,
}

impl SlotMap {
    /// The map of these assignments, one for each slot.
    pub(super) fn new(factor: u8, slots: &[Assignment]) -> Self {
        let newest = slots.iter().map(|assignment| assignment.epoch).max().unwrap_or_default();
        Self { factor, runs: slots.chunks(RUN).map(Arc::from).collect(), newest, due: Due::of_all() }
    }

    /// Who holds `slot`.
    ///
    /// # Panics
    /// When `slot` is none.
    #[must_use]
    pub fn at(&self, slot: Slot) -> &Assignment {
        self.get(slot).expect("a slot is below their count")
    }

    /// Who holds `slot`, if there is such a slot.
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<&Assignment> {
        let slot = usize::from(slot.0);
        self.runs.get(slot / RUN)?.get(slot % RUN)
    }

    /// Who holds each slot, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Assignment> {
        self.runs.iter().flat_map(|run| run.iter())
    }

    /// The same, with the slots.
    pub fn with_slots(&self) -> impl Iterator<Item = (Slot, &Assignment)> {
        (0..).map(Slot).zip(self.iter())
    }

    /// The newest epoch of a slot.
    #[must_use]
    pub fn newest(&self) -> Epoch {
        self.newest
    }

    /// Slots whose assignments are not what they are in `before`. What the two maps share is not looked at.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = Slot> + 'a {
        let runs = (0..).step_by(RUN).zip(self.runs.iter().zip(&before.runs)).filter(|(_, (now, before))| !Arc::ptr_eq(now, before));
        runs.flat_map(|(first, (now, before))| {
            let slots = (first..).map(Slot).zip(now.iter().zip(before.iter()));
            slots.filter(|(_, (now, before))| now.epoch != before.epoch).map(|(slot, _)| slot)
        })
    }

    /// Slots that `node` is being rebuilt with, in their order.
    pub fn rebuilds(&self, node: NodeId) -> impl Iterator<Item = Slot> + '_ {
        self.due.rebuilds(node)
    }

    pub(super) fn put(&mut self, slot: Slot, assignment: Assignment) {
        self.newest = self.newest.max(assignment.epoch);
        self.due.changed(slot);
        let slot = usize::from(slot.0);
        Arc::make_mut(&mut self.runs[slot / RUN])[slot % RUN] = assignment;
    }

    pub(super) fn encode(&self, writer: &mut Writer) {
        writer.u8(self.factor);
        for slot in self.iter() {
            writer.varint(slot.epoch.0);
            writer.varint(slot.term.0);
            writer.node(slot.primary);
            writer.optional_node(slot.transfer_from);
            for set in [&slot.in_sync, &slot.restarted] {
                writer.varint(set.len() as u64);
                for node in set {
                    writer.node(*node);
                }
            }
            writer.varint(slot.learners.len() as u64);
            for (node, since) in slot.learners.with_epochs() {
                writer.node(node);
                writer.varint(since.0);
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let factor = reader.u8("factor")?;
        if !(1..=FACTOR_MAX).contains(&factor) {
            return Err(CodecError::Inconsistent { what: "factor" });
        }
        let mut slots = Vec::with_capacity(SLOT_COUNT as usize);
        for _ in 0..SLOT_COUNT {
            let assignment = Assignment {
                epoch: Epoch(reader.varint("epoch")?),
                term: Epoch(reader.varint("term")?),
                primary: reader.node("primary")?,
                transfer_from: reader.optional_node("transfer")?,
                in_sync: decode_set(reader)?,
                restarted: decode_set(reader)?,
                learners: decode_learners(reader)?,
            };
            let is_sound = assignment.in_sync.contains(&assignment.primary)
                && assignment.restarted.iter().all(|node| assignment.in_sync.contains(node))
                && assignment.term <= assignment.epoch;
            if !is_sound {
                return Err(CodecError::Inconsistent { what: "assignment" });
            }
            slots.push(assignment);
        }
        Ok(Self::new(factor, &slots))
    }
}

/// Puts changed assignments in their places, at `epoch`.
pub(crate) fn put(map: &mut Arc<SlotMap>, changes: Vec<(Slot, Assignment)>, epoch: Epoch) {
    if changes.is_empty() {
        return;
    }
    let map = Arc::make_mut(map);
    for (slot, assignment) in changes {
        map.put(slot, Assignment { epoch, ..assignment });
    }
}

fn decode_set(reader: &mut Reader<'_>) -> Result<NodeSet, CodecError> {
    let count = reader.count(REPLICAS_MAX, "replicas")?;
    let mut set = NodeSet::new();
    for _ in 0..count {
        set.insert(reader.node("replica")?);
    }
    Ok(set)
}

fn decode_learners(reader: &mut Reader<'_>) -> Result<Learners, CodecError> {
    let count = reader.count(REPLICAS_MAX, "learners")?;
    let mut learners = Learners::default();
    for _ in 0..count {
        let node = reader.node("learner")?;
        learners.insert(node, Epoch(reader.varint("epoch")?));
    }
    Ok(learners)
}
