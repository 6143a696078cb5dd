//! Ordered reads: the rows of a partition, and the rows of a table in (token, partition key, clustering key) order.
//!
//! A cursor borrows the engine for one turn. When records are missing it reports as many of the following ones as `read_ahead`
//! allows in one `Miss`, so that they come from the device together; the caller fetches them and runs the operation again, from its
//! start or from the position after the last row it has taken.

use crate::engine::Engine;
use crate::error::{Miss, ReadError};
use crate::format::record::Record;
use crate::index::{Place, Rows, RowsIter, Table};
use crate::key::{CachePolicy, Row};
use crate::location::{Location, Target};
use crate::merge::{Merge, Step as MergeStep};
use crate::tail::{Sieve, TailPosition};
use base::{SLOT_COUNT, Slot, TableId, Token};
use std::cmp::Ordering;
use std::ops::Bound;

/// Records that one `Miss` names at most.
pub const READ_AHEAD_MAX: usize = 1024;
/// A walk over a tail takes a few steps to come back to where it paused.
const TAIL_BUDGET_MIN: usize = 8;
/// How many rows a page counts for when one looks ahead.
const PAGE_AHEAD_ROWS: usize = 16;

/// Which way a partition is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// By rising clustering key.
    #[default]
    Forward,
    /// By falling clustering key.
    Backward,
}

/// What of a partition to read.
#[derive(Clone, Copy, Debug)]
pub struct PartitionScan<'a> {
    /// The table.
    pub table: TableId,
    /// The partition's token.
    pub token: Token,
    /// The partition key.
    pub partition: &'a [u8],
    /// The lower bound of clustering keys.
    pub from: Bound<&'a [u8]>,
    /// The upper bound of clustering keys.
    pub to: Bound<&'a [u8]>,
    /// Which end to start at.
    pub direction: Direction,
    /// Whether records stay in memory.
    pub policy: CachePolicy,
    /// How many records to ask for at once when some are missing: about as many as will be read. At most `READ_AHEAD_MAX`.
    pub read_ahead: usize,
}

/// Where a scan of a table starts.
#[derive(Clone, Copy, Debug)]
pub enum TablePosition<'a> {
    /// At the first row whose token is this or a later one.
    Token(Token),
    /// After this row, whether it is still there or not.
    After {
        /// The row's token.
        token: Token,
        /// The row's partition key.
        partition: &'a [u8],
        /// The row's clustering key.
        clustering: &'a [u8],
    },
}

/// What of a table to read.
#[derive(Clone, Copy, Debug)]
pub struct TableScan<'a> {
    /// The table.
    pub table: TableId,
    /// Where to start.
    pub from: TablePosition<'a>,
    /// The last token to read.
    pub to: Token,
    /// Whether records stay in memory.
    pub policy: CachePolicy,
    /// How many records to ask for at once when some are missing.
    pub read_ahead: usize,
}

/// A row of a table scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRow<'a> {
    /// Its token.
    pub token: Token,
    /// Its partition key.
    pub partition: &'a [u8],
    /// Its clustering key.
    pub clustering: &'a [u8],
    /// The row.
    pub row: Row<'a>,
}

impl Engine {
    /// Starts to read a partition.
    ///
    /// # Errors
    /// As `get`.
    pub fn scan_partition<'a>(&'a self, scan: &PartitionScan<'a>) -> Result<PartitionCursor<'a>, ReadError> {
        let rows = match self.find(scan.table, scan.token, scan.partition, scan.policy)? {
            Place::Absent | Place::Beside(_) => PartitionRows::Single(None),
            Place::Single(location, _) => {
                let empty: &[u8] = &[];
                let from = match scan.from {
                    Bound::Unbounded => true,
                    Bound::Included(from) => from.is_empty(),
                    Bound::Excluded(_) => false,
                };
                let to = match scan.to {
                    Bound::Unbounded | Bound::Included(_) => true,
                    Bound::Excluded(to) => to > empty,
                };
                PartitionRows::Single((from && to).then_some(location))
            }
            Place::Partition(number) => {
                self.partition_in_order(&self.index.partitions.get(number).rows, (scan.from, scan.to), scan.direction, (scan.policy, None))
            }
        };
        Ok(PartitionCursor { engine: self, rows, policy: scan.policy, read_ahead: scan.read_ahead })
    }

