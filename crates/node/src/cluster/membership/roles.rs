//! What this core does for each of its slots: from a view of the metadata to what the shard is told.
//!
//! | role | writes | reads |
//! |---|---|---|
//! | primary | applied here, sent to the set, acknowledged when all in sync have them | here, under the lease |
//! | secondary | taken from the primary | here, where a client is content with any replica |
//! | learner | as a secondary's, once it is being rebuilt | nowhere |
//!
//! One that is in sync and has restarted is a learner that waits until the primary has dropped it.
//!
//! A slot whose primary this node has just become is served when the former primary has stepped down (or its leases are over), and when all
//! others in sync have what this node has of that one's last writes.

use crate::cluster::links::frames::RebuildMethod;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::view::View;
use base::{CoreId, Epoch, NodeId, SLOT_COUNT, Slot};
use cluster::Assignment;
use shard::{KeyspaceNumber, Serving, SetId};
use std::collections::{BTreeMap, BTreeSet};

/// A slot of a keyspace.
pub(crate) type Place = (KeyspaceNumber, Slot);

/// No member has this id.
const NOBODY: NodeId = NodeId(0);

/// Who gets the writes of slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Set {
    /// They must have a write before it is acknowledged.
    pub(crate) waits_for: Vec<RemoteCore>,
    /// They are being rebuilt.
    pub(crate) rebuilds: Vec<RemoteCore>,
}

impl Set {
    pub(crate) fn targets(&self) -> impl Iterator<Item = RemoteCore> + '_ {
        self.waits_for.iter().chain(&self.rebuilds).copied()
    }
}

/// What this node is to a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    #[default]
    None,
    Primary,
    Secondary,
    Learner,
}

/// A slot of this core.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalSlot {
    pub(crate) role: Role,
    pub(crate) term: Epoch,
    pub(crate) epoch: Epoch,
    pub(crate) primary: Option<NodeId>,
    /// How many replicas are in sync.
    in_sync: u8,
    pub(crate) set: Option<SetId>,
    /// As primary: why it is not served yet.
    pub(crate) waits: Waits,
    /// As primary: it is to go to another one, and takes no operations any more.
    pub(crate) closing: bool,
    /// Whether this process has been in sync in it: as long as it holds the slot, what it has alone it knows without a look at the log.
    pub(crate) was_in_sync: bool,
    /// As primary: learners that get its writes, the epoch that names their rebuild, and its method.
    pub(crate) rebuilding: Vec<(NodeId, Epoch, RebuildMethod)>,
    /// As primary: learners that have all, and that it waits for, while the metadata does not know it yet.
    pub(crate) rebuilt: Vec<NodeId>,
    /// As learner: the epoch that names the rebuild of this node.
    pub(crate) rebuild: Option<Epoch>,
    /// As learner: whether the primary was asked for it.
    is_asked: bool,
    /// The engine's sequence when this core began to be rebuilt, until it is in sync: later rows may be old ones that the rebuild has written.
    pub(crate) learned_at: Option<u64>,
}

impl LocalSlot {
    /// Whether a learner gets this primary's writes.
    pub(crate) fn rebuilds(&self, node: NodeId) -> bool {
        self.rebuilding.iter().any(|(known, ..)| *known == node)
    }

    /// As one in sync that has restarted: it takes nothing, for it cannot say that it has it and what it has besides, until the primary has dropped it.
    pub(crate) fn has_restarted(&self) -> bool {
        self.role == Role::Learner && self.rebuild.is_none()
    }

    /// As learner: whether the primary was asked to rebuild it.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// What is received for it is judged by.
    fn standing(&self) -> Standing {
        let primary = self.primary.unwrap_or(NOBODY);
        Standing {
            term: self.term,
            primary,
            role: self.role,
            is_asked: self.is_asked,
            has_restarted: self.has_restarted(),
            in_sync: self.in_sync,
        }
    }

    /// Whether this process does not know what the one before it had alone.
    fn begins_anew(&self) -> bool {
        self.has_restarted() || self.waits.release
    }

    /// A learner gets this primary's writes no longer.
    pub(crate) fn stop_rebuild(&mut self, node: NodeId) {
        self.rebuilding.retain(|(known, ..)| *known != node);
        self.rebuilt.retain(|known| *known != node);
    }
}

