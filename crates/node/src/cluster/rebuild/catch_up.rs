//! What a core keeps so that a replica that was away gets what it has missed, and no more.
//!
//! | kept | means |
//! |---|---|
//! | committed | all rows here up to this sequence of the engine are on all replicas in sync |
//! | absent members | each with a sequence: the member has all rows up to it |
//! | timestamp | no write here has a larger one, except those of the last moments |
//! | held slots | this core was in sync in them, and has wiped nothing since |
//!
//! A blob stores it as text, now and then. A stored value may be old: a lower sequence means more to send, a missing slot means a full copy. Two things are
//! strict. The blob says that a slot is no longer held before its rows go, and that it is held after its rows are on the device.
//!
//! A member that loses power loses what it had acknowledged and not flushed. So an absent member counts as having what was committed some time before it was
//! missed.

#[cfg(test)]
mod tests;

use crate::cluster::membership::roles::{Place, Role, Roles};
use crate::cluster::membership::view::View;
use base::{CoreId, NodeId, SLOT_COUNT, Slot};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

/// How long before it was missed an absent member is taken to have flushed what it had.
const FLUSHED_US: u64 = 5_000_000;

/// How often the committed sequence is noted.
const SAMPLE_US: u64 = 500_000;

/// How often it is stored, when nothing else asks for it.
const STORE_US: u64 = 2_000_000;

/// The committed sequence stands still for so long after replicas have changed: by then what they had alone is settled.
const SETTLED_US: u64 = 10_000_000;

/// How long a member has to have nothing to be rebuilt with before it counts as absent no more.
const CALM_US: u64 = 30_000_000;

/// How long there is no room before nothing is kept for members that are away.
const FULL_US: u64 = 2_000_000;

/// What is kept: see the module.
#[derive(Debug, Default)]
pub(crate) struct CatchUp {
    committed: u64,
    absent: BTreeMap<NodeId, u64>,
    /// By keyspace, slots, each with the sequence that the engine had when the slot was in sync.
    held: BTreeMap<String, BTreeMap<u16, u64>>,
    /// Committed sequences of late, with their times.
    samples: VecDeque<(u64, u64)>,
    /// The largest write timestamp that was given.
    timestamp_us: i64,
    /// Since when each absent member has nothing to be rebuilt with.
    calm_since: BTreeMap<NodeId, u64>,
    frozen_until_us: u64,
    /// Since when there is no room here, and until when that was so.
    full_us: Option<(u64, u64)>,
    /// What was kept when the process before ended: the rows here after this sequence may be here alone.
    restored: Option<u64>,
    is_dirty: bool,
    /// Whether a slot has ceased to be held, or a member to be known, which is not stored yet.
    has_unstored_removal: bool,
    /// Whether the last one could not be stored: nothing is urgent then.
    has_failed: bool,
    storing: Option<Storing>,
    stored_at_us: u64,
}

/// A blob on its way to the disk.
#[derive(Clone, Copy, Debug)]
struct Storing {
    has_removal: bool,
}

/// What a core has come to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    /// All rows here up to this sequence are on all replicas in sync.
    pub(crate) committed: u64,
    /// All rows here up to this sequence survive the loss of power.
    pub(crate) durable: u64,
    /// The largest write timestamp that was given.
    pub(crate) timestamp_us: i64,
    /// Whether it is being rebuilt with nothing.
    pub(crate) is_settled: bool,
}

impl CatchUp {
    /// What a process before has stored; from a damaged blob nothing.
    pub(crate) fn restore(blob: Option<&[u8]>) -> Self {
        let mut read = blob.and_then(|blob| std::str::from_utf8(blob).ok()).and_then(parse).unwrap_or_default();
        // A slot that was rebuilt here since may have lowered it; the committed sequence has stood still meanwhile.
        for known in read.absent.values_mut() {
            *known = (*known).min(read.committed);
        }
        read
    }

