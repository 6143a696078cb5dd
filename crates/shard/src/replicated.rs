//! The shard's interface for replication: slots served, writes to send, writes received.

use crate::waiters::Waiters;
use crate::{Durability, KeyspaceNumber, Serving, SetId, Shard, ShardError, Written};
use base::{Now, Slot, TableId};
#[cfg(doc)]
use engine::Engine;
use engine::{Sequence, WriteBatch, WriteError};
use model::row::is_well_formed;
use std::collections::BTreeSet;

/// The engine knows who waits by number: parked operations below, receivers and scans from here.
const RECEIVER: u64 = 1 << 40;
pub(crate) const SCANNER: u64 = 2 << 40;

/// The end of the year 9999: no clock shows a later time.
const TIMESTAMP_US_MAX: i64 = 253_402_300_799_999_999;

/// What became of rows from another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// They are written, the last with this sequence.
    Applied(Sequence),
    /// The device must read rows or take writes first: try again when [`Shard::take_received_ready`] names the receiver.
    Waits,
}

impl Shard {
    /// The replicated tables, with their keyspaces. From the first call on an operation on any other table is refused: this member is not its
    /// primary. [`Shard::serve`] says which slots of a keyspace are served; at first none is.
    pub fn set_replicated(&mut self, tables: impl Iterator<Item = (TableId, KeyspaceNumber)>) {
        self.replication.get_or_insert_default().set_tables(tables);
    }

    /// This member's role in a slot from now on. Held replies keep waiting for the set that the slot had when their operation ran. When slots are
    /// lost, the caller calls [`Shard::fail_unserved`] before it changes them again.
    pub fn serve(&mut self, keyspace: KeyspaceNumber, slot: Slot, serving: Serving) {
        self.replication.get_or_insert_default().serve(keyspace, slot, serving);
    }

    /// The monotonic time at which the lease of this member ends.
    pub fn set_lease(&mut self, until_us: u64) {
        self.replication.get_or_insert_default().set_lease(until_us);
    }

    /// All members of a set have its writes up to this sequence. `u64::MAX` is for a set that nobody waits for.
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

    /// Up to this sequence all writes of operations here are committed. It says nothing of rows from other members.
    #[must_use]
    pub fn committed_sequence(&self) -> Sequence {
        let committed = self.replication.as_ref().and_then(|replication| replication.committed_in_all());
        committed.unwrap_or(self.engine.last_sequence())
    }

    /// Fails held replies about slots that are not served any more: [`ShardError::OutcomeUnknown`] for writes,
    /// [`ShardError::NotPrimary`] for reads.
    pub fn fail_unserved(&mut self) {
        let Some(replication) = &self.replication else { return };
        self.replies.held.fail_unserved(replication, &mut self.replies.finished);
    }

    /// The slots of writes whose replies are held.
    #[must_use]
    pub fn unanswered_slots(&self) -> BTreeSet<(KeyspaceNumber, Slot)> {
        self.replies.held.written_slots()
    }

    /// The writes to replicated tables since [`Shard::clear_written`], in order.
    pub fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.replication.iter().flat_map(|replication| replication.written())
    }

    /// Empties [`Shard::written`].
    pub fn clear_written(&mut self) {
        if let Some(replication) = &mut self.replication {
            replication.clear_written();
        }
    }

    /// Later write timestamps are above this one, which came with rows of another member. One beyond the year 9999 counts as its end.
    pub fn raise_timestamp(&mut self, timestamp_us: i64) {
        self.clock.last_timestamp_us = self.clock.last_timestamp_us.max(timestamp_us.min(TIMESTAMP_US_MAX));
    }

    /// The largest write timestamp so far, here or in rows of other members.
    #[must_use]
    pub fn last_timestamp_us(&self) -> i64 {
        self.clock.last_timestamp_us
    }

    /// No row above this sequence is purged: a member that is down may not have it. `None` is no limit, as at the start.
    pub fn set_purge_floor(&mut self, floor: Option<Sequence>) {
        self.engine.set_purge_floor(floor);
    }

    /// Whether rows above this sequence may have been purged, so that a catch-up from it is incomplete: see [`Engine::purged_above`].
    #[must_use]
    pub fn purged_above(&self, sequence: Sequence) -> bool {
        self.engine.purged_above(sequence)
    }

    /// No row above this sequence was purged before this start, as the stored floor has prevented it. Called when the shard has become ready, together
    /// with the floor and before the next turn.
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
            Ok(sequence) => {
                self.vectors.wrote(batch);
                Ok(Receipt::Applied(sequence))
            }
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
            // The rows that their deltas belong to are overwritten.
            for row in batch.rows().filter(|row| row.key.clustering.is_empty()) {
                self.forget_delta(&row.key);
            }
        }
        outcome
    }

    /// Up to this sequence rows are as durable here as an acknowledgement promises. Requests a flush for the rest.
    pub fn safe_sequence(&mut self) -> Sequence {
        let (written, durable) = (self.engine.last_sequence(), self.engine.durable_sequence());
        if self.durability == Durability::Memory || durable >= written {
            return written;
        }
        self.engine.request_flush();
        durable
    }

    /// The receiver abandons its batch.
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

    /// Moves receivers and scans that may try again to the ready ones.
    pub(crate) fn wake_waiters(&mut self) {
        let Self { parked, waiters, .. } = self;
        waiters.ready.extend(parked.ready.extract_if(.., |number| *number >= RECEIVER));
        if !self.waiters.for_room.is_empty() && self.answers_writers() {
            let Waiters { for_room, ready } = &mut self.waiters;
            ready.append(for_room);
        }
    }
}
