//! The state that all members agree on, as a function of the commands that the metadata group has decided.
//!
//! [`State::apply`] is pure: equal states and commands give equal states, on every member. It ends with a step (`settle`) that brings the
//! assignments of slots nearer to where they belong. A state is a value: what a command does not touch is shared with the one before, and costs nothing.

mod due;
mod encoding;
mod member;
mod placement;
mod settle;
mod slots;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use encoding::STATE_BYTES_MAX;
pub use member::{Member, MemberState, Profile};
pub use slots::{Assignment, FACTOR_MAX, SlotMap};
pub use status::{MemberStatus, Status};

use crate::command::{Command, Outcome, Refused, SlotEpochs};
use crate::nodes::{Learners, NodeSet};
use base::{Epoch, NodeId, SLOT_COUNT, Slot};
use due::{Due, Task};
use model::{Keyspace, Schema, schema_blob};
use placement::Placement;
use settle::Up;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most members that there may ever have been: ids are not used again.
pub const MEMBERS_MAX: u32 = 4096;
/// The version in which the schema has roles.
const ROLES_SINCE: u16 = 7;
/// The most keyspaces: the slot map of each takes about 50 KB in a snapshot.
pub const KEYSPACES_MAX: u32 = 150;

/// What all members agree on.
#[derive(Clone, Debug)]
pub struct State {
    /// The cluster's id, drawn when it was founded; 0 before anything is known.
    pub cluster_id: u128,
    /// The cluster's name.
    pub cluster_name: String,
    /// The log index of the newest entry in it.
    pub version: u64,
    /// All members there have ever been.
    pub members: Arc<BTreeMap<NodeId, Member>>,
    /// The schema.
    pub schema: Arc<Schema>,
    /// Who holds the slots of each keyspace of the schema.
    pub keyspaces: BTreeMap<String, Arc<SlotMap>>,
    /// The members that what follows is of.
    followed: Arc<BTreeMap<NodeId, Member>>,
    placement: Arc<Placement>,
    up: Arc<Up>,
}

