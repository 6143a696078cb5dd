//! From the Raft group to the state: messages arrive, committed entries are applied.

use crate::codec::CodecError;
use crate::command::Command;
use crate::envelope::{Envelope, GroupMessage, Proposal};
use crate::metadata::event::Event;
use crate::metadata::group::Group;
use crate::metadata::leading::Leading;
use crate::metadata::member::Metadata;
use crate::raft_log::check_version;
use crate::state::State;
use base::NodeId;
use raft::eraftpb::{Entry, EntryType, Message};
use std::sync::Arc;

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
}
