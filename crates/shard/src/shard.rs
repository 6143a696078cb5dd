//! The shard itself.

use crate::ShardError;
use crate::catch_up::Reading;
use crate::deltas::{Deltas, companion, stored_tables};
use crate::held::{Finished, HeldReplies};
use crate::parked::{Parked, ParkedOperations};
use crate::replication::{Access, Replication, Spread};
use crate::store::EngineStore;
use base::{Compression, Now, TableId, Token};
use engine::{Engine, Key, Kind, Miss, Sequence, WriteBatch, WriteError};
use io::{DiskCompletion, DiskRequest, DiskTag};
use model::Table;
use model::operation::{Context, Operation, StagedRow, Stop, WriteSet};
use model::row::RowView;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many parked operations are run again before the core looks at its sockets.
const RERUNS_PER_TURN: usize = 256;
/// No more is set aside for a reply ahead of time.
const REPLY_BYTES_MAX: usize = 16 << 10;
/// Of so many at a time, the lookups wait for memory together.
const WARM_OPERATIONS: usize = 16;

/// The caller's name for a parked operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub [u64; 2]);

/// What became of an operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ran; its writes survive the death of the process, its reply is appended.
    Done,
    /// It ran and its reply is appended, but must not be sent before the device or other members have what it wrote, or what it read:
    /// [`Shard::hold`] it, now.
    Unsynced(Sequence),
    /// It needs something first: [`Shard::park`] it, now. Nothing was appended.
    Waits,
    /// It cannot be done. Nothing was appended.
    Failed(ShardError),
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Once it survives the death of the process.
    Memory,
    /// Once it survives the loss of power: writes of many clients share a flush.
    Device,
}

/// One core's data.
pub struct Shard {
    pub(crate) engine: Engine,
    pub(crate) durability: Durability,
    pub(crate) held: HeldReplies,
    writes: WriteSet,
    batch: WriteBatch,
    misses: RefCell<Vec<Miss>>,
    pub(crate) deltas: Deltas,
    /// Rows that the operation that runs has merged with their deltas.
    whole: RefCell<WriteSet>,
    parked: ParkedOperations,
    pub(crate) ready: Vec<u64>,
    /// The partition that the last operation asked for last.
    asked: Option<(TableId, Token)>,
    /// How large replies of parked operations have been: decays towards those of late.
    reply_bytes: usize,
    pub(crate) finished: Finished,
    /// What is replicated, if anything is.
    pub(crate) replication: Option<Box<Replication>>,
    /// Whose rows the last operation could read.
    access: Access,
    /// Receivers and scans that wait for the device to take writes, and those that may try again.
    pub(crate) waiting_for_room: Vec<u64>,
    pub(crate) waiters_ready: Vec<u64>,
    /// Scans that have something of the engine's, or wait for it.
    pub(crate) scans: BTreeMap<u32, Reading>,
    tables: BTreeSet<TableId>,
    record_sets: BTreeMap<TableId, Arc<Table>>,
    truncations: BTreeMap<TableId, Sequence>,
    truncating: Vec<TableId>,
    pub(crate) last_timestamp_us: i64,
    nonce: u64,
    flushing: bool,
}

impl Shard {
    /// A shard over an engine that was opened with `tables` and is recovering. `nonce` must differ between the shards of a node and
    /// between starts.
    #[must_use]
    pub fn new(
        engine: Engine,
        durability: Durability,
        tables: BTreeSet<TableId>,
        truncations: BTreeMap<TableId, Sequence>,
        nonce: u64,
    ) -> Self {
        Self {
            engine,
            durability,
            held: HeldReplies::default(),
            writes: WriteSet::default(),
            batch: WriteBatch::new(),
            misses: RefCell::default(),
            deltas: Deltas::default(),
            whole: RefCell::default(),
            parked: ParkedOperations::default(),
            ready: Vec::new(),
            asked: None,
            reply_bytes: 0,
            finished: Finished::new(),
            replication: None,
            access: Access::Primary,
            waiting_for_room: Vec::new(),
            waiters_ready: Vec::new(),
            scans: BTreeMap::new(),
            tables,
            record_sets: BTreeMap::new(),
            truncations,
            truncating: Vec::new(),
            last_timestamp_us: 0,
            nonce,
            flushing: false,
        }
    }

