//! Rows of transactions: in the table that is the container's log of batches, which a container has no other use for, under its partition.
//!
//! | key | content, big-endian | what |
//! |---|---|---|
//! | `10`, client, session | state, number, statements that have begun and ended it, deadline, locks, bytes | a session's transaction; ended ones for a minute |
//! | `11`, row key | number, ordinal, client, session | a lock, and whose |
//! | `12`, number, ordinal | kind, length of the row key, row key, row | what a transaction will do to a row that it has locked |
//!
//! A transaction's number is a write timestamp: no other one of the container has it, whichever member gave it. Ordinals count its locks from 0.

use super::identity::{ID_BYTES, TransactionId};
use crate::container::Container;
use crate::row::live;
use base::TableId;
use model::ColumnId;
use model::operation::{Context, Direction, FIRST_ROW_BYTE, PartitionKey, RowStore, Stop, Visit, WriteSet, batch_log, purge_after_s};
use model::row::{Deletion, RowWriter, Stamp};

const TRANSACTION: u8 = FIRST_ROW_BYTE;
const LOCK: u8 = FIRST_ROW_BYTE + 1;
const CHANGE: u8 = FIRST_ROW_BYTE + 2;

/// How long it is known how a transaction has ended: longer than a statement of it can be under way.
const ENDED_KEPT_S: u32 = 60;
/// The content's column.
const CONTENT: ColumnId = ColumnId(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open = 0,
    Committed = 1,
    Aborted = 2,
}

/// A session's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) state: State,
    pub(super) number: i64,
    pub(super) begun_by: i64,
    pub(super) ended_by: i64,
    /// On the wall clock: from then on anybody may end it.
    pub(super) deadline_us: i64,
    pub(super) locks: u64,
    /// Of row keys and rows that it keeps.
    pub(super) bytes: u64,
}

/// A lock of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) number: i64,
    pub(super) ordinal: u64,
    pub(super) owner: TransactionId,
}

/// What a transaction does to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// Nothing so far.
    Locked,
    /// Writes it: the row as the table has it.
    Put(&'a [u8]),
    /// Deletes it.
    Deleted,
}

pub(super) fn table(container: &Container) -> TableId {
    batch_log(container.table.id)
}

/// Where a container's transactions are.
pub(super) fn partition(container: &Container) -> PartitionKey<'_> {
    PartitionKey { table: table(container), ..container.partition() }
}

pub(super) fn transaction_key(id: TransactionId) -> Vec<u8> {
    [&[TRANSACTION][..], &id.to_bytes()].concat()
}

pub(super) fn lock_key(row_key: &[u8]) -> Vec<u8> {
    [&[LOCK], row_key].concat()
}

pub(super) fn change_key(number: i64, ordinal: u64) -> Vec<u8> {
    [&[CHANGE][..], &number.to_be_bytes(), &ordinal.to_be_bytes()].concat()
}

/// The row key that was locked and sorts last.
pub(crate) fn last_locked_key(container: &Container, store: &dyn RowStore) -> Result<Option<Vec<u8>>, Stop> {
    let mut last = None;
    if store.has_rows(table(container)) {
        store.scan(&partition(container), &[LOCK], Some(&[LOCK + 1]), Direction::Reverse, &mut |key, _| {
            last = Some(key[1..].to_vec());
            Visit::Stop
        })?;
    }
    Ok(last)
}

/// Visits sessions and their transactions.
pub(super) fn scan_transactions(
    container: &Container,
    store: &dyn RowStore,
    visit: &mut dyn FnMut(TransactionId, Record) -> Visit,
) -> Result<(), Stop> {
    store.scan(&partition(container), &[TRANSACTION], Some(&[TRANSACTION + 1]), Direction::Forward, &mut |key, row| match (
        key[1..].first_chunk(),
        Record::of_row(row),
    ) {
        (Some(id), Some(record)) => visit(TransactionId::of_bytes(id), record),
        _ => Visit::Continue,
    })
}

