//! The shard itself: runs operations; `reruns` has those that had to wait.

use crate::damage::DamageFound;
use crate::deltas::Deltas;
use crate::held::Replies;
use crate::hot::{HotPartitions, Noting};
use crate::kept::Kept;
use crate::parked::ParkedOperations;
use crate::replication::{Access, Replication};
use crate::store::{EngineStore, read_ahead};
use crate::table_state::Tables;
use crate::vectors::Vectors;
use crate::waiters::{Reading, Waiters};
use crate::{Durability, Outcome, ShardError, Ticket};
use base::{Now, TableId, Token};
use engine::{Engine, LargePartition, Miss, Sequence, WriteBatch};
use io::{DiskCompletion, DiskRequest, DiskTag};
use model::operation::{Context, Operation, Stop, WriteSet};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One core's data.
pub struct Shard {
    pub(crate) engine: Engine,
    pub(crate) durability: Durability,
    pub(crate) run: Run,
    pub(crate) deltas: Deltas,
    pub(crate) parked: ParkedOperations,
    pub(crate) replies: Replies,
    /// What is replicated, if anything is.
    pub(crate) replication: Option<Box<Replication>>,
    pub(crate) waiters: Waiters,
    /// Scans that have something of the engine's, or wait for it.
    pub(crate) scans: BTreeMap<u32, Reading>,
    pub(crate) tables: Tables,
    pub(crate) vectors: Vectors,
    pub(crate) clock: Clock,
    noting: Noting,
    pub(crate) is_flushing: bool,
    /// What a backup has yet to take, while one runs.
    pub(crate) kept: Option<Box<Kept>>,
    pub(crate) pause: Pause,
    pub(crate) damage: DamageFound,
}

/// Whether operations run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// They do.
    Over,
    /// All are parked: a backup is cut.
    Paused,
    /// They do, and some that were parked in the pause may still wait for a turn: nothing else wakes them.
    Resuming,
}

/// The operation that runs, or has just run: what it staged and what it met. The buffers are used again.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) writes: WriteSet,
    /// What one observer's call has staged.
    derived: WriteSet,
    pub(crate) batch: WriteBatch,
    pub(crate) misses: RefCell<Vec<Miss>>,
    /// Rows that it has merged with their deltas.
    pub(crate) merged: RefCell<WriteSet>,
    /// The partition that it asked for last.
    pub(crate) last_partition: Option<(TableId, Token)>,
    /// When it met a lock.
    pub(crate) locked_at_us: Option<u64>,
    /// Whose rows it may read.
    pub(crate) access: Access,
    /// How often it has run before.
    pub(crate) former_runs: u32,
}

/// What makes each run of an operation different.
pub(crate) struct Clock {
    pub(crate) last_timestamp_us: i64,
    nonce: u64,
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
            run: Run::default(),
            deltas: Deltas::default(),
            parked: ParkedOperations::default(),
            replies: Replies::default(),
            replication: None,
            waiters: Waiters::default(),
            scans: BTreeMap::new(),
            tables: Tables::new(tables, truncations),
            vectors: Vectors::default(),
            clock: Clock { last_timestamp_us: 0, nonce },
            noting: Noting::new(nonce),
            is_flushing: false,
            kept: None,
            pause: Pause::Over,
            damage: DamageFound::default(),
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

    /// Which partitions operations ask for most.
    #[must_use]
    pub fn hot_partitions(&self) -> &Arc<HotPartitions> {
        self.noting.hot()
    }

    /// From now on partitions of more bytes than this are told of; `u64::MAX` for none.
    pub fn set_large_partition_bytes(&mut self, bytes: u64) {
        self.engine.set_large_partition_bytes(bytes);
    }

    /// Those that were found since the last call: of each table the largest.
    pub fn take_large_partitions(&mut self) -> impl Iterator<Item = LargePartition> + use<> {
        self.engine.take_large_partitions()
    }