impl State {
    /// What a process knows before it has heard anything.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            cluster_id: 0,
            cluster_name: String::new(),
            version: 0,
            members: Arc::default(),
            schema: Arc::new(Schema::empty()),
            keyspaces: BTreeMap::new(),
            followed: Arc::default(),
            placement: Arc::default(),
            up: Arc::default(),
        }
    }

    /// A cluster of one member, which has all that is in `schema`.
    #[must_use]
    pub fn founded(cluster_id: u128, cluster_name: String, profile: Profile, schema: Schema, version: u64) -> Self {
        let mut state = Self { cluster_id, cluster_name, version, schema: Arc::new(schema), ..Self::empty() };
        let id = NodeId(1);
        let member = Member { id, profile, previous_incarnation: 0, state: MemberState::Up, leaving: false, place: 1 };
        state.members = Arc::new(BTreeMap::from([(id, member)]));
        state.follow_schema();
        state.settle();
        state
    }

    /// The state after `command`, which is entry `index` of the log.
    pub fn apply(&mut self, index: u64, command: &Command) -> Outcome {
        self.version = index;
        let outcome = match command {
            Command::Join { profile, replaces } => self.join(profile, *replaces),
            Command::Started { node, previous, profile } => self.started(*node, *previous, profile),
            Command::Down { node } => self.down(*node),
            Command::Up { node, incarnation } => self.up(*node, *incarnation),
            Command::HandedOver { up_to } => self.handed_over(*up_to),
            Command::Schema { expected, document } => self.change_schema(*expected, document),
            Command::InSync { node, slots } => self.in_sync(*node, slots),
            Command::DropReplica { node, slots } => self.drop_replica(*node, slots),
            Command::Release { node, incarnation } => self.release(*node, *incarnation),
            Command::HandOver { to, slots } => self.hand_over(*to, slots),
            Command::Ending { node, incarnation } => self.ending(*node, *incarnation),
            Command::Drain { node } => self.drain(*node),
            Command::Remove { node, force } => self.remove(*node, *force),
        };
        if !matches!(outcome, Outcome::Refused(_)) {
            self.settle();
        }
        outcome
    }

    /// The entry `index` is one without a command.
    pub(crate) fn pass(&mut self, index: u64) {
        self.version = index;
    }

    /// The member `node`, unless it was removed.
    #[must_use]
    pub fn member(&self, node: NodeId) -> Option<&Member> {
        self.members.get(&node).filter(|member| member.state != MemberState::Removed)
    }

    /// The version of the nodes' protocol that the cluster goes by: the latest that all members know, those that are down included. It never falls, as nobody
    /// is taken in who does not know it. 0 before anything is known.
    #[must_use]
    pub fn protocol_version(&self) -> u16 {
        let present = self.members.values().filter(|member| member.state != MemberState::Removed);
        present.map(|member| member.profile.protocol_versions.latest()).min().unwrap_or(0)
    }

    /// Who holds `slot` of `keyspace`.
    #[must_use]
    pub fn assignment(&self, keyspace: &str, slot: Slot) -> Option<&Assignment> {
        self.keyspaces.get(keyspace)?.get(slot)
    }

    /// Whether any slot's primary may still wait for the one before.
    pub(crate) fn has_handovers(&self) -> bool {
        self.keyspaces.values().any(|map| map.due.has(Task::EndHandover))
    }

    fn epoch(&self) -> Epoch {
        Epoch(self.version)
    }

    /// Whether a process reads what the cluster writes.
    fn check_versions(&self, profile: &Profile) -> Result<(), Refused> {
        let (agreed, known) = (self.protocol_version(), profile.protocol_versions);
        match known.contains(agreed) {
            true => Ok(()),
            false if known.latest() < agreed => Err(Refused::TooOld { agreed, known }),
            false => Err(Refused::TooNew { agreed, known }),
        }
    }

    fn join(&mut self, profile: &Profile, replaces: Option<NodeId>) -> Outcome {
        if let Err(refused) = self.check_versions(profile) {
            return Outcome::Refused(refused);
        }
        if let Some(known) = self.members.values().find(|member| member.profile.host_id == profile.host_id) {
            if known.state == MemberState::Removed {
                return Outcome::Refused(Refused::Gone { node: known.id });
            }
            // What is about its process changes by `Started` only, which is compared: an old copy of this command must not bring back an old process.
            let Profile { incarnation, boot, is_durable, protocol_versions, .. } = known.profile;
            let id = known.id;
            self.change_member(id).profile = Profile { incarnation, boot, is_durable, protocol_versions, ..profile.clone() };
            return Outcome::Joined(id);
        }
        let last = self.members.keys().next_back().map_or(0, |id| id.0);
        if last >= MEMBERS_MAX {
            return Outcome::Refused(Refused::TooMany { what: "members", limit: MEMBERS_MAX });
        }
        let id = NodeId(last + 1);
        let mut place = u64::from(id.0);
        if let Some(old) = replaces {
            place = match self.live_member(old) {
                Err(refused) => return Outcome::Refused(refused),
                Ok(member) => member.place,
            };
        }
        let member = Member { id, profile: profile.clone(), previous_incarnation: 0, state: MemberState::Up, leaving: false, place };
        Arc::make_mut(&mut self.members).insert(id, member);
        if let Some(old) = replaces
            && let Outcome::Refused(refused) = self.remove(old, false)
        {
            Arc::make_mut(&mut self.members).remove(&id);
            return Outcome::Refused(refused);
        }
        self.follow_factors();
        Outcome::Joined(id)
    }

    fn started(&mut self, node: NodeId, previous: u64, profile: &Profile) -> Outcome {
        let versions = self.check_versions(profile);
        let member = match self.live_member(node) {
            Ok(member) => member,
            Err(refused) => return Outcome::Refused(refused),
        };
        let known = member.profile.incarnation;
        if known == profile.incarnation {
            return Outcome::Done;
        }
        if known != previous || member.profile.host_id != profile.host_id {
            return Outcome::Refused(Refused::OtherProcess { node });
        }
        if let Err(refused) = versions {
            return Outcome::Refused(refused);
        }
        let has_all = profile.has_all_of(&member.profile);
        let member = self.change_member(node);
        member.previous_incarnation = previous;
        member.profile = profile.clone();
        member.state = member.heard();
        self.follow_factors();
        let concerned = |assignment: &Assignment| assignment.holds(node) || assignment.handover_from == Some(node);
        self.change_slots(slots_where(concerned), |state, assignment| {
            if assignment.primary == node {
                // A term of its own: what the process before has sent, or has proposed, is not this one's.
                assignment.term = state.epoch();
            }
            if assignment.in_sync.contains(&node) && assignment.in_sync.has_other_than(node) {
                if has_all {
                    assignment.restarted.insert(node);
                } else {
                    // What the process before had not yet stored may be missing, and whoever is in sync with it has it.
                    state.take_out(assignment, node);
                }
            }
            assignment.learners.remove(node);
            if assignment.handover_from == Some(node) {
                assignment.handover_from = None;
            }
        });
        Outcome::Done
    }

    fn down(&mut self, node: NodeId) -> Outcome {
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(_) => {
                self.change_member(node).state = MemberState::Down;
                Outcome::Done
            }
        }
    }

    fn up(&mut self, node: NodeId, incarnation: u64) -> Outcome {
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(member) if member.profile.incarnation != incarnation => Outcome::Refused(Refused::OtherProcess { node }),
            Ok(member) => {
                if member.state == MemberState::Down {
                    self.change_member(node).state = member.heard();
                }
                Outcome::Done
            }
        }
    }

    fn ending(&mut self, node: NodeId, incarnation: u64) -> Outcome {
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(member) if member.profile.incarnation != incarnation => Outcome::Refused(Refused::OtherProcess { node }),
            Ok(member) => {
                if member.is_up() {
                    self.change_member(node).state = MemberState::Ending;
                }
                Outcome::Done
            }
        }
    }

    fn release(&mut self, node: NodeId, incarnation: u64) -> Outcome {
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(member) if member.profile.incarnation != incarnation || !member.is_up() => Outcome::Refused(Refused::OtherProcess { node }),
            Ok(_) => {
                self.release_replicas(node);
                Outcome::Done
            }
        }
    }

    fn handed_over(&mut self, up_to: Epoch) -> Outcome {
        let waiting = |map: &SlotMap| map.due.slots(Task::EndHandover).collect();
        self.change_slots(waiting, |_, assignment| assignment.handover_from = assignment.handover_from.filter(|_| assignment.term > up_to));
        Outcome::Done
    }

    /// Whether every member knows what roles are.
    #[must_use]
    pub fn knows_roles(&self) -> bool {
        self.protocol_version() >= ROLES_SINCE
    }

    fn change_schema(&mut self, expected: u128, document: &[u8]) -> Outcome {
        let found = self.schema.version;
        if found != expected {
            return Outcome::Refused(Refused::SchemaChanged { found });
        }
        let schema = match schema_blob::decode(document) {
            Ok(schema) if schema.version != found && (schema.roles.is_empty() || self.knows_roles()) => schema,
            _ => return Outcome::Refused(Refused::BadSchema),
        };
        if !self.members.values().any(|member| member.state != MemberState::Removed) {
            return Outcome::Refused(Refused::BadSchema);
        }
        if schema.keyspaces.len() > KEYSPACES_MAX as usize {
            return Outcome::Refused(Refused::TooMany { what: "keyspaces", limit: KEYSPACES_MAX });
        }
        self.schema = Arc::new(schema);
        self.follow_schema();
        Outcome::Done
    }

    fn in_sync(&mut self, node: NodeId, slots: &[SlotEpochs]) -> Outcome {
        let stays = self.stays(node);
        self.change_slots_of(slots, |state, assignment| {
            let fits = stays && state.is_up(assignment.primary) && assignment.learners.remove(node);
            if fits {
                assignment.in_sync.insert(node);
            }
            fits
        })
    }

    fn drop_replica(&mut self, node: NodeId, slots: &[SlotEpochs]) -> Outcome {
        // A learner comes in anew, if it is to: what it was sent and has not acknowledged is nobody's to wait for any more. A primary that has died since it
        // spoke may have taken everything with it.
        self.change_slots_of(slots, |state, assignment| {
            let is_there = state.is_up(assignment.primary) && assignment.primary != node;
            is_there && (assignment.leave(node) || assignment.learners.remove(node))
        })
    }

    fn hand_over(&mut self, to: NodeId, slots: &[SlotEpochs]) -> Outcome {
        let stays = self.stays(to);
        self.change_slots_of(slots, |state, assignment| {
            let former = assignment.primary;
            let is_calm = assignment.handover_from.is_none() && state.is_up(former);
            let is_ready = assignment.in_sync.contains(&to) && !assignment.restarted.contains(&to);
            let fits = stays && is_calm && former != to && is_ready;
            if fits {
                state.take_over(assignment, to, Some(former));
            }
            fits
        })
    }

    fn drain(&mut self, node: NodeId) -> Outcome {
        let others = self.members.values().any(|member| member.id != node && member.is_placeable());
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(_) if !others => Outcome::Refused(Refused::OnlyMember { node }),
            Ok(_) => {
                let member = self.change_member(node);
                member.leaving = true;
                if member.state == MemberState::Up {
                    member.state = MemberState::Draining;
                }
                Outcome::Done
            }
        }
    }

    fn remove(&mut self, node: NodeId, force: bool) -> Outcome {
        let Some(member) = self.members.get(&node) else {
            return Outcome::Refused(Refused::NoSuchMember { node });
        };
        if member.state == MemberState::Removed {
            return Outcome::Removed { lost: 0 };
        }
        if !self.members.values().any(|other| other.id != node && other.is_placeable()) {
            return Outcome::Refused(Refused::OnlyMember { node });
        }
        let is_up = member.is_up();
        let (mut held, mut last, mut alone) = (0, 0, 0);
        for assignment in self.keyspaces.values().flat_map(|map| map.iter()) {
            let is_in_sync = assignment.in_sync.contains(&node);
            let mut others = assignment.in_sync.iter().filter(|other| **other != node).peekable();
            held += u32::from(assignment.holds(node));
            alone += u32::from(is_in_sync && others.peek().is_none());
            last += u32::from(is_in_sync && !others.any(|other| self.is_up(*other)));
        }
        if is_up && held > 0 {
            return Outcome::Refused(Refused::InUse { node, slots: held });
        }
        if last > 0 && !force {
            return Outcome::Refused(Refused::LastHolder { node, slots: last });
        }
        self.change_member(node).state = MemberState::Removed;
        self.follow_factors();
        let concerned = |assignment: &Assignment| assignment.holds(node) || assignment.handover_from == Some(node);
        self.change_slots(slots_where(concerned), |state, assignment| {
            assignment.learners.remove(node);
            if assignment.in_sync.contains(&node) {
                if !assignment.in_sync.has_other_than(node) {
                    state.resurrect(assignment);
                }
                state.take_out(assignment, node);
            }
            if assignment.handover_from == Some(node) {
                assignment.handover_from = None;
            }
        });
        Outcome::Removed { lost: alone }
    }

    fn change_member(&mut self, node: NodeId) -> &mut Member {
        Arc::make_mut(&mut self.members).get_mut(&node).expect("it was looked up before")
    }

    fn live_member(&self, node: NodeId) -> Result<&Member, Refused> {
        match self.members.get(&node) {
            None => Err(Refused::NoSuchMember { node }),
            Some(member) if member.state == MemberState::Removed => Err(Refused::Gone { node }),
            Some(member) => Ok(member),
        }
    }

    /// Takes `node` out of the replicas in sync, where there is another; if it was primary, another one is from now on.
    fn take_out(&self, assignment: &mut Assignment, node: NodeId) {
        assignment.leave(node);
        if assignment.primary == node {
            let next = assignment.in_sync.iter().copied().find(|node| self.is_up(*node)).unwrap_or(assignment.in_sync[0]);
            self.take_over(assignment, next, None);
        }
    }

    /// `next` is primary from now on. Whoever was still stepping down before goes on doing so.
    fn take_over(&self, assignment: &mut Assignment, next: NodeId, from: Option<NodeId>) {
        assignment.handover_from = from.or(assignment.handover_from).filter(|from| *from != next && self.is_up(*from));
        assignment.primary = next;
        assignment.term = self.epoch();
    }

    /// The last holder is given up: who has learnt the most, or anyone, stands for the slot.
    fn resurrect(&self, assignment: &mut Assignment) {
        let placeable = || self.members.values().filter(|member| member.state != MemberState::Removed).map(|member| member.id);
        let heir = assignment.learners.iter().chain(placeable().filter(|node| self.is_up(*node))).chain(placeable()).next();
        let heir = heir.expect("there is another member: its removal was checked");
        assignment.learners.remove(heir);
        assignment.in_sync.insert(heir);
    }

    fn is_up(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(Member::is_up)
    }

    fn stays(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(Member::stays)
    }

    /// Lets `change` change the assignments of these slots of each keyspace; those that did get a new epoch.
    fn change_slots(&mut self, slots: impl Fn(&SlotMap) -> Vec<Slot>, mut change: impl FnMut(&Self, &mut Assignment)) {
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for map in keyspaces.values_mut() {
            let mut changes = Vec::new();
            for slot in slots(map) {
                let assignment = map.at(slot);
                let mut next = assignment.clone();
                change(self, &mut next);
                if next != *assignment {
                    changes.push((slot, next));
                }
            }
            put(map, changes, self.epoch());
        }
        self.keyspaces = keyspaces;
    }

    /// Lets `change` change the assignments at `slots` whose epochs are as expected.
    fn change_slots_of(&mut self, slots: &[SlotEpochs], mut change: impl FnMut(&Self, &mut Assignment) -> bool) -> Outcome {
        let (mut changed, mut passed_over) = (0, 0);
        let epoch = self.epoch();
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for SlotEpochs { keyspace, slots } in slots {
            let Some(map) = keyspaces.get_mut(keyspace) else {
                passed_over += slots.len() as u32;
                continue;
            };
            let mut changes = Vec::new();
            for (slot, expected) in slots {
                let assignment = map.at(*slot);
                let mut next = assignment.clone();
                if assignment.epoch == *expected && change(self, &mut next) {
                    changes.push((*slot, next));
                } else {
                    passed_over += 1;
                }
            }
            changed += changes.len() as u32;
            put(map, changes, epoch);
        }
        self.keyspaces = keyspaces;
        Outcome::Slots { changed, passed_over }
    }

    /// Makes the keyspaces' slot maps those of the schema.
    fn follow_schema(&mut self) {
        let schema = Arc::clone(&self.schema);
        self.keyspaces.retain(|name, _| schema.keyspaces.contains_key(name));
        self.follow_factors();
        self.follow_members();
        for (name, keyspace) in &schema.keyspaces {
            if !self.keyspaces.contains_key(name) {
                let map = self.new_map(self.factor(keyspace));
                self.keyspaces.insert(name.clone(), Arc::new(map));
            }
        }
    }

    /// Makes the keyspaces' factors those of the schema and the data centres there are.
    fn follow_factors(&mut self) {
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for (name, map) in &mut keyspaces {
            let factor = self.schema.keyspaces.get(name).map_or(map.factor, |keyspace| self.factor(keyspace));
            if factor != map.factor {
                let map = Arc::make_mut(map);
                map.factor = factor;
                map.due = Due::of_all();
            }
        }
        self.keyspaces = keyspaces;
    }

    /// How many replicas `keyspace` asks for, in the data centres that there are; one at least.
    fn factor(&self, keyspace: &Keyspace) -> u8 {
        let parameters = &keyspace.replication.parameters;
        let number = |text: &String| text.split('/').next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
        let sum: u32 = if keyspace.replication.class.ends_with("NetworkTopologyStrategy") {
            let members = self.members.values().filter(|member| member.state != MemberState::Removed);
            let centres: BTreeSet<&String> = members.map(|member| &member.profile.data_center).collect();
            centres.into_iter().filter_map(|centre| parameters.get(centre)).map(number).fold(0, u32::saturating_add)
        } else {
            parameters.get("replication_factor").map_or(1, number)
        };
        sum.clamp(1, u32::from(FACTOR_MAX)) as u8
    }

    /// A map for a keyspace without rows: whoever is up has all there is.
    fn new_map(&self, factor: u8) -> SlotMap {
        let epoch = self.epoch();
        let anyone = self.members.values().filter(|member| member.state != MemberState::Removed).map(|member| member.id);
        let fallback = anyone.clone().find(|node| self.is_up(*node)).or_else(|| anyone.clone().next());
        let fallback = fallback.expect("a cluster has a member");
        let assign = |slot: usize| {
            let up = self.placement.targets(slot, factor).iter().copied().filter(|node| self.is_up(*node));
            let primary = up.clone().next().unwrap_or(fallback);
            let in_sync: NodeSet = up.chain([primary]).collect();
            let (restarted, learners) = (NodeSet::new(), Learners::default());
            Assignment { epoch, term: epoch, primary, handover_from: None, in_sync, restarted, learners }
        };
        SlotMap::new(factor, &(0..SLOT_COUNT as usize).map(assign).collect::<Vec<_>>())
    }
}

fn slots_where(holds: impl Fn(&Assignment) -> bool) -> impl Fn(&SlotMap) -> Vec<Slot> {
    move |map| map.with_slots().filter(|(_, assignment)| holds(assignment)).map(|(slot, _)| slot).collect()
}

/// Puts changed assignments in their places, at `epoch`.
fn put(map: &mut Arc<SlotMap>, changes: Vec<(Slot, Assignment)>, epoch: Epoch) {
    if changes.is_empty() {
        return;
    }
    let map = Arc::make_mut(map);
    for (slot, assignment) in changes {
        map.put(slot, Assignment { epoch, ..assignment });
    }
}