    /// What a core of `cores` keeps when `former` cores' data is laid out anew for so many: `committed` is what all replicas have of the core's rows then, 0 if that
    /// is not known. Nobody can say any more what members that are away have, as rows have other sequences now.
    pub(crate) fn relaid(former: &[Self], core: CoreId, cores: u16, committed: u64) -> Self {
        let mut relaid = Self { committed, ..Self::default() };
        for one in former {
            relaid.timestamp_us = relaid.timestamp_us.max(one.timestamp_us);
            relaid.absent.extend(one.absent.keys().map(|node| (*node, 0)));
            // Without knowing what may be here alone, all of a slot would be compared row by row: a full copy costs less.
            for (keyspace, slots) in one.held.iter().filter(|_| committed > 0) {
                let own = slots.keys().filter(|slot| Slot(**slot).core(cores) == core);
                relaid.held.entry(keyspace.clone()).or_default().extend(own.map(|slot| (*slot, 0)));
            }
        }
        relaid.held.retain(|_, slots| !slots.is_empty());
        relaid
    }

    /// The engine has recovered up to here, and gives what is above once more: it may have lost with the power what this blob took to be here.
    pub(crate) fn recovered(&mut self, last: u64) {
        self.committed = self.committed.min(last);
        self.restored = self.restored.map(|restored| restored.min(last));
        self.absent.values_mut().for_each(|known| *known = (*known).min(last));
    }

    /// The blob, once all rows up to `durable` are on the device.
    pub(crate) fn encode(&self, durable: u64) -> Vec<u8> {
        let mut text = format!("committed {}\ntimestamp {}\n", self.committed, self.timestamp_us);
        for (node, sequence) in &self.absent {
            let _ = writeln!(text, "absent {} {sequence}", node.0);
        }
        for (keyspace, slots) in &self.held {
            let mut map = vec![0u8; SLOT_COUNT as usize / 8];
            let stored = slots.iter().filter(|(_, since)| **since <= durable);
            stored.for_each(|(slot, _)| map[usize::from(slot / 8)] |= 1 << (slot % 8));
            let _ = write!(text, "held ");
            map.iter().for_each(|byte| {
                let _ = write!(text, "{byte:02x}");
            });
            let _ = writeln!(text, " {keyspace}");
        }
        text.into_bytes()
    }

    /// What may be here alone after a restart: rows with later sequences.
    pub(crate) fn restored(&self) -> Option<u64> {
        self.restored
    }

    /// The largest write timestamp that was given, as far as is known.
    pub(crate) fn timestamp_us(&self) -> i64 {
        self.timestamp_us
    }

    /// No later row may be purged. Of a member of which nothing is known, no difference can have been begun while it was down: for it nothing need be kept then.
    pub(crate) fn purge_floor(&self, is_up: impl Fn(NodeId) -> bool) -> Option<u64> {
        self.absent.iter().filter(|(node, known)| **known > 0 || is_up(**node)).map(|(_, known)| *known).min()
    }

    /// Notes whether there is room here; whether there has been none for so long that nothing is to be kept for those who are away.
    pub(crate) fn is_full(&mut self, has_no_room: bool, now_us: u64) -> bool {
        let known = self.full_us.filter(|(_, until_us)| now_us <= until_us + FULL_US);
        self.full_us = has_no_room.then(|| (known.map_or(now_us, |(since_us, _)| since_us), now_us));
        self.full_us.is_some_and(|(since_us, _)| now_us >= since_us + FULL_US)
    }

    /// Forgets since when members that are down are away, so that nothing is kept for them: they get everything. Returns them, if there are any.
    pub(crate) fn forget_away(&mut self, is_up: impl Fn(NodeId) -> bool) -> Vec<NodeId> {
        let away = self.absent.iter_mut().filter(|(node, known)| **known > 0 && !is_up(**node));
        let forgotten: Vec<NodeId> = away.map(|(node, known)| (*known = 0, *node).1).collect();
        self.forgot(!forgotten.is_empty());
        forgotten
    }

    /// What is stored says more than what is known by now: nothing may be purged for that before it is stored.
    fn forgot(&mut self, has_forgotten: bool) {
        (self.is_dirty, self.has_unstored_removal) = (self.is_dirty | has_forgotten, self.has_unstored_removal | has_forgotten);
    }

    /// Up to where a member has everything, if that is known.
    pub(crate) fn known_of(&self, node: NodeId) -> Option<u64> {
        self.absent.get(&node).copied()
    }

