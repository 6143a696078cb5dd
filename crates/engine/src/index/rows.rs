//! The ordered map of one partition: clustering key → location. One leaf for small partitions, a tree of leaves for wide ones; and
//! the pages that rows of wide partitions have moved to.

use super::leaf::Leaf;
use super::pages::{NewPage, PageIter, PageMap};
use crate::format::checkpoint::Malformed;
use crate::location::Location;
use std::collections::{BTreeMap, btree_map};
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
    Many(BTreeMap<Box<[u8]>, Leaf>),
}

impl Default for Leaves {
    fn default() -> Self {
        Self::One(Leaf::default())
    }
}

/// What a leaf costs in the tree besides its rows and its bound, nodes being two thirds full.
const TREE_ENTRY_BYTES: usize = (size_of::<Box<[u8]>>() + size_of::<Leaf>()) * 3 / 2;

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
        let before = self.range(Bound::Unbounded, Bound::Included(key)).next_back().map(|(before, _)| before);
        let after = self.range(Bound::Excluded(key), Bound::Unbounded).next().map(|(after, _)| after);
        (before != Some(key)).then_some([before, after])
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
        let bound: Box<[u8]> = right.key(0).into();
        let added = leaf.heap_bytes() + right.heap_bytes() + bound.len() + TREE_ENTRY_BYTES;
        self.heap_bytes = self.heap_bytes + added - before;
        if let Leaves::One(leaf) = &mut self.leaves {
            let first = std::mem::take(leaf);
            self.leaves = Leaves::Many(BTreeMap::from([(Box::default(), first)]));
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
            self.heap_bytes += bound.len() + 2 * TREE_ENTRY_BYTES;
            self.leaves = Leaves::Many(BTreeMap::from([(Box::default(), first), (bound.into(), leaf)]));
            return Ok(());
        };
        let last = tree.last_key_value().filter(|(_, last)| last.key(last.len() - 1) >= bound);
        if last.is_some() {
            return Err(Malformed);
        }
        self.heap_bytes += bound.len() + TREE_ENTRY_BYTES;
        tree.insert(bound.into(), leaf);
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
                self.heap_bytes -= bytes + bound.len() + TREE_ENTRY_BYTES;
            }
        }
        Some(location)
    }

    /// Takes out the single rows in `low..high` that `superseded` says so of.
    fn take_singles(&mut self, low: &[u8], high: &[u8], superseded: &impl Fn(Location) -> bool) -> Vec<Location> {
        let mut taken = Vec::new();
        let take = |leaf: &mut Leaf, taken: &mut Vec<Location>| {
            let first = leaf.search(low).unwrap_or_else(|row| row);
            let end = leaf.search(high).unwrap_or_else(|row| row);
            leaf.take_rows(first..end, superseded, taken);
        };
        match &mut self.leaves {
            Leaves::One(leaf) => {
                let before = leaf.heap_bytes();
                take(leaf, &mut taken);
                self.heap_bytes = self.heap_bytes + leaf.heap_bytes() - before;
            }
            Leaves::Many(tree) => {
                let first = tree.range::<[u8], _>((Bound::Unbounded, Bound::Included(low))).next_back().map(|(bound, _)| bound.clone());
                let first = first.unwrap_or_default();
                let mut emptied = Vec::new();
                for (bound, leaf) in tree.range_mut::<[u8], _>((Bound::Included(&*first), Bound::Excluded(high))) {
                    let before = leaf.heap_bytes();
                    take(leaf, &mut taken);
                    self.heap_bytes = self.heap_bytes + leaf.heap_bytes() - before;
                    // The leaf with the empty bound stays: every key needs a leaf.
                    if leaf.len() == 0 && !bound.is_empty() {
                        emptied.push(bound.clone());
                    }
                }
                for bound in emptied {
                    let bytes = tree.remove(&bound).map_or(0, |leaf| leaf.heap_bytes());
                    self.heap_bytes -= bytes + bound.len() + TREE_ENTRY_BYTES;
                }
            }
        }
        self.count -= taken.len();
        taken
    }

    /// Takes out the single rows that `is_over` names and that lie over no page, from the leaf that `from` falls in on. Stops before a leaf
    /// once `budget` rows were looked at, and returns its bound.
    pub(crate) fn take_over(
        &mut self,
        from: &[u8],
        budget: &mut usize,
        is_over: &impl Fn(Location) -> bool,
        taken: &mut Vec<Location>,
    ) -> Option<Box<[u8]>> {
        let Self { leaves, pages, count, heap_bytes } = self;
        let mut sweep = |leaf: &mut Leaf| {
            *budget = budget.saturating_sub(leaf.len().max(1));
            let (bytes_before, before) = (leaf.heap_bytes(), taken.len());
            match pages {
                None => leaf.take_rows(0..leaf.len(), is_over, taken),
                Some(pages) => {
                    for row in (0..leaf.len()).rev() {
                        if is_over(leaf.location(row)) && pages.covering(leaf.key(row)).is_none() {
                            taken.push(leaf.remove(row));
                        }
                    }
                }
            }
            *count -= taken.len() - before;
            *heap_bytes = *heap_bytes + leaf.heap_bytes() - bytes_before;
            *budget
        };
        let tree = match leaves {
            Leaves::One(leaf) => {
                sweep(leaf);
                return None;
            }
            Leaves::Many(tree) => tree,
        };
        let first = tree.range::<[u8], _>((Bound::Unbounded, Bound::Included(from))).next_back().map(|(bound, _)| bound.clone());
        let (mut next, mut left, mut emptied) = (None, usize::MAX, Vec::new());
        for (bound, leaf) in tree.range_mut::<[u8], _>((Bound::Included(&*first.unwrap_or_default()), Bound::Unbounded)) {
            if left == 0 {
                next = Some(bound.clone());
                break;
            }
            left = sweep(leaf);
            // The leaf with the empty bound stays: every key needs a leaf.
            if leaf.len() == 0 && !bound.is_empty() {
                emptied.push(bound.clone());
            }
        }
        for bound in emptied {
            let bytes = tree.remove(&bound).map_or(0, |leaf| leaf.heap_bytes());
            *heap_bytes -= bytes + bound.len() + TREE_ENTRY_BYTES;
        }
        next
    }

    /// Pages that fill `low..high` take the place of the pages that were there and of the single rows that they supersede. Returns where
    /// those were.
    pub(crate) fn replace_pages(
        &mut self,
        (low, high): (&[u8], &[u8]),
        new: impl IntoIterator<Item = NewPage>,
        superseded: impl Fn(Location) -> bool,
    ) -> Vec<Location> {
        let mut old = self.take_singles(low, high, &superseded);
        let over = self.range(Bound::Included(low), Bound::Excluded(high)).count() as u32;
        let pages = self.pages.get_or_insert_default();
        old.extend(pages.replace(low, high, new));
        if over > 0 {
            pages.set_overlay(low, over);
        }
        old
    }

    /// Appends a page that comes after all others, as a checkpoint has it.
    ///
    /// # Errors
    /// When it does not come after all others.
    pub(crate) fn append_page(&mut self, page: NewPage) -> Result<(), Malformed> {
        if self.pages().and_then(PageMap::end).is_some_and(|end| end > &*page.low) {
            return Err(Malformed);
        }
        let (low, high) = (page.low.clone(), page.high.clone());
        self.replace_pages((&low, &high), [page], |_| false);
        Ok(())
    }

    /// Points a page elsewhere.
    pub(crate) fn relocate_page(&mut self, low: &[u8], location: Location) {
        if let Some(pages) = &mut self.pages {
            pages.set_location(low, location);
        }
    }

    /// Takes out a page that has no rows.
    pub(crate) fn remove_page(&mut self, low: &[u8]) {
        if let Some(pages) = &mut self.pages {
            let page = pages.take(low);
            debug_assert!(page.is_some_and(|page| page.rows == 0), "a page with rows is only ever replaced");
            if pages.len() == 0 {
                self.pages = None;
            }
        }
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

    /// The pages that have a part of the range, from either end.
    pub(crate) fn page_range<'a>(&'a self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> PageIter<'a> {
        match &self.pages {
            Some(pages) if !excludes_all(from, to) => pages.range(from, to),
            _ => PageIter::empty(),
        }
    }

    /// The single rows within the bounds, from either end.
    pub(crate) fn range<'a>(&'a self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> RowsIter<'a> {
        if excludes_all(from, to) {
            return RowsIter { leaves: LeafIter::One(None), front: None, back: None };
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
        let mut iter = RowsIter { leaves, front: None, back: None };
        iter.front = iter.leaves.next().map(|leaf| Run::new(leaf, from, to));
        iter.back = iter.leaves.next_back().map(|leaf| Run::new(leaf, from, to));
        iter
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

enum LeafIter<'a> {
    One(Option<&'a Leaf>),
    Many(btree_map::Range<'a, Box<[u8]>, Leaf>),
}

impl<'a> LeafIter<'a> {
    fn next(&mut self) -> Option<&'a Leaf> {
        match self {
            Self::One(leaf) => leaf.take(),
            Self::Many(range) => range.next().map(|(_, leaf)| leaf),
        }
    }

    fn next_back(&mut self) -> Option<&'a Leaf> {
        match self {
            Self::One(leaf) => leaf.take(),
            Self::Many(range) => range.next_back().map(|(_, leaf)| leaf),
        }
    }
}

