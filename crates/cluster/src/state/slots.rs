//! Who holds the slots of a keyspace.

use crate::codec::{CodecError, Reader, Writer};
use crate::nodes::{Learners, NodeSet};
use base::{Epoch, NodeId, SLOT_COUNT, Slot};

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
    pub handover_from: Option<NodeId>,
    /// Who has every acknowledged write; `primary` is one of them. Nothing is acknowledged that one of them lacks.
    pub in_sync: NodeSet,
    /// Those of `in_sync` whose process has begun anew since they came in. They have every acknowledged write, and may have others that they do not
    /// know of: they take no part until the primary has let them go, or they are the last that are there.
    pub restarted: NodeSet,
    /// Who is being filled, each since an epoch.
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

    /// What names one filling of a learner: the epoch since which this primary has it to fill. `None` if `node` is no learner.
    #[must_use]
    pub fn filling_of(&self, node: NodeId) -> Option<Epoch> {
        self.learners.since(node).map(|since| since.max(self.term))
    }
}

/// Who holds the slots of one keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotMap {
    /// How many replicas a slot should have.
    pub factor: u8,
    /// By slot.
    pub slots: Vec<Assignment>,
    /// Nothing is left to do for the members as they are. Not part of the state: it follows from it.
    pub(super) settled: bool,
}

impl SlotMap {
    /// Who holds `slot`.
    ///
    /// # Panics
    /// When `slot` is none.
    #[must_use]
    pub fn at(&self, slot: Slot) -> &Assignment {
        &self.slots[usize::from(slot.0)]
    }

    pub(super) fn encode(&self, writer: &mut Writer) {
        writer.u8(self.factor);
        for slot in &self.slots {
            writer.varint(slot.epoch.0);
            writer.varint(slot.term.0);
            writer.node(slot.primary);
            writer.optional_node(slot.handover_from);
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
        let mut slots = Vec::with_capacity(SLOT_COUNT as usize);
        for _ in 0..SLOT_COUNT {
            let assignment = Assignment {
                epoch: Epoch(reader.varint("epoch")?),
                term: Epoch(reader.varint("term")?),
                primary: reader.node("primary")?,
                handover_from: reader.optional_node("handover")?,
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
        Ok(Self { factor, slots, settled: false })
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