    fn partition_in_order<'a>(
        &'a self,
        rows: &'a Rows,
        bounds: (Bound<&'a [u8]>, Bound<&'a [u8]>),
        direction: Direction,
        (policy, sieve): (CachePolicy, Option<Sieve<'a>>),
    ) -> PartitionRows<'a> {
        if rows.pages().is_some() {
            return PartitionRows::Merged(Box::new(Merge::new(self, rows, bounds, direction, policy, sieve)));
        }
        let rows = rows.range(bounds.0, bounds.1);
        match direction {
            Direction::Forward => PartitionRows::Forward(rows),
            Direction::Backward => PartitionRows::Backward(rows),
        }
    }

    /// How many rows the partition has, tombstones included. Reads the pages that rows lie over.
    ///
    /// # Errors
    /// As `get`.
    pub fn partition_rows(&self, table: TableId, token: Token, partition: &[u8], policy: CachePolicy) -> Result<usize, ReadError> {
        let number = match self.find(table, token, partition, policy)? {
            Place::Absent | Place::Beside(_) => return Ok(0),
            Place::Single(..) => return Ok(1),
            Place::Partition(number) => number,
        };
        let rows = &self.index.partitions.get(number).rows;
        let (mut twice, mut missing) = (0, Vec::new());
        for (low, page) in rows.page_range(Bound::Unbounded, Bound::Unbounded).filter(|(_, page)| page.overlay > 0 && page.rows > 0) {
            let Some(decoded) = self.open_page(page.location, policy)? else {
                missing.push(page.location);
                if missing.len() == READ_AHEAD_MAX {
                    break;
                }
                continue;
            };
            let high = rows.pages().map_or(Bound::Unbounded, |pages| Bound::Excluded(pages.high_of(low, page)));
            twice += rows.range(Bound::Included(low), high).filter(|(key, _)| decoded.search(key).is_ok()).count();
            self.pages.close(decoded);
        }
        if missing.is_empty() { Ok(rows.len() - twice) } else { Err(ReadError::Miss(Miss::many(missing, policy))) }
    }

    /// Starts to read a table in ring order.
    ///
    /// # Errors
    /// `UnknownTable`, `NotReady`.
    pub fn scan_table<'a>(&'a self, scan: &TableScan<'a>) -> Result<TableCursor<'a>, ReadError> {
        if self.recovery.is_some() {
            return Err(ReadError::NotReady);
        }
        let table = self.index.table(scan.table).ok_or(ReadError::UnknownTable { table: scan.table })?;
        let (first, after) = match scan.from {
            TablePosition::Token(token) => (token, None),
            TablePosition::After { token, partition, clustering } => (token, Some((token, partition, clustering))),
        };
        let slot = first.slot();
        let tail = first.biased() & crate::index::TAIL_MASK;
        let position = table.slot(slot).map_or(0, |cells| cells.find(tail).unwrap_or_else(|position| position));
        Ok(TableCursor {
            engine: self,
            table,
            slot: usize::from(slot.0),
            position,
            after,
            to: scan.to,
            current: None,
            policy: scan.policy,
            read_ahead: scan.read_ahead,
            sieve: None,
            from: None,
            budget: usize::MAX,
            paused: None,
        })
    }

    /// The miss that names a record and the missing ones among those that come after it.
    #[cold]
    fn miss_ahead(
        &self,
        location: Location,
        policy: CachePolicy,
        read_ahead: usize,
        mut upcoming: impl FnMut() -> Option<Ahead>,
    ) -> ReadError {
        let mut left = read_ahead.clamp(1, READ_AHEAD_MAX) - 1;
        let mut missing = vec![location];
        while left > 0
            && let Some(ahead) = upcoming()
        {
            match ahead {
                Ahead::Row(location) if matches!(self.record(location, CachePolicy::Bypass), Ok(None)) => missing.push(location),
                Ahead::Page(location) => {
                    missing.push(location);
                    left = left.saturating_sub(PAGE_AHEAD_ROWS - 1).max(1);
                }
                Ahead::Row(_) | Ahead::Nothing => {}
            }
            left -= 1;
        }
        ReadError::Miss(Miss::many(missing, policy))
    }
}

