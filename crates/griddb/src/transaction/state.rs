//! Begin, lock, commit, abort: what a statement stages besides the rows of its container.
//!
//! Whatever ends a transaction stages the transaction's row last: that wakes statements that wait for its locks.

use super::identity::{Reference, TransactionId};
use super::layout::{self, Lock, Record, State, delete, lock_key, partition, transaction_key};
use crate::container::Container;
use crate::failure::Failure;
use crate::{ErrorCode, GridError};
use model::operation::{Context, PartitionKey, RowStore, Stop, Visit, WriteSet};

pub(crate) use super::layout::Change;

/// How many rows a transaction locks at most, and how many bytes of row keys and rows it keeps: its commit is one atomic group.
const LOCKS_MAX: u64 = 16_384;
const BYTES_MAX: u64 = 4 << 20;

/// How long a statement waits for a lock at most.
pub const LOCK_WAIT_US: u64 = 10_000_000;

/// How many overdue transactions one look at a container ends.
const ENDED_AT_ONCE: usize = 16;

/// What a statement has at hand.
pub(crate) struct Scope<'s> {
    pub(crate) context: &'s Context,
    pub(crate) store: &'s dyn RowStore,
    pub(crate) writes: &'s mut WriteSet,
    /// How long the transactions of its client last.
    pub(crate) timeout_s: u32,
    /// When it came.
    pub(crate) received_us: u64,
}

/// A transaction that a statement takes part in.
pub(crate) struct Transaction<'c> {
    container: &'c Container,
    id: TransactionId,
    record: Record,
    is_changed: bool,
}

/// A commit that a client asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit {
    pub(crate) id: TransactionId,
    /// The client's number of the statement: the same when it asks again.
    pub(crate) statement: i64,
}

impl Scope<'_> {
    /// A row as it will be after the statement.
    fn read<'r>(&'r self, partition: &PartitionKey<'_>, key: &[u8]) -> Result<Option<&'r [u8]>, Stop> {
        match self.writes.find(partition, key) {
            Some(staged) => Ok(Some(staged)),
            None => self.store.get(partition, key),
        }
    }

    fn record(&self, container: &Container, id: TransactionId) -> Result<Option<Record>, Stop> {
        Ok(self.read(&partition(container), &transaction_key(id))?.and_then(Record::of_row))
    }

    /// Why a statement that meets a lock stops.
    fn locked(&self, container: &Container) -> Failure {
        let wait_us = LOCK_WAIT_US.min(u64::from(self.timeout_s) * 1_000_000);
        if self.context.now.monotonic_us < self.received_us.saturating_add(wait_us) {
            return Stop::Locked.into();
        }
        let message = format!("a row of {} was locked by another transaction for {} ms", container.definition.name, wait_us / 1_000);
        GridError::new(ErrorCode::DS_CON_LOCK_CONFLICT, message).into()
    }

    /// Finds the lock of a row if it is this transaction's, and that no other one holds it. What is over time is ended.
    fn claim(&mut self, container: &Container, row_key: &[u8], number: Option<i64>) -> Result<Option<Lock>, Failure> {
        let lock = self.read(&partition(container), &lock_key(row_key))?.and_then(Lock::of_row);
        let Some(lock) = lock else { return Ok(None) };
        if Some(lock.number) == number {
            return Ok(Some(lock));
        }
        let Some(record) = self.record(container, lock.owner)?.filter(|record| record.number == lock.number) else { return Ok(None) };
        if record.holds(self.context) {
            return Err(self.locked(container));
        }
        if record.state == State::Open {
            end(container, lock.owner, record, State::Aborted, self)?;
        }
        Ok(None)
    }
}

impl<'c> Transaction<'c> {
    /// The transaction that a statement takes part in, which may be a new one.
    pub(crate) fn open(container: &'c Container, reference: &Reference, scope: &mut Scope<'_>) -> Result<Self, Failure> {
        let Reference { id, statement, begins } = *reference;
        let known = scope.record(container, id)?;
        let open = |record, is_changed| Ok(Self { container, id, record, is_changed });
        match known {
            Some(record) if record.holds(scope.context) && (!begins || record.begun_by == statement) => return open(record, false),
            // Its client is gone, or does not know yet that it is over.
            Some(record) if begins && record.begun_by == statement => return Err(gone().into()),
            Some(record) if begins && record.state == State::Open => end(container, id, record, State::Aborted, scope)?,
            _ if !begins => return Err(gone().into()),
            _ => {}
        }
        let deadline_us = scope.context.now.wall_us.saturating_add(i64::from(scope.timeout_s) * 1_000_000);
        let number = scope.context.timestamp_us;
        let record = Record { state: State::Open, number, begun_by: statement, ended_by: 0, deadline_us, locks: 0, bytes: 0 };
        open(record, true)
    }

    pub(crate) fn number(&self) -> i64 {
        self.record.number
    }

    pub(crate) fn is_of(&self, container: &Container, id: TransactionId) -> bool {
        self.container.table.id == container.table.id && self.id == id
    }