    /// When writes are acknowledged.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Whether the log has been read.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.engine.is_ready()
    }

    /// The engine, to look at.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A context for an operation that runs now: each has a write timestamp of its own, larger than all before it.
    #[inline]
    pub fn context(&mut self, now: Now) -> Context {
        self.last_timestamp_us = now.wall_us.max(self.last_timestamp_us + 1);
        self.nonce = self.nonce.wrapping_add(1);
        Context { now, timestamp_us: self.last_timestamp_us, nonce: self.nonce }
    }

    /// Runs an operation if all it needs is in memory, and appends its reply.
    #[inline]
    pub fn run(&mut self, context: &Context, operation: &dyn Operation, reply: &mut Vec<u8>) -> Outcome {
        self.run_with(context, Access::Primary, operation, reply)
    }

    /// As [`Shard::run`], and says whose rows the operation may read.
    #[inline]
    pub fn run_with(&mut self, context: &Context, access: Access, operation: &dyn Operation, reply: &mut Vec<u8>) -> Outcome {
        let start = reply.len();
        if let Some(replication) = &mut self.replication {
            self.access = access;
            replication.begin(context.now.monotonic_us, access);
        }
        self.writes.clear();
        self.whole.get_mut().clear();
        self.misses.get_mut().clear();
        let store = EngineStore {
            engine: &self.engine,
            misses: &self.misses,
            record_sets: &self.record_sets,
            asked: Cell::new(None),
            newest: Cell::new(Sequence(0)),
            deltas: &self.deltas,
            whole: &self.whole,
            replication: self.replication.as_deref(),
            now_s: context.now_s(),
        };
        let outcome = match operation.run(context, &store, &mut self.writes, reply) {
            Ok(()) if self.writes.is_empty() => {
                let newest = store.newest.get();
                // What one client has been shown must not vanish for the next.
                let may_vanish = self.durability == Durability::Device && newest > self.engine.durable_sequence();
                self.settle_deltas(context.now);
                return if may_vanish || self.waits_for_others() { Outcome::Unsynced(newest) } else { Outcome::Done };
            }
            Ok(()) => self.apply(context),
            Err(Stop::Miss) => {
                self.asked = store.asked.get();
                Outcome::Waits
            }
            Err(stop) => Outcome::Failed(stop.into()),
        };
        if !matches!(outcome, Outcome::Done | Outcome::Unsynced(_)) {
            reply.truncate(start);
        }
        outcome
    }

    #[inline]
    fn waits_for_others(&self) -> bool {
        self.replication.as_ref().is_some_and(|replication| replication.waits())
    }

    /// Keeps the reply of the operation that has just run until the device, or the other members, have its writes; no other may have run
    /// since.
    pub fn hold(&mut self, ticket: Ticket, sequence: Sequence, reply: Vec<u8>) {
        let is_for_device = self.durability == Durability::Device && sequence > self.engine.durable_sequence();
        if is_for_device {
            self.engine.request_flush();
        }
        let device = is_for_device.then_some(sequence);
        let touched = self.replication.iter_mut().flat_map(|replication| replication.take_touched());
        self.held.hold(ticket, reply, device, touched);
    }

    /// Lets go the replies whose writes the device has; all, as failures, if it never will.
    fn release_held(&mut self) {
        self.held.durable(self.engine.durable_sequence(), self.replication.as_deref(), &mut self.finished);
        if self.engine.poisoned().is_some() {
            self.held.fail_unsynced(&mut self.finished);
        }
    }

    fn apply(&mut self, context: &Context) -> Outcome {
        let now = context.now;
        let written = match &mut self.replication {
            None => write_out(&mut self.engine, self.writes.rows(), &mut self.batch, now, &self.deltas),
            Some(replication) => {
                let spread = match replication.spread(self.writes.rows()) {
                    Ok(spread) => spread,
                    Err(stop) => return Outcome::Failed(stop.into()),
                };
                let written = write_spread(&mut self.engine, &self.writes, &mut self.batch, now, &self.deltas, replication, spread);
                if let Ok(sequence) = written {
                    replication.wrote(spread, &self.batch, sequence, context.timestamp_us);
                }
                written
            }
        };
        match written {
            Ok(sequence) => {
                self.settle_deltas(now);
                if self.durability == Durability::Device || self.waits_for_others() { Outcome::Unsynced(sequence) } else { Outcome::Done }
            }
            Err(WriteError::Miss(miss)) => {
                self.misses.borrow_mut().push(miss);
                Outcome::Waits
            }
            Err(WriteError::Busy) => Outcome::Waits,
            Err(error) => Outcome::Failed(ShardError::of_write(&error)),
        }
    }

    /// Writes rows whole that the operation has merged with their deltas, unless it has written them itself, and forgets the deltas. Should there be
    /// no room now, they stay.
    #[inline]
    fn settle_deltas(&mut self, now: Now) {
        if !self.deltas.is_empty() {
            self.settle_some(now);
        }
    }

    fn settle_some(&mut self, now: Now) {
        let Self { engine, writes, whole, batch, .. } = self;
        let whole = whole.get_mut();
        let is_written = |row: &StagedRow<'_>| writes.find(&row.partition, &[]).is_some();
        batch.clear();
        let mut settled = true;
        for staged in whole.rows().filter(|row| !row.row.is_empty() && !is_written(row)) {
            settled &= batch.put(&key_of(&staged), Kind::Live, staged.row).is_ok();
        }
        settled = settled && (batch.is_empty() || engine.apply(now, batch).is_ok());
        let outdated = whole.rows().filter(|row| settled || row.row.is_empty() || is_written(row));
        for staged in outdated.chain(writes.rows().filter(|row| !row.is_delta && row.clustering.is_empty())) {
            engine.forget(&Key { table: companion(staged.partition.table), ..key_of(&staged) });
        }
    }

    /// Keeps the operation for which [`Shard::run`] has just said [`Outcome::Waits`]; no other may have run since.
    pub fn park(&mut self, ticket: Ticket, operation: Box<dyn Operation>) {
        let number = self.parked.insert(Parked { ticket, operation, at: self.asked, access: self.access });
        self.wait(number);
    }

    /// Asks for what the operation that just ran was missing.
    fn wait(&mut self, number: u64) {
        let misses = std::mem::take(&mut *self.misses.borrow_mut());
        if misses.is_empty() {
            self.parked.writers.push_back(number);
        }
        for miss in &misses {
            self.engine.fetch(miss, number);
        }
    }

    /// Background work and parked operations, in a small slice. Gives the monotonic time at which to be called again, if there is one.
    pub fn turn(&mut self, now: Now) -> Option<u64> {
        let next = self.engine.tick(now);
        self.deltas.count(now.monotonic_us, &self.engine, &self.tables);
        self.engine.take_ready(&mut self.ready);
        if self.replication.is_some() {
            self.wake_waiters();
        }
        for _ in 0..RERUNS_PER_TURN / WARM_OPERATIONS {
            let next = &self.ready[self.ready.len().saturating_sub(WARM_OPERATIONS)..];
            for (table, token) in next.iter().filter_map(|number| self.parked.get(*number)?.at) {
                self.engine.warm(table, token);
                self.engine.warm(companion(table), token);
            }
            for _ in 0..next.len() {
                let Some(number) = self.ready.pop() else { break };
                self.run_again(now, number);
            }
        }
        for _ in 0..self.parked.writers.len().min(RERUNS_PER_TURN) {
            if !self.answers_writers() {
                break;
            }
            let Some(number) = self.parked.writers.pop_front() else { break };
            self.run_again(now, number);
        }
        self.release_held();
        // What has just run may have written.
        next.into_iter().chain(self.engine.flush_due_us()).min()
    }

    /// Whether a write that waits would be done now, or refused for good: one that waits for what never comes must hear of it.
    pub(crate) fn answers_writers(&self) -> bool {
        self.engine.writable() || self.engine.is_full() || self.engine.poisoned().is_some() || self.flushing
    }

    fn run_again(&mut self, now: Now, number: u64) {
        let Some(parked) = self.parked.remove(number) else { return };
        let context = self.context(now);
        let mut reply = Vec::with_capacity(self.reply_bytes);
        let outcome = match self.run_with(&context, parked.access, &*parked.operation, &mut reply) {
            Outcome::Done => Ok(reply),
            Outcome::Unsynced(sequence) => {
                self.engine.finish(number);
                return self.hold(parked.ticket, sequence, reply);
            }
            Outcome::Failed(error) => Err(error),
            Outcome::Waits => {
                // It keeps its number, and so what was read for it stays in memory.
                let again = self.parked.insert(parked);
                debug_assert_eq!(again, number, "the number that was freed last is used first");
                return self.wait(again);
            }
        };
        self.engine.finish(number);
        let bytes = outcome.as_ref().map_or(0, Vec::len).min(REPLY_BYTES_MAX);
        self.reply_bytes = bytes.max(self.reply_bytes - self.reply_bytes / 16);
        self.finished.push_back((parked.ticket, outcome));
    }

    /// The reply of a parked operation, oldest first.
    pub fn next_finished(&mut self) -> Option<(Ticket, Result<Vec<u8>, ShardError>)> {
        self.finished.pop_front()
    }

    /// Whether a turn would find something to do at once.
    #[must_use]
    pub fn has_runnable(&self) -> bool {
        !self.ready.is_empty() || !self.finished.is_empty() || !self.waiters_ready.is_empty()
    }

    /// A disk operation of the engine has ended.
    pub fn completed(&mut self, now: Now, completion: DiskCompletion) {
        self.engine.complete(now, completion);
    }

    /// What the engine wants from the disk.
    pub fn take_requests(&mut self) -> impl Iterator<Item = (DiskTag, DiskRequest)> + '_ {
        self.engine.take_requests()
    }

    /// The tables there are now, and what their rows at rest are compressed with; new ones are made.
    pub fn set_tables(&mut self, tables: impl Iterator<Item = (TableId, Compression)>) {
        for (table, compression) in tables {
            if self.tables.insert(table) {
                for stored in stored_tables([table]) {
                    self.engine.create_table(stored);
                }
            }
            self.engine.set_compression(table, compression);
        }
    }

    /// The tables that are record sets, as they are now.
    pub fn set_record_sets(&mut self, tables: impl Iterator<Item = Arc<Table>>) {
        self.record_sets = tables.map(|table| (table.id, table)).collect();
    }

    /// A table is gone, durably.
    pub fn drop_table(&mut self, table: TableId) {
        if self.tables.remove(&table) {
            for table in stored_tables([table]) {
                self.engine.drop_table(table);
                self.truncations.remove(&table);
            }
        }
    }

    /// Empties a table, and gives the blob that must be stored before anybody is told.
    pub fn truncate(&mut self, table: TableId) -> Vec<u8> {
        for table in [table, companion(table)] {
            let sequence = self.engine.truncate(table);
            self.truncations.insert(table, sequence);
            self.truncating.push(table);
        }
        self.truncation_marks()
    }

    /// The blob that the last [`Shard::truncate`] gave, as it would be now.
    #[must_use]
    pub fn truncation_marks(&self) -> Vec<u8> {
        encode_truncations(&self.truncations)
    }

    /// The blob that the last [`Shard::truncate`] or [`Shard::truncation_marks`] gave is stored. Until then no space is reclaimed.
    pub fn truncation_stored(&mut self) {
        for table in self.truncating.drain(..) {
            self.engine.truncation_persisted(table);
        }
    }

    /// Asks for everything to be written to the device, before the node ends.
    pub fn flush(&mut self) {
        self.flushing = true;
        self.engine.shutdown();
    }

    /// Whether all is on the device after [`Shard::flush`].
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.flushing && self.engine.is_clean()
    }
}