/// What each request, and each row that is sent or received for a slot, is judged by, apart from all else that is known of it: those of all slots are few enough to stay in a core's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) term: Epoch,
    /// [`NOBODY`] where there is none.
    pub(crate) primary: NodeId,
    pub(crate) role: Role,
    pub(crate) is_asked: bool,
    pub(crate) has_restarted: bool,
    /// How many replicas are in sync.
    pub(crate) in_sync: u8,
}

/// What a new primary waits for before it serves a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// The former primary has not stepped down.
    pub(crate) transfer: bool,
    /// Others may not have all that is here.
    pub(crate) reconciliation: bool,
    /// This process has restarted, and does not know what others in sync may lack: it waits until there are none.
    pub(crate) release: bool,
}

/// All slots of a core, and the sets that they have.
#[derive(Default)]
pub(crate) struct Roles {
    /// The first slot of this core, and how many there are.
    first: u16,
    count: usize,
    /// By keyspace, the slots of this core.
    slots: Vec<Vec<LocalSlot>>,
    /// Of each of them.
    standings: Vec<Vec<Standing>>,
    /// In how many slots this process has restarted: see [`LocalSlot::begins_anew`].
    beginning: usize,
    sets: Vec<Set>,
    /// By set, how many slots have it.
    uses: Vec<u32>,
    numbers: BTreeMap<Set, SetId>,
}

/// What a new view changes.
#[derive(Default)]
pub(crate) struct Changes {
    /// Slots whose primary this node was, with the term in which it was, and the slot's new one if it has the slot still.
    pub(crate) lost: Vec<Place>,
    /// Slots whose primary this node has become.
    pub(crate) gained: Vec<Place>,
    /// Slots that have another primary than before, which is not this node, but this node has them, too.
    pub(crate) followed: Vec<Place>,
    /// Slots that this node is to be rebuilt with.
    pub(crate) learned: Vec<Place>,
    /// Slots in which this node is no replica any more.
    pub(crate) left: Vec<Place>,
    /// All slots that are not as they were.
    pub(crate) changed: Vec<Place>,
}

impl Roles {
    pub(crate) fn get(&self, keyspace: KeyspaceNumber, slot: Slot) -> Option<&LocalSlot> {
        self.slots.get(usize::from(keyspace.0))?.get(usize::from(slot.0.checked_sub(self.first)?))
    }

    /// The term of a slot that this core serves as primary.
    pub(crate) fn serving_term(&self, keyspace: KeyspaceNumber, slot: Slot) -> Option<u64> {
        let local = self.get(keyspace, slot)?;
        (local.role == Role::Primary && local.waits == Waits::default() && !local.closing).then_some(local.term.0)
    }

    /// What a [`Standing`] has of it changes by methods of this one alone.
    pub(crate) fn get_mut(&mut self, keyspace: KeyspaceNumber, slot: Slot) -> Option<&mut LocalSlot> {
        self.slots.get_mut(usize::from(keyspace.0))?.get_mut(usize::from(slot.0.checked_sub(self.first)?))
    }

    /// What requests and rows for a slot of this core are judged by.
    pub(crate) fn standing(&self, keyspace: KeyspaceNumber, slot: Slot) -> Option<&Standing> {
        self.standings.get(usize::from(keyspace.0))?.get(usize::from(slot.0.checked_sub(self.first)?))
    }

    /// As learner: the primary was asked to rebuild it, or has refused.
    pub(crate) fn set_asked(&mut self, keyspace: KeyspaceNumber, slot: Slot, is_asked: bool) {
        if let Some(local) = self.get_mut(keyspace, slot) {
            local.is_asked = is_asked;
            self.note_standing(keyspace, slot);
        }
    }

    fn note_standing(&mut self, keyspace: KeyspaceNumber, slot: Slot) {
        let Some(now) = self.get(keyspace, slot).map(LocalSlot::standing) else { return };
        self.standings[usize::from(keyspace.0)][usize::from(slot.0 - self.first)] = now;
    }

    pub(crate) fn set(&self, set: SetId) -> &Set {
        &self.sets[usize::from(set.0)]
    }

