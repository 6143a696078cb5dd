//! The pages of one partition: ranges of clustering keys whose rows lie together in one record of the log.
//!
//! A row of such a range that is also in the partition's map of single rows was written after the page: it lies over it.
//!
//! Invariants: ranges do not overlap; a page without an upper bound of its own ends where the next one starts.

use super::bound_key::BoundKey;
use crate::format::checkpoint::Malformed;
use crate::location::Location;
use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

/// A page, kept under the lower bound of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) location: Location,
    pub(crate) rows: u32,
    /// Rows that came to lie over the page since it was made, at most.
    pub(crate) overlay: u32,
    /// The end of the range, exclusive; `None` where the next page starts.
    high: Option<Box<[u8]>>,
}

/// A page that takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewPage {
    pub(crate) low: Box<[u8]>,
    pub(crate) high: Box<[u8]>,
    pub(crate) location: Location,
    pub(crate) rows: u32,
}

/// What a page costs in the map besides its bounds: nodes are little more than half full where a series grows at its end.
const ENTRY_BYTES: usize = (size_of::<BoundKey>() + size_of::<Page>()) * 2;

/// Pages go into a checkpoint in entries of about this length.
const ENCODE_BYTES: usize = 32 << 10;

/// All pages of a partition.
#[derive(Debug, Default)]
pub(crate) struct PageMap {
    pages: BTreeMap<BoundKey, Page>,
    rows: usize,
    bound_bytes: usize,
}

