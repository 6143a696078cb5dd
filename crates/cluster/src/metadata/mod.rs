//! A member's part in the metadata group: time, messages and stored blobs come in; messages, blobs to store and events go out.
//!
//! ```text
//! receive ─┐                         ┌─► take_messages
//! turn ────┼─► RawNode ─► ready ─────┼─► take_writes ─► (disk) ─► written ─► messages that waited, entries that may be applied
//! propose ─┘        ▲      (group)   └─► committed entries ─► State::apply ─► take_events
//!                   └ conf changes, Down, Up, HandedOver (leading)
//! ```
//!
//! Nothing that depends on a blob is sent or applied before the blob is stored. When one cannot be stored, or the cluster goes by a version of the nodes' protocol
//! that this program does not know, the member falls silent: it neither votes nor holds a lease from then on, and the process may go on with what it knows. When there
//! is only no room for a blob, it tries again each second, and is silent until it has stored it.

mod group;
mod leading;
mod lease;
#[cfg(test)]
mod net;
mod proposals;
#[cfg(test)]
pub(crate) mod test_parts;
#[cfg(test)]
mod tests;
mod timing;

pub use timing::{DOWN_AFTER_US, HANDOVER_WAIT_US, HEARTBEAT_US, LEASE_US};

use crate::codec::CodecError;
use crate::command::{Command, Outcome};
use crate::envelope::{Envelope, GroupMessage};
use crate::raft_log::{Applied, Identity, LOG_BLOB, Log};
use crate::state::{Profile, State};
use crate::wire::{Join, JoinReply};
use base::{NodeId, Now, Rng};
use group::Group;
use leading::Leading;
use lease::Lease;
use model::Schema;
use proposals::Proposals;
use raft::eraftpb::{ConfState, HardState};
use std::sync::Arc;
use timing::{STOPPED_US, STORE_AGAIN_US, TICK_US, Waits};

/// Identifies a proposal of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProposalId(pub u64);

/// What has happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// This is the state now.
    Applied {
        /// The newest state; between it and the one before may lie several commands.
        state: Arc<State>,
    },
    /// A proposal of this process has its outcome. The state that it led to was given before.
    Done {
        /// Which.
        proposal: ProposalId,
        /// What became of it.
        outcome: Outcome,
    },
    /// A member has sent something in a version that this program does not know. It is not followed.
    NotFollowed {
        /// The member.
        from: NodeId,
        /// What.
        why: CodecError,
    },
    /// The cluster goes by a version that this program does not know: this member is silent from now on.
    Outdated {
        /// The cluster's version.
        agreed: u16,
    },
    /// A blob could not be stored: this member is silent from now on.
    StorageFailed {
        /// The blob's name.
        blob: String,
    },
    /// There is no room for a blob. It is tried again each second, and nothing is decided here until it is stored.
    StorageFull {
        /// The blob's name.
        blob: String,
    },
    /// There was no room, and all is stored now: this member goes on.
    StorageWorks,
}

/// What became of a blob that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is stored.
    Yes,
    /// There is no room for it; the one that it replaces is still there.
    Full,
    /// Neither it nor another one can be stored.
    Failed,
}

/// The blobs as a process finds them when it starts.
#[derive(Clone, Debug, Default)]
pub struct Blobs {
    /// `metadata-log`.
    pub log: Vec<u8>,
    /// `metadata-snapshot`; none before the first state has arrived.
    pub snapshot: Option<Vec<u8>>,
}

/// Why a member cannot start from its blobs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// A blob is damaged.
    #[error("the cluster's metadata cannot be read: {0}; replace this member by one with an empty data directory")]
    Damaged(CodecError),
    /// A blob was written by a program that knew other versions.
    #[error("the cluster's metadata cannot be read: {0}; start the release that wrote it, or one that knows its versions, too")]
    Version(CodecError),
    /// The data directory belongs to another cluster.
    #[error("this data directory belongs to cluster '{found}', not to '{expected}'")]
    OtherCluster {
        /// The configured name.
        expected: String,
        /// The stored name.
        found: String,
    },
    /// The metadata is another data directory's.
    #[error("the cluster's metadata is of host {found:032x}, this is host {expected:032x}")]
    OtherHost {
        /// This data directory's.
        expected: u128,
        /// The stored one.
        found: u128,
    },
}

impl From<CodecError> for RestoreError {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Version { .. } => Self::Version(error),
            damaged => Self::Damaged(damaged),
        }
    }
}

