//! Ordered reads: the rows of a partition, and the rows of a table in (token, partition key, clustering key) order.
//!
//! A cursor borrows the engine for one turn. When records are missing it reports as many of the following ones as `read_ahead`
//! allows in one `Miss`, so that they come from the device together; the caller fetches them and runs the operation again, from its
//! start or from the position after the last row it has taken.

use crate::engine::Engine;
use crate::error::{Miss, ReadError};
use crate::format::record::Record;
use crate::index::{Place, RowsIter, Table};
use crate::key::{CachePolicy, Row};
use crate::location::{Location, Target};
use base::{SLOT_COUNT, Slot, TableId, Token};
use std::cmp::Ordering;
use std::ops::Bound;

/// Records that one `Miss` names at most.
pub const READ_AHEAD_MAX: usize = 1024;

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
    pub fn scan_partition(&self, scan: &PartitionScan<'_>) -> Result<PartitionCursor<'_>, ReadError> {
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
                let rows = self.index.partitions.get(number).rows.range(scan.from, scan.to);
                match scan.direction {
                    Direction::Forward => PartitionRows::Forward(rows),
                    Direction::Backward => PartitionRows::Backward(rows),
                }
            }
        };
        Ok(PartitionCursor { engine: self, rows, policy: scan.policy, read_ahead: scan.read_ahead })
    }

    /// How many rows the partition has, tombstones included.
    ///
    /// # Errors
    /// As `get`.
    pub fn partition_rows(&self, table: TableId, token: Token, partition: &[u8], policy: CachePolicy) -> Result<usize, ReadError> {
        Ok(match self.find(table, token, partition, policy)? {
            Place::Absent | Place::Beside(_) => 0,
            Place::Single(..) => 1,
            Place::Partition(number) => self.index.partitions.get(number).rows.len(),
        })
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
        })
    }

    /// The record, or the miss that names it and the missing ones among the `upcoming`.
    fn record_or_ahead(
        &self,
        location: Location,
        policy: CachePolicy,
        read_ahead: usize,
        upcoming: impl Iterator<Item = Location>,
    ) -> Result<Record<'_>, ReadError> {
        if let Some(record) = self.record(location, policy)? {
            return Ok(record);
        }
        let ahead = read_ahead.clamp(1, READ_AHEAD_MAX) - 1;
        let mut missing = vec![location];
        missing.extend(upcoming.take(ahead).filter(|location| matches!(self.record(*location, CachePolicy::Bypass), Ok(None))));
        Err(ReadError::Miss(Miss::many(missing, policy)))
    }
}

enum PartitionRows<'a> {
    Single(Option<Location>),
    Forward(RowsIter<'a>),
    Backward(RowsIter<'a>),
}

impl<'a> Iterator for PartitionRows<'a> {
    type Item = (&'a [u8], Location);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Single(location) => location.take().map(|location| (&[][..], location)),
            Self::Forward(rows) => rows.next(),
            Self::Backward(rows) => rows.next_back(),
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

impl<'a> PartitionCursor<'a> {
    /// The next row with its clustering key; `None` at the end.
    ///
    /// # Errors
    /// `Miss`: fetch, then start again; this cursor has looked ahead and cannot go on. `Damaged`: the row is lost; the next call goes
    /// on after it.
    #[expect(clippy::should_implement_trait, reason = "an iterator over results could not borrow from the engine as clearly")]
    pub fn next(&mut self) -> Result<Option<(&'a [u8], Row<'a>)>, ReadError> {
        let Some((clustering, location)) = self.rows.next() else { return Ok(None) };
        let upcoming = self.rows.by_ref().map(|(_, location)| location);
        let record = self.engine.record_or_ahead(location, self.policy, self.read_ahead, upcoming)?;
        Ok(Some((clustering, record.row())))
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
    current: Option<(Token, &'a [u8], RowsIter<'a>)>,
    policy: CachePolicy,
    read_ahead: usize,
}

/// A row that is known by its place; the keys of a single row are in its record.
struct Step<'a> {
    token: Token,
    keys: Option<(&'a [u8], &'a [u8])>,
    location: Location,
}

impl<'a> TableCursor<'a> {
    /// The next row; `None` when the last token has been passed.
    ///
    /// # Errors
    /// `Miss`: fetch, then start again after the last row taken; this cursor has looked ahead and cannot go on. `Damaged`: the row is
    /// lost; the next call goes on after it.
    #[expect(clippy::should_implement_trait, reason = "an iterator over results could not borrow from the engine as clearly")]
    pub fn next(&mut self) -> Result<Option<TableRow<'a>>, ReadError> {
        loop {
            let Some(step) = self.step() else { return Ok(None) };
            let (policy, read_ahead, engine) = (self.policy, self.read_ahead, self.engine);
            let upcoming = std::iter::from_fn(|| self.step().map(|step| step.location));
            let record = engine.record_or_ahead(step.location, policy, read_ahead, upcoming)?;
            let (partition, clustering) = step.keys.unwrap_or_else(|| (record.partition(), &[]));
            if step.keys.is_none()
                && let Some((token, last, _)) = self.after
                && token == step.token
                && partition <= last
            {
                continue;
            }
            return Ok(Some(TableRow { token: step.token, partition, clustering, row: record.row() }));
        }
    }

    /// The next place in order, without reading the record.
    fn step(&mut self) -> Option<Step<'a>> {
        loop {
            if let Some((token, partition, rows)) = &mut self.current {
                if let Some((clustering, location)) = rows.next() {
                    return Some(Step { token: *token, keys: Some((partition, clustering)), location });
                }
                self.current = None;
            }
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
            let token = Token::from_biased((self.slot as u64) << crate::index::TAIL_BITS | entry.tail);
            if token > self.to {
                return None;
            }
            self.position = position + 1;
            let Target::Partition(number) = entry.location.target() else {
                return Some(Step { token, keys: None, location: entry.location });
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
            self.current = Some((token, &partition.key, partition.rows.range(from, Bound::Unbounded)));
        }
    }
}