/// Visits what a transaction does, in the order of its locks: the lock's ordinal, the row key, and what.
pub(super) fn scan_changes(
    container: &Container,
    number: i64,
    store: &dyn RowStore,
    visit: &mut dyn FnMut(u64, &[u8], Change<'_>),
) -> Result<(), Stop> {
    let (from, to) = (change_key(number, 0), change_key(number, u64::MAX));
    store.scan(&partition(container), &from, Some(&to), Direction::Forward, &mut |key, row| {
        if let (Some(ordinal), Some((row_key, change))) = (key.last_chunk(), Change::of_row(row)) {
            visit(u64::from_be_bytes(*ordinal), row_key, change);
        }
        Visit::Continue
    })
}

impl Record {
    pub(super) fn of_row(row: &[u8]) -> Option<Self> {
        let (state, rest) = content(row)?.split_first()?;
        let state = match state {
            0 => State::Open,
            1 => State::Committed,
            _ => State::Aborted,
        };
        let mut words = rest.as_chunks::<8>().0.iter().map(|word| i64::from_be_bytes(*word));
        Some(Self {
            state,
            number: words.next()?,
            begun_by: words.next()?,
            ended_by: words.next()?,
            deadline_us: words.next()?,
            locks: words.next()? as u64,
            bytes: words.next()? as u64,
        })
    }

    /// Whether it holds its locks.
    pub(super) fn holds(&self, context: &Context) -> bool {
        self.state == State::Open && context.now.wall_us < self.deadline_us
    }

    pub(super) fn stage(&self, container: &Container, id: TransactionId, context: &Context, writes: &mut WriteSet) {
        let Self { state, number, begun_by, ended_by, deadline_us, locks, bytes } = *self;
        let mut content = vec![state as u8];
        for word in [number, begun_by, ended_by, deadline_us, locks as i64, bytes as i64] {
            content.extend_from_slice(&word.to_be_bytes());
        }
        let purge_after_s = (state != State::Open).then(|| context.now_s().saturating_add(ENDED_KEPT_S));
        put(&partition(container), &transaction_key(id), &content, purge_after_s, context, writes);
    }
}

impl Lock {
    pub(super) fn of_row(row: &[u8]) -> Option<Self> {
        let (number, rest) = content(row)?.split_first_chunk()?;
        let (ordinal, rest) = rest.split_first_chunk()?;
        let owner = TransactionId::of_bytes(rest.first_chunk::<ID_BYTES>()?);
        Some(Self { number: i64::from_be_bytes(*number), ordinal: u64::from_be_bytes(*ordinal), owner })
    }

    pub(super) fn stage(&self, container: &Container, row_key: &[u8], context: &Context, writes: &mut WriteSet) {
        let content = [&self.number.to_be_bytes()[..], &self.ordinal.to_be_bytes(), &self.owner.to_bytes()].concat();
        put(&partition(container), &lock_key(row_key), &content, None, context, writes);
    }
}

impl<'a> Change<'a> {
    /// The row key, and what happens to the row.
    pub(super) fn of_row(row: &'a [u8]) -> Option<(&'a [u8], Self)> {
        let (kind, rest) = content(row)?.split_first()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (key, row) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let change = match kind {
            0 => Self::Locked,
            1 => Self::Put(row),
            _ => Self::Deleted,
        };
        Some((key, change))
    }

    /// What a statement has staged of a row.
    pub(crate) fn of_staged(row: &'a [u8]) -> Self {
        if live(row).is_some() { Self::Put(row) } else { Self::Deleted }
    }

    pub(super) fn bytes(&self) -> usize {
        if let Self::Put(row) = self { row.len() } else { 0 }
    }

    pub(super) fn stage(
        &self,
        container: &Container,
        (number, ordinal): (i64, u64),
        row_key: &[u8],
        context: &Context,
        writes: &mut WriteSet,
    ) {
        let (kind, row) = match *self {
            Self::Locked => (0, &[][..]),
            Self::Put(row) => (1, row),
            Self::Deleted => (2, &[][..]),
        };
        let content = [&[kind][..], &(row_key.len() as u32).to_be_bytes(), row_key, row].concat();
        put(&partition(container), &change_key(number, ordinal), &content, None, context, writes);
    }
}

fn content(row: &[u8]) -> Option<&[u8]> {
    live(row)?.cells().next()?.live_value(0)
}

fn put(partition: &PartitionKey<'_>, key: &[u8], content: &[u8], purge_after_s: Option<u32>, context: &Context, writes: &mut WriteSet) {
    let stamp = Stamp::at(context.timestamp_us);
    let mut writer = RowWriter::new(writes.begin(partition, key), stamp, true, None);
    writer.value(CONTENT, stamp, content);
    writer.finish();
    writes.end(purge_after_s);
}

/// Stages the deletion of a row of any table of the partition.
pub(super) fn delete(partition: &PartitionKey<'_>, key: &[u8], context: &Context, writes: &mut WriteSet) {
    let deletion = Deletion { timestamp: context.timestamp_us, deleted_at_s: context.now_s() };
    let kind = RowWriter::new(writes.begin(partition, key), Stamp::at(context.timestamp_us), false, Some(deletion)).finish();
    writes.end(purge_after_s(kind, 0));
}
