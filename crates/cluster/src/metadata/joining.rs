//! A process becomes a member.

use crate::command::Command;
use crate::metadata::member::Metadata;
use crate::raft_log::{Applied, Identity, Log};
use crate::wire::{Join, JoinReply};
use base::{NodeId, Now};
use raft::eraftpb::{ConfState, HardState};
use std::sync::Arc;

impl Metadata {
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
}
