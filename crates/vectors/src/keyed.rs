//! A graph whose nodes have keys: those of the rows that the vectors are of.
//!
//! A key is bytes whose order is that of the rows, so that a deletion of a range finds what it covers. A key has one node at most; with another vector it
//! gets another node, and the one it had dies.

use crate::Metric;
use crate::codes::OwnCode;
use crate::graph::Graph;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::rc::Rc;

/// What memory a key takes besides its bytes: twice a pointer, the count of its owners, its share of a node of the map.
const KEY_BYTES: usize = 112;
/// The beam of a search, at least.
const SEARCH_BEAM_MIN: usize = 720;
/// Nodes that a step of a repair looks at.
const REPAIRED_AT_ONCE: usize = 8;
/// Keys that a step looks at whose range was deleted.
const REMOVED_AT_ONCE: usize = 256;

/// What is known of a vector besides its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was written: deletions hide what is as old or older.
    pub timestamp: i64,
    /// The second from which on nobody sees it; 0 is never.
    pub expires_at_s: u32,
}

impl Entry {
    fn is_live(self, now_s: u32) -> bool {
        self.expires_at_s == 0 || self.expires_at_s > now_s
    }
}

pub(crate) struct Node {
    pub(crate) key: Rc<[u8]>,
    pub(crate) entry: Entry,
    /// Whether it is from an image and no row has been seen that it is of.
    pub(crate) is_unseen: bool,
}

/// What was written up to a time of the keys from one on to another is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Removal {
    from: Box<[u8]>,
    to: Box<[u8]>,
    until: i64,
}

/// A graph with a key for each node.
pub struct KeyedGraph {
    pub(crate) graph: Graph,
    pub(crate) nodes: Vec<Option<Node>>,
    pub(crate) ids: BTreeMap<Rc<[u8]>, u32>,
    pub(crate) key_bytes: usize,
    /// Keys whose vectors have no code: they are candidates of every search.
    odd: BTreeMap<Rc<[u8]>, Entry>,
    /// Ranges that were deleted and may still have nodes.
    removals: VecDeque<Removal>,
    /// The last one that was done: a row that changes in a partition which was deleted once tells of it again.
    last_removal: Option<Removal>,
    /// The last key that the first one of them has looked at.
    removed_to: Option<Rc<[u8]>>,
    /// Where the look for expired vectors goes on.
    next_expiry: u32,
    /// Nodes that came or went.
    changes: u64,
}

