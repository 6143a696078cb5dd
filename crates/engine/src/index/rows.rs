//! The ordered map of one partition: clustering key → location. One leaf for small partitions, a tree of leaves for wide ones; and
//! the pages that rows of wide partitions have moved to.

mod iter;
mod paged;

pub(crate) use iter::RowsIter;

use super::bound_key::{BoundKey, bound_between};
use super::leaf::Leaf;
use super::pages::PageMap;
use crate::format::checkpoint::Malformed;
use crate::location::Location;
use iter::LeafIter;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Bound;

/// How large things may get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Rows in a leaf.
    pub(crate) leaf_rows: usize,
    /// Rows over a page after which it is worth looking at.
    pub(crate) overlay_rows: u32,
}

/// The outcome of an insertion.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Inserted {
    /// Where the row was, if it was a single one.
    pub(crate) before: Option<Location>,
    /// A key in whose neighbourhood pages may be worth making.
    pub(crate) look_at: Option<Box<[u8]>>,
}

/// The rows of a partition.
#[derive(Default)]
pub(crate) struct Rows {
    leaves: Leaves,
    count: usize,
    heap_bytes: usize,
    /// Only partitions that have pages have the map.
    pages: Option<Box<PageMap>>,
}

enum Leaves {
    One(Leaf),
    /// Keyed by a lower bound of the leaf's keys; the first bound is empty, so every key has a leaf.
    Many(BTreeMap<BoundKey, Leaf>),
}

impl Default for Leaves {
    fn default() -> Self {
        Self::One(Leaf::default())
    }
}

/// What a leaf costs in the tree besides its rows and its bound, nodes being two thirds full.
const TREE_ENTRY_BYTES: usize = (size_of::<BoundKey>() + size_of::<Leaf>()) * 3 / 2;

impl Rows {
    /// How many rows there are; those of pages that others lie over are counted twice.
    pub(crate) fn len(&self) -> usize {
        self.count + self.pages.as_ref().map_or(0, |pages| pages.rows())
    }

