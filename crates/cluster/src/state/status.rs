//! The state in numbers, for people and metrics.

use super::{MemberState, State};
use base::NodeId;

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
    /// Slots that it is being rebuilt with.
    pub learners: u32,
}

/// What is counted of a member.
#[derive(Clone, Copy, Default)]
struct Counts {
    is_up: bool,
    primaries: u32,
    replicas: u32,
    learners: u32,
}

impl State {
    /// The cluster in numbers.
    #[must_use]
    pub fn status(&self) -> Status {
        let mut status = Status::default();
        // By id: this looks at each slot of each keyspace.
        let mut counts = vec![Counts::default(); self.members.keys().next_back().map_or(0, |last| last.0 as usize + 1)];
        for (id, member) in self.members.iter() {
            counts[id.0 as usize].is_up = member.is_up();
        }
        for map in self.keyspaces.values() {
            for slot in map.iter() {
                status.short_slots += u32::from(slot.in_sync.len() < usize::from(map.factor));
                let primary = counts.get_mut(slot.primary.0 as usize);
                status.unavailable_slots += u32::from(primary.as_ref().is_none_or(|primary| !primary.is_up));
                primary.into_iter().for_each(|primary| primary.primaries += 1);
                for node in &slot.in_sync {
                    counts.get_mut(node.0 as usize).into_iter().for_each(|member| member.replicas += 1);
                }
                for node in slot.learners.iter() {
                    counts.get_mut(node.0 as usize).into_iter().for_each(|member| member.learners += 1);
                }
            }
        }
        let present = self.members.values().filter(|member| member.state != MemberState::Removed);
        let counted = present.map(|member| {
            let Counts { primaries, replicas, learners, .. } = counts[member.id.0 as usize];
            MemberStatus { id: member.id, state: member.state, primaries, replicas, learners }
        });
        status.members = counted.collect();
        status
    }
}
