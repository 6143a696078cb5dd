//! What the node tells a shard of the cluster, and asks of it: slots served, writes to send, writes received.

use crate::{Durability, KeyspaceNumber, Serving, SetId, Shard, ShardError, Written};
use base::{Now, Slot, TableId};
#[cfg(doc)]
use engine::Engine;
use engine::{Sequence, WriteBatch, WriteError};
use model::row::is_well_formed;
use std::collections::BTreeSet;

/// Numbers of receivers and of scans, as the engine knows them: those of parked operations are below.
const RECEIVER: u64 = 1 << 40;
pub(crate) const SCANNER: u64 = 2 << 40;

/// The end of the year 9999: no clock says more.
const TIMESTAMP_US_MAX: i64 = 253_402_300_799_999_999;

/// Receivers and scans that wait, by their numbers at the engine.
#[derive(Default)]
pub(crate) struct Waiters {
    /// For the device to take writes.
    pub(crate) for_room: Vec<u64>,
    /// For nothing any more.
    pub(crate) ready: Vec<u64>,
}

/// What became of rows from another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// They are written, the last with this sequence.
    Applied(Sequence),
    /// Something has to be read, or reclaimed, first: the receiver will be among [`Shard::take_received_ready`] and then tries again.
    Waits,
}

impl Shard {
    /// The tables there are, with their keyspaces. From the first call on everything is replicated, and of other tables nothing is served: an
    /// operation on them finds that this member is not the primary. What a keyspace's slots are is told by [`Shard::serve`]: at first none is
    /// served.
    pub fn set_replicated(&mut self, tables: impl Iterator<Item = (TableId, KeyspaceNumber)>) {
        self.replication.get_or_insert_default().set_tables(tables);
    }

    /// What this member is to a slot from now on. Replies that wait go on waiting for the set that the slot had when they ran; when slots
    /// are lost, [`Shard::fail_unserved`] has to follow, before anything else is told of them.
    pub fn serve(&mut self, keyspace: KeyspaceNumber, slot: Slot, serving: Serving) {
        self.replication.get_or_insert_default().serve(keyspace, slot, serving);
    }

    /// Until when (monotonic) this member may serve at all.
    pub fn set_lease(&mut self, until_us: u64) {
        self.replication.get_or_insert_default().set_lease(until_us);
    }

    /// All members of a set have what was written in it up to this sequence; `u64::MAX` is for a set of which nobody need have it yet.
    pub fn set_committed(&mut self, set: SetId, sequence: Sequence) {
        let Some(replication) = &mut self.replication else { return };
        replication.set_committed(set, sequence);
        self.replies.held.committed(set, replication, &mut self.replies.finished);
    }

    /// The sequence of the last write in a set since the start.
    #[must_use]
    pub fn last_written(&self, set: SetId) -> Sequence {
        self.replication.as_ref().map_or(Sequence(0), |replication| replication.last_written(set))
    }

    /// All rows up to this sequence that were written here by operations are committed. Of rows from other members it says nothing.
    #[must_use]
    pub fn committed_sequence(&self) -> Sequence {
        let committed = self.replication.as_ref().and_then(|replication| replication.committed_in_all());
        committed.unwrap_or(self.engine.last_sequence())
    }

    /// Ends the replies that are about slots which are not served any more: [`ShardError::OutcomeUnknown`] for writes,
    /// [`ShardError::NotPrimary`] for reads.
    pub fn fail_unserved(&mut self) {
        let Some(replication) = &self.replication else { return };
        self.replies.held.fail_unserved(replication, &mut self.replies.finished);
    }

    /// Slots in which writes have run whose replies wait, for the device or for other members.
    #[must_use]
    pub fn unanswered_slots(&self) -> BTreeSet<(KeyspaceNumber, Slot)> {
        self.replies.held.written_slots()
    }

