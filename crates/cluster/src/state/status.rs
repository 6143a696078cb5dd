//! The state in numbers, for people and metrics.

use super::{MemberState, State};
use base::NodeId;
use std::collections::BTreeMap;

/// The cluster in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// All members that are not removed, by id.
    pub members: Vec<MemberStatus>,
    /// Slots, over all keyspaces, whose primary is not up.
    pub unavailable_slots: u32,
    /// Slots with fewer replicas in sync than their keyspace asks for.
    pub short_slots: u32,
}

/// A member in numbers; slots are counted over all keyspaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// Its id.
    pub id: NodeId,
    /// Where it stands.
    pub state: MemberState,
    /// Slots that it is primary of.
    pub primaries: u32,
    /// Slots that it is in sync with, as primary or secondary.
    pub replicas: u32,
    /// Slots that it is being filled with.
    pub learners: u32,
}

impl State {
    /// The cluster in numbers.
    #[must_use]
    pub fn status(&self) -> Status {
        let entry = |id: NodeId, state| (id, MemberStatus { id, state, primaries: 0, replicas: 0, learners: 0 });
        let present = self.members.values().filter(|member| member.state != MemberState::Removed);
        let mut members: BTreeMap<NodeId, MemberStatus> = present.map(|member| entry(member.id, member.state)).collect();
        let mut status = Status::default();
        for map in self.keyspaces.values() {
            for slot in &map.slots {
                status.unavailable_slots += u32::from(!self.is_up(slot.primary));
                status.short_slots += u32::from(slot.in_sync.len() < usize::from(map.factor));
                let mut count = |node: NodeId, field: fn(&mut MemberStatus) -> &mut u32| {
                    if let Some(member) = members.get_mut(&node) {
                        *field(member) += 1;
                    }
                };
                count(slot.primary, |member| &mut member.primaries);
                slot.in_sync.iter().for_each(|node| count(*node, |member| &mut member.replicas));
                slot.learners.iter().for_each(|node| count(node, |member| &mut member.learners));
            }
        }
        status.members = members.into_values().collect();
        status
    }
}
