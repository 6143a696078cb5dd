//! The state of a member of the metadata group, and its turn.

use crate::codec::CodecError;
use crate::envelope::{Envelope, GroupMessage};
use crate::metadata::event::{Blobs, Event, RestoreError};
use crate::metadata::group::Group;
use crate::metadata::leading::Leading;
use crate::metadata::lease::Lease;
use crate::metadata::proposals::Proposals;
use crate::metadata::timing::{STOPPED_US, TICK_US, Waits};
use crate::raft_log::{Applied, Identity, Log};
use crate::state::State;
use crate::state::member::Profile;
use base::{NodeId, Now, Rng};
use model::Schema;
use raft::eraftpb::{ConfState, HardState};
use std::sync::Arc;

/// See the module.
pub struct Metadata {
    pub(super) identity: Option<Identity>,
    pub(super) cluster_name: String,
    pub(super) profile: Profile,
    pub(super) replaces: Option<NodeId>,
    seed: u64,
    pub(super) now_us: u64,
    pub(super) state: Arc<State>,
    /// The newest entry that this node acts by.
    pub(super) published: u64,
    pub(super) all_applied: u64,
    pub(super) group: Option<Group>,
    pub(super) leading: Option<Leading>,
    pub(super) lease: Lease,
    /// Whether cores of this node may act by a lease without end.
    pub(super) has_endless_lease: bool,
    pub(super) proposals: Proposals,
    pub(super) waits: Waits,
    next_tick_us: u64,
    last_turn_us: u64,
    pub(super) messages: Vec<(NodeId, GroupMessage)>,
    pub(super) events: Vec<Event>,
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

    pub(crate) fn start(&mut self, identity: Identity, log: Log, store_state: bool) {
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

    /// What has happened since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    #[cfg(test)]
    pub(crate) fn describe(&self) -> String {
        let group = self.group.as_ref().map(Group::describe);
        format!("lease until {} at {}, group {group:?}, {:?}, {:?}", self.lease.until_us(), self.now_us, self.proposals, self.leading)
    }

    pub(crate) fn observe(&mut self, now: Now) {
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
    pub(crate) fn is_alone(&self) -> bool {
        self.node().is_some_and(|me| self.state.members.values().all(|member| member.id == me || self.state.member(member.id).is_none()))
            && self.group.as_ref().is_some_and(Group::is_alone)
    }
}