    /// Members that are away, or have just come back.
    pub(crate) fn absent(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.absent.keys().copied()
    }

    pub(crate) fn holds(&self, keyspace: &str, slot: Slot) -> bool {
        self.held.get(keyspace).is_some_and(|slots| slots.contains_key(&slot.0))
    }

    /// A slot is in sync, with the rows that are here by this sequence.
    pub(crate) fn hold(&mut self, keyspace: &str, slot: Slot, sequence: u64) {
        if !self.holds(keyspace, slot) {
            self.held.entry(keyspace.to_owned()).or_default().insert(slot.0, sequence);
            self.is_dirty = true;
        }
    }

    /// The rows of a slot are to go: not before this is stored.
    pub(crate) fn forget_slot(&mut self, keyspace: &str, slot: Slot) {
        if self.held.get_mut(keyspace).is_some_and(|slots| slots.remove(&slot.0).is_some()) {
            (self.is_dirty, self.has_unstored_removal) = (true, true);
        }
    }

    /// Lets go of all slots of which `has` says that this core has no part in them: it did not see itself leave.
    pub(crate) fn forget_other_slots(&mut self, has: impl Fn(&str, Slot) -> bool) {
        for (keyspace, slots) in &mut self.held {
            let count = slots.len();
            slots.retain(|slot, _| has(keyspace, Slot(*slot)));
            let is_less = slots.len() < count;
            (self.is_dirty, self.has_unstored_removal) = (self.is_dirty | is_less, self.has_unstored_removal | is_less);
        }
        self.held.retain(|_, slots| !slots.is_empty());
    }

    /// Nobody knows what is missing here: no slot is held.
    pub(crate) fn forget_all_slots(&mut self) {
        self.forget_other_slots(|_, _| false);
    }

    /// Whether rows of slots that are not held may go, and those that were kept for members that are not known any more.
    pub(crate) fn may_forget(&self) -> bool {
        !self.has_unstored_removal && self.storing.is_none_or(|storing| !storing.has_removal)
    }

    /// Replicas of slots that are `changed`: who has left those in sync is absent from now on. `committed` is what was committed before.
    pub(crate) fn follow(&mut self, before: &View, view: &View, roles: &Roles, changed: &[Place], committed: u64, now_us: u64) {
        self.sample(committed, now_us);
        let known = self.samples.iter().rev().find(|(at_us, _)| at_us + FLUSHED_US <= now_us).map_or(0, |(_, sequence)| *sequence);
        for (keyspace, slot) in changed.iter().copied() {
            let (Some(now), Some(local)) = (view.assignment(keyspace, slot), roles.get(keyspace, slot)) else { continue };
            if !matches!(local.role, Role::Primary | Role::Secondary) {
                continue;
            }
            let former = before.assignment(keyspace, slot).map(|assignment| &assignment.in_sync);
            let is_new_here = !former.is_some_and(|former| former.contains(&view.me));
            if is_new_here || local.learned_at.is_some() {
                let down = view.peers.iter().filter(|(_, peer)| !peer.is_up).map(|(node, _)| *node);
                for node in now.learners.iter().chain(down).filter(|node| *node != view.me && !now.in_sync.contains(node)) {
                    // Nobody here knows since when it is away, or a rebuild wrote rows with late sequences that it may lack.
                    let known = self.absent.get(&node).map_or(0, |known| (*known).min(local.learned_at.unwrap_or(u64::MAX)));
                    let has_changed = self.absent.insert(node, known) != Some(known);
                    self.is_dirty |= has_changed;
                    self.forgot(has_changed && known == 0);
                }
            }
            for node in former.into_iter().flatten().filter(|node| **node != view.me && !now.in_sync.contains(node)) {
                if !self.absent.contains_key(node) {
                    self.absent.insert(*node, known);
                    self.is_dirty = true;
                }
            }
        }
        self.absent.retain(|node, _| view.peers.contains_key(node));
        let is_calm = |node: &NodeId| view.is_peer_up(*node) && !roles.are_rebuilt(view, *node);
        let calm: BTreeSet<NodeId> = self.absent.keys().copied().filter(is_calm).collect();
        self.calm_since.retain(|node, _| calm.contains(node));
        for node in calm {
            self.calm_since.entry(node).or_insert(now_us);
        }
    }

