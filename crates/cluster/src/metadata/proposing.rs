//! A command becomes a proposal, and finds the leader.

use crate::command::{COMMAND_BYTES_MAX, Command, Outcome, PROPOSAL_TIMEOUT, Refused};
use crate::envelope::{Envelope, GroupMessage, Proposal};
use crate::metadata::event::{Event, ProposalId};
use crate::metadata::member::Metadata;
use crate::metadata::proposals::{PENDING_MAX, Pending};
use crate::metadata::timing::PROPOSAL_RETRY_US;
use crate::state::Profile;
use base::NodeId;

impl Metadata {
    /// Brings `command` before the group. Its outcome comes as [`Event::Done`], at latest after [`PROPOSAL_TIMEOUT`].
    pub fn propose(&mut self, command: Command) -> ProposalId {
        let number = self.proposals.last + 1;
        self.proposals.last = number;
        let refused = match &self.group {
            _ if command.is_leaders() => Some(Refused::LeaderOnly),
            Some(group) if !group.can_store() => Some(Refused::StorageFailed),
            _ if self.proposals.pending.len() >= PENDING_MAX => {
                Some(Refused::TooMany { what: "pending proposals", limit: PENDING_MAX as u32 })
            }
            _ => None,
        };
        // Before this member knows anything it does not know in which version to write.
        if self.group.is_none() || self.state.members.is_empty() {
            self.events.push(Event::Done { proposal: ProposalId(number), outcome: Outcome::Unknown });
            return ProposalId(number);
        }
        let data = self.encode_proposal(number, command);
        let too_large = (data.len() > COMMAND_BYTES_MAX).then_some(Refused::TooLarge { bytes: data.len() as u64 });
        if let Some(refused) = refused.or(too_large) {
            self.events.push(Event::Done { proposal: ProposalId(number), outcome: Outcome::Refused(refused) });
            return ProposalId(number);
        }
        let until_us = self.now_us + PROPOSAL_TIMEOUT.as_micros() as u64;
        self.proposals.pending.insert(number, Pending { data, until_us, retry_us: self.now_us });
        self.forward_proposals();
        self.progress();
        ProposalId(number)
    }

    fn encode_proposal(&self, number: u64, command: Command) -> Vec<u8> {
        let node = self.node().unwrap_or(NodeId(u32::MAX));
        let version = self.state.protocol_version();
        Proposal { version, node, incarnation: self.profile.incarnation, number, command }.encode()
    }

    /// Tells the group of this process, if it knows of another one.
    pub(super) fn propose_start(&mut self) {
        let Some(member) = self.node().and_then(|node| self.state.member(node)) else { return };
        let previous = member.profile.incarnation;
        if previous == self.profile.incarnation || self.proposals.is_pending(self.proposals.start) {
            return;
        }
        let mut profile = self.profile.clone();
        if member.profile.cores != profile.cores {
            // What others still have for its former cores may reach other ones, which ignore and acknowledge it: it must not count as in sync by that.
            profile.boot = Profile::DAMAGED;
        }
        let command = Command::Started { node: member.id, previous, profile };
        let ProposalId(number) = self.propose(command);
        self.proposals.start = Some(number);
    }

    /// As a primary: goes on without replicas that are down or have restarted. That this process says so shows that somebody lives who has all that
    /// was acknowledged.
    pub(super) fn propose_release(&mut self) {
        let (version, incarnation) = (self.state.version, self.profile.incarnation);
        if self.proposals.released_by == version || self.proposals.is_pending(self.proposals.release) {
            return;
        }
        let Some(me) = self.node() else { return };
        let takes_part = self.state.member(me).is_some_and(|member| member.is_up() && member.profile.incarnation == incarnation);
        if takes_part && self.state.has_to_release(me) {
            let ProposalId(number) = self.propose(Command::Release { node: me, incarnation });
            self.proposals.release = Some(number);
        } else {
            self.proposals.released_by = version;
        }
    }

    /// Brings pending proposals to the leader: at once to a new one, else from time to time.
    pub(super) fn forward_proposals(&mut self) {
        let (Some(group), me) = (&mut self.group, self.identity.as_ref().map(|identity| identity.node)) else { return };
        let Some(leader) = group.leader() else { return };
        let is_new = self.proposals.leader.replace(leader) != Some(leader);
        for pending in self.proposals.pending.values_mut() {
            if !is_new && self.now_us < pending.retry_us {
                continue;
            }
            pending.retry_us = self.now_us + PROPOSAL_RETRY_US;
            if Some(leader) == me {
                group.propose(pending.data.clone());
            } else {
                self.messages.push((leader, GroupMessage(Envelope::Forward(pending.data.clone()))));
            }
        }
    }

    /// Another member's proposal.
    pub(super) fn receive_proposal(&mut self, from: NodeId, data: Vec<u8>) {
        let Some(group) = self.group.as_mut().filter(|group| group.is_leader()) else { return };
        // In a version that every member knows, as far as this one knows.
        let is_fit = |proposal: Proposal| {
            proposal.node == from && !proposal.command.is_leaders() && proposal.version <= self.state.protocol_version()
        };
        if Proposal::decode(&data, self.profile.protocol_versions).is_ok_and(is_fit) {
            group.propose(data);
        }
    }

    /// A command that follows from what only the leader sees.
    pub(super) fn propose_as_leader(&mut self, command: Command) -> bool {
        let data = self.encode_proposal(0, command);
        self.group.as_mut().is_some_and(|group| group.propose(data))
    }
}
