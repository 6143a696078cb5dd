//! What one member shows another so that both have the same rows: all rows of a slot, the present rows of some keys, nothing at all, and a
//! digest to compare.
//!
//! All of it goes in bites: a call works on what is in memory up to a bound; what is missing is asked for, and the caller comes again when
//! [`Shard::take_scans_ready`] names its number. Between bites everything may change: what a bite gives is as of its call, so it has
//! to be sent after all writes that came before it ([`Shard::written`]) and before those that come later.
//!
//! Invariants: what is given are whole rows: one that still has a delta beside it, from before its table was replicated, is written whole first;
//! a key without a row is given as a [void](VOID_PURGE_S) one, which takes the place of whatever the other has.

use crate::deltas::companion;
use crate::replicated::SCANNER;
use crate::store::merge_delta;
use crate::{Shard, ShardError};
use base::{Checksum, Now, Slot, TableId, Token};
use engine::{CachePolicy, Key, Kind, Miss, ReadError, TablePosition, TableRow, TableScan, WriteBatch, WriteError};
use model::row::{RowWriter, Stamp};

/// How many records are asked for at once.
const READ_AHEAD: usize = 128;
/// What looking at a row counts for at least, in bytes.
const ROW_BYTES_MIN: usize = 64;
/// Rows that say that there is none may be purged at once: second zero.
const VOID_PURGE_S: i64 = 0;

/// A key of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// The table.
    pub table: TableId,
    /// The partition's token.
    pub token: Token,
    /// The partition key.
    pub partition: Vec<u8>,
    /// The clustering key.
    pub clustering: Vec<u8>,
}

impl RowKey {
    /// The key, borrowed.
    #[must_use]
    pub fn borrow(&self) -> Key<'_> {
        Key { table: self.table, token: self.token, partition: &self.partition, clustering: &self.clustering }
    }
}

/// What a call has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bite {
    /// There is more to do.
    More,
    /// That was all.
    End,
    /// Rows have to be read first, or room has to be made: come again when the number is ready.
    Waits,
}

/// A walk over all rows of some tables in one slot, in (table, token, partition key, clustering key) order.
#[derive(Clone, Debug)]
pub struct SlotScan {
    /// Those still to do, the present one last.
    tables: Vec<TableId>,
    slot: Slot,
    /// The last row that was taken.
    after: Option<RowKey>,
    /// Whether deltas of the present table have been seen to.
    is_settled: bool,
    damaged: u64,
}

impl SlotScan {
    /// Over all rows.
    #[must_use]
    pub fn new(tables: impl IntoIterator<Item = TableId>, slot: Slot) -> Self {
        let mut tables: Vec<TableId> = tables.into_iter().collect();
        tables.sort_unstable_by(|one, other| other.cmp(one));
        Self { tables, slot, after: None, is_settled: false, damaged: 0 }
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

    /// The last row that was taken.
    #[must_use]
    pub fn position(&self) -> Option<&RowKey> {
        self.after.as_ref()
    }

    /// Rows that could not be read and were passed over: they have to come from another replica.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    fn table_scan(&self, table: TableId) -> TableScan<'_> {
        let first = u64::from(self.slot.0) << 52;
        let from = match &self.after {
            None => TablePosition::Token(Token::from_biased(first)),
            Some(RowKey { token, partition, clustering, .. }) => TablePosition::After { token: *token, partition, clustering },
        };
        TableScan { table, from, to: Token::from_biased(first | ((1 << 52) - 1)), policy: CachePolicy::Bypass, read_ahead: READ_AHEAD }
    }

    fn end_table(&mut self) {
        self.tables.pop();
        self.after = None;
        self.is_settled = false;
    }
}

/// What the rows of a slot are, in few bytes: equal wherever the rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotDigest {
    /// How many there are.
    pub rows: u64,
    /// Of their keys and bytes, in order.
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

/// The bytes of a row that says nothing.
fn void_row() -> Vec<u8> {
    let mut row = Vec::new();
    RowWriter::new(&mut row, Stamp::at(i64::MIN), false, None).finish();
    row
}