/// Something that comes later in a scan.
enum Ahead {
    Row(Location),
    /// A page that is on the device only.
    Page(Location),
    /// A row that is in memory.
    Nothing,
}

/// The rows of one partition in order.
enum PartitionRows<'a> {
    Single(Option<Location>),
    Forward(RowsIter<'a>),
    Backward(RowsIter<'a>),
    Merged(Box<Merge<'a>>),
}

impl<'a> PartitionRows<'a> {
    #[inline]
    fn step(&mut self) -> Result<MergeStep<'a>, ReadError> {
        let found = match self {
            Self::Single(location) => location.take().map(|location| (&[][..], location)),
            Self::Forward(rows) => rows.next(),
            Self::Backward(rows) => rows.next_back(),
            Self::Merged(merge) => return merge.step(),
        };
        Ok(found.map_or(MergeStep::End, |(key, location)| MergeStep::Single(key, location)))
    }

    fn ahead(&mut self) -> Option<Ahead> {
        match self.step() {
            Ok(MergeStep::End) => None,
            Ok(MergeStep::Single(_, location)) => Some(Ahead::Row(location)),
            Ok(MergeStep::Missing(location)) => Some(Ahead::Page(location)),
            Ok(MergeStep::InPage(_) | MergeStep::Old(_)) | Err(_) => Some(Ahead::Nothing),
        }
    }

    /// The row that a step has told of.
    fn in_page(&self, number: usize) -> (&[u8], Row<'_>) {
        match self {
            Self::Merged(merge) => merge.in_page(number),
            _ => unreachable!("only a walk over pages steps into one"),
        }
    }
}

/// Reads the rows of a partition one by one.
pub struct PartitionCursor<'a> {
    engine: &'a Engine,
    rows: PartitionRows<'a>,
    policy: CachePolicy,
    read_ahead: usize,
}

impl PartitionCursor<'_> {
    /// The next row with its clustering key, to be had until the cursor moves on; `None` at the end.
    ///
    /// # Errors
    /// `Miss`: fetch, then start again; this cursor has looked ahead and cannot go on. `Damaged`: the row, or all rows of a page, are
    /// lost; the next call goes on after that.
    #[expect(clippy::should_implement_trait, reason = "rows are borrowed from the cursor")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&[u8], Row<'_>)>, ReadError> {
        let missing = match self.rows.step()? {
            MergeStep::End => return Ok(None),
            MergeStep::InPage(number) => return Ok(Some(self.rows.in_page(number))),
            MergeStep::Single(clustering, location) => match self.engine.record(location, self.policy)? {
                Some(record) => return Ok(Some((clustering, record.row()))),
                None => location,
            },
            MergeStep::Missing(location) => location,
            MergeStep::Old(_) => unreachable!("only the walk over a tail passes over pages"),
        };
        Err(self.engine.miss_ahead(missing, self.policy, self.read_ahead, || self.rows.ahead()))
    }
}

/// Reads the rows of a table one by one.
pub struct TableCursor<'a> {
    engine: &'a Engine,
    table: &'a Table,
    slot: usize,
    position: usize,
    /// Rows up to this one have been read.
    after: Option<(Token, &'a [u8], &'a [u8])>,
    to: Token,
    current: Option<Current<'a>>,
    policy: CachePolicy,
    read_ahead: usize,
    /// What is passed over, if only what is new is wanted.
    sieve: Option<Sieve<'a>>,
    /// Rows before this one have been looked at.
    from: Option<&'a TailPosition>,
    budget: usize,
    /// Where the budget was used up.
    paused: Option<TailPosition>,
}

/// The partition that a scan of a table is in.
struct Current<'a> {
    token: Token,
    partition: &'a [u8],
    rows: PartitionRows<'a>,
}

