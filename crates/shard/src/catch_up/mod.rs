//! What one member shows another so that both have the same rows: all rows of a slot, the rows that were written after some sequence, the
//! present rows of some keys, nothing at all, and a digest to compare.
//!
//! All of it goes in chunks: a call works on what is in memory up to a bound; what is missing is asked for, and the caller comes again when
//! [`Shard::take_scans_ready`] names its number. What is read ahead of a chunk stays in memory for the next ones. Between chunks everything may change: what a chunk gives is as of its call, so it has
//! to be sent after all writes that came before it ([`Shard::written`]) and before those that come later.
//!
//! Invariants: what is given are whole rows: one that still has a delta beside it, from before its table was replicated, is written whole first;
//! a key without a row is given as a [void](VOID_PURGE_S) one, which takes the place of whatever the other has.

mod slot;
mod tail;

pub use slot::{SlotDigest, SlotScan};
pub use tail::{Enough, TailWalk};

use crate::deltas::companion;
use crate::replicated::SCANNER;
use crate::store::merge_delta;
use crate::{Shard, ShardError};
use base::{Now, TableId, Token};
use engine::{CachePolicy, Key, Kind, Miss, ReadError, TableRow, TableScan, WriteBatch, WriteError};
use model::operation::Stop;
use model::row::{RowWriter, Stamp};

/// How many records are asked for at once, and how many bytes of them.
const READ_AHEAD: usize = 128;
const READ_AHEAD_BYTES: usize = 256 << 10;
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
pub enum Chunk {
    /// There is more to do.
    More,
    /// That was all.
    End,
    /// Rows have to be read first, or room has to be made: come again when the number is ready.
    Waits,
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

/// What has been read for a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The chunk that is to be taken again needs it.
    ForThisChunk,
    /// The chunk for which it was read is done.
    Ahead,
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
                Self::Failed(ShardError::Read(Stop::Damaged { segment: segment.0, offset: offset as u32 }))
            }
        }
    }
}

impl Shard {
    /// Appends the present row of each key to `out`, tombstones included, until they take about `bytes_max` or one has to be read first; where there is none,
    /// one that says so; one that is damaged is passed over. Gives how many keys were done, at least one; `None` when the first has to be read. Those of `later` are read
    /// ahead for calls to come.
    ///
    /// # Errors
    /// As for reads, and, when deltas have to be written first, for writes; of the first key.
    pub fn images(
        &mut self,
        now: Now,
        number: u32,
        (keys, later): (&[RowKey], &[RowKey]),
        bytes_max: usize,
        out: &mut WriteBatch,
    ) -> Result<Option<usize>, ShardError> {
        let mut done = 0;
        let outcome = self.images_of(now, (keys, later), bytes_max, out).map(|count| {
            done = count;
            if count < keys.len() || !later.is_empty() { Chunk::More } else { Chunk::End }
        });
        Ok((self.chunk(number, outcome)? != Chunk::Waits).then_some(done))
    }

    fn images_of(
        &mut self,
        now: Now,
        (keys, later): (&[RowKey], &[RowKey]),
        bytes_max: usize,
        out: &mut WriteBatch,
    ) -> Result<usize, Unfinished> {
        let (void, start) = (void_row(), out.bytes_in_log());
        for (done, key) in keys.iter().enumerate() {
            match self.present(now, key) {
                // Those before it count; it is the first of the next call.
                Err(_) if done > 0 => return Ok(done),
                Err(Unfinished::Failed(ShardError::Read(Stop::Damaged { .. }))) => return Ok(1),
                Err(Unfinished::Misses(mut misses)) => {
                    for key in keys[1..].iter().chain(later).take(READ_AHEAD) {
                        if let Err(Unfinished::Misses(more)) = self.present(now, key) {
                            misses.extend(more);
                        }
                    }
                    return Err(Unfinished::Misses(misses));
                }
                outcome => outcome?,
            }
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

    /// Sees to it that a row is whole and in memory.
    fn present(&mut self, now: Now, key: &RowKey) -> Result<(), Unfinished> {
        if self.has_deltas_of(key.table) {
            self.settle_key(now, &key.borrow())?;
        }
        Ok(self.engine.get(&key.borrow(), CachePolicy::Bypass).map(|_| ())?)
    }

    /// Ends a call: asks for what is missing, or lets go of what was read for it. What was read ahead of a chunk stays for those that follow, until one of them
    /// misses something: then it has been passed.
    fn chunk(&mut self, number: u32, outcome: Result<Chunk, Unfinished>) -> Result<Chunk, ShardError> {
        let waiter = SCANNER | u64::from(number);
        match outcome {
            Err(Unfinished::Misses(misses)) => {
                if self.scans.insert(number, Reading::ForThisChunk) == Some(Reading::Ahead) {
                    self.engine.finish(waiter);
                }
                let mut bytes = 0;
                for miss in misses {
                    let miss = miss.within(READ_AHEAD_BYTES.saturating_sub(bytes));
                    self.engine.fetch(&miss, waiter);
                    bytes += miss.bytes();
                    if bytes >= READ_AHEAD_BYTES {
                        break;
                    }
                }
                Ok(Chunk::Waits)
            }
            Err(Unfinished::Busy) => {
                self.scans.entry(number).or_insert(Reading::ForThisChunk);
                self.waiters.for_room.push(waiter);
                Ok(Chunk::Waits)
            }
            Ok(Chunk::More) => {
                self.scans.entry(number).and_modify(|reading| *reading = Reading::Ahead);
                Ok(Chunk::More)
            }
            Ok(chunk) => {
                self.forget_scan(number);
                Ok(chunk)
            }
            Err(Unfinished::Failed(error)) => {
                self.forget_scan(number);
                Err(error)
            }
        }
    }

    /// Lets go of what was read for scans that are under way no more, and gives their numbers: they wait for nothing.
    pub fn end_scans(&mut self, is_under_way: impl Fn(u32) -> bool) -> Vec<u32> {
        let ended: Vec<u32> = self.scans.keys().copied().filter(|number| !is_under_way(*number)).collect();
        ended.iter().for_each(|number| self.forget_scan(*number));
        ended
    }

    fn forget_scan(&mut self, number: u32) {
        if self.scans.remove(&number).is_some() {
            self.forget_waiter(SCANNER | u64::from(number));
        }
    }

    fn has_deltas_of(&self, table: TableId) -> bool {
        self.engine.table_rows(companion(table)) > 0
    }

    /// Some keys that have deltas.
    fn deltas_in(&self, scan: &TableScan<'_>) -> Result<Vec<RowKey>, Unfinished> {
        let (table, mut keys) = (scan.table, Vec::new());
        if !self.has_deltas_of(table) {
            return Ok(keys);
        }
        let mut cursor = self.engine.scan_table(&TableScan { table: companion(table), ..*scan })?;
        while keys.len() < READ_AHEAD {
            let found = match cursor.next() {
                Err(ReadError::Miss(_)) if !keys.is_empty() => break,
                found => found?,
            };
            let Some(TableRow { token, partition, .. }) = found else { break };
            keys.push(RowKey { table, token, partition: partition.to_vec(), clustering: Vec::new() });
        }
        Ok(keys)
    }

    fn settle_keys(&mut self, now: Now, keys: &[RowKey]) -> Result<(), Unfinished> {
        let mut misses = Vec::new();
        for key in keys {
            match self.settle_key(now, &key.borrow()) {
                Err(Unfinished::Misses(more)) => misses.extend(more),
                outcome => outcome?,
            }
        }
        if misses.is_empty() { Ok(()) } else { Err(Unfinished::Misses(misses)) }
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