#[inline]
fn key_of<'a>(staged: &StagedRow<'a>) -> Key<'a> {
    let partition = staged.partition;
    Key { table: partition.table, token: partition.token, partition: partition.bytes, clustering: staged.clustering }
}

/// As [`write_out`]; rows of one slot come to lie together.
fn write_spread(
    engine: &mut Engine,
    writes: &WriteSet,
    batch: &mut WriteBatch,
    now: Now,
    deltas: &Deltas,
    replication: &Replication,
    spread: Spread,
) -> Result<Sequence, WriteError> {
    match spread {
        Spread::One(..) => write_out(engine, writes.rows(), batch, now, deltas),
        Spread::Several => {
            let mut rows: Vec<StagedRow<'_>> = writes.rows().collect();
            rows.sort_by_key(|row| replication.place_of(row).ok().flatten());
            write_out(engine, rows.into_iter(), batch, now, deltas)
        }
    }
}

#[inline]
fn write_out<'a>(
    engine: &mut Engine,
    rows: impl Iterator<Item = StagedRow<'a>>,
    batch: &mut WriteBatch,
    now: Now,
    deltas: &Deltas,
) -> Result<Sequence, WriteError> {
    batch.clear();
    for staged in rows {
        let mut key = key_of(&staged);
        if staged.is_delta {
            key.table = companion(key.table);
            deltas.note(staged.row.len() + key.partition.len());
        }
        let kind = match staged.purge_after_s {
            None => Kind::Live,
            Some(purge_after_s) => {
                let purge_after_s = i64::from(purge_after_s);
                let now_s = now.wall_s().clamp(0, i64::from(u32::MAX)) as u32;
                if RowView::new(staged.row).is_live(now_s) { Kind::Expiring { purge_after_s } } else { Kind::Tombstone { purge_after_s } }
            }
        };
        batch.put(&key, kind, staged.row)?;
    }
    engine.apply(now, batch)
}

/// Truncations as text: a line a table, `table sequence`.
fn encode_truncations(truncations: &BTreeMap<TableId, Sequence>) -> Vec<u8> {
    truncations.iter().map(|(table, sequence)| format!("{} {}\n", table.0, sequence.0)).collect::<String>().into_bytes()
}

/// The inverse of what [`Shard::truncate`] gives; `None` when the blob is damaged.
#[must_use]
pub fn decode_truncations(bytes: &[u8]) -> Option<BTreeMap<TableId, Sequence>> {
    std::str::from_utf8(bytes)
        .ok()?
        .lines()
        .map(|line| {
            let (table, sequence) = line.split_once(' ')?;
            Some((TableId(table.parse().ok()?), Sequence(sequence.parse().ok()?)))
        })
        .collect()
}
