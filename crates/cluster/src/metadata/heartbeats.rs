//! Heartbeats ask the leader for a lease, and its grants come back.

use crate::envelope::{Envelope, Grant, GroupMessage, Heartbeat};
use crate::metadata::member::Metadata;
use crate::metadata::timing::{HEARTBEAT_US, LEASE_US};
use base::NodeId;

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
