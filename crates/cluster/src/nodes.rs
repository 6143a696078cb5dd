//! Small sets of members.

use base::{Epoch, NodeId};
use smallvec::SmallVec;
use std::ops::Deref;

/// Members in ascending order, each once.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NodeSet(SmallVec<[NodeId; 4]>);

impl NodeSet {
    /// Nobody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `node`; whether it was not there.
    pub fn insert(&mut self, node: NodeId) -> bool {
        match self.0.binary_search(&node) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, node);
                true
            }
        }
    }

    /// Takes `node` out; whether it was there.
    pub fn remove(&mut self, node: NodeId) -> bool {
        match self.0.binary_search(&node) {
            Ok(at) => {
                self.0.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    /// Keeps those that `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(NodeId) -> bool) {
        self.0.retain(|node| keep(*node));
    }

    /// Whether there is anyone but `node`.
    #[must_use]
    pub fn has_other_than(&self, node: NodeId) -> bool {
        self.0.iter().any(|other| *other != node)
    }
}

impl Clone for NodeSet {
    /// As bytes: a state has thousands of sets, and each command looks at copies of many.
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

impl Deref for NodeSet {
    type Target = [NodeId];

    fn deref(&self) -> &[NodeId] {
        &self.0
    }
}

/// Members in ascending order, each once, with the epoch at which it came in: one that leaves and comes back is another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learners(SmallVec<[(NodeId, Epoch); 2]>);

impl Learners {
    /// Adds `node` if it is not there.
    pub fn insert(&mut self, node: NodeId, since: Epoch) {
        if let Err(at) = self.0.binary_search_by_key(&node, |(node, _)| *node) {
            self.0.insert(at, (node, since));
        }
    }

    /// Takes `node` out; whether it was there.
    pub fn remove(&mut self, node: NodeId) -> bool {
        let before = self.len();
        self.retain(|known| known != node);
        self.len() < before
    }

    /// Keeps those that `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(NodeId) -> bool) {
        self.0.retain(|(node, _)| keep(*node));
    }

    /// The epoch at which `node` came in, if it is there.
    #[must_use]
    pub fn since(&self, node: NodeId) -> Option<Epoch> {
        self.0.iter().find(|(known, _)| *known == node).map(|(_, since)| *since)
    }

    /// Whether `node` is there.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.since(node).is_some()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.with_epochs().map(|(node, _)| node)
    }

    /// All of them, with their epochs.
    pub fn with_epochs(&self) -> impl Iterator<Item = (NodeId, Epoch)> + '_ {
        self.0.iter().copied()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<Nodes: IntoIterator<Item = NodeId>>(nodes: Nodes) -> Self {
        let mut set = Self::new();
        for node in nodes {
            set.insert(node);
        }
        set
    }
}

impl<'a> IntoIterator for &'a NodeSet {
    type Item = &'a NodeId;
    type IntoIter = std::slice::Iter<'a, NodeId>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
