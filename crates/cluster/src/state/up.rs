//! Who is up, looked up by id.

use crate::state::member::Member;
use base::NodeId;
use std::collections::BTreeMap;

/// The members that are up, and those of them that stay, looked up by id.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Up(Vec<(bool, bool)>);

impl Up {
    pub(crate) fn of(members: &BTreeMap<NodeId, Member>) -> Self {
        let len = members.keys().next_back().map_or(0, |last| last.0 as usize + 1);
        let mut up = vec![(false, false); len];
        for member in members.values() {
            up[member.id.0 as usize] = (member.is_up(), member.stays());
        }
        Self(up)
    }

    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.0.get(node.0 as usize).is_some_and(|(is_up, _)| *is_up)
    }

    pub(crate) fn stays(&self, node: NodeId) -> bool {
        self.0.get(node.0 as usize).is_some_and(|(_, stays)| *stays)
    }
}