    /// What was written in replicated tables since [`Shard::clear_written`], in order.
    pub fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.replication.iter().flat_map(|replication| replication.written())
    }

    /// All of [`Shard::written`] was taken.
    pub fn clear_written(&mut self) {
        if let Some(replication) = &mut self.replication {
            replication.clear_written();
        }
    }

    /// Write timestamps from now on are above this one, which came with rows of another member; above the year 9999 if it makes no sense.
    pub fn raise_timestamp(&mut self, timestamp_us: i64) {
        self.clock.last_timestamp_us = self.clock.last_timestamp_us.max(timestamp_us.min(TIMESTAMP_US_MAX));
    }

    /// The largest write timestamp that was given so far, or came with rows.
    #[must_use]
    pub fn last_timestamp_us(&self) -> i64 {
        self.clock.last_timestamp_us
    }

    /// No row of a later sequence is purged from now on: a member that is away may not have it. `None` sets no limit, as at the start.
    pub fn set_purge_floor(&mut self, floor: Option<Sequence>) {
        self.engine.set_purge_floor(floor);
    }

    /// Whether a walk over the tail after this sequence may not tell all, for rows of it have been purged: see [`Engine::purged_above`].
    #[must_use]
    pub fn purged_above(&self, sequence: Sequence) -> bool {
        self.engine.purged_above(sequence)
    }

    /// No row of a later sequence was purged before this start: the floor that was kept has seen to it. To be told when the shard has become ready,
    /// together with the floor and before the next turn.
    pub fn restore_purged(&mut self, newest: Sequence) {
        self.engine.restore_purged(newest);
    }

    /// Writes rows that another member has sent, as one group. `receiver` is the caller's number for what waits here: one batch at a time each.
    ///
    /// # Errors
    /// `Malformed`; otherwise as for writes. Nothing was written.
    pub fn apply_received(&mut self, now: Now, receiver: u32, batch: &WriteBatch) -> Result<Receipt, ShardError> {
        if !batch.rows().all(|row| is_well_formed(row.row)) {
            return Err(ShardError::Malformed);
        }
        let waiter = RECEIVER | u64::from(receiver);
        let outcome = match self.engine.apply(now, batch) {
            Ok(sequence) => Ok(Receipt::Applied(sequence)),
            Err(WriteError::Miss(miss)) => {
                self.engine.fetch(&miss, waiter);
                return Ok(Receipt::Waits);
            }
            Err(WriteError::Busy) => {
                self.waiters.for_room.push(waiter);
                return Ok(Receipt::Waits);
            }
            Err(error) => Err(ShardError::of_write(&error)),
        };
        self.engine.finish(waiter);
        if outcome.is_ok() && !self.deltas.is_empty() {
            // What they were to be merged with is overwritten.
            for row in batch.rows().filter(|row| row.key.clustering.is_empty()) {
                self.forget_delta(&row.key);
            }
        }
        outcome
    }

    /// Up to here what was written is as safe here as it has to be before it is acknowledged. Sees to it that the rest will be.
    pub fn safe_sequence(&mut self) -> Sequence {
        let (written, durable) = (self.engine.last_sequence(), self.engine.durable_sequence());
        if self.durability == Durability::Memory || durable >= written {
            return written;
        }
        self.engine.request_flush();
        durable
    }

    /// The receiver's batch is given up.
    pub fn forget_received(&mut self, receiver: u32) {
        self.forget_waiter(RECEIVER | u64::from(receiver));
    }

    pub(crate) fn forget_waiter(&mut self, waiter: u64) {
        self.engine.finish(waiter);
        self.waiters.for_room.retain(|waiting| *waiting != waiter);
        self.waiters.ready.retain(|ready| *ready != waiter);
    }

    /// Receivers that may try again.
    pub fn take_received_ready(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.take_waiters(RECEIVER)
    }

    /// Scans that may go on.
    pub fn take_scans_ready(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.take_waiters(SCANNER)
    }

    fn take_waiters(&mut self, kind: u64) -> impl Iterator<Item = u32> + '_ {
        self.waiters.ready.extract_if(.., move |waiter| *waiter & kind != 0).map(|waiter| waiter as u32)
    }

    /// Sorts out receivers and scans from what the engine says is ready, and those that waited for room.
    pub(crate) fn wake_waiters(&mut self) {
        let Self { parked, waiters, .. } = self;
        waiters.ready.extend(parked.ready.extract_if(.., |number| *number >= RECEIVER));
        if !self.waiters.for_room.is_empty() && self.answers_writers() {
            let Waiters { for_room, ready } = &mut self.waiters;
            ready.append(for_room);
        }
    }
}
