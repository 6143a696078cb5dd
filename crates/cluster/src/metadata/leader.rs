//! What the leader of the metadata group does besides leading it: grants leases, sees who is silent, and keeps the group's members.
//!
//! It grants a lease only while it surely leads: a majority of the voters was in its term at some time (`contact`, on its own clock: when it sent the newest
//! grant that they have echoed from within the term). A lease ends at latest `HORIZON_US` after that time, and so after the election of any later
//! leader, which needs one of that majority.

use crate::command::Command;
use crate::envelope::{Envelope, Grant, GroupMessage, Heartbeat};
use crate::metadata::group::{Change, Group};
use crate::metadata::leading::{Heard, Leading};
use crate::metadata::member::Metadata;
use crate::metadata::timing::{HEARTBEAT_US, VOTER_DOWN_US};
use crate::state::State;
use crate::state::member::Member;
use base::{Epoch, NodeId, Now};
use std::collections::BTreeSet;

/// The most voters of the group.
const VOTERS_MAX: usize = 5;

/// While there are fewer voters than this, a member that follows the log gets a vote at once: the group does not survive the loss of any.
const VOTERS_SAFE: usize = 3;

/// Else it has been heard for so long.
const PROMOTE_AFTER_US: u64 = 1_000_000;

/// A member that was last heard longer ago gets no vote.
const PROMOTE_HEARD_US: u64 = 2 * HEARTBEAT_US;

/// Between two attempts of what may be refused.
const RETRY_US: u64 = 500_000;

impl Metadata {
    pub(super) fn receive_heartbeat(&mut self, from: NodeId, heartbeat: Heartbeat) {
        let (Some(group), Some(leading), Some(me)) = (&self.group, &mut self.leading, self.identity.as_ref().map(|identity| identity.node))
        else {
            return;
        };
        let now_us = self.now_us;
        if heartbeat.echo_term == leading.term && heartbeat.echo_us <= now_us {
            let contact = leading.contact.entry(from).or_insert(0);
            *contact = (*contact).max(heartbeat.echo_us);
        }
        let mut lease_us = 0;
        let mut rises = false;
        if let Some(member) = self.state.member(from).filter(|member| member.profile.incarnation == heartbeat.incarnation) {
            let heard = leading.heard.entry(from).or_insert(Heard { first_us: now_us, last_us: now_us, applied: 0 });
            heard.last_us = now_us;
            heard.applied = heartbeat.applied;
            if member.is_up() && !leading.falling.contains(&from) {
                lease_us = leading.lease_us(group, me, now_us, self.waits);
            } else if !member.is_up() && leading.ready {
                rises = leading.rising.get(&from).is_none_or(|proposed_us| now_us >= proposed_us + RETRY_US);
            }
        }
        if lease_us > 0 {
            leading.granted.insert(from, now_us);
        }
        let grant = Grant {
            term: leading.term,
            incarnation: heartbeat.incarnation,
            heartbeat_us: heartbeat.sent_us,
            lease_us,
            index: group.committed(),
            sent_us: now_us,
            all_applied: self.all_applied,
        };
        if rises {
            leading.rising.insert(from, now_us);
            self.propose_as_leader(Command::Up { node: from, incarnation: heartbeat.incarnation });
        }
        self.messages.push((from, GroupMessage(Envelope::Grant(grant))));
    }

    /// A leader that was taken for down before it led sends itself no heartbeats.
    fn rise(&mut self, me: NodeId) {
        let own = self.profile.incarnation;
        let is_down = self.state.member(me).is_some_and(|member| !member.is_up() && member.profile.incarnation == own);
        let Some(leading) = self.leading.as_mut().filter(|_| is_down) else { return };
        if leading.rising.get(&me).is_none_or(|proposed_us| self.now_us >= proposed_us + RETRY_US) {
            leading.rising.insert(me, self.now_us);
            self.propose_as_leader(Command::Up { node: me, incarnation: own });
        }
    }

    /// What is due while this member leads.
    pub(super) fn lead(&mut self) {
        let Some(me) = self.node().filter(|_| self.leading.as_ref().is_some_and(|leading| leading.ready)) else { return };
        self.rise(me);
        self.declare_down(me);
        self.end_transfers();
        self.count_applied(me);
        self.change_group(me);
        let now_us = self.now_us;
        if let (Some(group), Some(leading)) = (&mut self.group, &mut self.leading) {
            group.retry_snapshots(now_us);
            leading.is_idle = leading.transfer.is_none() && group.has_applied_all() && leading.down_since.is_empty();
        }
    }

    /// Another voter leads from now on, if there is one that can: nobody then has to find out that this process has ended. Whether there is nothing more to
    /// hand on. To be called again while there is.
    pub fn transfer_leadership(&mut self, now: Now) -> bool {
        self.observe(now);
        let me = self.node();
        let (Some(group), Some(leading), Some(me)) = (&mut self.group, &mut self.leading, me) else {
            return self.leader().is_some_and(|leader| Some(leader) != me);
        };
        let heir = group.voters().find(|voter| *voter != me && self.state.member(*voter).is_some_and(Member::stays));
        let Some(heir) = heir else { return true };
        if self.now_us >= leading.transfer_us + RETRY_US {
            leading.transfer_us = self.now_us;
            group.transfer(heir);
            self.progress();
        }
        false
    }

