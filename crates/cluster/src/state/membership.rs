//! Commands about members: they join, start, are down or up, shut down, drain and are removed.

use crate::command::{Outcome, Refused};
use crate::state::assignments::slots_where;
use crate::state::member::{Member, MemberState, Profile};
use crate::state::slots::Assignment;
use crate::state::{MEMBERS_MAX, State};
use base::NodeId;
use std::sync::Arc;

impl State {
    /// Whether a process reads what the cluster writes.
    fn check_versions(&self, profile: &Profile) -> Result<(), Refused> {
        let (agreed, known) = (self.protocol_version(), profile.protocol_versions);
        match known.contains(agreed) {
            true => Ok(()),
            false if known.latest() < agreed => Err(Refused::TooOld { agreed, known }),
            false => Err(Refused::TooNew { agreed, known }),
        }
    }

    pub(crate) fn join(&mut self, profile: &Profile, replaces: Option<NodeId>) -> Outcome {
        if let Err(refused) = self.check_versions(profile) {
            return Outcome::Refused(refused);
        }
        if let Some(known) = self.members.values().find(|member| member.profile.host_id == profile.host_id) {
            if known.state == MemberState::Removed {
                return Outcome::Refused(Refused::Gone { node: known.id });
            }
            // What is about its process changes by `Started` only, which is compared: an old copy of this command must not bring back an old process.
            let Profile { incarnation, boot, is_durable, protocol_versions, .. } = known.profile;
            let id = known.id;
            self.change_member(id).profile = Profile { incarnation, boot, is_durable, protocol_versions, ..profile.clone() };
            return Outcome::Joined(id);
        }
        let last = self.members.keys().next_back().map_or(0, |id| id.0);
        if last >= MEMBERS_MAX {
            return Outcome::Refused(Refused::TooMany { what: "members", limit: MEMBERS_MAX });
        }
        let id = NodeId(last + 1);
        let mut place = u64::from(id.0);
        if let Some(old) = replaces {
            place = match self.live_member(old) {
                Err(refused) => return Outcome::Refused(refused),
                Ok(member) => member.place,
            };
        }
        let member = Member { id, profile: profile.clone(), previous_incarnation: 0, state: MemberState::Up, leaving: false, place };
        Arc::make_mut(&mut self.members).insert(id, member);
        if let Some(old) = replaces
            && let Outcome::Refused(refused) = self.remove(old, false)
        {
            Arc::make_mut(&mut self.members).remove(&id);
            return Outcome::Refused(refused);
        }
        self.follow_factors();
        Outcome::Joined(id)
    }

    pub(crate) fn started(&mut self, node: NodeId, previous: u64, profile: &Profile) -> Outcome {
        let versions = self.check_versions(profile);
        let member = match self.live_member(node) {
            Ok(member) => member,
            Err(refused) => return Outcome::Refused(refused),
        };
        let known = member.profile.incarnation;
        if known == profile.incarnation {
            return Outcome::Done;
        }
        if known != previous || member.profile.host_id != profile.host_id {
            return Outcome::Refused(Refused::OtherProcess { node });
        }
        if let Err(refused) = versions {
            return Outcome::Refused(refused);
        }
        let has_all = profile.has_all_of(&member.profile);
        let member = self.change_member(node);
        member.previous_incarnation = previous;
        member.profile = profile.clone();
        member.state = member.heard();
        self.follow_factors();
        let concerned = |assignment: &Assignment| assignment.holds(node) || assignment.transfer_from == Some(node);
        self.change_slots(slots_where(concerned), |state, assignment| {
            if assignment.primary == node {
                // A term of its own: what the process before has sent, or has proposed, is not this one's.
                assignment.term = state.epoch();
            }
            if assignment.in_sync.contains(&node) && assignment.in_sync.has_other_than(node) {
                if has_all {
                    assignment.restarted.insert(node);
                } else {
                    // What the process before had not yet stored may be missing, and whoever is in sync with it has it.
                    state.take_out(assignment, node);
                }
            }
            assignment.learners.remove(node);
            if assignment.transfer_from == Some(node) {
                assignment.transfer_from = None;
            }
        });
        Outcome::Done
    }