fn put_void(batch: &mut WriteBatch, key: &Key<'_>, void: &[u8]) -> Result<(), ShardError> {
    batch.put(key, Kind::Tombstone { purge_after_s: VOID_PURGE_S }, void).map_err(|error| ShardError::of_write(&error))
}

/// Why a step of a walk could not be done.
enum Unfinished {
    Misses(Vec<Miss>),
    Busy,
    Failed(ShardError),
}

impl From<WriteError> for Unfinished {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Miss(miss) => Self::Misses(vec![miss]),
            WriteError::Busy => Self::Busy,
            error => Self::Failed(ShardError::of_write(&error)),
        }
    }
}

impl From<ReadError> for Unfinished {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Miss(miss) => Self::Misses(vec![miss]),
            ReadError::NotReady => Self::Failed(ShardError::NotReady),
            ReadError::UnknownTable { .. } => Self::Failed(ShardError::UnknownTable),
            ReadError::Damaged { segment, offset, .. } => {
                Self::Failed(ShardError::Read(model::operation::Stop::Damaged { segment: segment.0, offset: offset as u32 }))
            }
        }
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
    ) -> Result<Bite, ShardError> {
        let outcome = self.settle_slot(now, scan).and_then(|settled| {
            if !settled {
                return Ok(Bite::More);
            }
            self.walk_slot(scan, bytes_max, |table, found| {
                let key = Key { table, token: found.token, partition: found.partition, clustering: found.clustering };
                out.put(&key, found.row.kind, found.row.bytes).map_err(|error| ShardError::of_write(&error))
            })
        });
        self.bite(number, outcome)
    }

    /// Goes on with the digest of a slot: of its rows that are not deleted, nor may be purged.
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
    ) -> Result<Bite, ShardError> {
        let outcome = self.settle_slot(now, scan).and_then(|settled| {
            if !settled {
                return Ok(Bite::More);
            }
            self.walk_slot(scan, bytes_max, |table, found| {
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
        self.bite(number, outcome)
    }

    /// Makes the shard forget the rows of a slot, about `bytes_max` of them a call: each is overwritten by one that says nothing and is purged as
    /// soon as no older version can come back. Nobody may write in the slot meanwhile.
    ///
    /// # Errors
    /// As for writes.
    pub fn wipe_slot(&mut self, now: Now, number: u32, scan: &mut SlotScan, bytes_max: usize) -> Result<Bite, ShardError> {
        let outcome = self.wipe_bite(now, scan, bytes_max);
        self.bite(number, outcome)
    }

    fn wipe_bite(&mut self, now: Now, scan: &mut SlotScan, bytes_max: usize) -> Result<Bite, Unfinished> {
        let void = void_row();
        if let Some(keys) = self.next_deltas(scan)? {
            let mut batch = WriteBatch::new();
            for key in &keys {
                put_void(&mut batch, &key.borrow(), &void).map_err(Unfinished::Failed)?;
            }
            self.engine.apply(now, &batch)?;
            keys.iter().for_each(|key| self.forget_delta(&key.borrow()));
            return Ok(Bite::More);
        }
        let mut batch = WriteBatch::new();
        let mut ahead = scan.clone();
        let bytes_max = bytes_max.min(self.engine.batch_bytes_max() / 2);
        let bite = self.walk_slot(&mut ahead, bytes_max, |table, found| {
            let is_void = found.row.kind == Kind::Tombstone { purge_after_s: VOID_PURGE_S } && found.row.bytes == void;
            let key = Key { table, token: found.token, partition: found.partition, clustering: found.clustering };
            if is_void { Ok(()) } else { put_void(&mut batch, &key, &void) }
        })?;
        if !batch.is_empty() {
            self.engine.apply(now, &batch)?;
        }
        *scan = ahead;
        Ok(bite)
    }

    /// Appends the present row of each key to `out`, tombstones included, until they take about `bytes_max`; where there is none, one that says
    /// so. Gives how many keys were done, at least one; `None` when something has to be read first.
    ///
    /// # Errors
    /// As for reads, and, when deltas have to be written first, for writes.
    pub fn images(
        &mut self,
        now: Now,
        number: u32,
        keys: &[RowKey],
        bytes_max: usize,
        out: &mut WriteBatch,
    ) -> Result<Option<usize>, ShardError> {
        let mut done = 0;
        let outcome = self.images_of(now, keys, bytes_max, out).map(|count| {
            done = count;
            Bite::End
        });
        Ok((self.bite(number, outcome)? == Bite::End).then_some(done))
    }

    fn images_of(&mut self, now: Now, keys: &[RowKey], bytes_max: usize, out: &mut WriteBatch) -> Result<usize, Unfinished> {
        let keys = &keys[..keys.len().min(READ_AHEAD)];
        let mut misses = Vec::new();
        for key in keys {
            let settled = if self.has_deltas_of(key.table) { self.settle_key(now, &key.borrow()) } else { Ok(()) };
            let read = || self.engine.get(&key.borrow(), CachePolicy::Bypass).map(|_| ()).map_err(Unfinished::from);
            match settled.and_then(|()| read()) {
                Err(Unfinished::Misses(more)) => misses.extend(more),
                outcome => outcome?,
            }
        }
        if !misses.is_empty() {
            return Err(Unfinished::Misses(misses));
        }
        let (void, start) = (void_row(), out.bytes_in_log());
        for (done, key) in keys.iter().enumerate() {
            let row = self.engine.get(&key.borrow(), CachePolicy::Bypass)?;
            let bytes = out.bytes_in_log() - start + row.map_or(0, |row| row.bytes.len()) + key.partition.len() + key.clustering.len();
            if done > 0 && bytes > bytes_max {
                return Ok(done);
            }
            match row {
                Some(row) => out.put(&key.borrow(), row.kind, row.bytes)?,
                None => put_void(out, &key.borrow(), &void).map_err(Unfinished::Failed)?,
            }
        }
        Ok(keys.len())
    }

    /// Gives rows of the slot to `take` until they make up `bytes_max`.
    fn walk_slot(
        &self,
        scan: &mut SlotScan,
        bytes_max: usize,
        mut take: impl FnMut(TableId, &TableRow<'_>) -> Result<(), ShardError>,
    ) -> Result<Bite, Unfinished> {
        let Some(table) = scan.tables.last().copied() else { return Ok(Bite::End) };
        let (mut last, mut bytes, mut damaged) = (None, 0, 0);
        let bite = {
            let opened = match self.engine.scan_table(&scan.table_scan(table)) {
                Err(ReadError::UnknownTable { .. }) => None,
                opened => Some(opened?),
            };
            let mut cursor = opened;
            loop {
                let found = match cursor.as_mut().map_or(Ok(None), |cursor| cursor.next()) {
                    Ok(found) => found,
                    // What was taken before it counts.
                    Err(ReadError::Miss(_)) if last.is_some() => break Bite::More,
                    Err(ReadError::Damaged { .. }) => {
                        damaged += 1;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                let Some(found) = found else { break Bite::End };
                let row_bytes = ROW_BYTES_MIN.max(found.row.bytes.len() + found.partition.len() + found.clustering.len());
                if last.is_some() && bytes + row_bytes > bytes_max {
                    break Bite::More;
                }
                take(table, &found).map_err(Unfinished::Failed)?;
                bytes += row_bytes;
                let TableRow { token, partition, clustering, .. } = found;
                let key = last.get_or_insert_with(|| RowKey { table, token, partition: Vec::new(), clustering: Vec::new() });
                key.token = token;
                partition.clone_into(&mut key.partition);
                clustering.clone_into(&mut key.clustering);
            }
        };
        scan.damaged += damaged;
        if bite == Bite::End {
            scan.end_table();
            return Ok(if scan.tables.is_empty() { Bite::End } else { Bite::More });
        }
        scan.after = last;
        Ok(bite)
    }

    /// Ends a call: asks for what is missing, or lets go of what was read for it.
    fn bite(&mut self, number: u32, outcome: Result<Bite, Unfinished>) -> Result<Bite, ShardError> {
        let waiter = SCANNER | u64::from(number);
        match outcome {
            Err(Unfinished::Misses(misses)) => misses.iter().for_each(|miss| self.engine.fetch(miss, waiter)),
            Err(Unfinished::Busy) => self.waiting_for_room.push(waiter),
            Ok(bite) => {
                self.engine.finish(waiter);
                return Ok(bite);
            }
            Err(Unfinished::Failed(error)) => {
                self.engine.finish(waiter);
                return Err(error);
            }
        }
        Ok(Bite::Waits)
    }

    fn has_deltas_of(&self, table: TableId) -> bool {
        self.engine.table_rows(companion(table)) > 0
    }

    /// Some keys of the present table that have deltas; `None` if none has.
    fn next_deltas(&self, scan: &mut SlotScan) -> Result<Option<Vec<RowKey>>, Unfinished> {
        let Some(table) = scan.tables.last().copied().filter(|table| !scan.is_settled && self.has_deltas_of(*table)) else {
            scan.is_settled = true;
            return Ok(None);
        };
        let from_start = SlotScan { after: None, ..scan.clone() };
        let mut cursor = self.engine.scan_table(&from_start.table_scan(companion(table)))?;
        let mut keys = Vec::new();
        while keys.len() < READ_AHEAD {
            let found = match cursor.next() {
                Err(ReadError::Miss(_)) if !keys.is_empty() => break,
                found => found?,
            };
            let Some(TableRow { token, partition, .. }) = found else { break };
            keys.push(RowKey { table, token, partition: partition.to_vec(), clustering: Vec::new() });
        }
        scan.is_settled = keys.is_empty();
        Ok(if keys.is_empty() { None } else { Some(keys) })
    }

    /// Writes rows of the present table whole that have deltas, some of them. True when none has any more.
    fn settle_slot(&mut self, now: Now, scan: &mut SlotScan) -> Result<bool, Unfinished> {
        let Some(keys) = self.next_deltas(scan)? else { return Ok(true) };
        let mut misses = Vec::new();
        for key in &keys {
            match self.settle_key(now, &key.borrow()) {
                Err(Unfinished::Misses(more)) => misses.extend(more),
                outcome => outcome?,
            }
        }
        if misses.is_empty() { Ok(false) } else { Err(Unfinished::Misses(misses)) }
    }

    /// Writes a row whole that has a delta, and forgets the delta. For the rows of this member only: what they say stays the same.
    fn settle_key(&mut self, now: Now, key: &Key<'_>) -> Result<(), Unfinished> {
        let delta_key = Key { table: companion(key.table), ..*key };
        let (row, delta) = match (self.engine.get(key, CachePolicy::Bypass), self.engine.get(&delta_key, CachePolicy::Bypass)) {
            (Err(ReadError::Miss(row)), Err(ReadError::Miss(delta))) => return Err(Unfinished::Misses(vec![row, delta])),
            (row, delta) => (row?, delta?),
        };
        let Some(delta) = delta else { return Ok(()) };
        let mut batch = WriteBatch::new();
        match row {
            Some(row) if row.sequence > delta.sequence => {}
            Some(row) => {
                let now_s = now.wall_s().clamp(0, i64::from(u32::MAX)) as u32;
                merge_delta(row.bytes, delta.bytes, now_s, batch.begin_row(key, Kind::Live)?);
                batch.end_row();
            }
            None => batch.put(key, Kind::Live, delta.bytes)?,
        }
        if !batch.is_empty() {
            self.engine.apply(now, &batch)?;
        }
        self.forget_delta(key);
        Ok(())
    }

    pub(crate) fn forget_delta(&mut self, key: &Key<'_>) {
        self.engine.forget(&Key { table: companion(key.table), ..*key });
    }
}
