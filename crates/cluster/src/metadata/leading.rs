//! What the leader of the metadata group does besides leading it: grants leases, sees who is silent, and keeps the group's members.
//!
//! It grants a lease only while it surely leads: a majority of the voters was in its term at some time (`contact`, on its own clock: when it sent the newest
//! grant that they have echoed from within the term). A lease ends at latest `HORIZON_US` after that time, and so after the election of any later
//! leader, which needs one of that majority.

use super::group::{Change, Group};
use super::timing::{HEARTBEAT_US, LEASE_US, VOTER_DOWN_US, Waits};
use super::{Event, Metadata};
use crate::codec::CodecError;
use crate::command::Command;
use crate::envelope::{Envelope, Grant, GroupMessage, Heartbeat, Proposal};
use crate::raft_log::check_version;
use crate::state::{Member, State};
use base::{Epoch, NodeId, Now};
use raft::eraftpb::{Entry, EntryType, Message};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most voters of the group.
const VOTERS_MAX: usize = 5;
/// While there are fewer voters than this, a member that follows the log gets a vote at once: the group does not survive the loss of any.
const VOTERS_SAFE: usize = 3;
/// Else it has been heard for so long.
const PROMOTE_AFTER_US: u64 = 1_000_000;
/// A member that was last heard longer ago gets no vote.
const PROMOTE_HEARD_US: u64 = 2 * HEARTBEAT_US;
/// A shorter lease is of no use.
const LEASE_US_MIN: u64 = 100_000;
/// Between two attempts of what may be refused.
const RETRY_US: u64 = 500_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Leading {
    term: u64,
    since_us: u64,
    /// An entry of this term is in the state: it has all that was decided before.
    ready: bool,
    /// When each voter surely was in this term.
    contact: BTreeMap<NodeId, u64>,
    heard: BTreeMap<NodeId, Heard>,
    /// When each member was last granted a lease.
    granted: BTreeMap<NodeId, u64>,
    /// Members that are about to be declared down: they are granted nothing.
    falling: BTreeSet<NodeId>,
    rising: BTreeMap<NodeId, u64>,
    /// Processes of members that are up, and since when this leader knows that they are.
    up_since: BTreeMap<NodeId, (u64, u64)>,
    down_since: BTreeMap<NodeId, u64>,
    /// Handovers up to this epoch are known since.
    handover: Option<(Epoch, u64)>,
    transfer_us: u64,
    is_idle: bool,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    first_us: u64,
    last_us: u64,
    applied: u64,
}

