//! What a replica that lacks rows gets from its primary: all rows of a slot (rebuild), the rows written after a sequence (catch-up by delta), or
//! the rows of some keys (reconciliation). Also: a digest of a slot, and wiping a slot.
//!
//! Everything is done in chunks. A call works on rows in memory, up to a bound, and asks for the rows that are missing; the caller calls again when
//! [`Shard::take_scans_ready`] names its number. Rows that are read ahead of a chunk stay in memory for the next ones. A chunk has the rows
//! as they are at the call. It is sent after all earlier writes ([`Shard::written`]) and before all later ones.
//!
//! Invariants: a chunk has whole rows only. A row that still has a delta, from before its table was replicated, is written whole first. A key
//! without a row is sent as a [void](VOID_PURGE_S) row, which replaces whatever the receiver has.

mod slot;
mod tail;

pub use slot::{SlotDigest, SlotScan};
pub use tail::{Enough, TailWalk};

use crate::deltas::companion;
use crate::replicated::SCANNER;
use crate::store::merge_delta;
use crate::waiters::Reading;
use crate::{Shard, ShardError};
use base::{Now, TableId, Token};
use engine::{CachePolicy, Key, Kind, Miss, ReadError, TableRow, TableScan, WriteBatch, WriteError};
use model::operation::Stop;
use model::row::{RowWriter, Stamp};

/// Records that are read at once, and their bytes, at most.
const READ_AHEAD: usize = 128;
const READ_AHEAD_BYTES: usize = 256 << 10;
/// A void row may be purged at once: second zero.
const VOID_PURGE_S: i64 = 0;

/// A key that owns its bytes.
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

/// How a call has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// There are more chunks.
    More,
    /// This was the last chunk.
    End,
    /// The device must read rows or take writes first: call again when the number is ready.
    Waits,
}

/// The bytes of a void row.
fn void_row() -> Vec<u8> {
    let mut row = Vec::new();
    RowWriter::new(&mut row, Stamp::at(i64::MIN), false, None).finish();
    row
}

fn put_void(batch: &mut WriteBatch, key: &Key<'_>, void: &[u8]) -> Result<(), ShardError> {
    batch.put(key, Kind::Tombstone { purge_after_s: VOID_PURGE_S }, void).map_err(|error| ShardError::of_write(&error))
}

/// Why a chunk could not be made.
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
    /// Appends the present row of each key to `out`, tombstones included, until they take about `bytes_max` or a row has to be read first. A key
    /// without a row gets a void one; a damaged row is skipped. Returns how many keys are done, at least one; `None` when the first row has to
    /// be read. The rows of `later` are read ahead.
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
                // The next call starts with this key.
                Err(_) if done > 0 => return Ok(done),
                Err(Unfinished::Failed(ShardError::Read(Stop::Damaged { .. }))) => {
                    self.damage.note(key.table, key.token.slot());
                    return Ok(1);
                }
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

    /// Checks that a row is whole and in memory.
    fn present(&mut self, now: Now, key: &RowKey) -> Result<(), Unfinished> {
        if self.has_deltas_of(key.table) {
            self.settle_key(now, &key.borrow())?;
        }
        Ok(self.engine.get(&key.borrow(), CachePolicy::Bypass).map(|_| ())?)
    }

    /// Ends a call: fetches what is missing, or releases what was read for it. Rows that were read ahead stay in memory until a later chunk misses
    /// a row: then the scan has passed them.
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

    /// Releases what was read for scans that are no longer under way. Returns their numbers.
    pub fn end_scans(&mut self, is_under_way: impl Fn(u32) -> bool) -> Vec<u32> {
        let ended: Vec<u32> = self.scans.keys().copied().filter(|number| !is_under_way(*number)).collect();
        ended.iter().for_each(|number| self.forget_scan(*number));
        ended
    }

    pub(crate) fn forget_scan(&mut self, number: u32) {
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
        while keys.len() < scan.read_ahead {
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

    /// Merges a row with its delta, writes it whole and forgets the delta. The row's content stays the same, so nothing is replicated.
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