impl PageMap {
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Rows in all pages, those that others lie over included.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bound_bytes + self.pages.len() * ENTRY_BYTES
    }

    /// The page in whose range the key falls, with its lower bound.
    #[inline]
    pub(crate) fn covering(&self, key: &[u8]) -> Option<(&[u8], &Page)> {
        if self.is_behind(key) {
            return None;
        }
        let (low, page) = self.pages.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        page.high.as_ref().is_none_or(|high| key < &**high).then_some((low, page))
    }

    /// The page whose range starts here.
    pub(crate) fn at(&self, low: &[u8]) -> Option<&Page> {
        self.pages.get(low)
    }

    pub(crate) fn set_location(&mut self, low: &[u8], location: Location) {
        self.pages.get_mut(low).expect("the page was just found").location = location;
    }

    /// The end of a page's range, exclusive.
    pub(crate) fn high_of<'a>(&'a self, low: &[u8], page: &'a Page) -> &'a [u8] {
        match &page.high {
            Some(high) => high,
            None => self.next_low(low).expect("a page without an upper bound has one after it"),
        }
    }

    /// Where the first page after this key starts.
    pub(crate) fn next_low(&self, key: &[u8]) -> Option<&[u8]> {
        self.pages.range::<[u8], _>((Bound::Excluded(key), Bound::Unbounded)).next().map(|(low, _)| &**low)
    }

    /// Where the last page that starts before this key ends.
    pub(crate) fn end_before(&self, key: &[u8]) -> Option<&[u8]> {
        let (low, page) = self.pages.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(key))).next_back()?;
        Some(self.high_of(low, page))
    }

    /// Whether all pages end before the key, as they do where a series grows.
    pub(crate) fn is_behind(&self, key: &[u8]) -> bool {
        self.pages.last_key_value().is_none_or(|(_, page)| page.high.as_ref().is_some_and(|high| **high <= *key))
    }

    /// A row was written: counts it if it lies over a page. True when the page has got `limit` more of them.
    pub(crate) fn count_over(&mut self, key: &[u8], limit: u32) -> bool {
        if self.is_behind(key) {
            return false;
        }
        let below = self.pages.range_mut::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        let Some((_, page)) = below.filter(|(_, page)| page.high.as_ref().is_none_or(|high| key < &**high)) else { return false };
        page.overlay = page.overlay.saturating_add(1);
        page.overlay.is_multiple_of(limit)
    }

    /// So many rows lie over a new page.
    pub(crate) fn set_overlay(&mut self, low: &[u8], rows: u32) {
        if let Some(page) = self.pages.get_mut(low) {
            page.overlay = rows;
        }
    }

    /// Takes a page out.
    pub(crate) fn take(&mut self, low: &[u8]) -> Option<Page> {
        let (key, page) = self.pages.remove_entry(low)?;
        self.rows -= page.rows as usize;
        self.bound_bytes -= key.heap_bytes() + page.high.as_ref().map_or(0, |high| high.len());
        // The one before ended where this one started.
        if let Some((_, before)) = self.pages.range_mut::<[u8], _>((Bound::Unbounded, Bound::Excluded(low))).next_back()
            && before.high.is_none()
        {
            self.bound_bytes += key.len();
            before.high = Some((*key).into());
        }
        Some(page)
    }

    fn put(&mut self, new: NewPage) {
        if let Some((_, before)) = self.pages.range_mut::<[u8], _>((Bound::Unbounded, Bound::Excluded(&*new.low))).next_back()
            && let Some(high) = before.high.take_if(|high| **high == *new.low)
        {
            self.bound_bytes -= high.len();
        }
        let high = (!self.pages.contains_key(&*new.high)).then_some(new.high);
        let low = BoundKey::from(&*new.low);
        self.rows += new.rows as usize;
        self.bound_bytes += low.heap_bytes() + high.as_ref().map_or(0, |high| high.len());
        self.pages.insert(low, Page { location: new.location, rows: new.rows, overlay: 0, high });
    }

    /// Puts new pages, which fill `low..high`, in the place of all that have a part of that range. Returns where those were.
    pub(crate) fn replace(&mut self, low: &[u8], high: &[u8], new: impl IntoIterator<Item = NewPage>) -> Vec<Location> {
        let mut old = Vec::new();
        let before = self.pages.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(low))).next_back();
        if let Some((before, page)) = before
            && self.high_of(before, page) > low
        {
            // Only what damage left behind is cut by a later page; what it had outside of that page's range was superseded, too.
            let before = before.clone();
            old.extend(self.take(&before).map(|page| page.location));
        }
        while let Some((inside, _)) = self.pages.range::<[u8], _>((Bound::Included(low), Bound::Excluded(high))).next() {
            let inside = inside.clone();
            old.extend(self.take(&inside).map(|page| page.location));
        }
        new.into_iter().for_each(|page| self.put(page));
        old
    }

    /// The pages that have a part of the range, from either end. The bounds must not exclude everything.
    pub(crate) fn range<'a>(&'a self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> PageIter<'a> {
        let first = match from {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(key) | Bound::Excluded(key) => Bound::Included(self.covering(key).map_or(key, |(low, _)| low)),
        };
        PageIter { range: Some(self.pages.range::<[u8], _>((first, to))) }
    }

    /// Appends pages from `low` on for a checkpoint, each as location 8, rows 4, bytes of the bounds 2 and 2, bounds. Returns where the next
    /// ones start, if there are more.
    pub(crate) fn encode(&self, low: &[u8], device: impl Fn(Location) -> Location, out: &mut Vec<u8>) -> Option<&[u8]> {
        let start = out.len();
        for (low, page) in self.pages.range::<[u8], _>((Bound::Included(low), Bound::Unbounded)) {
            if out.len() - start >= ENCODE_BYTES {
                return Some(low);
            }
            let high = self.high_of(low, page);
            out.extend_from_slice(&device(page.location).word().to_le_bytes());
            out.extend_from_slice(&page.rows.to_le_bytes());
            for bound in [low, high] {
                out.extend_from_slice(&(bound.len() as u16).to_le_bytes());
            }
            out.extend_from_slice(low);
            out.extend_from_slice(high);
        }
        None
    }

    /// The pages that `encode` has written, in order.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Vec<NewPage>, Malformed> {
        let mut pages: Vec<NewPage> = Vec::new();
        while !bytes.is_empty() {
            let (header, rest) = bytes.split_first_chunk::<16>().ok_or(Malformed)?;
            let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            let length = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
            let location = Location::from_word(u64::from(word(0)) | u64::from(word(4)) << 32);
            let (low, rest) = rest.split_at_checked(length(12)).ok_or(Malformed)?;
            let (high, rest) = rest.split_at_checked(length(14)).ok_or(Malformed)?;
            if low >= high || pages.last().is_some_and(|before| *before.high > *low) {
                return Err(Malformed);
            }
            pages.push(NewPage { low: low.into(), high: high.into(), location, rows: word(8) });
            bytes = rest;
        }
        Ok(pages)
    }

    /// Where the last page ends.
    pub(crate) fn end(&self) -> Option<&[u8]> {
        self.pages.last_key_value().map(|(low, page)| self.high_of(low, page))
    }

    /// Where the pages are.
    pub(crate) fn locations(&self) -> impl Iterator<Item = Location> + '_ {
        self.pages.values().map(|page| page.location)
    }
}

/// Pages in order, from both ends.
pub(crate) struct PageIter<'a> {
    range: Option<btree_map::Range<'a, BoundKey, Page>>,
}

impl PageIter<'_> {
    pub(crate) fn empty() -> Self {
        Self { range: None }
    }
}

