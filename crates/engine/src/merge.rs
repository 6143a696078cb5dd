//! The rows of a partition in order where some of them are in pages: single rows lie over the page in whose range they are.
//!
//! A page is opened when the walk reaches its range and closed when it leaves it; one at a time is open.

use crate::engine::Engine;
use crate::error::ReadError;
use crate::format::page::OpenPage;
use crate::index::{Page, PageIter, Rows, RowsIter};
use crate::key::{CachePolicy, Row, compare, span};
use crate::location::Location;
use crate::scan::Direction;
use crate::tail::Sieve;
use std::cmp::Ordering;
use std::ops::Bound;

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

/// The rows `next..end` of the open page are still to come, of which so many come before the next single row.
struct Open<'a> {
    page: OpenPage<'a>,
    next: usize,
    end: usize,
    clear: usize,
}

impl Open<'_> {
    /// The next row of the page in this direction.
    fn number(&self, direction: Direction) -> usize {
        self.ahead(direction, 0)
    }

    /// The row after so many others.
    fn ahead(&self, direction: Direction, rows: usize) -> usize {
        match direction {
            Direction::Forward => self.next + rows,
            Direction::Backward => self.end - 1 - rows,
        }
    }

    fn pass(&mut self, direction: Direction) {
        self.clear = self.clear.saturating_sub(1);
        match direction {
            Direction::Forward => self.next += 1,
            Direction::Backward => self.end -= 1,
        }
    }

    /// How a row of the page and a single one follow each other in this direction.
    fn order(&self, number: usize, single: &[u8], direction: Direction) -> Ordering {
        let order = compare(self.page.key(number), single);
        if direction == Direction::Backward { order.reverse() } else { order }
    }

    /// Counts the rows that come before the single one, the first of which does. Looks ever further ahead: where single rows are few, most are not compared.
    fn look_ahead(&mut self, single: Option<&[u8]>, direction: Direction) {
        let rows = self.end - self.next;
        let Some(single) = single else {
            self.clear = rows;
            return;
        };
        let mut step = 1;
        self.clear = 1;
        while self.clear + step <= rows && self.order(self.ahead(direction, self.clear + step - 1), single, direction) == Ordering::Less {
            self.clear += step;
            step *= 2;
        }
    }
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
    open: Option<Open<'a>>,
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
                let number = open.number(self.direction);
                let order = match self.single {
                    Some((key, _)) if open.clear == 0 => open.order(number, key, self.direction),
                    _ => Ordering::Less,
                };
                if order == Ordering::Greater {
                    return Ok(self.take_single());
                }
                if order == Ordering::Less {
                    if open.clear == 0 {
                        open.look_ahead(self.single.map(|(key, _)| key), self.direction);
                    }
                    open.pass(self.direction);
                    return Ok(Step::InPage(number));
                }
                open.pass(self.direction);
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
            if page.rows > 0 && !self.open(page, low)? {
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

    /// Opens a page; false if it is on the device only. The walk has gone on to the page after it already.
    fn open(&mut self, page: &Page, low: &[u8]) -> Result<bool, ReadError> {
        // A bound that lies before all of the page's rows, or after the next page has begun, need not be looked for.
        let is_from_inside = matches!(self.from, Bound::Included(from) | Bound::Excluded(from) if low > from);
        let from = if is_from_inside { Bound::Unbounded } else { self.from };
        let is_to_inside = self.direction == Direction::Forward && self.page.is_some();
        let to = if is_to_inside { Bound::Unbounded } else { self.to };
        let Some(page) = self.engine.open_page_between(page.location, (from, to), self.policy)? else { return Ok(false) };
        let (next, end) = span(page.len(), from, to, |key| page.search(key));
        self.open = Some(Open { page, next, end, clear: 0 });
        Ok(true)
    }

    /// A row of the open page.
    pub(crate) fn in_page(&self, number: usize) -> (&[u8], Row<'_>) {
        let open = self.open.as_ref().expect("a step into a page leaves it open");
        (open.page.key(number), open.page.row(number))
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.engine.pages.close(open.page.rows);
        }
    }
}

impl Drop for Merge<'_> {
    fn drop(&mut self) {
        self.close();
    }
}