    /// All slots of this core in which it has a part.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (KeyspaceNumber, Slot, &LocalSlot)> {
        self.slots.iter().enumerate().flat_map(|(keyspace, slots)| {
            let numbered = (self.first..).zip(slots).filter(|(_, slot)| slot.role != Role::None);
            numbered.map(move |(slot, local)| (KeyspaceNumber(keyspace as u16), Slot(slot), local))
        })
    }

    /// A process of a member has ended: whatever it was being rebuilt with has to begin anew.
    pub(crate) fn forget_member(&mut self, node: NodeId) {
        for local in self.slots.iter_mut().flatten().filter(|local| local.role == Role::Primary) {
            local.stop_rebuild(node);
        }
    }

    /// Takes over a view that follows `before`: looks at the slots that are not the same in both.
    pub(crate) fn follow(&mut self, before: &View, view: &View, core: CoreId, cores: u16) -> Changes {
        let mut changes = Changes::default();
        if self.slots.is_empty() {
            let own = || (0..SLOT_COUNT as u16).filter(|slot| Slot(*slot).core(cores) == core);
            (self.first, self.count) = (own().next().unwrap_or(0), own().count());
        }
        self.slots.resize_with(view.keyspaces.len(), || vec![LocalSlot::default(); self.count]);
        self.standings.resize_with(view.keyspaces.len(), || vec![LocalSlot::default().standing(); self.count]);
        for number in (0..self.slots.len() as u16).map(KeyspaceNumber) {
            match (before.slots_of(number), view.slots_of(number)) {
                (None, None) => {}
                (Some(former), Some(now)) => now.changed_since(former).for_each(|slot| self.follow_slot(view, number, slot, &mut changes)),
                _ => (self.first..).take(self.count).for_each(|slot| self.follow_slot(view, number, Slot(slot), &mut changes)),
            }
        }
        changes
    }

    fn follow_slot(&mut self, view: &View, keyspace: KeyspaceNumber, slot: Slot, changes: &mut Changes) {
        let Some(local) = self.get_mut(keyspace, slot) else { return };
        let (began, former) = (local.begins_anew(), local.set);
        follow_slot(local, view, keyspace, slot, changes);
        let (begins, set) = (local.begins_anew(), local.set);
        self.beginning = self.beginning + usize::from(begins) - usize::from(began);
        self.note_standing(keyspace, slot);
        self.count_uses(former, set);
    }

    fn count_uses(&mut self, before: Option<SetId>, now: Option<SetId>) {
        before.into_iter().for_each(|set| self.uses[usize::from(set.0)] -= 1);
        now.into_iter().for_each(|set| self.uses[usize::from(set.0)] += 1);
    }

    /// Whether there is a slot in which this process does not know what the one before it had alone.
    pub(crate) fn begin_anew(&self) -> bool {
        self.beginning > 0
    }

    /// Who gets writes of any slot.
    pub(crate) fn targets(&self) -> BTreeSet<RemoteCore> {
        let used = self.sets.iter().zip(&self.uses).filter(|(_, uses)| **uses > 0);
        used.flat_map(|(set, _)| set.targets()).collect()
    }

    /// Whether `node` is being rebuilt with any slot in which this core has a part.
    pub(crate) fn are_rebuilt(&self, view: &View, node: NodeId) -> bool {
        (0..view.keyspaces.len() as u16).map(KeyspaceNumber).any(|keyspace| {
            let mut rebuilt = view.slots_of(keyspace).into_iter().flat_map(|slots| slots.rebuilds(node));
            rebuilt.any(|slot| self.get(keyspace, slot).is_some_and(|local| local.role != Role::None))
        })
    }

    /// Who gets a slot's writes now, as the shard is told.
    pub(crate) fn serving(&mut self, view: &View, keyspace: KeyspaceNumber, slot: Slot) -> Serving {
        let Some(assignment) = view.assignment(keyspace, slot) else { return Serving::No };
        let Some(local) = self.get(keyspace, slot).filter(|local| local.role == Role::Primary) else { return Serving::No };
        let target = |node: &NodeId| Some((*node, view.core_of(*node, slot)?));
        let in_sync = assignment.in_sync.iter().chain(&local.rebuilt).filter(|node| **node != view.me);
        let rebuilds = local
            .rebuilding
            .iter()
            .map(|(node, ..)| node)
            .filter(|node| !local.rebuilt.contains(node) && !assignment.in_sync.contains(node));
        let mut set = Set { waits_for: in_sync.filter_map(target).collect(), rebuilds: rebuilds.filter_map(target).collect() };
        set.waits_for.sort_unstable();
        set.waits_for.dedup();
        let (is_served, is_closing) = (local.waits == Waits::default(), local.closing);
        if set == Set::default() {
            self.give_set(keyspace, slot, None);
            return match (is_served, is_closing) {
                (true, true) => Serving::Closing,
                (true, false) => Serving::Alone,
                (false, _) => Serving::No,
            };
        }
        let number = self.number(set);
        self.give_set(keyspace, slot, Some(number));
        match (is_served, is_closing) {
            (true, true) => Serving::Closing,
            (true, false) => Serving::With(number),
            (false, _) => Serving::No,
        }
    }

    fn give_set(&mut self, keyspace: KeyspaceNumber, slot: Slot, set: Option<SetId>) {
        let former = self.get_mut(keyspace, slot).and_then(|local| std::mem::replace(&mut local.set, set));
        self.count_uses(former, set);
    }

    fn number(&mut self, set: Set) -> SetId {
        if let Some(number) = self.numbers.get(&set) {
            return *number;
        }
        let number = SetId(self.sets.len() as u16);
        self.sets.push(set.clone());
        self.uses.push(0);
        self.numbers.insert(set, number);
        number
    }
}