impl<'a> Iterator for PageIter<'a> {
    type Item = (&'a [u8], &'a Page);

    fn next(&mut self) -> Option<Self::Item> {
        self.range.as_mut()?.next().map(|(low, page)| (&**low, page))
    }
}

impl DoubleEndedIterator for PageIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.range.as_mut()?.next_back().map(|(low, page)| (&**low, page))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::location::SegmentId;
    use base::Rng;

    fn location(number: u32) -> Location {
        Location::record(SegmentId(number), 4096, 32)
    }

    fn key(number: u64) -> Box<[u8]> {
        Box::new([(number >> 8) as u8, number as u8])
    }

    /// Pages as a list of (low, high, number), the plain way.
    fn agrees(map: &PageMap, model: &[(u64, u64, u32)]) {
        assert_eq!((map.len(), map.rows()), (model.len(), model.iter().map(|(low, high, _)| (high - low) as usize).sum()));
        let bounds: usize = map.pages.iter().map(|(low, page)| low.heap_bytes() + page.high.as_ref().map_or(0, |high| high.len())).sum();
        assert_eq!(map.bound_bytes, bounds);
        for probe in 0..300 {
            let expected = model.iter().find(|(low, high, _)| (*low..*high).contains(&probe));
            let found = map.covering(&key(probe));
            assert_eq!(
                found.map(|(low, page)| (low.into(), page.location)),
                expected.map(|(low, _, number)| (key(*low), location(*number)))
            );
            assert_eq!(found.map(|(low, page)| map.high_of(low, page).into()), expected.map(|(_, high, _)| key(*high)));
            let end = model.iter().rev().find(|(low, ..)| *low < probe).map(|(_, high, _)| key(*high));
            assert_eq!(map.end_before(&key(probe)).map(Box::from), end);
        }
        for (from, to) in [(0, 300), (17, 90), (100, 101)] {
            let expected: Vec<u32> = model.iter().filter(|(low, high, _)| *low < to && *high > from).map(|page| page.2).collect();
            let (low, high) = (key(from), key(to));
            let numbers =
                |iter: &mut dyn Iterator<Item = (&[u8], &Page)>| iter.map(|(_, page)| page.location.segment().0).collect::<Vec<_>>();
            assert_eq!(numbers(&mut map.range(Bound::Included(&low), Bound::Excluded(&high))), expected);
            let mut backward = numbers(&mut map.range(Bound::Included(&low), Bound::Excluded(&high)).rev());
            backward.reverse();
            assert_eq!(backward, expected);
        }
    }

    #[test]
    fn agrees_with_a_list_of_ranges() {
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let mut map = PageMap::default();
            let mut model: Vec<(u64, u64, u32)> = Vec::new();
            for step in 0..60 {
                let low = rng.below(250);
                let middle = low + 1 + rng.below(20);
                let high = middle + 1 + rng.below(20);
                if rng.below(4) == 0 && !model.is_empty() {
                    let (low, high, number) = model.remove(rng.below(model.len() as u64) as usize);
                    let page = map.take(&key(low)).unwrap();
                    assert_eq!((page.location, u64::from(page.rows)), (location(number), high - low));
                } else {
                    let page = |low: u64, high: u64, number| NewPage {
                        low: key(low),
                        high: key(high),
                        location: location(number),
                        rows: (high - low) as u32,
                    };
                    let new = [page(low, middle, step * 2), page(middle, high, step * 2 + 1)];
                    let mut old = map.replace(&key(low), &key(high), new);
                    old.sort();
                    let overlaps = |page: &(u64, u64, u32)| page.0 < high && page.1 > low;
                    let mut expected: Vec<Location> = model.iter().filter(|page| overlaps(page)).map(|page| location(page.2)).collect();
                    expected.sort();
                    assert_eq!(old, expected);
                    model.retain(|page| !overlaps(page));
                    model.extend([(low, middle, step * 2), (middle, high, step * 2 + 1)]);
                    model.sort_unstable();
                }
                agrees(&map, &model);
            }
        }
    }

    #[test]
    fn rows_over_a_page_are_counted() {
        let mut map = PageMap::default();
        map.replace(&key(10), &key(20), [NewPage { low: key(10), high: key(20), location: location(1), rows: 3 }]);
        assert!(!map.count_over(&key(9), 1) && !map.count_over(&key(20), 1));
        let due: Vec<bool> = (0..6).map(|step| map.count_over(&key(10 + step), 3)).collect();
        assert_eq!(due, [false, false, true, false, false, true]);
        assert_eq!(map.at(&key(10)).unwrap().overlay, 6);
    }
}
