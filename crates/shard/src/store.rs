//! The engine as operations see it.

use base::{TableId, Token};
use engine::{CachePolicy, Engine, Key, Miss, PartitionScan, ReadError, Row, Sequence, TablePosition, TableScan};
use model::Table;
use model::operation::{Direction, PartitionKey, Position, RowStore, ScannedRow, Stop, Visit};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// How many records a scan asks for at once when some are missing.
const READ_AHEAD: usize = 64;

/// Sorts after every clustering key there can be.
const LAST_CLUSTERING: &[u8] = &[0xFF];

/// Rows of one shard, and what was found missing.
pub(crate) struct EngineStore<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) misses: &'a RefCell<Vec<Miss>>,
    pub(crate) record_sets: &'a BTreeMap<TableId, Arc<Table>>,
    /// The last write of all that were seen.
    pub(crate) newest: Cell<Sequence>,
}

impl EngineStore<'_> {
    #[inline]
    fn saw(&self, row: &Row<'_>) {
        self.newest.set(self.newest.get().max(row.sequence));
    }

    #[cold]
    fn stop(&self, error: ReadError) -> Stop {
        match error {
            ReadError::Miss(miss) => {
                self.misses.borrow_mut().push(miss);
                Stop::Miss
            }
            ReadError::NotReady => Stop::NotReady,
            ReadError::UnknownTable { .. } => Stop::UnknownTable,
            ReadError::Damaged { segment, offset, .. } => Stop::Damaged { segment: segment.0, offset: offset as u32 },
        }
    }
}

impl RowStore for EngineStore<'_> {
    #[inline]
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        let key = Key { table: partition.table, token: partition.token, partition: partition.bytes, clustering };
        match self.engine.get(&key, CachePolicy::Keep) {
            Ok(row) => Ok(row.map(|row| {
                self.saw(&row);
                row.bytes
            })),
            Err(error) => Err(self.stop(error)),
        }
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        if to.is_some_and(|to| to <= from) {
            return Ok(());
        }
        let scan = PartitionScan {
            table: partition.table,
            token: partition.token,
            partition: partition.bytes,
            from: Bound::Included(from),
            to: to.map_or(Bound::Unbounded, Bound::Excluded),
            direction: match direction {
                Direction::Forward => engine::Direction::Forward,
                Direction::Reverse => engine::Direction::Backward,
            },
            policy: CachePolicy::Keep,
            read_ahead: READ_AHEAD,
        };
        let mut cursor = self.engine.scan_partition(&scan).map_err(|error| self.stop(error))?;
        while let Some((clustering, row)) = cursor.next().map_err(|error| self.stop(error))? {
            self.saw(&row);
            if visit(clustering, row.bytes) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }

    fn scan_table(
        &self,
        table: TableId,
        from: Position<'_>,
        until: Token,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        let mut start = TablePosition::Token(from.token);
        if !from.partition.is_empty() {
            let partition = PartitionKey { table, token: from.token, bytes: from.partition };
            let mut stopped = false;
            self.scan(&partition, from.clustering, None, Direction::Forward, &mut |clustering, row| {
                let verdict = visit(ScannedRow { partition, clustering, row });
                stopped = verdict == Visit::Stop;
                verdict
            })?;
            if stopped {
                return Ok(());
            }
            start = TablePosition::After { token: from.token, partition: from.partition, clustering: LAST_CLUSTERING };
        }
        let scan = TableScan { table, from: start, to: until, policy: CachePolicy::Bypass, read_ahead: READ_AHEAD };
        let mut cursor = self.engine.scan_table(&scan).map_err(|error| self.stop(error))?;
        while let Some(found) = cursor.next().map_err(|error| self.stop(error))? {
            self.saw(&found.row);
            let partition = PartitionKey { table, token: found.token, bytes: found.partition };
            if visit(ScannedRow { partition, clustering: found.clustering, row: found.row.bytes }) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }

    fn record_set(&self, table: TableId) -> Option<&Table> {
        self.record_sets.get(&table).map(|table| &**table)
    }
}
