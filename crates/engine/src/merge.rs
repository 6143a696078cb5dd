//! The rows of a partition in order where some of them are in pages: single rows lie over the page in whose range they are.
//!
//! A page is opened when the walk reaches its range and closed when it leaves it; one at a time is open.

use crate::engine::Engine;
use crate::error::ReadError;
use crate::format::page::Decoded;
use crate::index::{Page, PageIter, Rows, RowsIter};
use crate::key::{CachePolicy, Row};
use crate::location::Location;
use crate::scan::Direction;
use crate::tail::Sieve;
use std::cmp::Ordering;
use std::ops::Bound;
use std::rc::Rc;

/// The next thing in order.
pub(crate) enum Step<'a> {
    End,
    /// A single row.
    Single(&'a [u8], Location),
    /// The row of this number in the page that is open.
    InPage(usize),
    /// A page that is on the device only; the walk goes on after it.
    Missing(Location),
    /// A page of which nothing is new, from this lower bound on; the walk goes on after it.
    Old(&'a [u8]),
}

/// The rows `next..end` of the open page are still to come.
struct Open {
    rows: Rc<Decoded>,
    next: usize,
    end: usize,
}

/// A walk over one partition.
pub(crate) struct Merge<'a> {
    engine: &'a Engine,
    rows: &'a Rows,
    from: Bound<&'a [u8]>,
    to: Bound<&'a [u8]>,
    direction: Direction,
    policy: CachePolicy,
    /// Pages that are not opened, if only what is new is wanted.
    sieve: Option<Sieve<'a>>,
    singles: RowsIter<'a>,
    single: Option<(&'a [u8], Location)>,
    pages: PageIter<'a>,
    page: Option<(&'a [u8], &'a Page)>,
    open: Option<Open>,
}

fn advance<T>(iter: &mut impl DoubleEndedIterator<Item = T>, direction: Direction) -> Option<T> {
    match direction {
        Direction::Forward => iter.next(),
        Direction::Backward => iter.next_back(),
    }
}

impl<'a> Merge<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        rows: &'a Rows,
        (from, to): (Bound<&'a [u8]>, Bound<&'a [u8]>),
        direction: Direction,
        policy: CachePolicy,
        sieve: Option<Sieve<'a>>,
    ) -> Self {
        let (mut singles, mut pages) = (rows.range(from, to), rows.page_range(from, to));
        let (single, page) = (advance(&mut singles, direction), advance(&mut pages, direction));
        Self { engine, rows, from, to, direction, policy, sieve, singles, single, pages, page, open: None }
    }

    /// The next step.
    ///
    /// # Errors
    /// `Damaged`: the rows of a page are lost; the next step goes on after it.
    pub(crate) fn step(&mut self) -> Result<Step<'a>, ReadError> {
        loop {
            if let Some(open) = &mut self.open
                && open.next < open.end
            {
                let number = if self.direction == Direction::Forward { open.next } else { open.end - 1 };
                let order = self.single.map_or(Ordering::Less, |(key, _)| open.rows.key(number).cmp(key));
                let order = if self.direction == Direction::Backward && self.single.is_some() { order.reverse() } else { order };
                if order == Ordering::Greater {
                    return Ok(self.take_single());
                }
                match self.direction {
                    Direction::Forward => open.next += 1,
                    Direction::Backward => open.end -= 1,
                }
                if order == Ordering::Less {
                    return Ok(Step::InPage(number));
                }
                // A newer version of the row lies over this one.
                continue;
            }
            self.close();
            let Some((low, page)) = self.page else { return Ok(self.take_single()) };
            if let Some((key, _)) = self.single {
                let single_first = match self.direction {
                    Direction::Forward => key < low,
                    Direction::Backward => self.rows.pages().is_some_and(|pages| key >= pages.high_of(low, page)),
                };
                if single_first {
                    return Ok(self.take_single());
                }
            }
            self.page = advance(&mut self.pages, self.direction);
            if self.sieve.is_some_and(|sieve| sieve.is_old(page.location)) {
                return Ok(Step::Old(low));
            }
            if page.rows > 0 && !self.open(page)? {
                return Ok(Step::Missing(page.location));
            }
        }
    }

    fn take_single(&mut self) -> Step<'a> {
        let next = advance(&mut self.singles, self.direction);
        match std::mem::replace(&mut self.single, next) {
            Some((key, location)) => Step::Single(key, location),
            None => Step::End,
        }
    }

    /// Opens a page; false if it is on the device only.
    fn open(&mut self, page: &Page) -> Result<bool, ReadError> {
        let Some(rows) = self.engine.open_page_between(page.location, (self.from, self.to), self.policy)? else { return Ok(false) };
        let next = match self.from {
            Bound::Unbounded => 0,
            Bound::Included(key) => rows.search(key).unwrap_or_else(|row| row),
            Bound::Excluded(key) => rows.search(key).map_or_else(|row| row, |row| row + 1),
        };
        let end = match self.to {
            Bound::Unbounded => rows.len(),
            Bound::Included(key) => rows.search(key).map_or_else(|row| row, |row| row + 1),
            Bound::Excluded(key) => rows.search(key).unwrap_or_else(|row| row),
        };
        self.open = Some(Open { rows, next, end });
        Ok(true)
    }

    /// A row of the open page.
    pub(crate) fn in_page(&self, number: usize) -> (&[u8], Row<'_>) {
        let open = self.open.as_ref().expect("a step into a page leaves it open");
        (open.rows.key(number), open.rows.row(number))
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.engine.pages.close(open.rows);
        }
    }
}

impl Drop for Merge<'_> {
    fn drop(&mut self) {
        self.close();
    }
}
