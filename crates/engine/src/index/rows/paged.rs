//! Single rows move to pages, and pages are replaced.

use super::super::pages::{NewPage, PageIter, PageMap};
use super::{Leaves, Rows, TREE_ENTRY_BYTES, excludes_all};
use crate::format::checkpoint::Malformed;
use crate::index::leaf::Leaf;
use crate::location::Location;
use std::ops::Bound;

impl Rows {
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
                    self.heap_bytes -= bytes + bound.heap_bytes() + TREE_ENTRY_BYTES;
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
                next = Some((**bound).into());
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
            *heap_bytes -= bytes + bound.heap_bytes() + TREE_ENTRY_BYTES;
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
            assert!(page.is_some_and(|page| page.rows == 0), "a page with rows is only ever replaced");
            if pages.len() == 0 {
                self.pages = None;
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
}