impl KeyedGraph {
    /// An empty graph of vectors with so many numbers.
    #[must_use]
    pub fn new(metric: Metric, dimensions: usize, seed: u64) -> Self {
        Self {
            graph: Graph::new(metric, dimensions, seed),
            nodes: Vec::new(),
            ids: BTreeMap::new(),
            key_bytes: 0,
            odd: BTreeMap::new(),
            removals: VecDeque::new(),
            last_removal: None,
            removed_to: None,
            next_expiry: 0,
            changes: 0,
        }
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Vectors that it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len() + self.odd.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Vectors that every search looks at, one by one.
    #[must_use]
    pub fn unlinked(&self) -> usize {
        self.graph.waiting() + self.odd.len()
    }

    /// How many vectors came or went so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The key's row has this vector now.
    pub fn put(&mut self, key: &[u8], vector: impl ExactSizeIterator<Item = f32> + Clone, entry: Entry) {
        let Some(code) = self.graph.encode(vector.clone()) else {
            self.remove(key);
            let has_direction = self.graph.metric() != Metric::Cosine || vector.clone().any(|value| value != 0.0);
            if has_direction && vector.len() == self.graph.dimensions() {
                self.odd.insert(key.into(), entry);
            }
            return;
        };
        self.odd.remove(key);
        if let Some(id) = self.ids.get(key).copied() {
            if self.graph.codes.get(id) == code.borrow() {
                if let Some(node) = &mut self.nodes[id as usize] {
                    (node.entry, node.is_unseen) = (entry, false);
                }
                return;
            }
            self.forget(id);
        }
        self.add(key.into(), &code, entry);
    }

    fn add(&mut self, key: Rc<[u8]>, code: &OwnCode, entry: Entry) {
        let id = self.graph.add(code.borrow());
        self.place(id, key, entry, false);
        self.changes += 1;
    }

    pub(crate) fn place(&mut self, id: u32, key: Rc<[u8]>, entry: Entry, is_unseen: bool) {
        if self.nodes.len() <= id as usize {
            self.nodes.resize_with(id as usize + 1, || None);
        }
        self.key_bytes += key.len() + KEY_BYTES;
        self.ids.insert(Rc::clone(&key), id);
        self.nodes[id as usize] = Some(Node { key, entry, is_unseen });
    }

    /// The key's row has no vector any more.
    pub fn remove(&mut self, key: &[u8]) {
        self.odd.remove(key);
        if let Some(id) = self.ids.get(key).copied() {
            self.forget(id);
        }
    }

    /// What was written up to a time, of the keys from one on to another, is gone: it leaves in steps to come.
    pub fn remove_range(&mut self, from: &[u8], to: &[u8], until: i64) {
        let removal = Removal { from: from.into(), to: to.into(), until };
        let is_known = self.last_removal.as_ref() == Some(&removal) || self.removals.back() == Some(&removal);
        if from < to && !is_known {
            self.odd.retain(|key, entry| !(from <= &**key && &**key < to && entry.timestamp <= until));
            self.removals.push_back(removal);
        }
    }

    /// Goes on with the first range that was deleted.
    fn remove_some(&mut self, Removal { from, to, until }: &Removal, after: Option<Rc<[u8]>>) -> Option<Rc<[u8]>> {
        let start = after.as_deref().map_or(Bound::Included(&**from), Bound::Excluded);
        let some: Vec<(Rc<[u8]>, u32)> = self
            .ids
            .range::<[u8], _>((start, Bound::Excluded(&**to)))
            .take(REMOVED_AT_ONCE)
            .map(|(key, id)| (Rc::clone(key), *id))
            .collect();
        for (_, id) in &some {
            if self.nodes[*id as usize].as_ref().is_some_and(|node| node.entry.timestamp <= *until) {
                self.forget(*id);
            }
        }
        some.into_iter().nth(REMOVED_AT_ONCE - 1).map(|(key, _)| key)
    }

    fn forget(&mut self, id: u32) {
        self.drop_node(id);
        self.changes += 1;
    }

    pub(crate) fn drop_node(&mut self, id: u32) {
        if let Some(node) = self.nodes[id as usize].take() {
            self.ids.remove(&node.key);
            self.key_bytes -= node.key.len() + KEY_BYTES;
        }
        self.graph.kill(id);
    }

    /// Removes what came with an image and was never seen again. Looks at so many nodes from one on, and returns where to go on.
    pub fn remove_unseen(&mut self, from: u32, nodes: u32) -> Option<u32> {
        let end = (self.nodes.len() as u32).min(from.saturating_add(nodes));
        for id in from..end {
            if self.nodes[id as usize].as_ref().is_some_and(|node| node.is_unseen) {
                self.forget(id);
            }
        }
        ((end as usize) < self.nodes.len()).then_some(end)
    }

    /// Looks at some more nodes for vectors that have expired, and removes them.
    pub fn expire(&mut self, now_s: u32, nodes: u32) {
        for _ in 0..nodes.min(self.nodes.len() as u32) {
            let id = self.next_expiry % self.nodes.len() as u32;
            if self.nodes[id as usize].as_ref().is_some_and(|node| !node.entry.is_live(now_s)) {
                self.forget(id);
            }
            self.next_expiry = id + 1;
        }
        self.odd.retain(|_, entry| entry.is_live(now_s));
    }

    /// Whether [`KeyedGraph::step`] has something to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.removals.is_empty() || self.graph.waiting() > 0 || self.graph.needs_repair()
    }

    /// Removes some vectors of a deleted range, links one, or repairs some nodes.
    pub fn step(&mut self) {
        if let Some(removal) = self.removals.front().cloned() {
            let after = self.removed_to.take();
            self.removed_to = self.remove_some(&removal, after);
            self.graph.scratch.get_mut().compared += REMOVED_AT_ONCE as u64;
            if self.removed_to.is_none() {
                self.last_removal = self.removals.pop_front();
            }
        } else if !self.graph.link_next() && self.graph.needs_repair() {
            self.graph.repair_some(REPAIRED_AT_ONCE);
            for id in self.graph.take_lonely() {
                self.add_again(id);
            }
        }
    }

    /// A node that a search would hardly find becomes another one, which is linked anew.
    fn add_again(&mut self, id: u32) {
        let Some(Node { key, entry, .. }) = &self.nodes[id as usize] else { return };
        let (key, entry, code) = (Rc::clone(key), *entry, self.graph.codes.get(id).owned());
        self.forget(id);
        self.add(key, &code, entry);
    }

    /// Keys whose vectors are likely the nearest of those that `accept` takes, nearest first: about `count`. `None` for a vector that cannot be compared by
    /// codes.
    #[must_use]
    pub fn search(
        &self,
        vector: impl ExactSizeIterator<Item = f32> + Clone,
        count: usize,
        now_s: u32,
        accept: &dyn Fn(&[u8]) -> bool,
    ) -> Option<Vec<Rc<[u8]>>> {
        let code = self.graph.encode(vector)?;
        let accepts = |id: u32| self.nodes[id as usize].as_ref().is_some_and(|node| node.entry.is_live(now_s) && accept(&node.key));
        let near = self.graph.search(code.borrow(), count, SEARCH_BEAM_MIN.max(2 * count), &accepts);
        let keys = near.iter().filter_map(|near| self.nodes[near.id as usize].as_ref()).map(|node| Rc::clone(&node.key));
        let odd = self.odd.keys().filter(|key| accept(key)).cloned();
        Some(odd.chain(keys).collect())
    }

    /// What it takes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let odd: usize = self.odd.len() * (KEY_BYTES + 32);
        self.graph.bytes() + self.nodes.capacity() * size_of::<Option<Node>>() + self.key_bytes + odd
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
