//! Rows of one container by key.

use super::head::{Head, Uuid};
use super::request::{Request, WRITE, check_undivided};
use super::rows::{self, RowLock};
use crate::container::Container;
use crate::failure::Failure;
use crate::row::{self, RowReader, RowSet, SentRow, StoredRow};
use crate::wire::Reader;
use crate::{ErrorCode, GridError, encode_key};
use model::Permissions;
use model::operation::{Context, Direction, FIRST_ROW_BYTE, RowStore, Visit, WriteSet};

/// PUT_ROW, and APPEND_TIME_SERIES_ROW.
pub(super) struct Put<'a> {
    pub(super) head: Head<'a>,
    row: SentRow<'a>,
    key: Vec<u8>,
}

/// PUT_MULTIPLE_ROWS.
pub(super) struct PutMany<'a> {
    pub(super) head: Head<'a>,
    rows: Vec<SentRow<'a>>,
}

/// GET_ROW, DELETE_ROW.
pub(super) struct Key<'a> {
    pub(super) head: Head<'a>,
    key: Vec<u8>,
}

impl<'a> Put<'a> {
    pub(super) fn read(request: &Request<'a>, id: i64, mut reader: Reader<'a>) -> Result<Self, GridError> {
        let mut put = Self::read_where_it_is(request, id, &mut reader)?;
        let Self { head, row, .. } = &mut put;
        head.go_to(request, |position| row.sent(position))?;
        Ok(put)
    }

    /// The same of a row that gets its key here: a partitioned table has no place for it.
    pub(super) fn read_appended(request: &Request<'a>, id: i64, mut reader: Reader<'a>) -> Result<Self, GridError> {
        let put = Self::read_where_it_is(request, id, &mut reader)?;
        check_undivided(put.head.container)?;
        Ok(put)
    }

    fn read_where_it_is(request: &Request<'a>, id: i64, reader: &mut Reader<'a>) -> Result<Self, GridError> {
        let head = Head::read_of_any(request, id, reader, Uuid::Own, WRITE)?;
        let container = head.container;
        let mut rows = RowReader::new(&container.definition.columns, 1, reader)?;
        let row = rows.next_row()?.ok_or(GridError::malformed("a row is missing"))?;
        let mut key = Vec::new();
        rows::key_of_row(container, &row, &mut Vec::new(), &mut key)?;
        Ok(Self { head, row, key })
    }

    /// Replaces the row of this key; says whether there was one.
    pub(super) fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
        if self.key.is_empty() {
            let mut key = Vec::new();
            rows::encode_row_id(rows::next_row_id(self.head.container, store)?, &mut key)?;
            rows::stage(self.head.container, &self.row, &key, context, writes)?;
            out.push(0);
            return Ok(());
        }
        let exists = rows::exists(self.head.container, &self.key, store)?;
        rows::stage(self.head.container, &self.row, &self.key, context, writes)?;
        out.push(u8::from(exists));
        Ok(())
    }

    /// Puts the row at the server's time, or at the newest row's if that is later; says whether there was one.
    pub(super) fn append(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
        if !self.head.container.is_time_series() {
            let message = "only a time series is appended to";
            return Err(GridError::new(ErrorCode::TXN_CONTAINER_TYPE_INVALID, message).into());
        }
        let now_ms = context.now.wall_us.div_euclid(1_000);
        let mut key = Vec::new();
        encode_key(crate::ElementType::Timestamp, &now_ms.to_be_bytes(), &mut key)?;
        let mut exists = false;
        rows::scan(self.head.container, (&[FIRST_ROW_BYTE], None), Direction::Reverse, store, |newest| {
            if newest.clustering >= &key[..] {
                key = newest.clustering.to_vec();
                exists = true;
            }
            Ok(Visit::Stop)
        })?;
        rows::stage(self.head.container, &self.row, &key, context, writes)?;
        out.push(u8::from(exists));
        Ok(())
    }
}

impl<'a> PutMany<'a> {
    pub(super) fn read(request: &Request<'a>, id: i64, mut reader: Reader<'a>) -> Result<Self, GridError> {
        let mut head = Head::read_of_any(request, id, &mut reader, Uuid::Own, WRITE)?;
        let container = head.container;
        let count = reader.i64()?;
        let rows = RowReader::new(&container.definition.columns, count, &mut reader)?.read_all()?;
        if container.is_divided() {
            let first = rows.first().ok_or(GridError::malformed("no rows for a partitioned table"))?;
            head.go_to(request, |position| first.sent(position))?;
            if !rows.iter().all(|row| head.container.check_place(|position| row.sent(position)).is_ok()) {
                let message = "rows of several data partitions are not put at once over NoSQL: put them one by one, or by SQL";
                return Err(GridError::unsupported(message));
            }
        }
        Ok(Self { head, rows })
    }

    /// Replaces the rows of their keys. Clients are not told whether there were any.
    pub(super) fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
        put_all(self.head.container, &self.rows, context, store, writes)?;
        out.push(0);
        Ok(())
    }
}

/// Stages rows of a container, the later of two with one key.
pub(super) fn put_all(
    container: &Container,
    sent: &[SentRow<'_>],
    context: &Context,
    store: &dyn RowStore,
    writes: &mut WriteSet,
) -> Result<(), Failure> {
    let mut next_id = if container.definition.key_len == 0 { rows::next_row_id(container, store)? } else { 0 };
    let (mut cell, mut key) = (Vec::new(), Vec::new());
    for row in sent {
        key.clear();
        if container.definition.key_len == 0 {
            rows::encode_row_id(next_id, &mut key)?;
            next_id += 1;
        } else {
            rows::key_of_row(container, row, &mut cell, &mut key)?;
        }
        rows::stage(container, row, &key, context, writes)?;
    }
    Ok(())
}

impl<'a> Key<'a> {
    pub(super) fn read(request: &Request<'a>, id: i64, mut reader: Reader<'a>, needed: Permissions) -> Result<Self, GridError> {
        let mut head = Head::read_of_any(request, id, &mut reader, Uuid::Own, needed)?;
        let start = reader;
        let key = rows::read_key(head.container, &mut reader)?;
        if head.container.is_divided() {
            rows::with_sent_key(head.container, start, |value| head.go_to(request, value))?;
        }
        Ok(Self { head, key })
    }

    /// Gives the row, and has it locked if `lock` is given.
    pub(super) fn get(&self, store: &dyn RowStore, lock: Option<RowLock<'_>>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let row = store.get(&self.head.container.partition(), &self.key)?.and_then(row::live);
        out.push(u8::from(row.is_some()));
        if let Some(view) = row {
            let mut rows = RowSet::new(self.head.container, true, rows::REPLY_BYTES_MAX);
            if lock.is_some() {
                rows = rows.keeping_keys(true);
            }
            rows.push(&StoredRow { container: self.head.container, clustering: &self.key, view })?;
            if let Some(lock) = lock {
                rows.number(lock)?;
            }
            rows.write(out);
        }
        Ok(())
    }

    pub(super) fn delete(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
        let exists = rows::exists(self.head.container, &self.key, store)?;
        if exists {
            rows::stage_deletion(self.head.container, &self.key, context, writes);
        }
        out.push(u8::from(exists));
        Ok(())
    }
}
