//! A small set of members.

use base::NodeId;
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