/// The budget of a walk is used up.
struct Paused;

/// The next thing in a table.
enum Step<'a> {
    End,
    /// The only row of its partition; its keys are in its record.
    Alone(Token, Location),
    /// A step in the current partition, not its end.
    Within(MergeStep<'a>),
}

impl<'a> TableCursor<'a> {
    /// The next row, to be had until the cursor moves on; `None` when the last token has been passed.
    ///
    /// # Errors
    /// `Miss`: fetch, then start again after the last row taken; this cursor has looked ahead and cannot go on. `Damaged`: the row, or
    /// all rows of a page, are lost; the next call goes on after that.
    #[expect(clippy::should_implement_trait, reason = "rows are borrowed from the cursor")]
    pub fn next(&mut self) -> Result<Option<TableRow<'_>>, ReadError> {
        let engine = self.engine;
        let in_page = loop {
            let missing = match self.step()? {
                Step::End => return Ok(None),
                Step::Within(MergeStep::InPage(number)) if self.has_new(number) => break number,
                Step::Within(MergeStep::InPage(_) | MergeStep::Old(_) | MergeStep::End) => continue,
                Step::Alone(token, location) => match engine.record(location, self.policy)? {
                    Some(record) if self.is_past(token, &record) || !self.is_new(&record) => continue,
                    Some(record) => {
                        return Ok(Some(TableRow { token, partition: record.partition(), clustering: &[], row: record.row() }));
                    }
                    None => location,
                },
                Step::Within(MergeStep::Single(clustering, location)) => match engine.record(location, self.policy)? {
                    Some(record) if !self.is_new(&record) => continue,
                    Some(record) => {
                        let (token, partition) = self.partition();
                        return Ok(Some(TableRow { token, partition, clustering, row: record.row() }));
                    }
                    None => location,
                },
                Step::Within(MergeStep::Missing(location)) => location,
            };
            let (policy, read_ahead) = (self.policy, self.read_ahead);
            return Err(engine.miss_ahead(missing, policy, read_ahead, || self.ahead()));
        };
        let (token, partition) = self.partition();
        let Some(current) = &self.current else { unreachable!("the step was in it") };
        let (clustering, row) = current.rows.in_page(in_page);
        Ok(Some(TableRow { token, partition, clustering, row }))
    }

    /// The partition that the last step was in.
    fn partition(&self) -> (Token, &'a [u8]) {
        self.current.as_ref().map(|current| (current.token, current.partition)).expect("a step within a partition leaves it current")
    }

    /// The slot that the cursor is in: after `Damaged`, that of what is lost.
    #[must_use]
    pub fn slot(&self) -> Slot {
        Slot(self.slot as u16)
    }

    /// Whether a row has been read before.
    fn is_past(&self, token: Token, record: &Record<'_>) -> bool {
        self.after.is_some_and(|(after, last, _)| after == token && record.partition() <= last)
            || self
                .from
                .is_some_and(|from| from.token == token && (record.partition(), &[][..]) < (&from.partition[..], &from.clustering[..]))
    }

    /// Only what is new, from a position on, and no more than about so many steps.
    pub(crate) fn sieved(mut self, sieve: Sieve<'a>, from: &'a TailPosition, budget: usize) -> Self {
        (self.sieve, self.from, self.budget) = (Some(sieve), Some(from), budget.max(TAIL_BUDGET_MIN));
        self
    }

    /// Where to go on if the cursor has ended since its budget was used up.
    #[must_use]
    pub fn paused(&self) -> Option<&TailPosition> {
        self.paused.as_ref()
    }

    fn is_new(&self, record: &Record<'_>) -> bool {
        self.sieve.is_none_or(|sieve| sieve.is_new(record.sequence()))
    }

    /// Whether this row of the open page is new.
    fn has_new(&self, number: usize) -> bool {
        let row = || self.current.as_ref().map(|current| current.rows.in_page(number).1.sequence);
        self.sieve.is_none_or(|sieve| row().is_some_and(|sequence| sieve.is_new(sequence)))
    }

    /// The walk has come to something: whether the budget allows to look at it.
    fn may_look(&mut self, token: Token, partition: &[u8], clustering: &[u8]) -> bool {
        if self.budget == 0 {
            self.paused = Some(TailPosition { token, partition: partition.to_vec(), clustering: clustering.to_vec() });
            return false;
        }
        self.budget -= 1;
        true
    }

    /// Whether a step within the current partition, that the sieve has been asked about, shall be taken.
    fn takes(&mut self, step: &MergeStep<'a>) -> Result<bool, Paused> {
        let (key, is_old) = match (step, &self.sieve) {
            (MergeStep::Single(key, location), Some(sieve)) => (*key, sieve.is_old(*location)),
            (MergeStep::Old(low), Some(_)) => (*low, true),
            _ => return Ok(true),
        };
        let (token, partition) = self.partition();
        if self.may_look(token, partition, key) { Ok(!is_old) } else { Err(Paused) }
    }

    fn ahead(&mut self) -> Option<Ahead> {
        match self.step() {
            Ok(Step::End) => None,
            Ok(Step::Alone(_, location) | Step::Within(MergeStep::Single(_, location))) => Some(Ahead::Row(location)),
            Ok(Step::Within(MergeStep::Missing(location))) => Some(Ahead::Page(location)),
            Ok(Step::Within(_)) | Err(_) => Some(Ahead::Nothing),
        }
    }

    /// The next place in order, without reading the record.
    fn step(&mut self) -> Result<Step<'a>, ReadError> {
        loop {
            if let Some(current) = &mut self.current {
                match current.rows.step()? {
                    MergeStep::End => self.current = None,
                    step if self.sieve.is_none() => return Ok(Step::Within(step)),
                    step => match self.takes(&step) {
                        Ok(true) => return Ok(Step::Within(step)),
                        Ok(false) => {}
                        Err(Paused) => return Ok(Step::End),
                    },
                }
                continue;
            }
            let cells = self.table.slot(Slot(self.slot as u16));
            let Some((position, entry)) = cells.and_then(|cells| cells.next_from(self.position)) else {
                let Some((slot, _)) = self.table.next_slot(self.slot + 1) else { return Ok(Step::End) };
                if slot >= SLOT_COUNT as usize || slot > usize::from(self.to.slot().0) {
                    return Ok(Step::End);
                }
                self.slot = slot;
                self.position = 0;
                continue;
            };
            if let Some(sieve) = &self.sieve
                && !sieve.wants(Slot(self.slot as u16))
            {
                self.position = usize::MAX;
                continue;
            }
            let token = Token::from_biased((self.slot as u64) << crate::index::TAIL_BITS | entry.tail);
            if token > self.to {
                return Ok(Step::End);
            }
            self.position = position + 1;
            let Target::Partition(number) = entry.location.target() else {
                if let Some(sieve) = self.sieve {
                    if !self.may_look(token, &[], &[]) {
                        return Ok(Step::End);
                    }
                    if sieve.is_old(entry.location) {
                        continue;
                    }
                }
                return Ok(Step::Alone(token, entry.location));
            };
            let partition = self.engine.index.partitions.get(number);
            let mut from = Bound::Unbounded;
            if let Some((after, last, clustering)) = self.after
                && after == token
            {
                match (*partition.key).cmp(last) {
                    Ordering::Less => continue,
                    Ordering::Equal => from = Bound::Excluded(clustering),
                    Ordering::Greater => {}
                }
            }
            if let Some(start) = self.from
                && start.token == token
            {
                match (*partition.key).cmp(&start.partition) {
                    Ordering::Less => continue,
                    Ordering::Equal => from = Bound::Included(&start.clustering),
                    Ordering::Greater => {}
                }
            }
            if self.sieve.is_some() && !self.may_look(token, &partition.key, &[]) {
                return Ok(Step::End);
            }
            let rows =
                self.engine.partition_in_order(&partition.rows, (from, Bound::Unbounded), Direction::Forward, (self.policy, self.sieve));
            self.current = Some(Current { token, partition: &partition.key, rows });
        }
    }
}
