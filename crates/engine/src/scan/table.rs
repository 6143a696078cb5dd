//! The rows of a table in (token, partition key, clustering key) order: all of them, or those of its tail.

use super::ahead::Ahead;
use super::bounds::{Direction, TablePosition, TableRow, TableScan};
use super::partition::PartitionRows;
use crate::engine::Engine;
use crate::error::ReadError;
use crate::format::record::Record;
use crate::index::Table;
use crate::key::CachePolicy;
use crate::location::{Location, Target};
use crate::merge::Step as MergeStep;
use crate::tail::{Sieve, TailPosition, TailScan};
use base::{SLOT_COUNT, Slot, Token};
use std::cmp::Ordering;
use std::ops::Bound;

/// A walk over a tail takes a few steps to come back to where it paused.
const TAIL_BUDGET_MIN: usize = 8;

impl Engine {
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

    /// Starts to walk over the rows of a table that are in its tail. The cursor ends at the table's end, or when its budget is used up: see
    /// [`TableCursor::paused`].
    ///
    /// # Errors
    /// `UnknownTable`, `NotReady`.
    pub fn scan_tail<'a>(&'a self, scan: &TailScan<'a>) -> Result<TableCursor<'a>, ReadError> {
        let whole = TableScan {
            table: scan.table,
            from: TablePosition::Token(scan.from.token),
            to: Token(i64::MAX),
            policy: CachePolicy::Bypass,
            read_ahead: scan.read_ahead,
        };
        let sieve = Sieve::new(&self.memory, &self.segments, scan);
        Ok(self.scan_table(&whole)?.sieved(sieve, scan.from, scan.budget))
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
            let Some((token, location)) = self.next_cell() else { return Ok(Step::End) };
            let Target::Partition(number) = location.target() else {
                if let Some(sieve) = self.sieve {
                    if !self.may_look(token, &[], &[]) {
                        return Ok(Step::End);
                    }
                    if sieve.is_old(location) {
                        continue;
                    }
                }
                return Ok(Step::Alone(token, location));
            };
            let partition = self.engine.index.partitions.get(number);
            let Some(from) = self.start_within(token, &partition.key) else { continue };
            if self.sieve.is_some() && !self.may_look(token, &partition.key, &[]) {
                return Ok(Step::End);
            }
            let rows =
                self.engine.partition_in_order(&partition.rows, (from, Bound::Unbounded), Direction::Forward, (self.policy, self.sieve));
            self.current = Some(Current { token, partition: &partition.key, rows });
        }
    }

    /// Moves behind the next cell of a slot that is wanted, up to the last token.
    #[inline]
    fn next_cell(&mut self) -> Option<(Token, Location)> {
        loop {
            let cells = self.table.slot(Slot(self.slot as u16));
            let Some((position, entry)) = cells.and_then(|cells| cells.next_from(self.position)) else {
                let (slot, _) = self.table.next_slot(self.slot + 1)?;
                if slot >= SLOT_COUNT as usize || slot > usize::from(self.to.slot().0) {
                    return None;
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
                return None;
            }
            self.position = position + 1;
            return Some((token, entry.location));
        }
    }

    /// Where in a partition the scan begins; `None` if it has passed the partition before.
    #[inline]
    fn start_within(&self, token: Token, partition: &[u8]) -> Option<Bound<&'a [u8]>> {
        let mut from = Bound::Unbounded;
        if let Some((after, last, clustering)) = self.after
            && after == token
        {
            match partition.cmp(last) {
                Ordering::Less => return None,
                Ordering::Equal => from = Bound::Excluded(clustering),
                Ordering::Greater => {}
            }
        }
        if let Some(start) = self.from
            && start.token == token
        {
            match partition.cmp(&start.partition) {
                Ordering::Less => return None,
                Ordering::Equal => from = Bound::Included(&*start.clustering),
                Ordering::Greater => {}
            }
        }
        Some(from)
    }
}