impl Leading {
    fn new(term: u64, now_us: u64) -> Self {
        Self {
            term,
            since_us: now_us,
            ready: false,
            contact: BTreeMap::new(),
            heard: BTreeMap::new(),
            granted: BTreeMap::new(),
            falling: BTreeSet::new(),
            rising: BTreeMap::new(),
            up_since: BTreeMap::new(),
            down_since: BTreeMap::new(),
            handover: None,
            transfer_us: 0,
            is_idle: false,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// This process did nothing for a while: nobody's silence counts.
    pub(super) fn was_stopped(&mut self, now_us: u64) {
        self.since_us = now_us;
    }

    /// The time at which this member surely led the group.
    fn contact(&self, group: &Group, me: NodeId, now_us: u64) -> u64 {
        let time_of = |voter| if voter == me { now_us } else { self.contact.get(&voter).copied().unwrap_or(0) };
        let mut times: Vec<u64> = group.voters().map(time_of).collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        times.get(times.len() / 2).copied().unwrap_or(0)
    }

    /// How long a lease may be from now on.
    fn lease_us(&self, group: &Group, me: NodeId, now_us: u64, waits: Waits) -> u64 {
        let age_us = now_us.saturating_sub(self.contact(group, me, now_us));
        let lease_us = waits.horizon_us.saturating_sub(age_us).min(LEASE_US);
        if self.ready && lease_us >= LEASE_US_MIN { lease_us } else { 0 }
    }
}

impl Metadata {
    /// Lets the group's state machine run until it has nothing more to do.
    pub(super) fn progress(&mut self) {
        let mut changed = false;
        let mut done = Vec::new();
        while let Some(round) = self.group.as_mut().and_then(Group::round) {
            if let Some(state) = round.state {
                self.state = state;
                changed = true;
            }
            changed |= !round.committed.is_empty();
            for entry in &round.committed {
                self.apply(entry, &mut done);
            }
            if let Some(last) = round.committed.last()
                && let Some(group) = &mut self.group
            {
                group.applied(last.index, last.term, Arc::clone(&self.state));
            }
            for message in round.messages {
                self.send(message);
            }
        }
        let agreed = self.state.protocol_version();
        if changed && agreed > 0 && !self.profile.protocol_versions.contains(agreed) {
            // What follows may be written in it.
            self.fall_silent(Event::Outdated { agreed });
            return;
        }
        if changed {
            self.events.push(Event::Applied { state: Arc::clone(&self.state) });
            self.events.append(&mut done);
        }
        self.follow_role();
    }

    fn apply(&mut self, entry: &Entry, done: &mut Vec<Event>) {
        if entry.get_entry_type() == EntryType::EntryConfChange {
            if let Some(group) = &mut self.group {
                group.apply_change(&entry.context);
            }
        } else if let Ok(Proposal { node, incarnation, number, command, .. }) =
            Proposal::decode(&entry.data, self.profile.protocol_versions)
        {
            let outcome = Arc::make_mut(&mut self.state).apply(entry.index, &command);
            if let (Command::Down { node }, Some(leading)) = (&command, &mut self.leading) {
                leading.falling.remove(node);
            }
            if Some(node) == self.node() && incarnation == self.profile.incarnation {
                done.extend(self.proposals.decided(number, &outcome));
            }
            return;
        }
        Arc::make_mut(&mut self.state).pass(entry.index);
    }

    fn send(&mut self, message: Message) {
        if let Ok(to) = u32::try_from(message.to) {
            self.messages.push((NodeId(to), GroupMessage(Envelope::Group(Box::new(message)))));
        }
    }

    pub(super) fn receive_group(&mut self, from: NodeId, message: Message) {
        match self.check_group_message(&message) {
            Ok(true) => {
                if let Some(group) = &mut self.group {
                    group.step(from, message);
                }
            }
            Ok(false) => {}
            Err(why) => self.events.push(Event::NotFollowed { from, why }),
        }
    }

    /// Whether what a message brings is sound: it is checked before anything relies on it.
    ///
    /// # Errors
    /// When this program cannot read it.
    fn check_group_message(&self, message: &Message) -> Result<bool, CodecError> {
        let known = self.profile.protocol_versions;
        message.entries.iter().try_for_each(|entry| check_version(entry, known))?;
        let snapshot = message.get_snapshot();
        if snapshot.is_empty() {
            return Ok(true);
        }
        match State::decode(&snapshot.data, known) {
            Ok(state) => Ok(state.version == snapshot.get_metadata().index
                && self.identity.as_ref().is_some_and(|identity| identity.cluster_id == state.cluster_id)),
            Err(why @ CodecError::Version { .. }) => Err(why),
            Err(_) => Ok(false),
        }
    }

    pub(super) fn follow_role(&mut self) {
        let (Some(group), Some(me)) = (self.group.as_ref().filter(|group| !group.is_silent()), self.node()) else { return };
        if !group.is_leader() {
            if self.leading.take().is_some() {
                self.lease.lose();
            }
            return;
        }
        let (term, now_us) = (group.term(), self.now_us);
        let applied_own = group.applied_term() == term;
        let leading = self.leading.get_or_insert_with(|| Leading::new(term, now_us));
        if leading.term != term {
            *leading = Leading::new(term, now_us);
        }
        leading.ready |= applied_own;
        let stands = self.state.member(me).is_some_and(|member| member.is_up() && member.profile.incarnation == self.profile.incarnation);
        if !stands || !leading.ready {
            self.lease.lose();
        } else if group.has_applied_all() && self.published == self.state.version {
            let lease_us = leading.lease_us(group, me, now_us, self.waits);
            let until_us = if lease_us == 0 { 0 } else { now_us + lease_us };
            let is_alone = self.is_alone();
            self.lease.set(if is_alone { u64::MAX } else { until_us });
            self.has_endless_lease |= is_alone;
        }
    }

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
        self.end_handovers();
        self.count_applied(me);
        self.change_group(me);
        let now_us = self.now_us;
        if let (Some(group), Some(leading)) = (&mut self.group, &mut self.leading) {
            group.retry_snapshots(now_us);
            leading.is_idle = leading.handover.is_none() && group.has_applied_all() && leading.down_since.is_empty();
        }
    }

    /// Another voter leads from now on, if there is one that can: nobody then has to find out that this process has ended. Whether there is nothing more to
    /// hand on. To be called again while there is.
    pub fn hand_on_leadership(&mut self, now: Now) -> bool {
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

    /// Handovers are over when every lease from before has ended.
    fn end_handovers(&mut self) {
        let Some(leading) = &mut self.leading else { return };
        match leading.handover {
            None => {
                if self.state.has_handovers() {
                    leading.handover = Some((Epoch(self.state.version), self.now_us));
                }
            }
            Some((up_to, since_us)) if self.now_us >= since_us + self.waits.handover_us => {
                leading.handover = None;
                self.propose_as_leader(Command::HandedOver { up_to });
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