/// The rows `next..end` of a leaf.
#[derive(Clone, Copy)]
struct Run<'a> {
    leaf: &'a Leaf,
    next: usize,
    end: usize,
}

impl<'a> Run<'a> {
    fn new(leaf: &'a Leaf, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Self {
        let next = match from {
            Bound::Unbounded => 0,
            Bound::Included(key) => leaf.search(key).unwrap_or_else(|row| row),
            Bound::Excluded(key) => leaf.search(key).map_or_else(|row| row, |row| row + 1),
        };
        let end = match to {
            Bound::Unbounded => leaf.len(),
            Bound::Included(key) => leaf.search(key).map_or_else(|row| row, |row| row + 1),
            Bound::Excluded(key) => leaf.search(key).unwrap_or_else(|row| row),
        };
        Self { leaf, next, end: end.max(next) }
    }

    fn all(leaf: &'a Leaf) -> Self {
        Self { leaf, next: 0, end: leaf.len() }
    }

    fn front(&mut self) -> Option<(&'a [u8], Location)> {
        if self.next == self.end {
            return None;
        }
        self.next += 1;
        Some((self.leaf.key(self.next - 1), self.leaf.location(self.next - 1)))
    }

    fn back(&mut self) -> Option<(&'a [u8], Location)> {
        if self.next == self.end {
            return None;
        }
        self.end -= 1;
        Some((self.leaf.key(self.end), self.leaf.location(self.end)))
    }
}

