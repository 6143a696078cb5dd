//! The engine as operations see it.

mod merged;

pub(crate) use merged::merge_delta;

use crate::deltas::{Deltas, companion};
use crate::kept::Kept;
use crate::replication::Replication;
use crate::table_state::Tables;
use crate::vectors::Vectors;
use base::{SLOT_COUNT, Slot, TableId, Token};
use engine::{CachePolicy, Engine, Key, Miss, PartitionScan, ReadError, Row, Sequence, TablePosition, TableScan};
use model::Table;
use model::operation::{
    Basis, Covering, Direction, EntryStretch, NearRows, NearestQuery, PartitionKey, Position, RowStore, ScannedRow, Stop, Visit, WriteSet,
};
use model::row::without_below;
use std::cell::{Cell, RefCell};
use std::ops::Bound;

/// How many records a scan asks for at once when some are missing, at first, and how often that is doubled.
const READ_AHEAD: usize = 64;
const READ_AHEAD_DOUBLED_MAX: u32 = 4;

/// Sorts after every clustering key there can be.
const LAST_CLUSTERING: &[u8] = &[0xFF];

/// The rows of one shard, and the misses of the operation that runs.
pub(crate) struct EngineStore<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) misses: &'a RefCell<Vec<Miss>>,
    pub(crate) tables: &'a Tables,
    /// The partition that the operation asked for last.
    pub(crate) last_partition: Cell<Option<(TableId, Token)>>,
    /// Where it was last, to know what a damaged record is of.
    pub(crate) visited: Cell<Option<(TableId, Slot)>>,
    /// The newest of the rows that were seen.
    pub(crate) newest: Cell<Sequence>,
    pub(crate) deltas: &'a Deltas,
    pub(crate) vectors: &'a Vectors,
    /// Rows that were merged with their deltas, to be written whole. An empty one stands for a row whose delta is outdated.
    pub(crate) merged: &'a RefCell<WriteSet>,
    pub(crate) replication: Option<&'a Replication>,
    /// What is kept for a backup.
    pub(crate) kept: Option<&'a Kept>,
    pub(crate) now_s: u32,
    /// How many rows scans ask for at once.
    pub(crate) read_ahead: usize,
}

/// How many rows scans ask for at once, of an operation that has run so often before: each run reads again what those before have read, so it asks for twice as
/// many as the last one.
#[inline]
pub(crate) fn read_ahead(former_runs: u32) -> usize {
    READ_AHEAD << former_runs.min(READ_AHEAD_DOUBLED_MAX)
}

impl<'a> EngineStore<'a> {
    /// A row as its table shows it: without what a column had before it was dropped and came back.
    #[inline]
    pub(crate) fn shown<'r>(&self, table: TableId, row: &'r [u8], scratch: &'r mut Vec<u8>) -> &'r [u8] {
        if self.tables.floors.is_empty() { row } else { self.without_below(table, row, scratch) }
    }

    fn without_below<'r>(&self, table: TableId, row: &'r [u8], scratch: &'r mut Vec<u8>) -> &'r [u8] {
        scratch.clear();
        match self.tables.floors.get(&table) {
            Some(floors) if without_below(row, floors, scratch) => scratch,
            _ => row,
        }
    }

    /// The same of the result of a read.
    #[inline]
    fn shown_once<'r>(&'r self, table: TableId, row: Option<&'r [u8]>) -> Option<&'r [u8]> {
        if self.tables.floors.is_empty() {
            return row;
        }
        let mut scratch = Vec::new();
        let row = row?;
        let shown = self.without_below(table, row, &mut scratch);
        Some(if std::ptr::eq(shown, row) { row } else { self.engine.lend(shown) })
    }

    #[inline]
    fn saw(&self, row: &Row<'_>) {
        self.saw_sequence(row.sequence);
    }

    #[inline]
    pub(crate) fn saw_sequence(&self, sequence: Sequence) {
        self.newest.set(self.newest.get().max(sequence));
        if let Some(replication) = self.replication {
            replication.saw(sequence);
        }
    }

    /// Checks that the operation may run in a partition's slot.
    #[inline]
    fn enter(&self, table: TableId, token: Token) -> Result<(), Stop> {
        self.visited.set(Some((table, token.slot())));
        self.replication.map_or(Ok(()), |replication| replication.enter(table, token.slot()))
    }

    /// Checks that a scan of a table may see the slots up to this token.
    #[inline]
    pub(crate) fn pass(&self, table: TableId, next: &Cell<u16>, token: Token) -> Result<(), Stop> {
        let Some(replication) = self.replication else { return Ok(()) };
        let slot = token.slot();
        if next.get() <= slot.0 {
            replication.enter_all(table, Slot(next.get()), slot)?;
            next.set(slot.0 + 1);
        }
        Ok(())
    }

    /// A scan of a table has come to a slot and met an error there. Of a slot that it may not see it says that first.
    #[cold]
    pub(crate) fn stop_at(&self, table: TableId, next: &Cell<u16>, slot: Slot, error: ReadError) -> Stop {
        if matches!(error, ReadError::Damaged { .. }) {
            if let Err(stop) = self.pass(table, next, slot.first_token()) {
                return stop;
            }
            self.visited.set(Some((table, slot)));
        }
        self.stop(error)
    }