    /// Locks a row and notes what happens to it; gives the lock's ordinal.
    pub(crate) fn lock(&mut self, row_key: &[u8], change: Change<'_>, scope: &mut Scope<'_>) -> Result<u64, Failure> {
        let container = self.container;
        let number = self.record.number;
        let size = |change: &Change<'_>| (2 * row_key.len() + change.bytes()) as u64;
        let ordinal = if let Some(lock) = scope.claim(container, row_key, Some(number))? {
            if change == Change::Locked {
                return Ok(lock.ordinal);
            }
            let before = scope.read(&partition(container), &layout::change_key(number, lock.ordinal))?;
            let before = before.and_then(Change::of_row).map_or(0, |(_, before)| size(&before));
            self.record.bytes = self.record.bytes.saturating_sub(before);
            lock.ordinal
        } else {
            let ordinal = self.record.locks;
            self.record.locks += 1;
            Lock { number, ordinal, owner: self.id }.stage(container, row_key, scope.context, scope.writes);
            ordinal
        };
        self.record.bytes += size(&change);
        self.is_changed = true;
        if self.record.locks > LOCKS_MAX || self.record.bytes > BYTES_MAX {
            let message = format!("a transaction locks at most {LOCKS_MAX} rows, and keeps {BYTES_MAX} bytes of them: commit more often");
            return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message).into());
        }
        change.stage(container, (number, ordinal), row_key, scope.context, scope.writes);
        Ok(ordinal)
    }

    /// Stages the transaction itself, after all that it does in this statement.
    pub(crate) fn stage(&self, scope: &mut Scope<'_>) {
        if self.is_changed {
            self.record.stage(self.container, self.id, scope.context, scope.writes);
        }
    }
}

/// Checks that the rows that a statement of its own has staged are not locked.
#[inline]
pub(crate) fn check_unlocked(container: &Container, scope: &mut Scope<'_>) -> Result<(), Failure> {
    if scope.store.has_rows(layout::table(container)) { check_rows(container, scope) } else { Ok(()) }
}

#[inline(never)]
fn check_rows(container: &Container, scope: &mut Scope<'_>) -> Result<(), Failure> {
    let mut index = 0;
    while let Some(staged) = scope.writes.row(index) {
        index += 1;
        if staged.partition.table == container.table.id {
            let row_key = staged.clustering.to_vec();
            scope.claim(container, &row_key, None)?;
        }
    }
    Ok(())
}

/// Does what a transaction has noted.
pub(crate) fn commit(container: &Container, commit: Commit, scope: &mut Scope<'_>) -> Result<(), Failure> {
    let Commit { id, statement } = commit;
    match scope.record(container, id)? {
        Some(record) if record.holds(scope.context) => {
            end(container, id, Record { ended_by: statement, ..record }, State::Committed, scope)
        }
        // The client has not got the answer.
        Some(record) if record.state == State::Committed && record.ended_by == statement => Ok(()),
        _ => Err(gone().into()),
    }
}

/// Ends a session's transaction without its changes, if there is one.
pub(crate) fn abort(container: &Container, id: TransactionId, scope: &mut Scope<'_>) -> Result<(), Failure> {
    match scope.record(container, id)? {
        Some(record) if record.state == State::Open => end(container, id, record, State::Aborted, scope),
        _ => Ok(()),
    }
}

/// Aborts the transaction that a statement has begun, or will begin if it is still under way.
pub(crate) fn abort_begun_by(container: &Container, id: TransactionId, begun_by: i64, scope: &mut Scope<'_>) -> Result<(), Failure> {
    match scope.record(container, id)? {
        Some(record) if record.begun_by == begun_by => return abort(container, id, scope),
        Some(record) if record.state == State::Open => return Ok(()),
        _ => {}
    }
    let number = scope.context.timestamp_us;
    let record = Record { state: State::Aborted, number, begun_by, ended_by: 0, deadline_us: 0, locks: 0, bytes: 0 };
    record.stage(container, id, scope.context, scope.writes);
    Ok(())
}

/// Ends transactions that are over time.
pub(crate) fn end_overdue(container: &Container, scope: &mut Scope<'_>) -> Result<(), Failure> {
    let mut overdue = Vec::new();
    layout::scan_transactions(container, scope.store, &mut |id, record| {
        if record.state == State::Open && !record.holds(scope.context) {
            overdue.push((id, record));
        }
        if overdue.len() < ENDED_AT_ONCE { Visit::Continue } else { Visit::Stop }
    })?;
    overdue.into_iter().try_for_each(|(id, record)| end(container, id, record, State::Aborted, scope))
}

/// Releases a transaction's locks, and writes its changes if it commits.
fn end(container: &Container, id: TransactionId, record: Record, state: State, scope: &mut Scope<'_>) -> Result<(), Failure> {
    let Scope { context, store, writes, .. } = scope;
    let (own, rows) = (partition(container), container.partition());
    let mut locks = 0;
    layout::scan_changes(container, record.number, *store, &mut |ordinal, row_key, change| {
        match change {
            Change::Put(row) if state == State::Committed => {
                writes.begin(&rows, row_key).extend_from_slice(row);
                writes.end(container.expires_at_s());
            }
            Change::Deleted if state == State::Committed => delete(&rows, row_key, context, writes),
            _ => {}
        }
        delete(&own, &lock_key(row_key), context, writes);
        delete(&own, &layout::change_key(record.number, ordinal), context, writes);
        locks += 1;
    })?;
    if locks != record.locks && state == State::Committed {
        // The loss of stored data was accepted.
        let message = format!("{locks} of the {} changes of the transaction are left: abort it", record.locks);
        return Err(GridError::new(ErrorCode::DS_DS_STATEMENT_FAILED, message).into());
    }
    Record { state, locks: 0, bytes: 0, ..record }.stage(container, id, context, writes);
    Ok(())
}

fn gone() -> GridError {
    let message = "the transaction is over: it was committed or aborted, was open for too long, or its connection was lost";
    GridError::new(ErrorCode::TM_TRANSACTION_NOT_FOUND, message)
}
