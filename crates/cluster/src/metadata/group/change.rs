//! A change of the group's members, as an entry of the log says it.

use base::NodeId;
use raft::eraftpb::{ConfChange, ConfChangeType};

/// A change of the group's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metadata) enum Change {
    /// A member follows, and has no vote from now on.
    Learner(NodeId),
    /// A member votes.
    Voter(NodeId),
    /// A member is none any more.
    Gone(NodeId),
}

/// What an entry that changes the group says, in a form that is read without the library's decoder.
pub(super) fn change_context(kind: ConfChangeType, node: NodeId) -> Vec<u8> {
    let mut context = vec![kind as u8];
    context.extend_from_slice(&node.0.to_le_bytes());
    context
}

pub(super) fn change_in(context: &[u8]) -> Option<(ConfChangeType, NodeId)> {
    let (kind, node) = context.split_first()?;
    let node = NodeId(u32::from_le_bytes(node.try_into().ok()?));
    let kind = match kind {
        0 => ConfChangeType::AddNode,
        1 => ConfChangeType::RemoveNode,
        2 => ConfChangeType::AddLearnerNode,
        _ => return None,
    };
    (node.0 != 0).then_some((kind, node))
}

pub(super) fn change_of(kind: ConfChangeType, node: NodeId) -> ConfChange {
    let mut change = ConfChange::default();
    change.set_change_type(kind);
    change.node_id = u64::from(node.0);
    change
}