    #[cold]
    pub(crate) fn stop(&self, error: ReadError) -> Stop {
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
    fn next_slot(&self, (table, of): (TableId, TableId), prefix: &[u8], from: Slot, last: Slot) -> Result<Option<(Slot, bool)>, Stop> {
        let next = self.engine.next_slot((table, of), prefix, from, last);
        if let Some(replication) = self.replication {
            replication.enter_all(table, from, next.map_or(last, |(slot, _)| slot))?;
        }
        Ok(next)
    }

    fn slots_without(&self, (table, of): (TableId, TableId), prefixes: &[&[u8]], after: Slot) -> Vec<Slot> {
        let Some(replication) = self.replication else { return Vec::new() };
        let mut slots = replication.served(table);
        slots.retain(|slot| *slot > after);
        self.engine.retain_slots_without((table, of), prefixes, &mut slots);
        slots
    }

    fn slots_without_rows(&self, table: TableId, after: Slot) -> Vec<Slot> {
        let Some(replication) = self.replication else { return Vec::new() };
        let mut has_rows = [false; SLOT_COUNT as usize];
        // A row may be a delta alone.
        let with_rows = self.engine.table_slots(table).chain(self.engine.table_slots(companion(table)));
        with_rows.for_each(|slot| has_rows[usize::from(slot.0)] = true);
        let mut slots = replication.served(table);
        slots.retain(|slot| *slot > after && !has_rows[usize::from(slot.0)]);
        slots
    }

    fn cover_slot(&self, stretch: &EntryStretch<'_>) -> Result<Covering, Stop> {
        let EntryStretch { partition, first, prefix_of, rows_max, fetches } = *stretch;
        match self.engine.cover_slot((partition.table, partition.token, partition.bytes), first, prefix_of, (rows_max, fetches)) {
            Ok(engine::Covering::Refused) => Ok(Covering::Refused),
            Ok(engine::Covering::Partly) => Ok(Covering::Partly),
            Ok(engine::Covering::Whole) => Ok(Covering::Whole),
            Err(_) if !fetches => Ok(Covering::Refused),
            Err(error) => Err(self.stop(error)),
        }
    }

    #[inline]
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        let key = Key { table: partition.table, token: partition.token, partition: partition.bytes, clustering };
        self.enter(partition.table, partition.token)?;
        self.last_partition.set(Some((partition.table, partition.token)));
        if !self.deltas.is_empty() && clustering.is_empty() {
            self.engine.warm(companion(partition.table), partition.token);
        }
        let row = self.engine.get(&key, CachePolicy::Keep);
        if clustering.is_empty() {
            return self.with_delta(partition, row).map(|row| self.shown_once(partition.table, row));
        }
        match row {
            Ok(row) => Ok(self.shown_once(
                partition.table,
                row.map(|row| {
                    self.saw(&row);
                    row.bytes
                }),
            )),
            Err(error) => Err(self.stop(error)),
        }
    }

    #[inline]
    fn has_rows(&self, table: TableId) -> bool {
        self.engine.table_rows(table) > 0
    }

    fn basis(&self, partition: &PartitionKey<'_>) -> Result<Basis<'_>, Stop> {
        self.basis_of(partition)
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
        if self.has_deltas(partition.table) {
            if from.is_empty()
                && let Some(row) = self.get(partition, &[])?
            {
                visit(&[], row);
            }
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
            read_ahead: self.read_ahead,
        };
        self.enter(partition.table, partition.token)?;
        let mut cursor = self.engine.scan_partition(&scan).map_err(|error| self.stop(error))?;
        let mut scratch = Vec::new();
        // What the visitor reads may be elsewhere.
        let stop = |error| {
            self.visited.set(Some((partition.table, partition.token.slot())));
            self.stop(error)
        };
        while let Some((clustering, row)) = cursor.next().map_err(stop)? {
            self.saw(&row);
            if visit(clustering, self.shown(partition.table, row.bytes, &mut scratch)) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }

    fn scan_live(
        &self,
        partition: &PartitionKey<'_>,
        bounds: (&[u8], Option<&[u8]>),
        direction: Direction,
        now_s: u32,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        self.scan_without_dead(partition, bounds, direction, now_s, visit)
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
        let scan = TableScan { table, from: start, to: until, policy: CachePolicy::Bypass, read_ahead: self.read_ahead };
        let next_slot = Cell::new(from.token.slot().0);
        if self.has_deltas(table) {
            return self.scan_merged(&scan, &next_slot, visit);
        }
        let mut cursor = self.engine.scan_table(&scan).map_err(|error| self.stop(error))?;
        let mut scratch = Vec::new();
        loop {
            let found = match cursor.next() {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(error) => return Err(self.stop_at(table, &next_slot, cursor.slot(), error)),
            };
            self.pass(table, &next_slot, found.token)?;
            self.saw(&found.row);
            let partition = PartitionKey { table, token: found.token, bytes: found.partition };
            let row = self.shown(table, found.row.bytes, &mut scratch);
            if visit(ScannedRow { partition, clustering: found.clustering, row }) == Visit::Stop {
                return Ok(());
            }
        }
        self.pass(table, &next_slot, until)
    }

    fn nearest(&self, query: &NearestQuery<'_>) -> Result<Option<NearRows>, Stop> {
        if let Some(replication) = self.replication {
            replication.enter_all(query.table, query.first.slot(), query.last.slot())?;
        }
        let slots = match self.replication {
            Some(replication) if query.of_all_served => replication.served(query.table),
            _ => Vec::new(),
        };
        Ok(self.vectors.nearest(query, &slots).map(|rows| NearRows { rows, slots }))
    }

    fn record_set(&self, table: TableId) -> Option<&Table> {
        self.tables.record_sets.get(&table).map(|table| &**table)
    }

    fn record_set_of_name(&self, keyspace: &str, name: &str) -> Option<&Table> {
        let mut tables = self.tables.record_sets.values().map(|table| &**table);
        tables.find(|table| table.name == name && table.keyspace == keyspace)
    }
}
