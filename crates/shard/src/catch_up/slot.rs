//! All rows of a slot: copied, digested, or wiped.

use super::{Chunk, READ_AHEAD, RowKey, Unfinished, VOID_PURGE_S, put_void, void_row};
use crate::{Shard, ShardError};
use base::{Checksum, Now, Slot, TableId};
use engine::{CachePolicy, DamagedPlaces, Key, Kind, ReadError, TablePosition, TableRow, TableScan, WriteBatch};

/// A row counts for at least so many bytes of a chunk.
const ROW_BYTES_MIN: usize = 64;

/// A walk over all rows of some tables in one slot, in (table, token, partition key, clustering key) order.
#[derive(Clone, Debug)]
pub struct SlotScan {
    /// The tables that are left; the present one is last.
    tables: Vec<TableId>,
    slot: Slot,
    /// The last row of the chunks so far.
    after: Option<RowKey>,
    /// Whether the present table has no deltas in the slot any more.
    is_settled: bool,
    damaged: u64,
    /// Records that are read at once.
    read_ahead: usize,
}

impl SlotScan {
    /// Over all rows.
    #[must_use]
    pub fn new(tables: impl IntoIterator<Item = TableId>, slot: Slot) -> Self {
        let mut tables: Vec<TableId> = tables.into_iter().collect();
        tables.sort_unstable_by(|one, other| other.cmp(one));
        Self { tables, slot, after: None, is_settled: false, damaged: 0, read_ahead: READ_AHEAD }
    }

    /// Over the rows after this one.
    #[must_use]
    pub fn after(tables: impl IntoIterator<Item = TableId>, slot: Slot, after: RowKey) -> Self {
        let tables = tables.into_iter().filter(|table| *table >= after.table);
        let mut scan = Self::new(tables, slot);
        if scan.tables.last() == Some(&after.table) {
            scan.after = Some(after);
        }
        scan
    }

    /// The slot.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The last row of the chunks so far.
    #[must_use]
    pub fn position(&self) -> Option<&RowKey> {
        self.after.as_ref()
    }

    /// Damaged rows that were skipped: they have to come from another replica.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// From now on so many records are read at once, or 128 if that is less.
    pub fn read_at_once(&mut self, records: usize) {
        self.read_ahead = records.min(READ_AHEAD);
    }

    fn table_scan(&self, table: TableId) -> TableScan<'_> {
        let from = match &self.after {
            None => TablePosition::Token(self.slot.first_token()),
            Some(RowKey { token, partition, clustering, .. }) => TablePosition::After { token: *token, partition, clustering },
        };
        TableScan { table, from, to: self.slot.last_token(), policy: CachePolicy::Bypass, read_ahead: self.read_ahead }
    }

    fn end_table(&mut self) {
        self.tables.pop();
        self.after = None;
        self.is_settled = false;
    }
}

/// A digest of a slot's rows: equal on replicas whose rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotDigest {
    /// How many there are.
    pub rows: u64,
    /// The hash of their keys and bytes, in order.
    pub hash: u64,
}

