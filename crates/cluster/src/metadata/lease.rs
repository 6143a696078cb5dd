//! A member's lease: what it was granted, and its heartbeats that ask for it.

use super::Metadata;
use super::timing::{HEARTBEAT_US, LEASE_US};
use crate::envelope::{Envelope, Grant, GroupMessage, Heartbeat};
use base::NodeId;

/// Grants that wait for entries: a leader that is heard sends one a heartbeat.
const WAITING_MAX: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lease {
    until_us: u64,
    /// Entry and end of grants that hold once this node acts by the entry.
    waiting: Vec<(u64, u64)>,
    next_heartbeat_us: u64,
    last_sent_us: u64,
    /// Term and sending time of the newest grant.
    echo: (u64, u64),
    leader: Option<NodeId>,
}

impl Lease {
    pub(super) fn until_us(&self) -> u64 {
        self.until_us
    }

    pub(super) fn next_heartbeat_us(&self, sends: bool) -> u64 {
        if sends { self.next_heartbeat_us } else { u64::MAX }
    }

    /// For a member that leads the group itself: it knows what is decided.
    pub(super) fn set(&mut self, until_us: u64) {
        self.until_us = until_us;
        self.waiting.clear();
    }

    pub(super) fn lose(&mut self) {
        self.set(0);
    }

    /// This node acts by entry `published`.
    pub(super) fn published(&mut self, published: u64) {
        let until_us = &mut self.until_us;
        self.waiting.retain(|(index, end_us)| {
            let holds = *index <= published;
            if holds {
                *until_us = (*until_us).max(*end_us);
            }
            !holds
        });
    }

    fn granted(&mut self, index: u64, end_us: u64) {
        if self.waiting.len() == WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push((index, end_us));
    }
}

impl Metadata {
    /// Sends the heartbeat that is due, at once to a leader that is new.
    pub(super) fn send_heartbeat(&mut self) {
        let Some(group) = self.group.as_ref().filter(|group| !group.has_failed()) else { return };
        let (term, leader) = (group.term(), group.leader().filter(|leader| Some(*leader) != self.node()));
        let lease = &mut self.lease;
        let is_new = lease.leader != leader;
        lease.leader = leader;
        let Some(leader) = leader else { return };
        if !is_new && self.now_us < lease.next_heartbeat_us {
            return;
        }
        lease.next_heartbeat_us = self.now_us + HEARTBEAT_US;
        lease.last_sent_us = self.now_us;
        let (echo_term, echo_us) = if lease.echo.0 == term { lease.echo } else { (0, 0) };
        let heartbeat =
            Heartbeat { incarnation: self.profile.incarnation, sent_us: self.now_us, applied: self.published, echo_term, echo_us };
        self.messages.push((leader, GroupMessage(Envelope::Heartbeat(heartbeat))));
    }

    pub(super) fn receive_grant(&mut self, from: NodeId, grant: Grant) {
        if grant.incarnation != self.profile.incarnation || self.leading.is_some() || grant.heartbeat_us > self.lease.last_sent_us {
            return;
        }
        if grant.lease_us > 0 {
            self.lease.granted(grant.index, grant.heartbeat_us + grant.lease_us.min(LEASE_US));
            self.lease.published(self.published);
        }
        self.all_applied = self.all_applied.max(grant.all_applied.min(self.state.version));
        if grant.term != self.lease.echo.0 && self.lease.leader == Some(from) {
            // The sooner a leader knows that it is one, the sooner it grants leases.
            self.lease.next_heartbeat_us = self.now_us;
        }
        if grant.term >= self.lease.echo.0 {
            self.lease.echo = (grant.term, grant.sent_us);
        }
    }
}