fn role_of(assignment: &Assignment, me: NodeId) -> Role {
    let (is_in_sync, has_restarted) = (assignment.in_sync.contains(&me), assignment.restarted.contains(&me));
    if assignment.primary == me {
        Role::Primary
    } else if is_in_sync && !has_restarted {
        Role::Secondary
    } else if is_in_sync || assignment.learners.contains(me) {
        Role::Learner
    } else {
        Role::None
    }
}

fn follow_slot(local: &mut LocalSlot, view: &View, keyspace: KeyspaceNumber, slot: Slot, changes: &mut Changes) {
    let place = (keyspace, slot);
    let before = (local.role, local.term);
    let Some(assignment) = view.assignment(keyspace, slot) else {
        if before.0 == Role::Primary {
            changes.lost.push(place);
        }
        if before.0 != Role::None {
            changes.changed.push(place);
        }
        *local = LocalSlot::default();
        return;
    };
    let role = role_of(assignment, view.me);
    if assignment.epoch == local.epoch && role == before.0 {
        return;
    }
    changes.changed.push(place);
    (local.role, local.term, local.epoch) = (role, assignment.term, assignment.epoch);
    (local.primary, local.in_sync) = (Some(assignment.primary), assignment.in_sync.iter().count() as u8);
    let is_new_term = assignment.term != before.1;
    if before.0 == Role::Primary && (role != Role::Primary || is_new_term) {
        changes.lost.push(place);
    }
    if is_new_term || role != before.0 {
        local.rebuilding.clear();
        local.rebuilt.clear();
        local.closing = false;
    }
    match role {
        Role::Primary => {
            local.rebuilding.retain(|(node, rebuilding, _)| assignment.rebuild_of(*node) == Some(*rebuilding));
            let LocalSlot { rebuilding, rebuilt, .. } = local;
            rebuilt.retain(|node| rebuilding.iter().any(|(known, ..)| known == node));
            if is_new_term || before.0 != Role::Primary {
                // What others must have before it is served is found out by whoever takes this change.
                local.waits = Waits { transfer: assignment.transfer_from.is_some(), reconciliation: true, release: false };
                changes.gained.push(place);
            }
            local.waits.transfer &= assignment.transfer_from.is_some();
            local.waits.release = assignment.restarted.contains(&view.me);
        }
        Role::Secondary if is_new_term && before.0 != Role::None => changes.followed.push(place),
        Role::Learner if assignment.rebuild_of(view.me) != local.rebuild => changes.learned.push(place),
        Role::None if before.0 != Role::None => changes.left.push(place),
        _ => {}
    }
    local.was_in_sync |= matches!(role, Role::Primary | Role::Secondary);
    let rebuild = assignment.rebuild_of(view.me);
    local.is_asked &= rebuild == local.rebuild;
    local.rebuild = rebuild;
    if role != Role::Primary {
        (local.waits, local.set) = (Waits::default(), None);
    }
}