impl SlotDigest {
    fn add(&mut self, table: TableId, found: &TableRow<'_>) {
        let mut checksum = Checksum::new();
        checksum.update(&table.0.to_le_bytes());
        checksum.update(&found.token.0.to_le_bytes());
        for part in [found.partition, found.clustering, found.row.bytes] {
            checksum.update(&(part.len() as u32).to_le_bytes());
            checksum.update(part);
        }
        self.rows += 1;
        self.hash = (self.hash.rotate_left(29) ^ u64::from(checksum.value())).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Shard {
    /// Appends rows of a slot to `out`, tombstones included, until they take about `bytes_max`.
    ///
    /// # Errors
    /// `NotReady`; when deltas have to be written first, as for writes.
    pub fn scan_slot(
        &mut self,
        now: Now,
        number: u32,
        scan: &mut SlotScan,
        bytes_max: usize,
        out: &mut WriteBatch,
    ) -> Result<Chunk, ShardError> {
        let mut damaged = DamagedPlaces::new();
        let table = scan.tables.last().copied();
        let outcome = self.settle_for(now, scan).and_then(|settled| {
            if !settled {
                return Ok(Chunk::More);
            }
            self.walk_slot(scan, bytes_max, &mut damaged, |table, found| {
                let key = Key { table, token: found.token, partition: found.partition, clustering: found.clustering };
                out.put(&key, found.row.kind, found.row.bytes).map_err(|error| ShardError::of_write(&error))
            })
        });
        if let Some(table) = table.filter(|_| !damaged.is_empty()) {
            self.damage.note(table, scan.slot);
        }
        self.chunk(number, outcome)
    }

    /// Continues the digest of a slot. It covers rows that are neither deleted nor purgeable.
    ///
    /// # Errors
    /// As [`Shard::scan_slot`].
    pub fn digest_slot(
        &mut self,
        now: Now,
        number: u32,
        scan: &mut SlotScan,
        bytes_max: usize,
        digest: &mut SlotDigest,
    ) -> Result<Chunk, ShardError> {
        let outcome = self.settle_for(now, scan).and_then(|settled| {
            if !settled {
                return Ok(Chunk::More);
            }
            self.walk_slot(scan, bytes_max, &mut DamagedPlaces::new(), |table, found| {
                let is_there = match found.row.kind {
                    Kind::Live => true,
                    Kind::Expiring { purge_after_s } => purge_after_s >= now.wall_s(),
                    Kind::Tombstone { .. } => false,
                };
                if is_there {
                    digest.add(table, found);
                }
                Ok(())
            })
        });
        self.chunk(number, outcome)
    }

    /// Wipes a slot, about `bytes_max` of it a call: each row is overwritten by a void one, which is purged as soon as no older version can come
    /// back. Nobody may write in the slot meanwhile.
    ///
    /// # Errors
    /// As for writes.
    pub fn wipe_slot(&mut self, now: Now, number: u32, scan: &mut SlotScan, bytes_max: usize) -> Result<Chunk, ShardError> {
        let outcome = self.wipe_chunk(now, scan, bytes_max);
        self.chunk(number, outcome)
    }

    fn wipe_chunk(&mut self, now: Now, scan: &mut SlotScan, bytes_max: usize) -> Result<Chunk, Unfinished> {
        let void = void_row();
        if let Some(keys) = self.next_deltas(scan)? {
            let mut batch = WriteBatch::new();
            for key in &keys {
                put_void(&mut batch, &key.borrow(), &void).map_err(Unfinished::Failed)?;
            }
            self.engine.apply(now, &batch)?;
            self.vectors.wrote(&batch);
            keys.iter().for_each(|key| self.forget_delta(&key.borrow()));
            return Ok(Chunk::More);
        }
        let mut batch = WriteBatch::new();
        let mut ahead = scan.clone();
        let bytes_max = bytes_max.min(self.engine.batch_bytes_max() / 2);
        let (table, mut damaged) = (scan.tables.last().copied(), DamagedPlaces::new());
        let chunk = self.walk_slot(&mut ahead, bytes_max, &mut damaged, |table, found| {
            let is_void = found.row.kind == Kind::Tombstone { purge_after_s: VOID_PURGE_S } && found.row.bytes == void;
            let key = Key { table, token: found.token, partition: found.partition, clustering: found.clustering };
            if is_void { Ok(()) } else { put_void(&mut batch, &key, &void) }
        })?;
        if let Some(table) = table.filter(|_| !damaged.is_empty()) {
            return self.wipe_damaged(now, (table, scan.slot), &damaged, bytes_max);
        }
        if !batch.is_empty() {
            self.engine.apply(now, &batch)?;
            self.vectors.wrote(&batch);
        }
        *scan = ahead;
        Ok(chunk)
    }

    /// Wipes damaged rows that a chunk has met; the chunk is tried again without them.
    fn wipe_damaged(
        &mut self,
        now: Now,
        (table, slot): (TableId, Slot),
        places: &DamagedPlaces,
        bytes_max: usize,
    ) -> Result<Chunk, Unfinished> {
        let (mut batch, void) = (WriteBatch::new(), void_row());
        let rows = self.engine.damaged_rows(table, slot, places);
        for (token, partition, clustering) in &rows {
            if batch.bytes_in_log() > bytes_max {
                break;
            }
            put_void(&mut batch, &Key { table, token: *token, partition, clustering }, &void).map_err(Unfinished::Failed)?;
        }
        let has_all = batch.len() == rows.len();
        if !batch.is_empty() {
            self.engine.apply(now, &batch)?;
            self.vectors.wrote(&batch);
        }
        if has_all {
            self.engine.forget_damaged(table, slot, places);
        }
        Ok(Chunk::More)
    }

    /// Gives rows of the slot to `take` until they make up `bytes_max`.
    fn walk_slot(
        &self,
        scan: &mut SlotScan,
        bytes_max: usize,
        places: &mut DamagedPlaces,
        mut take: impl FnMut(TableId, &TableRow<'_>) -> Result<(), ShardError>,
    ) -> Result<Chunk, Unfinished> {
        let Some(table) = scan.tables.last().copied() else { return Ok(Chunk::End) };
        // The next chunk meets the rows after the last one that is taken again.
        let (mut last, mut bytes, mut damaged, mut passed) = (None, 0, 0, 0);
        let chunk = {
            let opened = match self.engine.scan_table(&scan.table_scan(table)) {
                Err(ReadError::UnknownTable { .. }) => None,
                opened => Some(opened?),
            };
            let mut cursor = opened;
            loop {
                let found = match cursor.as_mut().map_or(Ok(None), |cursor| cursor.next()) {
                    Ok(found) => found,
                    // The rows before it make a chunk.
                    Err(ReadError::Miss(_)) if last.is_some() => break Chunk::More,
                    Err(ReadError::Damaged { segment, offset, .. }) => {
                        places.insert((segment, offset));
                        damaged += 1;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                let Some(found) = found else { break Chunk::End };
                let row_bytes = ROW_BYTES_MIN.max(found.row.bytes.len() + found.partition.len() + found.clustering.len());
                if last.is_some() && bytes + row_bytes > bytes_max {
                    break Chunk::More;
                }
                take(table, &found).map_err(Unfinished::Failed)?;
                bytes += row_bytes;
                passed = damaged;
                let TableRow { token, partition, clustering, .. } = found;
                let key = last.get_or_insert_with(|| RowKey { table, token, partition: Vec::new(), clustering: Vec::new() });
                key.token = token;
                partition.clone_into(&mut key.partition);
                clustering.clone_into(&mut key.clustering);
            }
        };
        if chunk == Chunk::End {
            scan.damaged += damaged;
            scan.end_table();
            return Ok(if scan.tables.is_empty() { Chunk::End } else { Chunk::More });
        }
        scan.damaged += passed;
        scan.after = last;
        Ok(chunk)
    }

    /// Some keys of the present table's slot that have deltas; `None` if none has.
    fn next_deltas(&self, scan: &mut SlotScan) -> Result<Option<Vec<RowKey>>, Unfinished> {
        let Some(table) = scan.tables.last().copied().filter(|_| !scan.is_settled) else { return Ok(None) };
        let from_start = SlotScan { after: None, ..scan.clone() };
        let keys = self.deltas_in(&from_start.table_scan(table))?;
        scan.is_settled = keys.is_empty();
        Ok(if keys.is_empty() { None } else { Some(keys) })
    }

    /// Merges some rows of the slot with their deltas. Returns whether no row has a delta any more.
    fn settle_for(&mut self, now: Now, scan: &mut SlotScan) -> Result<bool, Unfinished> {
        match self.next_deltas(scan)? {
            Some(keys) => self.settle_keys(now, &keys).map(|()| false),
            None => Ok(true),
        }
    }
}