    pub(crate) fn down(&mut self, node: NodeId) -> Outcome {
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(_) => {
                self.change_member(node).state = MemberState::Down;
                Outcome::Done
            }
        }
    }

    pub(crate) fn up(&mut self, node: NodeId, incarnation: u64) -> Outcome {
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(member) if member.profile.incarnation != incarnation => Outcome::Refused(Refused::OtherProcess { node }),
            Ok(member) => {
                if member.state == MemberState::Down {
                    self.change_member(node).state = member.heard();
                }
                Outcome::Done
            }
        }
    }

    pub(crate) fn shutting_down(&mut self, node: NodeId, incarnation: u64) -> Outcome {
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(member) if member.profile.incarnation != incarnation => Outcome::Refused(Refused::OtherProcess { node }),
            Ok(member) => {
                if member.is_up() {
                    self.change_member(node).state = MemberState::ShuttingDown;
                }
                Outcome::Done
            }
        }
    }

    pub(crate) fn drain(&mut self, node: NodeId) -> Outcome {
        let others = self.members.values().any(|member| member.id != node && member.is_placeable());
        match self.live_member(node) {
            Err(refused) => Outcome::Refused(refused),
            Ok(_) if !others => Outcome::Refused(Refused::OnlyMember { node }),
            Ok(_) => {
                let member = self.change_member(node);
                member.leaving = true;
                if member.state == MemberState::Up {
                    member.state = MemberState::Draining;
                }
                Outcome::Done
            }
        }
    }

    pub(crate) fn remove(&mut self, node: NodeId, force: bool) -> Outcome {
        let Some(member) = self.members.get(&node) else {
            return Outcome::Refused(Refused::NoSuchMember { node });
        };
        if member.state == MemberState::Removed {
            return Outcome::Removed { lost: 0 };
        }
        if !self.members.values().any(|other| other.id != node && other.is_placeable()) {
            return Outcome::Refused(Refused::OnlyMember { node });
        }
        let is_up = member.is_up();
        let (mut held, mut last, mut alone) = (0, 0, 0);
        for assignment in self.keyspaces.values().flat_map(|map| map.iter()) {
            let is_in_sync = assignment.in_sync.contains(&node);
            let mut others = assignment.in_sync.iter().filter(|other| **other != node).peekable();
            held += u32::from(assignment.holds(node));
            alone += u32::from(is_in_sync && others.peek().is_none());
            last += u32::from(is_in_sync && !others.any(|other| self.is_up(*other)));
        }
        if is_up && held > 0 {
            return Outcome::Refused(Refused::InUse { node, slots: held });
        }
        if last > 0 && !force {
            return Outcome::Refused(Refused::LastHolder { node, slots: last });
        }
        self.change_member(node).state = MemberState::Removed;
        self.follow_factors();
        let concerned = |assignment: &Assignment| assignment.holds(node) || assignment.transfer_from == Some(node);
        self.change_slots(slots_where(concerned), |state, assignment| {
            assignment.learners.remove(node);
            if assignment.in_sync.contains(&node) {
                if !assignment.in_sync.has_other_than(node) {
                    state.resurrect(assignment);
                }
                state.take_out(assignment, node);
            }
            if assignment.transfer_from == Some(node) {
                assignment.transfer_from = None;
            }
        });
        Outcome::Removed { lost: alone }
    }

    pub(crate) fn change_member(&mut self, node: NodeId) -> &mut Member {
        Arc::make_mut(&mut self.members).get_mut(&node).expect("it was looked up before")
    }

    pub(crate) fn live_member(&self, node: NodeId) -> Result<&Member, Refused> {
        match self.members.get(&node) {
            None => Err(Refused::NoSuchMember { node }),
            Some(member) if member.state == MemberState::Removed => Err(Refused::Gone { node }),
            Some(member) => Ok(member),
        }
    }

    /// The last holder is lost: who has learnt the most, or anyone, stands for the slot.
    fn resurrect(&self, assignment: &mut Assignment) {
        let placeable = || self.members.values().filter(|member| member.state != MemberState::Removed).map(|member| member.id);
        let heir = assignment.learners.iter().chain(placeable().filter(|node| self.is_up(*node))).chain(placeable()).next();
        let heir = heir.expect("there is another member: its removal was checked");
        assignment.learners.remove(heir);
        assignment.in_sync.insert(heir);
    }
}