    /// A context for an operation that runs now: each has a write timestamp of its own, larger than all before it.
    #[inline]
    pub fn context(&mut self, now: Now) -> Context {
        let Clock { last_timestamp_us, nonce } = &mut self.clock;
        *last_timestamp_us = now.wall_us.max(*last_timestamp_us + 1);
        *nonce = nonce.wrapping_add(1);
        Context { now, timestamp_us: *last_timestamp_us, nonce: *nonce }
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
        self.begin_run(context, access);
        let run = &mut self.run;
        if self.pause == Pause::Paused {
            run.last_partition = None;
            return Outcome::Waits;
        }
        let store = EngineStore {
            engine: &self.engine,
            misses: &run.misses,
            tables: &self.tables,
            last_partition: Cell::new(None),
            visited: Cell::new(None),
            newest: Cell::new(Sequence(0)),
            deltas: &self.deltas,
            vectors: &self.vectors,
            merged: &run.merged,
            replication: self.replication.as_deref(),
            kept: self.kept.as_deref(),
            now_s: context.now_s(),
            read_ahead: read_ahead(run.former_runs),
        };
        let ran = if self.noting.is_due() {
            self.noting.run(context, operation, &store, &mut run.writes, reply)
        } else {
            operation.run(context, &store, &mut run.writes, reply)
        };
        let ran = match ran {
            // A read ends here.
            Ok(()) if run.writes.is_empty() => {
                let newest = store.newest.get();
                // What one client has been shown must not vanish for the next.
                let may_vanish = self.durability == Durability::Device && newest > self.engine.durable_sequence();
                self.settle_deltas(context.now);
                return if may_vanish || self.is_uncommitted() { Outcome::Unsynced(newest) } else { Outcome::Done };
            }
            Ok(()) if !self.tables.observers.is_empty() => {
                self.tables.observers.observe(context, &store, &mut run.writes, &mut run.derived)
            }
            ran => ran,
        };
        let outcome = match ran {
            Ok(()) => self.apply(context),
            Err(stop @ (Stop::Miss | Stop::Locked)) => {
                run.last_partition = store.last_partition.get();
                run.locked_at_us = (stop == Stop::Locked).then_some(context.now.monotonic_us);
                Outcome::Waits
            }
            Err(stop @ Stop::Damaged { .. }) => {
                let visited = store.visited.get();
                Outcome::Failed(self.met_damage(stop, visited))
            }
            Err(stop) => Outcome::Failed(stop.into()),
        };
        if !matches!(outcome, Outcome::Done | Outcome::Unsynced(_)) {
            reply.truncate(start);
        } else if !self.parked.locked.is_empty() {
            self.wake_locked();
        }
        outcome
    }

    /// Forgets what the operation before left.
    #[inline]
    fn begin_run(&mut self, context: &Context, access: Access) {
        let run = &mut self.run;
        if let Some(replication) = &mut self.replication {
            run.access = access;
            replication.begin(context.now.monotonic_us, access);
        }
        run.writes.clear();
        run.merged.get_mut().clear();
        run.misses.get_mut().clear();
        run.locked_at_us = None;
    }

    /// Whether other members have yet to get what the operation that has just run wrote or saw.
    #[inline]
    pub(crate) fn is_uncommitted(&self) -> bool {
        self.replication.as_ref().is_some_and(|replication| replication.is_uncommitted())
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
        self.replies.held.hold(ticket, reply, device, touched);
    }

    /// Releases the replies whose writes the device has; all, as failures, if it never will.
    fn release_held(&mut self) {
        let Replies { held, finished } = &mut self.replies;
        held.durable(self.engine.durable_sequence(), self.replication.as_deref(), finished);
        if self.engine.poisoned().is_some() {
            held.fail_unsynced(finished);
        }
    }

    /// Background work and parked operations, in a small slice. Gives the monotonic time at which to be called again, if there is one.
    pub fn turn(&mut self, now: Now) -> Option<u64> {
        let next = self.engine.tick(now);
        self.deltas.count(now.monotonic_us, &self.engine, &self.tables.ids);
        self.engine.take_ready(&mut self.parked.ready);
        if self.replication.is_some() || self.kept.is_some() || self.vectors.waits() {
            self.wake_waiters();
        }
        if self.pause != Pause::Paused {
            self.run_ready(now);
            self.run_writers(now);
            self.run_locked(now);
        }
        if self.pause == Pause::Resuming && (self.parked.writers.is_empty() || !self.answers_writers()) {
            self.pause = Pause::Over;
        }
        let vectors_due_us = self.vectors_turn(now);
        self.release_held();
        let locks_due_us = self.parked.locked.iter().map(|locked| locked.due_us).min();
        // What has just run may have written.
        next.into_iter().chain(self.engine.flush_due_us()).chain(locks_due_us).chain(vectors_due_us).min()
    }

    /// The reply of a parked operation, oldest first.
    pub fn next_finished(&mut self) -> Option<(Ticket, Result<Vec<u8>, ShardError>)> {
        self.replies.finished.pop_front()
    }

    /// Whether a turn would find something to do at once.
    #[must_use]
    pub fn has_runnable(&self) -> bool {
        let has_parked = match self.pause {
            Pause::Over => !self.parked.ready.is_empty(),
            Pause::Paused => false,
            Pause::Resuming => true,
        };
        has_parked || !self.replies.finished.is_empty() || !self.waiters.ready.is_empty() || self.vectors.has_work()
    }

    /// A disk operation of the engine has ended.
    pub fn completed(&mut self, now: Now, completion: DiskCompletion) {
        self.engine.complete(now, completion);
    }

    /// What the engine wants from the disk.
    pub fn take_requests(&mut self) -> impl Iterator<Item = (DiskTag, DiskRequest)> + '_ {
        self.engine.take_requests()
    }

    /// Asks for everything to be written to the device, before the node ends.
    pub fn flush(&mut self) {
        self.is_flushing = true;
        self.engine.shutdown();
    }

    /// Whether all is on the device after [`Shard::flush`].
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.is_flushing && self.engine.is_clean()
    }
}