/// Rows in order, from both ends.
pub(crate) struct RowsIter<'a> {
    leaves: LeafIter<'a>,
    front: Option<Run<'a>>,
    back: Option<Run<'a>>,
}

impl<'a> Iterator for RowsIter<'a> {
    type Item = (&'a [u8], Location);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(run) = &mut self.front {
                if let Some(row) = run.front() {
                    return Some(row);
                }
                self.front = None;
            }
            match self.leaves.next() {
                Some(leaf) => self.front = Some(Run::all(leaf)),
                None => return self.back.as_mut()?.front(),
            }
        }
    }
}

impl DoubleEndedIterator for RowsIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(run) = &mut self.back {
                if let Some(row) = run.back() {
                    return Some(row);
                }
                self.back = None;
            }
            match self.leaves.next_back() {
                Some(leaf) => self.back = Some(Run::all(leaf)),
                None => return self.front.as_mut()?.back(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::location::SegmentId;
    use base::Rng;

    const LIMITS: Limits = Limits { leaf_rows: 128, overlay_rows: 64 };

    fn location(number: u64) -> Location {
        Location::record(SegmentId((number >> 18) as u32 & 0xFFFF), (number as usize & 0x3FFFF) * 16, 32)
    }

    fn number(number: u64) -> Box<[u8]> {
        number.to_be_bytes().into()
    }

    fn key(rng: &mut Rng, spread: u64) -> Vec<u8> {
        let number = rng.below(spread);
        let mut key = number.to_be_bytes()[5..].to_vec();
        key.extend(std::iter::repeat_n(7, (number % 40) as usize));
        if number == 0 { Vec::new() } else { key }
    }

    #[test]
    fn agrees_with_an_ordered_map_from_both_ends() {
        for seed in 0..12 {
            let mut rng = Rng::new(seed);
            let mut rows = Rows::default();
            let mut model = BTreeMap::new();
            let spread = [50, 1000, 5000][seed as usize % 3];
            for step in 0..6000u64 {
                let key = key(&mut rng, spread);
                match rng.below(if step < 4000 { 8 } else { 2 }) {
                    0 => assert_eq!(rows.remove(&key), model.remove(&key)),
                    1 => {
                        let known = model.contains_key(&key);
                        assert_eq!(rows.replace(&key, location(step)).is_some(), known);
                        if known {
                            model.insert(key, location(step));
                        }
                    }
                    _ => assert_eq!(rows.insert(&key, location(step), &LIMITS).before, model.insert(key, location(step))),
                }
                if step % 200 == 0 {
                    let (a, b) = (self::key(&mut rng, spread), self::key(&mut rng, spread));
                    let from = [Bound::Unbounded, Bound::Included(&a[..]), Bound::Excluded(&a[..])][rng.below(3) as usize];
                    let to = [Bound::Unbounded, Bound::Included(&b[..]), Bound::Excluded(&b[..])][rng.below(3) as usize];
                    let inside = |key: &[u8]| {
                        (match from {
                            Bound::Unbounded => true,
                            Bound::Included(from) => key >= from,
                            Bound::Excluded(from) => key > from,
                        }) && (match to {
                            Bound::Unbounded => true,
                            Bound::Included(to) => key <= to,
                            Bound::Excluded(to) => key < to,
                        })
                    };
                    let expected: Vec<_> = model.iter().filter(|(key, _)| inside(key)).map(|(key, at)| (&key[..], *at)).collect();
                    assert_eq!(rows.range(from, to).collect::<Vec<_>>(), expected, "seed {seed}");
                    assert_eq!(rows.range(from, to).rev().collect::<Vec<_>>(), expected.into_iter().rev().collect::<Vec<_>>());
                    let (mut iter, mut count) = (rows.range(from, to), 0);
                    while if rng.below(2) == 0 { iter.next() } else { iter.next_back() }.is_some() {
                        count += 1;
                    }
                    assert_eq!(count, rows.range(from, to).count());
                }
            }
            assert_eq!(rows.len(), model.len());
            assert_eq!(rows.range(Bound::Unbounded, Bound::Unbounded).count(), model.len());
            let taken: usize = std::iter::from_fn(|| rows.take_leaf()).map(|leaf| leaf.len()).sum();
            assert_eq!(taken, model.len());
        }
    }

    #[test]
    fn pages_take_the_place_of_rows_in_their_range() {
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            let limits = Limits { leaf_rows: 4 + rng.below(30) as usize, overlay_rows: 3 };
            let mut rows = Rows::default();
            let mut model = BTreeMap::new();
            let mut pages: Vec<(Vec<u8>, Vec<u8>, u32)> = Vec::new();
            for step in 0..3000u64 {
                let (low, high) = (key(&mut rng, 500), key(&mut rng, 500));
                if rng.below(50) > 0 || low >= high {
                    rows.insert(&low, location(step), &limits);
                    model.insert(low, location(step));
                    continue;
                }
                // Only every other row is superseded.
                let even = |at: Location| (at.offset() / 16).is_multiple_of(2);
                let new = NewPage { low: low.clone().into(), high: high.clone().into(), location: location(step), rows: 5 };
                let mut old = rows.replace_pages((&low, &high), [new], even);
                let in_range = |key: &[u8]| key >= &low[..] && key < &high[..];
                let mut expected: Vec<Location> = model.iter().filter(|(key, at)| in_range(key) && even(**at)).map(|(_, at)| *at).collect();
                expected.extend(pages.iter().filter(|(from, to, _)| *from < high && *to > low).map(|page| location(u64::from(page.2))));
                old.sort();
                expected.sort();
                assert_eq!(old, expected, "seed {seed}");
                model.retain(|key, at| !(in_range(key) && even(*at)));
                pages.retain(|(from, to, _)| *from >= high || *to <= low);
                pages.push((low, high, step as u32));
            }
            assert_eq!(rows.len(), model.len() + 5 * pages.len());
            let singles: Vec<_> = rows.range(Bound::Unbounded, Bound::Unbounded).map(|(key, at)| (key.to_vec(), at)).collect();
            assert_eq!(singles, model.clone().into_iter().collect::<Vec<_>>());
            assert_eq!(rows.page_range(Bound::Unbounded, Bound::Unbounded).count(), pages.len());
            for (key, at) in &model {
                assert_eq!(rows.get(key), Some(*at));
            }
            assert!(rows.replace_pages((b"", &[0xFF; 40]), [], |_| true).len() == model.len() + pages.len() && rows.is_empty());
            assert!(rows.heap_bytes() < 1000, "{} bytes left", rows.heap_bytes());
        }
    }

    #[test]
    fn many_rows_at_once_are_as_one_by_one() {
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let limits = Limits { leaf_rows: 4 + rng.below(30) as usize, overlay_rows: 3 };
            let (mut many, mut one) = (Rows::default(), Rows::default());
            let (mut end, mut step) = (1000, 0);
            for _ in 0..60 {
                if rng.below(4) == 0 {
                    let (low, high) = (rng.below(end + 10), end + rng.below(20));
                    if low < high {
                        let page = |at| NewPage { low: number(low), high: number(high), location: at, rows: 5 };
                        let replace = |rows: &mut Rows| rows.replace_pages((&number(low), &number(high)), [page(location(step))], |_| true);
                        assert_eq!(replace(&mut many), replace(&mut one), "seed {seed}");
                    }
                }
                // Mostly a series, now and then rows out of order or twice.
                let batch: Vec<(Box<[u8]>, Location)> = (0..rng.below(100))
                    .map(|_| {
                        step += 1;
                        end += rng.below(3);
                        (number(if rng.below(20) == 0 { rng.below(end) } else { end }), location(step))
                    })
                    .collect();
                let mut outcomes = Vec::new();
                many.insert_all(batch.iter().map(|(key, at)| (&**key, *at)), &limits, |inserted| outcomes.push(inserted));
                let expected = batch.iter().map(|(key, at)| one.insert(key, *at, &limits)).collect::<Vec<_>>();
                let telling = |outcomes: Vec<Inserted>| {
                    outcomes.into_iter().filter(|inserted| inserted.before.is_some() || inserted.look_at.is_some()).collect::<Vec<_>>()
                };
                assert_eq!(telling(outcomes), telling(expected), "seed {seed}");
                let all =
                    |rows: &Rows| rows.range(Bound::Unbounded, Bound::Unbounded).map(|(key, at)| (key.to_vec(), at)).collect::<Vec<_>>();
                assert_eq!((many.len(), all(&many)), (one.len(), all(&one)), "seed {seed}");
            }
        }
    }

    #[test]
    fn a_gap_ends_at_the_nearest_rows() {
        let mut rng = Rng::new(3);
        for count in [0, 1, 5, 300] {
            let (mut rows, mut model) = (Rows::default(), BTreeMap::new());
            for step in 0..count {
                let key = number(rng.below(500));
                rows.insert(&key, location(step), &LIMITS);
                model.insert(key, ());
            }
            // A leaf in the middle, and the one that every key falls in if there is no other, may be empty.
            rows.replace_pages((&number(100), &number(200)), [], |_| true);
            rows.replace_pages((&number(0), &number(20)), [], |_| true);
            model.retain(|key, ()| !(number(100)..number(200)).contains(key) && !(number(0)..number(20)).contains(key));
            for probe in 0..510 {
                let key = number(probe);
                let before = model.range(..key.clone()).next_back().map(|(key, ())| &**key);
                let after = model.range(key.clone()..).next().map(|(key, ())| &**key);
                let expected = (!model.contains_key(&key)).then_some([before, after]);
                assert_eq!(rows.gap_around(&key), expected, "{count} rows, {probe}");
            }
        }
    }

    #[test]
    fn a_growing_series_fills_its_leaves() {
        let mut rows = Rows::default();
        for first in (0..100_000u64).step_by(1000) {
            let keys: Vec<[u8; 8]> = (first..first + 1000).map(u64::to_be_bytes).collect();
            let batch = keys.iter().zip(first..).map(|(key, step)| (&key[..], location(step)));
            if first.is_multiple_of(2000) {
                rows.insert_all(batch, &LIMITS, |_| {});
            } else {
                batch.for_each(|(key, at)| _ = rows.insert(key, at, &LIMITS));
            }
        }
        let per_row = rows.heap_bytes() as f64 / rows.len() as f64;
        assert!(per_row < 24.0, "{per_row} bytes a row with keys of 8 bytes");
        for number in 0..100_000u64 {
            assert!(rows.remove(&number.to_be_bytes()).is_some());
        }
        assert!(rows.heap_bytes() < 10_000, "{} bytes left", rows.heap_bytes());
    }
}
