//! The rows of one partition, in the order of clustering keys.

use super::ahead::{Ahead, READ_AHEAD_MAX};
use super::bounds::{Direction, PartitionScan};
use crate::engine::Engine;
use crate::error::{Miss, ReadError};
use crate::index::{Place, Rows, RowsIter};
use crate::key::{CachePolicy, Row};
use crate::location::Location;
use crate::merge::{Merge, Step as MergeStep};
use crate::tail::Sieve;
use base::{TableId, Token};
use std::ops::Bound;

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

    pub(super) fn partition_in_order<'a>(
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
}

/// The rows of one partition in order.
pub(super) enum PartitionRows<'a> {
    Single(Option<Location>),
    Forward(RowsIter<'a>),
    Backward(RowsIter<'a>),
    Merged(Box<Merge<'a>>),
}

impl<'a> PartitionRows<'a> {
    #[inline]
    pub(super) fn step(&mut self) -> Result<MergeStep<'a>, ReadError> {
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
    pub(super) fn in_page(&self, number: usize) -> (&[u8], Row<'_>) {
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
