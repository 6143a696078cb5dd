//! Rows of a partition: staged, found, scanned.

use crate::container::Container;
use crate::failure::Failure;
use crate::key::row_id;
use crate::row::RowReader;
use crate::row::{self, SentRow, StoredRow};
use crate::transaction::last_locked_key;
use crate::wire::Reader;
use crate::{GridError, encode_key};
use model::operation::{Context, Direction, FIRST_ROW_BYTE, RowStore, Stop, Visit, WriteSet, purge_after_s};
use model::row::{Deletion, RowWriter, Stamp};

/// How many bytes of rows a reply has at most.
pub(super) const REPLY_BYTES_MAX: usize = 32 << 20;

/// Refuses an answer about containers that is longer than any is.
///
/// # Errors
/// It is.
pub(super) fn check_reply(bytes: usize) -> Result<(), GridError> {
    if bytes <= REPLY_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the answer takes more than {REPLY_BYTES_MAX} bytes: ask for fewer containers at a time");
    Err(GridError::new(crate::ErrorCode::CM_LIMITS_EXCEEDED, message))
}

/// Locks the row of a key for a transaction, and gives the number by which a client names it.
pub(super) type RowLock<'l> = &'l mut dyn FnMut(&[u8]) -> Result<u64, Failure>;

/// How long what is deleted is remembered: writes bring no time of their own, so none comes late.
const GRACE_S: u32 = 0;

/// Encodes the row key of a row that was sent; `cell` is memory that is used again.
pub(super) fn key_of_row(container: &Container, row: &SentRow<'_>, cell: &mut Vec<u8>, key: &mut Vec<u8>) -> Result<(), GridError> {
    for (position, column) in container.key_columns().iter().enumerate() {
        cell.clear();
        row.cell(column, position, cell)?;
        encode_key(column.element, cell, key)?;
    }
    Ok(())
}

/// Reads a row key and encodes it.
pub(super) fn read_key(container: &Container, reader: &mut Reader<'_>) -> Result<Vec<u8>, GridError> {
    let columns = container.key_columns();
    let mut key = Vec::new();
    match columns {
        [] => {
            let message = format!("the container {} has no row key", container.definition.name);
            return Err(GridError::new(crate::ErrorCode::DS_COL_ROWKEY_UNDEFINED, message));
        }
        [column] => {
            let sent = match column.fixed_bytes() {
                Some(bytes) => reader.take(bytes)?,
                None => reader.var_bytes()?,
            };
            let mut cell = Vec::with_capacity(sent.len());
            row::put_cell(column.element, sent, &mut cell)?;
            encode_key(column.element, &cell, &mut key)?;
        }
        columns => {
            let mut rows = RowReader::new(columns, 1, reader)?;
            if let Some(row) = rows.next_row()? {
                key_of_row(container, &row, &mut Vec::new(), &mut key)?;
            }
        }
    }
    Ok(key)
}

/// Gives what the columns of a row key hold, as it was sent, by their positions.
pub(super) fn with_sent_key<'a>(
    container: &Container,
    mut reader: Reader<'a>,
    with: impl FnOnce(&dyn Fn(usize) -> Option<&'a [u8]>) -> Result<(), GridError>,
) -> Result<(), GridError> {
    if let [column] = container.key_columns() {
        let sent = match column.fixed_bytes() {
            Some(bytes) => reader.take(bytes)?,
            None => reader.var_bytes()?,
        };
        return with(&|position| (position == 0).then_some(sent));
    }
    let mut values = Vec::new();
    RowReader::new(container.key_columns(), 1, &mut reader)?.next_into(&mut values)?;
    with(&|position| values.get(position).copied().flatten())
}

/// The first key after one.
pub(super) fn after(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

/// The key of the row after the last, in a container without a row key. Those that transactions have taken are no one else's.
pub(super) fn next_row_id(container: &Container, store: &dyn RowStore) -> Result<i64, Stop> {
    let mut last = last_locked_key(container, store)?.map_or(0, |key| row_id(&key));
    store.scan(&container.partition(), &[FIRST_ROW_BYTE], None, Direction::Reverse, &mut |clustering, _| {
        last = last.max(row_id(clustering));
        Visit::Stop
    })?;
    Ok(last + 1)
}

/// Appends the encoded key of a row's number.
pub(super) fn encode_row_id(id: i64, key: &mut Vec<u8>) -> Result<(), GridError> {
    encode_key(crate::ElementType::Long, &id.to_be_bytes(), key)
}

/// Stages a row that was sent.
pub(super) fn stage(
    container: &Container,
    row: &SentRow<'_>,
    key: &[u8],
    context: &Context,
    writes: &mut WriteSet,
) -> Result<(), GridError> {
    container.check_place(|position| row.sent(position))?;
    let now_s = context.now_s();
    if container.is_expired(now_s) {
        return Ok(());
    }
    let stamp = match container.expires_at_s() {
        None => Stamp::at(context.timestamp_us),
        Some(gone_s) => Stamp { timestamp: context.timestamp_us, ttl_s: gone_s - now_s, expires_at_s: gone_s },
    };
    let mut cell = writes.take_scratch();
    let mut writer = RowWriter::new(writes.begin(&container.partition(), key), stamp, true, None);
    for (position, column) in container.in_order_of_ids() {
        cell.clear();
        if row.cell(column, position, &mut cell)? {
            writer.value(container.column_id(position), stamp, &cell);
        }
    }
    let kind = writer.finish();
    writes.end(purge_after_s(kind, GRACE_S));
    writes.put_scratch(cell);
    Ok(())
}

/// Stages the deletion of a row.
pub(super) fn stage_deletion(container: &Container, key: &[u8], context: &Context, writes: &mut WriteSet) {
    let deletion = Deletion { timestamp: context.timestamp_us, deleted_at_s: context.now_s() };
    let stamp = Stamp::at(context.timestamp_us);
    let kind = RowWriter::new(writes.begin(&container.partition(), key), stamp, false, Some(deletion)).finish();
    writes.end(purge_after_s(kind, GRACE_S));
}

/// Whether a row is there.
pub(super) fn exists(container: &Container, key: &[u8], store: &dyn RowStore) -> Result<bool, Stop> {
    Ok(store.get(&container.partition(), key)?.is_some_and(|row| row::live(row).is_some()))
}

/// Visits the rows from one key to before another, until one fails or says that it has enough.
pub(super) fn scan(
    container: &Container,
    (from, to): (&[u8], Option<&[u8]>),
    direction: Direction,
    store: &dyn RowStore,
    mut visit: impl FnMut(&StoredRow<'_>) -> Result<Visit, GridError>,
) -> Result<(), Failure> {
    let mut failure = None;
    let from = from.max(&[FIRST_ROW_BYTE]);
    if to.is_some_and(|to| to <= from) {
        return Ok(());
    }
    store.scan(&container.partition(), from, to, direction, &mut |clustering, bytes| {
        let Some(view) = row::live(bytes) else { return Visit::Continue };
        visit(&StoredRow { container, clustering, view }).unwrap_or_else(|error| {
            failure = Some(error);
            Visit::Stop
        })
    })?;
    failure.map_or(Ok(()), |error| Err(error.into()))
}