    fn declare_down(&mut self, me: NodeId) {
        let Some(leading) = &mut self.leading else { return };
        let (now_us, waits) = (self.now_us, self.waits);
        let state = &self.state;
        leading.down_since.retain(|node, _| state.member(*node).is_some_and(|member| !member.is_up()));
        leading.up_since.retain(|node, (incarnation, _)| {
            state.member(*node).is_some_and(|member| member.is_up() && member.profile.incarnation == *incarnation)
        });
        let mut silent = Vec::new();
        for member in state.members.values().filter(|member| member.id != me && state.member(member.id).is_some()) {
            if !member.is_up() {
                leading.down_since.entry(member.id).or_insert(now_us);
                continue;
            }
            // That nobody heard it before it was up, or before this process of it, says nothing.
            let (_, up_us) = *leading.up_since.entry(member.id).or_insert((member.profile.incarnation, now_us));
            let heard_us = leading.heard.get(&member.id).map_or(up_us, |heard| heard.last_us.max(up_us));
            let granted_us = leading.granted.get(&member.id).copied().unwrap_or(0);
            let is_silent = now_us >= leading.since_us + waits.new_leader_us
                && now_us >= heard_us.max(granted_us).max(leading.since_us) + waits.down_after_us;
            if is_silent && !leading.falling.contains(&member.id) {
                silent.push(member.id);
            }
        }
        for node in silent {
            if self.propose_as_leader(Command::Down { node })
                && let Some(leading) = &mut self.leading
            {
                leading.falling.insert(node);
            }
        }
    }

    /// Transfers are over when every lease from before has ended.
    fn end_transfers(&mut self) {
        let Some(leading) = &mut self.leading else { return };
        match leading.transfer {
            None => {
                if self.state.has_transfers() {
                    leading.transfer = Some((Epoch(self.state.version), self.now_us));
                }
            }
            Some((up_to, since_us)) if self.now_us >= since_us + self.waits.handover_us => {
                leading.transfer = None;
                self.propose_as_leader(Command::EndTransfers { up_to });
            }
            Some(_) => {}
        }
    }

    /// The newest entry that all members that are up have.
    fn count_applied(&mut self, me: NodeId) {
        let Some(leading) = &self.leading else { return };
        let applied_by = |node| match node == me {
            true => self.published,
            false => leading.heard.get(&node).map_or(0, |heard| heard.applied),
        };
        let everyone = self.state.members.values().filter(|member| member.is_up()).map(|member| applied_by(member.id)).min();
        self.all_applied = self.all_applied.max(everyone.unwrap_or(0));
    }

    /// Makes the group that of the members, one change at a time.
    fn change_group(&mut self, me: NodeId) {
        let (Some(group), Some(leading)) = (&mut self.group, &mut self.leading) else { return };
        if group.is_changing() {
            return;
        }
        match next_change(&self.state, group, leading, me, self.now_us) {
            None => {}
            // With another voter there may be another leader some time, which cannot wait for a lease that has no end.
            Some(Change::Voter(_)) if self.has_endless_lease => {}
            Some(Change::Gone(node) | Change::Learner(node)) if node == me => {
                let heir = group.voters().find(|voter| *voter != me && self.state.member(*voter).is_some_and(Member::is_up));
                if let Some(heir) = heir
                    && self.now_us >= leading.transfer_us + RETRY_US
                {
                    leading.transfer_us = self.now_us;
                    group.transfer(heir);
                }
            }
            Some(change) => group.propose_change(change),
        }
    }
}

/// One step towards the group that the members should form: all of them, an odd number of voters, and none of the voters leaving or down for long. On the
/// way there is an even number only for the moment until the next one, who is ready, has its vote, too.
fn next_change(state: &State, group: &Group, leading: &Leading, me: NodeId, now_us: u64) -> Option<Change> {
    let voters: BTreeSet<NodeId> = group.voters().collect();
    let learners: BTreeSet<NodeId> = group.learners().collect();
    let present = |node: &NodeId| state.member(*node).is_some();
    if let Some(newcomer) = state.members.keys().find(|node| present(node) && !voters.contains(node) && !learners.contains(node)) {
        return Some(Change::Learner(*newcomer));
    }
    if let Some(gone) = learners.iter().find(|node| !present(node)) {
        return Some(Change::Gone(*gone));
    }
    let staying = state.members.values().filter(|member| present(&member.id) && !member.leaving).count();
    let wanted = match staying.clamp(1, VOTERS_MAX) {
        even if even % 2 == 0 => even - 1,
        odd => odd,
    };
    let is_poor = |node: &NodeId| {
        let down_long = leading.down_since.get(node).is_some_and(|since_us| now_us >= since_us + VOTER_DOWN_US);
        down_long || state.member(*node).is_none_or(|member| member.leaving)
    };
    let poor: Vec<NodeId> = voters.iter().copied().filter(is_poor).collect();
    let committed = group.committed();
    let good = voters.len() - poor.len();
    let is_fit = |node: &NodeId| {
        let after_us = if good < VOTERS_SAFE { 0 } else { PROMOTE_AFTER_US };
        // It has heard this leader, and is heard.
        let is_heard = leading.contact.contains_key(node)
            && leading
                .heard
                .get(node)
                .is_some_and(|heard| now_us >= heard.first_us + after_us && now_us <= heard.last_us + PROMOTE_HEARD_US);
        let follows = group.matched(*node).is_some_and(|matched| matched + 64 >= committed);
        is_heard && follows && state.member(*node).is_some_and(|member| member.is_up() && !member.leaving)
    };
    let mut fit = learners.iter().copied().filter(is_fit).peekable();
    let needed = if poor.is_empty() && good % 2 == 1 { 2 } else { 1 };
    if good < wanted
        && let Some(node) = fit.peek().copied()
        && fit.count() >= needed
    {
        return Some(Change::Voter(node));
    }
    if let Some(gone) = poor.iter().find(|node| !present(node))
        && voters.len() > 1
    {
        return Some(Change::Gone(*gone));
    }
    if voters.len() > wanted {
        let surplus = poor.first().copied().or_else(|| voters.iter().rev().copied().find(|node| *node != me));
        return surplus.map(Change::Learner);
    }
    None
}
