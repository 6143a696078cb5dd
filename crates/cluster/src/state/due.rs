//! What is left to do in the slots of a keyspace, and which slots have to be looked at for it: so a command costs by what it changes, not by how many slots
//! there are or wait.
//!
//! It follows from the assignments, from where slots belong and from who is up; a state's bytes do not have it.

use base::{NodeId, SLOT_COUNT, Slot};

const SLOTS: usize = SLOT_COUNT as usize;

/// Something to be done in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    /// The member is being rebuilt.
    Rebuild(NodeId),
    /// The primary, which this is, need not wait for some of those in sync.
    Release(NodeId),
    /// The primary, which this is, should be another member.
    TransferPrimary(NodeId),
    /// The primary may wait for the one before.
    EndTransfer,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Due {
    /// Slots that have changed since they were looked at, a bit each.
    changed: [u64; SLOTS / 64],
    /// Ascending.
    tasks: Vec<(Task, Slot)>,
}

impl Due {
    /// Every slot has to be looked at, and nothing is known of any.
    pub(super) fn of_all() -> Self {
        Self { changed: [u64::MAX; SLOTS / 64], tasks: Vec::new() }
    }

    pub(super) fn all_changed(&mut self) {
        self.changed = [u64::MAX; SLOTS / 64];
    }

    pub(super) fn changed(&mut self, slot: Slot) {
        self.changed[usize::from(slot.0) / 64] |= 1 << (slot.0 % 64);
    }

    fn is_changed(&self, slot: Slot) -> bool {
        self.changed[usize::from(slot.0) / 64] & 1 << (slot.0 % 64) != 0
    }

    /// Whether there is a slot to look at.
    pub(super) fn has_changed(&self) -> bool {
        self.changed.iter().any(|word| *word != 0)
    }

    /// The slots to look at.
    pub(super) fn to_look_at(&self) -> Vec<Slot> {
        let words = (0..).step_by(64).zip(self.changed).filter(|(_, word)| *word != 0);
        words.flat_map(|(first, word)| (0..64).filter(move |bit| word & 1 << bit != 0).map(move |bit| Slot(first + bit))).collect()
    }

    /// The changed slots have been looked at, and this is what is to be done in them.
    pub(super) fn found(&mut self, tasks: Vec<(Task, Slot)>) {
        let mut all = std::mem::take(&mut self.tasks);
        all.retain(|(_, slot)| !self.is_changed(*slot));
        all.extend(tasks);
        // What stays is in order already, which this sort makes use of.
        all.sort();
        *self = Self { changed: [0; SLOTS / 64], tasks: all };
    }

    /// Whether there is anything to do.
    pub(super) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    #[cfg(test)]
    pub(super) fn tasks(&self) -> &[(Task, Slot)] {
        &self.tasks
    }

    /// Slots with this task, ascending.
    pub(super) fn slots(&self, task: Task) -> impl Iterator<Item = Slot> + '_ {
        let first = self.tasks.partition_point(|(before, _)| *before < task);
        self.tasks[first..].iter().take_while(move |(found, _)| *found == task).map(|(_, slot)| *slot)
    }

    pub(super) fn has(&self, task: Task) -> bool {
        self.slots(task).next().is_some()
    }

    /// See [`super::SlotMap::rebuilds`].
    pub(super) fn rebuilds(&self, node: NodeId) -> impl Iterator<Item = Slot> + '_ {
        self.slots(Task::Rebuild(node))
    }
}
