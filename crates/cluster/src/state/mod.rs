//! The state that all members agree on, as a function of the commands that the metadata group has decided.
//!
//! [`State::apply`] is pure: equal states and commands give equal states, on every member. It ends with a step (`settle`) that brings the
//! assignments of slots nearer to where they belong. A state is a value: what a command does not touch is shared with the one before, and costs nothing.

mod assignments;
mod due;
mod encoding;
pub(crate) mod member;
mod membership;
mod placement;
mod schema;
mod settle;
mod slots;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod up;

pub(crate) use encoding::STATE_BYTES_MAX;
pub use member::{Member, MemberState, Profile};
pub use slots::{Assignment, FACTOR_MAX, SlotMap};
pub use status::{MemberStatus, Status};

use crate::command::Command;
use crate::command::Outcome;
use crate::state::due::Task;
use crate::state::placement::Placement;
use crate::state::up::Up;
use base::Epoch;
use base::NodeId;
use base::Slot;
use model::Schema;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most members that there may ever have been: ids are not used again.
pub const MEMBERS_MAX: u32 = 4096;

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
        // As who reads the state later finds it.
        let profile = profile.as_told_by(profile.protocol_versions.latest());
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
            Command::EndTransfers { up_to } => self.end_transfers_up_to(*up_to),
            Command::Schema { expected, document } => self.change_schema(*expected, document),
            Command::InSync { node, slots } => self.in_sync(*node, slots),
            Command::DropReplica { node, slots } => self.drop_replica(*node, slots),
            Command::Release { node, incarnation } => self.release(*node, *incarnation),
            Command::TransferPrimary { to, slots } => self.transfer_primary(*to, slots),
            Command::ShuttingDown { node, incarnation } => self.shutting_down(*node, *incarnation),
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
    pub(crate) fn has_transfers(&self) -> bool {
        self.keyspaces.values().any(|map| map.due.has(Task::EndTransfer))
    }

    fn epoch(&self) -> Epoch {
        Epoch(self.version)
    }

    fn is_up(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(Member::is_up)
    }

    fn stays(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(Member::stays)
    }
}