    /// The committed sequence stands still for a while: something may be here alone that others are only being told of.
    pub(crate) fn unsettle(&mut self, now_us: u64) {
        self.frozen_until_us = now_us + SETTLED_US;
    }

    fn sample(&mut self, committed: u64, now_us: u64) {
        if self.samples.back().is_none_or(|(at_us, _)| now_us >= at_us + SAMPLE_US) {
            self.samples.push_back((now_us, committed));
        }
        while self.samples.get(1).is_some_and(|(at_us, _)| at_us + FLUSHED_US <= now_us) {
            self.samples.pop_front();
        }
    }

    /// Notes what is committed; gives a blob to store, if it is time.
    pub(crate) fn note(&mut self, reached: Reached, now_us: u64) -> Option<Vec<u8>> {
        let Reached { committed, durable, timestamp_us, is_settled } = reached;
        self.sample(committed, now_us);
        self.is_dirty |= timestamp_us > self.timestamp_us;
        self.timestamp_us = self.timestamp_us.max(timestamp_us);
        let calm: Vec<NodeId> =
            self.calm_since.iter().filter(|(_, since_us)| now_us >= **since_us + CALM_US).map(|(node, _)| *node).collect();
        for node in calm {
            self.calm_since.remove(&node);
            self.is_dirty |= self.absent.remove(&node).is_some();
        }
        let is_due = now_us >= self.stored_at_us + STORE_US;
        if is_settled && now_us >= self.frozen_until_us && is_due && committed > self.committed {
            (self.committed, self.restored) = (committed, Some(committed));
            self.is_dirty = true;
        }
        let is_urgent = self.has_unstored_removal && !self.has_failed;
        if self.storing.is_some() || !(is_urgent || (is_due && (self.is_dirty || self.has_unstored_removal))) {
            return None;
        }
        self.storing = Some(Storing { has_removal: std::mem::take(&mut self.has_unstored_removal) });
        self.is_dirty = self.held.values().flat_map(BTreeMap::values).any(|since| *since > durable);
        self.stored_at_us = now_us;
        Some(self.encode(durable))
    }

    /// When to call [`CatchUp::note`] again.
    pub(crate) fn due_us(&self) -> u64 {
        if self.has_unstored_removal && self.storing.is_none() {
            return if self.has_failed { self.stored_at_us + STORE_US } else { 0 };
        }
        self.samples.back().map_or(0, |(at_us, _)| at_us + SAMPLE_US)
    }

    /// The blob is stored, or is not.
    pub(crate) fn stored(&mut self, is_stored: bool) {
        let Some(storing) = self.storing.take() else { return };
        self.has_failed = !is_stored;
        if !is_stored {
            self.is_dirty = true;
            self.has_unstored_removal |= storing.has_removal;
        }
    }
}

fn parse(text: &str) -> Option<CatchUp> {
    let mut read = CatchUp::default();
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "committed" => {
                read.committed = rest.parse().ok()?;
                read.restored = Some(read.committed);
            }
            "timestamp" => read.timestamp_us = rest.parse().ok()?,
            "absent" => {
                let (node, sequence) = rest.split_once(' ')?;
                read.absent.insert(NodeId(node.parse().ok()?), sequence.parse().ok()?);
            }
            "held" => {
                let (map, keyspace) = rest.split_once(' ')?;
                if map.len() != SLOT_COUNT as usize / 4 || !map.is_ascii() {
                    return None;
                }
                let mut slots = BTreeMap::new();
                for index in 0..SLOT_COUNT as usize / 8 {
                    let byte = u8::from_str_radix(&map[2 * index..2 * index + 2], 16).ok()?;
                    slots.extend((0..8).filter(|bit| byte & (1 << bit) != 0).map(|bit| (index as u16 * 8 + bit, 0)));
                }
                read.held.insert(keyspace.to_owned(), slots);
            }
            _ => return None,
        }
    }
    Some(read)
}