    /// Whether there is neither a single row nor a page.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.pages.as_ref().is_none_or(|pages| pages.len() == 0)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.heap_bytes + self.pages.as_ref().map_or(0, |pages| size_of::<PageMap>() + pages.heap_bytes())
    }

    /// The pages, if there are any.
    pub(crate) fn pages(&self) -> Option<&PageMap> {
        self.pages.as_deref()
    }

    fn leaf(&self, key: &[u8]) -> &Leaf {
        match &self.leaves {
            Leaves::One(leaf) => leaf,
            Leaves::Many(tree) => {
                // A series grows at its end: one comparison instead of one a level and node.
                if let Some((bound, leaf)) = tree.last_key_value()
                    && **bound <= *key
                {
                    return leaf;
                }
                let range = tree.range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
                range.last_key_leaf()
            }
        }
    }

    fn leaf_mut(&mut self, key: &[u8]) -> &mut Leaf {
        match &mut self.leaves {
            Leaves::One(leaf) => leaf,
            Leaves::Many(tree) => {
                if tree.last_key_value().is_some_and(|(bound, _)| **bound <= *key) {
                    return tree.last_entry().expect("there is one").into_mut();
                }
                let range = tree.range_mut::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
                range.last_key_leaf()
            }
        }
    }

    /// The single row with this key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Location> {
        let leaf = self.leaf(key);
        leaf.search(key).ok().map(|row| leaf.location(row))
    }

    /// Points an existing row elsewhere.
    pub(crate) fn replace(&mut self, key: &[u8], location: Location) -> Option<Location> {
        let leaf = self.leaf_mut(key);
        let row = leaf.search(key).ok()?;
        Some(leaf.set_location(row, location))
    }

    /// Inserts or points elsewhere.
    pub(crate) fn insert(&mut self, key: &[u8], location: Location, limits: &Limits) -> Inserted {
        let leaf = self.leaf_mut(key);
        let before = leaf.heap_bytes();
        let row = match leaf.search(key) {
            Ok(row) => return Inserted { before: Some(leaf.set_location(row, location)), look_at: None },
            Err(row) => row,
        };
        let mut look_at = None;
        if leaf.has_room(key.len(), limits.leaf_rows) {
            leaf.insert(row, key, location);
            let after = leaf.heap_bytes();
            self.heap_bytes = self.heap_bytes + after - before;
        } else {
            look_at = Some(leaf.key(0).into());
            self.split(key, row, location);
        }
        self.count += 1;
        if let Some(pages) = &mut self.pages
            && pages.count_over(key, limits.overlay_rows)
        {
            look_at = Some(key.into());
        }
        Inserted { before: None, look_at }
    }

    /// As `insert` for many rows; `each` gets the outcomes of those that are not just appended.
    pub(crate) fn insert_all<'k>(
        &mut self,
        rows: impl Iterator<Item = (&'k [u8], Location)>,
        limits: &Limits,
        mut each: impl FnMut(Inserted),
    ) {
        let mut rows = rows.peekable();
        while let Some((key, location)) = rows.next() {
            let inserted = self.insert(key, location, limits);
            if inserted.before.is_none() {
                self.append_rows(&mut rows, limits);
            }
            each(inserted);
        }
    }

    /// Appends rows to the last leaf as long as they come after all others and after all pages: a series grows without a search.
    fn append_rows<'k>(&mut self, rows: &mut Peekable<impl Iterator<Item = (&'k [u8], Location)>>, limits: &Limits) {
        let Some((key, _)) = rows.peek() else { return };
        if self.pages.as_ref().is_some_and(|pages| !pages.is_behind(key)) {
            return;
        }
        let leaf = match &mut self.leaves {
            Leaves::One(leaf) => leaf,
            Leaves::Many(tree) => tree.last_entry().expect("a tree has a leaf").into_mut(),
        };
        let (count, bytes) = (leaf.len(), leaf.heap_bytes());
        leaf.append(rows, limits.leaf_rows);
        self.count += leaf.len() - count;
        self.heap_bytes = self.heap_bytes + leaf.heap_bytes() - bytes;
    }

    /// The nearest single rows before and after a key, between which there are none; `None` if the key itself has one.
    pub(crate) fn gap_around(&self, key: &[u8]) -> Option<[Option<&[u8]>; 2]> {
        // Most often the row is there, in another place: then this is all.
        if self.get(key).is_some() {
            return None;
        }
        let before = self.range(Bound::Unbounded, Bound::Excluded(key)).next_back().map(|(before, _)| before);
        let after = self.range(Bound::Excluded(key), Bound::Unbounded).next().map(|(after, _)| after);
        Some([before, after])
    }

    /// Splits the full leaf of `key` and puts the row in its place. A row after all others opens a leaf of its own, so that
    /// leaves of a series that grows at its end are full.
    fn split(&mut self, key: &[u8], row: usize, location: Location) {
        let leaf = self.leaf_mut(key);
        let before = leaf.heap_bytes();
        let at = if row == leaf.len() { row } else { leaf.len() / 2 };
        let mut right = leaf.split_off(at);
        if row < at || (row == at && right.len() > 0) {
            leaf.insert(row, key, location);
        } else {
            right.insert(row - at, key, location);
        }
        let bound = BoundKey::from(bound_between(leaf.key(leaf.len() - 1), right.key(0)));
        let added = leaf.heap_bytes() + right.heap_bytes() + bound.heap_bytes() + TREE_ENTRY_BYTES;
        self.heap_bytes = self.heap_bytes + added - before;
        if let Leaves::One(leaf) = &mut self.leaves {
            let first = std::mem::take(leaf);
            self.leaves = Leaves::Many(BTreeMap::from([(BoundKey::default(), first)]));
            self.heap_bytes += TREE_ENTRY_BYTES;
        }
        let Leaves::Many(tree) = &mut self.leaves else { unreachable!("made a tree just above") };
        tree.insert(bound, right);
    }

    /// Appends a leaf whose rows come after all others, as a checkpoint has it. `bound` is at or before its first key.
    ///
    /// # Errors
    /// When its rows do not come after all others.
    pub(crate) fn append(&mut self, bound: &[u8], leaf: Leaf) -> Result<(), Malformed> {
        self.count += leaf.len();
        self.heap_bytes += leaf.heap_bytes();
        let Leaves::Many(tree) = &mut self.leaves else {
            let Leaves::One(first) = &mut self.leaves else { unreachable!("there is no third kind") };
            if first.len() == 0 {
                *first = leaf;
                return Ok(());
            }
            if first.key(first.len() - 1) >= bound {
                return Err(Malformed);
            }
            let first = std::mem::take(first);
            let bound = BoundKey::from(bound);
            self.heap_bytes += bound.heap_bytes() + 2 * TREE_ENTRY_BYTES;
            self.leaves = Leaves::Many(BTreeMap::from([(BoundKey::default(), first), (bound, leaf)]));
            return Ok(());
        };
        let last = tree.last_key_value().filter(|(_, last)| last.key(last.len() - 1) >= bound);
        if last.is_some() {
            return Err(Malformed);
        }
        let bound = BoundKey::from(bound);
        self.heap_bytes += bound.heap_bytes() + TREE_ENTRY_BYTES;
        tree.insert(bound, leaf);
        Ok(())
    }

    /// The leaves from the one that `key` falls in on, with their lower bounds.
    pub(crate) fn leaves_from(&self, key: &[u8]) -> impl Iterator<Item = (&[u8], &Leaf)> {
        let (one, many) = match &self.leaves {
            Leaves::One(leaf) => (Some((&[][..], leaf)), None),
            Leaves::Many(tree) => {
                let first = tree.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
                let (first, _) = first.expect("the first leaf's bound is empty");
                (None, Some(tree.range::<[u8], _>((Bound::Included(&**first), Bound::Unbounded))))
            }
        };
        one.into_iter().chain(many.into_iter().flatten().map(|(bound, leaf)| (&**bound, leaf)))
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Location> {
        let leaf = self.leaf_mut(key);
        let row = leaf.search(key).ok()?;
        let location = leaf.remove(row);
        let (empty, bytes) = (leaf.len() == 0, leaf.heap_bytes());
        self.count -= 1;
        if empty && let Leaves::Many(tree) = &mut self.leaves {
            let bound = tree.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back().map(|(bound, _)| bound.clone());
            // The leaf with the empty bound stays: every key needs a leaf.
            if let Some(bound) = bound.filter(|bound| !bound.is_empty()) {
                tree.remove(&bound);
                self.heap_bytes -= bytes + bound.heap_bytes() + TREE_ENTRY_BYTES;
            }
        }
        Some(location)
    }

    /// The leaf that a key falls in: its bound, how many rows it has, and the bound of the next leaf if there is one.
    pub(crate) fn leaf_around(&self, key: &[u8]) -> (&[u8], usize, Option<&[u8]>) {
        match &self.leaves {
            Leaves::One(leaf) => (&[], leaf.len(), None),
            Leaves::Many(tree) => {
                let (bound, leaf) =
                    tree.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back().expect("the first leaf's bound is empty");
                let next = tree.range::<[u8], _>((Bound::Excluded(&**bound), Bound::Unbounded)).next();
                (bound, leaf.len(), next.map(|(bound, _)| &**bound))
            }
        }
    }

    /// The single rows within the bounds, from either end.
    pub(crate) fn range<'a>(&'a self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> RowsIter<'a> {
        if excludes_all(from, to) {
            return RowsIter::empty();
        }
        let leaves = match &self.leaves {
            Leaves::One(leaf) => LeafIter::One(Some(leaf)),
            Leaves::Many(tree) => {
                // The first leaf is the one that `from` falls in, whose bound is at or before it.
                let first = match from {
                    Bound::Unbounded => None,
                    Bound::Included(key) | Bound::Excluded(key) => {
                        tree.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back().map(|(bound, _)| bound)
                    }
                };
                let low = first.map_or(Bound::Unbounded, |bound| Bound::Included(&**bound));
                LeafIter::Many(tree.range::<[u8], _>((low, to)))
            }
        };
        RowsIter::new(leaves, from, to)
    }

    /// Takes a leaf of rows out, whichever is first, or all pages; the account of bytes is not kept. `None` when nothing is left.
    pub(crate) fn take_leaf(&mut self) -> Option<Vec<Location>> {
        if let Some(pages) = self.pages.take() {
            return Some(pages.locations().collect());
        }
        let leaf = match &mut self.leaves {
            Leaves::One(leaf) => std::mem::take(leaf),
            Leaves::Many(tree) => tree.pop_first()?.1,
        };
        // A leaf of a tree may be empty; the tree then goes on.
        if leaf.len() == 0 && matches!(self.leaves, Leaves::One(_)) { None } else { Some(leaf.locations().to_vec()) }
    }
}

fn excludes_all(from: Bound<&[u8]>, to: Bound<&[u8]>) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
        _ => false,
    }
}

/// The leaf that a key falls in: the last of those whose bound is at or before it.
trait LastLeaf<T> {
    fn last_key_leaf(self) -> T;
}

impl<K, T, I: DoubleEndedIterator<Item = (K, T)>> LastLeaf<T> for I {
    fn last_key_leaf(mut self) -> T {
        self.next_back().expect("the first leaf's bound is empty").1
    }
}

#[cfg(test)]
mod tests;
