//! Operations that had to wait run again: when their rows are in memory, when the device takes writes, when a lock may be free.

use crate::deltas::companion;
use crate::parked::{Locked, Parked, ParkedOperations};
use crate::{Outcome, Shard, Ticket};
use base::Now;
use model::operation::Operation;

/// How many parked operations are run again before the core looks at its sockets.
const RERUNS_PER_TURN: usize = 256;
/// An operation that waits for a lock looks again after this time, as nobody tells of a transaction that is over time.
const LOCK_AGAIN_US: u64 = 50_000;
/// Of so many at a time, the lookups wait for memory together.
const WARM_OPERATIONS: usize = 16;

impl Shard {
    /// Keeps the operation for which [`Shard::run`] has just said [`Outcome::Waits`]; no other may have run since.
    pub fn park(&mut self, ticket: Ticket, operation: Box<dyn Operation>) {
        let number = self.parked.insert(Parked { ticket, operation, missed_in: self.run.last_partition, access: self.run.access, runs: 1 });
        self.fetch_misses(number);
    }

    /// Asks for what the operation that has just run was missing.
    fn fetch_misses(&mut self, number: u64) {
        let misses = std::mem::take(&mut *self.run.misses.borrow_mut());
        match self.run.locked_at_us {
            Some(at_us) => self.parked.locked.push_back(Locked { number, due_us: at_us + LOCK_AGAIN_US }),
            None if misses.is_empty() => self.parked.writers.push_back(number),
            None => {}
        }
        for miss in &misses {
            self.engine.fetch(miss, number);
        }
    }

    /// Runs operations again whose rows are in memory now.
    pub(crate) fn run_ready(&mut self, now: Now) {
        for _ in 0..RERUNS_PER_TURN / WARM_OPERATIONS {
            let ready = &self.parked.ready;
            let next = &ready[ready.len().saturating_sub(WARM_OPERATIONS)..];
            for (table, token) in next.iter().filter_map(|number| self.parked.get(*number)?.missed_in) {
                self.engine.warm(table, token);
                self.engine.warm(companion(table), token);
            }
            for _ in 0..next.len() {
                let Some(number) = self.parked.ready.pop() else { break };
                self.run_again(now, number);
            }
        }
    }

    /// Runs operations again that wait for the device to take writes, as long as it does.
    pub(crate) fn run_writers(&mut self, now: Now) {
        for _ in 0..self.parked.writers.len().min(RERUNS_PER_TURN) {
            if !self.answers_writers() {
                break;
            }
            let Some(number) = self.parked.writers.pop_front() else { break };
            self.run_again(now, number);
        }
    }

    /// The operation that has just run may have released locks: what it staged last tells whose.
    pub(crate) fn wake_locked(&mut self) {
        let writes = &self.run.writes;
        let Some(last) = writes.len().checked_sub(1).and_then(|last| writes.row(last)) else { return };
        let place = Some((last.partition.table, last.partition.token));
        let ParkedOperations { slots, locked, .. } = &mut self.parked;
        for waiting in locked {
            if slots.get(waiting.number as usize).and_then(Option::as_ref).is_some_and(|parked| parked.missed_in == place) {
                waiting.due_us = 0;
            }
        }
    }

    /// Runs operations again that wait for locks, when it is time.
    pub(crate) fn run_locked(&mut self, now: Now) {
        if self.parked.locked.is_empty() {
            return;
        }
        let mut due = Vec::new();
        self.parked.locked.retain(|waiting| {
            let is_due = waiting.due_us <= now.monotonic_us && due.len() < RERUNS_PER_TURN;
            if is_due {
                due.push(waiting.number);
            }
            !is_due
        });
        due.into_iter().for_each(|number| self.run_again(now, number));
    }

    /// Whether a write that waits would be done now, or refused for good: one that waits for what never comes must hear of it.
    pub(crate) fn answers_writers(&self) -> bool {
        self.engine.writable() || self.engine.is_full() || self.engine.poisoned().is_some() || self.is_flushing
    }

    fn run_again(&mut self, now: Now, number: u64) {
        let Some(mut parked) = self.parked.remove(number) else { return };
        let context = self.context(now);
        let mut reply = Vec::with_capacity(self.parked.reply_bytes);
        self.run.former_runs = parked.runs;
        let outcome = self.run_with(&context, parked.access, &*parked.operation, &mut reply);
        self.run.former_runs = 0;
        let outcome = match outcome {
            Outcome::Done => Ok(reply),
            Outcome::Unsynced(sequence) => {
                self.engine.finish(number);
                return self.hold(parked.ticket, sequence, reply);
            }
            Outcome::Failed(error) => Err(error),
            Outcome::Waits => {
                parked.runs = parked.runs.saturating_add(1);
                // It keeps its number, and so what was read for it stays in memory.
                let again = self.parked.insert(parked);
                assert_eq!(again, number, "the number that was freed last is used first");
                return self.fetch_misses(again);
            }
        };
        self.engine.finish(number);
        self.parked.note_reply(outcome.as_ref().map_or(0, Vec::len));
        self.replies.finished.push_back((parked.ticket, outcome));
    }
}