/// See the module.
pub struct Metadata {
    identity: Option<Identity>,
    cluster_name: String,
    profile: Profile,
    replaces: Option<NodeId>,
    seed: u64,
    now_us: u64,
    state: Arc<State>,
    /// The newest entry that this node acts by.
    published: u64,
    all_applied: u64,
    group: Option<Group>,
    leading: Option<Leading>,
    lease: Lease,
    /// Whether cores of this node may act by a lease without end.
    has_endless_lease: bool,
    proposals: Proposals,
    waits: Waits,
    next_tick_us: u64,
    last_turn_us: u64,
    messages: Vec<(NodeId, GroupMessage)>,
    events: Vec<Event>,
}

impl Metadata {
    /// The first member of a new cluster, which has all that is in `schema`.
    #[must_use]
    pub fn found(cluster_name: &str, profile: Profile, schema: Schema, now: Now, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let cluster_id = (u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())).max(1);
        let state = Arc::new(State::founded(cluster_id, cluster_name.to_owned(), profile.clone(), schema, 1));
        let node = NodeId(1);
        let group = ConfState::from((vec![u64::from(node.0)], vec![]));
        let hard_state = HardState { term: 1, vote: u64::from(node.0), commit: 1, ..HardState::default() };
        let log = Log::new(Applied { state: Arc::clone(&state), index: 1, term: 1, group }, hard_state);
        let identity = Identity { cluster_name: cluster_name.to_owned(), cluster_id, node, host_id: profile.host_id };
        let mut metadata = Self::new(cluster_name, profile, None, state, now, seed);
        metadata.start(identity, log, true);
        metadata
    }

    /// A process that is no member yet, and asks to be one: see [`Metadata::join_request`] and [`Metadata::joined`]. `replaces` is the member whose place it
    /// takes.
    #[must_use]
    pub fn join(cluster_name: &str, profile: Profile, replaces: Option<NodeId>, now: Now, seed: u64) -> Self {
        Self::new(cluster_name, profile, replaces, Arc::new(State::empty()), now, seed)
    }

    /// A member whose process starts anew, from its blobs.
    ///
    /// # Errors
    /// When they are damaged, of a version that its program does not know, or not this member's.
    pub fn restore(blobs: &Blobs, cluster_name: &str, profile: Profile, now: Now, seed: u64) -> Result<Self, RestoreError> {
        let (identity, log) = Log::decode(&blobs.log, blobs.snapshot.as_deref(), profile.protocol_versions)?;
        if identity.cluster_name != cluster_name {
            return Err(RestoreError::OtherCluster { expected: cluster_name.to_owned(), found: identity.cluster_name });
        }
        if identity.host_id != profile.host_id {
            return Err(RestoreError::OtherHost { expected: profile.host_id, found: identity.host_id });
        }
        let state = Arc::clone(&log.applied.state);
        let mut metadata = Self::new(cluster_name, profile, None, state, now, seed);
        if metadata.state.version > 0 {
            metadata.events.push(Event::Applied { state: Arc::clone(&metadata.state) });
        }
        metadata.start(identity, log, false);
        Ok(metadata)
    }

    fn new(cluster_name: &str, profile: Profile, replaces: Option<NodeId>, state: Arc<State>, now: Now, seed: u64) -> Self {
        Self {
            identity: None,
            cluster_name: cluster_name.to_owned(),
            profile,
            replaces,
            seed,
            now_us: now.monotonic_us,
            state,
            published: 0,
            all_applied: 0,
            group: None,
            leading: None,
            lease: Lease::default(),
            has_endless_lease: false,
            proposals: Proposals::default(),
            waits: Waits::default(),
            next_tick_us: now.monotonic_us + TICK_US,
            last_turn_us: now.monotonic_us,
            messages: Vec::new(),
            events: Vec::new(),
        }
    }

    fn start(&mut self, identity: Identity, log: Log, store_state: bool) {
        self.group = Some(Group::new(&identity, log, self.profile.protocol_versions, self.seed, store_state));
        self.identity = Some(identity);
        self.progress();
    }

    /// Who this member is; none before it has joined.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// This member's id; none before it has joined.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        self.identity.as_ref().map(|identity| identity.node)
    }

    /// The newest state that this member has.
    #[must_use]
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// This node acts by the state of `version` from now on, on all its cores. A lease counts only for what is published: a core that still acted by an older state
    /// would take itself for what it no longer is.
    pub fn published(&mut self, version: u64) {
        self.published = self.published.max(version.min(self.state.version));
        self.lease.published(self.published);
        self.follow_role();
    }

    /// All cores of this node go by a lease with an end. Before that nobody else gets a vote.
    pub fn lease_has_end(&mut self) {
        self.has_endless_lease = self.lease.until_us() == u64::MAX;
    }

    /// The newest entry that every member that is up acts by, as far as this member knows.
    #[must_use]
    pub fn all_applied(&self) -> u64 {
        self.all_applied
    }

    /// Until when, on this member's monotonic clock, it may serve as its state says; 0 if it may not, `u64::MAX` for a member that is alone. May become less
    /// when another member joins: see [`Metadata::lease_has_end`].
    #[must_use]
    pub fn lease_until_us(&self) -> u64 {
        self.lease.until_us()
    }

    /// Who votes in the group, as far as this member knows: a majority of them decides.
    #[must_use]
    pub fn voters(&self) -> Vec<NodeId> {
        self.group.as_ref().map(|group| group.voters().collect()).unwrap_or_default()
    }

    /// The leader of the metadata group, as far as this member knows.
    #[must_use]
    pub fn leader(&self) -> Option<NodeId> {
        self.group.as_ref().and_then(Group::leader)
    }

    /// What to ask a member of the cluster for; none once this is a member that knows where others are. One that started anew before it had heard
    /// anything but its number asks again, and keeps that.
    #[must_use]
    pub fn join_request(&self) -> Option<Join> {
        let is_lost = self.identity.is_none() || self.state.members.is_empty();
        is_lost.then(|| Join { profile: self.profile.clone(), replaces: self.replaces })
    }

    /// The command for a process that asks to join, to be proposed by the member that it asks; [`Outcome::Joined`] is answered with
    /// [`Metadata::join_reply`].
    #[must_use]
    pub fn join_command(request: Join) -> Command {
        Command::Join { profile: request.profile, replaces: request.replaces }
    }

    /// The answer to a process that is member `node` now.
    #[must_use]
    pub fn join_reply(&self, node: NodeId) -> JoinReply {
        let present = self.state.members.values().filter(|member| self.state.member(member.id).is_some());
        JoinReply {
            cluster_name: self.state.cluster_name.clone(),
            cluster_id: self.state.cluster_id,
            node,
            members: present.map(|member| (member.id, member.profile.node_address.clone())).collect(),
        }
    }

    /// This process is a member now. A second answer changes nothing.
    pub fn joined(&mut self, now: Now, reply: &JoinReply) {
        self.observe(now);
        if self.identity.is_some() || reply.cluster_name != self.cluster_name || reply.cluster_id == 0 {
            return;
        }
        let identity = Identity {
            cluster_name: reply.cluster_name.clone(),
            cluster_id: reply.cluster_id,
            node: reply.node,
            host_id: self.profile.host_id,
        };
        let applied = Applied { state: Arc::clone(&self.state), index: 0, term: 0, group: ConfState::default() };
        self.start(identity, Log::new(applied, HardState::default()), false);
    }

    /// Does what is due. Gives the monotonic time of the next call, if there need be one without other input.
    pub fn turn(&mut self, now: Now) -> Option<u64> {
        self.observe(now);
        let now_us = self.now_us;
        let group = self.group.as_mut()?;
        if group.is_silent() {
            return group.look_again_us();
        }
        if now_us.saturating_sub(self.last_turn_us) > STOPPED_US
            && let Some(leading) = &mut self.leading
        {
            leading.was_stopped(now_us);
        }
        self.last_turn_us = now_us;
        if now_us >= self.next_tick_us {
            group.tick();
            self.next_tick_us = now_us + TICK_US;
        }
        if group.can_store() {
            self.propose_start();
            self.propose_release();
        }
        self.progress();
        self.proposals.expire(now_us, &mut self.events);
        self.forward_proposals();
        self.lead();
        self.progress();
        self.send_heartbeat();
        self.deadline()
    }

    /// A message from member `from`, which the connection vouches for. One that makes no sense is ignored.
    pub fn receive(&mut self, now: Now, from: NodeId, bytes: &[u8]) {
        self.observe(now);
        if self.group.as_ref().is_none_or(Group::is_silent) {
            return;
        }
        match Envelope::decode(bytes, self.profile.protocol_versions) {
            Ok(Envelope::Group(message)) => self.receive_group(from, *message),
            Ok(Envelope::Heartbeat(heartbeat)) => self.receive_heartbeat(from, heartbeat),
            Ok(Envelope::Grant(grant)) => self.receive_grant(from, grant),
            Ok(Envelope::Forward(proposal)) => self.receive_proposal(from, proposal),
            Err(why @ CodecError::Version { .. }) => self.events.push(Event::NotFollowed { from, why }),
            Err(_) => return,
        }
        self.progress();
    }

    /// Messages to `node` may have been lost.
    pub fn unreachable(&mut self, node: NodeId) {
        if let Some(group) = &mut self.group {
            group.unreachable(node);
        }
    }

    /// The messages to send, each to its member.
    pub fn take_messages(&mut self) -> Vec<(NodeId, GroupMessage)> {
        std::mem::take(&mut self.messages)
    }

    /// The blobs to store, each in place of the one of its name; [`Metadata::written`] answers each.
    pub fn take_writes(&mut self) -> Vec<(String, Vec<u8>)> {
        match (&mut self.group, &self.identity) {
            (Some(group), Some(identity)) => {
                let write = group.take_write(identity, self.now_us);
                write.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What became of the blob `name`.
    pub fn written(&mut self, now: Now, name: &str, stored: Stored) {
        self.observe(now);
        let Some(group) = self.group.as_mut().filter(|group| !group.has_failed()) else { return };
        match stored {
            Stored::Yes => {
                if group.written(name == LOG_BLOB) {
                    self.events.push(Event::StorageWorks);
                }
                self.progress();
            }
            Stored::Full => self.wait_for_room(name),
            Stored::Failed => self.fall_silent(Event::StorageFailed { blob: name.to_owned() }),
        }
    }

    /// Until there is room this member stands still, as if its process were stopped: what it has learned and cannot store, it must not act by. One that is alone
    /// goes on: nothing is decided without it.
    fn wait_for_room(&mut self, blob: &str) {
        let is_alone = self.is_alone();
        let again_us = self.now_us + STORE_AGAIN_US;
        if self.group.as_mut().is_some_and(|group| group.not_stored(again_us, !is_alone)) {
            self.events.push(Event::StorageFull { blob: blob.to_owned() });
        }
        // What was proposed may be decided later.
        self.proposals.fail(&mut self.events);
        if !is_alone {
            self.stand_still();
        }
    }

    /// A leader keeps what it knows of the others: for one, whom it has proposed to take for down.
    fn stand_still(&mut self) {
        self.lease.lose();
        self.messages.clear();
    }

    /// This node cannot act by the newest state, as it cannot store what belongs to it; it looks again at `until_us`. Others take over what it serves meanwhile: by
    /// what it acted by before, it must not go on. One that is alone does.
    pub fn hold(&mut self, until_us: u64) {
        if self.is_alone() {
            return;
        }
        if let Some(group) = &mut self.group {
            group.hold(Some(until_us));
        }
        self.proposals.fail(&mut self.events);
        self.stand_still();
    }

    /// After [`Metadata::hold`]: it can.
    pub fn go_on(&mut self) {
        if let Some(group) = &mut self.group {
            group.hold(None);
        }
    }

    /// This member neither votes nor holds a lease from now on, nor says or decides anything.
    fn fall_silent(&mut self, why: Event) {
        if let Some(group) = &mut self.group {
            group.fail();
        }
        self.lease.lose();
        self.leading = None;
        self.messages.clear();
        self.proposals.fail(&mut self.events);
        self.events.push(why);
    }

    /// What has happened since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    #[cfg(test)]
    fn describe(&self) -> String {
        let group = self.group.as_ref().map(Group::describe);
        format!("lease until {} at {}, group {group:?}, {:?}, {:?}", self.lease.until_us(), self.now_us, self.proposals, self.leading)
    }

    fn observe(&mut self, now: Now) {
        self.now_us = self.now_us.max(now.monotonic_us);
    }

    /// A member that is alone and has nothing to do needs no timer.
    fn deadline(&self) -> Option<u64> {
        let store_us = self.group.as_ref().and_then(Group::store_again_us);
        let idle = self.proposals.is_empty() && self.leading.as_ref().is_some_and(Leading::is_idle);
        if idle && self.is_alone() {
            return store_us;
        }
        let due_us = self.lease.next_heartbeat_us(self.leader().is_some() && self.leading.is_none()).min(self.next_tick_us);
        Some(store_us.map_or(due_us, |store_us| due_us.min(store_us)))
    }

    /// Whether there is no other member, and never was one that may still count itself in.
    fn is_alone(&self) -> bool {
        self.node().is_some_and(|me| self.state.members.values().all(|member| member.id == me || self.state.member(member.id).is_none()))
            && self.group.as_ref().is_some_and(Group::is_alone)
    }
}
